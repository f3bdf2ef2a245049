/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_wire.c: the first byte chooses the provider, the rest is a
 * line. Every call that is found gets an output that is JSON again. */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void check_call(struct wbi_arena *arena, const struct wbi_wire_call *call)
{
    const struct wbi_wire_part parts[] = {
        {.type = WBI_PART_TEXT, .text = call->text},
        {.type = WBI_PART_IMAGE, .data = call->id, .mime = call->name},
        {.type = WBI_PART_LINK, .uri = call->name, .name = call->id},
        {.type = WBI_PART_RESOURCE, .uri = call->name, .text = call->problem},
    };
    struct wbi_wire_answer answer = {.receipt = call->problem.p ? call->problem : WBI_LIT("ok"),
                                     .is_error = call->problem_kind != WBI_KIND_NONE,
                                     .error_kind = call->problem_kind,
                                     .result = WBI_LIT("{\"status\":\"Ok\"}"),
                                     .call_id = WBI_LIT("call_1")};

    for (int round = 0; round < 2; round++) {
        const wbi_json *out;
        struct wbi_buf b;

        wbi_buf_init_arena(&b, arena, WBI_LIMIT_JSON_TEXT);
        must(wbi_wire_encode(call, &answer, &b, NULL) == WB_OK);
        must(wbi_json_read(arena, wbi_buf_str(&b), WBI_JSON_STRICT, &out, NULL) == WB_OK);
        must(wbi_json_is(out, WBI_JSON_OBJ));
        answer.parts = parts;
        answer.parts_n = sizeof(parts) / sizeof(parts[0]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_wire_turn turn;
    struct wbi_arena *arena;
    const wbi_json *line;

    if (size == 0 || wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return 0;
    if (wbi_json_read(arena, wbi_str_make((const char *)data + 1, size - 1), WBI_JSON_STRICT, &line,
                      &err) == WB_OK) {
        enum wbi_provider p = (enum wbi_provider)(data[0] % WBI_PROVIDER_COUNT);
        if (wbi_wire_decode(arena, p, line, &turn, &err) == WB_OK)
            for (size_t i = 0; i < turn.n; i++)
                check_call(arena, &turn.calls[i]);
        else
            must(err.text[0] != '\0');
    }
    wbi_arena_free(arena);
    return 0;
}
