/* SPDX-License-Identifier: Apache-2.0
 * tests/patch_crash_test.c: ApplyPatch of several files, one that becomes a
 * folder and a folder that becomes a file among them, killed at each of its
 * system calls (attack 25): after the next start all files are old or all are
 * new. And a rename that the file system refuses (attack 30): a clean error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "toolbox.h"

static atomic_long countdown; /* 0: nothing happens */
static atomic_bool across;    /* renames fail with EXDEV */
static atomic_bool no_swap;   /* two names cannot be exchanged in one step */

static void step(void)
{
    long before = atomic_load(&countdown);

    if (before > 0 && atomic_fetch_sub(&countdown, 1) == 1)
        kill(getpid(), SIGKILL);
}

/* These stand in the program itself, so the library calls them. */
int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    static int (*real)(int, const char *, int, const char *, unsigned);

    if (real == NULL)
        real =
            (int (*)(int, const char *, int, const char *, unsigned))dlsym(RTLD_NEXT, "renameat2");
    if (atomic_load(&across)) {
        errno = EXDEV;
        return -1;
    }
    if (atomic_load(&no_swap) && (flags & RENAME_EXCHANGE) != 0) {
        errno = EINVAL;
        return -1;
    }
    step();
    return real(from_dir, from, to_dir, to, flags);
}

int unlinkat(int dir, const char *name, int flags)
{
    static int (*real)(int, const char *, int);

    if (real == NULL)
        real = (int (*)(int, const char *, int))dlsym(RTLD_NEXT, "unlinkat");
    step();
    return real(dir, name, flags);
}

int fsync(int fd)
{
    static int (*real)(int);

    if (real == NULL)
        real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    step();
    return real(fd);
}

ssize_t write(int fd, const void *p, size_t n)
{
    static ssize_t (*real)(int, const void *, size_t);

    if (real == NULL)
        real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    step();
    return real(fd, p, n);
}

static const char patch[] =
    "{\"patch\":\"*** Begin Patch\\n*** Update File: a\\n@@\\n-old a\\n+new a\\n"
    "*** Add File: made/b\\n+new b\\n*** Delete File: c\\n*** Update File: d\\n*** Move to: "
    "e\\n@@\\n"
    "-old d\\n+new d\\n*** Update File: f\\n@@\\n-old f\\n+new f\\n*** Delete File: g\\n"
    "*** Add File: g/in/new\\n+new g\\n*** Delete File: h/old\\n*** Add File: h\\n+new h\\n"
    "*** End Patch\"}";

static void make_old(struct toolbox *b)
{
    assert_true(tree_puts(&b->tree, "work/a", "old a\n"));
    assert_true(tree_puts(&b->tree, "work/c", "old c\n"));
    assert_true(tree_puts(&b->tree, "work/d", "old d\n"));
    assert_true(tree_puts(&b->tree, "work/f", "old f\n"));
    (void)unlink(tree_at(&b->tree, "work/g/in/new"));
    (void)rmdir(tree_at(&b->tree, "work/g/in"));
    (void)rmdir(tree_at(&b->tree, "work/g"));
    assert_true(tree_puts(&b->tree, "work/g", "old g\n"));
    (void)unlink(tree_at(&b->tree, "work/h"));
    (void)mkdir(tree_at(&b->tree, "work/h"), 0755);
    assert_true(tree_puts(&b->tree, "work/h/old", "old h\n"));
    (void)unlink(tree_at(&b->tree, "work/e"));
    (void)unlink(tree_at(&b->tree, "work/made/b"));
    (void)rmdir(tree_at(&b->tree, "work/made"));
}

static bool there(struct toolbox *b, const char *name)
{
    return access(tree_at(&b->tree, name), F_OK) == 0;
}

static bool all_old(struct toolbox *b)
{
    return tree_is(&b->tree, "work/a", "old a\n") && !there(b, "work/made/b") &&
           tree_is(&b->tree, "work/c", "old c\n") && tree_is(&b->tree, "work/d", "old d\n") &&
           !there(b, "work/e") && tree_is(&b->tree, "work/f", "old f\n") &&
           tree_is(&b->tree, "work/g", "old g\n") && tree_is(&b->tree, "work/h/old", "old h\n");
}

static bool all_new(struct toolbox *b)
{
    return tree_is(&b->tree, "work/a", "new a\n") && tree_is(&b->tree, "work/made/b", "new b\n") &&
           !there(b, "work/c") && !there(b, "work/d") && tree_is(&b->tree, "work/e", "new d\n") &&
           tree_is(&b->tree, "work/f", "new f\n") &&
           tree_is(&b->tree, "work/g/in/new", "new g\n") && tree_is(&b->tree, "work/h", "new h\n");
}

static unsigned leftovers(struct toolbox *b)
{
    DIR *d = opendir(b->tree.root);
    unsigned n = 0;

    assert_non_null(d);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d))
        n += strncmp(e->d_name, ".waybill-tmp-", 13) == 0;
    closedir(d);
    return n;
}

/* True when the patch came to its end before the n-th step. */
static bool crash_at(struct toolbox *b, long n)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct toolcall c;

        toolbox_open(b);
        atomic_store(&countdown, n);
        c = toolbox_call(b, "ApplyPatch", patch);
        atomic_store(&countdown, 0);
        _exit(c.ok ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFEXITED(status);
}

static void test_25_a_crash_at_each_step_leaves_all_old_or_all_new(void **state)
{
    unsigned old = 0, made = 0;
    struct toolbox b;
    bool ended = false;

    (void)state;
    toolbox_make(&b);
    b.real_time = true; /* ids of several processes in one ledger */
    for (long n = 1; !ended && n < 400; n++) {
        make_old(&b);
        ended = crash_at(&b, n);
        toolbox_open(&b); /* recovers */
        if (!all_old(&b) && !all_new(&b))
            fail_msg("step %ld: a mixture", n);
        assert_int_equal(leftovers(&b), 0);
        old += all_old(&b);
        made += all_new(&b);
        toolbox_close(&b);
    }
    assert_true(ended);
    assert_true(all_new(&b));
    assert_true(old > 5 && made > 5); /* both sides of the commit were met */
    print_message("crashes: %u ended old, %u new\n", old, made);
    toolbox_end(&b);
}

/* The same in a workspace beneath the root: its journals are found at the start. */
static void test_25_in_an_entered_workspace(void **state)
{
    struct toolbox b;
    pid_t pid;
    int status;

    (void)state;
    toolbox_make(&b);
    b.real_time = true;
    assert_int_equal(mkdir(tree_at(&b.tree, "work/sub"), 0755), 0);
    for (long n = 8; n < 40; n += 3) {
        assert_true(tree_puts(&b.tree, "work/sub/x", "old x\n"));
        assert_true(tree_puts(&b.tree, "work/sub/y", "old y\n"));
        pid = fork();
        if (pid == 0) {
            toolbox_open(&b);
            if (!toolbox_call(&b, "EnterWorkspace", "{\"path\":\"sub\"}").ok)
                _exit(1);
            atomic_store(&countdown, n);
            (void)toolbox_call(
                &b, "ApplyPatch",
                "{\"patch\":\"*** Begin Patch\\n*** Update File: x\\n@@\\n-old x\\n"
                "+new x\\n*** Update File: y\\n@@\\n-old y\\n+new y\\n*** End Patch\"}");
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
        toolbox_open(&b);
        assert_true((tree_is(&b.tree, "work/sub/x", "old x\n") &&
                     tree_is(&b.tree, "work/sub/y", "old y\n")) ||
                    (tree_is(&b.tree, "work/sub/x", "new x\n") &&
                     tree_is(&b.tree, "work/sub/y", "new y\n")));
        toolbox_close(&b);
    }
    toolbox_end(&b);
}

static void test_30_a_rename_across_mounts_is_a_clean_error(void **state)
{
    struct toolbox b;
    struct toolcall c;

    (void)state;
    toolbox_make(&b);
    make_old(&b);
    toolbox_open(&b);
    atomic_store(&across, true);
    c = toolbox_call(&b, "ApplyPatch", patch);
    atomic_store(&across, false);
    assert_false(c.ok);
    assert_true(all_old(&b));
    assert_int_equal(leftovers(&b), 0);
    assert_true(toolbox_call(&b, "ApplyPatch", patch).ok); /* nothing stands in the way later */
    assert_true(all_new(&b));
    toolbox_end(&b);
}

/* Files are replaced all the same; what becomes a folder, or was one, is refused. */
static void test_30_where_names_cannot_be_exchanged(void **state)
{
    static const char *const kinds[] = {
        "{\"patch\":\"*** Begin Patch\\n*** Update File: a\\n@@\\n-old a\\n+new a\\n"
        "*** Delete File: g\\n*** Add File: g/in/new\\n+new g\\n*** End Patch\"}",
        "{\"patch\":\"*** Begin Patch\\n*** Update File: a\\n@@\\n-old a\\n+new a\\n"
        "*** Delete File: h/old\\n*** Add File: h\\n+new h\\n*** End Patch\"}",
    };
    struct toolbox b;

    (void)state;
    toolbox_make(&b);
    make_old(&b);
    toolbox_open(&b);
    atomic_store(&no_swap, true);
    for (int i = 0; i < 2; i++) {
        struct toolcall c = toolbox_call(&b, "ApplyPatch", kinds[i]);

        assert_false(c.ok);
        assert_true(wbi_str_find(c.receipt, WBI_LIT("not supported")) < c.receipt.n);
        assert_true(all_old(&b));
        assert_int_equal(leftovers(&b), 0);
    }
    assert_true(toolbox_call(&b, "ApplyPatch",
                             "{\"patch\":\"*** Begin Patch\\n*** Update File: a\\n@@\\n-old "
                             "a\\n+new a\\n*** End Patch\"}")
                    .ok);
    atomic_store(&no_swap, false);
    assert_true(tree_is(&b.tree, "work/a", "new a\n"));
    toolbox_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_25_a_crash_at_each_step_leaves_all_old_or_all_new),
        cmocka_unit_test(test_25_in_an_entered_workspace),
        cmocka_unit_test(test_30_a_rename_across_mounts_is_a_clean_error),
        cmocka_unit_test(test_30_where_names_cannot_be_exchanged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
