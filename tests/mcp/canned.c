/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/canned.c: an MCP server on stdio that answers from files of a folder, its
 * argument: `tools` is the list, a tool's own name its result, and NAME.line a whole line
 * in which %ID stands for the id of the request. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char line[1 << 20];
static char text[64 << 20];
static const char *folder;

static bool read_file(const char *name, const char *ending)
{
    char path[4096];
    FILE *f;
    size_t n;

    (void)snprintf(path, sizeof(path), "%s/%s%s", folder, name, ending);
    f = fopen(path, "r");
    if (f == NULL)
        return false;
    n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
    return true;
}

static void answer_line(const char *id)
{
    const char *from = text, *at;

    for (; (at = strstr(from, "%ID")) != NULL; from = at + 3)
        printf("%.*s%s", (int)(at - from), from, id);
    puts(from);
}

static void answer_result(const char *id, const char *before, const char *after)
{
    printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s%s%s}\n", id, before, text, after);
}

static void answer(const char *id)
{
    const char *name = strstr(line, "\"name\":\"");
    char tool[256] = "";

    if (name != NULL)
        (void)sscanf(name, "\"name\":\"%255[^\"]", tool);
    text[0] = '\0';
    if (strstr(line, "\"initialize\"") != NULL)
        answer_result(id,
                      "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
                      "\"serverInfo\":{\"name\":\"canned\",\"version\":\"1\"}}",
                      "");
    else if (strstr(line, "\"tools/list\"") != NULL && read_file("tools", ""))
        answer_result(id, "{\"tools\":[", "]}");
    else if (strstr(line, "\"tools/call\"") != NULL && read_file(tool, ".line"))
        answer_line(id);
    else if (strstr(line, "\"tools/call\"") != NULL && read_file(tool, ""))
        answer_result(id, "", "");
    else
        printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"no\"}}\n",
               id);
}

int main(int argc, char **argv)
{
    folder = argc > 1 ? argv[1] : ".";
    while (fgets(line, sizeof(line), stdin) != NULL) {
        const char *at = strstr(line, "\"id\":");
        char id[32] = "";

        if (at != NULL && sscanf(at, "\"id\":%31[0-9]", id) == 1)
            answer(id);
        fflush(stdout);
    }
    return 0;
}
