/* SPDX-License-Identifier: Apache-2.0
 * family/file/patch_git_test.c: git is the oracle of unified diffs (F4): generated
 * pairs of trees, their diff as git makes it, sometimes with wrong numbers,
 * applied by us and by `git apply` to equal copies. Where both accept, the trees
 * are equal to the byte and the mode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "base/buf.h"
#include "family/file/patch.h"
#include "path/path.h"
#include "tree.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define BATCH 50u

static uint64_t seed;
static struct tree tree;

static unsigned dice(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)((seed >> 11) % n);
}

/* ---- making ---- */

static const char *const names[] = {"a",         "sub/b",   "c d",  "q\"uote", "tab\there",
                                    "\xc3\xa9",  "sub/-x",  ".dot", "b",       "sub/deep/z",
                                    "new\nline", "back\\s", "a.c",  "x~"};

static void add_line(struct wbi_buf *b, const char *eol)
{
    if (dice(12) == 0)
        wbi_buf_addz(b, dice(2) ? "" : "    indented \t ");
    else
        wbi_buf_addf(b, "%s%u", dice(3) ? "line " : "same ", dice(4) ? dice(1000) : dice(3));
    wbi_buf_addz(b, dice(60) == 0 ? "\r\n" : eol);
}

static void make_text(struct wbi_buf *b)
{
    unsigned lines = dice(12) == 0 ? 0 : dice(60);
    const char *eol = dice(6) == 0 ? "\r\n" : "\n";

    if (dice(15) == 0)
        wbi_buf_addz(b, "\xef\xbb\xbf");
    for (unsigned i = 0; i < lines; i++)
        add_line(b, eol);
    if (dice(5) == 0)
        wbi_buf_addz(b, "no newline");
    if (dice(40) == 0)
        wbi_buf_add(b, "\0binary", 7);
}

/* A copy of text with some lines changed, dropped or added. */
static void mutate(struct wbi_buf *b, struct wbi_str text)
{
    while (text.n > 0) {
        size_t n = wbi_str_index(text, '\n');
        struct wbi_str line = wbi_str_head(text, n < text.n ? n + 1 : n);
        unsigned what = dice(14);

        if (what == 0)
            wbi_buf_addf(b, "changed %u\n", dice(100));
        else if (what != 1)
            wbi_buf_adds(b, line);
        if (what == 2 && line.p[line.n - 1] == '\n')
            wbi_buf_addf(b, "added %u\n", dice(100));
        text = wbi_str_from(text, line.n);
    }
    if (dice(8) == 0)
        wbi_buf_addz(b, "tail");
}

static void put(const char *side, unsigned no, const char *name, const struct wbi_buf *b, bool exec)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/c%u/%s", side, no, name);
    for (char *p = strchr(path, '/'); p != NULL; p = strchr(p + 1, '/')) {
        *p = '\0';
        (void)mkdir(tree_at(&tree, path), 0755);
        *p = '/';
    }
    assert_true(tree_put(&tree, path, b->p ? b->p : "", b->n));
    if (exec)
        assert_int_equal(chmod(tree_at(&tree, path), 0755), 0);
}

/* What both are given to patch: the old text, sometimes with lines in front. */
static void put_targets(unsigned no, const char *name, const struct wbi_buf *text, bool exec)
{
    struct wbi_buf shifted;

    wbi_buf_init(&shifted, 1 << 20);
    for (unsigned i = dice(4) == 0 ? 1 + dice(8) : 0; i > 0; i--)
        wbi_buf_addf(&shifted, "in front %u\n", i);
    wbi_buf_add(&shifted, text->p ? text->p : "", text->n);
    put("ours", no, name, &shifted, exec);
    put("theirs", no, name, &shifted, exec);
    wbi_buf_fini(&shifted);
}

static void make_file(unsigned no, const char *name, const char *moved)
{
    unsigned fate = dice(12);
    bool exec = dice(6) == 0;
    struct wbi_buf before, after;

    wbi_buf_init(&before, 1 << 20);
    wbi_buf_init(&after, 1 << 20);
    make_text(&before);
    mutate(&after, wbi_buf_str(&before));
    if (fate != 0) {
        put("old", no, name, &before, exec);
        put_targets(no, name, &before, exec);
    }
    if (fate != 1)
        put("new", no, fate == 2 ? moved : name, fate == 4 ? &before : &after,
            fate == 3 ? !exec : exec);
    wbi_buf_fini(&before);
    wbi_buf_fini(&after);
}

static void make_case(unsigned no)
{
    unsigned files = 1 + dice(3), first = dice(LEN(names));
    struct wbi_buf none;
    char moved[32];

    wbi_buf_init(&none, 16);
    put("ours", no, "keep", &none, false);
    put("theirs", no, "keep", &none, false);
    for (unsigned i = 0; i < files; i++) {
        snprintf(moved, sizeof(moved), "moved/%u", i);
        make_file(no, names[(first + 5 * i) % LEN(names)], moved);
    }
}

/* ---- git's diff, one text a case ---- */

struct style {
    const char *options; /* of git diff */
    const char *apply;   /* of git apply */
};

/* "old/c12/x" and "new/c12/x" of a header line become "x"; the case they are of. */
static unsigned add_header(struct wbi_buf *b, struct wbi_str line)
{
    unsigned no = 0;

    while (line.n > 0) {
        size_t i = 0;

        if (wbi_str_starts(line, WBI_LIT("old/c")) || wbi_str_starts(line, WBI_LIT("new/c"))) {
            no = (unsigned)strtoul(line.p + 5, NULL, 10);
            line = wbi_str_from(line, wbi_str_index(wbi_str_from(line, 4), '/') + 5);
            continue;
        }
        wbi_buf_addc(b, line.p[i]);
        line = wbi_str_from(line, 1);
    }
    return no;
}

/* Every tenth hunk says a wrong place. */
static void add_hunk_head(struct wbi_buf *b, struct wbi_str line)
{
    unsigned old_start, new_start;
    char *end;

    if (dice(10) != 0) {
        wbi_buf_adds(b, line);
        return;
    }
    old_start = (unsigned)strtoul(line.p + 4, &end, 10);
    wbi_buf_addf(b, "@@ -%u", old_start + 1 + dice(12));
    while (*end != '+')
        wbi_buf_addc(b, *end++);
    new_start = (unsigned)strtoul(end + 1, &end, 10);
    wbi_buf_addf(b, "+%u", new_start + 1 + dice(12));
    wbi_buf_add(b, end, line.n - (size_t)(end - line.p));
}

static void split(struct wbi_str all, unsigned first, struct wbi_buf patches[BATCH])
{
    struct wbi_buf head;
    unsigned no = first;
    bool in_header = false;

    wbi_buf_init(&head, 1 << 16);
    while (all.n > 0) {
        size_t n = wbi_str_index(all, '\n');
        struct wbi_str line = wbi_str_head(all, n < all.n ? n + 1 : n);

        if (wbi_str_starts(line, WBI_LIT("diff --git ")))
            in_header = true;
        wbi_buf_clear(&head);
        if (wbi_str_starts(line, WBI_LIT("@@ -"))) {
            in_header = false;
            add_hunk_head(&head, line);
        } else if (in_header) {
            unsigned named = add_header(&head, line);
            no = wbi_str_starts(line, WBI_LIT("diff --git ")) ? named : no;
        } else {
            wbi_buf_adds(&head, line);
        }
        assert_true(no >= first && no < first + BATCH);
        wbi_buf_adds(&patches[no - first], wbi_buf_str(&head));
        all = wbi_str_from(all, line.n);
    }
    wbi_buf_fini(&head);
}

static void ask_git_diff(const char *options, struct wbi_buf *out)
{
    char cmd[512], chunk[8192];
    size_t n;
    FILE *f;

    snprintf(cmd, sizeof(cmd),
             "cd %s && HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 git diff --no-index -M40 %s old new",
             tree.top, options);
    f = popen(cmd, "r");
    assert_non_null(f);
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        wbi_buf_add(out, chunk, n);
    (void)pclose(f); /* 1: there are differences */
}

/* ---- applying ---- */

static bool git_applies(unsigned no, const char *options, struct wbi_str patch)
{
    char cmd[512];
    FILE *f;

    snprintf(cmd, sizeof(cmd),
             "cd %s/theirs/c%u && HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 "
             "GIT_CEILING_DIRECTORIES=%s exec git apply %s - 2>/dev/null",
             tree.top, no, tree.top, options);
    f = popen(cmd, "w");
    assert_non_null(f);
    (void)fwrite(patch.p, 1, patch.n, f); /* git may have seen enough */
    return pclose(f) == 0;
}

static bool we_apply(unsigned no, struct wbi_str patch, struct wbi_error *err)
{
    struct wbi_patch_disk disk = {.root = NULL};
    struct wbi_patch_fs fs = wbi_patch_fs_path(&disk);
    struct wbi_patch_result res;
    struct wbi_patch_fault fault;
    struct wbi_arena *arena;
    char path[64];
    bool ok;

    snprintf(path, sizeof(path), "ours/c%u", no);
    assert_int_equal(wbi_arena_new(256u << 20, &arena), WB_OK);
    assert_int_equal(wbi_root_open(tree_at(&tree, path), WBI_ROOT_NO_SYNC, err, &disk.root), WB_OK);
    ok = wbi_patch_apply(patch, &fs, 0, arena, err, &fault, &res) == WB_OK;
    wbi_root_unref(disk.root);
    wbi_arena_free(arena);
    return ok;
}

/* ---- comparing: every file of one side is on the other, twice ---- */

static const char *other_side;
static size_t side_n;
static bool same;

static int compare_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
    static char a[1 << 18], b[1 << 18];
    char other[512];
    struct stat ost;
    int fd;

    (void)f;
    if (type != FTW_F)
        return 0;
    snprintf(other, sizeof(other), "%s/%s%s", tree.top, other_side, path + side_n);
    if (stat(other, &ost) != 0 || ost.st_size != st->st_size ||
        ((ost.st_mode ^ st->st_mode) & 0111) != 0) {
        print_error("%s differs\n", path);
        same = false;
        return 0;
    }
    fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, a, sizeof(a)), st->st_size);
    close(fd);
    fd = open(other, O_RDONLY);
    assert_int_equal(read(fd, b, sizeof(b)), st->st_size);
    close(fd);
    if (memcmp(a, b, (size_t)st->st_size) != 0) {
        print_error("%s differs\n", path);
        same = false;
    }
    return 0;
}

static bool same_trees(unsigned no)
{
    char mine[64], theirs[64];

    snprintf(mine, sizeof(mine), "ours/c%u", no);
    snprintf(theirs, sizeof(theirs), "theirs/c%u", no);
    same = true;
    other_side = theirs;
    side_n = strlen(tree.top) + 1 + strlen(mine);
    nftw(tree_at(&tree, mine), compare_one, 16, FTW_PHYS);
    other_side = mine;
    side_n = strlen(tree.top) + 1 + strlen(theirs);
    nftw(tree_at(&tree, theirs), compare_one, 16, FTW_PHYS);
    return same;
}

static struct wbi_str content(const char *path, char *room, size_t n)
{
    int fd = open(path, O_RDONLY);
    ssize_t got = fd >= 0 ? read(fd, room, n) : 0;

    if (fd >= 0)
        close(fd);
    return wbi_str_make(room, got > 0 ? (size_t)got : 0);
}

/* A file of "new" against ours without the lines put in front. */
static int compare_meant(const char *path, const struct stat *st, int type, struct FTW *f)
{
    static char a[1 << 18], b[1 << 18];
    char other[512];
    struct wbi_str ours;

    (void)st;
    (void)f;
    if (type != FTW_F)
        return 0;
    snprintf(other, sizeof(other), "%s/%s%s", tree.top, other_side, path + side_n);
    ours = content(other, b, sizeof(b));
    while (wbi_str_starts(ours, WBI_LIT("in front ")))
        ours = wbi_str_from(ours, wbi_str_index(ours, '\n') + 1);
    same = same && wbi_str_eq(content(path, a, sizeof(a)), ours);
    return 0;
}

/* git may put a hunk in front of the hunk before it where lines of context repeat and all have
 * moved: we keep their order, and what comes out is what the diff was made of. */
static bool made_what_was_meant(unsigned no)
{
    char mine[64], meant[64];

    snprintf(mine, sizeof(mine), "ours/c%u", no);
    snprintf(meant, sizeof(meant), "new/c%u", no);
    same = true;
    other_side = mine;
    side_n = strlen(tree.top) + 1 + strlen(meant);
    nftw(tree_at(&tree, meant), compare_meant, 16, FTW_PHYS);
    return same;
}

struct tally {
    unsigned cases, both, only_git, only_we, neither, misplaced;
};

static void play_case(unsigned no, const struct style *style, struct wbi_str patch, struct tally *t)
{
    struct wbi_error err = {0};
    bool git, we;

    if (patch.n == 0)
        return; /* nothing differs */
    git = git_applies(no, style->apply, patch);
    we = we_apply(no, patch, &err);
    t->cases++;
    t->both += git && we;
    t->only_git += git && !we;
    t->only_we += we && !git;
    t->neither += !we && !git;
    if (git && we && !same_trees(no)) {
        if (!made_what_was_meant(no))
            fail_msg("case %u: the trees differ after\n%.*s", no, WBI_FMT(patch));
        print_message("case %u, git puts a hunk elsewhere than it was made\n", no);
        t->misplaced++;
    }
    if (git && !we)
        print_message("case %u, only git applies it: %s\n", no, err.text);
}

static void play_batch(unsigned first, const struct style *style, struct tally *t)
{
    struct wbi_buf all, patches[BATCH];

    assert_true(tree_make(&tree));
    wbi_buf_init(&all, 64u << 20);
    for (unsigned i = 0; i < BATCH; i++) {
        wbi_buf_init(&patches[i], 16u << 20);
        make_case(first + i);
    }
    ask_git_diff(style->options, &all);
    split(wbi_buf_str(&all), first, patches);
    for (unsigned i = 0; i < BATCH; i++) {
        play_case(first + i, style, wbi_buf_str(&patches[i]), t);
        wbi_buf_fini(&patches[i]);
    }
    wbi_buf_fini(&all);
    tree_remove(&tree);
}

static void git_and_we_make_the_same_trees(void **state)
{
    static const struct style styles[] = {
        {"--unified=3", ""},
        {"--unified=3 --no-prefix", "-p0"},
        {"--unified=1", ""},
        {"--unified=3 --src-prefix=i/ --dst-prefix=w/", ""},
        {"--unified=5 --patience", ""},
        {"--unified=2 --full-index", ""},
        {"--unified=0", ""},
        {"--unified=3 --no-renames", ""},
    };
    unsigned batches = getenv("WAYBILL_SOAK") ? 160 : 8;
    struct tally t = {0};

    (void)state;
    if (system("git --version > /dev/null 2>&1") != 0) {
        print_message("skipped: git as the oracle of patches (no git)\n");
        skip();
    }
    (void)signal(SIGPIPE, SIG_IGN);
    seed = getenv("WAYBILL_SEED") ? strtoull(getenv("WAYBILL_SEED"), NULL, 10) : 20261115;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (unsigned i = 0; i < batches; i++)
        play_batch(i * BATCH, &styles[i % LEN(styles)], &t);
    print_message(
        "%u diffs: both apply %u (git misplaces %u), only git %u, only we %u, neither %u\n",
        t.cases, t.both, t.misplaced, t.only_git, t.only_we, t.neither);
    assert_true(t.both > t.cases / 2);
    assert_true(t.misplaced <= 2 + t.cases / 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(git_and_we_make_the_same_trees)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
