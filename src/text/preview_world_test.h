/* SPDX-License-Identifier: Apache-2.0
 * text/preview_world_test.h: previews in an arena of the test's own. Include after cmocka.h. */
#ifndef WBI_TEXT_PREVIEW_WORLD_TEST_H
#define WBI_TEXT_PREVIEW_WORLD_TEST_H

#include "base/limits.h"
#include "text/preview_int.h"

static struct wbi_arena *arena;

static inline int open_arena(void **state)
{
    (void)state;
    return wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) == WB_OK ? 0 : 1;
}

static inline int close_arena(void **state)
{
    (void)state;
    wbi_arena_free(arena);
    return 0;
}

static inline struct wbi_preview preview(struct wbi_str text, uint64_t budget)
{
    struct wbi_preview_policy policy = {
        .budget = budget,
        .read_call = WBI_LIT("ReadArtifact {\"path\":\"out\",\"lines\":\"A-B\"}")};
    struct wbi_preview v;

    assert_int_equal(wbi_preview_text(arena, text, &policy, &v, NULL), WB_OK);
    return v;
}

static inline bool has(struct wbi_preview v, const char *z)
{
    return wbi_str_find(v.text, wbi_str_z(z)) < v.text.n;
}

#endif
