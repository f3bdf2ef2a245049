/* SPDX-License-Identifier: Apache-2.0
 * tests/serve_nomem_test.c: a session of the gateway, with a healthy server behind
 * it and one that dies, while the n-th allocation fails, alone or with all that
 * follow: it ends, nothing is left, and no request is answered twice (C1.1, C10).
 * A twentieth of all n by default, all with WAYBILL_SOAK. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults/alloc_fault.h"
#include "waybill/runtime.h"
#include "waybill/serve.h"

#define MODERN                                                               \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define RPC(id, method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}\n"

static const char *const sessions[] = {
    RPC("1", "initialize",
        "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":{}}")
        RPC("2", "tools/list", "")
            RPC("3", "tools/call", "\"name\":\"up__echo\",\"arguments\":{\"message\":\"x\"}")
                RPC("4", "resources/read", "\"uri\":\"test://static-text\"")
                    RPC("5", "prompts/get", "\"name\":\"up__test_simple_prompt\"")
                        RPC("6", "tools/call", "\"name\":\"die__t\",\"arguments\":{}"),
    RPC("1", "server/discover", MODERN) RPC("2", "tools/list", MODERN)
        RPC("3", "tools/call", "\"name\":\"up__test_image_content\",\"arguments\":{}," MODERN)
            RPC("4", "resources/list", MODERN)
                RPC("5", "completion/complete",
                    "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"up__x\"},"
                    "\"argument\":{\"name\":\"a\",\"value\":\"b\"}," MODERN)
                    RPC("6", "tools/call", "\"name\":\"die__t\",\"arguments\":{}," MODERN),
};

static char base[] = "/tmp/waybill-serve-XXXXXX";
static char config[64], out_path[64];

static void write_config(void)
{
    const char *build = getenv("WAYBILL_BUILD");
    FILE *f;

    assert_non_null(mkdtemp(base));
    (void)snprintf(config, sizeof(config), "%s/config.json", base);
    (void)snprintf(out_path, sizeof(out_path), "%s/out", base);
    setenv("HOME", base, 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("XDG_STATE_HOME");
    f = fopen(config, "we");
    assert_non_null(f);
    fprintf(f,
            "{\"mcpServers\":{\"up\":{\"command\":\"%s/mcp_demo_server\",\"era\":\"legacy\","
            "\"timeoutMs\":1000,\"startMs\":1500,\"effects\":{\"*\":\"Pure\"}},"
            "\"die\":{\"command\":\"%s/mcp_chaos\",\"args\":[\"die\"],\"era\":\"legacy\","
            "\"timeoutMs\":1000,\"startMs\":1500,\"effects\":{\"*\":\"Pure\"}}}}\n",
            build, build);
    fclose(f);
}

/* One whole session; false when the runtime could not be made or served. */
static bool serve(const char *lines)
{
    wb_options *o = wb_options_new();
    wb_serve_options so = {.stop = -1, .access_log = -1};
    wb_runtime *rt = NULL;
    int in[2], out = open(out_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok;

    assert_true(out >= 0 && pipe2(in, O_CLOEXEC) == 0);
    assert_int_equal(write(in[1], lines, strlen(lines)), strlen(lines));
    close(in[1]);
    so.in = in[0];
    so.out = out;
    ok = o != NULL && wb_options_set(o, WB_OPT_CONFIG, config) == WB_OK &&
         wb_options_set(o, WB_OPT_ROOT, base) == WB_OK &&
         wb_options_set(o, WB_OPT_LEDGER, "0") == WB_OK && wb_runtime_new(o, &rt, NULL) == WB_OK &&
         wb_serve(rt, &so, NULL) == WB_OK;
    wb_runtime_free(rt);
    wb_options_free(o);
    close(in[0]);
    close(out);
    return ok;
}

/* libcrypto keeps its errors per thread; they are its own, not ours. */
static void forget_crypto_errors(void)
{
    void *lib = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_NOLOAD);
    void (*stop)(void) = NULL;

    if (lib == NULL)
        return;
    *(void **)&stop = dlsym(lib, "OPENSSL_thread_stop");
    if (stop != NULL)
        stop();
    dlclose(lib);
}

static int answers_to(const char *text, int id)
{
    char mark[32];
    int n = 0;

    (void)snprintf(mark, sizeof(mark), "\"id\":%d,", id);
    for (const char *at = text; (at = strstr(at, mark)) != NULL; at++)
        n++;
    return n;
}

static void check_answers(long n, bool complete)
{
    static char text[4 << 20];
    int fd = open(out_path, O_RDONLY | O_CLOEXEC);
    ssize_t size = read(fd, text, sizeof(text) - 1);

    close(fd);
    assert_true(size >= 0);
    text[size] = '\0';
    for (int id = 1; id <= 6; id++) {
        int count = answers_to(text, id);

        if (count > 1 || (complete && count != 1))
            fail_msg("%d answers to %d when allocation %ld fails:\n%s", count, id, n, text);
    }
}

static void every_allocation(const char *lines, bool sticky, long from, long step)
{
    long hits = 1, live = 0, n = from;

    for (; hits > 0; n += step) {
        for (int again = 0; again < 2; again++) { /* what is made once per process is not a leak */
            alloc_fault_start(n, sticky);
            (void)serve(lines);
            atomic_store(&alloc_faults.until, -1);
            forget_crypto_errors();
            live = atomic_load(&alloc_faults.live);
            hits = alloc_fault_stop();
            check_answers(n, hits == 0);
            if (live == 0)
                break;
        }
        if (live != 0)
            fail_msg("%ld allocations are left when number %ld fails%s", live, n,
                     sticky ? " and all after it" : "");
    }
    printf("about %ld allocations\n", n);
}

static void a_session_survives_every_failing_allocation(void **state)
{
    bool soak = getenv("WAYBILL_SOAK") != NULL;
    const char *seed = getenv("WAYBILL_SEED");
    long step = soak ? 1 : 97, from = soak ? 0 : (seed != NULL ? atol(seed) : 1) % step;

    (void)state;
    printf("WAYBILL_SEED=%s: every %ldth allocation from %ld\n", seed != NULL ? seed : "1", step,
           from);
    for (size_t i = 0; i < 2; i++) {
        assert_true(serve(sessions[i]));
        check_answers(-1, true);
        if (ALLOC_FAULTS) {
            every_allocation(sessions[i], false, from, step);
            every_allocation(sessions[i], true, from, step);
        }
    }
    if (!ALLOC_FAULTS)
        printf("skipped: failing allocations of a session (a sanitizer owns malloc)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_survives_every_failing_allocation),
    };
    const char *build = getenv("WAYBILL_BUILD");
    char command[128];
    int rc;

    if (build == NULL) {
        printf("skipped: sessions without memory (WAYBILL_BUILD is not set)\n");
        return 0;
    }
    write_config();
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    (void)snprintf(command, sizeof(command), "rm -rf %s", base);
    return system(command) == 0 ? rc : 1;
}
