/* SPDX-License-Identifier: Apache-2.0
 * artifact/pass.c: the raw bytes of an artifact through the cleaner into a sink. */
#include <errno.h>
#include <unistd.h>

#include "artifact/read_int.h"
#include "base/alloc.h"

#define CHUNK (256u * WBI_KIB)
#define CLEANED_MAX (16u * WBI_MIB) /* what one chunk may become */

static bool is_stopped(const struct wbi_read_query *q)
{
    return q->stop != NULL && atomic_load(q->stop);
}

wb_rc wbi_pass(int fd, const struct wbi_read_query *q, struct wbi_sink *sink, struct wbi_error *err)
{
    const struct wbi_cleaner *cleaner = q->cleaner;
    char *raw = wbi_alloc(CHUNK);
    struct wbi_buf clean;
    void *state = NULL;
    uint64_t at = 0;
    wb_rc rc = raw != NULL ? WB_OK : WB_ENOMEM;
    bool more = true;

    wbi_buf_init(&clean, CLEANED_MAX);
    if (rc == WB_OK && cleaner != NULL)
        rc = cleaner->begin(cleaner->arg, &state);
    while (rc == WB_OK && more) {
        size_t most = (size_t)WBI_MIN(q->there - at, (uint64_t)CHUNK);
        ssize_t n = is_stopped(q) ? 0 : pread(fd, raw, most, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = WB_EIO;
        if (n <= 0)
            break;
        at += (uint64_t)n;
        if (cleaner == NULL) {
            more = sink->take(sink, wbi_str_make(raw, (size_t)n));
            continue;
        }
        wbi_buf_clear(&clean);
        rc = cleaner->feed(state, wbi_str_make(raw, (size_t)n), &clean);
        more = rc == WB_OK && sink->take(sink, wbi_buf_str(&clean));
    }
    if (rc == WB_OK && more && cleaner != NULL) {
        wbi_buf_clear(&clean);
        rc = cleaner->finish(state, &clean);
        more = rc == WB_OK && sink->take(sink, wbi_buf_str(&clean));
    }
    if (rc == WB_OK && more)
        sink->end(sink);
    if (cleaner != NULL && state != NULL)
        cleaner->end(state);
    wbi_buf_fini(&clean);
    wbi_free(raw);
    if (rc == WB_OK && is_stopped(q))
        return wbi_fail(err, WB_ECANCELLED, "the read was stopped");
    return rc == WB_OK ? WB_OK : wbi_fail(err, rc, "cannot read the artifact");
}
