/* SPDX-License-Identifier: Apache-2.0
 * tests/support/seed.h: a document of the specification cut into its sentences,
 * each with a key that stays while its words do. */
#ifndef WAYBILL_TESTS_SEED_H
#define WAYBILL_TESTS_SEED_H

#include "base/arena.h"
#include "base/slice.h"

#define SEED_SENTENCES_MAX 1000

struct seed_sentence {
    unsigned section;       /* headings before it */
    unsigned number;        /* in its section, from 1 */
    struct wbi_str heading; /* of the section, "" before the first */
    struct wbi_str text;    /* white space folded; an example begins with ``` */
    char hash[9];           /* first digits of the SHA-256 of text */
};

/* Sentences of Markdown text: of paragraphs and of list items; a fenced example is
 * one sentence. Headings and front matter are none. All in arena; returns how
 * many there are, at most SEED_SENTENCES_MAX. */
size_t seed_split(struct wbi_arena *arena, struct wbi_str text, struct seed_sentence *out);

#endif
