/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/shifty.c: an MCP server on stdio whose tools are what the file DIR/tools says,
 * a JSON array, when it starts; the tool "reload" reads it again and says so. What it is
 * asked goes to DIR/log, a line each: the method, and the name of a tool. DIR/result is
 * the result of its other tools, DIR/prompts and DIR/resources are its other lists. With
 * DIR/restless it says after every list of tools that they have changed. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char line[1 << 20], tools[1 << 20], text[1 << 20];
static const char *dir;

/* One line of JSON out of a file; false: there is none. */
static bool load(const char *name, char *into, size_t size)
{
    char path[4096];
    FILE *f;
    size_t n;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "r");
    if (f == NULL)
        return false;
    n = fread(into, 1, size - 1, f);
    into[n] = '\0';
    while (n-- > 0)
        if (into[n] == '\n')
            into[n] = ' ';
    (void)fclose(f);
    return true;
}

static void say(const char *what)
{
    puts(what);
    fflush(stdout);
}

/* The value of a member with a string that needs no unquoting. */
static const char *member(const char *name)
{
    static char value[256];
    const char *at = strstr(line, name);

    value[0] = '\0';
    if (at != NULL)
        (void)snprintf(value, sizeof(value), "%.*s", (int)strcspn(at + strlen(name), "\""),
                       at + strlen(name));
    return value;
}

static void note(const char *method)
{
    char path[4096];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/log", dir);
    f = fopen(path, "a");
    if (f == NULL)
        return;
    fprintf(f, "%s", method);
    fprintf(f, " %s\n", member("\"params\":{\"name\":\""));
    (void)fclose(f);
}

static void answer_call(long id)
{
    const char *name = member("\"params\":{\"name\":\"");

    if (strcmp(name, "die") == 0)
        exit(1);
    if (strcmp(name, "reload") == 0) {
        (void)load("tools", tools, sizeof(tools));
        say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    }
    if (strcmp(name, "reload") == 0 || !load("result", text, sizeof(text)))
        (void)snprintf(text, sizeof(text), "{\"content\":[{\"type\":\"text\",\"text\":\"ran\"}]}");
    printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%s}\n", id, text);
}

static void answer_list(long id, const char *name)
{
    const char *list = strcmp(name, "tools") == 0       ? tools
                       : load(name, text, sizeof(text)) ? text
                                                        : "[]";

    printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"%s\":%s}}\n", id, name, list);
    fflush(stdout);
    (void)snprintf(line, sizeof(line), "%s/restless", dir);
    if (strcmp(name, "tools") == 0 && access(line, F_OK) == 0)
        say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
}

int main(int argc, char **argv)
{
    dir = argc > 1 ? argv[1] : ".";
    if (!load("tools", tools, sizeof(tools)))
        return 1;
    while (fgets(line, sizeof(line), stdin) != NULL) {
        const char *at = strstr(line, "\"id\":");
        long id = at != NULL ? strtol(at + 5, NULL, 10) : -1;
        char method[256];

        if (id < 0)
            continue;
        (void)snprintf(method, sizeof(method), "%s", member("\"method\":\""));
        note(method);
        if (strcmp(method, "initialize") == 0)
            printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"protocolVersion\":\"2025-11-25\","
                   "\"capabilities\":{\"tools\":{\"listChanged\":true},\"prompts\":{},"
                   "\"resources\":{}},\"serverInfo\":{\"name\":\"shifty\",\"version\":\"1\"}}}\n",
                   id);
        else if (strcmp(method, "tools/call") == 0)
            answer_call(id);
        else if (strcmp(method, "tools/list") == 0)
            answer_list(id, "tools");
        else if (strcmp(method, "prompts/list") == 0)
            answer_list(id, "prompts");
        else if (strcmp(method, "resources/list") == 0)
            answer_list(id, "resources");
        else
            printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"error\":{\"code\":-32601,\"message\":"
                   "\"no\"}}\n",
                   id);
        fflush(stdout);
    }
    return 0;
}
