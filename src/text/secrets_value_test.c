/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_value_test.c: values beside a telling name (attack rows 101 and 106): random
 * ones are replaced whatever words they hold by chance, placeholders are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/checked.h"
#include "text/secrets.h"

static struct wbi_secrets *set;

static const char *const frames[][2] = {
    {"token=", "\n"},
    {"API_KEY=", "\n"},
    {"\"password\": \"", "\",\n"},
    {"client_secret: ", "\n"},
    {"access_token=", "&x=1\n"},
    {"DB_PASSWORD=", "\n"},
    {"secret_key = \"", "\"\n"},
    {"passwd: ", "\n"},
    {"credential=", "\n"},
    {"auth_token: '", "'\n"},
};

/* Is the value shown in any frame? */
static bool shown(struct wbi_str value)
{
    struct wbi_buf text, out;
    bool any = false;

    wbi_buf_init(&text, 4096);
    wbi_buf_init(&out, 4096);
    for (size_t i = 0; i < WBI_COUNT(frames); i++) {
        wbi_buf_clear(&text);
        wbi_buf_clear(&out);
        wbi_buf_addz(&text, frames[i][0]);
        wbi_buf_adds(&text, value);
        wbi_buf_addz(&text, frames[i][1]);
        assert_int_equal(wbi_secrets_replace(set, wbi_buf_str(&text), &out, NULL), WB_OK);
        any |= wbi_str_find(wbi_buf_str(&out), value) < out.n;
    }
    wbi_buf_fini(&text);
    wbi_buf_fini(&out);
    return any;
}

static uint32_t state_of_chance = 7;

static uint32_t chance(uint32_t n)
{
    state_of_chance = state_of_chance * 1664525u + 1013904223u;
    return (state_of_chance >> 8) % n;
}

static const struct {
    const char *chars;
    uint32_t n;
} alphabets[] = {
    {"0123456789abcdef", 16},
    {"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 62},
    {"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/", 64},
};

static size_t random_value(char *ret, size_t alphabet, size_t least)
{
    size_t n = least + chance(61 - (uint32_t)least);

    for (size_t i = 0; i < n; i++)
        ret[i] = alphabets[alphabet].chars[chance(alphabets[alphabet].n)];
    return n;
}

static void random_values_are_replaced_under_every_name(void **state)
{
    char value[64];

    (void)state;
    for (size_t i = 0; i < 3000; i++) {
        struct wbi_str v = wbi_str_make(value, random_value(value, i % 3, 32));

        if (shown(v))
            fail_msg("%.*s", WBI_FMT(v));
    }
}

/* Capitals by chance, too, where the alphabet has them; never at the beginning. */
static void a_word_held_by_chance_is_no_placeholder(void **state)
{
    static const char *const words[] = {"null", "your", "todo", "fake", "mock", "none", "xxxx"};
    char value[64];

    (void)state;
    for (size_t i = 0; i < 1400; i++) {
        bool hex = i % 2 == 0;
        const char *word = hex ? "abcdef" : words[i / 2 % WBI_COUNT(words)];
        size_t n = random_value(value, i % 2, hex ? 44 : 28), len = strlen(word);
        size_t at = 1 + chance((uint32_t)(n - len - 1));

        for (size_t k = 0; k < len; k++)
            value[at + k] = (char)(hex ? word[k] : word[k] ^ (chance(2) ? 0x20 : 0));
        if (shown(wbi_str_make(value, n)))
            fail_msg("%.*s", (int)n, value);
    }
}

static void what_looked_like_a_path_or_words_is_replaced(void **state)
{
    static const char *const values[] = {
        "0xR4W5vc86uM90HbbThj7pO4Sk1mkaQMD", /* no number */
        "DwQqyG/aPMszHEcVR/iaWD",            /* slashes part no words */
        "2427466e9e76e281e9d8e",             /* repeats a few digits */
        "1xdttn9dodid1kvp0901d8k",
        "InqrZpWulu1M5Xrif3Iyuns9", /* runs of small letters, some without a vowel */
    };

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(values); i++)
        if (shown(wbi_str_z(values[i])))
            fail_msg("%s", values[i]);
}

static void placeholders_are_shown(void **state)
{
    static const char *const values[] = {
        "your-api-key-here",
        "your_api_key_here",
        "YOUR_API_KEY",
        "YOUR_API_KEY_HERE",
        "YourApiKeyHere123",
        "YourSecretTokenHere1",
        "Your-Api-Key-Here-123",
        "<token>",
        "<your-token-here>",
        "<YOUR_GITHUB_TOKEN>",
        "changeme",
        "changeme123",
        "ChangeMe123!",
        "CHANGEME_PLEASE_2024",
        "xxxx",
        "xxxxxxxxxxxxxxxx",
        "XXXXXXXX-XXXX-XXXX-XXXX-XXXXXXXXXXXX",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
        "ghp_xxxxxxxxxxxxxxxxxxxx",
        "xoxb-your-bot-token-1",
        "${TOKEN}",
        "${DB_PASSWORD:-changeme1}",
        "$TOKEN_FROM_ENV2",
        "$(cat /run/secrets/token1)",
        "{{ vault_token_2 }}",
        "%TOKEN%",
        "%(password)s",
        "[your-password-1]",
        "****************",
        "********1234",
        "example-secret-value",
        "example-token-1234",
        "example_key_2024",
        "AKIAIOSFODNN7EXAMPLE_",
        "my-example-password1",
        "fake_token_for_tests",
        "fake-token-123456",
        "fakepassword123",
        "fake-api-key-0001",
        "dummy-token-2",
        "dummy_secret_key_123",
        "dummyPassword1",
        "sample-token-12345",
        "sample_api_key_1",
        "test-token-1",
        "test-secret-key-1234",
        "mock-token-abc123",
        "mock_access_token_1",
        "mockToken123456",
        "none1234567",
        "null-token-1",
        "undefined-1-token",
        "placeholder-value-1",
        "PLACEHOLDER_TOKEN_1",
        "insert-your-key-here-1",
        "insert_token_here_2",
        "replace-me-with-token-1",
        "replace_with_your_key_1",
        "REPLACE_ME_1234",
        "todo-set-this-1",
        "TODO_FILL_IN_TOKEN_1",
        "redacted-by-admin-1",
        "localhost-dev-token-1",
        "default-password-1",
        "default_admin_token_1",
        "defaultSecretKey1",
        "process.env.API_TOKEN_1",
        "env.SECRET_TOKEN_2",
        "config.auth.token1",
        "import.meta.env.VITE_TOKEN1",
        "1234567890abcdef",
        "1234567890abcdef1234567890abcdef",
        "abcdef1234567890abcdef1234567890",
        "abcdefghijklmnopqrstuvwxyz123456",
        "0123456789abcdef0123456789abcdef",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY",
        "string-value-1",
        "your.token.here.1",
        "yourVerySecretPassword123",
        "my_fake_key_1234567890abcdef",
        "fakekey0987654321fedcba",
        "ExampleToken1234567890",
        "EXAMPLE_TOKEN_abc123",
        "test-1234567890",
        "dummyAccessToken0123456789",
        "eyJ0eXAiEXAMPLE",
        "abc123def456example",
        "a1b2c3d4-example-token",
        "e5f6g7h8exampletoken12",
        "fake-jwt-9f86d081884c7d65",
        "00000000-0000-0000-0000-000000000000-default",
    };
    struct wbi_buf text, out;

    (void)state;
    wbi_buf_init(&text, 4096);
    wbi_buf_init(&out, 4096);
    for (size_t i = 0; i < WBI_COUNT(values) * WBI_COUNT(frames); i++) {
        wbi_buf_clear(&text);
        wbi_buf_clear(&out);
        wbi_buf_addz(&text, frames[i % WBI_COUNT(frames)][0]);
        wbi_buf_addz(&text, values[i / WBI_COUNT(frames)]);
        wbi_buf_addz(&text, frames[i % WBI_COUNT(frames)][1]);
        assert_int_equal(wbi_secrets_replace(set, wbi_buf_str(&text), &out, NULL), WB_OK);
        if (!wbi_str_eq(wbi_buf_str(&text), wbi_buf_str(&out)))
            fail_msg("%.*s", WBI_FMT(wbi_buf_str(&text)));
    }
    wbi_buf_fini(&text);
    wbi_buf_fini(&out);
}

static int set_up(void **state)
{
    struct wbi_secrets_options o = {.key = WBI_LIT("k")};

    (void)state;
    return wbi_secrets_new(&o, &set, NULL, NULL) == WB_OK ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    wbi_secrets_free(set);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_values_are_replaced_under_every_name),
        cmocka_unit_test(a_word_held_by_chance_is_no_placeholder),
        cmocka_unit_test(what_looked_like_a_path_or_words_is_replaced),
        cmocka_unit_test(placeholders_are_shown),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
