/* SPDX-License-Identifier: Apache-2.0
 * base/local.h: hardened builds zero every local. For a large one that is filled
 * before it is read this costs more than the work it serves. */
#ifndef WBI_BASE_LOCAL_H
#define WBI_BASE_LOCAL_H

#define WBI_LARGE_LOCAL __attribute__((uninitialized))

#endif
