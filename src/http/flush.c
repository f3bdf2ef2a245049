/* SPDX-License-Identifier: Apache-2.0
 * http/flush.c: the answers of one turn of the loop go out together. A few are
 * sent here; many go to a thread of their own, because sending costs as much as
 * a third of the call it answers, while waking that thread for a single answer
 * would cost more than it saves. */
#include "http/http_int.h"

static void forget(struct wbi_http *http)
{
    http->waiting = NULL;
    http->waiting_end = &http->waiting;
    http->waiting_count = 0;
}

static void on_sent(struct wbi_conn *c)
{
    c->away = false;
    wbi_conn_pushed(c, c->flown);
    wbi_conn_go(c);
}

/* A few clients mostly wait for each other, and each wake-up of a thread for them. */
static bool have_sender(struct wbi_http *http)
{
    if (http->conn_count < WBI_HTTP_SEND_CROWD)
        return false;
    if (http->sender == NULL && !http->alone) {
        http->sender = wbi_sender_new(http->loop, on_sent);
        http->alone = http->sender == NULL;
    }
    return http->sender != NULL;
}

static void give(struct wbi_http *http)
{
    wbi_sender_give(http->sender, http->waiting, http->waiting_end);
    forget(http);
}

static void send_here(struct wbi_http *http)
{
    struct wbi_conn *c = http->waiting, *next;

    forget(http);
    for (; c != NULL; c = next) {
        next = c->next_out;
        c->away = false;
        wbi_conn_push(c);
        wbi_conn_go(c); /* may free c, or bring it back with the next answer */
    }
}

static void at_end_of_turn(void *arg)
{
    struct wbi_http *http = arg;

    if (http->waiting_count >= WBI_HTTP_SEND_APART && have_sender(http))
        give(http);
    else
        send_here(http);
}

void wbi_flush_init(struct wbi_http *http)
{
    http->flush.fn = at_end_of_turn;
    http->flush.arg = http;
    forget(http);
}

void wbi_flush_add(struct wbi_conn *c)
{
    struct wbi_http *http = c->http;

    c->away = true;
    c->next_out = NULL;
    *http->waiting_end = c;
    http->waiting_end = &c->next_out;
    http->waiting_count++;
    if (http->waiting_count >= WBI_HTTP_SEND_AT_ONCE && have_sender(http))
        give(http);
    else
        wbi_loop_defer(http->loop, &http->flush);
}

void wbi_flush_end(struct wbi_http *http)
{
    struct wbi_conn *c = wbi_sender_free(http->sender);

    http->sender = NULL;
    wbi_loop_undefer(http->loop, &http->flush);
    for (; c != NULL; c = c->next_out) {
        c->away = false;
        wbi_conn_pushed(c, c->flown);
    }
    for (c = http->waiting; c != NULL; c = c->next_out) {
        c->away = false;
        wbi_conn_push(c);
    }
    forget(http);
}
