/* SPDX-License-Identifier: Apache-2.0
 * path/path_test.c: the attacks on paths, each by its number, with the kernel's
 * resolution and with the component walk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <linux/openat2.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "base/arena.h"
#include "base/checked.h"
#include "path/path.h"
#include "path/path_int.h"
#include "tree.h"

struct fixture {
    struct tree tree;
    struct wbi_root *root;
    struct wbi_arena *arena;
    struct wbi_error err;
};

static struct fixture fx;

static int set_up_with(unsigned flags)
{
    memset(&fx, 0, sizeof(fx));
    if (!tree_make(&fx.tree) || !tree_puts(&fx.tree, "outside/secret", "secret") ||
        !tree_puts(&fx.tree, "work/file", "inside") || mkdir(tree_at(&fx.tree, "work/dir"), 0755) ||
        !tree_puts(&fx.tree, "work/dir/x", "x") || wbi_arena_new(1 << 20, &fx.arena))
        return -1;
    return wbi_root_open(fx.tree.root, flags | WBI_ROOT_NO_SYNC, &fx.err, &fx.root);
}

static int set_up(void **state)
{
    (void)state;
    return set_up_with(0);
}

static int set_up_walk(void **state)
{
    (void)state;
    return set_up_with(WBI_ROOT_WALK);
}

static int tear_down(void **state)
{
    (void)state;
    wbi_root_unref(fx.root);
    wbi_arena_free(fx.arena);
    tree_remove(&fx.tree);
    return 0;
}

static enum wbi_kind read_kind(struct wbi_str path)
{
    struct wbi_str data;

    fx.err = (struct wbi_error){0};
    if (wbi_path_read_all(fx.root, path, 1 << 16, fx.arena, &fx.err, &data, NULL) == WB_OK)
        return WBI_KIND_NONE;
    assert_true(fx.err.text[0] != '\0');
    if (path.n > 0 && path.p[0] != '/')
        assert_null(strstr(fx.err.text, fx.tree.top + 5));
    return fx.err.kind;
}

static enum wbi_kind write_kind(struct wbi_str path)
{
    fx.err = (struct wbi_error){0};
    if (wbi_path_write(fx.root, path, WBI_LIT("new"), 0, &fx.err) == WB_OK)
        return WBI_KIND_NONE;
    assert_true(fx.err.text[0] != '\0');
    return fx.err.kind;
}

#define Z(s) wbi_str_z(s)

static void a01_climbing_is_refused_and_names_the_rule(void **state)
{
    static const char *const climbs[] = {"..", "../outside/secret", "dir/../../outside/secret",
                                         "./../work/../outside/secret", "dir/x/../../../outside"};

    (void)state;
    for (size_t i = 0; i < sizeof(climbs) / sizeof(climbs[0]); i++)
        assert_int_not_equal(read_kind(Z(climbs[i])), WBI_KIND_NONE);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(read_kind(Z(climbs[i])), WBI_KIND_EXECUTION_ROOT_VIOLATION);
        assert_non_null(strstr(fx.err.text, "leaves the execution root"));
    }
    assert_int_equal(write_kind(Z("../outside/new")), WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_int_equal(write_kind(Z("dir/../../outside/new")), WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_int_equal(read_kind(Z("dir/../file")), WBI_KIND_NONE);
    assert_int_equal(write_kind(Z("dir/../made")), WBI_KIND_NONE);
    assert_true(tree_is(&fx.tree, "work/made", "new"));
}

static void a02_absolute_paths_only_beneath_the_root(void **state)
{
    (void)state;
    assert_int_equal(read_kind(Z("/etc/passwd")), WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_int_equal(read_kind(Z(tree_at(&fx.tree, "outside/secret"))),
                     WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_int_equal(read_kind(Z(tree_at(&fx.tree, "work/file"))), WBI_KIND_NONE);
    assert_int_equal(read_kind(Z(tree_at(&fx.tree, "work//./file"))), WBI_KIND_NONE);
    assert_int_equal(read_kind(Z(tree_at(&fx.tree, "outside/../work/file"))), WBI_KIND_NONE);
    assert_int_equal(read_kind(Z(tree_at(&fx.tree, "work/../outside/secret"))),
                     WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_int_equal(symlink(fx.tree.root, tree_at(&fx.tree, "alias")), 0);
    assert_int_equal(read_kind(Z(tree_at(&fx.tree, "alias/dir/x"))), WBI_KIND_NONE);
}

static void a03_links_leading_outside_are_refused(void **state)
{
    char target[128];

    (void)state;
    snprintf(target, sizeof(target), "%s/secret", fx.tree.outside);
    assert_int_equal(symlink(target, tree_at(&fx.tree, "work/abs")), 0);
    assert_int_equal(symlink("../outside/secret", tree_at(&fx.tree, "work/rel")), 0);
    assert_int_equal(symlink("../outside", tree_at(&fx.tree, "work/out")), 0);
    assert_int_equal(read_kind(Z("abs")), WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_int_equal(read_kind(Z("rel")), WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_int_equal(read_kind(Z("out/secret")), WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_int_equal(write_kind(Z("abs")), WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_int_equal(write_kind(Z("rel")), WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_int_equal(write_kind(Z("out/secret")), WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_int_equal(wbi_path_mkdirs(fx.root, Z("out/new"), 0, &fx.err), WB_EDENIED);
    assert_int_equal(wbi_path_unlink(fx.root, Z("out/secret"), 0, &fx.err), WB_EDENIED);
    assert_int_equal(wbi_path_rename(fx.root, Z("file"), Z("out/f"), 0, &fx.err), WB_EDENIED);
    assert_true(tree_is(&fx.tree, "outside/secret", "secret"));
}

static void links_inside_are_followed_and_kept(void **state)
{
    struct stat st;
    struct wbi_str real;

    (void)state;
    assert_int_equal(symlink("file", tree_at(&fx.tree, "work/link")), 0);
    assert_int_equal(symlink("dir", tree_at(&fx.tree, "work/dirlink")), 0);
    assert_int_equal(read_kind(Z("link")), WBI_KIND_NONE);
    assert_int_equal(write_kind(Z("link")), WBI_KIND_NONE);
    assert_true(tree_is(&fx.tree, "work/file", "new"));
    assert_int_equal(lstat(tree_at(&fx.tree, "work/link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(write_kind(Z("dirlink/y")), WBI_KIND_NONE);
    assert_true(tree_is(&fx.tree, "work/dir/y", "new"));
    assert_int_equal(
        wbi_path_write(fx.root, Z("dirlink/a/b/c"), Z("deep"), WBI_WRITE_MKDIRS, &fx.err), WB_OK);
    assert_true(tree_is(&fx.tree, "work/dir/a/b/c", "deep"));
    assert_int_equal(wbi_path_real(fx.root, Z("dirlink/../dirlink/x"), fx.arena, &fx.err, &real),
                     WB_OK);
    assert_string_equal(real.p, "dir/x");
    assert_int_equal(wbi_path_target(fx.root, Z("dirlink/new/z"), 0, fx.arena, &fx.err, &real),
                     WB_OK);
    assert_string_equal(real.p, "dir/new/z");
}

static void a04_a_chain_of_41_links_is_refused(void **state)
{
    char from[32], to[32];

    (void)state;
    for (int i = 0; i < 41; i++) {
        snprintf(from, sizeof(from), "work/l%d", i);
        snprintf(to, sizeof(to), i == 40 ? "file" : "l%d", i + 1);
        assert_int_equal(symlink(to, tree_at(&fx.tree, from)), 0);
    }
    assert_int_equal(read_kind(Z("l0")), WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_non_null(strstr(fx.err.text, "symbolic links"));
    assert_int_equal(read_kind(Z("l1")), WBI_KIND_NONE);
    assert_int_equal(symlink("loop", tree_at(&fx.tree, "work/loop")), 0);
    assert_int_equal(write_kind(Z("loop")), WBI_KIND_EXECUTION_ROOT_VIOLATION);
}

static void a06_magic_links_are_refused(void **state)
{
    (void)state;
    assert_int_equal(symlink("/proc/self/root", tree_at(&fx.tree, "work/r")), 0);
    assert_int_equal(symlink("/proc/self/cwd", tree_at(&fx.tree, "work/c")), 0);
    assert_int_equal(symlink("/proc/self/fd/0", tree_at(&fx.tree, "work/f")), 0);
    assert_int_equal(read_kind(Z("r/etc/passwd")), WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_int_equal(read_kind(Z("c/x")), WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_int_equal(read_kind(Z("f")), WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_int_equal(write_kind(Z("f")), WBI_KIND_EXECUTION_ROOT_VIOLATION);
}

static void a06_magic_links_of_a_root_in_procfs_are_refused(void **state)
{
    struct wbi_root *proc;
    struct wbi_error err;
    int fd;

    (void)state;
    assert_int_equal(wbi_root_open("/proc/self", wbi_root_flags(fx.root), &err, &proc), WB_OK);
    assert_int_not_equal(wbi_path_open_dir(proc, Z("root"), &err, &fd), WB_OK);
    assert_int_not_equal(wbi_path_open_read(proc, Z("root/etc/passwd"), &err, &fd, NULL), WB_OK);
    assert_int_not_equal(wbi_path_open_read(proc, Z("exe"), &err, &fd, NULL), WB_OK);
    wbi_root_unref(proc);
}

static void a07_hard_links_are_never_written_through(void **state)
{
    (void)state;
    assert_int_equal(link(tree_at(&fx.tree, "outside/secret"), tree_at(&fx.tree, "work/hard")), 0);
    assert_int_equal(write_kind(Z("hard")), WBI_KIND_NONE);
    assert_true(tree_is(&fx.tree, "work/hard", "new"));
    assert_int_equal(link(tree_at(&fx.tree, "outside/secret"), tree_at(&fx.tree, "work/hard2")), 0);
    assert_int_equal(wbi_path_write(fx.root, Z("hard2"), Z("+more"), WBI_WRITE_APPEND, &fx.err),
                     WB_OK);
    assert_true(tree_is(&fx.tree, "work/hard2", "secret+more"));
    assert_true(tree_is(&fx.tree, "outside/secret", "secret"));
}

static void a08_a_look_alike_prefix_is_outside(void **state)
{
    (void)state;
    assert_int_equal(mkdir(tree_at(&fx.tree, "work-secret"), 0755), 0);
    assert_true(tree_puts(&fx.tree, "work-secret/x", "secret"));
    assert_int_equal(read_kind(Z(tree_at(&fx.tree, "work-secret/x"))),
                     WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_int_equal(write_kind(Z(tree_at(&fx.tree, "work-secret/x"))),
                     WBI_KIND_EXECUTION_ROOT_VIOLATION);
    assert_true(tree_is(&fx.tree, "work-secret/x", "secret"));
}

static void a09_nul_is_refused(void **state)
{
    (void)state;
    assert_int_equal(read_kind(WBI_LIT("file\0.txt")), WBI_KIND_INVALID_TOOL_INPUT);
    assert_non_null(strstr(fx.err.text, "NUL"));
    assert_non_null(strstr(fx.err.text, "file\\x00.txt"));
    assert_int_equal(write_kind(WBI_LIT("file\0")), WBI_KIND_INVALID_TOOL_INPUT);
}

static void a10_long_paths_and_names_are_clean_errors(void **state)
{
    static char path[5000];

    (void)state;
    memset(path, 'a', sizeof(path));
    assert_int_equal(read_kind(wbi_str_make(path, 5000)), WBI_KIND_INVALID_TOOL_INPUT);
    assert_int_equal(read_kind(wbi_str_make(path, 300)), WBI_KIND_INVALID_TOOL_INPUT);
    assert_int_equal(write_kind(wbi_str_make(path, 300)), WBI_KIND_INVALID_TOOL_INPUT);
    assert_int_equal(write_kind(wbi_str_make(path, 256)), WBI_KIND_INVALID_TOOL_INPUT);
    assert_int_equal(write_kind(wbi_str_make(path, 255)), WBI_KIND_NONE);
    assert_int_equal(access(tree_at(&fx.tree, "work/aaaa"), F_OK), -1);
}

static void a11_any_bytes_are_a_name_and_are_shown_escaped(void **state)
{
    static const char *const names[] = {
        "new\nline",         "esc\x1b[31m",           "bad\xff\xfe",
        "rtl\xe2\x80\xae.c", "zero\xe2\x80\x8bwidth", "line\xe2\x80\xa8."};
    static const char *const shown[] = {"new\\x0aline",   "esc\\x1b[31m",       "bad\\xff\\xfe",
                                        "rtl\\u{202e}.c", "zero\\u{200b}width", "line\\u{2028}."};
    char out[WBI_PATH_SHOWN];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(write_kind(Z(names[i])), WBI_KIND_NONE);
        assert_int_equal(read_kind(Z(names[i])), WBI_KIND_NONE);
        assert_string_equal(wbi_path_show(Z(names[i]), out), shown[i]);
    }
    for (size_t n = 300; n < 303; n++) { /* cut at characters, wherever they stand */
        char name[303] = "";
        for (size_t i = 0; i < n; i++)
            name[i] = i < 300 ? "\xe6\x97\xa5"[i % 3] : 'x';
        assert_null(strchr(wbi_path_show(wbi_str_make(name, n), out), '\\'));
    }
    for (size_t n = 0; n < 4096; n += 7) {
        static char long_name[4096];
        memset(long_name, '\xff', n);
        assert_true(strlen(wbi_path_show(wbi_str_make(long_name, n), out)) < sizeof(out));
    }
}

static void a12_guarded_names_in_any_case(void **state)
{
    static const char *const names[] = {".git/config",
                                        ".GIT/hooks/pre-commit",
                                        ".Git",
                                        "sub/.git/hooks/x",
                                        ".g\xe2\x80\x8cit/config",
                                        ".claude/settings.json",
                                        ".CURSOR/rules",
                                        ".codex/config.toml",
                                        ".vscode/tasks.json",
                                        ".v\xc5\xbf\x63ode/tasks.json",
                                        "waybill.json",
                                        "WAYBILL.JSON",
                                        "tools.d/x.json",
                                        ".waybill/ledger.db",
                                        ".mcp.json",
                                        ".bashrc",
                                        "git~1/config",
                                        ".idea/x"};
    static const char *const fine[] = {"git/config",    ".gitignore", "src/.github/x",  "tools.dx",
                                       "waybill.json5", "AGENTS.md",  ".gitattributes", "a/b"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_true(wbi_path_guarded(Z(names[i])));
        assert_int_equal(wbi_path_write(fx.root, Z(names[i]), Z("x"), WBI_WRITE_MKDIRS, &fx.err),
                         WB_EDENIED);
        assert_int_equal(fx.err.kind, WBI_KIND_FORBIDDEN);
        assert_non_null(strstr(fx.err.text, "guarded name"));
    }
    for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
        assert_false(wbi_path_guarded(Z(fine[i])));
    assert_int_equal(wbi_path_write(fx.root, Z(".git/hooks/x"), Z("x"),
                                    WBI_WRITE_MKDIRS | WBI_WRITE_GRANT, &fx.err),
                     WB_OK);
}

static void *never_blocks(void *path)
{
    return (void *)(intptr_t)read_kind(Z((const char *)path));
}

static void a13_special_files_are_refused_at_once(void **state)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)state;
    alarm(20); /* a blocked open would end the test */
    assert_int_equal(mkfifo(tree_at(&fx.tree, "work/fifo"), 0644), 0);
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/sock", fx.tree.root);
    assert_int_equal(bind(s, (struct sockaddr *)&addr, sizeof(addr)), 0);
    close(s);
    assert_int_equal((intptr_t)never_blocks((void *)(uintptr_t) "fifo"), WBI_KIND_FILE_UNREADABLE);
    assert_non_null(strstr(fx.err.text, "named pipe"));
    assert_int_equal(read_kind(Z("sock")), WBI_KIND_FILE_UNREADABLE);
    assert_int_equal(read_kind(Z("dir")), WBI_KIND_FILE_UNREADABLE);
    assert_non_null(strstr(fx.err.text, "directory"));
    assert_int_equal(write_kind(Z("fifo")), WBI_KIND_FILE_EXISTS);
    assert_int_equal(write_kind(Z("dir")), WBI_KIND_FILE_EXISTS);
    if (mknod(tree_at(&fx.tree, "work/null"), S_IFCHR | 0600, 0x103) == 0) {
        assert_int_equal(read_kind(Z("null")), WBI_KIND_FILE_UNREADABLE);
        assert_int_equal(write_kind(Z("null")), WBI_KIND_FILE_EXISTS);
    } else {
        print_message("skipped: character device (may not make one)\n");
    }
    alarm(0);
}

static void a14_reads_are_bounded(void **state)
{
    struct wbi_str data;
    int fd = open(tree_at(&fx.tree, "work/sparse"), O_WRONLY | O_CREAT, 0644);

    (void)state;
    assert_true(fd >= 0);
    if (ftruncate(fd, (off_t)1 << 40) < 0)
        print_message("skipped: file of 1 TiB (%s)\n", strerror(errno));
    else
        assert_int_equal(
            wbi_path_read_all(fx.root, Z("sparse"), 1 << 16, fx.arena, &fx.err, &data, NULL),
            WB_ELIMIT);
    close(fd);
}

static void a27_guarded_places_stay_so_through_links_and_folders(void **state)
{
    (void)state;
    assert_int_equal(mkdir(tree_at(&fx.tree, "work/.git"), 0755), 0);
    assert_int_equal(mkdir(tree_at(&fx.tree, "work/.git/hooks"), 0755), 0);
    assert_int_equal(symlink(".git/hooks", tree_at(&fx.tree, "work/h")), 0);
    assert_true(tree_puts(&fx.tree, "work/.git/config", "[core]"));
    assert_int_equal(symlink(".git/config", tree_at(&fx.tree, "work/cfg")), 0);
    assert_int_equal(write_kind(Z("h/pre-commit")), WBI_KIND_FORBIDDEN);
    assert_int_equal(write_kind(Z("cfg")), WBI_KIND_FORBIDDEN);
    assert_int_equal(write_kind(Z("dir/../.git/config")), WBI_KIND_FORBIDDEN);
    assert_int_equal(wbi_path_rename(fx.root, Z("dir"), Z("other"), 0, &fx.err), WB_EDENIED);
    assert_int_equal(wbi_path_rename(fx.root, Z("dir"), Z(".git/hooks2"), 0, &fx.err), WB_EDENIED);
    assert_int_equal(wbi_path_rename(fx.root, Z(".git"), Z("x"), 0, &fx.err), WB_EDENIED);
    assert_int_equal(wbi_path_rename(fx.root, Z("file"), Z("h/pre-commit"), 0, &fx.err),
                     WB_EDENIED);
    assert_int_equal(wbi_path_unlink(fx.root, Z("h/../config"), 0, &fx.err), WB_EDENIED);
    assert_true(tree_is(&fx.tree, "work/.git/config", "[core]"));
    assert_int_equal(access(tree_at(&fx.tree, "work/.git/hooks/pre-commit"), F_OK), -1);
}

static void a28_set_id_bits_are_stripped(void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal(chmod(tree_at(&fx.tree, "work/file"), 04755), 0);
    assert_int_equal(write_kind(Z("file")), WBI_KIND_NONE);
    assert_int_equal(stat(tree_at(&fx.tree, "work/file"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
}

static void a29_temporary_names_cannot_be_prepared(void **state)
{
    struct wbi_staged s;
    struct stat st;

    (void)state;
    assert_int_equal(wbi_path_stage(fx.root, Z("file"), Z("staged"), 0, &fx.err, &s), WB_OK);
    /* random, in the target's own directory, a plain file */
    assert_int_equal(strncmp(s.temp, ".waybill-tmp-", 13), 0);
    assert_int_equal(strlen(s.temp), 13 + 20);
    assert_int_equal(fstatat(s.dir_fd, s.temp, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_true(tree_is(&fx.tree, "work/file", "inside"));
    wbi_path_discard(&s);
    wbi_path_discard(&s);
    assert_true(tree_is(&fx.tree, "work/file", "inside"));
}

static void writes_keep_mode_make_folders_and_refuse_existing(void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal(chmod(tree_at(&fx.tree, "work/file"), 0640), 0);
    assert_int_equal(write_kind(Z("file")), WBI_KIND_NONE);
    assert_int_equal(stat(tree_at(&fx.tree, "work/file"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(wbi_path_write(fx.root, Z("file"), Z("x"), WBI_WRITE_NEW, &fx.err),
                     WB_EEXISTS);
    assert_int_equal(fx.err.kind, WBI_KIND_FILE_EXISTS);
    assert_int_equal(write_kind(Z("no/such/dir")), WBI_KIND_FILE_NOT_FOUND);
    assert_int_equal(wbi_path_write(fx.root, Z("no/such/dir"), Z("x"),
                                    WBI_WRITE_MKDIRS | WBI_WRITE_NEW | WBI_WRITE_EXEC, &fx.err),
                     WB_OK);
    assert_int_equal(stat(tree_at(&fx.tree, "work/no/such/dir"), &st), 0);
    assert_true(st.st_mode & 0100);
    assert_int_equal(write_kind(Z("file/below")), WBI_KIND_FILE_NOT_FOUND);
    assert_int_equal(write_kind(Z("dir/")), WBI_KIND_INVALID_TOOL_INPUT);
    assert_int_equal(write_kind(Z("")), WBI_KIND_INVALID_TOOL_INPUT);
    assert_int_equal(wbi_path_rename(fx.root, Z("file"), Z("dir/x"), WBI_WRITE_NEW, &fx.err),
                     WB_EEXISTS);
    assert_int_equal(wbi_path_rename(fx.root, Z("file"), Z("dir/y"), WBI_WRITE_NEW, &fx.err),
                     WB_OK);
    assert_int_equal(wbi_path_unlink(fx.root, Z("dir/y"), 0, &fx.err), WB_OK);
    assert_int_equal(wbi_path_rmdir(fx.root, Z("no/such"), 0, &fx.err), WB_EIO);
}

static void directories_are_read_entry_by_entry(void **state)
{
    static struct wbi_listing d;
    struct wbi_listing_entry e;
    struct stat st;
    unsigned files = 0, dirs = 0;
    int fd, child;

    (void)state;
    assert_int_equal(wbi_path_open_dir(fx.root, Z("."), &fx.err, &fd), WB_OK);
    wbi_listing_init(&d, fd);
    while (wbi_listing_next(&d, &e)) {
        files += e.type == DT_REG;
        dirs += e.type == DT_DIR;
    }
    assert_false(d.failed);
    assert_int_equal(files, 1);
    assert_int_equal(dirs, 1);
    child = wbi_path_open_child_dir(fd, "dir");
    assert_true(child >= 0);
    close(child);
    child = wbi_path_open_child_file(fd, "file", &st);
    assert_true(child >= 0);
    close(child);
    assert_int_equal(wbi_path_open_child_dir(fd, ".."), -1);
    assert_int_equal(wbi_path_open_child_file(fd, "dir/x", &st), -1);
    close(fd);
}

static bool at_hand(const char *path)
{
    struct wbi_str bytes, whole;
    struct stat st;

    if (!wbi_path_read_at_hand(fx.root, wbi_str_z(path), fx.arena, &bytes, &st))
        return false;
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(
        wbi_path_read_all(fx.root, wbi_str_z(path), 1u << 20, fx.arena, &fx.err, &whole, NULL),
        WB_OK);
    assert_true(wbi_str_eq(bytes, whole));
    return true;
}

/* A rename anywhere on the machine may make the kernel say that it cannot tell, and what it
 * has dropped comes back only when somebody opens it in the ordinary way. */
static bool soon_at_hand(const char *path)
{
    for (int i = 0; i < 1000; i++) {
        int fd;

        if (at_hand(path))
            return true;
        assert_int_equal(wbi_path_open_read(fx.root, Z(path), &fx.err, &fd, NULL), WB_OK);
        close(fd);
    }
    return false;
}

static bool reads_cached(void)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_CACHED};
    int fd = (int)syscall(SYS_openat2, wbi_root_fd(fx.root), "file", &how, sizeof(how));
    char c;
    struct iovec one = {&c, 1};
    bool can = fd >= 0 && preadv2(fd, &one, 1, 0, RWF_NOWAIT) == 1;

    if (fd >= 0)
        close(fd);
    return can;
}

/* Whether this kernel and file system can tell at all. */
static bool can_tell(void)
{
    if (!fx.root->local || (wbi_root_flags(fx.root) & WBI_ROOT_WALK))
        return false;
    for (int i = 0; i < 1000; i++)
        if (reads_cached())
            return true;
    return false;
}

/* Not at hand, and found out without opening it: a pipe's writer would go on. */
static bool stays_closed(const char *place, const char *path)
{
    char events[sizeof(struct inotify_event) + NAME_MAX + 1];
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    bool closed;

    assert_true(inotify_add_watch(fd, tree_at(&fx.tree, place), IN_OPEN) >= 0);
    closed = !at_hand(path) && read(fd, events, sizeof(events)) < 0;
    close(fd);
    return closed;
}

/* What is read on the loop thread is small, local and beneath the root. */
static void only_small_regular_files_are_at_hand(void **state)
{
    static char large[64 * 1024];
    bool can = can_tell();

    (void)state;
    memset(large, 'x', sizeof(large) - 1);
    assert_true(tree_puts(&fx.tree, "work/large", large));
    assert_int_equal(mkfifo(tree_at(&fx.tree, "work/fifo"), 0644), 0);
    assert_int_equal(symlink("file", tree_at(&fx.tree, "work/link")), 0);
    assert_int_equal(symlink("../outside/secret", tree_at(&fx.tree, "work/out")), 0);
    assert_int_equal(soon_at_hand("file"), can);
    assert_int_equal(soon_at_hand("dir/x"), can);
    assert_int_equal(soon_at_hand("link"), can);
    assert_int_equal(soon_at_hand(tree_at(&fx.tree, "work/file")), can);
    assert_false(at_hand("large"));
    assert_false(at_hand("dir"));
    assert_false(at_hand("."));
    assert_false(at_hand("fifo"));
    assert_false(at_hand("missing"));
    assert_false(at_hand("out"));
    assert_false(at_hand("../outside/secret"));
    assert_false(at_hand(tree_at(&fx.tree, "outside/secret")));
    /* a path that was a regular file and is not any more */
    assert_int_equal(unlink(tree_at(&fx.tree, "work/dir/x")), 0);
    assert_int_equal(mkfifo(tree_at(&fx.tree, "work/dir/x"), 0644), 0);
    assert_true(stays_closed("work/dir/x", "dir/x"));
    assert_true(stays_closed("work/dir/x", "dir/x"));
    assert_int_equal(unlink(tree_at(&fx.tree, "work/dir/x")), 0);
    assert_int_equal(symlink("../../outside/secret", tree_at(&fx.tree, "work/dir/x")), 0);
    assert_false(at_hand("dir/x"));
    if (!can && !(wbi_root_flags(fx.root) & WBI_ROOT_WALK))
        print_message("skipped: this kernel or file system cannot tell what is in memory\n");
}

static void a_root_further_down_confines_further(void **state)
{
    struct wbi_root *sub;
    int fd;

    (void)state;
    assert_int_equal(wbi_root_beneath(fx.root, Z("dir"), &fx.err, &sub), WB_OK);
    assert_int_equal(wbi_path_open_read(sub, Z("../file"), &fx.err, &fd, NULL), WB_EDENIED);
    assert_int_equal(wbi_path_open_read(sub, Z("x"), &fx.err, &fd, NULL), WB_OK);
    close(fd);
    assert_non_null(strstr(wbi_root_path(sub).p, "work/dir"));
    wbi_root_unref(wbi_root_ref(sub));
    wbi_root_unref(sub);
    assert_int_equal(wbi_root_open("/no/such/dir", 0, &fx.err, &sub), WB_ENOTFOUND);
    assert_int_equal(fx.err.kind, WBI_KIND_WORKDIR_NOT_FOUND);
}

/* What a process without descriptors left is told sends nobody to look for a directory. */
static void a_root_that_is_there_is_not_missed(void **state)
{
    struct rlimit usual, none;
    struct wbi_root *root;
    wb_rc rc;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none = (struct rlimit){0, usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    rc = wbi_root_open(wbi_root_path(fx.root).p, 0, &fx.err, &root);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(rc, WB_EIO);
    assert_int_equal(fx.err.kind, WBI_KIND_TOOL_EXECUTION_FAILED);
    assert_non_null(strstr(fx.err.text, "Too many open files"));
}

static void a_root_beneath_a_guarded_name_is_guarded(void **state)
{
    static const char *const ways[] = {"dir/.git", "dir/.git/hooks", "way"};

    (void)state;
    assert_int_equal(wbi_path_write(fx.root, Z("dir/.git/hooks/old"), Z("old"),
                                    WBI_WRITE_MKDIRS | WBI_WRITE_GRANT, &fx.err),
                     WB_OK);
    assert_int_equal(symlink("dir/.git/hooks", tree_at(&fx.tree, "work/way")), 0);
    for (size_t i = 0; i < WBI_COUNT(ways); i++) {
        struct wbi_root *sub, *further;

        assert_int_equal(wbi_root_beneath(fx.root, Z(ways[i]), &fx.err, &sub), WB_OK);
        assert_int_equal(wbi_path_write(sub, Z("new"), Z("evil"), 0, &fx.err), WB_EDENIED);
        assert_int_equal(fx.err.kind, WBI_KIND_FORBIDDEN);
        assert_non_null(strstr(fx.err.text, "`new` is in a guarded directory (version control"));
        assert_int_equal(wbi_path_mkdirs(sub, Z("x/y"), 0, &fx.err), WB_EDENIED);
        assert_int_equal(wbi_path_write(sub, Z("new"), Z("fine"), WBI_WRITE_GRANT, &fx.err), WB_OK);
        assert_int_equal(wbi_path_unlink(sub, Z("new"), 0, &fx.err), WB_EDENIED);
        assert_int_equal(wbi_path_mkdirs(sub, Z("x"), WBI_WRITE_GRANT, &fx.err), WB_OK);
        assert_int_equal(wbi_root_beneath(sub, Z("x"), &fx.err, &further), WB_OK);
        assert_int_equal(wbi_path_write(further, Z("new"), Z("evil"), 0, &fx.err), WB_EDENIED);
        wbi_root_unref(further);
        wbi_root_unref(sub);
    }
}

static wb_rc guard(const char *place)
{
    return wbi_root_guard(fx.root, wbi_str_z(place), &fx.err);
}

static void guarded_places_need_a_grant(void **state)
{
    struct wbi_root *sub;
    struct wbi_str real;

    (void)state;
    assert_int_equal(symlink("dir", tree_at(&fx.tree, "work/way")), 0);
    assert_int_equal(guard(tree_at(&fx.tree, "work/way/own//new/")), WB_OK); /* by its real name */
    assert_int_equal(guard(tree_at(&fx.tree, "work/mine.json")), WB_OK);
    assert_int_equal(guard(tree_at(&fx.tree, "work")), WB_OK);    /* the root is not guarded */
    assert_int_equal(guard(tree_at(&fx.tree, "outside")), WB_OK); /* nor what is elsewhere */
    assert_int_equal(guard("/"), WB_OK);
    assert_int_equal(guard(""), WB_OK);

    assert_int_equal(wbi_path_write(fx.root, Z("mine.json"), Z("x"), 0, &fx.err), WB_EDENIED);
    assert_non_null(strstr(fx.err.text, "`mine.json` is where Waybill keeps its state"));
    assert_int_equal(wbi_path_write(fx.root, Z("dir/../mine.json"), Z("x"), 0, &fx.err),
                     WB_EDENIED);
    assert_int_equal(wbi_path_target(fx.root, Z("./mine.json"), 0, fx.arena, &fx.err, &real),
                     WB_EDENIED);
    assert_int_equal(wbi_path_write(fx.root, Z("way/own/new/a"), Z("x"), WBI_WRITE_MKDIRS, &fx.err),
                     WB_EDENIED);
    assert_int_equal(wbi_path_mkdirs(fx.root, Z("dir/own/new"), 0, &fx.err), WB_EDENIED);
    assert_int_equal(wbi_path_write(fx.root, Z("mine.jsonc"), Z("x"), 0, &fx.err), WB_OK);
    assert_int_equal(wbi_path_rename(fx.root, Z("mine.jsonc"), Z("mine.json"), 0, &fx.err),
                     WB_EDENIED);
    assert_int_equal(wbi_path_write(fx.root, Z("dir/own/newer"), Z("x"), WBI_WRITE_MKDIRS, &fx.err),
                     WB_OK);
    assert_int_equal(wbi_path_write(fx.root, Z("dir/own/new/a"), Z("x"),
                                    WBI_WRITE_MKDIRS | WBI_WRITE_GRANT, &fx.err),
                     WB_OK);
    assert_int_equal(wbi_path_unlink(fx.root, Z("dir/own/new/a"), 0, &fx.err), WB_EDENIED);

    assert_int_equal(wbi_root_beneath(fx.root, Z("way/own"), &fx.err, &sub), WB_OK);
    assert_int_equal(wbi_path_write(sub, Z("new/b"), Z("x"), 0, &fx.err), WB_EDENIED);
    assert_int_equal(wbi_path_write(sub, Z("free"), Z("x"), 0, &fx.err), WB_OK);
    wbi_root_unref(sub);
    assert_int_equal(wbi_root_beneath(fx.root, Z("dir/own/new"), &fx.err, &sub), WB_OK);
    assert_int_equal(wbi_path_write(sub, Z("b"), Z("x"), 0, &fx.err), WB_EDENIED);
    assert_non_null(strstr(fx.err.text, "or where Waybill keeps its state or its user's settings"));
    wbi_root_unref(sub);
    assert_int_equal(wbi_root_beneath(fx.root, Z("."), &fx.err, &sub), WB_OK);
    assert_int_equal(wbi_path_write(sub, Z("mine.json"), Z("x"), 0, &fx.err), WB_EDENIED);
    wbi_root_unref(sub);
}

#define BOTH(f)                                       \
    {#f " (kernel)", f, set_up, tear_down, NULL},     \
    {                                                 \
#f " (walk)", f, set_up_walk, tear_down, NULL \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a01_climbing_is_refused_and_names_the_rule),
        BOTH(a02_absolute_paths_only_beneath_the_root),
        BOTH(a03_links_leading_outside_are_refused),
        BOTH(links_inside_are_followed_and_kept),
        BOTH(a04_a_chain_of_41_links_is_refused),
        BOTH(a06_magic_links_are_refused),
        BOTH(a06_magic_links_of_a_root_in_procfs_are_refused),
        BOTH(a07_hard_links_are_never_written_through),
        BOTH(a08_a_look_alike_prefix_is_outside),
        BOTH(a09_nul_is_refused),
        BOTH(a10_long_paths_and_names_are_clean_errors),
        BOTH(a11_any_bytes_are_a_name_and_are_shown_escaped),
        BOTH(a12_guarded_names_in_any_case),
        BOTH(a13_special_files_are_refused_at_once),
        BOTH(a14_reads_are_bounded),
        BOTH(a27_guarded_places_stay_so_through_links_and_folders),
        BOTH(a28_set_id_bits_are_stripped),
        BOTH(a29_temporary_names_cannot_be_prepared),
        BOTH(writes_keep_mode_make_folders_and_refuse_existing),
        BOTH(directories_are_read_entry_by_entry),
        BOTH(only_small_regular_files_are_at_hand),
        BOTH(a_root_further_down_confines_further),
        BOTH(a_root_that_is_there_is_not_missed),
        BOTH(a_root_beneath_a_guarded_name_is_guarded),
        BOTH(guarded_places_need_a_grant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
