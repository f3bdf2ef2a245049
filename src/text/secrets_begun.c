/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_begun.c: the end of a text that goes on, which may be half a secret. */
#include "text/secrets_int.h"

/* A word that may become a secret, such as half a token; what ends in a sign is a question. */
static bool may_become_secret(const struct wbi_secrets *s, struct wbi_str word)
{
    unsigned char last = word.n > 0 ? (unsigned char)word.p[word.n - 1] : ' ';
    bool ends = !(last >= '0' && last <= '9') && !((last | 0x20) >= 'a' && (last | 0x20) <= 'z') &&
                memchr("_-+/=", last, 5) == NULL;

    return !ends && wbi_secrets_suspected(s, word) && !wbi_secrets_found(s, word);
}

wb_rc wbi_secrets_hold_back(struct wbi_secrets_stream *st)
{
    struct wbi_str text = wbi_buf_str(&st->hold);
    size_t word = text.n, from = text.n - wbi_known_begun(st->set->known, text);

    while (word > 0 && (unsigned char)text.p[word - 1] > ' ')
        word--;
    if (word < from && may_become_secret(st->set, wbi_str_from(text, word)))
        from = word;
    if (from == text.n)
        return WB_OK;
    st->hold.n = from;
    wbi_buf_addz(&st->hold, "[held back: this line is not complete]");
    return wbi_buf_rc(&st->hold);
}
