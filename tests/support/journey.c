/* SPDX-License-Identifier: Apache-2.0
 * tests/support/journey.c: see journey.h. Nothing here asserts: the same code runs with
 * failing allocations. */
#include "journey.h"

#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* ---- time and ids that do not move by themselves ---- */

static int64_t stand_still_ns(void *arg)
{
    (void)arg;
    return INT64_C(1000000000);
}

static int64_t stand_still_ms(void *arg)
{
    (void)arg;
    return INT64_C(1763187480000); /* 2025-11-15T06:18:00Z */
}

static void count_up(void *arg, uint8_t *out, size_t n)
{
    uint64_t *next = arg;

    memset(out, 0, n);
    for (size_t i = 0; i < n && i < sizeof(*next); i++)
        out[n - 1 - i] = (uint8_t)(*next >> (8 * i));
    ++*next;
}

/* ---- tools ---- */

struct late_finish {
    wb_tool_call *call;
    char *text;
    size_t size;
};

static void *finish_elsewhere(void *arg)
{
    struct late_finish *l = arg;

    wb_tool_finish_json(l->call, l->text, l->size);
    free(l->text);
    free(l);
    return NULL;
}

static void run_later(wb_tool_call *call)
{
    struct late_finish *l = calloc(1, sizeof(*l));
    const char *input = wb_tool_call_input(call, NULL);
    pthread_t thread;

    if (l != NULL && input != NULL) {
        l->call = call;
        l->text = strdup(input);
        l->size = strlen(input);
        if (l->text != NULL && pthread_create(&thread, NULL, finish_elsewhere, l) == 0) {
            pthread_detach(thread);
            return;
        }
        free(l->text);
    }
    free(l);
    wb_tool_fail(call, "internal_error", "no thread", NULL);
}

static void finish_text(wb_tool_call *call, const wbi_json *does, const wbi_json *v)
{
    struct wbi_buf text;

    if (wbi_json_get(does, "text") != NULL) {
        wb_tool_finish_text(call, wbi_json_str(v).p, wbi_json_str(v).n);
        return;
    }
    if (wbi_json_get(does, "raw") != NULL) {
        wb_tool_finish_json(call, wbi_json_str(v).p, wbi_json_str(v).n);
        return;
    }
    wbi_buf_init(&text, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, v);
    wb_tool_finish_json(call, wbi_buf_str(&text).p, wbi_buf_str(&text).n);
    wbi_buf_fini(&text);
}

static void fail_as(wb_tool_call *call, const wbi_json *f)
{
    struct wbi_buf details;
    char message[8192], kind[64];

    snprintf(message, sizeof(message), "%.*s", WBI_FMT(wbi_json_get_str(f, "message")));
    snprintf(kind, sizeof(kind), "%.*s", WBI_FMT(wbi_json_get_str(f, "kind")));
    wbi_buf_init(&details, WBI_LIMIT_JSON_TEXT);
    if (wbi_json_get(f, "details") != NULL)
        wbi_json_write(&details, wbi_json_get(f, "details"));
    wbi_buf_addc(&details, '\0');
    wb_tool_fail(call, kind[0] ? kind : NULL, message,
                 wbi_buf_rc(&details) == WB_OK && details.n > 1 ? details.p : NULL);
    wbi_buf_fini(&details);
}

static void run_tool(wb_tool_call *call, void *arg)
{
    const wbi_json *does = wbi_json_get(arg, "does");
    struct wbi_str word = wbi_json_str(does);
    size_t n;

    if (wbi_str_eqz(word, "until cancelled") || wbi_str_eqz(word, "late"))
        return; /* cancel_tool ends it */
    if (wbi_str_eqz(word, "later"))
        run_later(call);
    else if (wbi_json_is(does, WBI_JSON_OBJ) && wbi_json_get(does, "fail") != NULL)
        fail_as(call, wbi_json_get(does, "fail"));
    else if (wbi_json_is(does, WBI_JSON_OBJ))
        finish_text(call, does, does + 2);
    else {
        const char *input = wb_tool_call_input(call, &n);
        if (input != NULL)
            wb_tool_finish_json(call, input, n);
        else
            wb_tool_fail(call, "internal_error", "out of memory", NULL);
    }
}

static void cancel_tool(wb_tool_call *call, void *arg)
{
    if (wbi_str_eqz(wbi_json_get_str(arg, "does"), "late"))
        wb_tool_finish_json(call, "{\"late\":true}", 13);
    else
        wb_tool_fail(call, "cancelled", "stopped on request", NULL);
}

/* A family of the test's own: counts characters, shows them in one line. */
static wb_rc project_count(const char *output, size_t size, unsigned budget, wb_sink *sink,
                           wb_text *result, wb_text *summary, void *arg)
{
    char text[64];

    (void)output;
    (void)budget;
    (void)sink;
    (void)arg;
    snprintf(text, sizeof(text), "{\"characters\":%zu}", size);
    wb_text_add(result, text, strlen(text));
    snprintf(text, sizeof(text), "counted %zu characters", size);
    wb_text_add(summary, text, strlen(text));
    return WB_OK;
}

static wb_rc render_count(const char *canonical, size_t size, wb_text *receipt, void *arg)
{
    char *text, head[128];
    wb_rc rc = wb_json_pointer(canonical, size, "/result/characters", &text, NULL, NULL);

    (void)arg;
    if (rc != WB_OK)
        return rc;
    snprintf(head, sizeof(head), "Counted %s characters\n", text);
    wb_text_add(receipt, head, strlen(head));
    wb_text_section(receipt, "note", "two\nlines", 9);
    wb_free(text);
    return WB_OK;
}

static wb_rc add_tools(struct journey *j)
{
    wb_rc rc = wb_family_register(j->runtime, "counting", project_count, render_count, NULL, NULL);

    WBI_JSON_EACH (wbi_json_get(j->data, "tools"), tool) {
        struct wbi_buf text;

        if (rc != WB_OK)
            break;
        wbi_buf_init(&text, WBI_LIMIT_JSON_TEXT);
        wbi_json_write(&text, wbi_json_get(tool, "descriptor"));
        wbi_buf_addc(&text, '\0');
        rc = wbi_buf_rc(&text);
        if (rc == WB_OK)
            rc = wb_tool_register(j->runtime, text.p,
                                  wbi_json_get(tool, "family") ? "counting" : NULL, run_tool,
                                  cancel_tool, (void *)(uintptr_t)tool, NULL);
        wbi_buf_fini(&text);
    }
    return rc;
}

/* ---- the workspace ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)st;
    (void)type;
    (void)f;
    return remove(path);
}

static bool put_file(const struct journey *j, const wbi_json *key)
{
    const wbi_json *value = key + 1;
    char path[512], *slash;
    struct wbi_buf text;
    bool ok;
    int fd;

    snprintf(path, sizeof(path), "%s/work/%.*s", j->root, WBI_FMT(wbi_json_str(key)));
    slash = strrchr(path, '/');
    *slash = '\0';
    (void)mkdir(path, 0755); /* may be there */
    *slash = '/';
    wbi_buf_init(&text, WBI_LIMIT_JSON_TEXT);
    if (wbi_json_is(value, WBI_JSON_STR))
        wbi_buf_adds(&text, wbi_json_str(value));
    else
        wbi_json_write(&text, value);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    ok = fd >= 0 && wbi_buf_rc(&text) == WB_OK && write(fd, text.p, text.n) == (ssize_t)text.n;
    if (fd >= 0)
        close(fd);
    wbi_buf_fini(&text);
    return ok;
}

/* Once per journey; the user's folders are in it too. */
static wb_rc make_workspace(struct journey *j, wb_options *options)
{
    const wbi_json *files = wbi_json_get(j->data, "files");
    char path[128];

    bool fresh = j->root[0] == '\0';
    wb_rc rc;

    if (fresh) {
        snprintf(j->root, sizeof(j->root), "/tmp/waybill-journey-XXXXXX");
        if (mkdtemp(j->root) == NULL)
            return WB_EIO;
    }
    snprintf(path, sizeof(path), "%s/work", j->root);
    rc = wb_options_set(options, WB_OPT_ROOT, path);
    if (!fresh || rc != WB_OK)
        return rc;
    (void)mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/home", j->root);
    (void)mkdir(path, 0700);
    (void)setenv("HOME", path, 1);
    (void)unsetenv("XDG_CONFIG_HOME");
    (void)unsetenv("XDG_STATE_HOME");
    WBI_JSON_EACH_MEMBER (files, key) {
        (void)key_val;
        if (!put_file(j, key))
            return WB_EIO;
    }
    return wb_config_trust(options, NULL);
}

static wb_rc open_runtime(struct journey *j, uint64_t *ids)
{
    wb_options *o = wb_options_new();
    bool files = wbi_json_get(j->data, "files") != NULL;
    wb_rc rc = o ? WB_OK : WB_ENOMEM;

    if (rc == WB_OK)
        rc = wb_options_set_clock(o, stand_still_ns, stand_still_ms, NULL);
    if (rc == WB_OK)
        rc = wb_options_set_ids(o, count_up, ids);
    if (rc == WB_OK && !files)
        rc = wb_options_set(o, WB_OPT_BARE, "1");
    if (rc == WB_OK && files)
        rc = make_workspace(j, o);
    if (rc == WB_OK)
        rc = wb_runtime_new(o, &j->runtime, NULL);
    wb_options_free(o);
    return rc;
}

/* ---- the call ---- */

static const struct {
    const char *name;
    wb_field field;
} fields[] = {
    {"input", WB_FIELD_INPUT},
    {"inputText", WB_FIELD_INPUT},
    {"versionRange", WB_FIELD_VERSION_RANGE},
    {"correlationId", WB_FIELD_CORRELATION_ID},
    {"causationId", WB_FIELD_CAUSATION_ID},
    {"idempotencyKey", WB_FIELD_IDEMPOTENCY_KEY},
    {"headers", WB_FIELD_HEADERS},
    {"metadata", WB_FIELD_METADATA},
    {"deadline", WB_FIELD_DEADLINE},
    {"callId", WB_FIELD_CALL_ID},
    {"conversationId", WB_FIELD_CONVERSATION_ID},
    {"turnId", WB_FIELD_TURN_ID},
    {"principal", WB_FIELD_PRINCIPAL},
    {"provider", WB_FIELD_PROVIDER},
    {"model", WB_FIELD_MODEL},
    {"maxTokens", WB_FIELD_MAX_TOKENS},
    {"lenient", WB_FIELD_LENIENT},
};

static wb_rc set_field(wb_request *r, const wbi_json *key)
{
    struct wbi_str name = wbi_json_str(key);
    struct wbi_buf text;
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < LEN(fields); i++) {
        if (!wbi_str_eqz(name, fields[i].name))
            continue;
        wbi_buf_init(&text, WBI_LIMIT_JSON_TEXT);
        if (wbi_json_is(key + 1, WBI_JSON_STR) && !wbi_str_eqz(name, "input"))
            wbi_buf_adds(&text, wbi_json_str(key + 1));
        else
            wbi_json_write(&text, key + 1);
        wbi_buf_addc(&text, '\0');
        rc = wbi_buf_rc(&text);
        if (rc == WB_OK)
            rc = wb_request_set(r, fields[i].field, text.p);
        wbi_buf_fini(&text);
    }
    return rc;
}

static wb_request *make_request(struct journey *j)
{
    const wbi_json *call = wbi_json_get(j->data, "call");
    char name[1024];
    wb_request *r;
    wb_rc rc = WB_OK;

    snprintf(name, sizeof(name), "%.*s", WBI_FMT(wbi_json_get_str(call, "toolName")));
    r = wb_request_new(name);
    if (r == NULL)
        return NULL;
    WBI_JSON_EACH_MEMBER (call, key) {
        (void)key_val;
        if (rc == WB_OK)
            rc = set_field(r, key);
    }
    if (rc == WB_OK)
        return r;
    wb_request_free(r);
    return NULL;
}

static const struct {
    const char *name;
    wb_view view;
} views[] = {
    {"result", WB_VIEW_RESULT},
    {"envelope", WB_VIEW_ENVELOPE},
    {"record", WB_VIEW_RECORD},
};

/* JSON that a reader of the journey may read: lines of text as an array. */
static void write_lines(struct wbi_jw *w, const char *text)
{
    wbi_jw_arr(w);
    for (const char *at = text; *at != '\0';) {
        size_t n = strcspn(at, "\n");
        wbi_jw_str(w, wbi_str_make(at, n));
        at += n + (at[n] == '\n');
    }
    wbi_jw_arr_end(w);
}

static bool wanted(const struct journey *j, const char *view)
{
    WBI_JSON_EACH (wbi_json_get(j->data, "views"), v) {
        if (wbi_str_eqz(wbi_json_str(v), view))
            return true;
    }
    return false;
}

static void on_done(wb_result *result, void *arg)
{
    struct journey *j = arg;
    struct wbi_jw w = wbi_jw_to(&j->got);
    const char *text;

    j->done++;
    if (result == NULL) {
        j->failed = true;
        return;
    }
    wbi_jw_obj(&w);
    wbi_jw_kint(&w, "exitCode", wb_result_exit_code(result));
    if (!wb_result_ok(result))
        wbi_jw_kstrz(&w, "kind", wb_result_kind(result));
    text = wb_result_view(result, WB_VIEW_CANONICAL, NULL);
    j->failed = j->failed || text == NULL;
    if (text != NULL)
        wbi_jw_kraw(&w, "canonical", wbi_str_z(text));
    text = wb_result_view(result, WB_VIEW_RECEIPT, NULL);
    j->failed = j->failed || text == NULL;
    if (text != NULL) {
        wbi_jw_key(&w, "receipt");
        write_lines(&w, text);
    }
    for (size_t i = 0; i < LEN(views); i++) {
        if (!wanted(j, views[i].name))
            continue;
        text = wb_result_view(result, views[i].view, NULL);
        j->failed = j->failed || text == NULL;
        if (text != NULL)
            wbi_jw_kraw(&w, views[i].name, wbi_str_z(text));
    }
    wbi_jw_obj_end(&w);
}

static void run_call(struct journey *j)
{
    wb_request *request = make_request(j);
    wb_call_id id;

    j->submit = request ? wb_call_submit(j->runtime, request, on_done, j, &id) : WB_ENOMEM;
    if (j->submit == WB_OK && wbi_json_true(wbi_json_get(j->data, "cancel")))
        wb_call_cancel(j->runtime, id);
    wb_request_free(request);
    wb_runtime_run(j->runtime);
}

/* ---- lines ---- */

static void on_line(const char *line, size_t size, void *arg)
{
    struct journey *j = arg;

    if (j->done++ > 0)
        wbi_buf_addc(&j->got, ',');
    wbi_buf_add(&j->got, line, size);
}

static void run_lines(struct journey *j)
{
    wb_dispatch_options o = {.group = wbi_json_true(wbi_json_get(j->data, "group"))};
    char provider[32];
    wb_router *router;

    snprintf(provider, sizeof(provider), "%.*s", WBI_FMT(wbi_json_get_str(j->data, "provider")));
    o.provider = provider[0] ? provider : NULL;
    j->submit = wb_router_new(j->runtime, &o, on_line, j, &router, NULL);
    if (j->submit != WB_OK)
        return;
    wbi_buf_addz(&j->got, "{\"lines\":[");
    WBI_JSON_EACH (wbi_json_get(j->data, "lines"), line) {
        struct wbi_buf text;

        wbi_buf_init(&text, WBI_LIMIT_JSON_TEXT);
        if (wbi_json_is(line, WBI_JSON_STR))
            wbi_buf_adds(&text, wbi_json_str(line));
        else
            wbi_json_write(&text, line);
        if (j->submit == WB_OK)
            j->submit = wbi_buf_rc(&text) == WB_OK ? wb_router_line(router, text.p, text.n, NULL)
                                                   : WB_ENOMEM;
        wbi_buf_fini(&text);
    }
    while (wb_router_pending(router) > 0)
        (void)wb_runtime_turn(j->runtime, /* wait= */ 1);
    wbi_buf_addz(&j->got, "]}");
    wb_router_free(router);
}

/* ---- all of it ---- */

bool journey_read(struct journey *j, struct wbi_str text)
{
    memset(j, 0, sizeof(*j));
    return wbi_arena_new(WBI_LIMIT_CALL_ARENA, &j->arena) == WB_OK &&
           wbi_json_read(j->arena, text, WBI_JSON_STRICT, &j->data, NULL) == WB_OK;
}

/* The workspace has another name each time: ROOT stands for it. */
static void hide_root(struct journey *j)
{
    char *at;
    size_t n = strlen(j->root);

    if (n == 0 || j->got.p == NULL)
        return;
    wbi_buf_addc(&j->got, '\0');
    if (wbi_buf_rc(&j->got) != WB_OK)
        return;
    j->got.n--;
    while ((at = strstr(j->got.p, j->root)) != NULL) {
        memcpy(at, "ROOT", 4);
        memmove(at + 4, at + n, j->got.n - (size_t)(at - j->got.p) - n + 1);
        j->got.n -= n - 4;
    }
}

bool journey_run(struct journey *j)
{
    uint64_t ids = 1;
    wb_rc rc;

    j->done = 0;
    j->failed = false;
    j->runtime = NULL;
    j->submit = WB_OK;
    wbi_buf_init(&j->got, WBI_LIMIT_JSON_TEXT);
    rc = open_runtime(j, &ids);
    if (rc == WB_OK)
        rc = add_tools(j);
    if (rc == WB_OK && wbi_json_get(j->data, "lines") != NULL)
        run_lines(j);
    else if (rc == WB_OK)
        run_call(j);
    wb_runtime_free(j->runtime);
    j->runtime = NULL;
    hide_root(j);
    return rc == WB_OK && j->submit == WB_OK && !j->failed && wbi_buf_rc(&j->got) == WB_OK;
}

void journey_fresh(struct journey *j)
{
    char path[128];

    if (j->root[0] == '\0')
        return;
    snprintf(path, sizeof(path), "%s/work/.waybill", j->root);
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    snprintf(path, sizeof(path), "%s/home/.local/state/waybill/instances", j->root);
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void journey_end(struct journey *j)
{
    wbi_arena_free(j->arena);
    if (j->root[0] != '\0')
        (void)nftw(j->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
