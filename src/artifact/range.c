/* SPDX-License-Identifier: Apache-2.0
 * artifact/range.c: parsing ranges and page tokens. */
#include "artifact/range.h"

#include "base/hash.h"

#define TOKEN_VERSION 1

/* first and last as written; absent ones keep what they had. */
static bool split(struct wbi_str text, uint64_t *first, uint64_t *last, bool *ret_dash)
{
    size_t dash = wbi_str_index(text, '-');
    struct wbi_str a = wbi_str_head(text, dash), b = wbi_str_from(text, dash + 1);

    *ret_dash = dash < text.n;
    if (a.n == 0 && b.n == 0)
        return false;
    if (a.n > 0 && !wbi_parse_u64(a, first))
        return false;
    return b.n == 0 || wbi_parse_u64(b, last);
}

wb_rc wbi_range_lines(struct wbi_str text, uint64_t *ret_first, uint64_t *ret_last,
                      struct wbi_error *err)
{
    uint64_t first = 1, last = WBI_RANGE_END;
    bool dash;

    if (!split(text, &first, &last, &dash) || first < 1 || last < first)
        return wbi_fail(err, WB_EINPUT,
                        "bad range of lines \"%.*s\": A-B, A-, -B or A, from 1, both included",
                        WBI_FMT(wbi_str_head(text, 60)));
    *ret_first = first;
    *ret_last = dash ? last : first;
    return WB_OK;
}

wb_rc wbi_range_bytes(struct wbi_str text, uint64_t *ret_first, uint64_t *ret_end,
                      struct wbi_error *err)
{
    uint64_t first = 0, end = WBI_RANGE_END;
    bool dash;

    if (!split(text, &first, &end, &dash) || !dash || end < first)
        return wbi_fail(err, WB_EINPUT,
                        "bad range of bytes \"%.*s\": A-B, A- or -B, from 0, B excluded",
                        WBI_FMT(wbi_str_head(text, 60)));
    *ret_first = first;
    *ret_end = end;
    return WB_OK;
}

static void put64(uint8_t *at, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(v >> (56 - 8 * i));
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t v = 0;

    for (int i = 0; i < 8; i++)
        v = v << 8 | at[i];
    return v;
}

void wbi_page_encode(const struct wbi_page *page, char out[WBI_PAGE_TOKEN])
{
    uint8_t raw[26] = {TOKEN_VERSION};

    put64(raw + 2, page->line);
    put64(raw + 10, page->offset);
    put64(raw + 18, page->check);
    wbi_hex(raw, sizeof(raw), out);
}

wb_rc wbi_page_decode(struct wbi_str token, struct wbi_page *ret, struct wbi_error *err)
{
    uint8_t raw[26];

    if (token.n != 2 * sizeof(raw) || !wbi_unhex(token, raw) || raw[0] != TOKEN_VERSION ||
        raw[1] != 0)
        return wbi_fail(err, WB_EINPUT, "bad pageToken: give the nextToken of the page before");
    ret->line = get64(raw + 2);
    ret->offset = get64(raw + 10);
    ret->check = get64(raw + 18);
    return WB_OK;
}
