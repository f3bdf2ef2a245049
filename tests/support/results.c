/* SPDX-License-Identifier: Apache-2.0
 * tests/support/results.c */
#include "support/results.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "json/json.h"
#include "schema/schema.h"
#include "shared_vectors.h"

static struct {
    const char *name;
    struct wbi_schema *schema;
    unsigned checked;
} tools[64];
static size_t tools_n;
static char breach[1024];

static void add_family(struct wbi_arena *arena, const char *family)
{
    const wbi_json *all;
    struct wbi_buf text;
    char path[512];

    (void)snprintf(path, sizeof(path), WAYBILL_SOURCE "/src/family/%s/results.json", family);
    if (!read_whole_file(path, &text) ||
        wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, &all, NULL) != WB_OK)
        abort();
    WBI_JSON_EACH_MEMBER (all, key) {
        if (tools_n == sizeof(tools) / sizeof(tools[0]) ||
            wbi_schema_compile(key_val, NULL, &tools[tools_n].schema, NULL) != WB_OK)
            abort();
        tools[tools_n++].name = wbi_arena_strz(arena, wbi_json_str(key));
    }
    wbi_buf_fini(&text);
}

static struct wbi_arena *names;

__attribute__((destructor)) static void forget(void)
{
    while (tools_n > 0)
        wbi_schema_free(tools[--tools_n].schema);
    wbi_arena_free(names);
}

static void load(void)
{
    static const char *const families[] = {"command", "task",      "artifact", "file",
                                           "work",    "workspace", "notify",   "agent"};

    if (tools_n > 0)
        return;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &names) != WB_OK)
        abort();
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        add_family(names, families[i]);
}

const char *result_schema(size_t i, unsigned *ret_checked)
{
    load();
    if (i >= tools_n)
        return NULL;
    if (ret_checked != NULL)
        *ret_checked = tools[i].checked;
    return tools[i].name;
}

static const char *check(struct wbi_arena *arena, const wbi_json *canonical)
{
    struct wbi_str tool = wbi_json_get_str(canonical, "tool_name");
    struct wbi_schema_report report;

    if (!wbi_str_eqz(wbi_json_get_str(canonical, "status"), "success"))
        return NULL;
    for (size_t i = 0; i < tools_n; i++) {
        if (!wbi_str_eqz(tool, tools[i].name))
            continue;
        tools[i].checked++;
        if (wbi_schema_check(tools[i].schema, wbi_json_get(canonical, "result"), arena, &report,
                             NULL) != WB_OK)
            return "the result could not be checked";
        if (report.n_errors == 0)
            return NULL;
        (void)snprintf(breach, sizeof(breach),
                       "%s: the result is not as results.json says: %.*s at %.*s", tools[i].name,
                       WBI_FMT(report.errors[0].message), WBI_FMT(report.errors[0].path));
        return breach;
    }
    return NULL;
}

const char *result_breach(const char *canonical, size_t n)
{
    struct wbi_arena *arena;
    const char *what = "the canonical result is no JSON";
    const wbi_json *v;

    load();
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return "out of memory";
    if (wbi_json_read(arena, wbi_str_make(canonical, n), WBI_JSON_STRICT, &v, NULL) == WB_OK)
        what = check(arena, v);
    wbi_arena_free(arena);
    return what;
}
