/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_known.c: known values and their encoded forms as literals, found
 * by shifts over blocks of two bytes (Wu and Manber): most of the text is
 * skipped. Base64 is matched without the characters that also carry bits of the
 * neighbouring bytes, so the value is found whatever stands around it. */
#include "text/secrets_int.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "json/write.h"

#define BLOCK_SLOTS 65536u

struct needle {
    char *text;
    size_t n;
    uint32_t next; /* 1 + number of the next needle in its chain, 0 at the end */
    char label[WBI_SECRETS_LABEL_SIZE];
};

struct known {
    struct needle *needles;
    size_t n;
    size_t cap;
    size_t forms; /* those of the value that is added begin here */
    size_t shortest;
    size_t longest;
    size_t longest_block; /* of those with a line break inside */
    uint8_t shift[BLOCK_SLOTS];
    uint32_t chain[BLOCK_SLOTS]; /* by the last block of the shortest prefix */
};

static wb_rc add(struct known *k, struct wbi_str text, struct wbi_str label)
{
    struct needle *grown, *x;

    if (text.n < WBI_LIMIT_SECRET_KNOWN_MIN)
        return WB_OK;
    for (size_t i = k->forms; i < k->n; i++)
        if (wbi_str_eq(wbi_str_make(k->needles[i].text, k->needles[i].n), text))
            return WB_OK;
    if (k->n == k->cap) {
        grown = wbi_realloc(k->needles, (k->cap + 64) * sizeof *grown);
        if (grown == NULL)
            return WB_ENOMEM;
        k->needles = grown;
        k->cap += 64;
    }
    x = &k->needles[k->n];
    memset(x, 0, sizeof *x);
    x->text = wbi_strdup(text);
    if (x->text == NULL)
        return WB_ENOMEM;
    x->n = text.n;
    if (memchr(text.p, '\n', text.n) != NULL && text.n > k->longest_block)
        k->longest_block = text.n;
    label = wbi_str_head(label, sizeof x->label - 1);
    for (size_t i = 0; i < label.n; i++)
        x->label[i] = wbi_in_alphabet((uint8_t)label.p[i], A_WORD) ? label.p[i] : '-';
    k->n++;
    return WB_OK;
}

/* Characters of base64 that depend on the value alone, when `phase` bytes of
 * something else come before it. */
static wb_rc add_base64(struct known *k, struct wbi_str v, unsigned phase, const char *alphabet,
                        struct wbi_str label)
{
    struct wbi_buf b;
    size_t bits = (size_t)phase * 8, last = bits + v.n * 8;
    wb_rc rc;

    wbi_buf_init(&b, v.n * 2 + 8);
    for (size_t at = (bits + 5) / 6 * 6; at + 6 <= last; at += 6) {
        size_t from = at - bits;
        unsigned two = (unsigned)(uint8_t)v.p[from / 8] << 8;

        if (from / 8 + 1 < v.n)
            two |= (uint8_t)v.p[from / 8 + 1];
        wbi_buf_addc(&b, alphabet[(two >> (10 - from % 8)) & 63]);
    }
    rc = wbi_buf_rc(&b);
    if (rc == WB_OK)
        rc = add(k, wbi_buf_str(&b), label);
    wbi_buf_fini(&b);
    return rc;
}

static wb_rc add_hex(struct known *k, struct wbi_str v, const char *digits, struct wbi_str label)
{
    struct wbi_buf b;
    wb_rc rc;

    wbi_buf_init(&b, v.n * 2 + 1);
    for (size_t i = 0; i < v.n; i++) {
        wbi_buf_addc(&b, digits[(uint8_t)v.p[i] >> 4]);
        wbi_buf_addc(&b, digits[v.p[i] & 15]);
    }
    rc = wbi_buf_rc(&b);
    if (rc == WB_OK)
        rc = add(k, wbi_buf_str(&b), label);
    wbi_buf_fini(&b);
    return rc;
}

static const char lower[] = "0123456789abcdef";
static const char upper[] = "0123456789ABCDEF";

/* How programs write a value as part of a URL: what they leave as it is besides letters,
 * digits, '_', '-' and '.'. */
static const char *const url_keeps[] = {
    "~",       /* RFC 3986 */
    "~/",      /* paths */
    "~!'()*",  /* encodeURIComponent */
    "~!'()*/", /* encodeURI */
    "*",       /* forms */
};

static wb_rc add_percent(struct known *k, struct wbi_str v, const char *keeps, const char *digits,
                         bool plus, struct wbi_str label)
{
    struct wbi_buf b;
    wb_rc rc;

    wbi_buf_init(&b, v.n * 3 + 1);
    for (size_t i = 0; i < v.n; i++) {
        uint8_t c = (uint8_t)v.p[i];

        if (wbi_in_alphabet(c, A_WORD) || c == '.' || (c != 0 && strchr(keeps, c) != NULL)) {
            wbi_buf_addc(&b, (char)c);
        } else if (c == ' ' && plus) {
            wbi_buf_addc(&b, '+');
        } else {
            wbi_buf_addc(&b, '%');
            wbi_buf_addc(&b, digits[c >> 4]);
            wbi_buf_addc(&b, digits[c & 15]);
        }
    }
    rc = wbi_buf_rc(&b);
    if (rc == WB_OK)
        rc = add(k, wbi_buf_str(&b), label);
    wbi_buf_fini(&b);
    return rc;
}

static wb_rc add_percents(struct known *k, struct wbi_str v, struct wbi_str label)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < WBI_COUNT(url_keeps) * 4 && rc == WB_OK; i++)
        rc = add_percent(k, v, url_keeps[i / 4], i & 1 ? lower : upper, i & 2, label);
    return rc;
}

/* How programs write a value as a JSON string: what they escape besides what they must. */
static const struct json_style {
    const char *escapes;
    const char *digits;
    bool ascii; /* nothing else is left as it is */
} json_styles[] = {
    {"", lower, false},        {"", lower, true},     /* Python */
    {"/", lower, true},                               /* PHP */
    {"/", lower, false},       {"<>&", lower, false}, /* Go */
    {"<>&='", lower, false},                          /* Gson */
    {"<>&'+`\"", upper, true},                        /* .NET */
};

static void add_unit(struct wbi_buf *b, uint32_t unit, const char *digits)
{
    wbi_buf_addz(b, "\\u");
    for (unsigned shift = 16; shift > 0; shift -= 4)
        wbi_buf_addc(b, digits[(unit >> (shift - 4)) & 15]);
}

static void add_escaped(struct wbi_buf *b, uint32_t cp, const struct json_style *style)
{
    if (cp == '/') {
        wbi_buf_addz(b, "\\/");
    } else if (cp < 0x10000) {
        add_unit(b, cp, style->digits);
    } else {
        add_unit(b, 0xd7c0 + (cp >> 10), style->digits);
        add_unit(b, 0xdc00 + (cp & 0x3ff), style->digits);
    }
}

/* quoted: v as a JSON string with nothing escaped but what must be. */
static wb_rc add_json(struct known *k, struct wbi_str quoted, const struct json_style *style,
                      struct wbi_str label)
{
    struct wbi_buf b;
    size_t at = 0, from;
    wb_rc rc;

    wbi_buf_init(&b, quoted.n * 6 + 8);
    while (at < quoted.n) {
        bool pair = quoted.p[at] == '\\' && at + 1 < quoted.n;
        uint32_t cp;

        from = at;
        at += pair;
        cp = wbi_utf8_next(quoted, &at);
        if ((cp < 128 && (!pair || cp == '"') && strchr(style->escapes, (int)cp) != NULL) ||
            (cp >= 128 && style->ascii))
            add_escaped(&b, cp, style);
        else
            wbi_buf_add(&b, quoted.p + from, at - from);
    }
    rc = wbi_buf_rc(&b);
    if (rc == WB_OK)
        rc = add(k, wbi_buf_str(&b), label);
    wbi_buf_fini(&b);
    return rc;
}

static wb_rc add_jsons(struct known *k, struct wbi_str v, struct wbi_str label)
{
    struct wbi_str quoted;
    struct wbi_buf b;
    wb_rc rc;

    wbi_buf_init(&b, v.n * 6 + 8);
    wbi_json_quote(&b, v);
    rc = wbi_buf_rc(&b);
    quoted = rc == WB_OK ? wbi_str_make(b.p + 1, b.n - 2) : wbi_str_make("", 0);
    if (!wbi_utf8_valid(quoted))
        rc = add(k, quoted, label);
    else
        for (size_t i = 0; i < WBI_COUNT(json_styles) && rc == WB_OK; i++)
            rc = add_json(k, quoted, &json_styles[i], label);
    wbi_buf_fini(&b);
    return rc;
}

/* Nobody writes these otherwise. */
static bool nothing_to_escape(struct wbi_str v)
{
    for (size_t i = 0; i < v.n; i++)
        if (!wbi_in_alphabet((uint8_t)v.p[i], A_WORD) && v.p[i] != '.')
            return false;
    return true;
}

static wb_rc add_forms(struct known *k, struct wbi_str v, struct wbi_str label)
{
    static const char std[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    wb_rc rc;

    k->forms = k->n;
    rc = add(k, v, label);
    for (unsigned phase = 0; phase < 3 && rc == WB_OK; phase++) {
        rc = add_base64(k, v, phase, std, label);
        if (rc == WB_OK)
            rc = add_base64(k, v, phase, url, label);
    }
    if (rc == WB_OK)
        rc = add_hex(k, v, lower, label);
    if (rc == WB_OK)
        rc = add_hex(k, v, upper, label);
    if (rc != WB_OK || nothing_to_escape(v))
        return rc;
    rc = add_percents(k, v, label);
    return rc == WB_OK ? add_jsons(k, v, label) : rc;
}

static size_t block(const char *p)
{
    return (uint8_t)p[0] | (size_t)(uint8_t)p[1] << 8;
}

static void build(struct known *k)
{
    size_t m = SIZE_MAX;
    uint32_t *head;

    for (size_t i = 0; i < k->n; i++) {
        if (k->needles[i].n < m)
            m = k->needles[i].n;
        if (k->needles[i].n > k->longest)
            k->longest = k->needles[i].n;
    }
    k->shortest = k->n > 0 ? (m < 200 ? m : 200) : 0;
    if (k->n == 0)
        return;
    memset(k->shift, (int)(k->shortest - 1), sizeof k->shift);
    for (size_t i = 0; i < k->n; i++) {
        for (size_t at = 0; at + 2 <= k->shortest; at++) {
            uint8_t *s = &k->shift[block(k->needles[i].text + at)];
            size_t shift = k->shortest - 2 - at;

            if (shift < *s)
                *s = (uint8_t)shift;
        }
        head = &k->chain[block(k->needles[i].text + k->shortest - 2)];
        k->needles[i].next = *head;
        *head = (uint32_t)i + 1;
    }
}

wb_rc wbi_known_new(const struct wbi_secrets_known *values, size_t n, struct known **ret,
                    size_t *ret_ignored)
{
    struct known *k = wbi_zalloc(sizeof *k);
    size_t ignored = 0;
    wb_rc rc = k ? WB_OK : WB_ENOMEM;

    for (size_t i = 0; i < n && rc == WB_OK; i++) {
        if (values[i].value.n < WBI_LIMIT_SECRET_KNOWN_MIN ||
            values[i].value.n > WBI_LIMIT_SECRET_KNOWN_MAX)
            ignored++;
        else
            rc = add_forms(k, values[i].value,
                           values[i].label.p ? values[i].label : WBI_LIT("known-value"));
    }
    if (rc != WB_OK) {
        wbi_known_free(k);
        return rc;
    }
    build(k);
    *ret = k;
    *ret_ignored = ignored;
    return WB_OK;
}

void wbi_known_free(struct known *k)
{
    if (k == NULL)
        return;
    for (size_t i = 0; i < k->n; i++)
        wbi_free(k->needles[i].text);
    wbi_free(k->needles);
    wbi_free(k);
}

static const struct needle *longest_at(const struct known *k, struct wbi_str t, size_t from,
                                       uint32_t chain)
{
    const struct needle *best = NULL;

    for (; chain != 0; chain = k->needles[chain - 1].next) {
        const struct needle *x = &k->needles[chain - 1];

        if (x->n <= t.n - from && (best == NULL || x->n > best->n) &&
            memcmp(t.p + from, x->text, x->n) == 0)
            best = x;
    }
    return best;
}

bool wbi_known_next(const struct known *k, struct wbi_str t, size_t from, struct secret *ret)
{
    size_t m = k->shortest, at;
    const struct needle *x;

    if (m == 0)
        return false;
    for (at = from + m; at <= t.n;) {
        size_t b = block(t.p + at - 2);

        if (k->shift[b] > 0) {
            at += k->shift[b];
            continue;
        }
        x = longest_at(k, t, at - m, k->chain[b]);
        if (x != NULL) {
            *ret = (struct secret){at - m, at - m + x->n, x->label, false};
            return true;
        }
        at++;
    }
    return false;
}

size_t wbi_known_longest(const struct known *k)
{
    return k->longest;
}

size_t wbi_known_longest_block(const struct known *k)
{
    return k->longest_block;
}

bool wbi_known_any(const struct known *k)
{
    return k->n > 0;
}

bool wbi_known_label(const struct known *k, struct wbi_str label)
{
    for (size_t i = 0; i < k->n; i++)
        if (wbi_str_eqz(label, k->needles[i].label))
            return true;
    return false;
}
