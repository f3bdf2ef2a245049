/* SPDX-License-Identifier: Apache-2.0
 * mcp/session_test.c: the server over HTTP, by a clock that the test moves: when sessions are
 * idle, which one makes room, what each revision is told. */
#include "mcp/server_world_test.h"

static void a_session_is_idle_from_its_last_answer_on(void **state)
{
    char at_work[SESSION_SIZE], idle[SESSION_SIZE];
    struct world w;
    int fd;

    (void)state;
    start(&w, 0);
    open_session(&w, at_work);
    open_session(&w, idle);
    fd = request(&w, "POST", at_work, CALL);
    pass(&w, 31);
    assert_int_equal(status_of(&w, "POST", idle, PING), 404);
    wbi_mcp_reply(w.held, WBI_LIT("{}"));
    turn(&w);
    assert_non_null(strstr(came(fd), "\"id\":2,\"result\":{}"));
    close(fd);
    pass(&w, 29);
    assert_int_equal(status_of(&w, "POST", at_work, PING), 200);
    pass(&w, 31);
    assert_int_equal(status_of(&w, "POST", at_work, PING), 404);
    stop(&w);
}

static void a_session_that_listens_is_not_idle(void **state)
{
    char session[SESSION_SIZE];
    struct world w;
    int first, second;

    (void)state;
    start(&w, 0);
    open_session(&w, session);
    first = request(&w, "GET", session, "");
    second = request(&w, "GET", session, "");
    close(first);
    pass(&w, 31);
    assert_int_equal(status_of(&w, "POST", session, PING), 200);
    pass(&w, 31);
    close(second);
    turn(&w);
    pass(&w, 29);
    assert_int_equal(status_of(&w, "POST", session, PING), 200);
    stop(&w);
}

static void who_does_not_listen_makes_room_first(void **state)
{
    char listener[SESSION_SIZE], other[SESSION_SIZE], more[SESSION_SIZE];
    struct world w;
    int fd;

    (void)state;
    start(&w, 2);
    open_session(&w, listener);
    fd = request(&w, "GET", listener, "");
    pass(&w, 1);
    open_session(&w, other);
    open_session(&w, more);
    assert_int_equal(status_of(&w, "POST", other, PING), 404);
    assert_int_equal(status_of(&w, "POST", listener, PING), 200);
    assert_int_equal(status_of(&w, "POST", more, PING), 200);
    close(fd);
    stop(&w);
}

#define LAST_CHUNK "0\r\n\r\n"

/* A stream for news must not hold up the end of a server that has nothing else to do. */
static void a_session_ends_with_its_last_request_when_the_server_does(void **state)
{
    char session[SESSION_SIZE];
    struct world w;
    int news, call;

    (void)state;
    start(&w, 0);
    open_session(&w, session);
    news = request(&w, "GET", session, "");
    call = request(&w, "POST", session, CALL);
    assert_non_null(strstr(came(news), "text/event-stream"));
    wbi_mcp_server_quiet(w.server);
    turn(&w);
    assert_null(strstr(came(news), LAST_CHUNK));
    wbi_mcp_reply(w.held, WBI_LIT("{}"));
    turn(&w);
    turn(&w);
    assert_non_null(strstr(came(call), "\"id\":2,\"result\":{}"));
    assert_non_null(strstr(came(news), LAST_CHUNK));
    close(call);
    close(news);
    stop(&w);
}

#define MODERN                                                                    \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io." \
    "modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN_HEADERS(method) "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " method "\r\n"

/* The text of the answer, good until the next one. */
static const char *answer_to(struct world *w, const char *headers, const char *body)
{
    int fd = request(w, "POST", headers, body);
    const char *text = came(fd);

    close(fd);
    turn(w);
    return text;
}

static void errors_are_those_of_the_revision(void **state)
{
    char session[SESSION_SIZE];
    struct world w;
    const char *text;

    (void)state;
    start(&w, 0);
    open_session(&w, session);
    text = answer_to(
        &w, session,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"lacks\"}}");
    assert_non_null(strstr(text, "HTTP/1.1 200"));
    assert_non_null(strstr(text, "\"code\":-32021"));
    text = answer_to(
        &w, session,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"link\"}}");
    assert_non_null(strstr(text, "\"code\":-32042"));
    text = answer_to(&w, MODERN_HEADERS("tools/call") "Mcp-Name: lacks\r\n",
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                     "\"lacks\"," MODERN "}}");
    assert_non_null(strstr(text, "HTTP/1.1 400"));
    assert_non_null(strstr(text, "\"code\":-32021"));
    text = answer_to(&w, MODERN_HEADERS("tools/call") "Mcp-Name: link\r\n",
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                     "\"link\"," MODERN "}}");
    assert_non_null(strstr(text, "\"code\":-32603"));
    stop(&w);
}

static void log_messages_are_announced_in_each_era(void **state)
{
    struct world w;

    (void)state;
    start(&w, 0);
    assert_non_null(strstr(answer_to(&w, MODERN_HEADERS("server/discover"),
                                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/"
                                     "discover\",\"params\":{" MODERN "}}"),
                           "\"logging\":{}"));
    assert_non_null(strstr(answer_to(&w, "", INITIALIZE("\"capabilities\":{}")), "\"logging\":{}"));
    stop(&w);
}

/* Calls the tool with a token for its progress and further members of the params. */
static int call_tool(struct world *w, const char *tool, const char *token, const char *members)
{
    char body[1024], headers[256];

    (void)snprintf(body, sizeof(body),
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                   "\"%s\",%s\"_meta\":{\"progressToken\":\"%s\",\"io.modelcontextprotocol/"
                   "protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"
                   "clientCapabilities\":{\"roots\":{}}}}}",
                   tool, members, token);
    (void)snprintf(headers, sizeof(headers), MODERN_HEADERS("tools/call") "Mcp-Name: %s\r\n", tool);
    return request(w, "POST", headers, body);
}

/* What it answers, good until the next one. */
static const char *answer_of(struct world *w, const char *tool, const char *token,
                             const char *members)
{
    int fd = call_tool(w, tool, token, members);
    const char *text = came(fd);

    close(fd);
    turn(w);
    return text;
}

/* The client knows each round by its own token, and progress rises under each. */
static void progress_begins_anew_with_each_round(void **state)
{
    const char *out, *at;
    char members[256];
    struct world w;

    (void)state;
    start(&w, 0);
    out = answer_of(&w, "ask", "one", "");
    assert_non_null(strstr(out, "\"progressToken\":\"one\",\"progress\":50"));
    at = strstr(out, "\"requestState\":\"");
    assert_non_null(at);
    (void)snprintf(members, sizeof(members), "%.*s,\"inputResponses\":{\"q\":{\"roots\":[]}},",
                   (int)(strcspn(at, "}")), at);
    out = answer_of(&w, "ask", "two", members);
    assert_non_null(strstr(out, "\"progressToken\":\"two\",\"progress\":10"));
    assert_non_null(strstr(out, "\"resultType\":\"complete\""));
    stop(&w);
}

static void a_question_of_a_call_that_is_over_is_not_asked(void **state)
{
    struct world w;

    (void)state;
    start(&w, 0);
    assert_non_null(strstr(answer_of(&w, "brief", "one", ""), "\"message\":\"over\""));
    stop(&w);
}

/* It is found out in the middle of reporting, and is the end of the call. */
static void a_client_may_be_gone_when_its_stream_begins(void **state)
{
    struct world w;
    int fd;

    (void)state;
    start(&w, 0);
    fd = call_tool(&w, "hold", "one", "");
    assert_non_null(w.held);
    leave(fd);
    (void)poll(NULL, 0, 20);
    wbi_mcp_progress(w.held, 1, -1, WBI_NONE, WBI_NONE);
    assert_null(w.held);
    assert_null(w.server->requests);
    stop(&w);
}

/* Nobody between takes it for dead, also where a broken connection would be the end of the call. */
static void a_slow_call_without_a_session_says_that_it_is_at_work(void **state)
{
    const char *text;
    struct world w;
    int fd;

    (void)state;
    start(&w, 0);
    fd = call_tool(&w, "hold", "one", "");
    assert_true(w.server->ticking);
    w.clock.mono_ns += (WBI_MCP_SLOW_MS - 1) * WBI_NS_PER_MS;
    pass(&w, 0);
    assert_string_equal(came(fd), "");
    w.clock.mono_ns += WBI_NS_PER_MS;
    pass(&w, 0);
    text = came(fd);
    assert_non_null(strstr(text, "text/event-stream"));
    assert_non_null(strstr(text, WBI_SSE_COMMENT));
    assert_null(strstr(text, "id: "));
    w.clock.mono_ns += WBI_MCP_KEEP_ALIVE_MS * WBI_NS_PER_MS;
    pass(&w, 0);
    assert_non_null(strstr(came(fd), WBI_SSE_COMMENT));
    wbi_mcp_reply(w.held, WBI_LIT("{}"));
    turn(&w);
    assert_non_null(strstr(came(fd), "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"));
    close(fd);
    stop(&w);
}

static void on_nothing(void *arg, const wbi_json *answer, bool is_error)
{
    (void)arg;
    (void)answer;
    (void)is_error;
}

/* What counts is how long this exchange takes, not the rounds before. */
static void a_retry_is_as_slow_as_itself(void **state)
{
    const char *out, *at;
    char members[256];
    struct world w;
    int fd;

    (void)state;
    start(&w, 0);
    fd = call_tool(&w, "hold", "one", "");
    assert_int_equal(
        wbi_mcp_ask(w.held, WBI_LIT("q"), WBI_LIT("roots/list"), WBI_NONE, on_nothing, NULL),
        WB_OK);
    turn(&w);
    out = came(fd);
    close(fd);
    at = strstr(out, "\"requestState\":\"");
    assert_non_null(at);
    (void)snprintf(members, sizeof(members), "%.*s,\"inputResponses\":{\"q\":{\"roots\":[]}},",
                   (int)(strcspn(at, "}")), at);
    w.clock.mono_ns += WBI_MCP_SLOW_MS * WBI_NS_PER_MS;
    fd = call_tool(&w, "hold", "two", members);
    pass(&w, 0);
    assert_string_equal(came(fd), "");
    wbi_mcp_reply(w.held, WBI_LIT("{}"));
    turn(&w);
    assert_non_null(strstr(came(fd), "application/json"));
    close(fd);
    stop(&w);
}

static wb_rc ask_roots(struct world *w)
{
    return wbi_mcp_ask(w->held, WBI_NONE, WBI_LIT("roots/list"), WBI_NONE, on_answer, w);
}

#define QUESTION "\"method\":\"roots/list\""

/* A call under way of a client of an older revision that can be asked for its roots. */
static int start_call(struct world *w, char session[SESSION_SIZE])
{
    start(w, 0);
    open_session_as(w, session, INITIALIZE("\"capabilities\":{\"roots\":{}}"));
    return request(w, "POST", session, CALL);
}

/* Of an older revision the call goes on: its question goes to where the client still reads. */
static void a_question_finds_a_stream_or_is_refused(void **state)
{
    char session[SESSION_SIZE];
    struct world w;
    int call, news;

    (void)state;
    call = start_call(&w, session);
    news = request(&w, "GET", session, "");
    (void)came(news);
    assert_int_equal(ask_roots(&w), WB_OK);
    turn(&w);
    assert_non_null(strstr(came(call), QUESTION));
    assert_string_equal(came(news), "");
    leave(call);
    turn(&w);
    assert_non_null(strstr(came(news), QUESTION)); /* again: it may not have been read */
    assert_int_equal(ask_roots(&w), WB_OK);
    turn(&w);
    assert_non_null(strstr(came(news), QUESTION));
    assert_int_equal(w.dropped, 0);
    leave(news);
    turn(&w);
    assert_int_equal(w.dropped, 2);
    assert_int_equal(ask_roots(&w), WB_EDENIED);
    wbi_mcp_reply(w.held, WBI_LIT("{}"));
    stop(&w);
}

/* It is none, but nothing better will come: the call goes on with an error. What only looks like
 * an answer is a request of the client's own. */
static void an_answer_that_cannot_be_read_ends_its_question(void **state)
{
    static const char *const ends[] = {"}", ",\"error\":\"no\"}", ",\"result\":{},\"error\":{}}",
                                       ",\"result\":{\"a\":1,\"a\":2}}"};
    char session[SESSION_SIZE], body[256], key[64];
    struct world w;
    int call, fd;

    (void)state;
    call = start_call(&w, session);
    for (unsigned i = 0; i < WBI_COUNT(ends); i++) {
        assert_int_equal(ask_roots(&w), WB_OK);
        (void)snprintf(key, sizeof(key), "%s", w.held->asks->key.p);
        (void)snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":7}", key);
        assert_int_equal(status_of(&w, "POST", session, body), 400);
        assert_int_equal(w.refused, i);
        (void)snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\"%s", key, ends[i]);
        fd = request(&w, "POST", session, body);
        assert_null(strstr(came(fd), "\"id\"")); /* it is no id of the client's */
        close(fd);
        assert_int_equal(w.refused, i + 1);
        assert_null(w.held->asks);
    }
    assert_int_equal(w.dropped, 0);
    wbi_mcp_reply(w.held, WBI_LIT("{}"));
    close(call);
    stop(&w);
}

/* It is found out by asking, before anything else was said: nothing is left of the question. */
static void a_question_may_find_its_client_gone(void **state)
{
    char session[SESSION_SIZE];
    struct world w;
    int call;

    (void)state;
    call = start_call(&w, session);
    leave(call);
    (void)poll(NULL, 0, 20);
    (void)ask_roots(&w);
    assert_int_equal(w.dropped, 1);
    assert_null(w.held->asks);
    wbi_mcp_reply(w.held, WBI_LIT("{}"));
    stop(&w);
}

/* Only what went out on the stream that ended may not have been read. */
static void a_question_goes_out_again_only_when_its_stream_ends(void **state)
{
    char session[SESSION_SIZE];
    struct world w;
    int call, first, second;

    (void)state;
    call = start_call(&w, session);
    first = request(&w, "GET", session, "");
    second = request(&w, "GET", session, "");
    leave(call);
    turn(&w);
    (void)came(first);
    assert_int_equal(ask_roots(&w), WB_OK);
    turn(&w);
    assert_non_null(strstr(came(first), QUESTION));
    leave(second);
    turn(&w);
    assert_string_equal(came(first), "");
    second = request(&w, "GET", session, "");
    (void)came(second);
    leave(first);
    turn(&w);
    assert_non_null(strstr(came(second), QUESTION));
    assert_int_equal(w.dropped, 0);
    leave(second);
    turn(&w);
    assert_int_equal(w.dropped, 1);
    wbi_mcp_reply(w.held, WBI_LIT("{}"));
    stop(&w);
}

/* Also when it is found out by taking the question back that its stream has ended. */
static void a_question_that_is_taken_back_does_not_go_out_again(void **state)
{
    char session[SESSION_SIZE];
    struct world w;
    int call, news;

    (void)state;
    call = start_call(&w, session);
    news = request(&w, "GET", session, "");
    (void)came(news);
    assert_int_equal(ask_roots(&w), WB_OK);
    turn(&w);
    leave(call);
    (void)poll(NULL, 0, 20);
    wbi_mcp_reply(w.held, WBI_LIT("{}"));
    turn(&w);
    assert_null(strstr(came(news), QUESTION));
    assert_int_equal(w.dropped, 1);
    close(news);
    stop(&w);
}

/* The server finds out that the client has left when it takes its questions back. */
static void a_question_is_dropped_once(void **state)
{
    char session[SESSION_SIZE];
    struct world w;
    int call;

    (void)state;
    call = start_call(&w, session);
    assert_int_equal(ask_roots(&w), WB_OK);
    assert_int_equal(ask_roots(&w), WB_OK);
    turn(&w);
    leave(call);
    (void)poll(NULL, 0, 20);
    wbi_mcp_reply(w.held, WBI_LIT("{}"));
    assert_int_equal(w.dropped, 2);
    stop(&w);
}

static wb_rc ask_at_length(struct world *w, const char *key, size_t mib)
{
    struct wbi_buf params;
    wb_rc rc;

    wbi_buf_init(&params, (mib << 20) + 64);
    wbi_buf_addz(&params, "{\"x\":\"");
    while (params.n < mib << 20)
        wbi_buf_addz(&params, "all work and no play ");
    wbi_buf_addz(&params, "\"}");
    rc = wbi_mcp_ask(w->held, wbi_str_z(key), WBI_LIT("roots/list"), wbi_buf_str(&params),
                     on_answer, w);
    wbi_buf_fini(&params);
    return rc;
}

/* C1.1: what cannot be sent is refused, so that the call goes on and has its answer. Of
 * 2026-07-28 all questions go out in one result. */
static void questions_too_long_to_send_are_refused(void **state)
{
    char session[SESSION_SIZE], text[64];
    struct world w;
    int call;

    (void)state;
    call = start_call(&w, session);
    assert_int_equal(ask_at_length(&w, NULL, 16), WB_ELIMIT);
    assert_int_equal(w.dropped, 0);
    wbi_mcp_reply(w.held, WBI_LIT("{}"));
    turn(&w);
    assert_non_null(strstr(came(call), "\"id\":2,\"result\":{}"));
    close(call);
    call = call_tool(&w, "hold", "one", "");
    assert_int_equal(ask_at_length(&w, "a", 16), WB_ELIMIT);
    assert_int_equal(ask_at_length(&w, "b", 9), WB_OK);
    assert_int_equal(ask_at_length(&w, "c", 9), WB_ELIMIT);
    assert_int_equal(ask_at_length(&w, "d", 6), WB_OK);
    turn(&w);
    assert_int_equal(recv(call, text, sizeof(text), 0), sizeof(text));
    assert_memory_equal(text, "HTTP/1.1 200 OK", 15);
    assert_int_equal(w.held->phase, WBI_REQ_PARKED);
    close(call);
    wbi_mcp_reply(w.held, WBI_LIT("{}"));
    assert_int_equal(w.dropped, 2);
    stop(&w);
}

/* So it may when it takes one of them back, which is then gone with the others. */
static void a_question_is_withdrawn_once(void **state)
{
    char session[SESSION_SIZE];
    struct world w;
    int call;

    (void)state;
    call = start_call(&w, session);
    assert_int_equal(ask_roots(&w), WB_OK);
    assert_int_equal(ask_roots(&w), WB_OK);
    turn(&w);
    wbi_mcp_withdraw(w.held, &w);
    assert_int_equal(w.dropped, 1);
    turn(&w);
    assert_non_null(strstr(came(call), "notifications/cancelled"));
    assert_int_equal(ask_roots(&w), WB_OK);
    turn(&w);
    leave(call);
    (void)poll(NULL, 0, 20);
    wbi_mcp_withdraw(w.held, &w);
    assert_int_equal(w.dropped, 3);
    wbi_mcp_withdraw(w.held, &w); /* none is left */
    assert_int_equal(w.dropped, 3);
    wbi_mcp_reply(w.held, WBI_LIT("{}"));
    stop(&w);
}

static void a_refused_initialize_names_no_session(void **state)
{
    struct world w;
    const char *text;

    (void)state;
    start(&w, 0);
    text = answer_to(&w, "", INITIALIZE("\"capabilities\":5"));
    assert_non_null(strstr(text, "HTTP/1.1 400"));
    assert_null(strstr(text, "Mcp-Session-Id"));
    stop(&w);
}

#define LISTEN(uris)                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{" \
    "\"notifications\":{\"resourceSubscriptions\":" uris "}," MODERN "}}"

/* What was wrong, where, and what would be accepted. */
static void refusals_say_what_would_be_accepted(void **state)
{
    char session[SESSION_SIZE];
    int streams[WBI_LIMIT_MCP_STREAMS + 1];
    struct world w;
#define ASK(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"
    static const struct {
        const char *body, *why;
    } rows[] = {
        {"{\"id\":1,,}", "expected a string for object key at line 1, column 9"},
        {ASK("no/such", "{}"), "\"Method not found: no/such\""},
        {ASK("no\\u001b[2J", "{}"), "\"Method not found\""},
        {ASK("tools/call", "{\"name\":\"\"}"), "params.name must be a string that is not empty"},
        {ASK("tools/list",
             "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2099-01-01\"}}"),
         "\"code\":-32022"},
        {ASK("tools/list",
             "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}"),
         "clientCapabilities (an object)"},
    };

    (void)state;
    start(&w, 0);
    open_session(&w, session);
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        const char *text = answer_to(&w, session, rows[i].body);

        if (strstr(text, rows[i].why) == NULL)
            fail_msg("row %zu: %s", i, text);
    }
    for (size_t i = 0; i < WBI_COUNT(streams); i++)
        streams[i] = request(&w, "GET", session, "");
    assert_non_null(strstr(came(streams[WBI_LIMIT_MCP_STREAMS]), "end one first"));
    for (size_t i = 0; i < WBI_COUNT(streams); i++)
        close(streams[i]);
    turn(&w);
    stop(&w);
}

static void what_to_listen_to_is_checked(void **state)
{
    static char uri[8300], body[9000], list[1200], many[2000];
    char session[SESSION_SIZE];
    struct world w;
    const struct {
        const char *body, *why;
    } rows[] = {
        {LISTEN("\"a:b\""), "resourceSubscriptions must be an array of strings"},
        {LISTEN("{}"), "resourceSubscriptions must be an array of strings"},
        {LISTEN("[\"a:b\",5]"), "resourceSubscriptions[1] must be a string"},
        {LISTEN("[\"\"]"), "resourceSubscriptions[0] must not be empty"},
        {body, "resourceSubscriptions[0] is longer than 8 KiB"},
        {LISTEN("[\"a\\u0000b\"]"), "resourceSubscriptions[0] holds a NUL, which no URI does"},
        {many, "resourceSubscriptions has more than 256 URIs"},
        {LISTEN("[\"a:b\"]"), "notifications/subscriptions/acknowledged"},
    };

    (void)state;
    memset(uri, 'u', 8193);
    (void)snprintf(body, sizeof(body), LISTEN("[\"%s\"]"), uri);
    for (size_t i = 0; i < 257; i++)
        (void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s\"a\"",
                       i > 0 ? "," : "");
    (void)snprintf(many, sizeof(many), LISTEN("[%s]"), list);
    start(&w, 0);
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        const char *text = answer_to(&w, MODERN_HEADERS("subscriptions/listen"), rows[i].body);

        if (strstr(text, rows[i].why) == NULL)
            fail_msg("row %zu: %s", i, text);
    }
    open_session(&w, session);
    (void)snprintf(body, sizeof(body),
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":{"
                   "\"uri\":\"%s\"}}",
                   uri);
    assert_non_null(strstr(answer_to(&w, session, body), "\"params.uri is longer than 8 KiB\""));
    stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_is_idle_from_its_last_answer_on),
        cmocka_unit_test(a_session_that_listens_is_not_idle),
        cmocka_unit_test(who_does_not_listen_makes_room_first),
        cmocka_unit_test(a_session_ends_with_its_last_request_when_the_server_does),
        cmocka_unit_test(errors_are_those_of_the_revision),
        cmocka_unit_test(progress_begins_anew_with_each_round),
        cmocka_unit_test(a_question_of_a_call_that_is_over_is_not_asked),
        cmocka_unit_test(a_client_may_be_gone_when_its_stream_begins),
        cmocka_unit_test(a_slow_call_without_a_session_says_that_it_is_at_work),
        cmocka_unit_test(a_retry_is_as_slow_as_itself),
        cmocka_unit_test(a_question_finds_a_stream_or_is_refused),
        cmocka_unit_test(an_answer_that_cannot_be_read_ends_its_question),
        cmocka_unit_test(a_question_may_find_its_client_gone),
        cmocka_unit_test(a_question_goes_out_again_only_when_its_stream_ends),
        cmocka_unit_test(a_question_that_is_taken_back_does_not_go_out_again),
        cmocka_unit_test(a_question_is_dropped_once),
        cmocka_unit_test(a_question_is_withdrawn_once),
        cmocka_unit_test(questions_too_long_to_send_are_refused),
        cmocka_unit_test(a_refused_initialize_names_no_session),
        cmocka_unit_test(refusals_say_what_would_be_accepted),
        cmocka_unit_test(what_to_listen_to_is_checked),
        cmocka_unit_test(log_messages_are_announced_in_each_era),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
