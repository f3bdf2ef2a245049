/* SPDX-License-Identifier: Apache-2.0
 * event/stream.c: numbering and buffering of frames. (1) sequence is the
 * number of frames ever buffered. (2) buffered is the sum over the list. (3)
 * After `closed` no frame is added. */
#include "event/stream.h"

#include "base/alloc.h"
#include "base/limits.h"

struct frame {
    struct frame *next;
    size_t n;
    char bytes[];
};

struct wbi_stream {
    char *correlation_id;
    struct frame *first, *last;
    size_t buffered, max_buffered;
    uint64_t sequence, left_out;
    bool closed, committed;
    void (*on_frame)(void *arg);
    void *arg;
};

wb_rc wbi_stream_new(struct wbi_str correlation_id, size_t max_buffered,
                     void (*on_frame)(void *arg), void *arg, struct wbi_stream **ret)
{
    struct wbi_stream *s = wbi_zalloc(sizeof(*s));

    if (s == NULL)
        return WB_ENOMEM;
    s->correlation_id = wbi_strdup(correlation_id);
    if (s->correlation_id == NULL) {
        wbi_free(s);
        return WB_ENOMEM;
    }
    s->max_buffered = max_buffered;
    s->on_frame = on_frame;
    s->arg = arg;
    *ret = s;
    return WB_OK;
}

void wbi_stream_free(struct wbi_stream *s)
{
    if (s == NULL)
        return;
    while (s->first != NULL)
        wbi_stream_drop(s);
    wbi_free(s->correlation_id);
    wbi_free(s);
}

static wb_rc build(const struct wbi_stream *s, enum wbi_frame_event event, struct wbi_str data,
                   struct frame **ret)
{
    static const char *const names[] = {"partial", "heartbeat", "completed", "error"};
    bool terminal = event == WBI_FRAME_COMPLETED || event == WBI_FRAME_ERROR;
    struct wbi_buf line;
    struct wbi_jw w = wbi_jw_to(&line);
    struct frame *f = NULL;
    wb_rc rc;

    wbi_buf_init(&line, WBI_LIMIT_FRAME);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "correlationId", s->correlation_id);
    wbi_jw_key(&w, "sequence");
    wbi_jw_uint(&w, s->sequence);
    wbi_jw_kstrz(&w, "event", names[event]);
    wbi_jw_kraw(&w, "data", data.p ? data : WBI_LIT("{}"));
    if (terminal && s->left_out > 0) {
        wbi_jw_key(&w, "leftOut");
        wbi_jw_uint(&w, s->left_out);
    }
    wbi_jw_obj_end(&w);
    rc = wbi_buf_rc(&line);
    if (rc == WB_OK) {
        f = wbi_alloc(sizeof(*f) + line.n + 1);
        rc = f ? WB_OK : WB_ENOMEM;
    }
    if (rc == WB_OK) {
        f->next = NULL;
        f->n = line.n;
        memcpy(f->bytes, line.p, line.n + 1); /* with its NUL */
        *ret = f;
    }
    wbi_buf_fini(&line);
    return rc;
}

wb_rc wbi_stream_put(struct wbi_stream *s, enum wbi_frame_event event, struct wbi_str data)
{
    bool terminal = event == WBI_FRAME_COMPLETED || event == WBI_FRAME_ERROR;
    bool was_empty = s->first == NULL;
    struct frame *f;
    wb_rc rc;

    if (s->closed)
        return WB_EMISUSE;
    rc = build(s, event, data, &f);
    if (rc != WB_OK)
        return rc;
    if (!terminal && s->buffered + f->n > s->max_buffered) {
        wbi_free(f);
        s->left_out++;
        return WB_EAGAIN;
    }
    *(s->last ? &s->last->next : &s->first) = f;
    s->last = f;
    s->buffered += f->n;
    s->sequence++;
    s->closed = terminal;
    if (was_empty && s->on_frame != NULL)
        s->on_frame(s->arg);
    return WB_OK;
}

struct wbi_str wbi_stream_peek(const struct wbi_stream *s)
{
    return s->first ? wbi_str_make(s->first->bytes, s->first->n) : WBI_NONE;
}

void *wbi_stream_take(struct wbi_stream *s, struct wbi_str *ret)
{
    struct frame *f = s->first;

    if (f == NULL)
        return NULL;
    s->first = f->next;
    if (s->first == NULL)
        s->last = NULL;
    s->buffered -= f->n;
    s->committed = true;
    *ret = wbi_str_make(f->bytes, f->n);
    return f;
}

void wbi_stream_drop(struct wbi_stream *s)
{
    struct wbi_str gone;

    wbi_free(wbi_stream_take(s, &gone));
}

bool wbi_stream_committed(const struct wbi_stream *s)
{
    return s->committed;
}
