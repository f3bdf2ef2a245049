/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_traceparent.c: any bytes as "traceparent\ntracestate". What
 * goes out is valid whatever came in. */
#include <stdint.h>
#include <stdlib.h>

#include "event/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_str text = wbi_str_make((const char *)data, size);
    size_t cut = wbi_str_index(text, '\n');
    uint64_t counter = 1;
    struct wbi_ids ids = wbi_ids_counting(&counter);
    struct wbi_trace parent, child, back;
    char out[WBI_TRACEPARENT_SIZE];

    (void)wbi_trace_begin(wbi_str_head(text, cut), wbi_str_from(text, cut + 1), &ids, &parent);
    wbi_trace_child(&parent, &ids, &child);
    wbi_trace_format(&child, out);
    if (!wbi_trace_parse(wbi_str_z(out), &back) ||
        memcmp(back.trace_id, parent.trace_id, sizeof(back.trace_id)) != 0 ||
        !wbi_trace_state_valid(wbi_str_z(child.state)))
        abort();
    return 0;
}
