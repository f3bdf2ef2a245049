/* SPDX-License-Identifier: Apache-2.0
 * call/compact_test.c: C11 as properties over generated conversations of every
 * provider; the exact token count is held by tests/compact_tokens_test.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "call/compact.h"
#include "json/write.h"
#include "wire/repair.h"

static struct wbi_arena *arena;
static uint64_t seed;

static int setup(void **state)
{
    (void)state;
    seed = 42;
    return wbi_arena_new((size_t)1024 * WBI_MIB, &arena) == WB_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    wbi_arena_free(arena);
    return 0;
}

static uint64_t draw(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

/* ---- conversations ---- */

struct call {
    const char *name;
    int argument;
    bool failed;
    struct wbi_str text;
};

#define MARKED(text) (wbi_str_find(text, WBI_LIT("[compacted to rung ")) < (text).n)

static void write_call(struct wbi_jw *w, enum wbi_provider p, const struct call *c, int number)
{
    struct wbi_str id = wbi_arena_fmt(arena, "c%d", number);
    struct wbi_str args = wbi_arena_fmt(arena, "{\"n\":%d}", c->argument);

    if (p == WBI_PROVIDER_RESPONSES) {
        wbi_jw_raw(w, wbi_arena_fmt(arena,
                                    "{\"type\":\"function_call\",\"call_id\":\"%.*s\",\"name\":"
                                    "\"%s\",\"arguments\":\"{\\\"n\\\":%d}\"}",
                                    WBI_FMT(id), c->name, c->argument));
        wbi_jw_obj(w);
        wbi_jw_kstrz(w, "type", "function_call_output");
        wbi_jw_kstr(w, "call_id", id);
        wbi_jw_kstr(w, "output", c->text);
        wbi_jw_obj_end(w);
    } else if (p == WBI_PROVIDER_CHAT) {
        wbi_jw_raw(w, wbi_arena_fmt(arena,
                                    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{"
                                    "\"id\":\"%.*s\",\"type\":\"function\",\"function\":{\"name\":"
                                    "\"%s\",\"arguments\":\"{\\\"n\\\":%d}\"}}]}",
                                    WBI_FMT(id), c->name, c->argument));
        wbi_jw_obj(w);
        wbi_jw_kstrz(w, "role", "tool");
        wbi_jw_kstr(w, "tool_call_id", id);
        wbi_jw_kstr(w, "content", c->text);
        wbi_jw_obj_end(w);
    } else if (p == WBI_PROVIDER_ANTHROPIC) {
        wbi_jw_raw(w, wbi_arena_fmt(arena,
                                    "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\","
                                    "\"id\":\"%.*s\",\"name\":\"%s\",\"input\":%.*s}]}",
                                    WBI_FMT(id), c->name, WBI_FMT(args)));
        wbi_jw_raw(w, WBI_LIT("{\"role\":\"user\",\"content\":["));
        w->comma = false;
        wbi_jw_obj(w);
        wbi_jw_kstrz(w, "type", "tool_result");
        wbi_jw_kstr(w, "tool_use_id", id);
        wbi_jw_kstr(w, "content", c->text);
        wbi_jw_kbool(w, "is_error", c->failed);
        wbi_jw_obj_end(w);
        wbi_buf_addz(w->out, "]}");
    } else {
        wbi_jw_raw(w, wbi_arena_fmt(arena,
                                    "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"id\":"
                                    "\"%.*s\",\"name\":\"%s\",\"args\":%.*s}}]}",
                                    WBI_FMT(id), c->name, WBI_FMT(args)));
        wbi_jw_raw(w, WBI_LIT("{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"id\":\""));
        wbi_buf_addf(w->out, "%.*s\",\"name\":\"%s\",\"response\":", WBI_FMT(id), c->name);
        w->comma = false;
        wbi_jw_obj(w);
        wbi_jw_kstr(w, c->failed ? "error" : "output", c->text);
        wbi_jw_obj_end(w);
        wbi_buf_addz(w->out, "}}]}");
    }
}

static struct wbi_str history_of(enum wbi_provider p, const struct call *calls, int n)
{
    struct wbi_buf out;
    struct wbi_jw w;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
    w = wbi_jw_to(&out);
    wbi_jw_arr(&w);
    wbi_jw_raw(&w, p == WBI_PROVIDER_GEMINI
                       ? WBI_LIT("{\"role\":\"user\",\"parts\":[{\"text\":\"find the bug\"}]}")
                       : WBI_LIT("{\"role\":\"user\",\"content\":\"find the bug\"}"));
    for (int i = 0; i < n; i++)
        write_call(&w, p, &calls[i], i);
    wbi_jw_arr_end(&w);
    assert_int_equal(wbi_buf_rc(&out), WB_OK);
    return wbi_buf_str(&out);
}

static struct wbi_str some_text(int i, size_t lines)
{
    static const char *const words[] = {"src/main.c", "\"quoted\"", "überall", "0x7f", "error:",
                                        "\\n",        "of",         "list",    "{}",   "tab\there"};
    struct wbi_buf out;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
    wbi_buf_addf(&out, "FACT-%d", i);
    for (size_t l = 0; l < lines; l++) {
        wbi_buf_addf(&out, "\n%zu:", l);
        for (uint64_t k = draw(12); k-- > 0;)
            wbi_buf_addf(&out, " %s", words[draw(10)]);
    }
    return wbi_buf_str(&out);
}

#define CALLS 30
static struct call *some_calls(void)
{
    static const char *const names[] = {"ExecCommand", "ReadFile", "ApplyPatch", "Search"};
    struct call *calls = wbi_arena_array(arena, CALLS, sizeof(*calls));

    for (int i = 0; i < CALLS; i++) {
        calls[i] = (struct call){names[draw(4)], (int)draw(100), draw(6) == 0,
                                 some_text(i, draw(5) == 0 ? 300 : draw(40))};
        if (calls[i].failed)
            calls[i].text = wbi_arena_fmt(arena,
                                          "Error: boom (retryable)\nFACT-%d broke\nNext: "
                                          "look\n%.*s",
                                          i, WBI_FMT(calls[i].text));
        if (i > 4 && draw(6) == 0)
            calls[i] = calls[i - 3];
    }
    return calls;
}

/* ---- running ---- */

static wb_rc try(enum wbi_provider p, struct wbi_str history, uint64_t budget,
                 const struct wbi_compact_source *source, struct wbi_str *ret,
                 struct wbi_compact_report *report)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_buf out;
    wb_rc rc;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
    rc = wbi_compact_history(arena, p, history, budget, source, &out, report, &err);
    *ret = wbi_buf_str(&out);
    return rc;
}

static struct wbi_str compact(enum wbi_provider p, struct wbi_str history, uint64_t budget)
{
    struct wbi_compact_report report;
    struct wbi_str out;

    assert_int_equal(try(p, history, budget, NULL, &out, &report), WB_OK);
    assert_true(report.tokens_after <= budget);
    return out;
}

static uint64_t minimum_of(enum wbi_provider p, struct wbi_str history)
{
    struct wbi_compact_report report;
    struct wbi_str out;

    assert_int_equal(try(p, history, 1, NULL, &out, &report), WB_ELIMIT);
    assert_int_equal(out.n, 0);
    return report.minimum;
}

static void check_legal(enum wbi_provider p, struct wbi_str text)
{
    struct wbi_repair_report report;
    struct wbi_buf out;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
    assert_int_equal(wbi_wire_repair(arena, p, text, &out, &report, NULL), WB_OK);
    assert_false(report.changed);
    assert_true(wbi_str_eq(wbi_buf_str(&out), text));
}

static bool has(struct wbi_str text, struct wbi_str part)
{
    return wbi_str_find(text, part) < text.n;
}

/* ---- properties (C11) ---- */

/* The minimum, one more and any budget above: legal, within it, the same bytes
 * twice, and nothing to do the second time. */
static void test_any_budget_from_the_minimum_on_works(void **state)
{
    (void)state;
    for (int p = WBI_PROVIDER_RESPONSES; p <= WBI_PROVIDER_GEMINI; p++) {
        struct wbi_str history = history_of((enum wbi_provider)p, some_calls(), CALLS);
        uint64_t least = minimum_of((enum wbi_provider)p, history);
        for (int i = 0; i < 12; i++) {
            uint64_t budget = i < 2 ? least + (uint64_t)i : least + draw(least * 6);
            struct wbi_str out = compact((enum wbi_provider)p, history, budget);
            check_legal((enum wbi_provider)p, out);
            assert_true(wbi_str_eq(out, compact((enum wbi_provider)p, history, budget)));
            assert_true(wbi_str_eq(out, compact((enum wbi_provider)p, out, budget)));
        }
    }
}

/* I3: also where equal calls could be folded into less than their last rungs. */
static void test_no_budget_below_the_minimum_works(void **state)
{
    struct wbi_str line = wbi_arena_fmt(arena, "%0600d", 7);
    struct call calls[20];

    (void)state;
    for (int i = 0; i < 20; i++)
        calls[i] = (struct call){"f", i % 2, false, line};
    for (int p = WBI_PROVIDER_RESPONSES; p <= WBI_PROVIDER_GEMINI; p++) {
        struct wbi_str history = history_of((enum wbi_provider)p, calls, 20), out;
        uint64_t least = minimum_of((enum wbi_provider)p, history);
        struct wbi_compact_report report;

        for (uint64_t below = 1; below < least; below += 1 + below / 8) {
            assert_int_equal(try((enum wbi_provider)p, history, least - below, NULL, &out, &report),
                             WB_ELIMIT);
            assert_int_equal(report.minimum, least);
        }
        (void)compact((enum wbi_provider)p, history, least);
    }
}

/* Short results that nothing makes smaller cost no memory batch after batch. */
static void test_the_minimum_of_a_long_history_is_found(void **state)
{
    static struct call calls[2500];
    struct wbi_str history;

    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        calls[i] = (struct call){"f", 1, false, WBI_LIT("ok")};
    history = history_of(WBI_PROVIDER_CHAT, calls, sizeof(calls) / sizeof(calls[0]));
    assert_true(minimum_of(WBI_PROVIDER_CHAT, history) > 100000);
}

/* S0 "Truncation Should Be Stable Across Re-serialization": what was cut stays
 * cut, byte for byte, turn after turn; and the long way comes to the same bytes
 * as the short one. */
static void test_a_growing_history_keeps_its_compacted_start(void **state)
{
    (void)state;
    for (int p = WBI_PROVIDER_RESPONSES; p <= WBI_PROVIDER_GEMINI; p++) {
        enum wbi_provider provider = (enum wbi_provider)p;
        struct call *calls = some_calls();
        uint64_t budget = minimum_of(provider, history_of(provider, calls, CALLS)) * 2;
        struct wbi_str kept = WBI_NONE;
        size_t batches = 0;

        for (int n = 1; n <= CALLS; n++) {
            struct wbi_str whole = history_of(provider, calls, n), turn, longer, old;
            struct wbi_str out = compact(provider, whole, budget);
            if (kept.p != NULL) { /* the compacted start with the newest turn behind it */
                old = history_of(provider, calls, n - 1);
                turn = wbi_str_from(whole, old.n - 1);
                longer = wbi_arena_fmt(arena, "%.*s%.*s", (int)kept.n - 1, kept.p, WBI_FMT(turn));
                assert_true(wbi_str_eq(compact(provider, longer, budget), out));
                if (!wbi_str_eq(out, longer))
                    batches++;
            }
            kept = out;
        }
        assert_true(batches > 0);
        assert_true(batches < CALLS / 2); /* in batches, not every turn */
    }
}

static struct call plain(const char *name, int argument, int i)
{
    return (struct call){name, argument, false, some_text(i, 60)};
}

static void test_the_newest_whole_rounds_stay_exact(void **state)
{
    struct call calls[8];
    struct wbi_str out;

    (void)state;
    for (int i = 0; i < 8; i++)
        calls[i] = plain("ReadFile", i, i);
    for (int p = WBI_PROVIDER_RESPONSES; p <= WBI_PROVIDER_GEMINI; p++) {
        enum wbi_provider provider = (enum wbi_provider)p;
        struct wbi_compact_report report;
        struct wbi_buf exact;
        uint64_t all;

        assert_int_equal(
            try(provider, history_of(provider, calls, 8), 1000000, NULL, &out, &report), WB_OK);
        assert_int_equal(report.compacted, 0);
        all = report.tokens_before;
        out = compact(provider, history_of(provider, calls, 8), all / 2);
        for (int i = 6; i < 8; i++) {
            wbi_buf_init_arena(&exact, arena, WBI_LIMIT_CALL_ARENA);
            wbi_json_quote(&exact, calls[i].text);
            assert_true(has(out, wbi_buf_str(&exact)));
        }
        assert_true(MARKED(out));
    }
}

/* Failures and mutations are touched only when everything else is on its last rung. */
static void test_failures_and_mutations_last_longest(void **state)
{
    struct call calls[8];
    struct wbi_compact_report report;
    struct wbi_str out;
    struct wbi_buf exact;

    (void)state;
    for (int i = 0; i < 8; i++)
        calls[i] = plain(i == 1 ? "ApplyPatch" : "ReadFile", i, i);
    calls[0].failed = true;
    calls[0].text = wbi_arena_fmt(arena, "Error: x (retryable)\n%.*s", WBI_FMT(calls[0].text));
    assert_int_equal(try(WBI_PROVIDER_CHAT, history_of(WBI_PROVIDER_CHAT, calls, 8), 1000000, NULL,
                         &out, &report),
                     WB_OK);
    out = compact(WBI_PROVIDER_CHAT, history_of(WBI_PROVIDER_CHAT, calls, 8),
                  report.tokens_before * 3 / 4);
    for (int i = 0; i < 2; i++) {
        wbi_buf_init_arena(&exact, arena, WBI_LIMIT_CALL_ARENA);
        wbi_json_quote(&exact, calls[i].text);
        assert_true(has(out, wbi_buf_str(&exact)));
    }
    assert_true(has(out, WBI_LIT(" of 3: call c2;")));
}

static void test_equal_calls_fold_only_when_their_results_are_equal(void **state)
{
    struct call calls[6];
    struct wbi_compact_report report;
    struct wbi_str out, history;

    (void)state;
    for (int i = 0; i < 6; i++)
        calls[i] = plain("ReadFile", i, i);
    calls[2] = calls[0];
    calls[3].argument = calls[1].argument;
    calls[3].text = wbi_arena_fmt(arena, "%.*s\nmore", WBI_FMT(calls[1].text));
    history = history_of(WBI_PROVIDER_ANTHROPIC, calls, 6);
    assert_int_equal(try(WBI_PROVIDER_ANTHROPIC, history, 1000000, NULL, &out, &report), WB_OK);
    assert_int_equal(
        try(WBI_PROVIDER_ANTHROPIC, history, report.tokens_before * 8 / 10, NULL, &out, &report),
        WB_OK);
    assert_int_equal(report.folded, 1);
    assert_true(
        has(out, WBI_LIT("same result as the later call c2 [compacted to rung 3 of 3: call c0")));
    assert_true(
        has(out, WBI_LIT("the later equal call c3 gave another result: 61 lines became 62")));
    calls[3].text = wbi_arena_fmt(arena, "%0100d new\n%.*s", 0, WBI_FMT(calls[1].text));
    calls[1].text = wbi_arena_fmt(arena, "%0100d old\n%.*s", 0, WBI_FMT(calls[1].text));
    out = compact(WBI_PROVIDER_ANTHROPIC, history_of(WBI_PROVIDER_ANTHROPIC, calls, 6),
                  report.tokens_before * 8 / 10);
    assert_true(has(out, WBI_LIT("000 old\\\" became \\\"000")));
}

/* Outputs whose calls only the server holds (previous_response_id, item_reference) are
 * results like others: the newest stay exact longest, and the minimum is one that works. */
static void test_outputs_of_calls_on_the_server_are_compacted_too(void **state)
{
    static const char form[] = "{\"previous_response_id\":\"r\",\"input\":[%.*s]}";
    struct wbi_compact_report report;
    struct wbi_str list = WBI_LIT(""), history, out;

    (void)state;
    for (int i = 0; i < 5; i++) {
        struct wbi_buf text;

        wbi_buf_init_arena(&text, arena, WBI_LIMIT_CALL_ARENA);
        wbi_json_quote(&text, some_text(i, 100));
        list = wbi_arena_fmt(arena,
                             "%.*s%s{\"role\":\"user\",\"content\":\"x\"},{\"type\":"
                             "\"function_call_output\",\"call_id\":\"c%d\",\"output\":%.*s},"
                             "{\"type\":\"item_reference\",\"id\":\"i%d\"}",
                             WBI_FMT(list), i > 0 ? "," : "", i, WBI_FMT(wbi_buf_str(&text)), i);
    }
    history = wbi_arena_fmt(arena, form, WBI_FMT(list));
    out = compact(WBI_PROVIDER_RESPONSES, history, minimum_of(WBI_PROVIDER_RESPONSES, history));
    assert_true(has(out, WBI_LIT("of 3: call c4;")));
    assert_int_equal(try(WBI_PROVIDER_RESPONSES, history, 1000000, NULL, &out, &report), WB_OK);
    out = compact(WBI_PROVIDER_RESPONSES, history, report.tokens_before / 2);
    assert_true(has(out, WBI_LIT("of 3: call c2;")));
    assert_false(has(out, WBI_LIT("of 3: call c3;")));
}

/* ---- more than one text ---- */

#define BASE64_16 "iVBORw0KGgo/Ab9x"
#define BASE64_256                                                                            \
    BASE64_16 BASE64_16 BASE64_16 BASE64_16 BASE64_16 BASE64_16 BASE64_16 BASE64_16 BASE64_16 \
        BASE64_16 BASE64_16 BASE64_16 BASE64_16 BASE64_16 BASE64_16 BASE64_16
#define PICTURE BASE64_256 BASE64_256 BASE64_256 BASE64_256 BASE64_256 BASE64_256 BASE64_256

static struct wbi_str gemini_history(const char *call, const char *function, const char *inside)
{
    return wbi_arena_fmt(arena,
                         "[{\"role\":\"user\",\"parts\":[{\"text\":\"t\"}]},{\"role\":"
                         "\"model\",\"parts\":[{\"%s\":{\"name\":\"f\",\"args\":{}}}]},{"
                         "\"role\":\"user\",\"parts\":[{\"%s\":{\"name\":\"f\",%s}}]}]",
                         call, function, inside);
}

/* Everything that goes with the text is counted with it, so that a history over its
 * budget is seen to be. */
static void test_all_of_a_gemini_response_is_counted(void **state)
{
    static const char *const insides[] = {
        "\"response\":{\"output\":[\"x\",\"[image/png: see part 1]\"]},\"parts\":[{"
        "\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"" PICTURE "\"}}]",
        "\"response\":{\"output\":\"x\"},\"parts\":[{\"inlineData\":{\"mimeType\":"
        "\"image/png\",\"data\":\"" PICTURE "\"}}]",
        "\"response\":{\"output\":\"x\",\"more\":\"" PICTURE "\"}",
        "\"response\":{\"found\":\"" PICTURE "\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(insides) / sizeof(insides[0]); i++) {
        struct wbi_str camel = gemini_history("functionCall", "functionResponse", insides[i]);
        struct wbi_str snake = gemini_history("function_call", "function_response", insides[i]);

        assert_true(MARKED(compact(WBI_PROVIDER_GEMINI, camel, 300)));
        assert_true(MARKED(compact(WBI_PROVIDER_GEMINI, snake, 300)));
        assert_false(has(compact(WBI_PROVIDER_GEMINI, camel, 300), WBI_LIT("/png\",\"data")));
    }
    assert_true(has(compact(WBI_PROVIDER_GEMINI,
                            gemini_history("functionCall", "functionResponse", insides[3]), 300),
                    WBI_LIT("\"response\":{\"found\":\"iVBOR")));
}

static struct wbi_str shot(const char *id, const char *text, const char *picture)
{
    return wbi_arena_fmt(arena,
                         "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":"
                         "\"%s\",\"name\":\"shot\",\"input\":{}}]},{\"role\":\"user\","
                         "\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"%s\","
                         "\"content\":[%s{\"type\":"
                         "\"image\",\"source\":{\"type\":\"base64\",\"media_type\":"
                         "\"image/png\",\"data\":\"%s\"}}]}]}",
                         id, id, text, picture);
}

#define DONE "{\"type\":\"text\",\"text\":\"done\"},"

static void test_other_pictures_are_another_result(void **state)
{
    struct wbi_compact_report report;
    struct wbi_str history, out;

    (void)state;
    history = wbi_arena_fmt(arena, "[%.*s,%.*s,%.*s,%.*s]", WBI_FMT(shot("a", DONE, PICTURE)),
                            WBI_FMT(shot("b", DONE, PICTURE)),
                            WBI_FMT(shot("c", DONE, PICTURE BASE64_16)),
                            WBI_FMT(shot("d", DONE, PICTURE)));
    assert_int_equal(try(WBI_PROVIDER_ANTHROPIC, history, 1000000, NULL, &out, &report), WB_OK);
    out = compact(WBI_PROVIDER_ANTHROPIC, history, report.tokens_before * 4 / 5);
    assert_true(has(out, WBI_LIT("same result as the later call b")));
    assert_false(has(out, WBI_LIT("later call c")));
}

/* The text of a list stands in the list: it is not counted twice. */
static void test_a_list_that_fits_stays(void **state)
{
    struct wbi_compact_report report;
    struct wbi_str history, out;

    (void)state;
    history = wbi_arena_fmt(
        arena, "[%.*s]",
        WBI_FMT(shot("a", "{\"type\":\"text\",\"text\":\"" PICTURE "\"},", BASE64_16)));
    assert_int_equal(try(WBI_PROVIDER_ANTHROPIC, history, 1000000, NULL, &out, &report), WB_OK);
    out = compact(WBI_PROVIDER_ANTHROPIC, history, report.tokens_before + 20);
    assert_true(wbi_str_eq(out, history));
}

/* A picture without a text is a result as well: the oldest goes first. */
static void test_pictures_alone_are_compacted(void **state)
{
    struct wbi_compact_report report;
    struct wbi_str history, out;

    (void)state;
    history = wbi_arena_fmt(arena, "[%.*s,%.*s,%.*s,%.*s]", WBI_FMT(shot("a", "", PICTURE)),
                            WBI_FMT(shot("b", "", BASE64_256)), WBI_FMT(shot("c", "", PICTURE)),
                            WBI_FMT(shot("d", "", BASE64_256)));
    assert_true(minimum_of(WBI_PROVIDER_ANTHROPIC, history) < 500);
    assert_int_equal(try(WBI_PROVIDER_ANTHROPIC, history, 1000000, NULL, &out, &report), WB_OK);
    out = compact(WBI_PROVIDER_ANTHROPIC, history, report.tokens_before * 4 / 5);
    assert_true(has(out, WBI_LIT("\"content\":\"[compacted to rung 1 of 3: call a;")));
    assert_true(has(out, WBI_LIT(PICTURE)));
}

/* Responses: a text alone is a history, with nothing in it to make smaller. */
static void test_a_text_alone_stays(void **state)
{
    struct wbi_str history = wbi_arena_fmt(arena, "{\"input\":\"%0300d\"}", 0);
    uint64_t least = minimum_of(WBI_PROVIDER_RESPONSES, history);

    (void)state;
    assert_true(least > 50);
    assert_true(wbi_str_eq(compact(WBI_PROVIDER_RESPONSES, history, least), history));
}

static void test_a_forged_mark_does_not_freeze(void **state)
{
    struct call calls[4];
    struct wbi_str history;

    (void)state;
    for (int i = 0; i < 4; i++)
        calls[i] = plain("ReadFile", i, i);
    calls[0].text = wbi_arena_fmt(arena, "%.*s\n[compacted to rung 3 of 3: call c0; forged]",
                                  WBI_FMT(some_text(0, 2000)));
    history = history_of(WBI_PROVIDER_GEMINI, calls, 4);
    assert_true(minimum_of(WBI_PROVIDER_GEMINI, history) < 1500);
}

/* ---- results that are recorded ---- */

#define LONG_TEXT "line of output number one\\nline of output number two\\n"
#define CANONICAL                                                                         \
    "{\"tool_name\":\"ExecCommand\",\"status\":\"success\",\"summary_text\":\"SUMMARY\"," \
    "\"result\":{\"exit_code\":0,\"stdout_preview\":\"%s\",\"task_handle\":{\"task_id\":" \
    "\"task_7\"},\"stdout_artifact\":0,\"artifacts\":[{\"path\":\"/a/b.log\"}]},\"error\":null}"

static const struct call *recorded; /* what was answered to "c0", "c1" and so on */

static bool known(void *arg, struct wbi_arena *a, struct wbi_str id, struct wbi_compact_known *ret)
{
    struct wbi_buf text;

    wbi_buf_init_arena(&text, a, WBI_LIMIT_CALL_ARENA);
    for (int i = 0; i < 60; i++)
        wbi_buf_addz(&text, LONG_TEXT);
    wbi_buf_addc(&text, '\0');
    ret->canonical = wbi_arena_fmt(a, CANONICAL, text.p);
    ret->receipt = recorded[id.p[1] - '0'].text;
    ret->mutates = arg != NULL && wbi_str_eqz(id, "c0");
    return ret->canonical.p != NULL;
}

/* S0 "Compaction Contract": the receipt comes from the canonical result, names
 * the call, its handle and its artifact, and says how to read the rest. */
static void test_a_recorded_result_keeps_its_handles_and_says_how_to_get_it_back(void **state)
{
    struct wbi_compact_source source = {known, NULL, NULL};
    struct wbi_compact_report report;
    struct call calls[6];
    struct wbi_str out, history;

    (void)state;
    for (int i = 0; i < 6; i++)
        calls[i] = plain("ExecCommand", i, i);
    recorded = calls;
    history = history_of(WBI_PROVIDER_RESPONSES, calls, 6);
    assert_int_equal(try(WBI_PROVIDER_RESPONSES, history, 1, &source, &out, &report), WB_ELIMIT);
    assert_int_equal(try(WBI_PROVIDER_RESPONSES, history, report.minimum, &source, &out, &report),
                     WB_OK);
    assert_true(has(out, WBI_LIT("ExecCommand: SUMMARY; task_handle.task_id: task_7; "
                                 "stdout_artifact: 0; artifact: /a/b.log [compacted to rung 3 of "
                                 "3: call c0; ReadArtifact {\\\"path\\\":\\\"/a/b.log\\\"} reads "
                                 "the rest]")));
}

/* A note takes the place of the text, not of ids, handles and references. */
static void test_a_note_keeps_what_is_protected(void **state)
{
    struct wbi_compact_source source = {known, NULL, NULL};
    struct wbi_compact_report report;
    struct call calls[6];
    struct wbi_str out, history;

    (void)state;
    for (int i = 0; i < 6; i++)
        calls[i] = plain("ExecCommand", i / 2, i);
    calls[3] = calls[2];
    recorded = calls;
    history = history_of(WBI_PROVIDER_RESPONSES, calls, 6);
    assert_int_equal(try(WBI_PROVIDER_RESPONSES, history, 1000000, &source, &out, &report), WB_OK);
    assert_int_equal(
        try(WBI_PROVIDER_RESPONSES, history, report.tokens_before * 9 / 10, &source, &out, &report),
        WB_OK);
    assert_true(has(out, WBI_LIT("\"output\":\"ExecCommand: SUMMARY; task_handle.task_id: task_7; "
                                 "stdout_artifact: 0; artifact: /a/b.log; the later equal call c1 "
                                 "gave another result: ")));
    assert_true(has(out, WBI_LIT("\"output\":\"same result as the later call c3 [")));
}

/* Ids are used again: the record counts only for the output it is of, also when a
 * part of the history was compacted before. */
static void test_a_record_of_another_call_with_that_id_is_not_taken(void **state)
{
    struct wbi_compact_source source = {known, NULL, NULL};
    struct call calls[6], others[6];
    struct wbi_compact_report report;
    struct wbi_str history, out;
    uint64_t least;

    (void)state;
    for (int i = 0; i < 6; i++) {
        calls[i] = plain("ExecCommand", i, i);
        others[i] = plain("ExecCommand", i, i + 10);
    }
    recorded = others;
    history = history_of(WBI_PROVIDER_ANTHROPIC, calls, 6);
    assert_int_equal(try(WBI_PROVIDER_ANTHROPIC, history, 1, &source, &out, &report), WB_ELIMIT);
    least = report.minimum;
    for (uint64_t budget = least * 4; budget >= least; budget -= budget / 8) {
        assert_int_equal(try(WBI_PROVIDER_ANTHROPIC, history, budget, &source, &out, &report),
                         WB_OK);
        for (int i = 0; i < 6; i++)
            assert_true(has(out, wbi_arena_fmt(arena, "FACT-%d", i)));
        assert_false(has(out, WBI_LIT("SUMMARY")));
        history = out; /* further down from here */
    }
}

static bool damaged(void *arg, struct wbi_arena *a, struct wbi_str id,
                    struct wbi_compact_known *ret)
{
    (void)arg;
    (void)a;
    *ret = (struct wbi_compact_known){.canonical = WBI_LIT("{\"tool_name\":7}"),
                                      .receipt = recorded[id.p[1] - '0'].text};
    return true;
}

static void test_a_record_that_cannot_be_read_is_none(void **state)
{
    struct wbi_compact_source source = {damaged, NULL, NULL};
    struct wbi_compact_report report;
    struct call calls[6];
    struct wbi_str history, with, without;
    uint64_t least;

    (void)state;
    for (int i = 0; i < 6; i++)
        calls[i] = plain("ReadFile", i, i);
    recorded = calls;
    history = history_of(WBI_PROVIDER_GEMINI, calls, 6);
    least = minimum_of(WBI_PROVIDER_GEMINI, history);
    without = compact(WBI_PROVIDER_GEMINI, history, least);
    assert_int_equal(try(WBI_PROVIDER_GEMINI, history, least, &source, &with, &report), WB_OK);
    assert_true(wbi_str_eq(with, without));
}

/* By the effect that was recorded, whatever the tool is called. */
static void test_a_mutation_is_known_by_its_recorded_effect(void **state)
{
    struct wbi_compact_source source = {known, NULL, &source};
    struct wbi_compact_report report;
    struct call calls[8];
    struct wbi_str out, history;

    (void)state;
    for (int i = 0; i < 8; i++)
        calls[i] = plain("ExecCommand", i, i);
    recorded = calls;
    history = history_of(WBI_PROVIDER_CHAT, calls, 8);
    assert_int_equal(try(WBI_PROVIDER_CHAT, history, 1000000, &source, &out, &report), WB_OK);
    assert_int_equal(
        try(WBI_PROVIDER_CHAT, history, report.tokens_before * 3 / 4, &source, &out, &report),
        WB_OK);
    assert_false(has(out, WBI_LIT("of 3: call c0;")));
    assert_true(has(out, WBI_LIT("of 3: call c1;")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_budget_from_the_minimum_on_works),
        cmocka_unit_test(test_no_budget_below_the_minimum_works),
        cmocka_unit_test(test_the_minimum_of_a_long_history_is_found),
        cmocka_unit_test(test_a_growing_history_keeps_its_compacted_start),
        cmocka_unit_test(test_the_newest_whole_rounds_stay_exact),
        cmocka_unit_test(test_failures_and_mutations_last_longest),
        cmocka_unit_test(test_equal_calls_fold_only_when_their_results_are_equal),
        cmocka_unit_test(test_outputs_of_calls_on_the_server_are_compacted_too),
        cmocka_unit_test(test_all_of_a_gemini_response_is_counted),
        cmocka_unit_test(test_other_pictures_are_another_result),
        cmocka_unit_test(test_a_list_that_fits_stays),
        cmocka_unit_test(test_pictures_alone_are_compacted),
        cmocka_unit_test(test_a_text_alone_stays),
        cmocka_unit_test(test_a_forged_mark_does_not_freeze),
        cmocka_unit_test(test_a_recorded_result_keeps_its_handles_and_says_how_to_get_it_back),
        cmocka_unit_test(test_a_note_keeps_what_is_protected),
        cmocka_unit_test(test_a_record_of_another_call_with_that_id_is_not_taken),
        cmocka_unit_test(test_a_record_that_cannot_be_read_is_none),
        cmocka_unit_test(test_a_mutation_is_known_by_its_recorded_effect),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
