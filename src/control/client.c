/* SPDX-License-Identifier: Apache-2.0
 * control/client.c: the asking end. Blocking, with a limit for each runtime. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/id.h"
#include "base/limits.h"
#include "control/control_int.h"
#include "json/write.h"

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits for events until the deadline; false at the deadline. */
static bool wait_ready(int fd, short events, int64_t deadline_ms)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = events};
        int64_t left = deadline_ms - now_ms();
        int n = poll(&p, 1, left > 0 ? (int)left : 0);
        if (n > 0)
            return true;
        if (n == 0 || errno != EINTR)
            return false;
    }
}

static wb_rc late(struct wbi_error *err)
{
    return wbi_fail(err, WB_EAGAIN, "control: the runtime did not answer in time");
}

static wb_rc send_all(int fd, struct wbi_str s, int64_t deadline, struct wbi_error *err)
{
    while (s.n > 0) {
        ssize_t n = send(fd, s.p, s.n, MSG_NOSIGNAL);
        if (n >= 0)
            s = wbi_str_from(s, (size_t)n);
        else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!wait_ready(fd, POLLOUT, deadline))
                return late(err);
        } else if (errno != EINTR)
            return wbi_fail(err, WB_ENOTFOUND, "control: the runtime ended the connection");
    }
    return WB_OK;
}

static wb_rc read_line(int fd, struct wbi_buf *line, int64_t deadline, struct wbi_error *err)
{
    while (line->n == 0 || line->p[line->n - 1] != '\n') {
        char *room = wbi_buf_room(line, 16384);
        ssize_t n;
        if (room == NULL)
            return wbi_fail(err, wbi_buf_rc(line), "control: the answer is too large");
        n = recv(fd, room, 16384, 0);
        if (n > 0)
            line->n += (size_t)n;
        else if (n == 0)
            return wbi_fail(err, WB_ENOTFOUND, "control: the runtime ended without an answer");
        else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!wait_ready(fd, POLLIN, deadline))
                return late(err);
        } else if (errno != EINTR)
            return wbi_fail_errno(err, errno, "control: cannot read the answer");
    }
    return WB_OK;
}

static wb_rc read_answer(struct wbi_arena *arena, struct wbi_str line, const wbi_json **ret,
                         struct wbi_error *err)
{
    const wbi_json *message, *error;
    wb_rc rc = wbi_json_read(arena, line, WBI_JSON_STRICT, &message, err);

    if (rc != WB_OK)
        return rc;
    error = wbi_json_get_as(message, "error", WBI_JSON_OBJ);
    if (error != NULL) {
        struct wbi_str kind = wbi_json_get_str(wbi_json_get(error, "data"), "kind");
        struct wbi_str text = wbi_json_get_str(error, "message");
        return wbi_fail_kind(err, WB_EDENIED, wbi_kind_by_name(kind), "%.*s", WBI_FMT(text));
    }
    *ret = wbi_json_get(message, "result");
    return *ret != NULL ? WB_OK : wbi_fail(err, WB_EINPUT, "control: the answer is no JSON-RPC");
}

/* A runtime that has not yet accepted the callers before us is waited for. */
static bool dial(int fd, const struct sockaddr_un *address, int64_t deadline)
{
    int status;

    while ((status = connect(fd, (const struct sockaddr *)address, sizeof(*address))) != 0 &&
           (errno == EAGAIN || errno == EINTR) && now_ms() < deadline)
        (void)poll(NULL, 0, 5);
    return status == 0;
}

static int connect_to(int run_fd, const char *instance, int64_t deadline, struct wbi_error *err)
{
    struct sockaddr_un address;
    int fd;

    if (!wbi_control_address(run_fd, instance, &address)) {
        (void)wbi_fail(err, WB_EINPUT, "control: %.60s is no instance id", instance);
        return -1;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        (void)wbi_fail_errno(err, errno, "control: cannot make a socket");
        return -1;
    }
    if (!dial(fd, &address, deadline) || !wbi_control_peer_ok(fd)) {
        bool busy = errno == EAGAIN;
        (void)wbi_fail(
            err, busy ? WB_EAGAIN : WB_ENOTFOUND,
            busy ? "control: %.60s is too busy to answer"
                 : "control: no live runtime %.60s; list them with `waybill calls runtimes`",
            instance);
        close(fd);
        return -1;
    }
    return fd;
}

static wb_rc ask(struct wbi_arena *arena, int run_fd, const char *instance, struct wbi_str request,
                 int timeout_ms, const wbi_json **ret, struct wbi_error *err)
{
    int64_t deadline = now_ms() + timeout_ms;
    struct wbi_buf line;
    int fd = connect_to(run_fd, instance, deadline, err);
    wb_rc rc;

    if (fd < 0)
        return err->rc;
    wbi_buf_init_arena(&line, arena, 4 * WBI_LIMIT_CONTROL_LINE);
    rc = send_all(fd, request, deadline, err);
    if (rc == WB_OK) {
        rc = read_line(fd, &line, deadline, err);
        if (rc != WB_OK) /* what was sent may be done, now or later */
            err->kind = WBI_KIND_OUTCOME_UNKNOWN;
    }
    close(fd);
    return rc == WB_OK ? read_answer(arena, wbi_buf_str(&line), ret, err) : rc;
}

static wb_rc write_request(struct wbi_buf *b, const char *method, struct wbi_str params,
                           struct wbi_error *err)
{
    struct wbi_jw w = wbi_jw_to(b);

    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "jsonrpc", "2.0");
    wbi_jw_kint(&w, "id", 1);
    wbi_jw_kstrz(&w, "method", method);
    if (params.p != NULL)
        wbi_jw_kraw(&w, "params", params);
    wbi_jw_obj_end(&w);
    wbi_buf_addc(b, '\n');
    if (wbi_buf_rc(b) == WB_OK)
        return WB_OK;
    return wbi_fail(err, wbi_buf_rc(b), "control: the request is too large");
}

/* The socket of a process that is gone: nobody listens and its lock is gone
 * too, or about to be swept. A live runtime's socket never refuses. */
static void remove_stale(int run_fd, const char *instance)
{
    char name[WBI_ID_SIZE + 8];
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    (void)snprintf(name, sizeof(name), "%.*s.sock", WBI_ID_SIZE, instance);
    if (fd >= 0 && wbi_control_address(run_fd, instance, &address) &&
        connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 && errno == ECONNREFUSED)
        (void)unlinkat(run_fd, name, 0); /* another may have been faster */
    if (fd >= 0)
        close(fd);
}

struct call {
    int run_fd, timeout_ms;
    struct wbi_str request;
    wbi_control_each_fn *each;
    void *arg;
    size_t answered;
};

static bool call_one(struct call *c, const char *instance, wb_rc *ret_rc, struct wbi_error *err)
{
    struct wbi_error mine = WBI_ERROR_INIT;
    const wbi_json *result = NULL;
    struct wbi_arena *arena;
    bool go_on = true;

    *ret_rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA * 4, &arena);
    if (*ret_rc != WB_OK) {
        *ret_rc = wbi_fail_nomem(err);
        return false;
    }
    *ret_rc = ask(arena, c->run_fd, instance, c->request, c->timeout_ms, &result, &mine);
    if (*ret_rc == WB_ENOTFOUND) {
        remove_stale(c->run_fd, instance);
        if (err != NULL)
            *err = mine;
    } else {
        c->answered++;
        go_on = c->each(c->arg, instance, *ret_rc, result, &mine);
        *ret_rc = WB_OK;
    }
    wbi_arena_free(arena);
    return go_on;
}

static wb_rc nobody(struct wbi_error *err)
{
    return wbi_fail(err, WB_ENOTFOUND, "control: no runtime is live in this state directory");
}

static wb_rc call_all(struct call *c, struct wbi_error *err)
{
    int fd = c->run_fd < 0 ? -1 : openat(c->run_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;
    bool go_on = true;
    wb_rc rc = WB_OK;

    if (c->run_fd < 0)
        return nobody(err);
    if (d == NULL) {
        rc = wbi_fail_errno(err, errno, "control: cannot list run/");
        if (fd >= 0)
            close(fd);
        return rc;
    }
    for (unsigned seen = 0; go_on && seen < WBI_LIMIT_RUN_SCAN && (e = readdir(d)) != NULL;
         seen++) {
        struct wbi_str name = wbi_str_z(e->d_name);
        char instance[WBI_ID_SIZE];
        if (!wbi_str_ends(name, WBI_LIT(".sock")) || name.n - 5 >= sizeof(instance) ||
            name.p[0] == '.')
            continue;
        (void)snprintf(instance, sizeof(instance), "%.*s", (int)(name.n - 5), name.p);
        go_on = call_one(c, instance, &rc, err);
        if (rc == WB_ENOTFOUND)
            rc = WB_OK; /* a dead one is no news here */
    }
    closedir(d);
    if (rc == WB_OK && c->answered == 0)
        rc = nobody(err);
    return rc;
}

wb_rc wbi_control_call(int run_fd, const char *instance, const char *method, struct wbi_str params,
                       int timeout_ms, wbi_control_each_fn *each, void *arg, struct wbi_error *err)
{
    struct call c = {.run_fd = run_fd, .timeout_ms = timeout_ms, .each = each, .arg = arg};
    struct sockaddr_un address;
    struct wbi_buf request;
    wb_rc rc;

    if (instance != NULL && !wbi_control_address(run_fd, instance, &address))
        return wbi_fail(err, WB_EINPUT, "control: %.60s is no instance id (they look like own_…)",
                        instance);
    wbi_buf_init(&request, WBI_LIMIT_CONTROL_LINE);
    rc = write_request(&request, method, params, err);
    c.request = wbi_buf_str(&request);
    if (rc == WB_OK && instance != NULL)
        (void)call_one(&c, instance, &rc, err);
    else if (rc == WB_OK)
        rc = call_all(&c, err);
    wbi_buf_fini(&request);
    return rc;
}
