/* SPDX-License-Identifier: Apache-2.0
 * serve/elicited.h: whom a server has sent elsewhere (elicitation by URL, before 2026-07-28):
 * when it says that this is done, those clients hear it, and no others. */
#ifndef WBI_SERVE_ELICITED_H
#define WBI_SERVE_ELICITED_H

#include "json/json.h"

#define WBI_ELICITED_MAX 32u /* newest; who was sent before hears nothing */

struct wbi_elicited {
    char *conversation[WBI_ELICITED_MAX], *id[WBI_ELICITED_MAX];
    size_t next;
};

/* on_found runs for each conversation that was given this id; they are forgotten. */
void wbi_elicited_done(struct wbi_elicited *e, struct wbi_str id,
                       void (*on_found)(void *arg, struct wbi_str conversation, struct wbi_str id),
                       void *arg);
void wbi_elicited_empty(struct wbi_elicited *e);

#endif
