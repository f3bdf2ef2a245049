/* SPDX-License-Identifier: Apache-2.0
 * run/capture.c: one run, one answer. */
#include "run/capture.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/limits.h"

struct wbi_capture {
    struct wbi_process *process;
    struct wbi_buf stream[2];
    uint64_t bytes[2];
    bool overflows[2];
    bool no_memory;
    void (*on_overflow)(void *arg, enum wbi_stream stream, struct wbi_str bytes);
    void (*on_done)(void *arg, const struct wbi_captured *c);
    void *arg;
};

static void hand_on(struct wbi_capture *c, enum wbi_stream stream, struct wbi_str bytes)
{
    if (c->on_overflow == NULL || bytes.n == 0)
        return;
    if (!c->overflows[stream])
        c->on_overflow(c->arg, stream, wbi_buf_str(&c->stream[stream]));
    c->overflows[stream] = true;
    c->on_overflow(c->arg, stream, bytes);
}

/* Keeps the first bytes up to the cap; counts all. */
static void on_output(void *arg, enum wbi_stream stream, struct wbi_str bytes)
{
    struct wbi_capture *c = arg;
    struct wbi_buf *b = &c->stream[stream];
    struct wbi_str fits = wbi_str_head(bytes, b->max - b->n);

    c->bytes[stream] += bytes.n;
    if (wbi_buf_rc(b) != WB_OK)
        return;
    wbi_buf_adds(b, fits);
    if (wbi_buf_rc(b) == WB_ENOMEM)
        c->no_memory = true;
    else
        hand_on(c, stream, wbi_str_from(bytes, fits.n));
}

static void release(struct wbi_capture *c)
{
    wbi_buf_fini(&c->stream[0]);
    wbi_buf_fini(&c->stream[1]);
    wbi_free(c);
}

static void on_end(void *arg, const struct wbi_process_end *end)
{
    struct wbi_capture *c = arg;
    struct wbi_captured answer = {.end = *end,
                                  .out = wbi_buf_str(&c->stream[0]),
                                  .err = wbi_buf_str(&c->stream[1]),
                                  .out_bytes = end->bytes[0],
                                  .err_bytes = end->bytes[1],
                                  .out_of_memory = c->no_memory};

    answer.out_truncated = answer.out_bytes > answer.out.n;
    answer.err_truncated = answer.err_bytes > answer.err.n;
    c->on_done(c->arg, &answer);
    release(c);
}

wb_rc wbi_capture_start(struct wbi_runner *runner, const struct wbi_capture_spec *spec,
                        void (*on_done)(void *, const struct wbi_captured *), void *arg,
                        struct wbi_capture **ret, struct wbi_error *err)
{
    static const struct wbi_process_ops ops = {on_output, on_end};
    struct wbi_capture *c = wbi_zalloc(sizeof(*c));
    wb_rc rc;

    if (c == NULL)
        return wbi_fail_nomem(err);
    wbi_buf_init(&c->stream[0], spec->out_cap ? spec->out_cap : WBI_LIMIT_CAPTURE);
    wbi_buf_init(&c->stream[1], spec->err_cap ? spec->err_cap : WBI_LIMIT_CAPTURE);
    c->on_overflow = spec->on_overflow;
    c->on_done = on_done;
    c->arg = arg;
    rc = wbi_process_start(runner, &spec->process, &ops, c, &c->process, err);
    if (rc != WB_OK) {
        release(c);
        return rc;
    }
    *ret = c;
    return WB_OK;
}

void wbi_capture_cancel(struct wbi_capture *c)
{
    wbi_process_stop(c->process);
}
