/* SPDX-License-Identifier: Apache-2.0
 * serve/watch.c: resources that clients watch. Servers hear of the first who watches
 * one and of the last: the owner where it is known, else all that can be watched. */
#include "base/alloc.h"
#include "base/checked.h"
#include "base/hash.h"
#include "serve/pass.h"
#include "serve/upstreams.h"

struct wbi_watched {
    struct wbi_watched *next;
    struct wbi_server *owner; /* NULL: all servers were told */
    size_t watchers;
    size_t n;
    char uri[];
};

static struct wbi_watched **find(struct wbi_gateway *g, struct wbi_str uri)
{
    struct wbi_watched **at = &g->watched[wbi_hash64(uri.p, uri.n, 0) % WBI_COUNT(g->watched)];

    while (*at != NULL && !wbi_str_eq(wbi_str_make((*at)->uri, (*at)->n), uri))
        at = &(*at)->next;
    return at;
}

/* False: on, and nobody can tell of it. */
static bool tell(const struct wbi_gateway *g, const struct wbi_watched *w, bool on)
{
    bool told = false;

    for (size_t i = 0; i < wbi_upstreams_count(g->ups); i++) {
        struct wbi_server *s = wbi_upstreams_at(g->ups, i);

        if (w->owner == NULL || w->owner == s)
            told |= wbi_server_watch(s, wbi_str_make(w->uri, w->n), on);
    }
    return told;
}

bool wbi_serve_subscribed(void *arg, struct wbi_str uri, bool on)
{
    struct wbi_gateway *g = arg;
    struct wbi_watched **at = find(g, uri), *w = *at;

    if (wbi_serve_is_artifact(uri))
        return true; /* ours never change */
    if (w != NULL && (on || w->watchers > 1)) {
        w->watchers += on ? 1 : SIZE_MAX;
    } else if (w != NULL) {
        *at = w->next;
        (void)tell(g, w, false);
        wbi_free(w);
    } else if (on) {
        w = wbi_zalloc(sizeof(*w) + uri.n);
        if (w == NULL)
            return false;
        w->owner = wbi_pass_owner(g, uri);
        w->watchers = 1;
        w->n = uri.n;
        memcpy(w->uri, uri.p, uri.n);
        if (!tell(g, w, true)) {
            wbi_free(w);
            return false;
        }
        *at = w;
    }
    return true;
}

void wbi_watch_forget(struct wbi_gateway *g)
{
    for (size_t i = 0; i < WBI_COUNT(g->watched); i++) {
        for (struct wbi_watched *w = g->watched[i], *next; w != NULL; w = next) {
            next = w->next;
            wbi_free(w);
        }
    }
}
