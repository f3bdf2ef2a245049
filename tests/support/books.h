/* SPDX-License-Identifier: Apache-2.0
 * tests/support/books.h: do events and ledger tell of every call of a world what its caller
 * was told? */
#ifndef WAYBILL_TESTS_BOOKS_H
#define WAYBILL_TESTS_BOOKS_H

#include "guarded.h"

/* Closes the world's runtime, so that everything is written. Of each call that ended: one
 * ToolInvoked, one ToolSucceeded or ToolFailed that agrees with its Result, the events in
 * order; in the ledger one outcome, with the Result byte for byte (but for "cached"). */
void books_agree(struct guarded *g);
/* Events of that type ("CircuitOpen") so far. */
int events_of(const struct guarded *g, const char *type);
/* Do these bytes stand in any file below the world's root? */
bool in_some_file(const struct guarded *g, const char *bytes);

#endif
