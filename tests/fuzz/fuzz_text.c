/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_text.c: cleaning and redaction of any bytes: in pieces as in
 * one, clean on a second look, nothing changed by doing it again, as many lines
 * out as in. */
#include <stdlib.h>

#include "text/hygiene.h"
#include "text/secrets.h"

static void must(int condition)
{
    if (!condition)
        abort();
}

static uint64_t newlines(struct wbi_str s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '\n';
    return n;
}

static void cleaning(struct wbi_str in, size_t step, struct wbi_buf *out)
{
    struct wbi_hygiene h;
    struct wbi_buf pieces;

    must(wbi_hygiene_clean(in, out, NULL) == WB_OK);
    must(wbi_hygiene_is_clean(wbi_buf_str(out)));
    must(newlines(in) == newlines(wbi_buf_str(out)));
    wbi_buf_init(&pieces, 64u << 20);
    wbi_hygiene_init(&h);
    for (size_t at = 0; at < in.n; at += step)
        must(wbi_hygiene_feed(&h, wbi_str_head(wbi_str_from(in, at), step), &pieces) == WB_OK);
    must(wbi_hygiene_finish(&h, &pieces) == WB_OK);
    must(wbi_str_eq(wbi_buf_str(out), wbi_buf_str(&pieces)));
    wbi_hygiene_fini(&h);
    wbi_buf_fini(&pieces);
}

static void redaction(const struct wbi_secrets *set, struct wbi_str in)
{
    struct wbi_buf out, again;

    wbi_buf_init(&out, 64u << 20);
    wbi_buf_init(&again, 64u << 20);
    must(wbi_secrets_replace(set, in, &out, NULL) == WB_OK);
    must(wbi_secrets_replace(set, wbi_buf_str(&out), &again, NULL) == WB_OK);
    /* Text that already holds marks of ours may be read in more than one way, and a brace that
     * belongs to another secret bounds a JSON Web Key only until it is replaced. */
    if (wbi_str_find(in, WBI_LIT("[redacted:")) == in.n &&
        wbi_str_find(in, WBI_LIT("\"kty\":")) == in.n)
        must(wbi_str_eq(wbi_buf_str(&out), wbi_buf_str(&again)));
    must(newlines(in) == newlines(wbi_buf_str(&again)));
    must(wbi_hygiene_is_clean(wbi_buf_str(&again)));
    wbi_buf_fini(&out);
    wbi_buf_fini(&again);
}

/* Visible marks are looked through piece by piece, and what already holds marks of ours may
 * be read in more than one way; all else comes to the same in pieces. */
static void redaction_in_pieces(const struct wbi_secrets *set, struct wbi_str in, size_t step)
{
    struct wbi_secrets_stream st;
    struct wbi_buf out, whole;

    wbi_buf_init(&out, 64u << 20);
    wbi_buf_init(&whole, 64u << 20);
    wbi_secrets_stream_init(&st, set);
    for (size_t at = 0; at < in.n; at += step)
        must(wbi_secrets_stream_feed(&st, wbi_str_head(wbi_str_from(in, at), step), &out) == WB_OK);
    must(wbi_secrets_stream_finish(&st, &out) == WB_OK);
    must(newlines(in) == newlines(wbi_buf_str(&out)));
    must(wbi_secrets_replace(set, in, &whole, NULL) == WB_OK);
    if (wbi_str_find(in, WBI_LIT("[redacted:")) == in.n && wbi_str_find(in, WBI_LIT("<U+")) == in.n)
        must(wbi_str_eq(wbi_buf_str(&out), wbi_buf_str(&whole)));
    wbi_secrets_stream_fini(&st);
    wbi_buf_fini(&out);
    wbi_buf_fini(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Made once: it does not change. */
static const struct wbi_secrets *secrets(void)
{
    static const struct wbi_secrets_known known[] = {
        {WBI_LIT_INIT("correct horse"), WBI_LIT_INIT("K")},
        {WBI_LIT_INIT("two lines\nof one"), WBI_LIT_INIT("L")},
    };
    static struct wbi_secrets *set;
    struct wbi_secrets_options options = {WBI_LIT("fuzz"), known, 2};

    if (set == NULL)
        must(wbi_secrets_new(&options, &set, NULL, NULL) == WB_OK);
    return set;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct wbi_secrets *set = secrets();
    struct wbi_buf clean;
    size_t step = size > 0 ? data[0] % 61 + 1u : 1;

    wbi_buf_init(&clean, 64u << 20);
    cleaning(wbi_str_make((const char *)data, size), step, &clean);
    redaction(set, wbi_buf_str(&clean));
    redaction_in_pieces(set, wbi_buf_str(&clean), step);
    wbi_buf_fini(&clean);
    return 0;
}
