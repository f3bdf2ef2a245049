/* SPDX-License-Identifier: Apache-2.0
 * serve/server_link.c: which connection of a server a request goes over.
 * (1) A server of both eras may need the older one to ask a client of that era: what it asks
 * in the middle of a call is another thing there than in 2026-07-28, and it need not know both.
 * So clients that can be asked are served in their own era, where the server has it.
 * (2) A program is of one era from its first message: clients of both eras need it twice. It
 * is started a second time only once they are there. (3) What the newer connection lists is what
 * counts, for it has all there is. */
#include "base/checked.h"
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

/* What was the main connection goes on for clients of the older era. */
static void turn(struct wbi_server *s)
{
    struct wbi_side *newer = s->beside;
    struct wbi_upstream_spec spec = s->spec;

    spec.older_first = false;
    if (newer->up != NULL || wbi_server_connect(newer, &spec, NULL) != WB_OK)
        return;
    wbi_upstream_watch_like(newer->up, s->main->up);
    s->beside = s->main;
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

    if (s->spec.era != WBI_UP_AUTO || s->modern_only || wbi_upstream_modern_only(s->main->up))
        return NULL;
    spec.older_first = true;
    if (s->beside->up == NULL) {
        if (!wbi_upstream_is_modern(s->main->up) ||
            wbi_server_connect(s->beside, &spec, NULL) != WB_OK)
            return NULL;
        wbi_upstream_watch_like(s->beside->up, s->main->up);
    }
    s->modern_only = wbi_upstream_modern_only(s->beside->up);
    if (s->modern_only)
        wbi_server_tidy_later(s);
    return s->modern_only ? NULL : s->beside->up;
}

struct wbi_upstream *wbi_server_link_for(struct wbi_server *s, const struct wbi_mcp_request *r,
                                         struct wbi_error *err)
{
    struct wbi_upstream *up, *older = NULL;

    meet(s, r);
    up = wbi_server_link(s, err);
    if (up != NULL && is_older(r))
        older = link_beside(s);
    return older != NULL ? older : up;
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
    if (!s->modern_only || s->beside->up == NULL)
        return;
    if (!wbi_upstream_idle(s->beside->up)) {
        wbi_server_tidy_later(s);
        return;
    }
    wbi_upstream_free(s->beside->up);
    s->beside->up = NULL;
}
