/* SPDX-License-Identifier: Apache-2.0
 * mcp/upstream_watch.c: news of a server: resources that are watched, and the stream on
 * which servers of 2026-07-28 tell them.
 * (1) What is watched belongs to the client, not to a connection: it is asked for again
 * on every new one. (2) After a time without ears everything may have changed, and is
 * told as changed. */
#include <limits.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "json/write.h"
#include "mcp/upstream_int.h"

#define LISTEN_MS (INT64_C(1000) * 3600 * 24 * 365)

static void on_told(void *arg, const struct wbi_upstream_answer *a)
{
    (void)arg;
    (void)a; /* a server that cannot tell will not */
}

static void subscribe(struct wbi_upstream *up, struct wbi_str uri, bool on)
{
    struct wbi_buf params;
    struct wbi_jw w = wbi_jw_to(&params);

    wbi_buf_init(&params, WBI_LIMIT_MCP_MESSAGE);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "uri", uri);
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&params) == WB_OK)
        (void)wbi_up_start_own(up, on ? "resources/subscribe" : "resources/unsubscribe",
                               wbi_buf_str(&params), up->spec.start_ms, on_told);
    wbi_buf_fini(&params);
}

static void tell_missed(struct wbi_upstream *up)
{
    if (up->ops.on_changed != NULL && up->era == WBI_ERA_MODERN) {
        up->ops.on_changed(up->arg, WBI_MCP_TOOLS);
        up->ops.on_changed(up->arg, WBI_MCP_PROMPTS);
        up->ops.on_changed(up->arg, WBI_MCP_RESOURCES);
    }
    for (size_t i = 0; i < up->watched_count && up->ops.on_updated != NULL; i++)
        up->ops.on_updated(up->arg, wbi_str_z(up->watched[i]));
}

static void on_listened(void *arg, const struct wbi_upstream_answer *a)
{
    struct wbi_upstream *up = arg;
    int64_t now = wbi_now_ns(&up->clock), ms = WBI_UPSTREAM_RETRY_MS;
    bool refused = a->error != NULL || (a->status >= 400 && a->status < 500 && a->status != 429);

    if (a->rc == WB_ECANCELLED)
        return; /* by us, another one is in its place */
    up->listen = NULL;
    if (up->state != WBI_UP_READY || refused)
        return; /* with the next connection; without it changes are seen when lists expire */
    if (now - up->listen_since_ns > WBI_UPSTREAM_BACKOFF_MAX_MS * WBI_NS_PER_MS)
        up->listen_breaks = 0;
    if (up->listen_breaks >= WBI_LIMIT_UPSTREAM_BREAKS)
        return;
    for (unsigned i = 0; i < up->listen_breaks && ms < WBI_UPSTREAM_BACKOFF_MAX_MS; i++)
        ms *= 2;
    up->listen_breaks++;
    up->missed = true;
    up->listen_at_ns = now + WBI_MIN(ms, WBI_UPSTREAM_BACKOFF_MAX_MS) * WBI_NS_PER_MS;
    wbi_up_arm(up, up->listen_at_ns);
}

void wbi_up_listen(struct wbi_upstream *up)
{
    struct wbi_upstream_call *old = up->listen, *call;
    struct wbi_buf params;
    struct wbi_jw w = wbi_jw_to(&params);

    up->listen_at_ns = 0;
    if (up->ops.on_changed == NULL)
        return;
    wbi_buf_init(&params, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_key(&w, "notifications");
    wbi_jw_obj(&w);
    wbi_jw_kbool(&w, "toolsListChanged", true);
    wbi_jw_kbool(&w, "promptsListChanged", true);
    wbi_jw_kbool(&w, "resourcesListChanged", true);
    if (up->watched_count > 0) {
        wbi_jw_key(&w, "resourceSubscriptions");
        wbi_jw_arr(&w);
        for (size_t i = 0; i < up->watched_count; i++)
            wbi_jw_str(&w, wbi_str_z(up->watched[i]));
        wbi_jw_arr_end(&w);
    }
    wbi_jw_obj_end(&w);
    wbi_jw_obj_end(&w);
    call = wbi_buf_rc(&params) == WB_OK
               ? wbi_up_start_own(up, "subscriptions/listen", wbi_buf_str(&params), LISTEN_MS,
                                  on_listened)
               : NULL;
    wbi_buf_fini(&params);
    if (call == NULL)
        return; /* the old one is better than none */
    up->listen = call;
    up->listen_since_ns = wbi_now_ns(&up->clock);
    if (old != NULL)
        wbi_upstream_cancel(old, WBI_NONE);
}

void wbi_up_listened(struct wbi_upstream *up)
{
    bool missed = up->missed;

    up->missed = false;
    if (missed)
        tell_missed(up);
}

void wbi_up_renew(struct wbi_upstream *up)
{
    if (up->era == WBI_ERA_MODERN) {
        wbi_up_listen(up);
        return;
    }
    up->told_level = INT_MAX;
    for (size_t i = 0; i < up->watched_count && up->watchable; i++)
        subscribe(up, wbi_str_z(up->watched[i]), true);
    wbi_up_listened(up);
}

void wbi_up_tell_level(struct wbi_upstream *up, const char *level)
{
    int n = wbi_mcp_level(wbi_str_z(level));
    char params[64];

    if (n < 0 || n >= up->told_level || !up->loggable || up->era != WBI_ERA_LEGACY)
        return;
    up->told_level = n;
    (void)snprintf(params, sizeof(params), "{\"level\":\"%s\"}", wbi_mcp_level_name(n));
    (void)wbi_up_start_own(up, "logging/setLevel", wbi_str_z(params), up->spec.start_ms, on_told);
}

static bool add_watched(struct wbi_upstream *up, struct wbi_str uri)
{
    char **more, *copy;

    if (up->watched_count == up->watched_cap) {
        size_t cap = up->watched_cap > 0 ? 2 * up->watched_cap : 8;

        more = wbi_realloc(up->watched, cap * sizeof(*more));
        if (more == NULL)
            return false;
        up->watched = more;
        up->watched_cap = cap;
    }
    copy = wbi_strdup(uri);
    if (copy == NULL)
        return false;
    up->watched[up->watched_count++] = copy;
    return true;
}

static bool drop_watched(struct wbi_upstream *up, struct wbi_str uri)
{
    for (size_t i = 0; i < up->watched_count; i++) {
        if (!wbi_str_eqz(uri, up->watched[i]))
            continue;
        wbi_free(up->watched[i]);
        up->watched[i] = up->watched[--up->watched_count];
        return true;
    }
    return false;
}

bool wbi_upstream_watchable(const struct wbi_upstream *up)
{
    return up->state != WBI_UP_READY || up->watchable;
}

void wbi_upstream_watch(struct wbi_upstream *up, struct wbi_str uri, bool on)
{
    int64_t now = wbi_now_ns(&up->clock);

    if (on ? !add_watched(up, uri) : !drop_watched(up, uri))
        return;
    if (up->state == WBI_UP_READY && up->era == WBI_ERA_LEGACY) {
        if (up->watchable)
            subscribe(up, uri, on);
    } else if (up->state == WBI_UP_READY) {
        up->listen_at_ns = now; /* one new stream for all changes of this turn */
        wbi_up_arm(up, now);
    } else if (on) {
        wbi_up_wake(up);
    }
}

void wbi_upstream_watch_like(struct wbi_upstream *up, const struct wbi_upstream *from)
{
    for (size_t i = 0; i < from->watched_count; i++)
        wbi_upstream_watch(up, wbi_str_z(from->watched[i]), true);
}

void wbi_up_wake(struct wbi_upstream *up)
{
    if (up->watched_count == 0 || (up->state != WBI_UP_IDLE && up->state != WBI_UP_WAITING))
        return;
    up->wake = true;
    wbi_up_arm(up, up->state == WBI_UP_WAITING ? up->wait_until_ns : wbi_now_ns(&up->clock));
}

void wbi_up_forget_watched(struct wbi_upstream *up)
{
    for (size_t i = 0; i < up->watched_count; i++)
        wbi_free(up->watched[i]);
    wbi_free(up->watched);
}
