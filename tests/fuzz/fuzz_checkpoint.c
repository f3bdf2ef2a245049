/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_checkpoint.c: any bytes as a line of the witness. What is read is
 * written the same way again. */
#include <stdint.h>
#include <stdlib.h>

#include "ledger/checkpoint_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STATE "state_00000000000000000000"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_line line, back;
    struct wbi_arena *arena;
    struct wbi_buf text, bytes, again;

    if (wbi_arena_new(1u << 24, &arena) != WB_OK)
        return 0;
    wbi_buf_init(&text, 4096);
    wbi_buf_init(&bytes, 4096);
    wbi_buf_init(&again, 4096);
    if (wbi_line_read(arena, wbi_str_make((const char *)data, size), STATE, &line)) {
        wbi_line_write(&line, STATE, &text);
        wbi_line_bytes(&line, STATE, &bytes);
        if (!wbi_line_read(arena, wbi_str_head(wbi_buf_str(&text), text.n - 1), STATE, &back))
            abort();
        wbi_line_bytes(&back, STATE, &again);
        if (!wbi_str_eq(wbi_buf_str(&bytes), wbi_buf_str(&again)))
            abort();
    }
    wbi_buf_fini(&text);
    wbi_buf_fini(&bytes);
    wbi_buf_fini(&again);
    wbi_arena_free(arena);
    return 0;
}
