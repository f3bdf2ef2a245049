/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/chaos_http.c: an MCP server on HTTP (2025-11-25) that opens and lists its
 * tool properly and misbehaves in calls, in the way the path of its URL names:
 * http://127.0.0.1:PORT/MODE. One process a connection; prints "port N". */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/raw_http.h"

static char mode[64];

static bool is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static void answer(const char *status, const char *type, const char *body)
{
    char head[512];

    (void)snprintf(head, sizeof(head),
                   "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                   "Mcp-Session-Id: s1\r\n\r\n",
                   status, type, strlen(body));
    raw_put(head);
    raw_put(body);
}

static void answer_result(long id, const char *result)
{
    char body[1024];

    (void)snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%s}", id,
                   result);
    answer("200 OK", "application/json", body);
}

/* A stream without a length, which ends with the connection. */
static void stream(const char *events)
{
    raw_put("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    raw_put(events);
}

/* More than the gateway takes of one answer, without a line end. */
static void put_too_much(void)
{
    static char mib[(1u << 20) + 1];

    memset(mib, 'x', sizeof(mib) - 1);
    for (int i = 0; i < 65; i++)
        raw_put(mib);
}

static void answer_call(long id)
{
    static const char fine[] = "{\"content\":[{\"type\":\"text\",\"text\":\"fine\"}]}";
    char event[256];

    (void)snprintf(event, sizeof(event),
                   "data: {\"jsonrpc\":\"2.0\",\"id\":%ld,\ndata: \"result\":%s}\n\n", id, fine);
    if (is("error-500"))
        answer("500 Oops", "text/html", "<h1>Oops</h1>");
    else if (is("error-401"))
        answer("401 Who", "text/plain", "");
    else if (is("error-400"))
        answer("400 Bad Request", "application/json",
               "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,"
               "\"message\":\"the moon is wrong\"}}");
    else if (is("redirect"))
        answer("307 Elsewhere\r\nLocation: http://127.0.0.1:1/", "text/plain", "");
    else if (is("error-403"))
        answer("403 No", "text/plain", "");
    else if (is("error-429"))
        answer("429 Later\r\nRetry-After: 7", "text/plain", "");
    else if (is("html"))
        answer("200 OK", "text/html", "<h1>Please log in</h1>");
    else if (is("empty"))
        answer("200 OK", "application/json", "");
    else if (is("accepted"))
        answer("202 Accepted", "application/json", "");
    else if (is("wrong-id"))
        answer_result(id + 1000, fine);
    else if (is("lost-session"))
        answer("404 Not Found", "text/plain", "no such session");
    else if (is("half"))
        raw_put("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                "500\r\n\r\n{\"js");
    else if (is("no-http"))
        raw_put("SSH-2.0-OpenSSH_9.2\r\n");
    else if (is("hang"))
        pause();
    else if (is("stream"))
        stream(event);
    else if (is("stream-noise")) {
        stream(": hello\n\nevent: x\n\ndata: no JSON\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":4711,"
               "\"result\":{}}\n\nid: \x01\nretry: 99999999999999\n");
        raw_put(event);
    } else if (is("stream-ends"))
        stream("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n");
    else if (is("stream-breaks"))
        stream("data: {\"jsonrpc\":\"2.0\",");
    else if (is("stream-too-large")) {
        stream("data: ");
        put_too_much();
        raw_put("\n\n");
    } else if (is("too-large")) {
        raw_put("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n");
        put_too_much();
        exit(0);
    } else
        answer_result(id, fine);
    if (is("half") || is("no-http") || strncmp(mode, "stream", 6) == 0)
        exit(0);
}

static void serve_one(const char *body)
{
    const char *at = strstr(body, "\"id\":");
    long id = at != NULL ? strtol(at + 5, NULL, 10) : -1;

    (void)sscanf(raw_request, "%*s /%60[^ ]", mode);
    if (strncmp(raw_request, "GET ", 4) == 0)
        answer("405 Method Not Allowed", "text/plain", "");
    else if (strncmp(raw_request, "DELETE ", 7) == 0)
        answer("200 OK", "text/plain", "");
    else if (id < 0)
        answer("202 Accepted", "text/plain", "");
    else if (strstr(body, "\"initialize\"") != NULL)
        answer_result(id, "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
                          "\"serverInfo\":{\"name\":\"chaos\",\"version\":\"1\"}}");
    else if (strstr(body, "tools/list") != NULL)
        answer_result(id, "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}]}");
    else if (strstr(body, "tools/call") != NULL)
        answer_call(id);
    else
        answer("400 Bad Request", "text/plain", "what?");
}

int main(void)
{
    return raw_serve(serve_one);
}
