/* SPDX-License-Identifier: Apache-2.0
 * tests/slow_ends_test.c: standard descriptors that do not block, as some programs hand them
 * on: output waits for its reader and input for its writer, and nothing of either is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIPE_BYTES = 4096, WAIT_MS = 300 };

struct child {
    pid_t pid;
    int in, out, err;
};

static void end_of_pipe(int pipe_fds[2], bool ours_reads)
{
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    assert_true(fcntl(pipe_fds[0], F_SETPIPE_SZ, PIPE_BYTES) >= 0);
    assert_int_equal(fcntl(pipe_fds[ours_reads ? 1 : 0], F_SETFL, O_NONBLOCK), 0);
}

static struct child start(const char *command, const char *word)
{
    struct child c;
    int in[2], out[2], err[2];

    end_of_pipe(in, false);
    end_of_pipe(out, true);
    end_of_pipe(err, true);
    c.pid = fork();
    if (c.pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        execl(getenv("WAYBILL"), "waybill", command, word, (char *)NULL);
        _exit(99);
    }
    assert_true(c.pid > 0);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    c.in = in[1];
    c.out = out[0];
    c.err = err[0];
    return c;
}

/* Long enough for it to find its pipe empty or full: it waits, it does not end. */
static bool ends_early(const struct child *c)
{
    int fd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    bool ended = fd >= 0 && poll(&p, 1, WAIT_MS) > 0;

    if (fd >= 0)
        close(fd);
    return ended;
}

static size_t read_all(int fd, char *room, size_t size)
{
    size_t n = 0;
    ssize_t got;

    while ((got = read(fd, room + n, size - 1 - n)) > 0)
        n += (size_t)got;
    room[n] = '\0';
    close(fd);
    return n;
}

static void end(const struct child *c, const char *err)
{
    int status;

    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    assert_string_equal(err, "");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void output_waits_for_its_reader(void **state)
{
    static char text[256 * 1024], err[4096];
    struct child c = start("config", "schema");
    size_t n;

    (void)state;
    close(c.in);
    assert_false(ends_early(&c));
    n = read_all(c.out, text, sizeof(text));
    (void)read_all(c.err, err, sizeof(err));
    end(&c, err);
    assert_true(n > 2 * PIPE_BYTES);
    assert_string_equal(text + n - 3, "\n}\n");
}

static void input_waits_for_its_writer(void **state)
{
    char text[64], err[4096];
    struct child c = start("json", "canonical");

    (void)state;
    assert_false(ends_early(&c));
    assert_int_equal(write(c.in, "{\"b\":1,\"a\":2}", 13), 13);
    close(c.in);
    (void)read_all(c.out, text, sizeof(text));
    (void)read_all(c.err, err, sizeof(err));
    end(&c, err);
    assert_string_equal(text, "{\"a\":2,\"b\":1}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_waits_for_its_reader),
        cmocka_unit_test(input_waits_for_its_writer),
    };

    if (getenv("WAYBILL") == NULL) {
        printf("skipped: slow ends (WAYBILL does not name the program)\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
