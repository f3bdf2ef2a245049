/* SPDX-License-Identifier: Apache-2.0
 * family/file/patch_test.c: patches on a real tree: all files or none, also
 * over a crash at any step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/wait.h>

#include "base/arena.h"
#include "family/file/patch.h"
#include "path/path.h"
#include "tree.h"

#define Z(s) wbi_str_z(s)

static struct tree tree;
static struct wbi_root *root, *journal;
static struct wbi_arena *arena;
static struct wbi_error err;

static int set_up(void **state)
{
    (void)state;
    if (!tree_make(&tree) || wbi_arena_new(512u << 20, &arena) ||
        mkdir(tree_at(&tree, "journal"), 0700) != 0 || wbi_root_open(tree.root, 0, &err, &root) ||
        wbi_root_open(tree_at(&tree, "journal"), WBI_ROOT_GRANT, &err, &journal))
        return -1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wbi_root_unref(root);
    wbi_root_unref(journal);
    wbi_arena_free(arena);
    tree_remove(&tree);
    return 0;
}

static wb_rc apply_with(struct wbi_patch_disk *disk, const char *patch)
{
    struct wbi_patch_fs fs = wbi_patch_fs_path(disk);
    struct wbi_patch_result res;
    struct wbi_patch_fault fault;

    err = (struct wbi_error){0};
    return wbi_patch_apply(Z(patch), &fs, 0, arena, &err, &fault, &res);
}

static wb_rc apply(const char *patch)
{
    struct wbi_patch_disk disk = {.root = root, .journal = journal};

    return apply_with(&disk, patch);
}

/* No temporary file and no journal is left anywhere. */
static void assert_clean(void)
{
    char cmd[256];

    snprintf(cmd, sizeof(cmd), "test -z \"$(find %s -name '.waybill-tmp-*' -o -name '*.journal')\"",
             tree.top);
    assert_int_equal(system(cmd), 0);
}

/* ---- five files, one patch ---- */

static const char five[] = "*** Begin Patch\n"
                           "*** Update File: a\n@@\n-old a\n+new a\n"
                           "*** Update File: d/b\n@@\n-old b\n+new b\n"
                           "*** Add File: n/m/c\n+new c\n"
                           "*** Delete File: e\n"
                           "*** Update File: f\n*** Move to: g/h\n@@\n-old f\n+new f\n"
                           "*** End Patch\n";

static void make_five(void)
{
    assert_true(tree_puts(&tree, "work/a", "old a\n"));
    mkdir(tree_at(&tree, "work/d"), 0755);
    assert_true(tree_puts(&tree, "work/d/b", "old b\n"));
    assert_true(tree_puts(&tree, "work/e", "old e\n"));
    assert_true(tree_puts(&tree, "work/f", "old f\n"));
}

static bool gone(const char *name)
{
    return access(tree_at(&tree, name), F_OK) != 0;
}

static bool all_old(void)
{
    return tree_is(&tree, "work/a", "old a\n") && tree_is(&tree, "work/d/b", "old b\n") &&
           tree_is(&tree, "work/e", "old e\n") && tree_is(&tree, "work/f", "old f\n") &&
           gone("work/n") && gone("work/g");
}

static bool all_new(void)
{
    return tree_is(&tree, "work/a", "new a\n") && tree_is(&tree, "work/d/b", "new b\n") &&
           tree_is(&tree, "work/n/m/c", "new c\n") && gone("work/e") && gone("work/f") &&
           tree_is(&tree, "work/g/h", "new f\n");
}

static void five_files_change_as_one(void **state)
{
    (void)state;
    make_five();
    assert_int_equal(apply(five), WB_OK);
    assert_true(all_new());
    assert_clean();
}

struct crash {
    unsigned at, now;
};

static void crash_step(void *arg, const char *name, size_t index)
{
    struct crash *c = arg;

    (void)name;
    (void)index;
    if (c->now++ == c->at)
        _exit(42);
}

static void reset_five(void)
{
    char cmd[200];

    snprintf(cmd, sizeof(cmd), "rm -rf %s/* %s/.waybill-tmp*", tree.root, tree.root);
    assert_int_equal(system(cmd), 0);
    make_five();
}

static void a25_a_crash_at_any_step_leaves_all_old_or_all_new(void **state)
{
    unsigned old = 0, new = 0, at = 0;

    (void)state;
    for (bool crashed = true; crashed; at++) {
        unsigned finished, undone;
        int status;
        pid_t pid;

        reset_five();
        pid = fork();
        if (pid == 0) {
            struct crash c = {.at = at};
            struct wbi_patch_disk disk = {
                .root = root, .journal = journal, .step = crash_step, .step_arg = &c};
            _exit(apply_with(&disk, five) == WB_OK ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        crashed = WEXITSTATUS(status) == 42;
        assert_true(crashed || WEXITSTATUS(status) == 0);
        assert_int_equal(wbi_patch_recover(root, journal, arena, &err, &finished, &undone), WB_OK);
        assert_int_equal(wbi_patch_recover(root, journal, arena, &err, NULL, NULL), WB_OK);
        old += all_old();
        new += all_new();
        assert_int_equal(old + new, at + 1);
        assert_clean();
    }
    print_message("%u steps: %u all old, %u all new\n", at, old, new);
    assert_true(old > 5 && new > 5);
}

/* ---- a file becomes a folder, a folder a file ---- */

static const char kinds[] = "*** Begin Patch\n"
                            "*** Delete File: f\n"
                            "*** Add File: f/one\n+1\n"
                            "*** Add File: f/deep/er/two\n+2\n"
                            "*** Add File: d\n+file\n"
                            "*** Delete File: d/x\n"
                            "*** Delete File: d/in/y\n"
                            "*** Update File: m\n*** Move to: m/index\n"
                            "*** Delete File: same\n"
                            "*** Add File: same\n+new\n"
                            "*** End Patch\n";

static void make_kinds(void)
{
    char cmd[200];

    snprintf(cmd, sizeof(cmd), "rm -rf %s/* %s/.waybill-tmp*", tree.root, tree.root);
    assert_int_equal(system(cmd), 0);
    assert_true(tree_puts(&tree, "work/f", "old f\n"));
    mkdir(tree_at(&tree, "work/d"), 0750);
    mkdir(tree_at(&tree, "work/d/in"), 0755);
    assert_true(tree_puts(&tree, "work/d/x", "old x\n"));
    assert_true(tree_puts(&tree, "work/d/in/y", "old y\n"));
    assert_true(tree_puts(&tree, "work/m", "m\n"));
    assert_true(tree_puts(&tree, "work/same", "old\n"));
}

static bool kinds_old(void)
{
    struct stat st;

    return tree_is(&tree, "work/f", "old f\n") && tree_is(&tree, "work/d/x", "old x\n") &&
           tree_is(&tree, "work/d/in/y", "old y\n") && tree_is(&tree, "work/m", "m\n") &&
           tree_is(&tree, "work/same", "old\n") && stat(tree_at(&tree, "work/d"), &st) == 0 &&
           (st.st_mode & 0777) == 0750;
}

static bool kinds_new(void)
{
    struct stat st;

    return tree_is(&tree, "work/f/one", "1\n") && tree_is(&tree, "work/f/deep/er/two", "2\n") &&
           tree_is(&tree, "work/d", "file\n") && tree_is(&tree, "work/m/index", "m\n") &&
           tree_is(&tree, "work/same", "new\n") && stat(tree_at(&tree, "work/d"), &st) == 0 &&
           (st.st_mode & 0111) == 0;
}

static void a25_files_and_folders_change_places_as_one(void **state)
{
    unsigned old = 0, new = 0, at = 0;

    (void)state;
    for (bool crashed = true; crashed; at++) {
        int status;
        pid_t pid;

        make_kinds();
        pid = fork();
        if (pid == 0) {
            struct crash c = {.at = at};
            struct wbi_patch_disk disk = {
                .root = root, .journal = journal, .step = crash_step, .step_arg = &c};
            _exit(apply_with(&disk, kinds) == WB_OK ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        crashed = WEXITSTATUS(status) == 42;
        assert_true(crashed || WEXITSTATUS(status) == 0);
        assert_int_equal(wbi_patch_recover(root, journal, arena, &err, NULL, NULL), WB_OK);
        assert_int_equal(wbi_patch_recover(root, journal, arena, &err, NULL, NULL), WB_OK);
        old += kinds_old();
        new += kinds_new();
        assert_int_equal(old + new, at + 1);
        assert_clean();
    }
    print_message("%u steps: %u all old, %u all new\n", at, old, new);
    assert_true(old > 5 && new > 5);
}

static void more_step(void *arg, const char *name, size_t index)
{
    static const char *const of[] = {"stage", "swap"};

    (void)index;
    if (strcmp(name, of[*(size_t *)arg]) == 0 && !gone("work/d/in"))
        assert_true(tree_puts(&tree, "work/d/in/more", "more\n"));
}

static void a26_a_folder_that_holds_more_stays(void **state)
{
    struct wbi_patch_disk disk = {.root = root, .journal = journal, .step = more_step};

    (void)state;
    for (size_t when = 0; when < 2; when++) { /* noticed before and behind the exchange */
        make_kinds();
        disk.step_arg = &when;
        assert_int_equal(apply_with(&disk, kinds), WB_EAGAIN);
        assert_int_equal(err.kind, WBI_KIND_FILE_CHANGED);
        assert_true(kinds_old());
        assert_true(tree_is(&tree, "work/d/in/more", "more\n"));
        assert_clean();
        assert_int_equal(apply(kinds), WB_EEXISTS);
        assert_int_equal(err.kind, WBI_KIND_FILE_EXISTS);
        assert_non_null(strstr(err.text, "`d/in/more`"));
        assert_true(kinds_old());
    }
    make_kinds(); /* a folder that leads to none of the files is more, too */
    mkdir(tree_at(&tree, "work/d/empty"), 0755);
    assert_int_equal(apply(kinds), WB_EEXISTS);
    rmdir(tree_at(&tree, "work/d/empty"));
    assert_int_equal(symlink("x", tree_at(&tree, "work/d/link")), 0);
    assert_int_equal(apply(kinds), WB_EEXISTS);
    unlink(tree_at(&tree, "work/d/link"));
    assert_int_equal(apply(kinds), WB_OK);
    assert_true(kinds_new());
    assert_clean();
}

/* What is guarded stays so in a folder that was a file. */
static void a27_a_guarded_name_in_the_place_of_a_file(void **state)
{
    (void)state;
    make_kinds();
    assert_int_equal(apply("*** Begin Patch\n*** Delete File: f\n*** Add File: f/.git/config\n+x\n"
                           "*** End Patch\n"),
                     WB_EDENIED);
    assert_true(apply("*** Begin Patch\n*** Delete File: f\n*** Add File: f/../../x\n+x\n"
                      "*** End Patch\n") != WB_OK);
    assert_true(gone("x"));
    assert_int_equal(symlink("f", tree_at(&tree, "work/l")), 0);
    assert_true(apply("*** Begin Patch\n*** Delete File: l\n*** Add File: l/x\n+x\n"
                      "*** End Patch\n") != WB_OK);
    assert_true(kinds_old());
    assert_clean();
}

static void a_journal_of_a_living_process_or_another_root_is_left(void **state)
{
    int fd;
    unsigned finished = 9, undone = 9;

    (void)state;
    make_five();
    assert_int_equal(wbi_path_create_locked(journal, Z("patch_x.journal"), &err, &fd), WB_OK);
    assert_int_equal(
        wbi_path_append_fd(fd, Z("waybill-patch 1 1 1\nc .waybill-tmp-x 0 61\n"), false, &err),
        WB_OK);
    assert_int_equal(wbi_patch_recover(root, journal, arena, &err, &finished, &undone), WB_OK);
    assert_int_equal(finished + undone, 0);
    close(fd);
    assert_int_equal(wbi_patch_recover(root, journal, arena, &err, &finished, &undone), WB_OK);
    assert_int_equal(finished + undone, 0);
    assert_false(gone("journal/patch_x.journal"));
    assert_true(all_old());
}

static void fail_step(void *arg, const char *name, size_t index)
{
    /* The directory goes away under the third swap. */
    if (strcmp(name, "swap") == 0 && index == *(size_t *)arg)
        rename(tree_at(&tree, "work/d"), tree_at(&tree, "work/d2"));
}

static void change_step(void *arg, const char *name, size_t index)
{
    (void)index;
    if (strcmp(name, arg) == 0 && index == 0)
        assert_true(tree_puts(&tree, "work/d/b", "other\n"));
}

static void replace_step(void *arg, const char *name, size_t index)
{
    (void)arg;
    if (strcmp(name, "swap") == 0 && index == 0) {
        assert_true(tree_puts(&tree, "work/x", "other\n"));
        rename(tree_at(&tree, "work/x"), tree_at(&tree, "work/d/b"));
    }
}

static void a26_a_target_changed_meanwhile_stops_everything(void **state)
{
    struct wbi_patch_disk disk = {.root = root,
                                  .journal = journal,
                                  .step = change_step,
                                  .step_arg = (void *)(uintptr_t) "stage"};
    size_t at = 0;

    (void)state;
    make_five();
    assert_int_equal(apply_with(&disk, five), WB_EAGAIN);
    assert_int_equal(err.kind, WBI_KIND_FILE_CHANGED);
    assert_true(tree_is(&tree, "work/a", "old a\n"));
    assert_true(tree_is(&tree, "work/d/b", "other\n"));
    assert_clean();
    assert_true(tree_puts(&tree, "work/d/b", "old b\n"));
    disk.step = replace_step; /* after the check: seen by its inode when swapped */
    assert_int_equal(apply_with(&disk, five), WB_EAGAIN);
    assert_int_equal(err.kind, WBI_KIND_FILE_CHANGED);
    assert_true(tree_is(&tree, "work/a", "old a\n"));
    assert_true(tree_is(&tree, "work/d/b", "other\n"));
    assert_true(gone("work/n") && gone("work/g"));
    assert_clean();
    assert_true(tree_puts(&tree, "work/d/b", "old b\n"));
    disk.step = fail_step; /* a moved folder is still the same folder */
    disk.step_arg = &at;
    assert_int_equal(apply_with(&disk, five), WB_OK);
    assert_true(tree_is(&tree, "work/d2/b", "new b\n"));
}

static void a24_a_file_over_the_cap_is_refused(void **state)
{
    (void)state;
    assert_true(tree_puts(&tree, "work/a", "x"));
    assert_int_equal(truncate(tree_at(&tree, "work/a"), 200 << 20), 0);
    assert_int_equal(apply("*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch\n"),
                     WB_ELIMIT);
}

static void a19_links_in_the_tree_are_not_written_through(void **state)
{
    (void)state;
    assert_true(tree_puts(&tree, "outside/secret", "secret\n"));
    assert_int_equal(symlink("../outside", tree_at(&tree, "work/l")), 0);
    assert_int_equal(apply("*** Begin Patch\n*** Add File: l/x\n+y\n*** End Patch\n"), WB_EDENIED);
    assert_int_equal(apply("*** Begin Patch\n*** Update File: l/secret\n@@\n-secret\n+y\n"
                           "*** End Patch\n"),
                     WB_EDENIED);
    assert_int_equal(err.kind, WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_true(tree_is(&tree, "outside/secret", "secret\n"));
    /* Two names of one file are one file. */
    assert_true(tree_puts(&tree, "work/a", "x\n"));
    assert_int_equal(symlink("a", tree_at(&tree, "work/same")), 0);
    assert_int_equal(
        apply("*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Delete File: same\n"
              "*** End Patch\n"),
        WB_EINPUT);
    assert_true(tree_is(&tree, "work/a", "x\n"));
}

static bool is_link(const char *path)
{
    struct stat st;

    return lstat(tree_at(&tree, path), &st) == 0 && S_ISLNK(st.st_mode);
}

/* A name that comes or goes is the link's own, never that of the file behind it. */
static void c73_links_are_not_added_deleted_or_moved(void **state)
{
    static const char *const refused[] = {
        "*** Begin Patch\n*** Delete File: l\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: l\n*** Move to: m\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: l\n*** Move to: m\n@@\n-x\n+y\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: f\n*** Move to: l\n*** End Patch\n",
        "*** Begin Patch\n*** Add File: empty_l\n+y\n*** End Patch\n",
        "*** Begin Patch\n*** Delete File: dangling\n*** End Patch\n",
        "*** Begin Patch\n*** Delete File: out\n*** End Patch\n",
        "diff --git a/l b/l\ndeleted file mode 100644\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
        "diff --git a/l b/m\nsimilarity index 100%\nrename from l\nrename to m\n",
        "--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
    };

    (void)state;
    assert_true(tree_puts(&tree, "work/f", "x\n"));
    assert_true(tree_puts(&tree, "work/empty", ""));
    assert_true(tree_puts(&tree, "outside/secret", "x\n"));
    assert_int_equal(symlink("f", tree_at(&tree, "work/l")), 0);
    assert_int_equal(symlink("empty", tree_at(&tree, "work/empty_l")), 0);
    assert_int_equal(symlink("nothing", tree_at(&tree, "work/dangling")), 0);
    assert_int_equal(symlink("../outside/secret", tree_at(&tree, "work/out")), 0);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        assert_int_equal(apply(refused[i]), WB_EINPUT);
        assert_int_equal(err.kind, WBI_KIND_FILE_UNREADABLE);
        assert_true(is_link("work/l") && is_link("work/empty_l") && is_link("work/dangling") &&
                    is_link("work/out") && gone("work/m"));
        assert_true(tree_is(&tree, "work/f", "x\n") && tree_is(&tree, "work/empty", ""));
    }
    /* Text is changed through a link, which stays one. */
    assert_int_equal(apply("*** Begin Patch\n*** Update File: l\n@@\n-x\n+y\n*** End Patch\n"),
                     WB_OK);
    assert_true(is_link("work/l") && tree_is(&tree, "work/f", "y\n"));
}

#define EACH(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(five_files_change_as_one),
        EACH(a25_a_crash_at_any_step_leaves_all_old_or_all_new),
        EACH(a25_files_and_folders_change_places_as_one),
        EACH(a26_a_folder_that_holds_more_stays),
        EACH(a27_a_guarded_name_in_the_place_of_a_file),
        EACH(a_journal_of_a_living_process_or_another_root_is_left),
        EACH(a26_a_target_changed_meanwhile_stops_everything),
        EACH(a24_a_file_over_the_cap_is_refused),
        EACH(a19_links_in_the_tree_are_not_written_through),
        EACH(c73_links_are_not_added_deleted_or_moved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
