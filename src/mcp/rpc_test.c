/* SPDX-License-Identifier: Apache-2.0
 * mcp/rpc_test.c: which texts are messages, and whose ids come back (attack row 65). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/checked.h"
#include "mcp/rpc.h"

static void messages_are_taken_strictly(void **state)
{
    static const struct {
        const char *text;
        int code; /* 0: accepted */
    } rows[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"x\",\"params\":{}}", 0},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}", 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":null}", 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null,\"error\":{},\"method\":null}", 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":7.0,\"result\":{}}", 0},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":null}", 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"result\":null,\"error\":null}", 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":null}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":7.5,\"result\":{}}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":-7.0,\"result\":{}}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1e300,\"result\":{}}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":9223372036854775807,\"method\":\"x\"}", 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1e2,\"method\":\"x\"}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999999,\"method\":\"x\"}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"x\"}", WBI_RPC_INVALID},
        {"{\"id\":1,\"method\":\"x\"}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"x\"}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[]}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"result\":1}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{}}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"result\":1}", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1}", WBI_RPC_INVALID},
        {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]", WBI_RPC_INVALID},
        {"[]", WBI_RPC_INVALID},
        {"7", WBI_RPC_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1,\"method\":\"x\"}", WBI_RPC_PARSE},
        {"{\"jsonrpc\":\"2.0\"", WBI_RPC_PARSE},
        {"nonsense", WBI_RPC_PARSE},
    };

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        struct wbi_arena *arena = NULL;
        struct wbi_rpc rpc;
        int code = 0;
        wb_rc rc;

        assert_int_equal(wbi_arena_new(1u << 20, &arena), WB_OK);
        rc = wbi_rpc_read(arena, wbi_str_z(rows[i].text), &rpc, &code, NULL);
        if ((rc == WB_OK) != (rows[i].code == 0) || (rc != WB_OK && code != rows[i].code))
            fail_msg("%s: rc %d code %d", rows[i].text, (int)rc, code);
        wbi_arena_free(arena);
    }
}

static void what_is_no_json_is_told_with_its_place(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_arena *arena = NULL;
    struct wbi_rpc rpc;
    int code = 0;

    (void)state;
    assert_int_equal(wbi_arena_new(1u << 20, &arena), WB_OK);
    assert_int_equal(wbi_rpc_read(arena, wbi_str_z("{\"jsonrpc\":\n\"2.0\",}"), &rpc, &code, &err),
                     WB_EINPUT);
    assert_int_equal(code, WBI_RPC_PARSE);
    assert_string_equal(
        err.text, "the message is not JSON: trailing comma is not allowed at line 2, column 6");
    wbi_arena_free(arena);
}

/* Row 65: ids come back as they were; also with what is refused, if it is whole. */
static void ids_are_given_back(void **state)
{
    static const struct {
        const char *text, *id; /* NULL: none */
    } rows[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":-0,\"method\":\"x\"}", "-0"},
        {"{\"jsonrpc\":\"2.0\",\"id\" : 0 ,\"method\":\"-0\"}", "0"},
        {"{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"method\":\"x\"}", "9007199254740993"},
        {"{\"jsonrpc\":\"2.0\",\"id\":-9223372036854775808,\"result\":1}", "-9223372036854775808"},
        {"{\"jsonrpc\":\"2.0\",\"id\":18446744073709551615,\"result\":1}", "18446744073709551615"},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"-0\",\"method\":\"x\"}", "\"-0\""},
        {"{\"jsonrpc\":\"2.0\",\"id\":7,\"params\":{\"a\":1,\"a\":2}}", "7"},
        {" {\"a\":{\"id\":1},\"id\": \"\\\"}\" ,\"b\":[1e400,{\"id\":2}]}\r", "\"\\\"}\""},
        {"{\"id\":-0,\"x\":1,\"x\":2}", "-0"},
        {"{\"x\":1,\"x\":2,\"id\":3}", "3"},
        {"{\"id\":1,\"id\":2}", NULL},
        {"{\"id\":1.5,\"x\":1,\"x\":2}", NULL},
        {"{\"id\":[1],\"x\":1,\"x\":2}", NULL},
        {"{\"id\",\"x\":1}", NULL},
        {"{\"id\":}", NULL},
        {"{\"id\"}", NULL},
        {"{\"x\":\"id\",\"y\":1e400}", NULL},
        {"{\"id\":1,\"x\":\"", NULL},
        {"{\"id\":1,\"x\":\"\\", NULL},
        {"{\"id\":1} x", NULL},
        {"{\"id\":1,\"x\":{", NULL},
        {"[{\"id\":1}", NULL},
        {"]\"id\":1}", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        struct wbi_arena *arena = NULL;
        struct wbi_rpc rpc;
        int code;

        assert_int_equal(wbi_arena_new(1u << 20, &arena), WB_OK);
        (void)!wbi_rpc_read(arena, wbi_str_z(rows[i].text), &rpc, &code, NULL);
        if (!wbi_str_eq(rpc.id_text, wbi_str_z(rows[i].id)) ||
            (rpc.id_text.p == NULL) != (rows[i].id == NULL))
            fail_msg("%s: id %.*s", rows[i].text, WBI_FMT(rpc.id_text));
        wbi_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_taken_strictly),
        cmocka_unit_test(what_is_no_json_is_told_with_its_place),
        cmocka_unit_test(ids_are_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
