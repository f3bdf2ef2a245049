/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_test.c: secrets by form, value, name and path (C8.8, O2; attack
 * rows 101 to 107 and 110). Sample secrets are put together at run time so that
 * no scanner takes this file for a leak. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "text/hygiene.h"
#include "text/secrets.h"

static struct wbi_secrets *set;
static struct wbi_secrets_report report;

static const char alnum[] = "a8Kd03LmQz7RtYw2Xc5Vb9Ne4Uh6Jg1Pf0SoTiDq";

/* prefix and n characters of an alphabet */
static struct wbi_str sample(struct wbi_buf *b, const char *prefix, const char *alphabet, size_t n,
                             const char *suffix)
{
    size_t m = strlen(alphabet);

    wbi_buf_clear(b);
    wbi_buf_addz(b, prefix);
    for (size_t i = 0; i < n; i++)
        wbi_buf_addc(b, alphabet[(i * 7 + i / m) % m]);
    wbi_buf_addz(b, suffix);
    return wbi_buf_str(b);
}

static void replace(struct wbi_str in, struct wbi_buf *out)
{
    struct wbi_buf again;

    wbi_buf_clear(out);
    memset(&report, 0, sizeof report);
    assert_int_equal(wbi_secrets_replace(set, in, out, &report), WB_OK);
    wbi_buf_init(&again, 1u << 22);
    assert_int_equal(wbi_secrets_replace(set, wbi_buf_str(out), &again, NULL), WB_OK);
    assert_true(wbi_str_eq(wbi_buf_str(out), wbi_buf_str(&again)));
    wbi_buf_fini(&again);
}

static bool holds(const struct wbi_buf *b, struct wbi_str s)
{
    return wbi_str_find(wbi_buf_str(b), s) < b->n;
}

static int open_set(void **state)
{
    static const struct wbi_secrets_known known[] = {
        {WBI_LIT_INIT("correct horse battery"), WBI_LIT_INIT("DB_PASSWORD")},
        {WBI_LIT_INIT("p@ss/w\"rd-19xyz"), WBI_LIT_INIT("QUOTED")},
        {WBI_LIT_INIT("x"), WBI_LIT_INIT("ONE")},
    };
    struct wbi_secrets_options o = {WBI_LIT("key of the test"), known, 3};
    size_t ignored = 0;

    (void)state;
    if (wbi_secrets_new(&o, &set, &ignored, NULL) != WB_OK)
        return 1;
    return ignored == 1 ? 0 : 1; /* row 105: too short to be masked, and said so */
}

static int close_set(void **state)
{
    (void)state;
    wbi_secrets_free(set);
    return 0;
}

struct form {
    const char *label;
    const char *prefix;
    const char *alphabet;
    size_t n;
    const char *suffix;
};
static const char hex[] = "0f3a9c7e1b5d2846";
static const char base32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGH";

static const struct form forms[] = {
    {"aws-key-id", "AKIA", base32, 16, ""},
    {"aws-key-id", "ASIA", base32, 16, ""},
    {"gcp-key", "AIza", alnum, 35, ""},
    {"github-token", "ghp_", alnum, 36, ""},
    {"github-token", "ghs_", alnum, 36, ""},
    {"github-token", "github_pat_", alnum, 82, ""},
    {"gitlab-token", "glpat-", alnum, 20, ""},
    {"gitlab-token", "glrt-", alnum, 20, ""},
    {"anthropic-key", "sk-ant-api03-", alnum, 93, "AA"},
    {"openai-key", "sk-proj-", alnum, 60, ""},
    {"openai-key", "sk-a8Kd03LmQz7RtYw2Xc5VT3BlbkFJ", alnum, 20, ""},
    {"perplexity-key", "pplx-", alnum, 48, ""},
    {"huggingface-token", "hf_", letters, 34, ""},
    {"slack-token", "xoxb-", alnum, 40, ""},
    {"slack-token", "xapp-", alnum, 40, ""},
    {"stripe-key", "sk_live_", alnum, 24, ""},
    {"stripe-key", "rk_test_", alnum, 24, ""},
    {"square-token", "sq0atp-", alnum, 22, ""},
    {"shopify-token", "shpat_", hex, 32, ""},
    {"twilio-key", "SK", hex, 32, ""},
    {"sendgrid-key", "SG.", alnum, 66, ""},
    {"mailgun-key", "key-", hex, 32, ""},
    {"npm-token", "npm_", alnum, 36, ""},
    {"pypi-token", "pypi-AgEIcHlwaS5vcmc", alnum, 60, ""},
    {"rubygems-key", "rubygems_", hex, 48, ""},
    {"docker-token", "dckr_pat_", alnum, 27, ""},
    {"vault-token", "hvs.", alnum, 95, ""},
    {"terraform-token", "a8Kd03LmQz7RtY.atlasv1.", alnum, 64, ""},
    {"pulumi-token", "pul-", hex, 40, ""},
    {"doppler-token", "dp.pt.", alnum, 43, ""},
    {"onepassword-token", "ops_eyJ", alnum, 260, ""},
    {"age-key", "AGE-SECRET-KEY-1", base32, 58, ""},
    {"databricks-token", "dapi", hex, 32, ""},
    {"digitalocean-token", "dop_v1_", hex, 64, ""},
    {"heroku-key", "HRKU-AA", alnum, 58, ""},
    {"fly-token", "fo1_", alnum, 43, ""},
    {"planetscale-token", "pscale_pw_", alnum, 43, ""},
    {"linear-key", "lin_api_", alnum, 40, ""},
    {"notion-token", "ntn_", alnum, 46, ""},
    {"postman-key", "PMAK-", alnum, 59, ""},
    {"grafana-token", "glsa_", alnum, 32, "_0f3a9c7e"},
    {"sentry-token", "sntryu_", hex, 64, ""},
    {"newrelic-key", "NRAK-", base32, 27, ""},
    {"atlassian-token", "ATATT3", alnum, 180, ""},
    {"telegram-token", "123456789:A", alnum, 34, ""},
    {"azure-secret", "aB37Q~", alnum, 32, ""},
    {"jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.", alnum, 43, ""},
};

/* row 101: every form, in the places where it turns up */
static void every_form_is_replaced_wherever_it_stands(void **state)
{
    static const char *const frames[][2] = {
        {"", ""},
        {"found ", " in file\n"},
        {"{\"a\":{\"b\":\"", "\"}}"},
        {"X-Custom: ", "\r\n"},
        {"error: cannot use '", "' here\n"},
        {"https://host/p?x=", "&y=1"},
        {"KEY=", "\n"},
        {"\x1b[1m", "\x1b[0m"},
        {"{\"log\":\"line\\n", "\\t\"}"},
        {"{\"log\":\"line\\r\\n", "\\r\\n\"}"},
        {"\"line\\t", "\\u0020more\""},
        {"\"line\\u0020", "\\u000a\""},
        {"\"\\u001b[31m", "\\u001b[0m\""},
        {"'\\x1b[1;31m", "\\x1b[0m'"},
        {"\\033[0;1m", "\\033[0m"},
        {"\\e[K", "\\e[m"},
        {"\\u001b(B", ""},
        {"\\u009b32m", "\\u009b0m"},
        {"%1B%5B0m", "%1B%5B0m"},
        {"a%20", "%20b"},
        {"https://host/p?x%3D", "%26y%3D1"},
        {"%22", "%22"},
        {"line%0A", "%0Aline"},
        {"x=3D", " =\n"},
    };
    struct wbi_buf secret, text, clean, out;

    (void)state;
    wbi_buf_init(&secret, 4096);
    wbi_buf_init(&text, 8192);
    wbi_buf_init(&clean, 8192);
    wbi_buf_init(&out, 8192);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct wbi_str s =
            sample(&secret, forms[i].prefix, forms[i].alphabet, forms[i].n, forms[i].suffix);

        for (size_t k = 0; k < sizeof frames / sizeof *frames; k++) {
            wbi_buf_clear(&text);
            wbi_buf_addz(&text, frames[k][0]);
            wbi_buf_adds(&text, s);
            wbi_buf_addz(&text, frames[k][1]);
            wbi_buf_clear(&clean);
            assert_int_equal(wbi_hygiene_clean(wbi_buf_str(&text), &clean, NULL), WB_OK);
            replace(wbi_buf_str(&clean), &out);
            if (holds(&out, s) || report.total != 1)
                fail_msg("%s in frame %zu: %.*s", forms[i].label, k, WBI_FMT(wbi_buf_str(&out)));
            if (k < 2)
                assert_string_equal(report.row[0].label, forms[i].label);
        }
    }
    wbi_buf_fini(&secret);
    wbi_buf_fini(&text);
    wbi_buf_fini(&clean);
    wbi_buf_fini(&out);
}

/* row 102: cut at every offset */
static void a_secret_cut_between_two_reads_is_found(void **state)
{
    struct wbi_buf secret, text, out, whole;
    static const size_t picked[] = {0, 3, 8, 10, 27, 44, 46};

    (void)state;
    wbi_buf_init(&secret, 4096);
    wbi_buf_init(&text, 8192);
    wbi_buf_init(&out, 8192);
    wbi_buf_init(&whole, 8192);
    for (size_t i = 0; i < sizeof picked / sizeof *picked; i++) {
        const struct form *f = &forms[picked[i]];
        struct wbi_str s = sample(&secret, f->prefix, f->alphabet, f->n, f->suffix);

        wbi_buf_clear(&text);
        wbi_buf_addz(&text, "before ");
        wbi_buf_adds(&text, s);
        wbi_buf_addz(&text, " password: correct horse battery\nafter");
        replace(wbi_buf_str(&text), &whole);
        assert_int_equal(report.total, 2);
        for (size_t cut = 0; cut <= text.n; cut++) {
            struct wbi_secrets_stream st;

            wbi_buf_clear(&out);
            wbi_secrets_stream_init(&st, set);
            assert_int_equal(
                wbi_secrets_stream_feed(&st, wbi_str_head(wbi_buf_str(&text), cut), &out), WB_OK);
            assert_int_equal(
                wbi_secrets_stream_feed(&st, wbi_str_from(wbi_buf_str(&text), cut), &out), WB_OK);
            assert_int_equal(wbi_secrets_stream_finish(&st, &out), WB_OK);
            assert_true(wbi_str_eq(wbi_buf_str(&out), wbi_buf_str(&whole)));
            assert_int_equal(st.report.total, 2);
            wbi_secrets_stream_fini(&st);
        }
    }
    wbi_buf_fini(&secret);
    wbi_buf_fini(&text);
    wbi_buf_fini(&out);
    wbi_buf_fini(&whole);
}

/* in a line longer than what is held back, at every place around the limit */
static void a_secret_in_an_endless_line_is_found(void **state)
{
    struct wbi_buf secret, out;
    char filler[4096];
    struct wbi_secrets_stream st;

    (void)state;
    memset(filler, ' ', sizeof filler);
    wbi_buf_init(&secret, 4096);
    wbi_buf_init(&out, 1u << 20);
    sample(&secret, "ghp_", alnum, 36, "");
    for (size_t shift = 0; shift < 48; shift += 3) {
        wbi_buf_clear(&out);
        wbi_secrets_stream_init(&st, set);
        for (int i = 0; i < 40; i++) {
            assert_int_equal(
                wbi_secrets_stream_feed(&st, wbi_str_make(filler, sizeof filler - shift), &out),
                WB_OK);
            assert_int_equal(
                wbi_secrets_stream_feed(&st, wbi_str_head(wbi_buf_str(&secret), 20), &out), WB_OK);
            assert_int_equal(
                wbi_secrets_stream_feed(&st, wbi_str_from(wbi_buf_str(&secret), 20), &out), WB_OK);
        }
        assert_int_equal(wbi_secrets_stream_finish(&st, &out), WB_OK);
        assert_int_equal(st.report.total, 40);
        assert_false(holds(&out, wbi_buf_str(&secret)));
        wbi_secrets_stream_fini(&st);
    }
    wbi_buf_fini(&secret);
    wbi_buf_fini(&out);
}

/* row 103 */
static void marks_inside_do_not_hide_a_secret(void **state)
{
    struct wbi_buf secret, text, clean, out;

    (void)state;
    wbi_buf_init(&secret, 4096);
    wbi_buf_init(&text, 8192);
    wbi_buf_init(&clean, 8192);
    wbi_buf_init(&out, 8192);
    sample(&secret, "ghp_", alnum, 36, "");
    wbi_buf_addz(&text, "x <U+FEFF> ");
    wbi_buf_add(&text, secret.p, 10);
    wbi_buf_addz(&text, "\xe2\x80\x8b\x1b[31m");
    wbi_buf_add(&text, secret.p + 10, secret.n - 10);
    wbi_buf_addz(&text, " y\n");
    assert_int_equal(wbi_hygiene_clean(wbi_buf_str(&text), &clean, NULL), WB_OK);
    replace(wbi_buf_str(&clean), &out);
    assert_int_equal(report.total, 1);
    assert_true(holds(&out, WBI_LIT("x <U+FEFF> [redacted:github-token:")));
    assert_true(holds(&out, WBI_LIT("] y\n")));
    wbi_buf_fini(&secret);
    wbi_buf_fini(&text);
    wbi_buf_fini(&clean);
    wbi_buf_fini(&out);
}

/* text in two pieces, cut at every place, as in one */
static void cut_everywhere(struct wbi_str text, size_t total)
{
    struct wbi_secrets_stream st;
    struct wbi_buf out, whole;

    wbi_buf_init(&out, 1u << 20);
    wbi_buf_init(&whole, 1u << 20);
    replace(text, &whole);
    if (report.total != total)
        fail_msg("%zu found, not %zu: %.*s", (size_t)report.total, total,
                 WBI_FMT(wbi_buf_str(&whole)));
    for (size_t cut = 0; cut <= text.n; cut++) {
        wbi_buf_clear(&out);
        wbi_secrets_stream_init(&st, set);
        assert_int_equal(wbi_secrets_stream_feed(&st, wbi_str_head(text, cut), &out), WB_OK);
        assert_int_equal(wbi_secrets_stream_feed(&st, wbi_str_from(text, cut), &out), WB_OK);
        assert_int_equal(wbi_secrets_stream_finish(&st, &out), WB_OK);
        if (!wbi_str_eq(wbi_buf_str(&out), wbi_buf_str(&whole)))
            fail_msg("cut at %zu: %.*s", cut, WBI_FMT(wbi_buf_str(&out)));
        assert_int_equal(st.report.total, total);
        wbi_secrets_stream_fini(&st);
    }
    wbi_buf_fini(&out);
    wbi_buf_fini(&whole);
}

/* A secret between a name and the value that belongs to it, both replaced. */
static void a_secret_before_a_far_value_is_found(void **state)
{
    static const char *const texts[] = {
        "postgres://token=a8Kd03LmQz7RtYw2:hunter-22@db/x\n",
        "curl -u token=a8Kd03LmQz7RtYw2:hunter-22 https://host/\n",
        "curl -u correct%20horse%20battery:hunter-22 https://host/\n",
        "postgres://correct%20horse%20battery:hunter-22@db/x\n",
        "postgres://of-correct%20horse%20battery:hunter-22@db/x\n",
        "discord correct horse battery = "
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cut_everywhere(wbi_str_z(texts[i]), 2);
}

/* rows 102 and 104 at once */
static void encoded_known_values_are_found_across_reads(void **state)
{
    static const char *const texts[] = {
        "a\nsay correct horse battery now\nb\n",
        "a\nY29ycmVjdCBob3JzZSBiYXR0ZXJ5\nb",
        "x eGNvcnJlY3QgaG9yc2UgYmF0dGVyeXh4eA== y\n",
        "x eHhjb3JyZWN0IGhvcnNlIGJhdHRlcnl4eHg= y\n",
        "q=correct%20horse%20battery&b=1\n",
        "q=correct+horse+battery\n",
        "x 636f727265637420686f7273652062617474657279 y\n",
        "{\"v\":\"p@ss/w\\\"rd-19xyz\",\"w\":1}\n",
        "p%40ss%2Fw%22rd-19xyz\n",
        "p%40ss%2fw%22rd-19xyz",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cut_everywhere(wbi_str_z(texts[i]), 1);
}

static void what_looks_like_a_replacement_hides_nothing(void **state)
{
    static const char *const leaks[] = {
        "token: [redacted:value:abcdef]Zx81kQ0pVn47TyLm\n",
        "password=[redacted:value:abcdef]Zx81kQ0pVn47TyLm\n",
        "Authorization: Bearer [redacted:bearer-token:123456]Zx81kQ0pVn47TyLm\n",
        "postgres://app:[redacted:url-credentials:123456]Zx81kQ0pVn47TyLm@db/x\n",
        "curl -u admin:[redacted:curl-user:123456]Zx81kQ0pVn47TyLm https://host/\n",
        "[redacted:ghp_a8Kd03LmQz7RtYw2Xc5Vb9Ne4Uh6Jg1Zx81k:123456] Zx81kQ0pVn47TyLm0\n",
    };
    struct wbi_str last = wbi_str_z(leaks[5]);
    struct wbi_buf out;

    (void)state;
    wbi_buf_init(&out, 8192);
    for (size_t i = 0; i < 5; i++) {
        replace(wbi_str_z(leaks[i]), &out);
        if (report.total != 1 || holds(&out, WBI_LIT("Zx81kQ0pVn47TyLm")))
            fail_msg("%s -> %.*s", leaks[i], WBI_FMT(wbi_buf_str(&out)));
    }
    replace(last, &out); /* a token in the place of the label */
    assert_false(holds(&out, WBI_LIT("ghp_")));
    replace(WBI_LIT("password: [redacted:DB_PASSWORD:123456]\n"), &out);
    assert_int_equal(report.total, 0);
    assert_true(wbi_secrets_is_mask(set, WBI_LIT("[redacted:DB_PASSWORD:123456]")));
    assert_false(wbi_secrets_is_mask(set, WBI_LIT("[redacted:hunter2:123456]")));
    assert_false(wbi_secrets_is_mask(set, WBI_LIT("[redacted:value:123456] and more")));
    wbi_buf_fini(&out);
}

/* As kubectl prints them, kind before and after, in a list, as JSON, in an annotation. */
static void the_values_of_a_kubernetes_secret_are_replaced_in_text(void **state)
{
    static const struct {
        const char *text;
        size_t n;
    } cases[] = {
        {"apiVersion: v1\ndata:\n  pin: MTIzNA==\n  user: YWRtaW4=\nkind: Secret\nmetadata:\n"
         "  name: db\n",
         2},
        {"$ cat s.yaml\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\n"
         "data:\n  pin: MTIzNA==\nstringData:\n  note: |\n    first line\n    second: line\n"
         "  other: \"plain text\"\n---\nkind: ConfigMap\ndata:\n  a: b\n",
         4},
        {"apiVersion: v1\nitems:\n- apiVersion: v1\n  data:\n    pin: MTIzNA==\n  kind: Secret\n"
         "- apiVersion: v1\n  data:\n    open: door\n  kind: ConfigMap\nkind: List\n",
         1},
        {"{\n    \"apiVersion\": \"v1\",\n    \"data\": {\n        \"pin\": \"MTIzNA==\",\n"
         "        \"user\": \"YWRtaW4=\"\n    },\n    \"kind\": \"Secret\"\n}\n",
         2},
        {"x {\"kind\":\"Secret\",\"metadata\":{\"name\":\"db\"},\"data\":{\"pin\":\"MTIzNA==\"}} "
         "y\n",
         1},
        {"a: \"{\\\"apiVersion\\\":\\\"v1\\\",\\\"data\\\":{\\\"pin\\\":\\\"MTIzNA==\\\"},"
         "\\\"kind\\\":\\\"Secret\\\"}\\n\"\n",
         1},
        {"apiVersion: v1\ndata:\n  open: door\nkind: ConfigMap\n", 0},
        {"data:\n  open: door\nkind: of\n", 0},
        {"kind: Secret\nmetadata:\n  name: empty\n", 0},
    };
    struct wbi_buf out;

    (void)state;
    wbi_buf_init(&out, 8192);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        replace(wbi_str_z(cases[i].text), &out);
        assert_false(holds(&out, WBI_LIT("MTIzNA")));
        assert_false(holds(&out, WBI_LIT("line")));
        cut_everywhere(wbi_str_z(cases[i].text), cases[i].n);
    }
    wbi_buf_fini(&out);
}

/* row 106: what looks random and is none */
static void harmless_text_is_left_alone(void **state)
{
    static const char *const harmless[] = {
        "commit 9b42f5cb39faf83f9f5e0d6c2cf490cc4420901a\n",
        "index 3f78685..89e6c98 100644\n",
        "cache-key: 3f786850e387550fdab836ed7e6dc881de23001b\n",
        "key: 123e4567-e89b-12d3-a456-426614174000\n",
        "id=123e4567-e89b-12d3-a456-426614174000",
        "sha256:0f3a9c7e1b5d28460f3a9c7e1b5d28460f3a9c7e1b5d28460f3a9c7e1b5d2846",
        "<img "
        "src=\"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4"
        "//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==\">",
        "!function(e,t){var n=e.key=function(r){return "
        "r.token=t.authToken(n),e.secret=o.get(\"a1\")}}(",
        "token = getTokenFromHeader2(request)\n",
        "const key = config.items[3].name;\n",
        "password: <your password here>\n",
        "PASSWORD=${DB_PASSWORD_V2}\n",
        "author: John Smith 1234567890 <js@host>\n",
        "monkey=banana-bread-recipe-2024\n",
        "error: invalid key 'abc' at line 12:34\n",
        "https://example.com:8080/path@v2\n",
        "npm_config_registry=https://registry.local/\n",
        "ssh://git@host:22/repo.git\n",
        "AKIA is a prefix\n",
        "the bearer of this letter may pass\n",
        "secret: see vault/path/to/key-01\n",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
        "sort key: created_at_2024_desc\n",
        "authentication: OAuth2ClientCredentials\n",
        "\"head\\nmonkey=a8Kd03LmQz7RtYw2Xc5V\"\n",
        "\\nTASK0f3a9c7e1b5d28460f3a9c7e1b5d2846\n",
    };
    struct wbi_buf out;

    (void)state;
    wbi_buf_init(&out, 8192);
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
        replace(wbi_str_z(harmless[i]), &out);
        if (report.total != 0)
            fail_msg("%s -> %.*s", harmless[i], WBI_FMT(wbi_buf_str(&out)));
        assert_true(wbi_str_eq(wbi_buf_str(&out), wbi_str_z(harmless[i])));
    }
    wbi_buf_fini(&out);
}

static void values_beside_telling_names_are_replaced(void **state)
{
    static const char *const leaks[] = {
        "API_KEY=a8Kd03LmQz7RtYw2Xc5V\n",
        "\"password\": \"k3J9-wQz71pLmXvR\",\n",
        "client_secret: 'Zx81kQ0pVn47TyLm'\n",
        "Authorization: Bearer a8Kd03LmQz7RtYw2Xc5V\n",
        "authorization: Basic dXNlcjpwYXNzd29yZA==\n",
        "curl -H 'Bearer a8Kd03LmQz7RtYw2Xc5V'\n",
        "postgres://app:s3cretPw@db:5432/x\n",
        "curl -u admin:hunter2xyz https://host/\n",
        "https://hooks.slack.com/services/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\n",
        "DISCORD_SECRET=0f3a9c7e1b5d28460f3a9c7e1b5d28460f3a9c7e1b5d28460f3a9c7e1b5d2846\n",
        "cloudflare_api: a8Kd03LmQz7RtYw2Xc5Vb9Ne4Uh6Jg1Pf0SoTiDq\n",
        "{\\\"token\\\":\\\"a8Kd03LmQz7RtYw2Xc5V\\\"}\n",
        "SSH_PASSPHRASE=a8Kd03LmQz7RtYw2Xc5V and some more text behind it\n",
        "postgres://\xc3\xbcser:s3cretPw@db:5432/x and some more text behind it\n",
        "Passwort: a8Kd03LmQz7RtYw2Xc5V\n",
        "AWS_SECRET-KEY = a8Kd03LmQz7RtYw2Xc5V\n",
        "\"head\\nkey: a8Kd03LmQz7RtYw2Xc5V\\n\"\n",
        "\"\\u001b[31mauth=a8Kd03LmQz7RtYw2Xc5V\"\n",
        "%20key=a8Kd03LmQz7RtYw2Xc5V\n",
        "\"head\\nBearer a8Kd03LmQz7RtYw2Xc5V\"\n",
        "\"head\\u0020123456789:Aa8Kd03LmQz7RtYw2Xc5Vb9Ne4Uh6Jg1Pf0\"\n",
    };
    struct wbi_buf out;

    (void)state;
    wbi_buf_init(&out, 8192);
    for (size_t i = 0; i < sizeof leaks / sizeof *leaks; i++) {
        replace(wbi_str_z(leaks[i]), &out);
        if (report.total != 1)
            fail_msg("%s -> %.*s", leaks[i], WBI_FMT(wbi_buf_str(&out)));
    }
    wbi_buf_fini(&out);
}

/* Session tokens have a thousand characters, some begin with a slash as a path does. */
static void long_values_are_replaced_whole(void **state)
{
    static const size_t lengths[] = {100, 150, 151, 400, 1200, 4000};
    static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char *const names[] = {"AWS_SESSION_TOKEN=", "\"access_token\": \"",
                                        "password: /"};
    struct wbi_buf text;

    (void)state;
    wbi_buf_init(&text, 8192);
    for (size_t i = 0; i < 3 * sizeof lengths / sizeof *lengths; i++) {
        uint32_t random = 12345;

        wbi_buf_clear(&text);
        wbi_buf_addz(&text, names[i % 3]);
        for (size_t n = i % 3 == 2; n < lengths[i / 3]; n++) {
            random = random * 1664525u + 1013904223u;
            wbi_buf_addc(&text, base64[random >> 26]);
        }
        wbi_buf_addz(&text, "\"\n");
        cut_everywhere(wbi_buf_str(&text), 1);
    }
    wbi_buf_fini(&text);
}

/* row 107 */
static void key_blocks_go_to_their_end_or_a_cap(void **state)
{
    struct wbi_buf text, out, streamed;
    struct wbi_secrets_stream st;

    (void)state;
    wbi_buf_init(&text, 1u << 20);
    wbi_buf_init(&out, 1u << 20);
    wbi_buf_init(&streamed, 1u << 20);
    for (int end = 0; end < 2; end++) {
        wbi_buf_clear(&text);
        wbi_buf_addz(&text, "before\n-----BEGIN RSA PRIVATE KEY-----\n");
        for (int i = 0; i < 40; i++)
            wbi_buf_addf(&text,
                         "MIIEpAIBAAKCAQEAn0a8Kd03LmQz7RtYw2Xc5Vb9Ne4Uh6Jg1Pf0SoTiDq%04dAB\n", i);
        if (end)
            wbi_buf_addz(&text, "-----END RSA PRIVATE KEY-----\n");
        wbi_buf_addz(&text, "after it, more text.\n");
        replace(wbi_buf_str(&text), &out);
        assert_int_equal(report.total, 1);
        assert_true(holds(&out, WBI_LIT("before\n[redacted:private-key:")));
        assert_true(holds(&out, WBI_LIT("after it, more text.\n")));
        assert_false(holds(&out, WBI_LIT("MIIE")));
        for (size_t cut = 0; cut < text.n; cut += 37) {
            wbi_buf_clear(&streamed);
            wbi_secrets_stream_init(&st, set);
            assert_int_equal(
                wbi_secrets_stream_feed(&st, wbi_str_head(wbi_buf_str(&text), cut), &streamed),
                WB_OK);
            assert_int_equal(
                wbi_secrets_stream_feed(&st, wbi_str_from(wbi_buf_str(&text), cut), &streamed),
                WB_OK);
            assert_int_equal(wbi_secrets_stream_finish(&st, &streamed), WB_OK);
            assert_true(wbi_str_eq(wbi_buf_str(&out), wbi_buf_str(&streamed)));
            wbi_secrets_stream_fini(&st);
        }
    }
    replace(
        WBI_LIT("{\"k\":\"-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEF\\n-----END "
                "PRIVATE KEY-----\\n\",\"b\":1}"),
        &out);
    assert_true(holds(&out, WBI_LIT("\\n\",\"b\":1}")));
    assert_false(holds(&out, WBI_LIT("MIIE")));
    wbi_buf_fini(&text);
    wbi_buf_fini(&out);
    wbi_buf_fini(&streamed);
}

static void the_same_secret_has_the_same_hash(void **state)
{
    struct wbi_buf a, b;

    (void)state;
    wbi_buf_init(&a, 4096);
    wbi_buf_init(&b, 4096);
    replace(WBI_LIT("API_KEY=a8Kd03LmQz7RtYw2Xc5V"), &a);
    replace(WBI_LIT("api-key: a8Kd03LmQz7RtYw2Xc5V"), &b);
    assert_memory_equal(a.p + a.n - 8, b.p + b.n - 8, 8);
    wbi_buf_fini(&a);
    wbi_buf_fini(&b);
}

/* A key block with visible marks in it, cut behind every line. */
static void a_marked_key_block_is_hidden_across_reads(void **state)
{
    struct wbi_str text = WBI_LIT("a <U+200B>\n-----BEGIN PRIVATE"
                                  " KEY-----\n"
                                  "MIIEvQIBADANBgkqhkiG9w0<U+200B>BAQEFAASCBKcwggSj\n"
                                  "AgEAAoIBAQC7VJTUt9Us8cKjMzEfYyjiWA4R4\n"
                                  "-----END PRIVATE"
                                  " KEY-----\nafter\n");
    struct wbi_secrets_stream st;
    struct wbi_buf out;

    (void)state;
    wbi_buf_init(&out, 1u << 20);
    for (size_t cut = 0; cut < text.n; cut++) {
        wbi_buf_clear(&out);
        wbi_secrets_stream_init(&st, set);
        assert_int_equal(wbi_secrets_stream_feed(&st, wbi_str_head(text, cut), &out), WB_OK);
        assert_int_equal(wbi_secrets_stream_feed(&st, wbi_str_from(text, cut), &out), WB_OK);
        assert_int_equal(wbi_secrets_stream_finish(&st, &out), WB_OK);
        assert_false(holds(&out, WBI_LIT("MIIE")));
        assert_false(holds(&out, WBI_LIT("AgEA")));
        assert_true(holds(&out, WBI_LIT("\nafter\n")));
        wbi_secrets_stream_fini(&st);
    }
    wbi_buf_fini(&out);
}

static void marks_do_not_hide_a_secret_from_the_question(void **state)
{
    (void)state;
    assert_true(wbi_secrets_found(set, WBI_LIT("correct <U+200B>horse battery")));
    assert_false(wbi_secrets_found(set, WBI_LIT("nothing <U+200B>here")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_replaced_wherever_it_stands),
        cmocka_unit_test(a_secret_cut_between_two_reads_is_found),
        cmocka_unit_test(a_secret_in_an_endless_line_is_found),
        cmocka_unit_test(marks_inside_do_not_hide_a_secret),
        cmocka_unit_test(a_marked_key_block_is_hidden_across_reads),
        cmocka_unit_test(marks_do_not_hide_a_secret_from_the_question),
        cmocka_unit_test(encoded_known_values_are_found_across_reads),
        cmocka_unit_test(a_secret_before_a_far_value_is_found),
        cmocka_unit_test(what_looks_like_a_replacement_hides_nothing),
        cmocka_unit_test(the_values_of_a_kubernetes_secret_are_replaced_in_text),
        cmocka_unit_test(harmless_text_is_left_alone),
        cmocka_unit_test(values_beside_telling_names_are_replaced),
        cmocka_unit_test(long_values_are_replaced_whole),
        cmocka_unit_test(key_blocks_go_to_their_end_or_a_cap),
        cmocka_unit_test(the_same_secret_has_the_same_hash),
    };
    return cmocka_run_group_tests(tests, open_set, close_set);
}
