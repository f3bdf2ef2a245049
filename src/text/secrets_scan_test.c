/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_scan_test.c: every way of scanning finds what secrets begin with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "text/secrets_int.h"

/* A byte that may follow the literal: where any may, one beyond ASCII. */
static uint8_t follower(const struct rule *rule)
{
    uint8_t c = 'a';

    while (rule->alphabet != A_ANY && !wbi_in_alphabet(c, rule->alphabet))
        c--;
    return rule->alphabet == A_ANY ? 0xc3 : c;
}

/* Every literal at every place of a block, with and without vector shuffles. */
static void every_way_of_scanning_finds_every_literal(void **state)
{
    static const size_t lanes[] = {0, 32, 64};
    static struct prefilter filter;
    static struct scan scan;
    char text[256];

    (void)state;
    wbi_prefilter_init(&filter);
    for (size_t r = 0; r < wbi_secret_rules_n; r++) {
        const struct rule *rule = &wbi_secret_rules[r];
        size_t n = strlen(rule->literal);

        for (size_t at = 0; at < 130; at += 1 + r % 3) {
            memset(text, '.', sizeof text);
            memset(text + at, follower(rule), 60);
            memcpy(text + at, rule->literal, n);
            for (size_t k = 0; k < 3; k++) {
                size_t found;

                wbi_scan_start(&scan, &filter, wbi_str_make(text, sizeof text));
                if (scan.lanes < lanes[k])
                    continue;
                scan.lanes = lanes[k];
                while ((found = wbi_scan_next(&scan, 0)) < at)
                    ;
                assert_int_equal(found, at);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_of_scanning_finds_every_literal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
