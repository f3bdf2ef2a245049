/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_config.c: any text as a configuration file and as a file of
 * tools.d. What is refused has a reason; what is accepted has places. */
#include <stdlib.h>

#include "base/limits.h"
#include "config/config_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check(struct wbi_arena *arena, struct wbi_str text, bool tool)
{
    struct wbi_config_file file = {.name = WBI_LIT("fuzz.json"), .text = text, .tool = tool};
    struct wbi_error err = WBI_ERROR_INIT;
    wb_rc rc = wbi_config_file_parse(arena, &file, &err);

    if (rc == WB_OK)
        rc = wbi_config_check(&file, &err);
    if (rc == WB_OK)
        must(wbi_config_line(&file, file.root) >= 1);
    else
        must(err.rc == rc && err.text[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_arena *arena;

    if (wbi_arena_new(WBI_LIMIT_CONFIG_ARENA, &arena) != WB_OK)
        return 0;
    check(arena, wbi_str_make((const char *)data, size), false);
    check(arena, wbi_str_make((const char *)data, size), true);
    wbi_arena_free(arena);
    return 0;
}
