/* SPDX-License-Identifier: Apache-2.0
 * mcp/upstream_open.c: a connection is opened, and the revision of the server found out.
 * (1) `server/discover` first; whatever else than a yes comes leads to `initialize`.
 * (2) A server that dies of the one, or of being tried as an older one, is started again
 * without it. */
#include <stdio.h>

#include "base/utf8.h"
#include "mcp/upstream_int.h"

void wbi_up_end_own(struct wbi_upstream_call *call)
{
    if (call != NULL)
        wbi_upstream_cancel(call, WBI_NONE);
}

bool wbi_up_names_modern(const wbi_json *error)
{
    WBI_JSON_EACH (wbi_json_get(wbi_json_get(error, "data"), "supported"), e) {
        if (wbi_era_modern_version(wbi_json_str(e)))
            return true;
    }
    return false;
}

static void on_noted(void *arg, const struct wbi_upstream_answer *a)
{
    struct wbi_upstream *up = arg;

    up->opening = NULL;
    if (up->state == WBI_UP_STARTING && a->rc != WB_ECANCELLED)
        wbi_up_ready(up);
}

/* Over HTTP it may come after a request that is sent behind it: its end is waited for,
 * whatever that is, and for a time. */
static void tell_initialized(struct wbi_upstream *up)
{
    static const struct wbi_str note =
        WBI_LIT_INIT("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");

    if (up->spec.url.p != NULL) {
        up->opening = wbi_up_start_own(up, "notifications/initialized", WBI_NONE, up->spec.probe_ms,
                                       on_noted);
        if (up->opening == NULL)
            wbi_up_died(up, "out of memory");
    } else if (up->link->send(up, NULL, note) != WB_OK) {
        wbi_up_died(up, "the server does not read");
    } else {
        wbi_up_ready(up);
    }
}

/* What an answer to initialize that opens nothing says, in its own words. */
static void put_refusal(const struct wbi_upstream_answer *a, char *out, size_t size)
{
    struct wbi_str said = a->error != NULL ? wbi_json_get_str(a->error, "message")
                                           : wbi_json_get_str(a->result, "protocolVersion");

    said = wbi_str_trim(said);
    said.n = wbi_utf8_cut_whole_words(said, 150);
    (void)snprintf(out, size,
                   a->error != NULL ? "the server refused to initialize: %.*s"
                                    : "the server speaks no revision known here, but \"%.*s\"",
                   WBI_FMT(said));
    for (char *at = out; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ')
            *at = ' ';
    }
}

/* It is shown to models: nothing that could be read as words to them. */
static void note_server(struct wbi_upstream *up, const wbi_json *info)
{
    struct wbi_str version = wbi_json_get_str(info, "version");
    bool plain = version.n < sizeof(up->server_version);

    for (size_t i = 0; plain && i < version.n; i++)
        plain = version.p[i] > ' ' && version.p[i] < 0x7f;
    (void)snprintf(up->server_version, sizeof(up->server_version), "%.*s",
                   WBI_FMT(plain ? version : WBI_LIT("")));
}

static void be_modern(struct wbi_upstream *up)
{
    up->discovered = up->probing = false;
    up->era = WBI_ERA_MODERN;
    up->watchable = up->modern_watchable;
    (void)snprintf(up->version, sizeof(up->version), "%s", WBI_MCP_MODERN);
    wbi_up_ready(up);
}

static void on_initialized(void *arg, const struct wbi_upstream_answer *a)
{
    struct wbi_upstream *up = arg;
    struct wbi_str version = wbi_json_get_str(a->result, "protocolVersion");
    const wbi_json *abilities = wbi_json_get(a->result, "capabilities");
    char why[sizeof(up->why)];
    bool fits = a->rc == WB_OK && a->error == NULL && wbi_era_legacy_version(version);

    up->opening = NULL;
    if (up->state != WBI_UP_STARTING || a->rc == WB_ECANCELLED)
        return;
    if (!fits && up->discovered && (a->rc == WB_OK || a->status != 0)) {
        up->modern_only = true;
        be_modern(up);
        return;
    } /* one that says nothing may take it yet, and be of the older era then: it is started again */
    if (!fits) {
        if (a->rc == WB_OK || a->status != 0) /* it may be a newer server by now */
            up->era_known = up->skip_probe = false;
        put_refusal(a, why, sizeof(why));
        wbi_up_died(up, a->rc != WB_OK ? a->why : why);
        return;
    }
    wbi_up_end_own(up->probe);
    (void)snprintf(up->version, sizeof(up->version), "%.*s", WBI_FMT(version));
    up->era = WBI_ERA_LEGACY;
    up->also_modern |= up->discovered;
    up->watchable = wbi_json_true(wbi_json_get(wbi_json_get(abilities, "resources"), "subscribe"));
    up->loggable = wbi_json_get(abilities, "logging") != NULL;
    note_server(up, wbi_json_get(a->result, "serverInfo"));
    tell_initialized(up);
}

/* A request without which there is no connection. */
static struct wbi_upstream_call *
start_own(struct wbi_upstream *up, const char *method, struct wbi_str params, int64_t timeout_ms,
          void (*on_done)(void *, const struct wbi_upstream_answer *))
{
    struct wbi_upstream_call *call = wbi_up_start_own(up, method, params, timeout_ms, on_done);

    if (call == NULL)
        wbi_up_died(up, "out of memory");
    return call;
}

/* One that has told already that it is newer is not waited for as long. */
void wbi_up_initialize(struct wbi_upstream *up)
{
    up->probing = false;
    up->era = WBI_ERA_LEGACY;
    up->opening = start_own(
        up, "initialize",
        WBI_LIT("{\"protocolVersion\":\"" WBI_MCP_LEGACY "\",\"capabilities\":{"
                "\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{},\"roots\":{}},"
                "\"clientInfo\":{\"name\":\"waybill\",\"version\":\"" WAYBILL_VERSION "\"}}"),
        up->discovered ? up->spec.probe_ms : up->spec.start_ms, on_initialized);
}

static bool offers(const wbi_json *result, bool (*version)(struct wbi_str))
{
    WBI_JSON_EACH (wbi_json_get(result, "supportedVersions"), e) {
        if (version(wbi_json_str(e)))
            return true;
    }
    return false;
}

/* Whether it is worth the trial. Programs are asked, for the SDKs name the newest revisions
 * only; behind a URL a request of the older era is against the newer one's rules. */
static bool may_be_older(const struct wbi_upstream *up, const wbi_json *result)
{
    return up->spec.era == WBI_UP_AUTO && up->spec.older_first && !up->modern_only &&
           (up->spec.url.p == NULL || offers(result, wbi_era_legacy_version));
}

/* A server that refuses our version and names it among those it takes means: again. */
static bool wants_again(struct wbi_upstream *up, const struct wbi_upstream_answer *a)
{
    bool first = !up->probed_again;

    up->probed_again = true;
    return first && wbi_up_names_modern(a->error);
}

static void on_discovered(void *arg, const struct wbi_upstream_answer *a);

static void discover(struct wbi_upstream *up)
{
    up->probe = start_own(up, "server/discover", WBI_NONE, up->spec.start_ms, on_discovered);
}

/* It speaks 2026-07-28. Where an older client is to be served, its revision is asked for, too:
 * a server may ask its client only there, and a program is of one era from its first message. Of
 * one that was slow to start that message is in its pipe already. */
static void take_discovery(struct wbi_upstream *up, const wbi_json *result)
{
    bool asked = !up->probing; /* in the older way */

    up->modern_watchable = wbi_json_get(wbi_json_get(result, "capabilities"), "resources") != NULL;
    note_server(up, wbi_json_get(wbi_json_get(result, "_meta"), WBI_META "serverInfo"));
    up->discovered = may_be_older(up, result) ||
                     (asked && up->spec.url.p == NULL && up->spec.era == WBI_UP_AUTO);
    if (!up->discovered) {
        up->modern_only |= up->spec.older_first;
        wbi_up_end_own(up->opening);
        be_modern(up);
    } else if (!asked) {
        wbi_up_initialize(up);
    }
}

static void on_discovered(void *arg, const struct wbi_upstream_answer *a)
{
    struct wbi_upstream *up = arg;

    up->probe = NULL;
    if (up->state != WBI_UP_STARTING || a->rc == WB_ECANCELLED)
        return;
    if (a->rc == WB_OK && a->error == NULL && offers(a->result, wbi_era_modern_version)) {
        take_discovery(up, a->result);
    } else if (!up->probing) {
        return; /* late, and of no use: it is asked in the older way already */
    } else if (a->rc == WB_OK && a->error != NULL && wants_again(up, a)) {
        discover(up);
    } else if (up->spec.era == WBI_UP_MODERN) {
        wbi_up_died(up, "the server does not speak " WBI_MCP_MODERN);
    } else {
        wbi_up_initialize(up); /* whatever the error was: never keyed on one code */
    }
}

void wbi_up_open(struct wbi_upstream *up)
{
    struct wbi_error err = WBI_ERROR_INIT;
    bool legacy = up->spec.era == WBI_UP_LEGACY || up->skip_probe ||
                  (up->era_known && up->era == WBI_ERA_LEGACY);

    up->counts.starts++;
    up->wake = false;
    up->probed_again = up->discovered = false;
    up->start_deadline_ns = wbi_now_ns(&up->clock) + up->spec.start_ms * WBI_NS_PER_MS;
    wbi_up_set_state(up, WBI_UP_STARTING);
    if (up->link->open(up, &err) != WB_OK) {
        wbi_up_died(up, err.text);
        return;
    }
    wbi_up_arm(up, up->start_deadline_ns);
    up->probing = !legacy;
    if (legacy) {
        wbi_up_initialize(up);
        return;
    }
    up->era = WBI_ERA_MODERN;
    up->probe_until_ns = wbi_now_ns(&up->clock) + up->spec.probe_ms * WBI_NS_PER_MS;
    wbi_up_arm(up, up->probe_until_ns);
    discover(up);
}
