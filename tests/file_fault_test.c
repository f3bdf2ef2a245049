/* SPDX-License-Identifier: Apache-2.0
 * tests/file_fault_test.c: the file engines with the n-th allocation failing, for
 * every n, once alone and once with all that follow; pieces of arenas count as
 * allocations. An engine gives its whole answer or says that memory is out: no
 * crash, no leak, no descriptor, no half list, no half file. The same with ever fewer
 * descriptors left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <sys/resource.h>

#include "faults/alloc_fault.h"
#include "faults/crypto_errors.h"
#include "faults/arena_fault.h"

#include "family/file/file.h"
#include "family/file/patch.h"
#include "path/path.h"
#include "text/secrets.h"
#include "tree.h"

#define Z(s) wbi_str_z(s)

static struct tree tree;
static struct wbi_root *root, *journal;

/* One engine: makes its input, runs, and says whether a success is whole. */
struct engine {
    const char *name;
    wb_rc (*run)(struct wbi_arena *arena, struct wbi_error *err, bool *ret_whole);
    bool writes;
};

/* ---- the tree ---- */

static void shell(const char *fmt)
{
    char cmd[1024];

    snprintf(cmd, sizeof(cmd), "cd %s && %s", tree.root, fmt);
    assert_int_equal(system(cmd), 0);
}

static void make_tree(void)
{
    shell(
        "rm -rf ./* .gitignore .waybill-tmp* ../journal/* && mkdir -p d/e/f && "
        "printf 'one\\ntwo\\nthree\\n' > a && printf 'two\\n' > d/b && printf 'two\\n' > d/e/c && "
        "printf 'ig\\n' > .gitignore && printf '!ig\\n*.x\\n' > d/.gitignore && "
        "printf 'two\\n' > d/ig && printf 'two\\n' > ig && printf 'old\\n' > g && "
        "printf -- '- name: DB_PASSWORD\\n  value: 6c732AGhWXHq9YDNaZhD\\n' > .k");
}

static bool is_old(void)
{
    return tree_is(&tree, "work/a", "one\ntwo\nthree\n") && tree_is(&tree, "work/g", "old\n") &&
           tree_is(&tree, "work/d/b", "two\n") && access(tree_at(&tree, "work/n"), F_OK) != 0 &&
           access(tree_at(&tree, "work/m"), F_OK) != 0;
}

static unsigned half_made;

static int count_half_made(const char *path, const struct stat *st, int type, struct FTW *f)
{
    const char *name = path + f->base, *dot = strrchr(name, '.');

    (void)st;
    (void)type;
    half_made += strncmp(name, ".waybill-tmp-", 13) == 0 || (dot && strcmp(dot, ".journal") == 0);
    return 0;
}

/* Nothing half-made is left, also in the journal. */
static bool is_clean(void)
{
    half_made = 0;
    return nftw(tree.top, count_half_made, 16, FTW_PHYS) == 0 && half_made == 0;
}

/* ---- the engines ---- */

static wb_rc run_read(struct wbi_arena *arena, struct wbi_error *err, bool *ret_whole)
{
    struct wbi_read_request req = {.path = Z("a"), .max_lines = 2};
    struct wbi_read_result res;
    wb_rc rc = wbi_file_read(root, &req, arena, err, &res);

    *ret_whole = rc == WB_OK && res.n_lines == 2 && res.next_token.p != NULL;
    if (rc == WB_OK) {
        req.token = res.next_token;
        rc = wbi_file_read(root, &req, arena, err, &res);
        *ret_whole = *ret_whole && rc == WB_OK && res.n_lines == 1 && res.at_end;
    }
    return rc;
}

static struct wbi_secrets *secrets;

static bool is_hidden(struct wbi_str text)
{
    return wbi_str_starts(text, Z("  value: [redacted:"));
}

static wb_rc run_hidden(struct wbi_arena *arena, struct wbi_error *err, bool *ret_whole)
{
    struct wbi_read_request read = {.path = Z(".k"), .first_line = 2, .secrets = secrets};
    struct wbi_search_request search = {.pattern = Z("value"), .path = Z(".k"), .secrets = secrets};
    struct wbi_read_result lines;
    struct wbi_search_result found;
    wb_rc rc = wbi_file_read(root, &read, arena, err, &lines);

    *ret_whole = rc == WB_OK && lines.hidden && is_hidden(lines.lines[0].text);
    if (rc == WB_OK)
        rc = wbi_file_search(root, &search, arena, err, &found);
    *ret_whole &= rc == WB_OK && (found.gave_up || is_hidden(found.files[0].lines[0].text));
    return rc;
}

static wb_rc run_list(struct wbi_arena *arena, struct wbi_error *err, bool *ret_whole)
{
    struct wbi_list_request req = {.glob = Z("{*,d/**}"), .max_entries = 5};
    struct wbi_list_result res;
    wb_rc rc = wbi_file_list(root, &req, arena, err, &res);

    *ret_whole = rc == WB_OK && res.n_entries == 5 && res.unreadable == 0 && res.too_deep == 0;
    if (rc == WB_OK && res.next_token.p != NULL) {
        req.token = res.next_token;
        rc = wbi_file_list(root, &req, arena, err, &res);
        *ret_whole = *ret_whole && rc == WB_OK && res.n_entries == 3;
    }
    return rc;
}

static wb_rc run_search(struct wbi_arena *arena, struct wbi_error *err, bool *ret_whole)
{
    struct wbi_search_request req = {.pattern = Z("t[w]o"), .before = 1, .after = 1};
    struct wbi_search_result res;
    wb_rc rc = wbi_file_search(root, &req, arena, err, &res);

    /* an expression without memory to match has given up, and says so */
    *ret_whole =
        rc == WB_OK && res.unreadable == 0 && res.large_skipped == 0 &&
        (res.gave_up || (res.n_files == 4 && res.files[0].n_lines == 3 && res.matches == 4));
    return rc;
}

static wb_rc run_write(struct wbi_arena *arena, struct wbi_error *err, bool *ret_whole)
{
    struct wbi_write_request req = {
        .path = Z("n/m/new"), .data = Z("text\n"), .mode = WBI_FILE_CREATE, .make_dirs = true};
    struct wbi_write_result res;
    wb_rc rc = wbi_file_write(root, &req, arena, err, &res);

    *ret_whole = rc == WB_OK && res.created && tree_is(&tree, "work/n/m/new", "text\n");
    if (rc != WB_OK) { /* folders that were made for it may stay */
        (void)rmdir(tree_at(&tree, "work/n/m"));
        (void)rmdir(tree_at(&tree, "work/n"));
    }
    return rc;
}

static wb_rc run_append(struct wbi_arena *arena, struct wbi_error *err, bool *ret_whole)
{
    struct wbi_write_request req = {.path = Z("g"), .data = Z("new\n"), .mode = WBI_FILE_APPEND};
    struct wbi_write_result res;
    wb_rc rc = wbi_file_write(root, &req, arena, err, &res);

    *ret_whole = rc == WB_OK && res.size == 8 && tree_is(&tree, "work/g", "old\nnew\n");
    return rc;
}

static wb_rc run_patch_text(const char *text, struct wbi_arena *arena, struct wbi_error *err)
{
    struct wbi_patch_disk disk = {.root = root, .journal = journal};
    struct wbi_patch_fs fs = wbi_patch_fs_path(&disk);
    struct wbi_patch_result res;
    struct wbi_patch_fault fault;

    return wbi_patch_apply(wbi_str_z(text), &fs, 0, arena, err, &fault, &res);
}

static bool patched(void)
{
    return tree_is(&tree, "work/a", "one\n2\nthree\n") && tree_is(&tree, "work/m/n", "x\n") &&
           tree_is(&tree, "work/h", "old\n") && access(tree_at(&tree, "work/g"), F_OK) != 0 &&
           access(tree_at(&tree, "work/d/b"), F_OK) != 0;
}

static wb_rc run_codex(struct wbi_arena *arena, struct wbi_error *err, bool *ret_whole)
{
    wb_rc rc = run_patch_text("*** Begin Patch\n*** Update File: a\n@@\n one\n-two\n+2\n"
                              "*** Add File: m/n\n+x\n*** Delete File: d/b\n"
                              "*** Update File: g\n*** Move to: h\n*** End Patch\n",
                              arena, err);

    *ret_whole = rc == WB_OK && patched();
    if (rc != WB_OK)
        (void)rmdir(tree_at(&tree, "work/m"));
    return rc;
}

static wb_rc run_unified(struct wbi_arena *arena, struct wbi_error *err, bool *ret_whole)
{
    wb_rc rc = run_patch_text(
        "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
        "diff --git \"a/m/\\156\" \"b/m/\\156\"\nnew file mode 100644\n--- /dev/null\n"
        "+++ \"b/m/\\156\"\n@@ -0,0 +1 @@\n+x\n--- a/d/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-two\n"
        "diff --git a/g b/h\nrename from g\nrename to h\n",
        arena, err);

    *ret_whole = rc == WB_OK && patched();
    if (rc != WB_OK)
        (void)rmdir(tree_at(&tree, "work/m"));
    return rc;
}

/* A miss: the diagnosis needs memory too. */
static wb_rc run_miss(struct wbi_arena *arena, struct wbi_error *err, bool *ret_whole)
{
    wb_rc rc = run_patch_text("*** Begin Patch\n*** Update File: a\n@@\n one\n-zwei\n+2\n"
                              "*** End Patch\n",
                              arena, err);

    *ret_whole = false; /* it never succeeds */
    return rc == WB_ENOTFOUND ? WB_OK : rc;
}

/* ---- failing ---- */

static unsigned descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    assert_non_null(d);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

struct ran {
    wb_rc rc;
    bool whole;
    long hits, live;
    struct wbi_error err;
};

static struct ran run_once(const struct engine *e, long n, bool sticky)
{
    struct ran r = {.rc = WB_ENOMEM};
    struct wbi_arena *arena;

    alloc_fault_start(n, sticky);
    if (wbi_arena_new(64u << 20, &arena) == WB_OK) {
        r.rc = e->run(arena, &r.err, &r.whole);
        wbi_arena_free(arena);
    }
    atomic_store(&alloc_faults.until, -1);
    forget_crypto_errors();
    r.live = atomic_load(&alloc_faults.live);
    r.hits = alloc_fault_stop();
    return r;
}

static void every_allocation(const struct engine *e, bool sticky)
{
    long n = 0, hits = 1;
    unsigned before;
    bool changed = true;

    make_tree();
    (void)run_once(e, -1, false); /* what is made once per process */
    before = descriptors();
    for (; hits > 0; n++) {
        struct ran r;

        if (e->writes && changed)
            make_tree();
        r = run_once(e, n, sticky);
        changed = r.rc == WB_OK;
        hits = r.hits;
        if (r.rc != WB_OK && r.rc != WB_ENOMEM)
            fail_msg("%s, allocation %ld: %d, %s", e->name, n, (int)r.rc, r.err.text);
        if (r.rc == WB_OK && !r.whole && e->run != run_miss)
            fail_msg("%s, allocation %ld: a success that is not whole", e->name, n);
        if (r.rc != WB_OK && hits == 0)
            fail_msg("%s failed though no allocation did: %s", e->name, r.err.text);
        if (r.rc != WB_OK && e->writes && !is_old())
            fail_msg("%s, allocation %ld: failed and changed something", e->name, n);
        if (e->writes && !is_clean())
            fail_msg("%s, allocation %ld: something half-made is left", e->name, n);
        if (r.live != 0)
            fail_msg("%s, allocation %ld: %ld allocations are left", e->name, n, r.live);
        assert_int_equal(descriptors(), before);
    }
    print_message("%s: %ld allocations%s\n", e->name, n - 1, sticky ? ", and all after each" : "");
}

/* With so few descriptors left, of which it needs more. */
static struct ran run_with(const struct engine *e, unsigned left)
{
    struct ran r = {.rc = WB_ENOMEM};
    struct rlimit before, few;
    struct wbi_arena *arena;
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true(next >= 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = (rlim_t)next + left;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    if (wbi_arena_new(64u << 20, &arena) == WB_OK) {
        r.rc = e->run(arena, &r.err, &r.whole);
        wbi_arena_free(arena);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    return r;
}

static void every_descriptor(const struct engine *e)
{
    unsigned left = 0, before;
    bool whole = false;

    make_tree();
    before = descriptors();
    for (; !whole && left < 32; left++) {
        struct ran r = run_with(e, left);

        whole = r.rc == WB_OK;
        if (whole && !r.whole && e->run != run_miss)
            fail_msg("%s, %u descriptors: a success that is not whole", e->name, left);
        if (!whole && (r.rc != WB_EIO || strstr(r.err.text, "Too many open files") == NULL))
            fail_msg("%s, %u descriptors: %d, %s", e->name, left, (int)r.rc, r.err.text);
        if (!whole && e->writes && !is_old())
            fail_msg("%s, %u descriptors: failed and changed something", e->name, left);
        if (e->writes && !is_clean())
            fail_msg("%s, %u descriptors: something half-made is left", e->name, left);
        assert_int_equal(descriptors(), before);
    }
    assert_true(whole);
    print_message("%s: %u descriptors\n", e->name, left - 1);
}

static const struct engine engines[] = {
    {"read", run_read, false},
    {"list", run_list, false},
    {"search", run_search, false},
    {"hidden lines", run_hidden, false},
    {"create", run_write, true},
    {"append", run_append, true},
    {"Codex patch", run_codex, true},
    {"unified diff", run_unified, true},
    {"a patch that misses", run_miss, true},
};

static int set_up(void **state)
{
    struct wbi_error err;

    (void)state;
    return tree_make(&tree) && mkdir(tree_at(&tree, "journal"), 0700) == 0 &&
                   wbi_secrets_new(&(struct wbi_secrets_options){.key = Z("key")}, &secrets, NULL,
                                   NULL) == WB_OK &&
                   wbi_root_open(tree.root, WBI_ROOT_NO_SYNC, &err, &root) == WB_OK &&
                   wbi_root_open(tree_at(&tree, "journal"), WBI_ROOT_NO_SYNC | WBI_ROOT_GRANT, &err,
                                 &journal) == WB_OK
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    wbi_root_unref(root);
    wbi_root_unref(journal);
    wbi_secrets_free(secrets);
    tree_remove(&tree);
    return 0;
}

static void every_engine_without_memory(void **state)
{
    (void)state;
    if (!ALLOC_FAULTS) {
        print_message("skipped: failing allocations (a sanitizer owns malloc)\n");
        return;
    }
    for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
        every_allocation(&engines[i], false);
        every_allocation(&engines[i], true);
    }
}

/* A file that cannot be opened for want of a descriptor is not one that may not be read: a
 * search that passed it over would say "no matches". */
static void every_engine_without_descriptors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
        every_descriptor(&engines[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_engine_without_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_engine_without_descriptors, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
