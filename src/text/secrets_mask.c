/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_mask.c: writing a replacement and knowing one again. Only the whole
 * form with a label of ours counts as one: text that merely looks like it hides
 * nothing. */
#include "text/secrets_int.h"

#include "base/hash.h"

#define MASK_MAX 80u /* a replacement is not longer */
#define HASH_HEX 6u

/* Keyed: without the key nobody can try values against it. */
static wb_rc short_hash(const struct wbi_secrets *s, struct wbi_str v, char out[HASH_HEX + 1])
{
    struct wbi_buf b;
    uint8_t digest[WBI_SHA256_SIZE];
    wb_rc rc;

    wbi_buf_init(&b, v.n + 2 * WBI_SECRETS_KEY_MAX + 16);
    wbi_buf_add(&b, s->key, s->key_n);
    wbi_buf_addc(&b, (char)s->key_n);
    wbi_buf_adds(&b, v);
    wbi_buf_add(&b, s->key, s->key_n);
    rc = wbi_buf_rc(&b);
    if (rc == WB_OK)
        rc = wbi_sha256(b.p ? b.p : "", b.n, digest);
    if (rc == WB_EUNSUPPORTED) {
        uint64_t h = wbi_hash64(b.p, b.n, 0x5ec7e7);

        memcpy(digest, &h, sizeof h);
        rc = WB_OK;
    }
    if (rc == WB_OK)
        wbi_hex(digest, HASH_HEX / 2, out);
    wbi_buf_fini(&b);
    return rc;
}

wb_rc wbi_secrets_mask(const struct wbi_secrets *s, const char *label, struct wbi_str value,
                       struct wbi_buf *out)
{
    char hash[HASH_HEX + 1];
    wb_rc rc = short_hash(s, value, hash);

    if (rc != WB_OK)
        return rc;
    wbi_buf_addf(out, "[redacted:%s:%s]", label, hash);
    return wbi_buf_rc(out);
}

static bool our_label(const struct wbi_secrets *s, struct wbi_str label)
{
    static const char *const others[] = {"value", "secret-value", "key-value"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (wbi_str_eqz(label, others[i]))
            return true;
    for (size_t i = 0; i < wbi_secret_rules_n; i++)
        if (wbi_str_eqz(label, wbi_secret_rules[i].label))
            return true;
    return wbi_known_label(s->known, label);
}

size_t wbi_mask_at(const struct wbi_secrets *s, struct wbi_str t, size_t i)
{
    struct wbi_str m = wbi_str_head(wbi_str_from(t, i), MASK_MAX);
    size_t at = 10, hash;

    if (!wbi_str_starts(m, WBI_LIT("[redacted:")))
        return 0;
    while (at < m.n && wbi_in_alphabet((uint8_t)m.p[at], A_WORD))
        at++;
    hash = at + 1;
    if (hash + HASH_HEX + 1 > m.n || m.p[at] != ':' || m.p[hash + HASH_HEX] != ']')
        return 0;
    for (size_t k = 0; k < HASH_HEX; k++)
        if (!wbi_in_alphabet((uint8_t)m.p[hash + k], A_LOWHEX))
            return 0;
    return our_label(s, wbi_str_make(m.p + 10, at - 10)) ? hash + HASH_HEX + 1 : 0;
}

size_t wbi_skip_masks(const struct wbi_secrets *s, struct wbi_str t, size_t i)
{
    size_t n;

    while ((n = wbi_mask_at(s, t, i)) > 0)
        i += n;
    return i;
}

bool wbi_secrets_is_mask(const struct wbi_secrets *s, struct wbi_str text)
{
    return text.n > 0 && wbi_skip_masks(s, text, 0) == text.n;
}

bool wbi_masked_before(const struct wbi_secrets *s, struct wbi_str t, const struct secret *m)
{
    size_t i = m->from < MASK_MAX ? 0 : m->from - MASK_MAX;
    const char *p;

    if (wbi_secrets_is_mask(s, wbi_str_make(t.p + m->from, m->to - m->from)))
        return true;
    while (i < m->from && (p = memchr(t.p + i, '[', m->from - i)) != NULL) {
        i = (size_t)(p - t.p);
        if (i + wbi_mask_at(s, t, i) > m->from)
            return true;
        i++;
    }
    return false;
}
