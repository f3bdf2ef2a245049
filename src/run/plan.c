/* SPDX-License-Identifier: Apache-2.0
 * run/plan.c: from a specification to a prepared launch.
 * The program is looked up here, against a fixed search path, so that nothing a
 * command left in a writable folder is ever found first. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "run/process_int.h"

static bool has_nul(struct wbi_str s)
{
    return s.n > 0 && memchr(s.p, '\0', s.n) != NULL;
}

/* NULL-terminated array of copies. */
static wb_rc copy_vector(struct wbi_arena *arena, const struct wbi_str *from, size_t count,
                         const char *what, char ***ret, struct wbi_error *err)
{
    char **v;
    size_t bytes = 0;

    if (count > WBI_LIMIT_ARGUMENTS)
        return wbi_fail(err, WB_ELIMIT, "more than %u %ss", WBI_LIMIT_ARGUMENTS, what);
    v = wbi_arena_array(arena, count + 1, sizeof(*v));
    if (v == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = 0; i < count; i++) {
        if (has_nul(from[i]))
            return wbi_fail(err, WB_EINPUT, "%s %zu holds a NUL byte, which no program can get",
                            what, i);
        bytes += from[i].n;
        if (bytes > WBI_LIMIT_ARGUMENT_BYTES)
            return wbi_fail(err, WB_ELIMIT, "%ss take more than %u bytes", what,
                            WBI_LIMIT_ARGUMENT_BYTES);
        v[i] = wbi_arena_strz(arena, from[i]);
        if (v[i] == NULL)
            return wbi_fail_nomem(err);
    }
    *ret = v;
    return WB_OK;
}

static wb_rc plan_arguments(struct wbi_arena *arena, const struct wbi_process_spec *spec,
                            char ***ret, struct wbi_error *err)
{
    struct wbi_str line[3];

    if (spec->shell_line.p == NULL) {
        if (spec->argc == 0)
            return wbi_fail(err, WB_EINPUT, "no program given: the first argument names it");
        if (spec->argv[0].n == 0)
            return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_COMMAND_SPAWN_FAILED,
                                 "program not found: its name, the first argument, is empty");
        return copy_vector(arena, spec->argv, spec->argc, "argument", ret, err);
    }
    line[0] = spec->shell.p != NULL ? spec->shell : WBI_LIT("/bin/sh");
    line[1] = WBI_LIT("-c");
    line[2] = spec->shell_line;
    return copy_vector(arena, line, 3, "argument", ret, err);
}

static wb_rc open_workdir(struct wbi_arena *arena, const struct wbi_process_spec *spec, int *ret,
                          struct wbi_error *err)
{
    char *path;
    int fd;

    *ret = -1;
    if (spec->workdir_fd > 0) {
        fd = fcntl(spec->workdir_fd, F_DUPFD_CLOEXEC, 3);
    } else if (spec->workdir.p == NULL) {
        return WB_OK;
    } else {
        if (has_nul(spec->workdir))
            return wbi_fail(err, WB_EINPUT, "the working directory holds a NUL byte");
        path = wbi_arena_strz(arena, spec->workdir);
        if (path == NULL)
            return wbi_fail_nomem(err);
        fd = wbi_fd_high(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    if (fd < 0)
        return wbi_launch_error(err, WBI_STAGE_WORKDIR, errno, NULL);
    *ret = fd;
    return WB_OK;
}

/* 0 when path (from dir) is a program we may run, else an errno. */
static int may_execute(int dir, const char *path)
{
    struct stat st;

    if (fstatat(dir, path, &st, 0) != 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return EACCES;
    return faccessat(dir, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* given: the search path of the caller, absent: ours. */
static wb_rc search(struct wbi_arena *arena, struct wbi_str given, const char *program,
                    const char **ret, struct wbi_error *err)
{
    struct wbi_str path = given.p != NULL ? given : WBI_LIT(WBI_SEARCH_PATH);
    int worst = ENOENT;

    while (path.n > 0) {
        size_t end = wbi_str_index(path, ':');
        struct wbi_str dir = wbi_str_head(path, end), full;
        int failed;

        path = wbi_str_from(path, end + 1);
        if (dir.n == 0 || dir.p[0] != '/' || has_nul(dir))
            continue;
        full = wbi_arena_fmt(arena, "%.*s/%s", WBI_FMT(dir), program);
        if (full.p == NULL)
            return wbi_fail_nomem(err);
        failed = may_execute(AT_FDCWD, full.p);
        if (failed == 0) {
            *ret = full.p;
            return WB_OK;
        }
        if (failed != ENOENT && failed != ENOTDIR)
            worst = failed;
    }
    if (worst == ENOENT)
        return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_COMMAND_SPAWN_FAILED,
                             "program not found: %s is not in %s; name one elsewhere by its path",
                             program, given.p != NULL ? "PATH" : WBI_SEARCH_PATH);
    return wbi_launch_error(err, WBI_STAGE_EXEC, worst, program);
}

static wb_rc find_program(struct wbi_arena *arena, const struct wbi_process_spec *spec,
                          struct wbi_launch *l, struct wbi_error *err)
{
    const char *program = l->argv[0];
    int failed;

    if (strchr(program, '/') == NULL)
        return search(arena, spec->search_path, program, &l->path, err);
    failed = may_execute(l->workdir_fd >= 0 ? l->workdir_fd : AT_FDCWD, program);
    if (failed != 0)
        return wbi_launch_error(err, WBI_STAGE_EXEC, failed, program);
    l->path = program;
    return WB_OK;
}

wb_rc wbi_plan_launch(struct wbi_arena *arena, const struct wbi_process_spec *spec,
                      struct wbi_launch *l, struct wbi_error *err)
{
    char **argv = NULL, **envp = NULL;
    wb_rc rc;

    memset(l, 0, sizeof(*l));
    l->workdir_fd = -1;
    rc = plan_arguments(arena, spec, &argv, err);
    if (rc != WB_OK)
        return rc;
    rc = copy_vector(arena, spec->env, spec->env_count, "environment variable", &envp, err);
    if (rc != WB_OK)
        return rc;
    rc = open_workdir(arena, spec, &l->workdir_fd, err);
    if (rc != WB_OK)
        return rc;
    l->argv = argv;
    l->envp = envp;
    l->tty = spec->stdin_kind == WBI_STDIN_TTY;
    l->allow_new_privs = spec->allow_new_privs;
    l->die_with_parent = spec->die_with_parent;
    l->limits = spec->limits;
    rc = find_program(arena, spec, l, err);
    if (rc != WB_OK)
        wbi_fd_drop(&l->workdir_fd);
    return rc;
}

wb_rc wbi_process_look(struct wbi_arena *arena, const struct wbi_process_spec *spec,
                       struct wbi_error *err)
{
    struct wbi_launch l;
    wb_rc rc = wbi_plan_launch(arena, spec, &l, err);

    if (rc == WB_OK)
        wbi_fd_drop(&l.workdir_fd);
    return rc;
}

wb_rc wbi_launch_error(struct wbi_error *err, enum wbi_launch_stage stage, int errno_value,
                       const char *program)
{
    if (stage == WBI_STAGE_WORKDIR && (errno_value == ENOENT || errno_value == ENOTDIR))
        return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_WORKDIR_NOT_FOUND,
                             errno_value == ENOENT ? "the working directory does not exist"
                                                   : "the working directory is not a directory");
    if (stage == WBI_STAGE_WORKDIR && !wbi_errno_is_shortage(errno_value))
        return wbi_fail_kind(err, WB_EDENIED, WBI_KIND_WORKDIR_NOT_FOUND,
                             "the working directory cannot be entered: %s", strerror(errno_value));
    if (stage == WBI_STAGE_EXEC && errno_value == ENOENT && access(program, X_OK) == 0)
        return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_COMMAND_SPAWN_FAILED,
                             "program not found: what the #! line of %s names", program);
    if (stage == WBI_STAGE_EXEC && (errno_value == ENOENT || errno_value == ENOTDIR))
        return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_COMMAND_SPAWN_FAILED,
                             "program not found: %s", program);
    if (stage == WBI_STAGE_EXEC && (errno_value == EACCES || errno_value == EPERM))
        return wbi_fail_kind(err, WB_EDENIED, WBI_KIND_COMMAND_SPAWN_FAILED,
                             "not an executable file: %s", program);
    if (stage == WBI_STAGE_EXEC && errno_value == ENOEXEC)
        return wbi_fail_kind(err, WB_EDENIED, WBI_KIND_COMMAND_SPAWN_FAILED,
                             "neither a program nor a script with a #! line: %s", program);
    if (stage == WBI_STAGE_EXEC && errno_value == E2BIG)
        return wbi_fail_kind(
            err, WB_ELIMIT, WBI_KIND_COMMAND_SPAWN_FAILED,
            "the arguments are too long for the system, which takes about 128 KiB in one "
            "and 2 MiB in all; write long text to a file and name that");
    if (stage == WBI_STAGE_EXEC &&
        (errno_value == ELOOP || errno_value == ENAMETOOLONG || errno_value == ETXTBSY))
        return wbi_fail_kind(err, WB_EDENIED, WBI_KIND_COMMAND_SPAWN_FAILED,
                             "cannot be executed (%s): %s", strerror(errno_value), program);
    if (errno_value == ENOMEM)
        return wbi_fail_kind(err, WB_ENOMEM, WBI_KIND_COMMAND_SPAWN_FAILED,
                             "no memory to start a process");
    return wbi_fail_kind(err, WB_EIO, WBI_KIND_COMMAND_SPAWN_FAILED, "cannot start the process: %s",
                         strerror(errno_value));
}

int wbi_spawn_exit_code(wb_rc rc, const struct wbi_error *err)
{
    if (err->kind != WBI_KIND_COMMAND_SPAWN_FAILED)
        return 125;
    if (rc == WB_ENOTFOUND)
        return 127;
    return rc == WB_EDENIED ? 126 : 125;
}
