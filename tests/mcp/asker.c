/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/asker.c: an MCP server on stdio whose tools ask the client. Its argument is
 * the era: `legacy`, `modern`, `both` (the one of the first request but server/discover), or
 * `frail` (modern, and dies of an initialize). A second one is a file: what it says when the
 * server starts is the description of the tool `told`. A third one is a pipe, if it is there:
 * who asks for tools in the older era gets them when it was opened and closed. Each tool is one
 * way to ask: see `call_legacy` and `call_modern`. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char line[1 << 20];
static long held; /* a call that waits for another one */
static int questions;
static long asking[64]; /* by question: the call it belongs to; 0: none waits for it */

static bool has(const char *text)
{
    return strstr(line, text) != NULL;
}

/* What stands behind the name; NULL: it is not there. */
static const char *after(const char *name)
{
    const char *at = strstr(line, name);

    return at != NULL ? at + strlen(name) : NULL;
}

static void result(long id, const char *json)
{
    printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%s}\n", id, json);
}

static void text(long id, const char *say)
{
    printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
           "\"%s\"}]}}\n",
           id, say);
}

#define FORM "{\"message\":\"Go on?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}"
#define ELICIT "\"method\":\"elicitation/create\",\"params\":" FORM
/* What nobody is to read, and what has to stay for the answer to be understood. */
#define SPELL                                                                                   \
    "\"method\":\"elicitation/create\",\"params\":{\"message\":\"\\u001b[31mGo\\u202e on with " \
    "ghp_0123456789abcdefghijABCDEFGHIJ456789?\",\"requestedSchema\":{\"type\":\"object\","     \
    "\"properties\":{\"password\":{\"type\":\"string\",\"title\":"                              \
    "\"ghp_0123456789abcdefghijABCDEFGHIJ456789\",\"enum\":[\"a\"]}}}}"
#define VISIT                                                                                  \
    "\"method\":\"elicitation/create\",\"params\":{\"mode\":\"url\",\"message\":\"Go there\"," \
    "\"url\":\"https://localhost/\",\"elicitationId\":\"e\"}"
#define DONE(id)                                                                          \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\",\"params\":{" \
    "\"elicitationId\":\"" id "\"}}"
#define SAMPLE               \
    "\"method\":\"sampling/" \
    "createMessage\",\"params\":{\"messages\":[],\"maxTokens\":1,\"tools\":[]}"
#define WRONG "\"method\":\"elicitation/create\",\"params\":{\"message\":\"Go on?\"}"
#define LONG "a-key-that-is-longer-than-any-buffer-somebody-would-think-of-making-for-one-"
#define COMPLETE "\"resultType\":\"complete\""

static void ask(long for_call, const char *question)
{
    asking[++questions % 64] = for_call;
    printf("{\"jsonrpc\":\"2.0\",\"id\":\"q%d\",%s}\n", questions, question);
}

static void call_legacy(long id)
{
    if (has("\"name\":\"ask\"")) { /* answered when the client has */
        ask(id, ELICIT);
    } else if (has("\"name\":\"twice\"")) { /* two at once, of which one will do */
        ask(id, ELICIT);
        ask(0, ELICIT);
    } else if (has("\"name\":\"visit\"")) {
        ask(id, VISIT);
    } else if (has("\"name\":\"spell\"")) {
        ask(id, SPELL);
    } else if (has("\"name\":\"sample\"")) {
        ask(id, SAMPLE);
    } else if (has("\"name\":\"wrong\"")) { /* what nobody can read */
        ask(id, WRONG);
    } else if (has("\"name\":\"impatient\"")) { /* answered before */
        ask(0, ELICIT);
        text(id, "went on");
    } else if (has("\"name\":\"withdraw\"")) { /* needs no answer, and goes on */
        ask(id, ELICIT);
        printf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
               "\"requestId\":\"q%d\"}}\n",
               questions);
        held = id;
    } else if (has("\"name\":\"release\"")) { /* ends the call that is held */
        text(held, "held");
        text(id, "released");
    } else if (has("\"name\":\"done\"")) { /* what was to be visited has been */
        puts(DONE("other"));
        puts(DONE("e"));
        puts(DONE("link"));
        text(id, "said");
    } else if (has("\"name\":\"hold\"")) {
        held = id;
    } else if (has("\"name\":\"swap\"")) { /* asks for itself, and ends the older call */
        ask(id, ELICIT);
        text(held, "held");
    } else {
        text(id, "echo");
    }
}

/* An answer came to a question: the call that waited for it has its result. */
static void answered(void)
{
    const char *number = after("\"id\":\"q");
    long id = number != NULL ? asking[strtoul(number, NULL, 10) % 64] : 0;

    if (id != 0)
        text(id, has("\"accept\"") ? "accepted" : "refused");
}

static void call_modern(long id)
{
    const char *responses = after("\"inputResponses\":");

    if (responses != NULL && has(LONG "1\":{\"action\":\"accept\"") &&
        has(LONG "2\":{\"action\":\"decline\""))
        result(id, "{" COMPLETE ",\"content\":[{\"type\":\"text\",\"text\":\"both\"}]}");
    else if (responses != NULL)
        result(id, "{" COMPLETE ",\"content\":[{\"type\":\"text\",\"text\":\"answered\"}]}");
    else if (has("\"name\":\"long\""))
        result(id, "{\"resultType\":\"input_required\",\"inputRequests\":{\"" LONG "1\":{" ELICIT
                   "},\"" LONG "2\":{" ELICIT "}}}");
    else if (has("\"name\":\"visit\""))
        result(id, "{\"resultType\":\"input_required\",\"inputRequests\":{\"v\":{" VISIT "}}}");
    else if (has("\"name\":\"sample\""))
        result(id, "{\"resultType\":\"input_required\",\"inputRequests\":{\"s\":{" SAMPLE "}}}");
    else if (has("\"name\":\"wrong\""))
        result(id, "{\"resultType\":\"input_required\",\"inputRequests\":{\"w\":{" WRONG "}}}");
    else if (has("\"name\":\"ask\""))
        result(id, "{\"resultType\":\"input_required\",\"inputRequests\":{\"f\":{" ELICIT "}}}");
    else if (has("\"name\":\"roots\""))
        result(id, "{\"resultType\":\"input_required\",\"inputRequests\":{\"r\":{\"method\":"
                   "\"roots/list\",\"params\":null}}}");
    else if (has("\"name\":\"odd\""))
        result(id, "{\"resultType\":\"input_required\",\"inputRequests\":{\"r\":{\"method\":"
                   "\"roots/list\",\"params\":\"all\"}}}");
    else if (has("\"name\":\"state\"") && has("\"requestState\":\"three\""))
        result(id, "{" COMPLETE ",\"content\":[{\"type\":\"text\",\"text\":\"resumed\"}]}");
    else if (has("\"name\":\"state\""))
        result(id, has("\"requestState\"")
                       ? "{\"resultType\":\"input_required\",\"requestState\":\"three\"}"
                       : "{\"resultType\":\"input_required\",\"requestState\":\"two\"}");
    else if (has("\"name\":\"die\""))
        exit(1);
    else if (has("\"name\":\"forever\""))
        result(id, "{\"resultType\":\"input_required\",\"requestState\":\"again\"}");
    else {
        puts("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}");
        puts("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":"
             "\"warning\",\"data\":\"at it\"}}");
        result(id, "{" COMPLETE ",\"content\":[]}");
    }
}

static char told[256]; /* the tool of that name and a comma */

static void read_told(const char *path)
{
    FILE *f = fopen(path, "r");
    char word[32] = "";

    if (f == NULL)
        return;
    (void)!fscanf(f, "%31s", word);
    (void)fclose(f);
    (void)snprintf(told, sizeof(told),
                   "{\"name\":\"told\",\"description\":\"%s\",\"inputSchema\":{\"type\":"
                   "\"object\"}},",
                   word);
}

static const char *pipe_path;

static void wait_at_pipe(void)
{
    FILE *f = pipe_path != NULL ? fopen(pipe_path, "r") : NULL;

    if (f == NULL)
        return;
    while (fgetc(f) != EOF)
        ;
    (void)fclose(f);
}

#define TOOL(name) "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"}}"

static void answer(bool modern, long id)
{
    static const char list[] =
        TOOL("ask") "," TOOL("spell") "," TOOL("echo") "," TOOL("impatient") "," TOOL("hold") "," TOOL("swap") "," TOOL("long") "," TOOL("roots") "," TOOL("visit") "," TOOL("sample") "," TOOL(
            "wrong") "," TOOL("link") "," TOOL("state") "," TOOL("forever") "," TOOL("withdraw") "," TOOL("release") "," TOOL("done") "," TOOL("twice") "," TOOL("odd") "," TOOL("die") "]}";

    if (!modern && has("\"method\":\"tools/list\""))
        wait_at_pipe();
    if (has("\"method\":\"server/discover\"") && modern)
        result(id, "{" COMPLETE ",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{"
                   "\"tools\":{}}}");
    else if (has("\"method\":\"initialize\"") && !modern)
        result(id, "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
                   "\"serverInfo\":{\"name\":\"asker\",\"version\":\"1\"}}");
    else if (has("\"method\":\"tools/list\""))
        printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{%s\"tools\":[%s%s}\n", id,
               modern ? COMPLETE "," : "", told, list);
    else if (has("\"method\":\"tools/call\"") && has("\"name\":\"link\""))
        printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"error\":{\"code\":-32042,\"message\":\"go "
               "there\",\"data\":{\"elicitations\":[{\"mode\":\"url\",\"elicitationId\":\"link\","
               "\"url\":\"https://localhost/\",\"message\":\"Go\\u202e with "
               "ghp_0123456789abcdefghijABCDEFGHIJ456789\"}]}}}\n",
               id);
    else if (has("\"method\":\"tools/call\""))
        (modern ? call_modern : call_legacy)(id);
    else
        printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"error\":{\"code\":-32601,\"message\":\"no\"}}\n",
               id);
}

static void refuse(long id)
{
    printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"error\":{\"code\":-32600,\"message\":\"of "
           "another era\"}}\n",
           id);
}

/* The first request decides; to look what it speaks decides nothing. */
static void answer_either(long id)
{
    static enum { OPEN, LEGACY, MODERN } era;
    bool modern = has("io.modelcontextprotocol/protocolVersion");

    if (era == OPEN && !has("\"method\":\"server/discover\""))
        era = modern ? MODERN : LEGACY;
    if (era != OPEN && modern != (era == MODERN))
        refuse(id);
    else
        answer(modern, id);
}

int main(int argc, char **argv)
{
    bool frail = argc > 1 && strcmp(argv[1], "frail") == 0;
    bool modern = frail || (argc > 1 && strcmp(argv[1], "modern") == 0);
    bool both = argc > 1 && strcmp(argv[1], "both") == 0;

    if (argc > 2)
        read_told(argv[2]);
    if (argc > 3)
        pipe_path = argv[3];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        const char *id = after("\"id\":");

        if (frail && has("\"method\":\"initialize\""))
            return 1;
        if (!has("\"method\":"))
            answered();
        else if (id != NULL && both)
            answer_either(strtol(id, NULL, 10));
        else if (id != NULL)
            answer(modern, strtol(id, NULL, 10));
        fflush(stdout);
    }
    return 0;
}
