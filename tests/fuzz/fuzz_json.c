/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_json.c: whatever is read is written, read again and written
 * with the same bytes; its canonical form does not change any more. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/limits.h"
#include "json/canonical.h"
#include "json/pointer.h"
#include "json/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static const wbi_json *read_back(struct wbi_arena *arena, const struct wbi_buf *text)
{
    const wbi_json *v = NULL;

    must(wbi_json_read(arena, wbi_buf_str(text), WBI_JSON_STRICT, &v, NULL) == WB_OK);
    return v;
}

static void check_canonical(struct wbi_arena *arena, const wbi_json *v)
{
    struct wbi_buf once, twice;
    const wbi_json *w;

    wbi_buf_init(&once, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init(&twice, WBI_LIMIT_JSON_TEXT);
    if (wbi_json_canonical(v, &once, NULL) == WB_OK) {
        w = read_back(arena, &once);
        /* A double past 2^53 is canonical, its digits read as an integer are not. */
        if (wbi_json_canonical(w, &twice, NULL) == WB_OK) {
            must(wbi_json_equal(v, w));
            must(wbi_str_eq(wbi_buf_str(&once), wbi_buf_str(&twice)));
        }
    }
    wbi_buf_fini(&once);
    wbi_buf_fini(&twice);
}

static void check_round_trip(struct wbi_arena *arena, const wbi_json *v)
{
    struct wbi_buf once, twice;

    wbi_buf_init(&once, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init(&twice, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&once, v);
    wbi_json_write(&twice, read_back(arena, &once));
    must(wbi_str_eq(wbi_buf_str(&once), wbi_buf_str(&twice)));
    wbi_buf_clear(&twice);
    wbi_json_pretty(&twice, v);
    (void)read_back(arena, &twice);
    wbi_buf_fini(&once);
    wbi_buf_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_str text = wbi_str_make((const char *)data, size);
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_arena *arena;
    const wbi_json *v = NULL;

    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return 0;
    if (wbi_json_read(arena, text, WBI_JSON_STRICT, &v, &err) == WB_OK) {
        check_round_trip(arena, v);
        check_canonical(arena, v);
        if (wbi_json_pointer(v, text, &v, &err) == WB_OK)
            must(v != NULL);
    } else {
        must(err.text[0] != '\0' && v == NULL);
    }
    if (wbi_json_read(arena, text, WBI_JSON_CONFIG, &v, &err) == WB_OK)
        check_round_trip(arena, v);
    wbi_arena_free(arena);
    return 0;
}
