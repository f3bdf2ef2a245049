/* SPDX-License-Identifier: Apache-2.0
 * text/redact_test.c: paths, names and forms of secrets in JSON. The look at a text
 * without parsing it never overrules the walk (C8.8): what it calls clean, the walk
 * leaves as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/checked.h"
#include "base/limits.h"
#include "text/redact.h"

static struct wbi_arena *arena;
static struct wbi_secrets *sets[2]; /* without known values, and with */
static struct wbi_redact_rules *by_name, *by_path;

static int set_up(void **state)
{
    static const struct wbi_secrets_known known[] = {
        {WBI_LIT_INIT("p@ss/w\"rd\n19xyz"), WBI_LIT_INIT("QUOTED")},
        {WBI_LIT_INIT("plainvalue77"), WBI_LIT_INIT("PLAIN")}};
    struct wbi_secrets_options o = {.key = WBI_LIT("k")};
    struct wbi_str path = WBI_LIT("input.who");

    (void)state;
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK ||
        wbi_secrets_new(&o, &sets[0], NULL, NULL) != WB_OK)
        return -1;
    o.known = known;
    o.n_known = WBI_COUNT(known);
    return wbi_secrets_new(&o, &sets[1], NULL, NULL) == WB_OK &&
                   wbi_redact_rules_new(NULL, 0, true, &by_name, NULL) == WB_OK &&
                   wbi_redact_rules_new(&path, 1, true, &by_path, NULL) == WB_OK
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    wbi_redact_rules_free(by_name);
    wbi_redact_rules_free(by_path);
    wbi_secrets_free(sets[0]);
    wbi_secrets_free(sets[1]);
    wbi_arena_free(arena);
    return 0;
}

static size_t replaced(const struct wbi_secrets *set, struct wbi_str json)
{
    struct wbi_redact_list list = {.arena = arena};
    const wbi_json *v;
    struct wbi_buf out;

    wbi_arena_reset(arena);
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    if (wbi_json_read(arena, json, WBI_JSON_STRICT, &v, NULL) != WB_OK)
        return 0; /* two members of one name: never asked about */
    assert_int_equal(wbi_redact_json(set, by_name, v, &out, &list), WB_OK);
    return list.n;
}

static uint32_t state_of_chance = 1;

static uint32_t chance(uint32_t n)
{
    state_of_chance = state_of_chance * 1664525u + 1013904223u;
    return (state_of_chance >> 8) % n;
}

/* Pieces of which secrets, names and their disguises are made. */
static const char *const pieces[] = {"path",
                                     "src/main.c",
                                     "to",
                                     "ken",
                                     "token",
                                     "pass",
                                     "word",
                                     "_",
                                     "-",
                                     "gh",
                                     "p_",
                                     "eyJ",
                                     ".",
                                     ":",
                                     "://",
                                     "user",
                                     "key",
                                     "KEY",
                                     "Secret",
                                     "data",
                                     "kind",
                                     " ",
                                     "=",
                                     "\\n",
                                     "\\\"",
                                     "\\\\",
                                     "\\/",
                                     "\\u0074",
                                     "\\u003c",
                                     "<U+200B>",
                                     "cookie",
                                     "plain",
                                     "value77",
                                     "p@ss",
                                     "/w\\\"rd\\n19xyz",
                                     "-----BEGIN",
                                     " RSA PRIVATE KEY-----",
                                     "a8Kd03LmQz7RtYw2Xc5Vb9Ne4Uh6Jg1Pf0SoTi",
                                     "SK",
                                     "AKIA",
                                     "0f3a9c7e1b5d28460f3a9c7e1b5d2846",
                                     "ABCDEFGHIJ234567",
                                     "auth",
                                     "Bearer ",
                                     "caf\xc3\xa9",
                                     "\\u001b[31m",
                                     "\\r\\n",
                                     "\\r",
                                     "x\\b",
                                     "\\f",
                                     "\x7f",
                                     "\xc2\x9b"
                                     "1m",
                                     "\xe2\x80\x8b",
                                     "\xc2\xad"};

static void add_string(struct wbi_buf *b)
{
    wbi_buf_addc(b, '"');
    for (uint32_t n = chance(5); n > 0; n--)
        wbi_buf_addz(b, pieces[chance(WBI_COUNT(pieces))]);
    wbi_buf_addc(b, '"');
}

static void make_text(struct wbi_buf *b)
{
    static const char *const between[] = {":", " : ", ":\n", ":{\"kind\":"};
    uint32_t n = chance(4), open = 0;

    wbi_buf_clear(b);
    wbi_buf_addc(b, '{');
    for (uint32_t i = 0; i < n; i++) {
        uint32_t how = chance(WBI_COUNT(between));
        wbi_buf_addz(b, i > 0 ? "," : "");
        add_string(b);
        wbi_buf_addz(b, between[how]);
        open += how == 3;
        add_string(b);
    }
    while (open-- > 0)
        wbi_buf_addc(b, '}');
    wbi_buf_addc(b, '}');
}

static void what_is_called_clean_has_nothing_to_replace(void **state)
{
    uint32_t clean = 0, dirty = 0, rounds = getenv("WAYBILL_SOAK") ? 1000000 : 50000;
    struct wbi_buf text;

    (void)state;
    wbi_buf_init(&text, 1u << 16);
    print_message("seed %u\n", state_of_chance);
    for (uint32_t i = 0; i < rounds; i++) {
        const struct wbi_secrets *set = sets[i % 2];
        make_text(&text);
        if (wbi_redact_is_clean(set, by_name, wbi_buf_str(&text))) {
            clean++;
            if (replaced(set, wbi_buf_str(&text)) != 0)
                fail_msg("called clean: %s", text.p);
        } else {
            dirty += replaced(set, wbi_buf_str(&text)) != 0;
        }
    }
    print_message("%u clean, %u dirty\n", clean, dirty);
    assert_true(clean > rounds / 20 && dirty > rounds / 100);
    wbi_buf_fini(&text);
}

static void an_ordinary_call_is_clean(void **state)
{
    struct wbi_str call = WBI_LIT("{\"toolName\":\"local::read\",\"callId\":\"call_8mVQ1dT0\","
                                  "\"input\":{\"path\":\"src/main.c\",\"offset\":120},"
                                  "\"principal\":\"local\",\"conversationId\":\"c1\"}");
    struct wbi_str quoted = WBI_LIT("{\"cmd\":\"grep \\\"turn\\\" .\\n\"}");

    (void)state;
    assert_true(wbi_redact_is_clean(sets[0], by_name, call));
    assert_true(wbi_redact_is_clean(sets[1], by_name, call));
    assert_true(wbi_redact_is_clean(sets[0], by_name, quoted));
    assert_false(wbi_redact_is_clean(sets[1], by_name, quoted)); /* a value may have quotes */
    assert_false(wbi_redact_is_clean(sets[0], by_path, call));   /* paths need the tree */
    assert_true(wbi_redact_is_clean(sets[0], by_name, WBI_LIT("")));
}

static void secret_names_are_known_in_any_spelling(void **state)
{
    static const char *const secret[] = {
        "pwd",           "token",          "apikey",        "cookie",
        "passwd",        "secret",         "idtoken",       "xapikey",
        "password",      "accesskey",      "authtoken",     "secretkey",
        "setcookie",     "credential",     "passphrase",    "privatekey",
        "signingkey",    "xauthtoken",     "accesstoken",   "bearertoken",
        "credentials",   "clientsecret",   "refreshtoken",  "sessiontoken",
        "authorization", "encryptionkey",  "webhooksecret", "secretaccesskey",
        "API-KEY",       "X-Api-Key",      "_token_",       "connection_string",
        "Set-Cookie",    "client_Secret-", "accessToken",   "proxy-authorization"};
    static const char *const other[] = {"",         "to",      "tokens_", "secrets",
                                        "keyboard", "t-o-k-e", "path",    "apikeys",
                                        "__",       "author",  "pass",    "passworda"};

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(secret); i++) {
        char text[64];

        if (!wbi_secrets_name(wbi_str_z(secret[i])))
            fail_msg("not known: %s", secret[i]);
        (void)snprintf(text, sizeof(text), "{\"%s\"%s:\"x\"}", secret[i], i % 2 ? " " : "");
        if (wbi_redact_is_clean(sets[0], by_name, wbi_str_z(text)))
            fail_msg("called clean: %s", text);
    }
    for (size_t i = 0; i < WBI_COUNT(other); i++)
        if (wbi_secrets_name(wbi_str_z(other[i])))
            fail_msg("is no secret: %s", other[i]);
}

static struct wbi_str redacted(const char *json, const struct wbi_str *paths, size_t n, bool names,
                               struct wbi_redact_list *list)
{
    struct wbi_redact_rules *rules = NULL;
    struct wbi_buf out;
    const wbi_json *v = NULL;

    wbi_arena_reset(arena);
    list->arena = arena;
    assert_int_equal(wbi_json_read(arena, wbi_str_z(json), WBI_JSON_STRICT, &v, NULL), WB_OK);
    assert_int_equal(wbi_redact_rules_new(paths, n, names, &rules, NULL), WB_OK);
    wbi_buf_init_arena(&out, arena, 1u << 20);
    assert_int_equal(wbi_redact_json(sets[1], rules, v, &out, list), WB_OK);
    wbi_redact_rules_free(rules);
    return wbi_buf_str(&out);
}

/* What is a secret as "NAME": "value" in a text is one as a member; where a list goes on and
 * what only names something is none. */
static void members_are_judged_by_name_and_value(void **state)
{
    static const char *const secret[] = {"{\"DB_PASSWORD\":\"hunter22x9\"}",
                                         "{\"env\":{\"db_password\":\"hunter22x9\"}}",
                                         "{\"a\":[{\"apiToken\":\"f3A9kQ72LmX0pRtZ81vYb6\"}]}",
                                         "{\"GITHUB_TOKEN\":\"f3A9kQ72LmX0pRtZ81vYb6\"}",
                                         "{\"OPENAI_API_KEY\":\"f3A9kQ72LmX0pRtZ81vYb6\"}",
                                         "{\"AWS_SECRET_ACCESS_KEY\":\"f3A9kQ72LmX0pRtZ81vYb6\"}"};
    static const char *const other[] = {"{\"nextPageToken\":\"f3A9kQ72LmX0pRtZ81vYb6\"}",
                                        "{\"NEXT_TOKEN\":\"f3A9kQ72LmX0pRtZ81vYb6\"}",
                                        "{\"continuation_token\":\"f3A9kQ72LmX0pRtZ81vYb6\"}",
                                        "{\"max_tokens\":4096}",
                                        "{\"DB_PASSWORD\":\"${DB_PASSWORD}\"}",
                                        "{\"API_TOKEN\":7}",
                                        "{\"id\":\"f3A9kQ72LmX0pRtZ81vYb6\"}"};
    struct wbi_redact_list list;
    struct wbi_str out;

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(secret); i++) {
        list = (struct wbi_redact_list){0};
        out = redacted(secret[i], NULL, 0, true, &list);
        if (list.n != 1 || wbi_str_find(out, WBI_LIT("[redacted:value:")) == out.n)
            fail_msg("%s stays %.*s", secret[i], WBI_FMT(out));
        if (wbi_redact_is_clean(sets[0], by_name, wbi_str_z(secret[i])))
            fail_msg("called clean: %s", secret[i]);
    }
    for (size_t i = 0; i < WBI_COUNT(other); i++) {
        list = (struct wbi_redact_list){0};
        out = redacted(other[i], NULL, 0, true, &list);
        if (list.n != 0 || !wbi_str_eqz(out, other[i]))
            fail_msg("%s became %.*s", other[i], WBI_FMT(out));
    }
}

/* Q1, Q3, Q4, Q5 */
static void paths_with_wildcards_are_replaced_and_listed(void **state)
{
    static const struct wbi_str paths[] = {
        WBI_LIT_INIT("headers.authorization"), WBI_LIT_INIT("*.token"),
        WBI_LIT_INIT("items[*].key"),          WBI_LIT_INIT("list[1]"),
        WBI_LIT_INIT("a[\"b.c\"].d"),          WBI_LIT_INIT("nothing.here"),
        WBI_LIT_INIT("number.below"),          WBI_LIT_INIT("whole"),
        WBI_LIT_INIT("whole.inner"),
    };
    static const char *const want[] = {
        "headers.authorization", "user.token", "items[0].key", "items[1].key", "list[1]",
        "a[\"b.c\"].d",          "whole"};
    struct wbi_redact_list list;
    struct wbi_str out;

    (void)state;
    out = redacted(
        "{\"headers\":{\"authorization\":\"abc\",\"x\":1},\"user\":{\"token\":null},"
        "\"items\":[{\"key\":1},{\"key\":{\"deep\":true}},{\"other\":2}],\"list\":[1,2,3],"
        "\"a\":{\"b.c\":{\"d\":false}},\"number\":5,\"whole\":{\"inner\":1},\"token\":\"top\"}",
        paths, sizeof paths / sizeof *paths, false, &list);
    assert_int_equal(list.n, 7);
    for (size_t i = 0; i < list.n; i++)
        assert_true(wbi_str_eqz(list.path[i], want[i]));
    assert_true(wbi_str_find(out, WBI_LIT("\"x\":1}")) < out.n);
    assert_true(wbi_str_find(out, WBI_LIT("\"list\":[1,\"[redacted:value:")) < out.n);
    assert_true(wbi_str_find(out, WBI_LIT("\"number\":5,")) < out.n);
    assert_true(wbi_str_find(out, WBI_LIT("\"token\":\"top\"")) <
                out.n); /* *.token is one level down */
    assert_true(wbi_str_find(out, WBI_LIT("deep")) == out.n);
}

/* However many rules of all layers add up to. */
static void many_paths_all_count(void **state)
{
    struct wbi_redact_list list;
    struct wbi_str paths[1000], out;
    char names[1000][24];

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(paths); i++) {
        (void)snprintf(names[i], sizeof(names[i]), "*.deep[*].p%zu", i);
        paths[i] = wbi_str_z(names[i]);
    }
    out = redacted("{\"a\":{\"deep\":[{\"p0\":1,\"p64\":2,\"p999\":3,\"p1000\":4}]},\"p7\":5}",
                   paths, WBI_COUNT(paths), false, &list);
    assert_int_equal(list.n, 3);
    assert_true(wbi_str_eqz(list.path[2], "a.deep[0].p999"));
    assert_true(wbi_str_find(out, WBI_LIT("\"p1000\":4}]},\"p7\":5}")) < out.n);
}

/* Q1, Q5: default names at any depth, whatever their spelling */
static void secret_names_and_values_are_listed(void **state)
{
    struct wbi_redact_list list;
    struct wbi_str out;

    (void)state;
    out = redacted("[{\"a\":{\"API-Key\":7}},{\"text\":\"plainvalue77\"}]", NULL, 0, true, &list);
    assert_int_equal(list.n, 2);
    assert_true(wbi_str_eqz(list.path[0], "[0].a.API-Key"));
    assert_true(wbi_str_eqz(list.path[1], "[1].text"));
    assert_true(wbi_str_find(out, WBI_LIT("\"text\":\"[redacted:PLAIN:")) < out.n);
}

/* A secret may stand in a name alone; neither the text nor the list tells it. */
static void secrets_in_names_are_replaced_and_listed(void **state)
{
    struct wbi_redact_list list;
    struct wbi_str out = redacted(
        "{\"a\":{\"ghp_abcdefghijklmnopqrstuvwxyz0123456789\":{\"user\":\"plainvalue77\"}}}", NULL,
        0, true, &list);

    (void)state;
    assert_int_equal(list.n, 2);
    assert_true(wbi_str_find(out, WBI_LIT("{\"a\":{\"[redacted:github-token:")) == 0);
    assert_true(wbi_str_starts(list.path[0], WBI_LIT("a[\"[redacted:github-token:")));
    assert_true(wbi_str_starts(list.path[1], list.path[0]));
    assert_true(wbi_str_ends(list.path[1], WBI_LIT("].user")));
}

/* C6.5, C8.8: what cleaning takes away, plays out or marks must not hide what is shown then.
 * A secret that only stands in what is taken away is not kept either. */
static void what_cannot_be_seen_hides_no_secret(void **state)
{
    static const char *const secret[] = {
        "[\"ghp_0123456789\\u001b[31mabcdefghij\\u001b[0mABCDEFGHIJ456789\"]",
        "[\"ghp_0123456789\xc2\x9b"
        "31mabcdefghijABCDEFGHIJ456789\"]",
        "[\"gh\\u0007p_0123456789abcdefghijABCDEFGHIJ456789\"]",
        "[\"ghp_012345678X\\b9abcdefghijABCDEFGHIJ456789\"]",
        "[\"?\\rghp_0123456789abcdefghijABCDEFGHIJ456789\"]",
        "[\"gh\xe2\x80\x8bp_0123456789abcdefghijABCDEFGHIJ456789\"]",
        "[\"gh\\fp_0123456789abcdefghijABCDEFGHIJ456789\"]",
        "[\"gh\x7fp_0123456789abcdefghijABCDEFGHIJ456789\"]",
        "{\"gh\\u200bp_0123456789abcdefghijABCDEFGHIJ456789\":1}",
        "[\"\\u001b]0;ghp_0123456789abcdefghijABCDEFGHIJ456789\\u0007title\"]"};
    static const char *const other[] = {"[\"\\u001b[31mred\\u001b[0m\"]", "[\"a\\rb\\bc\"]",
                                        "[\"a\xe2\x80\x8b"
                                        "b\"]"};
    struct wbi_redact_list list;
    struct wbi_str out;

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(secret); i++) {
        list = (struct wbi_redact_list){0};
        out = redacted(secret[i], NULL, 0, true, &list);
        if (list.n != 1 || wbi_str_find(out, WBI_LIT("456789")) < out.n)
            fail_msg("%s stays %.*s", secret[i], WBI_FMT(out));
        if (wbi_redact_is_clean(sets[0], by_name, wbi_str_z(secret[i])))
            fail_msg("called clean: %s", secret[i]);
    }
    for (size_t i = 0; i < WBI_COUNT(other); i++) {
        list = (struct wbi_redact_list){0};
        out = redacted(other[i], NULL, 0, true, &list);
        if (list.n != 0 || !wbi_str_eqz(out, other[i]))
            fail_msg("%s became %.*s", other[i], WBI_FMT(out));
    }
    assert_true(wbi_redact_is_clean(sets[0], by_name, WBI_LIT("[\"a\\r\\nb\\r\\n\"]")));
}

static void unreadable_paths_are_refused(void **state)
{
    static const char *const bad[] = {"",     ".a",    "a.",    "a..b", "a[",
                                      "a[x]", "a[\"b", "a[*]b", "a.[0]"};
    struct wbi_redact_rules *rules = NULL;
    struct wbi_error err = WBI_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct wbi_str path = wbi_str_z(bad[i]);

        assert_int_equal(wbi_redact_rules_new(&path, 1, false, &rules, &err), WB_EINPUT);
        assert_non_null(strstr(err.text, "redaction path"));
    }
}

/* row 110: a name with a newline cannot forge a line once it is JSON */
static void a_newline_in_a_name_stays_escaped(void **state)
{
    struct wbi_redact_list list;
    struct wbi_str out;

    (void)state;
    out = redacted("{\"tool\":\"x\\nlevel=error forged\"}", NULL, 0, true, &list);
    assert_true(memchr(out.p, '\n', out.n) == NULL);
}

/* Everything that a Secret of Kubernetes holds, whatever its name. */
static void all_data_of_a_kubernetes_secret_is_masked(void **state)
{
    struct wbi_redact_list list;
    struct wbi_str out = redacted("{\"data\":{\"tls.crt\":\"TUlJQw==\"},\"kind\":\"Secret\","
                                  "\"stringData\":{\"note\":\"plain\"}}",
                                  NULL, 0, true, &list);

    (void)state;
    assert_true(wbi_str_find(out, WBI_LIT("TUlJQw")) == out.n);
    assert_true(wbi_str_find(out, WBI_LIT("plain")) == out.n);
    assert_true(wbi_str_find(out, WBI_LIT("\"Secret\"")) < out.n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secret_names_are_known_in_any_spelling),
        cmocka_unit_test(what_is_called_clean_has_nothing_to_replace),
        cmocka_unit_test(an_ordinary_call_is_clean),
        cmocka_unit_test(members_are_judged_by_name_and_value),
        cmocka_unit_test(paths_with_wildcards_are_replaced_and_listed),
        cmocka_unit_test(many_paths_all_count),
        cmocka_unit_test(secret_names_and_values_are_listed),
        cmocka_unit_test(secrets_in_names_are_replaced_and_listed),
        cmocka_unit_test(what_cannot_be_seen_hides_no_secret),
        cmocka_unit_test(unreadable_paths_are_refused),
        cmocka_unit_test(a_newline_in_a_name_stays_escaped),
        cmocka_unit_test(all_data_of_a_kubernetes_secret_is_masked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
