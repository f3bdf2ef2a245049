/* SPDX-License-Identifier: Apache-2.0
 * json/json_int.h: for this room only. */
#ifndef WBI_JSON_JSON_INT_H
#define WBI_JSON_JSON_INT_H

/* For the stacks of flat walks: hardened builds zero every local, which costs
 * more than walking a small value does. Each entry is set before it is read. */
#define WBI_JSON_STACK __attribute__((uninitialized))

#endif
