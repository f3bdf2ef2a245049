/* SPDX-License-Identifier: Apache-2.0
 * tests/live_test.c: `waybill exec --live` for somebody who looks at a terminal: the output as
 * it comes on standard error, a line about progress between its lines, the receipt alone on
 * standard output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>

#include "workspace.h"

extern char **environ;

struct run {
    struct workspace w;
    int terminal; /* our end of its standard error */
    int out;
    pid_t pid;
    char seen[8192]; /* on the terminal so far */
    size_t n;
};

/* waybill exec --live OPTION -- sh -c LINE, its standard error a terminal, and its standard
 * output too if `both`. */
static void start(struct run *r, const char *option, bool both, const char *line)
{
    char root[128], command[2000];
    const char *argv[] = {"waybill", "exec", "--live", option,  root,
                          "--",      "sh",   "-c",     command, NULL};
    posix_spawn_file_actions_t actions;
    int pipes[2];

    memset(r, 0, sizeof(*r));
    ws_init(&r->w);
    (void)snprintf(root, sizeof(root), "--root=%s", r->w.root);
    (void)snprintf(command, sizeof(command), "cd '%s'; %s", r->w.root, line);
    r->terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(r->terminal >= 0);
    assert_int_equal(grantpt(r->terminal), 0);
    assert_int_equal(unlockpt(r->terminal), 0);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(
        posix_spawn_file_actions_addopen(&actions, 2, ptsname(r->terminal), O_RDWR | O_NOCTTY, 0),
        0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, both ? 2 : pipes[1], 1), 0);
    assert_int_equal(
        posix_spawn(&r->pid, getenv("WAYBILL"), &actions, NULL, (char **)(uintptr_t)argv, environ),
        0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(pipes[1]);
    r->out = pipes[0];
}

/* Read the terminal until `text` has come, or, with NULL, to its end. */
static void wait_for(struct run *r, const char *text)
{
    while (text == NULL || strstr(r->seen, text) == NULL) {
        ssize_t n = read(r->terminal, r->seen + r->n, sizeof(r->seen) - 1 - r->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) { /* EIO: nobody has the other end any more */
            if (text != NULL)
                fail_msg("\"%s\" did not come, only: %s", text, r->seen);
            return;
        }
        r->n += (size_t)n;
    }
}

/* Each pipe serves once: a reader that opens it again might find our end still open. */
static void let_go(struct run *r, const char *pipe)
{
    char path[160];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", r->w.root, pipe);
    fd = open(path, O_WRONLY | O_CLOEXEC); /* waits for the reader */
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "\n", 1), 1);
    (void)close(fd);
}

static void finish(struct run *r, const char *receipt)
{
    char text[1024];
    size_t n = 0;
    ssize_t got;
    int status;

    wait_for(r, NULL);
    while ((got = read(r->out, text + n, sizeof(text) - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    assert_string_equal(text, receipt);
    assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
    assert_int_equal(status, 0);
    (void)close(r->out);
    (void)close(r->terminal);
    ws_fini(&r->w);
}

static void progress_stands_between_lines_and_goes(void **state)
{
    struct run r;
    char *progress;

    (void)state;
    start(&r, "-v", false,
          "mkfifo one two; echo one; read x < one; printf two; read x < two; echo; echo end");
    wait_for(&r, "one\r\n");
    wait_for(&r, " s, 4 bytes]"); /* drawn after a second in which nothing comes */
    progress = strstr(r.seen, "\r\033[K[");
    assert_non_null(progress);
    assert_true(progress == strstr(r.seen, "one\r\n") + 5);
    let_go(&r, "one");
    wait_for(&r, "\r\033[Ktwo"); /* it went before output came, and stays away within a line */
    let_go(&r, "two");
    finish(&r, "Process exited with code 0\nstdout: (3 lines)\none\ntwo\nend\n");
    assert_non_null(strstr(r.seen, "\033[Ktwo\r\nend\r\n"));
}

static void the_receipt_does_not_stand_behind_progress(void **state)
{
    struct run r;

    (void)state;
    start(&r, "-v", true, "mkfifo go; read x < go");
    wait_for(&r, " s, 0 bytes]");
    let_go(&r, "go");
    finish(&r, "");
    assert_non_null(strstr(r.seen, "\r\033[KProcess exited with code 0\r\n"));
}

static void quiet_means_output_only(void **state)
{
    struct run r;

    (void)state;
    start(&r, "-q", false, "echo one; sleep 1.2; echo two >&2");
    finish(&r, "Process exited with code 0\nstdout: (1 line)\none\nstderr: (1 line)\ntwo\n");
    assert_string_equal(r.seen, "one\r\ntwo\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_stands_between_lines_and_goes),
        cmocka_unit_test(the_receipt_does_not_stand_behind_progress),
        cmocka_unit_test(quiet_means_output_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
