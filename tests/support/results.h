/* SPDX-License-Identifier: Apache-2.0
 * tests/support/results.h: the schemas of the built-in tools' results
 * (src/family/NAME/results.json), for every test that calls one. */
#ifndef WAYBILL_TESTS_SUPPORT_RESULTS_H
#define WAYBILL_TESTS_SUPPORT_RESULTS_H

#include <stddef.h>

/* What is wrong with the result in a canonical text, NULL when it is as the
 * schema of its tool says (or of a tool without one, or an error). Until the
 * next call. */
const char *result_breach(const char *canonical, size_t n);
/* The name of the i-th schema, NULL behind the last; *ret_checked counts its
 * results so far (may be NULL). */
const char *result_schema(size_t i, unsigned *ret_checked);

#endif
