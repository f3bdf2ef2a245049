/* SPDX-License-Identifier: Apache-2.0
 * text/preview_look_int.h: one line being looked at, shared by those who read and weigh it. */
#ifndef WBI_TEXT_PREVIEW_LOOK_INT_H
#define WBI_TEXT_PREVIEW_LOOK_INT_H

#include "text/preview_bits_int.h"

/* What is found in a line on the way. */
struct look {
    const struct words *words;
    const uint8_t *p;
    size_t n;
    const uint8_t *readable; /* up to here */
    size_t rule;             /* equal marks that it begins with */
    uint64_t before;         /* hash of the word before */
    struct line_facts *facts;
    uint32_t hit;
    uint32_t query;
    uint8_t best;
    uint8_t extra;
    uint64_t outcome; /* part of the shape: lines alike but for how it went */
    uint8_t row;      /* of fields between commas: 1 yes, 2 no, 0 not looked at */
    uint8_t n_numbers;
    bool passed;
    bool place; /* a line of a file was named */
    bool code;  /* letters beside digits */
    bool quiet; /* the line names a level that nobody reads */
    bool warns; /* the line says that it is a warning */
    bool level; /* the line names its level, as logs do */
    bool time;  /* a colon between digits */
};

/* preview_read.c: reads the line with vectors of 64 or 32 lanes or, for 0, none; its shape but
 * for the outcome. */
uint64_t wbi_read_line(struct look *k, size_t lanes);
/* preview_line.c: weighs the word [from, to) with that hash, which is most likely one of the
 * vocabulary or of the command. */
void wbi_look_known(struct look *k, uint64_t hash, size_t from, size_t to);
/* The same of a word glued to digits: a name, that the command may have too. */
void wbi_look_glued(struct look *k, uint64_t hash);
/* Weighs it when it names an exception. */
void wbi_look_exception(struct look *k, size_t from, size_t to);

#endif
