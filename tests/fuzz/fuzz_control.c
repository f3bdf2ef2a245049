/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_control.c: any bytes sent to a control socket. Whatever comes, each
 * request has one answer, the peer is let go, and the next caller is served. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct wbi_loop *loop;
static struct wbi_control *control;
static char folder[] = "/tmp/waybill-fuzz-XXXXXX";

static void echo(void *arg, struct wbi_control_request *request, const wbi_json *params)
{
    (void)arg;
    wbi_control_answer(request, params != NULL ? WBI_LIT("true") : WBI_LIT("null"));
}

static void refuse(void *arg, struct wbi_control_request *request, const wbi_json *params)
{
    struct wbi_error err = WBI_ERROR_INIT;

    (void)arg;
    (void)params;
    (void)wbi_fail(&err, WB_ENOTFOUND, "no");
    wbi_control_refuse(request, &err);
}

static void stop(void)
{
    wbi_control_close(control);
    wbi_loop_free(loop);
    (void)rmdir(folder);
}

static void begin(void)
{
    int run_fd;

    if (mkdtemp(folder) == NULL)
        abort();
    run_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (wbi_loop_new(NULL, &loop, NULL) != WB_OK ||
        wbi_control_open(loop, run_fd, "own_fuzz", &control, NULL) != WB_OK ||
        wbi_control_method(control, "echo", echo, NULL) != WB_OK ||
        wbi_control_method(control, "refuse", refuse, NULL) != WB_OK)
        abort();
    (void)atexit(stop);
}

static int dial(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/own_fuzz.sock", folder);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        abort();
    return fd;
}

/* Everything the server says until it hangs up; each line must be JSON. */
static void listen_to(int fd)
{
    static char text[1 << 20];
    size_t have = 0;
    ssize_t n = -1;

    for (int turns = 0; n != 0; turns++) {
        (void)wbi_loop_turn(loop, /* wait= */ false);
        n = recv(fd, text + have, sizeof(text) - have, 0);
        have += n > 0 ? (size_t)n : 0;
        if (turns > 100000)
            abort(); /* it neither answers nor lets go */
    }
    while (have > 0) {
        struct wbi_str line = wbi_str_make(text, have);
        struct wbi_arena *arena;
        const wbi_json *v;
        line.n = wbi_str_index(line, '\n');
        if (line.n == have || wbi_arena_new(1u << 24, &arena) != WB_OK)
            abort();
        if (wbi_json_read(arena, line, WBI_JSON_STRICT, &v, NULL) != WB_OK)
            abort();
        wbi_arena_free(arena);
        have -= line.n + 1;
        memmove(text, text + line.n + 1, have);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd;

    if (size > 65536)
        return 0;
    if (loop == NULL)
        begin();
    fd = dial();
    if (size > 0 && send(fd, data, size, MSG_NOSIGNAL) != (ssize_t)size)
        abort(); /* it fits the socket's buffer */
    (void)shutdown(fd, SHUT_WR);
    listen_to(fd);
    close(fd);
    return 0;
}
