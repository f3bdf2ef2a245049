/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/echo.c: the smallest MCP server on stdio, for measurements and load:
 * opens, lists one read-only tool, and gives back the `message` of every call,
 * without a JSON parser. Answers to lines that came together leave together.
 *   mcp_echo               always well
 *   mcp_echo --faults N    about N calls of 1000 are not answered, answered twice
 *                          or under a wrong id, or end the server */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM ((size_t)4 << 20)

static char in[ROOM + 1], out[2 * ROOM];
static size_t out_n;
static unsigned faults, seed = 1;

static void flush_out(void)
{
    size_t at = 0;

    while (at < out_n) {
        ssize_t n = write(STDOUT_FILENO, out + at, out_n - at);
        if (n <= 0)
            exit(0); /* nobody reads any more */
        at += (size_t)n;
    }
    out_n = 0;
}

static void put(const char *text, size_t n)
{
    memcpy(out + out_n, text, n);
    out_n += n;
}

static void putz(const char *text)
{
    put(text, strlen(text));
}

/* Length of the string that begins at p, up to its quote. */
static size_t string_length(const char *p)
{
    size_t n = 0;

    while (p[n] != '\0' && p[n] != '"')
        n += p[n] == '\\' && p[n + 1] != '\0' ? 2 : 1;
    return n;
}

static void answer(const char *id, size_t id_n, const char *line)
{
    const char *message = strstr(line, "\"message\":\"");

    putz("{\"jsonrpc\":\"2.0\",\"id\":");
    put(id, id_n);
    if (strstr(line, "\"tools/call\"") != NULL) {
        putz(",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
        if (message != NULL)
            put(message + 11, string_length(message + 11));
        putz("\"}]}}\n");
    } else if (strstr(line, "\"initialize\"") != NULL) {
        putz(",\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
             "\"serverInfo\":{\"name\":\"echo\",\"version\":\"1\"}}}\n");
    } else if (strstr(line, "\"tools/list\"") != NULL) {
        putz(",\"result\":{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\","
             "\"properties\":{\"message\":{\"type\":\"string\"}}},"
             "\"annotations\":{\"readOnlyHint\":true}}]}}\n");
    } else {
        putz(",\"error\":{\"code\":-32601,\"message\":\"no such method\"}}\n");
    }
}

/* One of the faults; false: answer as usual (too). */
static int go_wrong(const char *id, size_t id_n, const char *line)
{
    seed = seed * 1103515245u + 12345u;
    if (strstr(line, "\"tools/call\"") == NULL || (seed >> 16) % 1000 >= faults)
        return 0;
    switch ((seed >> 8) % 4) {
    case 0:
        return 1; /* silence */
    case 1:
        answer(id, id_n, line);
        return 0; /* and once more */
    case 2:
        answer("\"nobody\"", 8, line);
        return 0;
    default:
        flush_out();
        exit(1);
    }
}

static void take_line(const char *line)
{
    const char *id = strstr(line, "\"id\":");
    size_t n;

    if (id == NULL)
        return;
    id += 5;
    n = *id == '"' ? string_length(id + 1) + 2 : strcspn(id, ",}");
    if (2 * strlen(line) + 1024 > sizeof(out) - out_n)
        flush_out();
    if (faults == 0 || !go_wrong(id, n, line))
        answer(id, n, line);
}

int main(int argc, char **argv)
{
    size_t have = 0;
    ssize_t n;

    if (argc == 3 && strcmp(argv[1], "--faults") == 0)
        faults = (unsigned)atoi(argv[2]);
    seed = (unsigned)getpid();
    while ((n = read(STDIN_FILENO, in + have, ROOM - have)) > 0) {
        char *line = in, *end;

        have += (size_t)n;
        in[have] = '\0';
        while ((end = memchr(line, '\n', (size_t)(in + have - line))) != NULL) {
            *end = '\0';
            take_line(line);
            line = end + 1;
        }
        have = (size_t)(in + have - line);
        memmove(in, line, have);
        flush_out();
    }
    return 0;
}
