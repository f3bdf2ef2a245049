/* SPDX-License-Identifier: Apache-2.0
 * tests/support/cites.h: rows of a list that name tests. A row is a head line and, below it,
 * indented lines:
 *     path/to/x_test.c:function     a test of that program
 *     path/to/data                  a golden, journey or conversation
 *     path/to/data:words            the part of it that holds these words
 *     - reason                      nothing to show */
#ifndef WAYBILL_TESTS_CITES_H
#define WAYBILL_TESTS_CITES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/slice.h"

struct cite_row {
    struct wbi_str head;  /* the row's first line */
    struct wbi_str cites; /* the lines below, with their ends */
    bool used;            /* for the caller */
};

/* Cuts the first line off text. */
struct wbi_str cite_line(struct wbi_str *text);
/* All rows of text; lines that begin with # and empty ones are skipped. Fails the test when
 * there are more than max. */
size_t cite_rows(struct wbi_str text, struct cite_row *rows, size_t max);
/* Whether the row gives a reason instead of tests. */
bool cite_is_reason(const struct cite_row *row);
/* How many citations of the row do not hold, told line by line; a row without any is one. */
unsigned cite_wrong(const char *list, const struct cite_row *row);

#endif
