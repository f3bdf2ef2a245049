/* SPDX-License-Identifier: Apache-2.0
 * call/answers.h: answers that were given and may be asked for again. The first are kept in
 * memory, the others in a file without a name in the state directory, which is gone with the
 * process. Where there is no such directory, or no room, all stay in memory. */
#ifndef WBI_CALL_ANSWERS_H
#define WBI_CALL_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "waybill/rc.h"

struct wbi_answers {
    struct wbi_str dir; /* absent: memory only */
    size_t in_memory;   /* bytes */
    int64_t end;        /* of the file */
    int fd;             /* the file; -1: not made yet */
    bool none;          /* it cannot be made */
};

void wbi_answers_init(struct wbi_answers *a, struct wbi_str dir);
void wbi_answers_fini(struct wbi_answers *a);
/* Takes note of an answer. True: it is in the file, at *ret_at, and its memory is not needed. */
bool wbi_answers_put(struct wbi_answers *a, struct wbi_str text, int64_t *ret_at);
/* The n bytes that are in the file there; wbi_free() them. WB_EIO, WB_ENOMEM. */
WB_MUST_CHECK wb_rc wbi_answers_get(const struct wbi_answers *a, int64_t at, size_t n, char **ret);

#endif
