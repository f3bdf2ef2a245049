/* SPDX-License-Identifier: Apache-2.0
 * serve/elicited.c */
#include "serve/elicited.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "serve/upstreams_int.h"

static void forget(struct wbi_elicited *e, size_t i)
{
    wbi_free(e->conversation[i]);
    wbi_free(e->id[i]);
    e->conversation[i] = NULL;
    e->id[i] = NULL;
}

/* It was asked that before: the question went on to another call, or the error came again. */
static bool knows(const struct wbi_elicited *e, struct wbi_str conversation, struct wbi_str id)
{
    for (size_t i = 0; i < WBI_ELICITED_MAX; i++) {
        if (e->id[i] != NULL && wbi_str_eqz(id, e->id[i]) &&
            wbi_str_eqz(conversation, e->conversation[i]))
            return true;
    }
    return false;
}

/* Params of an elicitation; one that is no URL's is nothing. */
static void note(struct wbi_elicited *e, struct wbi_str conversation, const wbi_json *params)
{
    struct wbi_str id = wbi_json_get_str(params, "elicitationId");
    size_t i = e->next % WBI_ELICITED_MAX;

    if (id.p == NULL || id.n > WBI_LIMIT_MCP_ID || conversation.p == NULL ||
        !wbi_str_eqz(wbi_json_get_str(params, "mode"), "url") || knows(e, conversation, id))
        return;
    forget(e, i);
    e->conversation[i] = wbi_strdup(conversation);
    e->id[i] = wbi_strdup(id);
    if (e->conversation[i] == NULL || e->id[i] == NULL)
        forget(e, i); /* then nothing is heard */
    else
        e->next++;
}

void wbi_elicited_done(struct wbi_elicited *e, struct wbi_str id,
                       void (*on_found)(void *arg, struct wbi_str conversation, struct wbi_str id),
                       void *arg)
{
    for (size_t i = 0; i < WBI_ELICITED_MAX; i++) {
        if (e->id[i] == NULL || !wbi_str_eqz(id, e->id[i]))
            continue;
        on_found(arg, wbi_str_z(e->conversation[i]), id);
        forget(e, i);
    }
}

void wbi_elicited_empty(struct wbi_elicited *e)
{
    for (size_t i = 0; i < WBI_ELICITED_MAX; i++)
        forget(e, i);
}

void wbi_server_elicits(struct wbi_server *s, struct wbi_str conversation, const wbi_json *params)
{
    note(&s->elicited, conversation, params);
}
