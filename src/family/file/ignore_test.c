/* SPDX-License-Identifier: Apache-2.0
 * family/file/ignore_test.c: git is the oracle of ignore files: generated trees
 * with generated rules on every level, listed by us and by `git ls-files`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "family/file/file.h"
#include "path/path.h"
#include "tree.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static uint64_t seed;

static unsigned dice(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)((seed >> 11) % n);
}

static const char *const names[] = {"a",   "b",       "ab",   "abc",   "x.o",      "y.c", "foo",
                                    "bar", "a b",     ".h",   "[",     "z!",       "#q",  "-",
                                    "t*",  "foo.txt", "A",    "b\\c",  "?",        "]",   "q]",
                                    "0",   "_",       "x.o~", "build", "\xc3\xa9", "b\\"};
static const char *const atoms[] = {"*",
                                    "?",
                                    "a",
                                    "b",
                                    "foo",
                                    "bar",
                                    "*.o",
                                    "*.c",
                                    "[ab]",
                                    "[!a]",
                                    "[a-z]*",
                                    "\\#q",
                                    "\\!",
                                    "**",
                                    ".h",
                                    "build",
                                    "[[]",
                                    "t\\*",
                                    "[^a]",
                                    "ab*",
                                    "*b",
                                    "foo.*",
                                    "[]]",
                                    "[a-",
                                    "\\",
                                    "*\\",
                                    "b\\\\",
                                    "a?",
                                    "**a",
                                    "a**",
                                    "b\\\\c",
                                    "[[:alpha:]]*",
                                    "{a,b}",
                                    "a\\ b",
                                    "x.o ",
                                    "[!]a-]",
                                    "[[:digit:][:punct:]]",
                                    "*[[:upper:]]",
                                    "\xc3\xa9",
                                    "[\xc3]?"};

static void add_rule(struct wbi_buf *b)
{
    unsigned parts = 1 + dice(8) / 4 + dice(8) / 6;

    wbi_buf_addz(b, dice(20) == 0 ? "#" : dice(4) == 0 ? "!" : "");
    wbi_buf_addz(b, dice(5) == 0 ? "/" : "");
    for (unsigned i = 0; i < parts; i++) {
        wbi_buf_addz(b, i ? "/" : "");
        wbi_buf_addz(b, atoms[dice(LEN(atoms))]);
    }
    wbi_buf_addz(b, dice(5) == 0 ? "/" : "");
    wbi_buf_addz(b, dice(20) == 0 ? "  " : dice(20) == 0 ? "\\ " : dice(20) == 0 ? "\r" : "");
}

static void put_rules(const struct tree *t, const char *path)
{
    unsigned n = 1 + dice(5);
    struct wbi_buf b;

    wbi_buf_init(&b, 4096);
    if (dice(20) == 0)
        wbi_buf_addz(&b, "\xef\xbb\xbf");
    for (unsigned i = 0; i < n; i++) {
        add_rule(&b);
        wbi_buf_addz(&b, i + 1 < n || dice(2) ? "\n" : "");
    }
    assert_true(tree_put(t, path, b.p, b.n));
    wbi_buf_fini(&b);
}

/* Case `no` in a directory of its own, rules in some of its directories. */
static void make_case(const struct tree *t, unsigned no)
{
    static char dirs[12][400];
    unsigned n = 1, entries = 4 + dice(20);
    char path[600];

    snprintf(dirs[0], sizeof(dirs[0]), "work/case%u", no);
    assert_int_equal(mkdir(tree_at(t, dirs[0]), 0755), 0);
    for (unsigned i = 0; i < entries; i++) {
        snprintf(path, sizeof(path), "%.399s/%s", dirs[dice(n)], names[dice(LEN(names))]);
        if (access(tree_at(t, path), F_OK) == 0)
            continue;
        if (n < LEN(dirs) && dice(3) == 0 && strlen(path) < sizeof(dirs[0]) &&
            mkdir(tree_at(t, path), 0755) == 0)
            snprintf(dirs[n++], sizeof(dirs[0]), "%.399s", path);
        else
            assert_true(tree_puts(t, path, ""));
    }
    for (unsigned i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%.399s/.gitignore", dirs[i]);
        if (i == 0 || dice(4) == 0)
            put_rules(t, path);
    }
}

/* ---- the two lists, one path a line in order ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct list {
    char **paths;
    size_t n;
};

static void sort(struct list *l)
{
    if (l->n > 1)
        qsort(l->paths, l->n, sizeof(*l->paths), by_text);
}

static void put(struct list *l, struct wbi_arena *arena, struct wbi_str path)
{
    assert_true(l->n < 200000);
    l->paths[l->n] = wbi_arena_strz(arena, path);
    assert_non_null(l->paths[l->n++]);
}

static bool ask_git(const struct tree *t, const char *dir, struct wbi_arena *arena,
                    struct list *ret)
{
    char cmd[512], *line = NULL;
    size_t room = 0;
    ssize_t n;
    FILE *f;

    snprintf(cmd, sizeof(cmd),
             "cd '%s/%s' && HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 git ls-files -z --others "
             "--exclude-standard 2>/dev/null",
             t->root, dir);
    f = popen(cmd, "r");
    assert_non_null(f);
    while ((n = getdelim(&line, &room, '\0', f)) > 0)
        put(ret, arena, wbi_str_z(line));
    free(line);
    sort(ret);
    return pclose(f) == 0;
}

static void ask_us(struct wbi_root *root, const char *dir, struct wbi_arena *arena,
                   struct list *ret)
{
    struct wbi_list_request req = {.path = wbi_str_z(dir), .hidden = true, .files_only = true};
    struct wbi_list_result res;
    struct wbi_error err;

    do {
        assert_int_equal(wbi_file_list(root, &req, arena, &err, &res), WB_OK);
        for (size_t i = 0; i < res.n_entries; i++)
            put(ret, arena, res.entries[i].path);
        req.token = res.next_token;
    } while (res.next_token.p != NULL);
    sort(ret);
}

static void compare(const char *where, const struct list *ours, const struct list *git)
{
    for (size_t i = 0; i < ours->n || i < git->n; i++) {
        const char *a = i < ours->n ? ours->paths[i] : "\x7f",
                   *b = i < git->n ? git->paths[i] : "\x7f";

        if (strcmp(a, b) != 0)
            fail_msg("in %s: %s lists %s, the other does not", where,
                     strcmp(a, b) < 0 ? "only we" : "only git", strcmp(a, b) < 0 ? a : b);
    }
}

static void both(const struct tree *t, struct wbi_root *root, const char *dir)
{
    struct list ours = {0}, git = {0};
    struct wbi_arena *arena;

    assert_int_equal(wbi_arena_new(512u << 20, &arena), WB_OK);
    ours.paths = wbi_arena_alloc(arena, 200000 * sizeof(char *));
    git.paths = wbi_arena_alloc(arena, 200000 * sizeof(char *));
    assert_true(ours.paths != NULL && git.paths != NULL);
    assert_true(ask_git(t, dir, arena, &git));
    ask_us(root, dir, arena, &ours);
    compare(dir, &ours, &git);
    if (strcmp(dir, ".") == 0)
        print_message("%zu files are not ignored\n", git.n);
    wbi_arena_free(arena);
}

/* C7.3 "ignore files respected": whatever stands in them. */
static void we_ignore_what_git_ignores(void **state)
{
    unsigned cases = getenv("WAYBILL_SOAK") ? 6000 : 300;
    struct wbi_root *root;
    struct wbi_error err;
    struct tree t;
    char cmd[256], dir[32];

    (void)state;
    seed = getenv("WAYBILL_SEED") ? strtoull(getenv("WAYBILL_SEED"), NULL, 10) : 20261115;
    print_message("%u trees, seed %llu\n", cases, (unsigned long long)seed);
    assert_true(tree_make(&t));
    snprintf(cmd, sizeof(cmd), "git init -q '%s' 2>/dev/null", t.root);
    if (system(cmd) != 0) {
        print_message("skipped: git as the oracle of ignore files (no git)\n");
        tree_remove(&t);
        skip();
    }
    /* Rules from above: of the root, and of the repository. */
    assert_true(tree_puts(&t, "work/.gitignore", "*.o~\n/case1/foo\n!case2/a\ncase3/**/b\n"));
    assert_true(tree_puts(&t, "work/.git/info/exclude", "0\n!/case4/0\n"));
    mkdir(tree_at(&t, "work/ends"), 0755); /* a line's last backslash, escaped or not */
    assert_true(tree_puts(&t, "work/ends/.gitignore", "*\\\nb\\\\  \nc\\  \n"));
    assert_true(tree_puts(&t, "work/ends/a\\", "") && tree_puts(&t, "work/ends/b\\", "") &&
                tree_puts(&t, "work/ends/c ", ""));
    for (unsigned i = 0; i < cases; i++)
        make_case(&t, i);
    assert_int_equal(wbi_root_open(t.root, 0, &err, &root), WB_OK);
    both(&t, root, ".");
    for (unsigned i = 0; i < 10; i++) { /* begun further down */
        snprintf(dir, sizeof(dir), "case%u", i);
        both(&t, root, dir);
    }
    wbi_root_unref(root);
    tree_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(we_ignore_what_git_ignores)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
