/* SPDX-License-Identifier: Apache-2.0
 * event/out_test.c: a slow or dead reader of events stalls nobody and gets no signal
 * raised; what it misses is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "event/out.h"

static struct wbi_loop *loop;

static int setup(void **state)
{
    (void)state;
    (void)signal(SIGPIPE, SIG_DFL); /* a signal would end the test */
    return wbi_loop_new(NULL, &loop, NULL) == WB_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    wbi_loop_free(loop);
    return 0;
}

static struct wbi_event_out *open_fd(int fd)
{
    struct wbi_event_out *out;
    char number[16];

    snprintf(number, sizeof(number), "%d", fd);
    assert_int_equal(wbi_event_out_open(loop, wbi_str_z(number), &out, NULL), WB_OK);
    return out;
}

static struct wbi_str line_of(char *buffer, size_t size, unsigned i)
{
    memset(buffer, 'x', size);
    (void)snprintf(buffer, 12, "%010u:", i);
    buffer[11] = 'x'; /* instead of the NUL */
    return wbi_str_make(buffer, size);
}

/* Reads lines to the end of the stream; each must be the next one. Returns how many. */
static unsigned read_lines(FILE *f, size_t size)
{
    char line[2 * PIPE_BUF];
    unsigned n = 0;

    while (fgets(line, sizeof(line), f) != NULL) {
        assert_int_equal(strlen(line), size + 1);
        assert_int_equal(strtoul(line, NULL, 10), n++);
    }
    return n;
}

/* Puts lines until one has no place. Returns how many had. */
static unsigned fill(struct wbi_event_out *out, size_t size)
{
    char buffer[2 * PIPE_BUF];
    unsigned n = 0;

    while (wbi_event_out_put(out, line_of(buffer, size, n)) == WB_OK)
        n++;
    return n;
}

static ssize_t recv_or_read(int fd, char *p, size_t n)
{
    struct pollfd there = {.fd = fd, .events = POLLIN};

    return poll(&there, 1, 0) > 0 ? read(fd, p, n) : -1;
}

/* Reads what is there; every whole line must be the next one. Returns false when nothing was. */
struct reader {
    int fd;
    size_t size, kept;
    unsigned n;
    char bytes[65536];
};

static bool read_some(struct reader *r)
{
    ssize_t got = recv_or_read(r->fd, r->bytes + r->kept, sizeof(r->bytes) - r->kept);
    size_t at = 0;

    if (got <= 0)
        return false;
    r->kept += (size_t)got;
    for (; r->kept - at > r->size; at += r->size + 1) {
        assert_int_equal(strtoul(r->bytes + at, NULL, 10), r->n++);
        assert_int_equal(r->bytes[at + r->size], '\n');
    }
    r->kept -= at;
    memmove(r->bytes, r->bytes + at, r->kept);
    return true;
}

/* The loop hands on what waited, without another line coming. */
static void a_reader_that_comes_later_gets_every_line_taken(int fds[2], size_t size)
{
    static struct reader r;
    struct wbi_event_out *out = open_fd(fds[1]);
    int flags = fcntl(fds[1], F_GETFL);
    char buffer[2 * PIPE_BUF];
    unsigned n = fill(out, size);

    r = (struct reader){.fd = fds[0], .size = size};
    assert_true(n * (size + 1) > WBI_LIMIT_EVENTS_WAITING / 2); /* and it did not block */
    assert_int_equal(wbi_event_out_put(out, line_of(buffer, size, n)), WB_EAGAIN);
    assert_int_equal(fcntl(fds[1], F_GETFL), flags); /* the giver's descriptor is as it was */
    assert_true(wbi_event_out_untaken(out) > 0);
    wbi_loop_hold(loop); /* the waiting itself keeps no loop alive */
    while (r.n < n)
        if (!read_some(&r))
            (void)wbi_loop_turn(loop, /* wait= */ false);
    wbi_loop_unhold(loop);
    assert_int_equal(wbi_event_out_untaken(out), 0);
    wbi_event_out_free(out);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void pipes_and_sockets_keep_lines_for_a_slow_reader(void **state)
{
    static const size_t sizes[] = {100, PIPE_BUF - 1, PIPE_BUF + 500};
    int fds[2];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        a_reader_that_comes_later_gets_every_line_taken(fds, sizes[i]);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        a_reader_that_comes_later_gets_every_line_taken(fds, sizes[i]);
    }
}

/* At the end whatever waits is given to a reader that takes it. */
static void the_end_flushes(void **state)
{
    static struct reader r;
    struct wbi_event_out *out;
    char buffer[1000];
    unsigned n = 0;
    int fds[2];

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    out = open_fd(fds[1]);
    (void)close(fds[1]);
    while (wbi_event_out_untaken(out) < 5)
        assert_int_equal(wbi_event_out_put(out, line_of(buffer, sizeof(buffer), n++)), WB_OK);
    r = (struct reader){.fd = fds[0], .size = sizeof(buffer)};
    assert_true(read_some(&r)); /* makes room */
    wbi_event_out_free(out);
    while (read_some(&r))
        continue;
    assert_int_equal(r.n, n);
    (void)close(fds[0]);
}

static void a_dead_reader_loses_lines_and_nothing_else(void **state)
{
    struct wbi_event_out *out;
    int fds[2];
    unsigned n;

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    out = open_fd(fds[1]);
    n = fill(out, 1000); /* waits */
    assert_true(n > 0);
    n = (unsigned)wbi_event_out_untaken(out);
    (void)close(fds[0]);
    wbi_event_out_flush(out);
    assert_int_equal(wbi_event_out_untaken(out), n); /* told, and lost for good now */
    assert_int_equal(wbi_event_out_put(out, WBI_LIT("x")), WB_EIO);
    wbi_event_out_free(out);
    (void)close(fds[1]);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    (void)close(fds[0]);
    out = open_fd(fds[1]); /* dead from the start */
    assert_int_equal(wbi_event_out_put(out, WBI_LIT("x")), WB_OK);
    assert_int_equal(wbi_event_out_untaken(out), 1);
    wbi_event_out_free(out);
    (void)close(fds[1]);
}

static void files_are_appended_to(void **state)
{
    char path[] = "/tmp/waybill-events-XXXXXX";
    struct wbi_event_out *out;
    int fd = mkstemp(path);
    FILE *f;

    (void)state;
    assert_true(fd >= 0);
    for (int round = 0; round < 2; round++) {
        char line[64];
        assert_int_equal(wbi_event_out_open(loop, wbi_str_z(path), &out, NULL), WB_OK);
        for (unsigned i = 0; i < 50; i++)
            assert_int_equal(wbi_event_out_put(out, line_of(line, 60, (unsigned)round * 50 + i)),
                             WB_OK);
        assert_int_equal(wbi_event_out_untaken(out), 0);
        wbi_event_out_free(out);
    }
    f = fdopen(fd, "r");
    assert_int_equal(read_lines(f, 60), 100);
    (void)fclose(f);
    (void)unlink(path);
}

static void a_full_disk_loses_lines_and_may_have_room_later(void **state)
{
    struct wbi_event_out *out;

    (void)state;
    if (access("/dev/full", W_OK) != 0) {
        print_message("skipped: /dev/full\n");
        return;
    }
    assert_int_equal(wbi_event_out_open(loop, WBI_LIT("/dev/full"), &out, NULL), WB_OK);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(wbi_event_out_put(out, WBI_LIT("x")), WB_OK);
        assert_int_equal(wbi_event_out_untaken(out), i);
    }
    wbi_event_out_free(out);
}

static void a_named_pipe_may_get_its_reader_later(void **state)
{
    char dir[] = "/tmp/waybill-events-XXXXXX", path[64], line[8] = "";
    struct wbi_event_out *out;
    int fd;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/pipe", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(wbi_event_out_open(loop, wbi_str_z(path), &out, NULL), WB_OK);
    assert_int_equal(wbi_event_out_put(out, WBI_LIT("first")), WB_OK);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, line, sizeof(line)), 6);
    assert_memory_equal(line, "first\n", 6);
    wbi_event_out_free(out);
    (void)close(fd);
    (void)unlink(path);
    (void)rmdir(dir);
}

static void what_cannot_be_opened_is_refused_with_a_reason(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_event_out *out;

    (void)state;
    assert_int_equal(wbi_event_out_open(loop, WBI_LIT("/nowhere/at/all"), &out, &err), WB_ESTATE);
    assert_string_equal(err.text,
                        "events cannot be written to \"/nowhere/at/all\": No such file or "
                        "directory; give a file or the number of an open descriptor");
    assert_int_equal(wbi_event_out_open(loop, WBI_LIT("987654"), &out, &err), WB_ESTATE);
    assert_int_equal(wbi_event_out_open(loop, WBI_LIT("99999999999999"), &out, &err), WB_ESTATE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pipes_and_sockets_keep_lines_for_a_slow_reader),
        TEST(the_end_flushes),
        TEST(a_dead_reader_loses_lines_and_nothing_else),
        TEST(files_are_appended_to),
        TEST(a_full_disk_loses_lines_and_may_have_room_later),
        TEST(a_named_pipe_may_get_its_reader_later),
        TEST(what_cannot_be_opened_is_refused_with_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
