/* SPDX-License-Identifier: Apache-2.0
 * tests/guarded_keys_test.c: the table of idempotency keys over days. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "api/api_int.h"
#include "ledger/ledger.h"
#include "store/store.h"
#include "support/guarded.h"

static struct guarded g;

static size_t keys_kept(void)
{
    struct wbi_entry *e;
    size_t n = 0;

    assert_int_equal(wbi_store_list(g.runtime->rt->store, g.arena, WBI_LIT("keys"), WBI_NONE,
                                    WBI_NONE, 1000, &e, &n, NULL),
                     WB_OK);
    return n;
}

/* C8.6: keys that expired long ago make room, others stay. */
static void keys_do_not_pile_up(void **state)
{
    static const struct {
        int64_t pass_ms; /* before */
        size_t calls, most;
    } rows[] = {
        {0, 20, 20}, {INT64_C(30) * 3600 * 1000, 20, 40}, {INT64_C(49) * 3600 * 1000, 200, 200}};
    struct scripted *t;
    char key[16];
    int number = 0;

    (void)state;
    guarded_open(&g, NULL, NULL, true);
    t = guarded_tool(&g, "t", "IdempotentWrite", "", "ok", NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        guarded_pass_ms(&g, rows[i].pass_ms);
        for (size_t n = 0; n < rows[i].calls; n++) {
            struct asked a;
            snprintf(key, sizeof(key), "k%d", number++);
            (void)answer(&g, &a, "t", WB_FIELD_IDEMPOTENCY_KEY, key, 0);
            assert_string_equal(a.kind, "");
        }
        assert_int_equal(wbi_ledger_flush(g.runtime->rt->ledger, NULL), WB_OK);
        assert_int_equal(keys_kept(), rows[i].most);
    }
    assert_int_equal(t->runs, number);
    guarded_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys_do_not_pile_up)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
