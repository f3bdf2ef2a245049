/* SPDX-License-Identifier: Apache-2.0
 * mcp/trail_test.c: a client of an older revision whose connection broke reads on where it
 * was (MCP, Last-Event-ID): nothing twice, nothing lost, nothing of others. */
#include "mcp/server_world_test.h"

#include "chance.h"

#define ASKING "\"capabilities\":{\"roots\":{}}"
#define TOLD                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"_" \
    "meta\":{\"progressToken\":\"p\"}}}"

struct client {
    struct world w;
    char session[SESSION_SIZE];
    int fd;
};

/* A call under way that reports its progress. */
static void begin(struct client *c)
{
    start(&c->w, 0);
    open_session_as(&c->w, c->session, INITIALIZE(ASKING));
    c->fd = request(&c->w, "POST", c->session, TOLD);
    assert_non_null(c->w.held);
}

static void report(struct client *c, int n)
{
    c->w.clock.mono_ns += WBI_MCP_PROGRESS_MS * WBI_NS_PER_MS;
    wbi_mcp_progress(c->w.held, n, -1, WBI_NONE, WBI_NONE);
    turn(&c->w);
}

static void answer(struct client *c)
{
    wbi_mcp_reply(c->w.held, WBI_LIT("{\"content\":[]}"));
    turn(&c->w);
}

static void lose(struct client *c)
{
    leave(c->fd);
    turn(&c->w);
}

/* Reads on behind that event; what has come at once. */
static const char *resume(struct client *c, const char *last)
{
    char headers[2 * SESSION_SIZE];

    (void)snprintf(headers, sizeof(headers), "%sLast-Event-ID: %s\r\n", c->session, last);
    c->fd = request(&c->w, "GET", headers, "");
    return came(c->fd);
}

static void end(struct client *c)
{
    close(c->fd);
    stop(&c->w);
}

#define PROGRESS(n) "\"progress\":" #n "}"
#define ANSWER "\"id\":2,\"result\":{\"content\":[]}"
#define LAST "0\r\n\r\n"

static void events_have_ids(void **state)
{
    struct client c;
    const char *text;

    (void)state;
    begin(&c);
    report(&c, 1);
    text = came(c.fd);
    assert_non_null(strstr(text, "text/event-stream"));
    assert_non_null(strstr(text, "id: 1-1\nevent: message\ndata: {"));
    report(&c, 2);
    assert_non_null(strstr(came(c.fd), "id: 1-2\n"));
    answer(&c);
    assert_non_null(strstr(came(c.fd), "id: 1-3\nevent: message\ndata: {\"jsonrpc\""));
    end(&c);
}

/* While it was away its call went on; it gets what it has not read, in order, and the rest. */
static void a_lost_client_reads_on(void **state)
{
    struct client c;
    const char *text;

    (void)state;
    begin(&c);
    report(&c, 1);
    (void)came(c.fd);
    lose(&c);
    report(&c, 2);
    text = resume(&c, "1-1");
    assert_null(strstr(text, PROGRESS(1)));
    assert_non_null(strstr(text, PROGRESS(2)));
    report(&c, 3);
    assert_non_null(strstr(came(c.fd), PROGRESS(3)));
    answer(&c);
    text = came(c.fd);
    assert_non_null(strstr(text, ANSWER));
    assert_non_null(strstr(text, LAST));
    end(&c);
}

static void an_answer_waits_for_who_was_away(void **state)
{
    struct client c;
    const char *text;

    (void)state;
    begin(&c);
    report(&c, 1);
    lose(&c);
    report(&c, 2);
    answer(&c);
    pass(&c.w, 9);
    text = resume(&c, "1-1");
    assert_non_null(strstr(text, PROGRESS(2)));
    assert_non_null(strstr(text, ANSWER));
    assert_non_null(strstr(text, LAST));
    close(c.fd);
    text = resume(&c, "1-2"); /* again, if that did not arrive either */
    assert_null(strstr(text, PROGRESS(2)));
    assert_non_null(strstr(text, ANSWER));
    close(c.fd);
    pass(&c.w, 2);
    assert_non_null(strstr(resume(&c, "1-2"), "HTTP/1.1 400"));
    assert_int_equal(c.w.server->trail_bytes, 0);
    end(&c);
}

/* It was sent, which does not mean that it arrived. */
static void an_answer_that_was_sent_is_kept_for_a_moment(void **state)
{
    struct client c;

    (void)state;
    begin(&c);
    report(&c, 1);
    answer(&c);
    leave(c.fd);
    assert_non_null(strstr(resume(&c, "1-1"), ANSWER));
    close(c.fd);
    pass(&c.w, 1);
    assert_non_null(strstr(resume(&c, "1-1"), "HTTP/1.1 400"));
    end(&c);
}

/* A client may notice first that its connection is dead: the new one takes its place. */
static void a_client_comes_back_before_it_is_missed(void **state)
{
    struct client c;
    int before;

    (void)state;
    begin(&c);
    report(&c, 1);
    (void)came(c.fd);
    assert_int_equal(
        wbi_mcp_ask(c.w.held, WBI_NONE, WBI_LIT("roots/list"), WBI_NONE, on_answer, &c.w), WB_OK);
    turn(&c.w);
    assert_non_null(strstr(came(c.fd), "roots/list"));
    before = c.fd;
    assert_non_null(strstr(resume(&c, "1-1"), "roots/list")); /* it may not have been read */
    assert_non_null(strstr(came(before), LAST));
    assert_int_equal(c.w.dropped, 0);
    answer(&c);
    assert_string_equal(came(before), "");
    assert_non_null(strstr(came(c.fd), ANSWER));
    close(before);
    end(&c);
}

/* A question that found nobody has failed; it is not asked again when it is too late. */
static void questions_are_not_said_again(void **state)
{
    struct client c;

    (void)state;
    begin(&c);
    report(&c, 1);
    assert_int_equal(
        wbi_mcp_ask(c.w.held, WBI_NONE, WBI_LIT("roots/list"), WBI_NONE, on_answer, &c.w), WB_OK);
    turn(&c.w);
    lose(&c);
    assert_int_equal(c.w.dropped, 1);
    assert_null(strstr(resume(&c, "1-1"), "roots/list"));
    answer(&c);
    assert_non_null(strstr(came(c.fd), ANSWER));
    end(&c);
}

/* A stream that begins with a question has an id to come back with, too, though the question
 * itself is not among what is said again. */
static void a_stream_that_begins_with_a_question_is_taken_up(void **state)
{
    struct client c;
    const char *text;

    (void)state;
    begin(&c);
    assert_int_equal(
        wbi_mcp_ask(c.w.held, WBI_NONE, WBI_LIT("roots/list"), WBI_NONE, on_answer, &c.w), WB_OK);
    turn(&c.w);
    text = came(c.fd);
    assert_non_null(strstr(text, "id: 1-1\nevent: message\ndata: {"));
    assert_non_null(strstr(text, "roots/list"));
    lose(&c);
    answer(&c);
    text = resume(&c, "1-1");
    assert_non_null(strstr(text, "id: 1-2\n"));
    assert_non_null(strstr(text, ANSWER));
    close(c.fd);
    assert_null(strstr(resume(&c, "1-0"), "roots/list"));
    end(&c);
}

/* One that takes its time says so, with an id to come back with. */
static void a_slow_call_opens_its_stream(void **state)
{
    struct client c;
    const char *text;

    (void)state;
    begin(&c);
    c.w.clock.mono_ns += (WBI_MCP_SLOW_MS - 1) * WBI_NS_PER_MS;
    pass(&c.w, 0);
    assert_string_equal(came(c.fd), "");
    c.w.clock.mono_ns += WBI_NS_PER_MS;
    pass(&c.w, 0);
    text = came(c.fd);
    assert_non_null(strstr(text, "text/event-stream"));
    assert_non_null(strstr(text, "id: 1-0\ndata: \n\n"));
    lose(&c);
    answer(&c);
    assert_non_null(strstr(resume(&c, "1-0"), ANSWER));
    end(&c);
}

/* Clients before 2025-11-25 would read an event without a message as a broken one. */
static void older_clients_get_a_comment(void **state)
{
    struct client c;
    const char *text;

    (void)state;
    start(&c.w, 0);
    open_session_as(&c.w, c.session,
                    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                    "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}}}");
    c.fd = request(&c.w, "POST", c.session, CALL);
    c.w.clock.mono_ns += WBI_MCP_SLOW_MS * WBI_NS_PER_MS;
    pass(&c.w, 0);
    text = came(c.fd);
    assert_non_null(strstr(text, WBI_SSE_COMMENT));
    assert_null(strstr(text, "id: "));
    answer(&c);
    assert_non_null(strstr(came(c.fd), "id: 1-1\nevent: message\ndata: {\"jsonrpc\""));
    end(&c);
}

static void what_is_unknown_is_refused(void **state)
{
    static const char *const rows[] = {
        "2-0", "1-2", "1", "-", "1-", "x-1", "1-99999999999999999999"};
    char other[SESSION_SIZE], headers[2 * SESSION_SIZE];
    struct client c;

    (void)state;
    begin(&c);
    report(&c, 1);
    for (size_t i = 0; i < WBI_COUNT(rows); i++) {
        int own = c.fd;

        if (strstr(resume(&c, rows[i]), "HTTP/1.1 400") == NULL)
            fail_msg("%s", rows[i]);
        close(c.fd);
        c.fd = own;
    }
    open_session(&c.w, other); /* another session's numbers are not its own */
    (void)snprintf(headers, sizeof(headers), "%sLast-Event-ID: 1-0\r\n", other);
    assert_int_equal(status_of(&c.w, "GET", headers, ""), 400);
    answer(&c);
    end(&c);
}

/* Nothing is said of a cancelled call, to nobody. */
static void a_cancelled_call_leaves_nothing(void **state)
{
    struct client c;

    (void)state;
    begin(&c);
    report(&c, 1);
    lose(&c);
    assert_int_equal(status_of(&c.w, "POST", c.session,
                               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                               "\"params\":{\"requestId\":2}}"),
                     202);
    assert_non_null(strstr(resume(&c, "1-1"), "HTTP/1.1 400"));
    assert_int_equal(c.w.server->trail_bytes, 0);
    end(&c);
}

/* Floods of messages give way to newer ones, answers of many calls to newer answers. */
static void what_is_kept_has_bounds(void **state)
{
    static char big[64 * 1024];
    struct client c;
    struct wbi_str message;
    const char *text;

    (void)state;
    memset(big, 'm', sizeof(big));
    message = wbi_str_make(big, sizeof(big));
    begin(&c);
    report(&c, 1);
    lose(&c);
    for (int i = 2; i < 12; i++) {
        c.w.clock.mono_ns += WBI_MCP_PROGRESS_MS * WBI_NS_PER_MS;
        wbi_mcp_progress(c.w.held, i, -1, message, WBI_NONE);
    }
    assert_true(c.w.server->trail_bytes <= WBI_LIMIT_MCP_TRAIL);
    answer(&c);
    assert_true(c.w.server->trail_bytes > 128 * 1024);
    for (int i = 0; i < 20; i++) {
        c.fd = request(&c.w, "POST", c.session, TOLD);
        report(&c, 1);
        lose(&c);
        answer(&c);
    }
    text = resume(&c, "1-1"); /* the oldest of those that nobody has read */
    assert_non_null(strstr(text, "HTTP/1.1 400"));
    close(c.fd);
    assert_non_null(strstr(resume(&c, "21-1"), ANSWER));
    assert_true(c.w.server->trail_bytes < 64 * 1024);
    close(c.fd);
    assert_int_equal(status_of(&c.w, "DELETE", c.session, ""), 204);
    assert_int_equal(c.w.server->trail_bytes, 0);
    end(&c);
}

/* A message too long to be kept takes nobody's answer away. */
static void a_long_message_takes_no_room(void **state)
{
    size_t n = WBI_LIMIT_MCP_TRAILS - 1024;
    char *big = malloc(n);
    struct client c;

    (void)state;
    assert_non_null(big);
    memset(big, 'm', n);
    begin(&c);
    report(&c, 1);
    lose(&c);
    answer(&c);
    c.fd = request(&c.w, "POST", c.session, TOLD);
    wbi_mcp_progress(c.w.held, 1, -1, wbi_str_make(big, n), WBI_NONE);
    lose(&c);
    answer(&c);
    assert_non_null(strstr(resume(&c, "1-1"), ANSWER));
    close(c.fd);
    assert_non_null(strstr(resume(&c, "2-0"), ANSWER));
    end(&c);
    free(big);
}

/* A client that reads what comes and remembers how far it has got. */
struct reader {
    struct client c;
    bool there;        /* its connection is */
    unsigned reported; /* by the call */
    unsigned read;     /* of the reports, each once and in order */
    unsigned answers;
    char last[32];
};

static void read_all(struct reader *r)
{
    const char *at = came(r->c.fd);

    while ((at = strstr(at, "id: 1-")) != NULL) {
        const char *end = strstr(at, "\n\n"), *progress = strstr(at, "\"progress\":");

        assert_non_null(end); /* events are small: they come whole */
        (void)snprintf(r->last, sizeof(r->last), "%.*s", (int)strcspn(at + 4, "\n"), at + 4);
        if (progress != NULL && progress < end)
            assert_int_equal(strtoul(progress + 11, NULL, 10), ++r->read);
        else
            r->answers++;
        at = end;
    }
}

static void come_back(struct reader *r)
{
    char headers[2 * SESSION_SIZE];
    int before = r->c.fd;

    (void)snprintf(headers, sizeof(headers), "%sLast-Event-ID: %s\r\n", r->c.session, r->last);
    r->c.fd = request(&r->c.w, "GET", headers, "");
    if (r->there)
        close(before);
    r->there = true;
    read_all(r);
}

static void do_anything(struct reader *r)
{
    switch (chance(5)) {
    case 0:
        read_all(r);
        break;
    case 1: /* with what it has not read */
        if (r->there)
            lose(&r->c);
        r->there = false;
        break;
    case 2:
        come_back(r);
        break;
    default:
        report(&r->c, (int)++r->reported);
    }
}

/* Whenever it breaks: every report is read once, in order, and so is the answer. */
static void breaks_at_any_time_lose_nothing(void **state)
{
    (void)state;
    chance_start();
    for (unsigned long round = soak(80); round > 0; round--) {
        struct reader r = {.there = true, .last = "1-1"};

        begin(&r.c);
        report(&r.c, (int)++r.reported);
        read_all(&r);
        for (int i = 0; i < 12; i++)
            do_anything(&r);
        answer(&r.c);
        if (r.there && chance(2) == 0)
            read_all(&r);
        if (r.answers == 0)
            come_back(&r);
        assert_int_equal(r.read, r.reported);
        assert_int_equal(r.answers, 1);
        end(&r.c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_have_ids),
        cmocka_unit_test(a_lost_client_reads_on),
        cmocka_unit_test(an_answer_waits_for_who_was_away),
        cmocka_unit_test(an_answer_that_was_sent_is_kept_for_a_moment),
        cmocka_unit_test(a_client_comes_back_before_it_is_missed),
        cmocka_unit_test(questions_are_not_said_again),
        cmocka_unit_test(a_stream_that_begins_with_a_question_is_taken_up),
        cmocka_unit_test(a_slow_call_opens_its_stream),
        cmocka_unit_test(older_clients_get_a_comment),
        cmocka_unit_test(what_is_unknown_is_refused),
        cmocka_unit_test(a_cancelled_call_leaves_nothing),
        cmocka_unit_test(what_is_kept_has_bounds),
        cmocka_unit_test(a_long_message_takes_no_room),
        cmocka_unit_test(breaks_at_any_time_lose_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
