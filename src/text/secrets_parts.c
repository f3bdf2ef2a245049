/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_parts.c: tokens that no brief literal tells, but the lengths and letters of
 * their parts do. What costs least is asked first: words begin like them, too. */
#include "text/secrets_int.h"

/* A run of just n of the alphabet. */
static bool part(struct wbi_str t, size_t at, size_t n, enum alphabet alphabet)
{
    return at + n <= t.n && wbi_run(wbi_str_head(wbi_str_from(t, at), n), 0, alphabet) == n &&
           (at + n == t.n || !wbi_in_alphabet((uint8_t)t.p[at + n], A_ALNUM));
}

#define AIRTABLE_ID 14u

/* pat, fourteen letters and digits, a dot, sixty-four of hexadecimal. Text is full of path, patch
 * and pattern: behind these and a few like them it is found before a capital or a digit only,
 * or not at all, which leaves five tokens of a hundred to their names. r->min: so much of pat
 * stands before the literal. */
bool wbi_match_airtable(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t from = at - r->min, dot = from + 3 + AIRTABLE_ID;

    if (dot >= t.n || t.p[dot] != '.' || at < j->floor + r->min || t.p[from] != 'p')
        return false;
    return !wbi_word_before(j, from) && part(t, from + 3, AIRTABLE_ID, A_ALNUM) &&
           part(t, dot + 1, 64, A_LOWHEX) && wbi_found(ret, from, dot + 1 + 64, r->label);
}

/* Thirty-two of hexadecimal before -us and the one or two digits of a data centre. */
bool wbi_match_mailchimp(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t end = at + r->n;

    while (end < t.n && end - at < r->n + 2u && wbi_is_digit((uint8_t)t.p[end]))
        end++;
    return end > at + r->n && (end == t.n || !wbi_is_alnum((uint8_t)t.p[end])) &&
           at >= j->floor + 32 && part(t, at - 32, 32, A_LOWHEX) && !wbi_word_before(j, at - 32) &&
           wbi_entropy(wbi_str_make(t.p + at - 32, 32)) >= 200 &&
           wbi_found(ret, at - 32, end, r->label);
}

/* Base64 of digits: what the bits of three digits make of four letters. */
static bool digits64(struct wbi_str v)
{
    for (size_t i = 0; i < v.n; i += 4)
        if (strchr("MNO", v.p[i]) == NULL || strchr("DTjz", v.p[i + 1]) == NULL ||
            strchr("AEIMQUYcgk", v.p[i + 2]) == NULL || strchr("wxyz012345", v.p[i + 3]) == NULL)
            return false;
    return true;
}

/* The number of a user in base64, a time, a signature; dots between them. */
bool wbi_match_discord(struct judged *j, size_t at, const struct rule *r, struct secret *ret)
{
    struct wbi_str t = j->text;
    size_t id = wbi_judged_run(j, at, A_WORD), time = at + id + 1, proof = time + 7, n;

    if (id < 22 || id > 28 || proof >= t.n || t.p[time - 1] != '.' || t.p[proof - 1] != '.' ||
        wbi_run(wbi_str_head(t, proof), time, A_WORD) != 6 || wbi_word_before(j, at) ||
        !digits64(wbi_str_make(t.p + at, 20)))
        return false;
    n = wbi_run(wbi_str_head(t, proof + 40), proof, A_WORD);
    return n >= 27 && n <= 38 && wbi_found(ret, at, proof + n, r->label);
}
