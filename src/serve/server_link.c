/* SPDX-License-Identifier: Apache-2.0
 * serve/server_link.c: which connection of a server a request goes over.
 * (1) A server of both eras may need the older one to ask a client of that era: what it asks
 * in the middle of a call is another thing there than in 2026-07-28, and it need not know both.
 * So clients that can be asked are served in their own era, where the server has it.
 * (2) A program is of one era from its first message: clients of both eras need it twice. It
 * is started a second time only once they are there. (3) What the newer connection lists is what
 * counts, for it has all there is. A tool that is another one over the older, or is not there, is
 * called over the newer: its pin was checked there. (4) Who cannot be served by one of two
 * connections is by the other: not every program can run twice. */
#include "base/limits.h"
#include "serve/upstreams_int.h"

/* A client of the older era that can be asked something. */
static bool is_older(const struct wbi_mcp_request *r)
{
    const struct wbi_mcp_abilities *a = r != NULL ? wbi_mcp_abilities(r) : NULL;

    return a != NULL && wbi_mcp_era(r) == WBI_ERA_LEGACY &&
           (a->sampling || a->roots || a->elicitation_form || a->elicitation_url);
}

static bool is_newer(const struct wbi_mcp_request *r)
{
    return r != NULL && wbi_mcp_era(r) == WBI_ERA_MODERN;
}

struct wbi_upstream *wbi_server_link(struct wbi_server *s, struct wbi_error *err)
{
    if (s->main->up == NULL && wbi_server_connect(s->main, &s->spec, err) != WB_OK)
        return NULL;
    return s->main->up;
}

/* ---- what the connection beside lists ---- */

static void forget_list(struct wbi_side *side)
{
    wbi_arena_free(side->arena);
    side->arena = NULL;
    side->same_count = 0;
    side->agrees = side->known = false;
}

/* Nothing is the same where that cannot be found out. */
static void compare(struct wbi_side *side, struct wbi_str list)
{
    const wbi_json *tools;

    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &side->arena) != WB_OK)
        return;
    if (wbi_json_read(side->arena, list, WBI_JSON_STRICT, &tools, NULL) == WB_OK)
        (void)!wbi_server_same_tools(wbi_server_runtime(side->server), side->server, tools,
                                     side->arena, &side->same, &side->same_count);
}

static void on_listed(void *arg, const struct wbi_upstream_answer *a)
{
    struct wbi_side *side = arg;

    if (a->rc == WB_ECANCELLED)
        return; /* the connection goes */
    forget_list(side);
    if (a->rc == WB_OK && a->error == NULL)
        compare(side, a->text);
    side->known = true;
    wbi_upstream_vetted(side->up, NULL); /* each call looks for its tool then */
}

static void list(struct wbi_side *side)
{
    forget_list(side);
    wbi_upstream_hold(side->up);
    if (wbi_upstream_list(side->up, WBI_MCP_TOOLS, on_listed, side, NULL) == WB_OK)
        return;
    side->known = true;
    wbi_upstream_vetted(side->up, NULL);
}

void wbi_server_compare(struct wbi_server *s)
{
    if (s->beside->up != NULL && wbi_upstream_state(s->beside->up) == WBI_UP_READY)
        list(s->beside);
}

static bool has_same(const struct wbi_side *side, struct wbi_str tool)
{
    for (size_t i = 0; i < side->same_count; i++)
        if (wbi_str_eq(side->same[i], tool))
            return true;
    return side->agrees;
}

bool wbi_server_agrees(const struct wbi_server *s, const struct wbi_upstream *up,
                       struct wbi_str tool)
{
    return up != s->beside->up || has_same(s->beside, tool);
}

/* ---- two connections ---- */

void wbi_side_free(struct wbi_side *side)
{
    wbi_upstream_free(side->up);
    side->up = NULL;
    side->was_ready = false;
    forget_list(side);
}

void wbi_side_ready(struct wbi_side *side)
{
    struct wbi_server *s = side->server;

    list(side);
    if (!wbi_upstream_modern_only(side->up))
        return;
    s->alone = true;
    wbi_server_tidy_later(s);
}

static bool is_open(const struct wbi_side *side)
{
    return side->up != NULL && wbi_upstream_state(side->up) == WBI_UP_READY;
}

/* The one that works does everything, as it did before. */
void wbi_side_failed(struct wbi_side *side)
{
    struct wbi_server *s = side->server;
    struct wbi_side *other = side == s->main ? s->beside : s->main;

    if (!is_open(other))
        return;
    s->alone = true;
    s->main = other;
    s->beside = side;
    wbi_server_turned(s);
    wbi_server_tidy_later(s);
}

/* What was the main connection goes on for clients of the older era. */
static void turn(struct wbi_server *s)
{
    struct wbi_side *newer = s->beside;
    struct wbi_upstream_spec spec = s->spec;

    spec.older_first = false;
    if (s->alone || newer->up != NULL || wbi_server_connect(newer, &spec, NULL) != WB_OK)
        return;
    wbi_upstream_watch_like(newer->up, s->main->up);
    s->beside = s->main;
    s->beside->agrees = s->beside->known = true;
    s->main = newer;
    wbi_server_turned(s);
}

static void meet(struct wbi_server *s, const struct wbi_mcp_request *r)
{
    if (s->main->up == NULL)
        s->spec.older_first = is_older(r);
    else if (is_newer(r) && wbi_upstream_speaks_both(s->main->up))
        turn(s);
}

void wbi_upstreams_meet(struct wbi_upstreams *ups, const struct wbi_mcp_request *r)
{
    for (size_t i = 0; i < wbi_upstreams_count(ups); i++)
        meet(wbi_upstreams_at(ups, i), r);
}

/* NULL: it has none for older clients, or it is not known yet. */
static struct wbi_upstream *link_beside(struct wbi_server *s)
{
    struct wbi_upstream_spec spec = s->spec;

    if (s->spec.era != WBI_UP_AUTO || s->alone || wbi_upstream_modern_only(s->main->up))
        return NULL;
    spec.older_first = true;
    if (s->beside->up != NULL)
        return s->beside->up;
    if (!wbi_upstream_is_modern(s->main->up) || wbi_server_connect(s->beside, &spec, NULL) != WB_OK)
        return NULL;
    wbi_upstream_watch_like(s->beside->up, s->main->up);
    return s->beside->up;
}

struct wbi_upstream *wbi_server_link_for(struct wbi_server *s, const struct wbi_mcp_request *r,
                                         struct wbi_str tool, struct wbi_error *err)
{
    struct wbi_upstream *up, *older = NULL;

    meet(s, r);
    up = wbi_server_link(s, err);
    if (up != NULL && is_older(r))
        older = link_beside(s);
    if (older != NULL && tool.p != NULL && s->beside->known && !has_same(s->beside, tool))
        older = NULL;
    return older != NULL ? older : up;
}

struct wbi_upstream *wbi_server_link_instead(struct wbi_server *s, const struct wbi_upstream *up,
                                             struct wbi_str tool)
{
    const struct wbi_side *side = s->main->up == up ? s->beside : s->main;

    if (!is_open(side) || side->up == up)
        return NULL;
    return tool.p == NULL || wbi_server_agrees(s, side->up, tool) ? side->up : NULL;
}

bool wbi_server_watch(struct wbi_server *s, struct wbi_str uri, bool on)
{
    struct wbi_upstream *up = wbi_server_link(s, NULL);

    if (up == NULL || (on && !wbi_upstream_watchable(up)))
        return false;
    wbi_upstream_watch(up, uri, on);
    if (s->beside->up != NULL)
        wbi_upstream_watch(s->beside->up, uri, on);
    return true;
}

void wbi_server_tidy(struct wbi_server *s)
{
    if (!s->alone || s->beside->up == NULL)
        return;
    if (wbi_upstream_idle(s->beside->up))
        wbi_side_free(s->beside);
    else
        wbi_server_tidy_later(s);
}
