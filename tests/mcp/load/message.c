/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/load/message.c: calls as texts, and whether an answer is the right one. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

const char message_initialize[] =
    "{\"jsonrpc\":\"2.0\",\"id\":\"open\",\"method\":\"initialize\",\"params\":{"
    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
    "\"clientInfo\":{\"name\":\"load\",\"version\":\"1\"}}}";
const char message_initialized[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";

static const char modern_meta[] =
    ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"load\",\"version\":\"1\"},"
    "\"io.modelcontextprotocol/clientCapabilities\":{}}";

static void put_filled(const char *pattern, const char *unique, struct text *out)
{
    const char *at;

    while ((at = strstr(pattern, "%s")) != NULL) {
        text_add(out, pattern, (size_t)(at - pattern));
        text_addz(out, unique);
        pattern = at + 2;
    }
    text_addz(out, pattern);
}

void put_call(const struct options *o, const struct client *c, struct text *out)
{
    char id[24];

    (void)snprintf(id, sizeof(id), "%ld", c->id);
    text_addz(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_addz(out, id);
    text_addz(out, ",\"method\":\"tools/call\",\"params\":{\"name\":\"");
    text_addz(out, c->kind->name);
    text_addz(out, "\",\"arguments\":");
    put_filled(c->kind->arguments, c->unique, out);
    if (o->modern)
        text_addz(out, modern_meta);
    text_addz(out, "}}");
}

/* Over a string that begins at json[i]; the place behind it. */
static size_t skip_string(const char *json, size_t n, size_t i)
{
    for (i++; i < n && json[i] != '"'; i++)
        i += json[i] == '\\';
    return i + 1;
}

/* The value of a member of the outermost object, NULL: none. */
static const char *member(const char *json, size_t n, const char *name)
{
    size_t depth = 0, length = strlen(name);

    for (size_t i = 0; i < n;) {
        if (json[i] == '"') {
            size_t end = skip_string(json, n, i);

            if (depth == 1 && end - i == length + 2 && memcmp(json + i + 1, name, length) == 0 &&
                end < n && json[end] == ':')
                return json + end + 1;
            i = end;
            continue;
        }
        depth += json[i] == '{' || json[i] == '[';
        depth -= json[i] == '}' || json[i] == ']';
        i++;
    }
    return NULL;
}

long message_id(const char *json, size_t n)
{
    const char *id = member(json, n, "id");

    return id != NULL && isdigit((unsigned char)*id) ? atol(id) : -1;
}

enum verdict judge(const struct client *c, const char *json, size_t n)
{
    struct text want = {NULL, 0, 0};
    bool found;

    if (c->kind == NULL)
        return RIGHT;
    if (message_id(json, n) != c->id)
        return CROSSED;
    if (member(json, n, "result") == NULL || memmem(json, n, "\"isError\":true", 14) != NULL)
        return REFUSED;
    put_filled(c->kind->expected, c->unique, &want);
    found = memmem(json, n, want.p, want.n) != NULL;
    free(want.p);
    return found ? RIGHT : CROSSED;
}
