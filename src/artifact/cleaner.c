/* SPDX-License-Identifier: Apache-2.0
 * artifact/cleaner.c */
#include "artifact/cleaner.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "text/hygiene.h"
#include "text/secrets.h"

struct cleaning {
    struct wbi_hygiene hygiene;
    struct wbi_secrets_stream secrets;
    struct wbi_buf cleaned;
    bool redacts;
};

static wb_rc begin(void *arg, void **ret_state)
{
    struct cleaning *c = wbi_zalloc(sizeof(*c));

    if (c == NULL)
        return WB_ENOMEM;
    wbi_hygiene_init_output(&c->hygiene);
    wbi_buf_init(&c->cleaned, WBI_LIMIT_CALL_ARENA);
    c->redacts = arg != NULL;
    if (c->redacts)
        wbi_secrets_stream_init(&c->secrets, arg);
    *ret_state = c;
    return WB_OK;
}

static wb_rc feed(void *state, struct wbi_str raw, struct wbi_buf *out)
{
    struct cleaning *c = state;
    wb_rc rc;

    if (!c->redacts)
        return wbi_hygiene_feed(&c->hygiene, raw, out);
    wbi_buf_clear(&c->cleaned);
    rc = wbi_hygiene_feed(&c->hygiene, raw, &c->cleaned);
    if (rc == WB_OK)
        rc = wbi_secrets_stream_feed(&c->secrets, wbi_buf_str(&c->cleaned), out);
    return rc;
}

static wb_rc redact_rest(struct cleaning *c, struct wbi_buf *out)
{
    wb_rc rc = wbi_secrets_stream_feed(&c->secrets, wbi_buf_str(&c->cleaned), out);

    return rc == WB_OK ? wbi_secrets_stream_finish(&c->secrets, out) : rc;
}

static wb_rc finish(void *state, struct wbi_buf *out)
{
    struct cleaning *c = state;
    wb_rc rc;

    wbi_buf_clear(&c->cleaned);
    rc = wbi_hygiene_finish(&c->hygiene, c->redacts ? &c->cleaned : out);
    return rc == WB_OK && c->redacts ? redact_rest(c, out) : rc;
}

/* A character of which only the first bytes came is not one that is broken yet. */
static wb_rc finish_so_far(void *state, struct wbi_buf *out)
{
    struct cleaning *c = state;
    wb_rc rc;

    wbi_buf_clear(&c->cleaned);
    rc = wbi_hygiene_finish_so_far(&c->hygiene, c->redacts ? &c->cleaned : out);
    return rc == WB_OK && c->redacts ? redact_rest(c, out) : rc;
}

static void end(void *state)
{
    struct cleaning *c = state;

    wbi_hygiene_fini(&c->hygiene);
    if (c->redacts)
        wbi_secrets_stream_fini(&c->secrets);
    wbi_buf_fini(&c->cleaned);
    wbi_free(c);
}

struct wbi_cleaner wbi_cleaner_text(const struct wbi_secrets *secrets)
{
    return (struct wbi_cleaner){(void *)(uintptr_t)secrets, begin, feed, finish, end};
}

struct wbi_cleaner wbi_cleaner_text_so_far(const struct wbi_secrets *secrets)
{
    return (struct wbi_cleaner){(void *)(uintptr_t)secrets, begin, feed, finish_so_far, end};
}
