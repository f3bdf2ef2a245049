/* SPDX-License-Identifier: Apache-2.0
 * serve/server_tell.c: notices about one server. */
#include <stdio.h>
#include <string.h>

#include "serve/upstreams_int.h"

static void tell_missing(struct wbi_server *s, const char *why)
{
    char text[sizeof(s->why) + 200];

    (void)snprintf(text, sizeof(text), "server %.*s: its tools are not there: %s", WBI_FMT(s->name),
                   why);
    if (wbi_upstreams_notice(s->set, text))
        (void)snprintf(s->told_why, sizeof(s->told_why), "%s", why);
}

/* Those of a server that has listed are still there. */
void wbi_server_tell_failure(struct wbi_server *s)
{
    if (s->state != WBI_SERVER_FAILED || s->has_listed || strcmp(s->why, s->told_why) == 0 ||
        (s->told_why[0] != '\0' && wbi_str_starts(wbi_str_z(s->why), WBI_LIT("it is not tried"))))
        return;
    tell_missing(s, s->why);
}

void wbi_server_tell_late(struct wbi_server *s)
{
    if (s->state == WBI_SERVER_LISTING && !s->has_listed && s->told_why[0] == '\0')
        tell_missing(s, wbi_server_failure(s));
}

static void tell_notes(const struct wbi_server *s, struct wbi_server_notes *notes, const char *what,
                       const char *next)
{
    char text[sizeof(notes->text) + 300];

    if (strcmp(notes->text, notes->told) == 0)
        return;
    (void)snprintf(text, sizeof(text), "server %.*s: %s: %zu: %s%s", WBI_FMT(s->name), what,
                   notes->count, notes->text, next);
    if (notes->count == 0 || wbi_upstreams_notice(s->set, text))
        memcpy(notes->told, notes->text, sizeof(notes->told));
}

void wbi_server_tell_notes(struct wbi_server *s)
{
    tell_notes(s, &s->left_out, "tools left out", "");
    tell_notes(s, &s->waiting, "tools that wait for approval", "; see `waybill pins`");
}

void wbi_server_tell_banner(void *arg)
{
    struct wbi_server *s = arg;
    char text[512];

    if (s->told_banner)
        return;
    (void)snprintf(text, sizeof(text),
                   "server %.*s: it says what is no message, which is passed over; a program's own "
                   "words belong on its stderr",
                   WBI_FMT(s->name));
    s->told_banner = wbi_upstreams_notice(s->set, text);
}
