/* SPDX-License-Identifier: Apache-2.0
 * tests/support/tools.h: a runtime with its built-in tools in a workspace of its
 * own, for tests that call them as an agent does. */
#ifndef WAYBILL_TESTS_SUPPORT_TOOLS_H
#define WAYBILL_TESTS_SUPPORT_TOOLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support/results.h"
#include "tree.h"
#include "waybill/waybill.h"

struct tools {
    struct tree tree;
    wb_runtime *runtime;
};

static inline int64_t tools_mono_ns(void *arg)
{
    struct timespec now;

    (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t tools_wall_ms(void *arg)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + *(int *)arg * INT64_C(86400000);
}

/* On a wall clock that is *days ahead, which outlives the runtime. */
static inline void tools_open_ahead(struct tools *t, int *days)
{
    wb_options *o = wb_options_new();
    wb_error *error = NULL;

    assert_non_null(o);
    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, t->tree.root), WB_OK);
    if (*days != 0)
        assert_int_equal(wb_options_set_clock(o, tools_mono_ns, tools_wall_ms, days), WB_OK);
    if (wb_runtime_new(o, &t->runtime, &error) != WB_OK)
        fail_msg("%s", wb_error_text(error));
    wb_options_free(o);
}

static inline void tools_open(struct tools *t)
{
    tools_open_ahead(t, &(int){0});
}

/* config: waybill.json of the user, or NULL. */
static inline void tools_start(struct tools *t, const char *config)
{
    char path[256];

    assert_true(tree_make(&t->tree));
    (void)snprintf(path, sizeof(path), "%s/home", t->tree.top);
    assert_int_equal(mkdir(path, 0700), 0);
    setenv("HOME", path, 1);
    unsetenv("XDG_STATE_HOME");
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("WAYBILL_ROOT");
    unsetenv("WAYBILL_STATE");
    if (config != NULL) {
        FILE *f;
        (void)snprintf(path, sizeof(path), "%s/home/.config", t->tree.top);
        assert_int_equal(mkdir(path, 0700), 0);
        (void)snprintf(path, sizeof(path), "%s/home/.config/waybill", t->tree.top);
        assert_int_equal(mkdir(path, 0700), 0);
        (void)snprintf(path, sizeof(path), "%s/home/.config/waybill/config.json", t->tree.top);
        f = fopen(path, "we");
        assert_non_null(f);
        fputs(config, f);
        assert_int_equal(fclose(f), 0);
    }
    tools_open(t);
}

static inline void tools_end(struct tools *t)
{
    wb_runtime_free(t->runtime);
    tree_remove(&t->tree);
}

static inline wb_result *tools_ask(struct tools *t, const char *tool, const char *input)
{
    wb_request *request = wb_request_new(tool);
    wb_result *result = NULL;
    const char *canonical;
    size_t n;

    assert_non_null(request);
    assert_int_equal(wb_request_set(request, WB_FIELD_INPUT, input), WB_OK);
    assert_int_equal(wb_call_run(t->runtime, request, &result), WB_OK);
    wb_request_free(request);
    canonical = wb_result_view(result, WB_VIEW_CANONICAL, &n);
    if (canonical != NULL && result_breach(canonical, n) != NULL)
        fail_msg("%s", result_breach(canonical, n));
    return result;
}

static inline const char *receipt_of(wb_result *r)
{
    return wb_result_view(r, WB_VIEW_RECEIPT, NULL);
}

/* A member of the canonical result as text, "" when it is not there. free() it
 * with wb_free. */
__attribute__((noinline, unused)) static char *member_of(wb_result *r, const char *pointer)
{
    size_t n, size;
    const char *canonical = wb_result_view(r, WB_VIEW_CANONICAL, &n);
    char *text = NULL;

    assert_non_null(canonical);
    if (wb_json_pointer(canonical, n, pointer, &text, &size, NULL) != WB_OK)
        assert_int_equal(wb_json_pointer("\"\"", 2, "", &text, &size, NULL), WB_OK);
    return text;
}

static inline void assert_member(wb_result *r, const char *pointer, const char *expected)
{
    char *text = member_of(r, pointer);

    if (strcmp(text, expected) != 0)
        fail_msg("%s is %s, not %s\n%s", pointer, text, expected, receipt_of(r));
    wb_free(text);
}

static inline void assert_says(wb_result *r, const char *text)
{
    if (strstr(receipt_of(r), text) == NULL)
        fail_msg("the receipt does not say \"%s\":\n%s", text, receipt_of(r));
}

static inline void assert_silent(wb_result *r, const char *text)
{
    if (strstr(receipt_of(r), text) != NULL)
        fail_msg("the receipt says \"%s\":\n%s", text, receipt_of(r));
}

#endif
