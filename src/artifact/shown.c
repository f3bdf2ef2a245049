/* SPDX-License-Identifier: Apache-2.0
 * artifact/shown.c */
#include "artifact/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/fd.h"
#include "base/limits.h"
#include "path/path.h"

struct wbi_shown {
    struct wbi_hygiene hygiene;
    struct wbi_secrets_stream secrets;
    bool has_secrets;
    struct wbi_preview_index *index;
    struct wbi_buf cleaned; /* of one feed */
    struct wbi_buf redacted;
    struct wbi_buf text;                             /* what is kept in memory */
    uint64_t spilled;                                /* bytes in the file, before text */
    void (*on_text)(void *arg, struct wbi_str text); /* or NULL */
    void *on_text_arg;
    int dir_fd;
    int file; /* -1: none */
    bool ended;
    wb_rc rc;
};

wb_rc wbi_shown_new(int dir_fd, const struct wbi_secrets *secrets, struct wbi_str command,
                    struct wbi_shown **ret)
{
    struct wbi_shown *s = wbi_zalloc(sizeof(*s));

    if (s == NULL)
        return WB_ENOMEM;
    s->dir_fd = dir_fd;
    s->file = -1;
    s->has_secrets = secrets != NULL;
    wbi_hygiene_init_output(&s->hygiene);
    if (s->has_secrets)
        wbi_secrets_stream_init(&s->secrets, secrets);
    wbi_buf_init(&s->cleaned, WBI_LIMIT_CALL_ARENA);
    wbi_buf_init(&s->redacted, WBI_LIMIT_CALL_ARENA);
    wbi_buf_init(&s->text, WBI_LIMIT_CALL_ARENA);
    if (wbi_preview_index_new(command, &s->index) != WB_OK) {
        wbi_shown_free(s);
        return WB_ENOMEM;
    }
    *ret = s;
    return WB_OK;
}

void wbi_shown_free(struct wbi_shown *s)
{
    if (s == NULL)
        return;
    wbi_preview_index_free(s->index);
    wbi_hygiene_fini(&s->hygiene);
    if (s->has_secrets)
        wbi_secrets_stream_fini(&s->secrets);
    wbi_buf_fini(&s->cleaned);
    wbi_buf_fini(&s->redacted);
    wbi_buf_fini(&s->text);
    if (s->file >= 0)
        (void)close(s->file); /* nothing was promised about it */
    wbi_free(s);
}

void wbi_shown_tap(struct wbi_shown *s, void (*on_text)(void *, struct wbi_str), void *arg)
{
    s->on_text = on_text;
    s->on_text_arg = arg;
}

static void fail(struct wbi_shown *s, wb_rc rc)
{
    if (s->rc == WB_OK)
        s->rc = rc;
}

/* The copy is only for showing: it leaves room for the ledger to tell what happened. */
static bool has_room(const struct wbi_shown *s)
{
    struct statvfs fs;
    uint64_t left, all;

    if (fstatvfs(s->file, &fs) != 0)
        return true;
    left = (uint64_t)fs.f_bavail * fs.f_frsize;
    all = (uint64_t)fs.f_blocks * fs.f_frsize;
    return left > s->text.n + WBI_MIN(all / 40, (uint64_t)WBI_LIMIT_SHOWN_MEMORY);
}

/* Text over the cap goes to the file; a disk that takes no more fails the
 * preview, never the call. */
static void spill(struct wbi_shown *s)
{
    if (s->text.n < WBI_LIMIT_SHOWN_MEMORY || s->dir_fd < 0)
        return;
    if (s->file < 0)
        s->file = wbi_path_open_unnamed(s->dir_fd, ".");
    if (s->file < 0 || !has_room(s) || wbi_write_all(s->file, s->text.p, s->text.n) != 0) {
        fail(s, WB_EIO);
        return;
    }
    s->spilled += s->text.n;
    wbi_buf_clear(&s->text);
}

static void take(struct wbi_shown *s, struct wbi_str text)
{
    wb_rc rc;

    if (text.n == 0)
        return;
    if (s->on_text != NULL)
        s->on_text(s->on_text_arg, text);
    rc = wbi_preview_index_feed(s->index, text);
    wbi_buf_adds(&s->text, text);
    if (rc == WB_OK)
        rc = wbi_buf_rc(&s->text);
    if (rc != WB_OK)
        fail(s, rc);
    else
        spill(s);
}

static void redact_and_take(struct wbi_shown *s, bool end)
{
    wb_rc rc = WB_OK;

    if (!s->has_secrets) {
        take(s, wbi_buf_str(&s->cleaned));
        wbi_buf_clear(&s->cleaned);
        return;
    }
    rc = wbi_secrets_stream_feed(&s->secrets, wbi_buf_str(&s->cleaned), &s->redacted);
    if (rc == WB_OK && end)
        rc = wbi_secrets_stream_finish(&s->secrets, &s->redacted);
    if (rc != WB_OK)
        fail(s, rc);
    take(s, wbi_buf_str(&s->redacted));
    wbi_buf_clear(&s->cleaned);
    wbi_buf_clear(&s->redacted);
}

void wbi_shown_feed(struct wbi_shown *s, struct wbi_str raw)
{
    wb_rc rc;

    if (s->rc != WB_OK || s->ended)
        return;
    rc = wbi_hygiene_feed(&s->hygiene, raw, &s->cleaned);
    if (rc != WB_OK)
        fail(s, rc);
    redact_and_take(s, /* end= */ false);
}

static wb_rc end(struct wbi_shown *s, bool so_far)
{
    wb_rc rc;

    if (s->ended)
        return s->rc;
    s->ended = true;
    rc = so_far ? wbi_hygiene_finish_so_far(&s->hygiene, &s->cleaned)
                : wbi_hygiene_finish(&s->hygiene, &s->cleaned);
    if (rc != WB_OK)
        fail(s, rc);
    redact_and_take(s, /* end= */ true);
    rc = wbi_preview_index_end(s->index);
    if (rc != WB_OK)
        fail(s, rc);
    return s->rc;
}

wb_rc wbi_shown_end(struct wbi_shown *s)
{
    return end(s, /* so_far= */ false);
}

wb_rc wbi_shown_end_so_far(struct wbi_shown *s)
{
    return end(s, /* so_far= */ true);
}

uint64_t wbi_shown_tokens(const struct wbi_shown *s)
{
    return wbi_preview_index_tokens(s->index);
}

uint64_t wbi_shown_lines(const struct wbi_shown *s)
{
    return wbi_preview_index_lines(s->index);
}

double wbi_shown_worst(struct wbi_shown *s)
{
    return wbi_shown_end(s) == WB_OK ? wbi_preview_index_worst(s->index) : 0;
}

const struct wbi_hygiene_counts *wbi_shown_counts(const struct wbi_shown *s)
{
    return &s->hygiene.counts;
}

uint64_t wbi_shown_secrets(const struct wbi_shown *s)
{
    return s->has_secrets ? s->secrets.report.total : 0;
}

bool wbi_shown_changed(const struct wbi_shown *s)
{
    const struct wbi_hygiene_counts *c = &s->hygiene.counts;

    return c->repaired + c->sequences + c->redraws + c->invisible + c->controls + c->decoded +
                   wbi_shown_secrets(s) >
               0 ||
           (s->spilled == 0 && wbi_preview_respells(wbi_buf_str(&s->text)));
}

/* Bytes of the cleaned text: first the file, then memory. */
static wb_rc read_text(void *arg, uint64_t offset, size_t n, struct wbi_buf *out)
{
    struct wbi_shown *s = arg;

    while (n > 0 && offset < s->spilled) {
        size_t piece = n < s->spilled - offset ? n : (size_t)(s->spilled - offset);
        char *room = wbi_buf_room(out, piece);
        ssize_t got;

        if (room == NULL)
            return wbi_buf_rc(out);
        got = pread(s->file, room, piece, (off_t)offset);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return WB_EIO;
        if (got > 0) {
            out->n += (size_t)got;
            offset += (uint64_t)got;
            n -= (size_t)got;
        }
    }
    if (n > 0)
        wbi_buf_adds(
            out,
            wbi_str_head(wbi_str_from(wbi_buf_str(&s->text), (size_t)(offset - s->spilled)), n));
    return wbi_buf_rc(out);
}

wb_rc wbi_shown_preview(struct wbi_shown *s, struct wbi_arena *arena,
                        const struct wbi_preview_policy *policy, struct wbi_preview *ret,
                        struct wbi_error *err)
{
    wb_rc rc = wbi_shown_end(s);

    if (rc != WB_OK)
        return wbi_fail(err, rc, "the output could not be prepared for showing");
    return wbi_preview_make(arena, s->index, policy, read_text, s, ret, err);
}
