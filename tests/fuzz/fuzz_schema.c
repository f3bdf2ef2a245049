/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/fuzz_schema.c: any schema over any instance, split at a NUL.
 * The verdict alone and the check with errors agree; a refusal has a reason;
 * a repair validates; lint ends. */
#include <stdlib.h>

#include "base/limits.h"
#include "schema/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void ask(struct wbi_arena *arena, const struct wbi_schema *schema, const wbi_json *instance)
{
    struct wbi_schema_report report;
    struct wbi_schema_repair repair;
    bool valid = wbi_schema_valid(schema, instance);

    if (wbi_schema_check(schema, instance, arena, &report, NULL) == WB_OK) {
        must(report.valid == valid);
        must(valid || (report.n_errors > 0 && report.errors[0].message.n > 0));
        for (size_t i = 0; i < report.n_errors; i++)
            must(report.errors[i].found.n <= WBI_LIMIT_SCHEMA_FOUND);
    }
    if (wbi_schema_coerce(schema, instance, arena, &repair, NULL) == WB_OK && repair.repaired)
        must(!valid && wbi_schema_valid(schema, repair.value) && repair.n_notes > 0);
}

static void run(struct wbi_arena *arena, struct wbi_str first, struct wbi_str second,
                enum wbi_schema_draft draft)
{
    struct wbi_schema_options opt = {.draft = draft, .format_assert = true};
    struct wbi_schema_findings findings;
    struct wbi_error err = WBI_ERROR_INIT;
    const wbi_json *schema_json, *instance;
    struct wbi_schema *schema;

    if (wbi_json_read(arena, first, WBI_JSON_STRICT, &schema_json, NULL) != WB_OK)
        return;
    must(wbi_schema_lint(schema_json, WBI_LINT_ALL, arena, &findings) == WB_OK);
    if (wbi_schema_compile(schema_json, &opt, &schema, &err) != WB_OK) {
        must(err.text[0] != '\0');
        return;
    }
    if (wbi_json_read(arena, second, WBI_JSON_STRICT, &instance, NULL) == WB_OK)
        ask(arena, schema, instance);
    wbi_schema_free(schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wbi_str all = wbi_str_make((const char *)data, size), second;
    size_t split = wbi_str_index(all, '\0');
    struct wbi_arena *arena;

    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return 0;
    second = wbi_str_from(all, split + 1);
    run(arena, wbi_str_head(all, split), second, WBI_SCHEMA_AUTO);
    run(arena, wbi_str_head(all, split), second, WBI_SCHEMA_DRAFT_07);
    wbi_arena_free(arena);
    return 0;
}
