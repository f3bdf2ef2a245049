/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/relay.c: the server side and the client side of MCP joined without
 * a runtime between them: what one upstream offers, under its own names. It
 * proves the pairings of revisions and transports, and shows the wiring.
 *   mcp_relay [--http ADDRESS:PORT] [--era legacy|modern] (URL | COMMAND ARG…) */
#include <stdio.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "json/write.h"
#include "mcp/curl.h"
#include "mcp/upstream.h"
#include "run/process.h"
#include "support/mcp_stand.h"

static struct mcp_stand stand = {.name = "relay"};
static struct wbi_upstream *up;

struct job {
    struct wbi_mcp_request *r;
    struct wbi_upstream_call *call;
};

/* A question on its way to the client. */
struct question {
    struct wbi_upstream_ask *ask;
};

static void on_done(void *arg, const struct wbi_upstream_answer *a)
{
    struct job *j = arg;
    struct wbi_buf data;
    int64_t code = WBI_RPC_INTERNAL;

    if (a->rc == WB_OK && a->error == NULL) {
        wbi_mcp_reply(j->r, a->text);
    } else if (a->rc == WB_OK) {
        wbi_buf_init(&data, 1u << 20);
        (void)wbi_json_i64(wbi_json_get(a->error, "code"), &code);
        if (wbi_json_get(a->error, "data") != NULL)
            wbi_json_write(&data, wbi_json_get(a->error, "data"));
        if (code == WBI_RPC_NO_RESOURCE && wbi_mcp_era(j->r) == WBI_ERA_MODERN)
            code = WBI_RPC_PARAMS;
        wbi_mcp_fail(j->r, (int)code, wbi_json_get_str(a->error, "message"),
                     data.n > 0 ? wbi_buf_str(&data) : WBI_NONE);
        wbi_buf_fini(&data);
    } else if (a->rc == WB_EDENIED && a->lacks != NULL) {
        wbi_mcp_fail_able(j->r, a->lacks);
    } else {
        wbi_mcp_fail(j->r, WBI_RPC_INTERNAL, wbi_str_z(a->why), WBI_NONE);
    }
    wbi_free(j);
}

static void on_progress(void *arg, double progress, double total, struct wbi_str message,
                        const wbi_json *params)
{
    (void)params;
    wbi_mcp_progress(((struct job *)arg)->r, progress, total, message, WBI_NONE);
}

static void on_log(void *arg, struct wbi_str level, struct wbi_str logger, const wbi_json *data,
                   const wbi_json *params)
{
    struct wbi_buf b;

    (void)params;
    wbi_buf_init(&b, 1u << 20);
    wbi_json_write(&b, data);
    wbi_mcp_log(((struct job *)arg)->r, level, logger, wbi_buf_str(&b), WBI_NONE);
    wbi_buf_fini(&b);
}

static void on_answer(void *arg, const wbi_json *answer, bool is_error)
{
    struct question *q = arg;
    struct wbi_buf b;

    wbi_buf_init(&b, 1u << 24);
    if (answer != NULL)
        wbi_json_write(&b, answer);
    else
        wbi_buf_addz(&b, "{\"code\":-32603,\"message\":\"the request has ended\"}");
    wbi_upstream_answer(q->ask, wbi_buf_str(&b), is_error);
    wbi_buf_fini(&b);
}

static void on_ask(void *arg, struct wbi_upstream_ask *ask, struct wbi_str key,
                   struct wbi_str method, struct wbi_str params)
{
    struct job *j = arg;
    struct question *q = wbi_arena_alloc(wbi_mcp_arena(j->r), sizeof(*q));

    if (q != NULL)
        q->ask = ask;
    if (q == NULL || wbi_mcp_ask(j->r, key, method, params, on_answer, q) != WB_OK)
        wbi_upstream_answer(ask, WBI_LIT("{\"code\":-32601,\"message\":\"cannot be asked\"}"),
                            true);
}

/* Forward a request as it is, _meta aside. */
static void forward(struct wbi_mcp_request *r, const char *method)
{
    static const struct wbi_upstream_call_ops ops = {on_done, on_progress, on_log, on_ask};
    struct wbi_upstream_request q = {.method = method,
                                     .meta = wbi_mcp_meta(r),
                                     .progress = true,
                                     .abilities = wbi_mcp_abilities(r),
                                     .log_level = wbi_mcp_log_level(r),
                                     .conversation = wbi_mcp_era(r) == WBI_ERA_MODERN
                                                         ? wbi_mcp_principal(r)
                                                         : wbi_mcp_conversation(r)};
    struct job *j = wbi_zalloc(sizeof(*j));
    struct wbi_buf b;
    struct wbi_jw w;

    wbi_buf_init(&b, 1u << 26);
    w = wbi_jw_to(&b);
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (wbi_mcp_params(r), k) {
        if (wbi_str_eqz(wbi_json_str(k), "_meta"))
            continue;
        wbi_jw_keyn(&w, wbi_json_str(k));
        wbi_jw_val(&w, k_val);
    }
    wbi_jw_obj_end(&w);
    q.params = wbi_buf_str(&b);
    if (j != NULL)
        j->r = r;
    if (j == NULL || wbi_upstream_start(up, &q, &ops, j, &j->call, NULL) != WB_OK) {
        wbi_free(j);
        wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("the upstream is busy"), WBI_NONE);
    } else {
        wbi_mcp_set_user(r, j);
    }
    wbi_buf_fini(&b);
}

static void on_listed(void *arg, const struct wbi_upstream_answer *a)
{
    if (a->rc == WB_OK && a->error == NULL)
        wbi_mcp_reply_list(arg, a->text);
    else
        wbi_mcp_fail(arg, WBI_RPC_INTERNAL, wbi_str_z(a->why != NULL ? a->why : "refused"),
                     WBI_NONE);
}

static void on_list(void *arg, struct wbi_mcp_request *r, enum wbi_mcp_list what)
{
    (void)arg;
    if (wbi_upstream_list(up, what, on_listed, r, NULL) != WB_OK)
        wbi_mcp_fail(r, WBI_RPC_INTERNAL, WBI_LIT("the upstream is busy"), WBI_NONE);
}

static void on_call(void *arg, struct wbi_mcp_request *r, struct wbi_str name, const wbi_json *v)
{
    (void)arg;
    (void)name;
    (void)v;
    forward(r, "tools/call");
}

static void on_prompt(void *arg, struct wbi_mcp_request *r, struct wbi_str name, const wbi_json *v)
{
    (void)arg;
    (void)name;
    (void)v;
    forward(r, "prompts/get");
}

static void on_read(void *arg, struct wbi_mcp_request *r, struct wbi_str uri)
{
    (void)arg;
    (void)uri;
    forward(r, "resources/read");
}

static void on_complete(void *arg, struct wbi_mcp_request *r, const wbi_json *params)
{
    (void)arg;
    (void)params;
    forward(r, "completion/complete");
}

static void on_cancel(void *arg, struct wbi_mcp_request *r)
{
    struct job *j = wbi_mcp_user(r);

    (void)arg;
    if (j != NULL)
        wbi_upstream_cancel(j->call, WBI_NONE);
}

static void on_changed(void *arg, enum wbi_mcp_list what)
{
    (void)arg;
    wbi_mcp_list_changed(stand.server, what);
}

static void on_updated(void *arg, struct wbi_str uri)
{
    (void)arg;
    wbi_mcp_resource_updated(stand.server, uri);
}

int main(int argc, char **argv)
{
    static const struct wbi_mcp_ops ops = {.list = on_list,
                                           .call = on_call,
                                           .read = on_read,
                                           .prompt = on_prompt,
                                           .complete = on_complete,
                                           .cancel = on_cancel};
    static const struct wbi_upstream_ops up_ops = {on_changed, on_updated, NULL};
    static const struct wbi_str env[] = {WBI_LIT_INIT("PATH=/usr/local/bin:/usr/bin:/bin")};
    struct wbi_mcp_options options = {.name = "waybill-relay", .version = "1.0.0"};
    struct wbi_upstream_spec spec = {.name = "up", .env = env, .env_count = 1};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_runner *runner = NULL;
    struct wbi_curl *curl = NULL;
    struct wbi_str args[64];
    const char *address = NULL;
    wb_rc rc;
    int i = 1;

    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--http") == 0)
            address = argv[i + 1];
        else if (strcmp(argv[i], "--era") == 0)
            spec.era = argv[i + 1][0] == 'l' ? WBI_UP_LEGACY : WBI_UP_MODERN;
    }
    for (; i < argc && spec.argc < WBI_COUNT(args); i++)
        args[spec.argc++] = wbi_str_z(argv[i]);
    spec.argv = args;
    if (spec.argc == 1 && wbi_str_starts(args[0], WBI_LIT("http"))) {
        spec.url = args[0];
        spec.argc = 0;
    }
    rc = wbi_loop_new(NULL, &stand.loop, &err);
    if (rc == WB_OK)
        rc = wbi_runner_new(stand.loop, wbi_clock_system(), &runner, &err);
    if (rc == WB_OK && spec.url.p != NULL)
        rc = wbi_curl_new(stand.loop, &curl, &err);
    if (rc == WB_OK)
        rc = wbi_upstream_new(stand.loop, runner, curl, &spec, &up_ops, NULL, &up, &err);
    if (rc == WB_OK)
        rc = mcp_stand_open(&stand, address, &options, &ops, &err);
    if (rc != WB_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 3;
    }
    mcp_stand_run(&stand);
    wbi_upstream_free(up);
    while (wbi_runner_busy(runner) > 0)
        (void)wbi_loop_turn(stand.loop, true);
    wbi_runner_free(runner);
    wbi_curl_free(curl);
    mcp_stand_free(&stand);
    return 0;
}
