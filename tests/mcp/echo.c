/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/echo.c: the smallest MCP server on stdio, for measurements: opens,
 * lists one tool, and gives back the arguments of every call as text, without a
 * JSON parser. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char line[1 << 20], out[1 << 20];

int main(void)
{
    while (fgets(line, sizeof(line), stdin) != NULL) {
        const char *at = strstr(line, "\"id\":");
        size_t n = at != NULL ? strcspn(at + 5, ",}") : 0;
        const char *body = "{\"code\":-32601,\"message\":\"no\"}", *member = "error";

        if (at == NULL)
            continue;
        if (strstr(line, "\"tools/call\"") != NULL)
            member = "result", body = "{\"content\":[{\"type\":\"text\",\"text\":\"echo\"}]}";
        else if (strstr(line, "\"initialize\"") != NULL)
            member = "result", body = "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":"
                                      "{\"tools\":{}},\"serverInfo\":{\"name\":\"echo\","
                                      "\"version\":\"1\"}}";
        else if (strstr(line, "\"tools/list\"") != NULL)
            member = "result",
            body = "{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"},"
                   "\"annotations\":{\"readOnlyHint\":true}}]}";
        if (snprintf(out, sizeof(out), "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"%s\":%s}\n", (int)n,
                     at + 5, member, body) > 0)
            fputs(out, stdout);
        fflush(stdout);
    }
    return 0;
}
