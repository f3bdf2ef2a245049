/* SPDX-License-Identifier: Apache-2.0
 * serve/upstreams.c: the set of servers; who waits for their lists.
 * (1) A server lists its tools when somebody needs them, and again when it says
 * that they changed. (2) Waiting has a limit of its own: a server that hangs
 * holds nobody up for longer. */
#include "serve/upstreams.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "catalog/names.h"
#include "mcp/curl.h"
#include "serve/relay.h"
#include "serve/upstreams_int.h"

/* Most time anybody waits for lists of tools. */
#define WAIT_MS 15000
/* Clients hear of one kind of list once in this time, however often it changes. */
#define NEWS_GAP_MS 250
/* A server that says again and again that its tools changed is asked less and less. */
#define LIST_GAP_MS 100
#define LIST_GAP_MAX_MS 5000
/* A first list that failed is asked for again behind those who saw none of it, after this
 * time, doubling: most clients list once. */
#define RETRY_MS 2000
#define RETRY_MAX_MS 60000
/* A list older than this is asked for again, behind the one who looks at it: not every
 * server says that its tools changed. */
#define LIST_AGE_MS 60000

struct waiter {
    struct waiter *next;
    char *tool;                 /* only servers that it may belong to; NULL: all */
    void (*on_done)(void *arg); /* NULL: a parked call, ref */
    void *arg;
    struct wbi_call_ref ref;
    int64_t until_ns;
};

/* What clients are told of one kind of list. */
struct news {
    bool due;
    int64_t next_ns;
};

struct wbi_upstreams {
    struct wbi_runtime *rt;
    struct wbi_config *config; /* held: the servers' values live in it */
    struct wbi_arena *arena;
    struct wbi_server *servers;
    size_t count;
    struct wbi_curl *curl; /* made for the first URL */
    struct waiter *waiters;
    struct wbi_timer *timer;
    int64_t armed_ns; /* 0: not armed */
    struct news news[4];
    struct wbi_upstreams_ears ears;
    void (*on_notice)(void *arg, const char *text);
    void *notice_arg;
    bool stopped;
};

/* ---- names ---- */

/* The servers that may have a tool: those it names ("a__b__x" names a and a__b), else
 * those without a prefix. */
static bool may_have(const struct wbi_upstreams *ups, const struct wbi_server *s,
                     struct wbi_str tool)
{
    struct wbi_str own;

    if (wbi_server_named(ups, tool, &own) == NULL)
        return s->prefix.n == 0;
    return wbi_server_names(s, tool) > 0;
}

/* ---- waiting ---- */

static bool is_settled(const struct wbi_upstreams *ups, const struct waiter *w)
{
    for (size_t i = 0; i < ups->count; i++) {
        const struct wbi_server *s = &ups->servers[i];

        if (s->state == WBI_SERVER_LISTING && !s->refreshing &&
            (w->tool == NULL || may_have(ups, s, wbi_str_z(w->tool))))
            return false;
    }
    return true;
}

/* Something is to be done then. */
static void arm(struct wbi_upstreams *ups, int64_t at_ns)
{
    int64_t left = at_ns - wbi_now_ns(&ups->rt->clock);

    if (ups->stopped || (ups->armed_ns != 0 && ups->armed_ns <= at_ns))
        return;
    ups->armed_ns = at_ns;
    wbi_timer_start(ups->timer, left > 0 ? left / WBI_NS_PER_MS + 1 : 0);
}

/* Nobody may ask for the tools of a server again, so that it is tried without being asked. */
static void plan_retry(struct wbi_server *s)
{
    if (s->state != WBI_SERVER_FAILED || s->absent || !s->missed ||
        s->set->ears.on_changed == NULL) {
        s->retry_ms = s->retry_ns = 0;
        return;
    }
    s->retry_ms = s->retry_ms == 0 ? RETRY_MS : WBI_MIN(2 * s->retry_ms, (int64_t)RETRY_MAX_MS);
    s->retry_ns = wbi_now_ns(&s->set->rt->clock) + s->retry_ms * WBI_NS_PER_MS;
    arm(s->set, s->retry_ns);
}

/* Clients get a list now: what is not in it yet is told when it comes. */
static void note_missed(struct wbi_upstreams *ups)
{
    for (size_t i = 0; i < ups->count; i++) {
        struct wbi_server *s = &ups->servers[i];

        s->missed |= !s->has_listed;
        wbi_server_tell_late(s);
        if (s->state == WBI_SERVER_FAILED && s->retry_ns == 0)
            plan_retry(s);
    }
}

static void wake(struct wbi_upstreams *ups, struct waiter *w)
{
    struct waiter gone = *w;

    if (w->on_done != NULL)
        note_missed(ups);

    wbi_free(w->tool);
    wbi_free(w);
    if (gone.on_done != NULL)
        gone.on_done(gone.arg);
    else
        (void)wbi_call_resume(ups->rt->calls, gone.ref); /* gone if it was cancelled */
}

/* Everybody whose servers have answered, or whose time is over. A woken one may
 * add others: begin again after each. */
static void wake_settled(struct wbi_upstreams *ups)
{
    struct waiter **at = &ups->waiters;
    int64_t now = wbi_now_ns(&ups->rt->clock);

    while (*at != NULL) {
        struct waiter *w = *at;

        if (!ups->stopped && now < w->until_ns && !is_settled(ups, w)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        wake(ups, w);
        at = &ups->waiters;
    }
}

/* *tool is taken over, also on failure. */
static wb_rc wait_for(struct wbi_upstreams *ups, const struct waiter *like)
{
    struct waiter *w = wbi_alloc(sizeof(*w));

    if (w == NULL) {
        wbi_free(like->tool);
        return WB_ENOMEM;
    }
    *w = *like;
    w->until_ns = wbi_now_ns(&ups->rt->clock) + WAIT_MS * WBI_NS_PER_MS;
    w->next = ups->waiters;
    ups->waiters = w;
    arm(ups, w->until_ns);
    return WB_OK;
}

/* ---- news for clients ---- */

static void tell(struct wbi_upstreams *ups, enum wbi_mcp_list what)
{
    struct news *n = &ups->news[what];
    int64_t now = wbi_now_ns(&ups->rt->clock);

    n->due = now < n->next_ns;
    if (n->due) {
        arm(ups, n->next_ns);
        return;
    }
    n->next_ns = now + NEWS_GAP_MS * WBI_NS_PER_MS;
    if (ups->ears.on_changed != NULL)
        ups->ears.on_changed(ups->ears.arg, what);
}

/* ---- listing ---- */

static void list_tools(struct wbi_server *s);

static void failed(struct wbi_server *s, const char *why)
{
    struct wbi_buf clean;
    struct wbi_str said;

    s->state = WBI_SERVER_FAILED;
    wbi_buf_init(&clean, WBI_LIMIT_MCP_MESSAGE);
    said = wbi_relay_why(s->set->rt, why != NULL ? why : "it cannot list its tools", &clean);
    (void)snprintf(s->why, sizeof(s->why), "%.*s", WBI_FMT(wbi_str_head(said, 300)));
    wbi_buf_fini(&clean);
}

/* The list as it is in the catalog; false when it is the one of last time. */
static bool take_list(struct wbi_server *s, struct wbi_str text)
{
    struct wbi_error err = WBI_ERROR_INIT;
    uint8_t sum[WBI_SHA256_SIZE];
    struct wbi_arena *arena;
    const char *version =
        s->main->up != NULL ? wbi_upstream_server_version(s->main->up) : s->version;
    const wbi_json *tools;
    wb_rc rc;

    if (wbi_sha256(text.p, text.n, sum) == WB_OK && s->has_listed && !s->recheck &&
        memcmp(sum, s->listed, sizeof(sum)) == 0 && strcmp(version, s->version) == 0)
        return false;
    if (version != s->version)
        (void)snprintf(s->version, sizeof(s->version), "%s", version);
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return false;
    rc = wbi_json_read(arena, text, WBI_JSON_STRICT, &tools, &err);
    if (rc == WB_OK)
        rc = wbi_server_declare(s->set->rt, s, tools, &err);
    wbi_arena_free(arena);
    if (rc != WB_OK) {
        failed(s, err.text);
        return false;
    }
    memcpy(s->listed, sum, sizeof(sum));
    s->has_listed = true;
    s->recheck = false;
    return true;
}

/* Lists that come one upon the other are spread out. */
static void plan_next(struct wbi_server *s)
{
    s->gap_ms = s->hurried ? WBI_MIN(2 * s->gap_ms, (int64_t)LIST_GAP_MAX_MS) : LIST_GAP_MS;
    s->hurried = false;
    s->listed_ns = wbi_now_ns(&s->set->rt->clock);
    s->next_list_ns = s->listed_ns + s->gap_ms * WBI_NS_PER_MS;
    if (s->again)
        arm(s->set, s->next_list_ns);
}

/* What changed while it was listed is asked for at once, the first time. */
static bool list_again(struct wbi_server *s, bool ok)
{
    bool other = s->opens != s->list_opens; /* it was opened anew in between */
    bool elsewhere = s->asked != s->main;   /* what it says no longer counts */

    if (s->set->stopped || !(elsewhere || (ok && (other || (s->again && !s->hurried)))))
        return false;
    s->hurried |= !other;
    list_tools(s);
    return true;
}

/* A server without tools need not know how to list them. */
static bool has_none(const struct wbi_upstream_answer *a)
{
    int64_t code;

    return a->rc == WB_OK && wbi_json_i64(wbi_json_get(a->error, "code"), &code) &&
           code == WBI_RPC_NO_METHOD;
}

static void refused(struct wbi_server *s, const struct wbi_upstream_answer *a)
{
    struct wbi_str message = wbi_json_get_str(a->error, "message");
    char why[200];

    message.n = wbi_utf8_cut_whole_words(message, 150);
    (void)snprintf(why, sizeof(why), "it refused to list them: %.*s", WBI_FMT(message));
    failed(s, a->error != NULL ? why : a->why);
}

static void on_listed(void *arg, const struct wbi_upstream_answer *a)
{
    struct wbi_server *s = arg;
    struct wbi_upstreams *ups = s->set;
    bool first = !s->has_listed, changed = false;
    bool none = has_none(a), ok = a->rc == WB_OK && (a->error == NULL || none);

    s->state = WBI_SERVER_LISTED;
    if (list_again(s, ok))
        return;
    s->refreshing = false;
    if (ok)
        changed = take_list(s, none ? WBI_LIT("[]") : a->text);
    else
        refused(s, a);
    wbi_server_tell_notes(s);
    wbi_server_tell_failure(s);
    plan_next(s);
    if (s->main->up != NULL && !ups->stopped)
        wbi_upstream_vetted(s->main->up, s->state == WBI_SERVER_LISTED ? NULL : s->why);
    if (changed && !ups->stopped)
        wbi_server_compare(s);
    if ((changed || s->announced) && (!first || s->missed))
        tell(ups, WBI_MCP_TOOLS);
    s->announced = false;
    s->missed &= !changed;
    wake_settled(ups);
    plan_retry(s);
}

/* list_opens: which connection the list must be of to count. */
static void list_tools(struct wbi_server *s)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_upstream *up = wbi_server_link(s, &err);

    s->state = WBI_SERVER_LISTING;
    s->again = false;
    s->asked = s->main;
    if (up != NULL)
        s->list_opens = s->opens + (wbi_upstream_state(up) == WBI_UP_READY ? 0 : 1);
    if (up != NULL && wbi_upstream_list(up, WBI_MCP_TOOLS, on_listed, s, &err) == WB_OK)
        return;
    failed(s, err.text);
    wbi_server_tell_failure(s);
    if (up != NULL)
        wbi_upstream_vetted(up, s->why);
}

static void need(struct wbi_server *s)
{
    if (!s->absent && (s->state == WBI_SERVER_UNLISTED || s->state == WBI_SERVER_FAILED))
        list_tools(s);
}

void wbi_server_need(struct wbi_server *s)
{
    if (!s->set->stopped)
        need(s);
}

/* Somebody may have decided about tools that wait for approval. */
static void look_at_pins(struct wbi_server *s)
{
    if (s->state != WBI_SERVER_LISTED || !s->has_blocked || !wbi_server_pins_changed(s, s->set->rt))
        return;
    s->recheck = true;
    s->state = WBI_SERVER_UNLISTED;
}

static void refresh(struct wbi_server *s)
{
    int64_t age = wbi_now_ns(&s->set->rt->clock) - s->listed_ns;

    if (s->state != WBI_SERVER_LISTED || age < LIST_AGE_MS * WBI_NS_PER_MS)
        return;
    s->refreshing = true;
    list_tools(s);
}

wb_rc wbi_upstreams_ready(struct wbi_upstreams *ups, void (*on_done)(void *arg), void *arg)
{
    struct waiter w = {.on_done = on_done, .arg = arg};

    for (size_t i = 0; i < ups->count; i++) {
        look_at_pins(&ups->servers[i]);
        need(&ups->servers[i]);
        refresh(&ups->servers[i]);
    }
    if (!is_settled(ups, &w))
        return wait_for(ups, &w);
    note_missed(ups);
    on_done(arg);
    return WB_OK;
}

/* For a tool that the catalog does not have, or that is blocked. */
static bool find_more(void *arg, struct wbi_str tool, struct wbi_call_ref ref)
{
    struct wbi_upstreams *ups = arg;
    struct waiter w = {.ref = ref};
    bool any = false;

    for (size_t i = 0; i < ups->count; i++) {
        struct wbi_server *s = &ups->servers[i];

        if (!may_have(ups, s, tool))
            continue;
        look_at_pins(s);
        need(s);
        s->refreshing = false; /* somebody waits now */
        any |= s->state == WBI_SERVER_LISTING;
    }
    if (!any || ups->stopped)
        return false;
    w.tool = wbi_strdup(tool);
    return w.tool != NULL && wait_for(ups, &w) == WB_OK;
}

/* A server that did list its tools, or has none to be asked for, misses nothing. */
static bool why_missing(void *arg, struct wbi_str tool, struct wbi_arena *arena,
                        struct wbi_str *ret_why)
{
    struct wbi_upstreams *ups = arg;
    struct wbi_str own = WBI_NONE;
    struct wbi_server *s = wbi_server_named(ups, tool, &own);

    if (s == NULL || s->state == WBI_SERVER_UNLISTED || wbi_server_failure(s) == NULL)
        return false;
    *ret_why = wbi_arena_fmt(arena, "the server \"%.*s\" of %.*s has not told its tools: %s",
                             WBI_FMT(s->name), WBI_FMT(wbi_str_head(tool, WBI_LIMIT_OWN_NAME)),
                             wbi_server_failure(s));
    return ret_why->p != NULL;
}

/* ---- news of a server ---- */

void wbi_server_changed(struct wbi_server *s, enum wbi_mcp_list what)
{
    if (what != WBI_MCP_TOOLS) {
        tell(s->set, what);
    } else if (s->state == WBI_SERVER_LISTING) {
        s->again = true;
    } else if (s->state == WBI_SERVER_LISTED) {
        s->again = wbi_now_ns(&s->set->rt->clock) < s->next_list_ns;
        s->announced = !s->again;
        if (s->again)
            arm(s->set, s->next_list_ns);
        else
            list_tools(s);
    }
}

static void on_changed(void *arg, enum wbi_mcp_list what)
{
    wbi_server_changed(((struct wbi_side *)arg)->server, what);
}

/* A connection: the server behind it may be another than the one whose tools were
 * checked. Nothing is called before they are checked again. */
static void on_ready(void *arg)
{
    struct wbi_side *side = arg;
    struct wbi_server *s = side->server;

    side->was_ready = true;
    if (side != s->main) {
        wbi_side_ready(side);
        return;
    }
    s->opens++;
    if (s->has_listed && s->state != WBI_SERVER_LISTING)
        list_tools(s);
}

static void on_state(void *arg, enum wbi_upstream_state state)
{
    struct wbi_side *side = arg;
    struct wbi_server *s = side->server;

    if (state == WBI_UP_WAITING && !side->was_ready)
        wbi_side_failed(side);
    if (state == WBI_UP_WAITING && s->state == WBI_SERVER_LISTED && side == s->main)
        s->state = WBI_SERVER_UNLISTED; /* what it says next may differ */
}

static void on_banner(void *arg)
{
    wbi_server_tell_banner(((struct wbi_side *)arg)->server);
}

void wbi_server_turned(struct wbi_server *s)
{
    if (s->state == WBI_SERVER_LISTED)
        s->state = WBI_SERVER_UNLISTED;
}

void wbi_server_tidy_later(struct wbi_server *s)
{
    arm(s->set, wbi_now_ns(&s->set->rt->clock) + LIST_GAP_MS * WBI_NS_PER_MS);
}

static void retry(struct wbi_server *s, int64_t now)
{
    if (s->retry_ns == 0)
        return;
    if (now < s->retry_ns) {
        arm(s->set, s->retry_ns);
        return;
    }
    s->retry_ns = 0;
    if (s->state != WBI_SERVER_FAILED)
        return;
    s->refreshing = true; /* nobody waits for it */
    list_tools(s);
}

static void on_time(void *arg)
{
    struct wbi_upstreams *ups = arg;
    int64_t now = wbi_now_ns(&ups->rt->clock);

    ups->armed_ns = 0;
    for (size_t i = 0; i < ups->count; i++) {
        struct wbi_server *s = &ups->servers[i];

        wbi_server_tidy(s);
        retry(s, now);
        if (!s->again || s->state != WBI_SERVER_LISTED)
            continue;
        if (now < s->next_list_ns) {
            arm(ups, s->next_list_ns);
            continue;
        }
        s->hurried = true;
        list_tools(s);
    }
    for (size_t i = 0; i < WBI_COUNT(ups->news); i++)
        if (ups->news[i].due)
            tell(ups, (enum wbi_mcp_list)i);
    wake_settled(ups);
    for (const struct waiter *w = ups->waiters; w != NULL; w = w->next)
        arm(ups, w->until_ns);
}

static void on_updated(void *arg, struct wbi_str uri)
{
    struct wbi_upstreams *ups = ((struct wbi_side *)arg)->server->set;

    if (ups->ears.on_updated != NULL)
        ups->ears.on_updated(ups->ears.arg, uri);
}

static void on_elicited(void *arg, struct wbi_str id)
{
    struct wbi_server *s = ((struct wbi_side *)arg)->server;

    if (s->set->ears.on_elicited != NULL)
        wbi_elicited_done(&s->elicited, id, s->set->ears.on_elicited, s->set->ears.arg);
}

/* What servers tell; their arg is a struct wbi_side. */
static const struct wbi_upstream_ops server_ops = {on_changed, on_updated, on_elicited,
                                                   on_state,   on_ready,   on_banner};

wb_rc wbi_server_connect(struct wbi_side *side, const struct wbi_upstream_spec *spec,
                         struct wbi_error *err)
{
    const struct wbi_server *s = side->server;
    struct wbi_upstreams *ups = s->set;
    wb_rc rc = WB_OK;

    if (ups->stopped)
        return wbi_fail(err, WB_ESTATE, "the servers are shut down");
    if (s->absent)
        return wbi_fail(err, WB_ESTATE, "%s", s->why);
    if (spec->url.p != NULL && ups->curl == NULL)
        rc = wbi_curl_new(ups->rt->loop, &ups->curl, err);
    if (rc == WB_OK)
        rc = wbi_upstream_new(ups->rt->loop, ups->rt->runner, ups->curl, spec, &server_ops, side,
                              &side->up, err);
    return rc;
}

/* ---- life ---- */

/* Two servers behind one prefix would hide each other's tools. */
static wb_rc check_prefix(const struct wbi_upstreams *ups, const struct wbi_server *s,
                          struct wbi_error *err)
{
    for (size_t i = 0; s->prefix.n > 0 && i < ups->count; i++)
        if (wbi_str_eq(ups->servers[i].prefix, s->prefix))
            return wbi_fail(err, WB_EINPUT, "its prefix \"%.*s\" is that of server %.*s already",
                            WBI_FMT(s->prefix), WBI_FMT(ups->servers[i].name));
    return WB_OK;
}

static wb_rc check_name(struct wbi_str name, struct wbi_error *err)
{
    if (wbi_name_is_model_name(name))
        return WB_OK;
    if (name.n > WBI_LIMIT_MODEL_NAME)
        return wbi_fail(err, WB_EINPUT, "a server's name has at most %u characters; this has %zu",
                        WBI_LIMIT_MODEL_NAME, name.n);
    return wbi_fail(err, WB_EINPUT,
                    "a server's name has letters, digits, _ and - only, a letter or _ first");
}

static wb_rc add_server(struct wbi_upstreams *ups, const struct wbi_config_server *c,
                        struct wbi_error *err)
{
    const struct wbi_config_part place = {.file = c->file, .line = c->line};
    struct wbi_server *s = &ups->servers[ups->count];
    struct wbi_error inner = WBI_ERROR_INIT;
    wb_rc rc;

    if (wbi_json_true(wbi_json_get(c->value, "disabled")))
        return WB_OK;
    *s = (struct wbi_server){.set = ups, .name = c->name, .value = c->value};
    for (size_t i = 0; i < WBI_COUNT(s->sides); i++)
        s->sides[i].server = s;
    s->main = &s->sides[0];
    s->beside = &s->sides[1];
    s->origin = wbi_arena_fmt(ups->arena, "mcp::%.*s", WBI_FMT(c->name));
    if (s->origin.p == NULL)
        return wbi_fail_nomem(err);
    rc = check_name(c->name, &inner);
    if (rc == WB_OK)
        rc = wbi_server_read(ups->arena, ups->rt->root, s, &inner);
    if (rc == WB_OK)
        rc = check_prefix(ups, s, &inner);
    if (rc == WB_ESTATE) { /* its own loss */
        s->absent = true;
        failed(s, inner.text);
        rc = WB_OK;
    }
    if (rc == WB_OK) {
        ups->count++;
        return WB_OK;
    }
    (void)wbi_fail(err, rc, "server %.*s: %s",
                   WBI_FMT(wbi_str_head(c->name, WBI_LIMIT_MODEL_NAME + 1)), inner.text);
    wbi_config_locate(ups->config, &place, c->value - 1, err); /* its name stands before it */
    return rc;
}

wb_rc wbi_upstreams_new(struct wbi_runtime *rt, struct wbi_upstreams **ret, struct wbi_error *err)
{
    const struct wbi_config_server *servers = NULL;
    size_t n = rt->config != NULL ? wbi_config_servers(rt->config, &servers) : 0;
    struct wbi_upstreams *ups;
    wb_rc rc;

    *ret = NULL;
    if (n == 0)
        return WB_OK;
    ups = wbi_zalloc(sizeof(*ups));
    if (ups == NULL)
        return wbi_fail_nomem(err);
    ups->rt = rt;
    ups->config = wbi_config_ref(rt->config);
    rc = wbi_arena_new(WBI_LIMIT_CONFIG_ARENA, &ups->arena);
    if (rc == WB_OK)
        rc = wbi_timer_new(rt->loop, on_time, ups, &ups->timer);
    ups->servers = wbi_zalloc_array(n, sizeof(*ups->servers));
    if (rc != WB_OK || ups->servers == NULL)
        rc = wbi_fail_nomem(err);
    for (size_t i = 0; rc == WB_OK && i < n; i++)
        rc = add_server(ups, &servers[i], err);
    if (rc == WB_OK)
        rc = wbi_upstreams_claim_names(ups, rt, err);
    if (rc != WB_OK) {
        wbi_upstreams_stop(ups);
        wbi_upstreams_free(ups);
        return rc;
    }
    rt->find_more = find_more;
    rt->qualify = wbi_server_qualify;
    rt->why_missing = why_missing;
    rt->find_more_arg = ups;
    *ret = ups;
    return WB_OK;
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

/* Servers are told that their sessions end; nobody waits for long. */
static void say_goodbye(struct wbi_upstreams *ups)
{
    struct wbi_loop *loop = ups->rt->loop;
    struct wbi_timer *timer;
    bool late = false;

    if (ups->curl == NULL || wbi_timer_new(loop, set_true, &late, &timer) != WB_OK)
        return;
    wbi_timer_start(timer, WBI_UPSTREAM_BYE_MS);
    while (!late && wbi_curl_busy(ups->curl))
        (void)wbi_loop_turn(loop, /* wait= */ true);
    wbi_timer_free(timer);
}

void wbi_upstreams_stop(struct wbi_upstreams *ups)
{
    if (ups == NULL || ups->stopped)
        return;
    ups->stopped = true;
    ups->ears = (struct wbi_upstreams_ears){0};
    for (size_t i = 0; i < ups->count; i++) {
        struct wbi_server *s = &ups->servers[i];

        for (size_t k = 0; k < WBI_COUNT(s->sides); k++)
            wbi_side_free(&s->sides[k]);
        wbi_elicited_empty(&s->elicited);
    }
    wake_settled(ups);
    wbi_timer_free(ups->timer);
    ups->timer = NULL;
    say_goodbye(ups);
    wbi_curl_free(ups->curl);
    ups->curl = NULL;
}

void wbi_upstreams_free(struct wbi_upstreams *ups)
{
    if (ups == NULL)
        return;
    for (size_t i = 0; i < ups->count; i++)
        for (size_t k = 0; k < 4; k++)
            wbi_shelf_empty(&ups->servers[i].shelves[k]);
    wbi_free(ups->servers);
    wbi_arena_free(ups->arena);
    wbi_config_unref(ups->config);
    wbi_free(ups);
}

void wbi_upstreams_watch(struct wbi_upstreams *ups, struct wbi_upstreams_ears ears)
{
    ups->ears = ears;
}

bool wbi_upstreams_notice(const struct wbi_upstreams *ups, const char *text)
{
    bool heard = ups->on_notice != NULL && !ups->stopped;

    if (heard)
        ups->on_notice(ups->notice_arg, text);
    return heard;
}

void wbi_upstreams_notices(struct wbi_upstreams *ups,
                           void (*on_notice)(void *arg, const char *text), void *arg)
{
    char text[512];

    ups->on_notice = on_notice;
    ups->notice_arg = arg;
    for (size_t i = 0; on_notice != NULL && i < ups->count; i++) {
        if (!ups->servers[i].absent)
            continue;
        (void)snprintf(text, sizeof(text), "server %.*s: %s", WBI_FMT(ups->servers[i].name),
                       ups->servers[i].why);
        on_notice(arg, text);
    }
}

size_t wbi_upstreams_count(const struct wbi_upstreams *ups)
{
    return ups != NULL ? ups->count : 0;
}

struct wbi_runtime *wbi_server_runtime(const struct wbi_server *s)
{
    return s->set->rt;
}

struct wbi_server *wbi_upstreams_at(const struct wbi_upstreams *ups, size_t i)
{
    return &ups->servers[i];
}

const struct wbi_secrets *wbi_server_secrets(const struct wbi_server *s)
{
    return s->set->rt->secrets;
}
