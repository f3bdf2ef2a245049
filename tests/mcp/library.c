/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/library.c: an MCP server on stdio with resources and prompts, as its
 * arguments say, which keeps a record of what it is told:
 *   name=N          stands in what it gives out
 *   era=modern      speaks 2026-07-28 only
 *   uris=A,B        resources that it lists and has
 *   template=T      a template that it lists; it has every URI that begins with N
 *   prompts=COUNT   p000, p001, …
 *   stem=S          of their names, in place of p
 *   bare=yes        knows tools only: −32601 to all else
 *   refuse=CODE     is what it answers to prompts/get
 *   slow=MS         before it answers the first prompts/list
 *   mute=METHOD     is never answered
 *   record=FILE     every line that it reads
 * Tools: touch tells of the resource "uri", whoever watches it, and says so in a log
 * message; hold waits for the next touch; die ends it. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char line[1 << 20];
static const char *name = "library", *uris = "", *template = "", *mute = "", *slow;
static const char *stem = "p";
static bool modern, bare;
static int prompts = 1, refuse;
static long held = -1;
static FILE *record;
static char listens[4096]; /* " ID" of each open stream with what it wants, modern */

/* The text of a member, wherever it stands; "" if there is none. */
static const char *member(const char *key)
{
    static char values[4][1024];
    static int turn;
    char pattern[64], *out = values[turn = (turn + 1) % 4];
    const char *at;
    size_t n;

    (void)snprintf(pattern, sizeof(pattern), "\"%s\":\"", key);
    at = strstr(line, pattern);
    at = at != NULL ? at + strlen(pattern) : "";
    n = strcspn(at, "\"");
    (void)snprintf(out, 1024, "%.*s", (int)n, at);
    return out;
}

static void say_result(long id, const char *members)
{
    printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{%s%s}}\n", id,
           modern ? "\"resultType\":\"complete\",\"ttlMs\":1000,\"cacheScope\":\"private\"," : "",
           members);
}

static void say_error(long id, int code)
{
    printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"error\":{\"code\":%d,\"message\":\"no\"}}\n", id,
           code);
}

static bool has_uri(const char *uri)
{
    char all[4096], *rest = all, *one;

    (void)snprintf(all, sizeof(all), "%s", uris);
    while ((one = strtok_r(rest, ",", &rest)) != NULL)
        if (strcmp(one, uri) == 0)
            return true;
    return template[0] != '\0' && strncmp(uri, name, strlen(name)) == 0;
}

static void list_resources(char *out, size_t size)
{
    char all[4096], *rest = all, *one;
    size_t n = (size_t)snprintf(out, size, "\"resources\":[");

    (void)snprintf(all, sizeof(all), "%s", uris);
    while ((one = strtok_r(rest, ",", &rest)) != NULL)
        n += (size_t)snprintf(out + n, size - n, "%s{\"uri\":\"%s\",\"name\":\"r\"}",
                              out[n - 1] == '[' ? "" : ",", one);
    (void)snprintf(out + n, size - n, "]");
}

static void list_prompts(char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "\"prompts\":[\"no prompt\",{\"title\":\"nameless\"}");

    if (slow != NULL)
        (void)usleep((useconds_t)atoi(slow) * 1000);
    slow = NULL;
    for (int i = 0; i < prompts; i++)
        n += (size_t)snprintf(out + n, size - n, ",{\"name\":\"%s%03d\"}", stem, i);
    (void)snprintf(out + n, size - n, "]");
}

static void touch(const char *uri)
{
    char all[sizeof(listens)], *rest = all, *one;

    if (!modern) {
        printf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
               "\"params\":{\"uri\":\"%s\"}}\n",
               uri);
        return;
    }
    (void)snprintf(all, sizeof(all), "%s", listens);
    while ((one = strtok_r(rest, "\n", &rest)) != NULL)
        if (strstr(one, uri) != NULL)
            printf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
                   "\"params\":{\"uri\":\"%s\",\"_meta\":{"
                   "\"io.modelcontextprotocol/subscriptionId\":%ld}}}\n",
                   uri, atol(one));
}

static void call(long id)
{
    static const char done[] = "\"content\":[{\"type\":\"text\",\"text\":\"done\"}]";

    if (strcmp(member("name"), "die") == 0)
        exit(3);
    if (strcmp(member("name"), "hold") == 0) {
        held = id;
        return;
    }
    touch(member("uri"));
    printf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{"
           "\"level\":\"debug\",\"data\":\"touched\"}}\n");
    say_result(id, done);
    if (held >= 0)
        say_result(held, done);
    held = -1;
}

static void listen_to(long id)
{
    const char *wanted = strstr(line, "\"resourceSubscriptions\":[");
    size_t n = strlen(listens);

    (void)snprintf(listens + n, sizeof(listens) - n, "%ld %.*s\n", id,
                   wanted != NULL ? (int)strcspn(wanted, "]") : 0, wanted != NULL ? wanted : "");
    printf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\","
           "\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%ld},"
           "\"notifications\":{}}}\n",
           id);
}

/* A stream that is cancelled hears nothing more. */
static void unlisten(void)
{
    const char *at = strstr(line, "\"requestId\":");
    char key[32], *from;

    if (at == NULL)
        return;
    (void)snprintf(key, sizeof(key), "%ld ", atol(at + 12));
    from = strstr(listens, key);
    if (from != NULL)
        memset(from, ' ', strcspn(from, "\n"));
}

static void answer(long id, const char *method)
{
    static char out[1 << 18];

    if (bare && (strncmp(method, "resources/", 10) == 0 || strncmp(method, "prompts/", 8) == 0 ||
                 strncmp(method, "completion/", 11) == 0)) {
        say_error(id, -32601);
    } else if (refuse != 0 && strcmp(method, "prompts/get") == 0) {
        say_error(id, refuse);
    } else if (modern && strcmp(method, "server/discover") == 0) {
        say_result(id, "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{},"
                       "\"resources\":{\"subscribe\":true},\"prompts\":{}}");
    } else if (modern && strcmp(method, "subscriptions/listen") == 0) {
        listen_to(id);
    } else if (!modern && strcmp(method, "initialize") == 0) {
        say_result(id, "\"protocolVersion\":\"2025-11-25\",\"serverInfo\":{\"name\":\"library\","
                       "\"version\":\"1\"},\"capabilities\":{\"tools\":{},\"prompts\":{},"
                       "\"completions\":{},\"logging\":{},\"resources\":{\"subscribe\":true}}");
    } else if (!modern && strstr(method, "subscribe") != NULL) {
        say_result(id, "\"_meta\":{}");
    } else if (strcmp(method, "tools/list") == 0) {
        say_result(id, "\"tools\":[{\"name\":\"touch\",\"inputSchema\":{\"type\":\"object\"}},"
                       "{\"name\":\"hold\",\"inputSchema\":{\"type\":\"object\"}},"
                       "{\"name\":\"die\",\"inputSchema\":{\"type\":\"object\"}}]");
    } else if (strcmp(method, "tools/call") == 0) {
        call(id);
    } else if (strcmp(method, "resources/list") == 0) {
        list_resources(out, sizeof(out));
        say_result(id, out);
    } else if (strcmp(method, "resources/templates/list") == 0 && template[0] != '\0') {
        (void)snprintf(out, sizeof(out),
                       "\"resourceTemplates\":[{\"uriTemplate\":\"%s\",\"name\":\"t\"}]", template);
        say_result(id, out);
    } else if (strcmp(method, "resources/read") == 0 && has_uri(member("uri"))) {
        (void)snprintf(out, sizeof(out), "\"contents\":[{\"uri\":\"%s\",\"text\":\"of %s\"}]",
                       member("uri"), name);
        say_result(id, out);
    } else if (strcmp(method, "prompts/list") == 0) {
        list_prompts(out, sizeof(out));
        say_result(id, out);
    } else if (strcmp(method, "prompts/get") == 0) {
        (void)snprintf(out, sizeof(out),
                       "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
                       "\"text\":\"%s of %s\"}}]",
                       member("name"), name);
        say_result(id, out);
    } else if (strcmp(method, "completion/complete") == 0) {
        (void)snprintf(out, sizeof(out), "\"completion\":{\"values\":[\"of %s\"]}", name);
        say_result(id, out);
    } else {
        say_error(id, strcmp(method, "resources/read") != 0 ? -32601 : modern ? -32602 : -32002);
    }
}

static void take_option(const char *option)
{
    const char *value = strchr(option, '=') + 1;

    if (strncmp(option, "name=", 5) == 0)
        name = value;
    else if (strncmp(option, "era=", 4) == 0)
        modern = value[0] == 'm';
    else if (strncmp(option, "uris=", 5) == 0)
        uris = value;
    else if (strncmp(option, "template=", 9) == 0)
        template = value;
    else if (strncmp(option, "prompts=", 8) == 0)
        prompts = atoi(value);
    else if (strncmp(option, "stem=", 5) == 0)
        stem = value;
    else if (strncmp(option, "refuse=", 7) == 0)
        refuse = atoi(value);
    else if (strncmp(option, "bare=", 5) == 0)
        bare = true;
    else if (strncmp(option, "slow=", 5) == 0)
        slow = value;
    else if (strncmp(option, "mute=", 5) == 0)
        mute = value;
    else if (strncmp(option, "record=", 7) == 0)
        record = fopen(value, "a");
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        take_option(argv[i]);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        const char *method = member("method"), *id = strstr(line, "\"id\":");

        if (record != NULL)
            fputs(line, record);
        if (record != NULL)
            fflush(record);
        if (strcmp(method, "notifications/cancelled") == 0)
            unlisten();
        else if (id != NULL && method[0] != '\0' &&
                 (mute[0] == '\0' || strstr(method, mute) == NULL))
            answer(atol(id + 5), method);
        fflush(stdout);
    }
    return 0;
}
