/* SPDX-License-Identifier: Apache-2.0
 * base/utf8.h: UTF-8 without surprises. */
#ifndef WBI_BASE_UTF8_H
#define WBI_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/* True when s is well-formed (no surrogates, no overlong forms). */
bool wbi_utf8_valid(struct wbi_str s);
/* Length of the valid prefix of s in bytes. */
size_t wbi_utf8_valid_prefix(struct wbi_str s);
/* Code points in well-formed text. */
size_t wbi_utf8_count(struct wbi_str s);
/* Bytes of the longest prefix with at most n bytes that ends at a boundary. */
size_t wbi_utf8_cut(struct wbi_str s, size_t n);
/* The same, behind a whole word if that keeps half of it: half a secret nobody would know
 * for one. */
size_t wbi_utf8_cut_words(struct wbi_str s, size_t n);
/* The same, behind a whole word in any case; 0: the first is longer than that. */
size_t wbi_utf8_cut_whole_words(struct wbi_str s, size_t n);
/* Bytes of the prefix with at most n code points. */
size_t wbi_utf8_cut_chars(struct wbi_str s, size_t n);
/* One code point of well-formed text at s.p[*at]; moves *at on. */
uint32_t wbi_utf8_next(struct wbi_str s, size_t *at);
/* Where the first control character of well-formed text stands (those above U+007F, too, which
 * terminals obey), or s.n. */
size_t wbi_utf8_control(struct wbi_str s);
/* 1 to 4 bytes; returns how many. cp must be a scalar value. */
size_t wbi_utf8_put(uint32_t cp, char out[4]);
/* Length of the well-formed sequence at p (at least 1 byte available), or 0;
 * then *ret_skip is the length of the maximal ill-formed subpart (1 to 3). */
size_t wbi_utf8_step(const uint8_t *p, size_t n, size_t *ret_skip);

#endif
