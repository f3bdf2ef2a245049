/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_envelope.c: any JSON as a root. What comes out is JSON,
 * ensure does nothing the second time, and what was wrapped is found again. */
#include <stdlib.h>

#include "base/limits.h"
#include "family/envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static const struct wbi_envelope env = {.tool = WBI_LIT_INIT("t"), .payload_path = {NULL, 0}};

/* NULL when the text is a level too deep, which only wrapping can make it. */
static const wbi_json *read_back(struct wbi_arena *arena, const struct wbi_buf *text)
{
    const wbi_json *v = NULL;
    wb_rc rc = wbi_json_read(arena, wbi_buf_str(text), WBI_JSON_STRICT, &v, NULL);

    must(rc == WB_OK || rc == WB_ELIMIT || rc == WB_ENOMEM);
    return v;
}

static void check_ensure(struct wbi_arena *arena, const wbi_json *root)
{
    struct wbi_buf once, twice;
    const wbi_json *v;

    wbi_buf_init(&once, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init(&twice, WBI_LIMIT_JSON_TEXT);
    if (wbi_envelope_ensure(root, &env, &once, NULL) == WB_OK &&
        (v = read_back(arena, &once)) != NULL) {
        must(wbi_envelope_ensure(v, &env, &twice, NULL) == WB_OK);
        must(wbi_str_eq(wbi_buf_str(&once), wbi_buf_str(&twice)));
    }
    wbi_buf_clear(&twice);
    if (wbi_envelope_attach(root, &env, &twice, NULL) == WB_OK)
        (void)read_back(arena, &twice);
    wbi_buf_clear(&twice);
    if (wbi_envelope_get(root, &twice, NULL) != WB_EINPUT)
        (void)read_back(arena, &twice);
    wbi_buf_fini(&once);
    wbi_buf_fini(&twice);
}

static void check_wrap(struct wbi_arena *arena, const wbi_json *payload)
{
    const wbi_json *root, *found = NULL;
    struct wbi_buf out;

    wbi_buf_init(&out, WBI_LIMIT_JSON_TEXT);
    must(wbi_envelope_wrap(payload, &env, WBI_LIT("a.b"), &out, NULL) == WB_OK);
    root = read_back(arena, &out);
    if (root != NULL)
        must(wbi_envelope_payload(root, &found, NULL) == WB_OK &&
             found == wbi_json_get(root, "a.b"));
    wbi_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_envelope_view view;
    struct wbi_arena *arena;
    const wbi_json *v = NULL, *payload = NULL;

    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return 0;
    if (wbi_json_read(arena, wbi_str_make((const char *)data, size), WBI_JSON_STRICT, &v, NULL) ==
        WB_OK) {
        check_ensure(arena, v);
        check_wrap(arena, v);
        if (wbi_envelope_payload(v, &payload, NULL) == WB_OK)
            must(payload != NULL);
        if (wbi_envelope_view(v, &view, NULL) == WB_OK)
            must(view.content_type != WBI_CONTENT_INFER && view.payload_path.n > 0);
    }
    wbi_arena_free(arena);
    return 0;
}
