/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_semver.c: the first line is a range, the others versions.
 * A range's normal form admits what the range admits; precedence is an order. */
#include <stdlib.h>

#include "base/limits.h"
#include "catalog/semver.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static struct wbi_str next_line(struct wbi_str *rest)
{
    struct wbi_str line = wbi_str_head(*rest, wbi_str_index(*rest, '\n'));

    *rest = wbi_str_from(*rest, line.n + 1);
    return line;
}

static void check_version(struct wbi_arena *arena, struct wbi_str range,
                          const struct wbi_semver_range *r, struct wbi_str text)
{
    struct wbi_semver v;
    size_t at;

    if (wbi_semver_parse(text, &v, NULL) != WB_OK)
        return;
    must(wbi_semver_compare(&v, &v) == 0);
    must(wbi_semver_satisfies(r, &v) ==
         (wbi_semver_pick(arena, range, &text, 1, &at, NULL) == WB_OK));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_str rest = wbi_str_make((const char *)data, size), text = next_line(&rest);
    struct wbi_semver_range *r;
    struct wbi_arena *arena;

    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return 0;
    if (wbi_semver_range_parse(arena, text, &r, NULL) == WB_OK)
        for (int i = 0; rest.n > 0 && i < 100; i++) /* each parses the range again */
            check_version(arena, text, r, next_line(&rest));
    wbi_arena_free(arena);
    return 0;
}
