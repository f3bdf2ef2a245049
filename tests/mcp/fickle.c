/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/fickle.c: an MCP server on HTTP whose connections, streams and statuses are
 * trouble, in the way the path of its URL names: http://127.0.0.1:PORT/MODE. One process
 * a connection. Prints "port N", then a line for each request it gets:
 * MODE METHOD what-is-asked Last-Event-ID. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "support/raw_http.h"

static char mode[64];
static const char fine[] = "{\"content\":[{\"type\":\"text\",\"text\":\"fine\"}]}";
/* What the processes of all connections know of a mode. */
struct shared {
    char mode[64];
    long call; /* the id of the call it had last */
    int gets;  /* streams asked for */
};
static struct shared *all, *shared;

#define MODES 64

static void find_shared(void)
{
    shared = all;
    while (shared->mode[0] != '\0' && strcmp(shared->mode, mode) != 0)
        shared++;
    memcpy(shared->mode, mode, sizeof(mode));
}

static bool is(const char *name)
{
    return strcmp(mode, name) == 0;
}

/* One line of the log. */
static void tell(const char *method, const char *asked, const char *last)
{
    char line[256];
    int n = snprintf(line, sizeof(line), "%s %s %s %s\n", mode, method, asked, last);

    if (write(STDOUT_FILENO, line, (size_t)n) != n)
        exit(1);
}

/* lines: further header lines, each with its end. */
static void answer(const char *status, const char *lines, const char *body)
{
    char head[8192];

    (void)snprintf(head, sizeof(head),
                   "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                   "%s%s\r\n",
                   status, strlen(body), lines, is("once") ? "Connection: close\r\n" : "");
    raw_put(head);
    raw_put(body);
    if (is("once"))
        exit(0);
}

static void answer_result(long id, const char *lines, const char *result)
{
    char body[1024];

    (void)snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%s}", id,
                   result);
    answer("200 OK", lines, body);
}

/* The value of a header, cut to size; "": none. */
static void header(const char *name, char *value, size_t size)
{
    const char *at = strcasestr(raw_request, name);

    value[0] = '\0';
    if (at != NULL && at < strstr(raw_request, "\r\n\r\n"))
        (void)snprintf(value, size, "%.*s", (int)strcspn(at + strlen(name), "\r"),
                       at + strlen(name));
}

static bool is_repeated(const char *name)
{
    const char *end = strstr(raw_request, "\r\n\r\n"), *at = strcasestr(raw_request, name);

    at = at != NULL ? strcasestr(at + 1, name) : NULL;
    return at != NULL && at < end;
}

/* Some servers give a signed token for the session's id. */
static const char *session(void)
{
    static char token[4097];

    memset(token, 'x', sizeof(token) - 1);
    return is("long-session") ? token : is("no-method") ? "" : "s1";
}

static bool in_session(void)
{
    char value[8192];

    header("\r\nMcp-Session-Id: ", value, sizeof(value));
    return strcmp(value, session()) == 0;
}

/* A stream without a length, which ends with the connection. */
static void stream(const char *events)
{
    raw_put("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    raw_put(events);
}

/* The event that answers the call, and the end of its stream. */
static void put_answer(void)
{
    char event[256];

    (void)snprintf(event, sizeof(event), "data: {\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%s}\n\n",
                   shared->call, fine);
    raw_put(event);
    exit(0);
}

/* A status with an error of the protocol as its body, which has the request's id. */
static void answer_refusal(long id, const char *status, const char *lines)
{
    char body[256];

    (void)snprintf(body, sizeof(body),
                   "{\"jsonrpc\":\"2.0\",\"id\":%ld,"
                   "\"error\":{\"code\":-32000,\"message\":\"go away\"}}",
                   id);
    answer(status, lines, body);
}

/* The time as a date: an hour from now, or one that is over. */
static void answer_date(time_t when)
{
    char line[64];
    struct tm tm;

    (void)strftime(line, sizeof(line), "Retry-After: %a, %d %b %Y %H:%M:%S GMT\r\n",
                   gmtime_r(&when, &tm));
    answer("429 Later", line, "");
}

static void answer_call(long id)
{
    shared->call = id;
    if (is("half-event")) {
        stream("id: 1\nretry: 100\ndata: \n\nid: 2\ndata: {\"jsonrpc\":");
        exit(0);
    }
    if (is("busy-rest") || is("lost-rest")) {
        stream("id: 1\nretry: 100\ndata: \n\n");
        exit(0);
    }
    if (is("marked")) {
        stream("\xef\xbb\xbf");
        put_answer();
    }
    if (is("closes"))
        exit(0); /* it has acted by now */
    if (is("refused-401"))
        answer_refusal(id, "401 Who", "");
    else if (is("refused-403"))
        answer_refusal(id, "403 No", "");
    else if (is("refused-429"))
        answer_refusal(id, "429 Later", "Retry-After: 7\r\n");
    else if (is("date"))
        answer_date(time(NULL) + 3600);
    else if (is("past-date"))
        answer_date(time(NULL) - 3600);
    else if (is("no-date"))
        answer("429 Later", "Retry-After: soon\r\n", "");
    else if (is("refused-503"))
        answer_refusal(id, "503 Later", "Retry-After: 7\r\n");
    else if (is("no-method"))
        answer_refusal(id, "404 Not Found", "");
    else if (is("proxy-503"))
        answer("503 Upstream Reset", "", "upstream reset");
    else
        answer_result(id, "", fine);
}

static void open_session(long id)
{
    char lines[4400];

    (void)snprintf(lines, sizeof(lines), "Mcp-Session-Id: %s\r\n", session());
    answer_result(id, is("no-method") ? "" : lines,
                  "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
                  "\"serverInfo\":{\"name\":\"fickle\",\"version\":\"1\"}}");
}

/* Nothing comes: when the client gives it up, that is told. */
static void hang(const char *asked)
{
    while (recv(raw_client, raw_request, sizeof(raw_request), 0) > 0)
        ;
    tell("gone", asked, "");
    exit(0);
}

/* A server of 2026-07-28 that looks at the headers of calls. */
static void answer_modern(long id, const char *asked)
{
    char name[64];

    header("\r\nMcp-Name: ", name, sizeof(name));
    if (strcmp(asked, "server/discover") == 0)
        answer_result(id, "",
                      "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
                      "\"capabilities\":{\"tools\":{}},"
                      "\"serverInfo\":{\"name\":\"fickle\",\"version\":\"1\"}}");
    else if (strcmp(asked, "tools/list") == 0)
        answer_result(id, "",
                      "{\"resultType\":\"complete\",\"tools\":[{\"name\":\"t\",\"inputSchema\":{"
                      "\"type\":\"object\",\"properties\":{\"h\":{\"type\":\"string\","
                      "\"x-mcp-header\":\"H\"}}}}]}");
    else if (strcmp(asked, "tools/call") == 0 && strcmp(name, "t") == 0)
        answer_result(id, "", fine);
    else
        answer_refusal(id, "400 Bad Request", "");
}

static void answer_post(const char *asked, const char *body)
{
    const char *at = strstr(body, "\"id\":");
    long id = at != NULL ? strtol(at + 5, NULL, 10) : -1;

    if (is("hangs") && (strcmp(asked, "tools/call") == 0 || strstr(asked, "/cancelled") != NULL))
        hang(asked);
    else if (is("modern"))
        answer_modern(id, asked);
    else if (id < 0)
        answer("202 Accepted", "", "");
    else if (strstr(body, "\"initialize\"") != NULL)
        open_session(id);
    else if (!in_session())
        answer("400 Bad Request", "", "");
    else if (strstr(body, "\"tools/list\"") != NULL)
        answer_result(id, "",
                      "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}]}");
    else if (strstr(body, "\"tools/call\"") != NULL)
        answer_call(id);
    else
        answer("400 Bad Request", "", "");
}

/* The rest of a stream that broke off, or news. */
static void answer_get(const char *last)
{
    bool rest = strcmp(last, "1") == 0;

    if (rest && is("lost-rest")) {
        answer("404 Not Found", "", "");
        return;
    }
    if ((rest || is("busy-news")) && shared->gets++ == 0 && !is("half-event")) {
        answer("503 Later", "Retry-After: 1\r\n", "");
        return;
    }
    if (!rest && !is("busy-news")) {
        answer("405 Method Not Allowed", "", "");
        return;
    }
    stream("");
    if (rest)
        put_answer();
    tell("listens", "-", last);
    hang("news");
}

static void serve_one(const char *body)
{
    char method[16] = "", asked[64] = "-", last[64];
    const char *at = strstr(body, "\"method\":\"");

    (void)sscanf(raw_request, "%15s /%60[^ ]", method, mode);
    find_shared();
    if (at != NULL)
        (void)sscanf(at + 10, "%60[^\"]", asked);
    header("\r\nLast-Event-ID: ", last, sizeof(last));
    tell(method, asked, last);
    if (is_repeated("\r\nContent-Type:") || is_repeated("\r\nAccept:"))
        answer("415 Unsupported Media Type", "", "");
    else if (strcmp(method, "GET") == 0)
        answer_get(last);
    else if (strcmp(method, "DELETE") == 0)
        answer("200 OK", "", "");
    else
        answer_post(asked, body);
}

int main(void)
{
    all =
        mmap(NULL, MODES * sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return all != MAP_FAILED ? raw_serve(serve_one) : 1;
}
