/* SPDX-License-Identifier: Apache-2.0
 * tests/support/raw_http.h: a server on HTTP whose tests write every byte themselves. One
 * process a connection; whole requests, one after the other; clients here send none ahead. */
#ifndef WBI_TESTS_SUPPORT_RAW_HTTP_H
#define WBI_TESTS_SUPPORT_RAW_HTTP_H

extern char raw_request[1 << 23]; /* the one being served, head and body */
extern int raw_client;            /* its connection */

/* Ends the process when the client is gone. */
void raw_put(const char *text);
/* Listens on a free port of loopback and prints "port N"; serves until it is killed, two
 * minutes at most. Returns 1 when it cannot. */
int raw_serve(void (*serve_one)(const char *body));

#endif
