/* SPDX-License-Identifier: Apache-2.0
 * mcp/link_stdio.c: a server that is a child process: messages are lines of its
 * stdin and stdout; of its stderr the newest bytes are kept. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "mcp/upstream_int.h"

/* Keep the newest half and what comes. */
static void complain(struct wbi_upstream *up, struct wbi_str bytes)
{
    struct wbi_buf *b = &up->complaints;

    if (bytes.n >= WBI_LIMIT_UPSTREAM_STDERR / 2) {
        bytes = wbi_str_from(bytes, bytes.n - WBI_LIMIT_UPSTREAM_STDERR / 2);
        wbi_buf_clear(b);
    } else if (b->n + bytes.n > WBI_LIMIT_UPSTREAM_STDERR) {
        size_t drop = b->n - WBI_LIMIT_UPSTREAM_STDERR / 2;

        memmove(b->p, b->p + drop, b->n - drop);
        b->n -= drop;
    }
    wbi_buf_adds(b, bytes);
}

static void on_ears(void *arg);

static void watch_ears(struct wbi_upstream *up)
{
    if (up->watching_ears)
        return;
    up->watching_ears = true;
    wbi_timer_start(up->ears, WBI_UPSTREAM_SILENT_MS);
}

static void on_output(void *arg, enum wbi_stream stream, struct wbi_str bytes)
{
    struct wbi_upstream *up = arg;
    struct wbi_process *process = up->process;
    struct wbi_str line;

    if (stream == WBI_STDERR) {
        complain(up, bytes);
        return;
    }
    up->heard++;
    while (up->process == process && wbi_lines_next(&up->lines, &bytes, &line)) {
        if (up->lines.lost)
            wbi_up_lost(up, &up->lines.about);
        else
            wbi_up_message(up, NULL, line);
    }
}

/* Nothing can be answered any more. The process may be about to end: that says more. */
static void part(struct wbi_upstream *up)
{
    if (up->silent_ns != 0)
        return;
    up->silent_ns = wbi_now_ns(&up->clock) + WBI_UPSTREAM_SILENT_MS * WBI_NS_PER_MS;
    wbi_up_arm(up, up->silent_ns);
}

static void on_closed(void *arg, enum wbi_stream stream)
{
    if (stream == WBI_STDOUT)
        part(arg);
}

static void turn_deaf(struct wbi_upstream *up)
{
    up->deaf = true;
    part(up);
}

/* What is written fails after the call that wrote it: to write nothing tells whether it has.
 * That may also happen when a full pipe loses its reader, so it is asked while calls wait. */
static void on_ears(void *arg)
{
    struct wbi_upstream *up = arg;

    up->watching_ears = false;
    if (up->process == NULL || up->deaf)
        return;
    if (wbi_process_input(up->process, WBI_LIT(""), NULL) == WB_ENOTFOUND)
        turn_deaf(up);
    else if (wbi_up_at_work(up))
        watch_ears(up);
}

/* The last thing it said on stderr, in plain characters. A long line ends with a whole
 * word: half a secret would not be known for one. */
static void put_last_line(const struct wbi_upstream *up, char *out, size_t size)
{
    struct wbi_str said = wbi_str_trim(wbi_buf_str(&up->complaints));
    size_t from = said.n, n;

    while (from > 0 && said.p[from - 1] != '\n')
        from--;
    said = wbi_str_from(said, from);
    n = WBI_MIN(said.n, size - 1);
    while (n < said.n && n > 0 && said.p[n] != ' ')
        n--;
    for (size_t i = 0; i < n; i++)
        out[i] = said.p[i] >= ' ' && said.p[i] <= '~' ? said.p[i] : '?';
    out[n] = '\0';
}

static void on_end(void *arg, const struct wbi_process_end *end)
{
    struct wbi_upstream *up = arg;
    char why[sizeof(up->why)], how[48], said[120];

    put_last_line(up, said, sizeof(said));
    if (end->status_lost)
        (void)snprintf(how, sizeof(how), "whoever watched it was killed");
    else
        (void)snprintf(how, sizeof(how), end->signal != 0 ? "signal %d" : "status %d",
                       end->signal != 0 ? end->signal : end->exit_status);
    (void)snprintf(why, sizeof(why), "the server's process has ended (%.100s)%s%s",
                   end->rc == WB_OK ? how : end->error.text, said[0] != '\0' ? ": " : "", said);
    up->process = NULL;
    wbi_up_died(up, why);
}

/* A process that nobody knows any more. */
struct parting {
    struct wbi_process *process;
    struct wbi_timer *timer;
};

static void ignore_output(void *arg, enum wbi_stream stream, struct wbi_str bytes)
{
    (void)arg;
    (void)stream;
    (void)bytes;
}

static void on_parted(void *arg, const struct wbi_process_end *end)
{
    struct parting *p = arg;

    (void)end;
    if (p == NULL)
        return;
    wbi_timer_free(p->timer);
    wbi_free(p);
}

static void on_late(void *arg)
{
    struct parting *p = arg;

    wbi_process_stop(p->process);
}

/* The PATH that the program gets: its own one, else the user's. */
static struct wbi_str path_of(const struct wbi_upstream_spec *spec)
{
    for (size_t i = 0; i < spec->env_count; i++)
        if (wbi_str_starts(spec->env[i], WBI_LIT("PATH=")))
            return wbi_str_from(spec->env[i], 5);
    return wbi_str_z(getenv("PATH"));
}

static wb_rc open_link(struct wbi_upstream *up, struct wbi_error *err)
{
    static const struct wbi_process_ops ops = {
        .on_output = on_output, .on_end = on_end, .on_closed = on_closed};
    struct wbi_process_spec spec = {
        .argv = up->spec.argv,
        .argc = up->spec.argc,
        .env = up->spec.env,
        .env_count = up->spec.env_count,
        .workdir = up->spec.workdir,
        .stdin_kind = WBI_STDIN_PIPE,
        .search_path = path_of(&up->spec),
        .input_bytes = WBI_LIMIT_UPSTREAM_UNREAD,
    };

    wbi_lines_fini(&up->lines);
    wbi_lines_init(&up->lines, up->spec.message);
    wbi_buf_clear(&up->complaints); /* those of the one before */
    up->silent_ns = 0;
    up->deaf = false;
    if (up->ears == NULL && wbi_timer_new(up->loop, on_ears, up, &up->ears) != WB_OK)
        return wbi_fail_nomem(err);
    return wbi_process_start(up->runner, &spec, &ops, up, &up->process, err);
}

static wb_rc send_line(struct wbi_upstream *up, struct wbi_upstream_call *call,
                       struct wbi_str message)
{
    wb_rc rc = up->process != NULL ? wbi_process_line(up->process, message, NULL) : WB_EIO;

    (void)call;
    if (rc == WB_OK)
        watch_ears(up);
    else if (rc == WB_ENOTFOUND)
        turn_deaf(up);
    return rc;
}

/* NULL: no memory to wait with. */
static struct parting *new_parting(struct wbi_upstream *up, struct wbi_process *process)
{
    struct parting *p = wbi_zalloc(sizeof(*p));

    if (p == NULL)
        return NULL;
    p->process = process;
    if (wbi_timer_new(up->loop, on_late, p, &p->timer) != WB_OK) {
        wbi_free(p);
        return NULL;
    }
    wbi_timer_start(p->timer, WBI_UPSTREAM_PARTING_MS);
    return p;
}

/* End of its input first, then TERM, then KILL. One that serves well is given time to end by
 * itself; one that failed is in the way of the next. */
static void close_link(struct wbi_upstream *up)
{
    static const struct wbi_process_ops ops = {.on_output = ignore_output, .on_end = on_parted};
    struct wbi_process *process = up->process;
    struct parting *p;

    up->process = NULL;
    up->silent_ns = 0;
    up->deaf = false;
    wbi_timer_free(up->ears);
    up->ears = NULL;
    up->watching_ears = false;
    if (process == NULL)
        return;
    p = up->ending ? new_parting(up, process) : NULL;
    wbi_process_handover(process, &ops, p);
    wbi_process_close_input(process);
    if (p == NULL)
        wbi_process_stop(process);
}

const struct wbi_upstream_link wbi_link_stdio = {open_link, send_line, NULL, close_link, NULL};
