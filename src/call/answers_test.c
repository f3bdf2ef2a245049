/* SPDX-License-Identifier: Apache-2.0
 * call/answers_test.c: answers that outgrow memory are read back byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "call/answers.h"
#include "faults/faults.h"

enum { SIZE = 1 << 20, MANY = WBI_LIMIT_ANSWERS / SIZE + 4 };

static char text[SIZE];

static struct wbi_str numbered(int i)
{
    memset(text, 'a' + i % 26, sizeof(text));
    (void)snprintf(text, sizeof(text), "answer %d", i);
    return wbi_str_make(text, sizeof(text) - (size_t)i);
}

static bool put(struct wbi_answers *a, int i, int64_t *ret_at)
{
    return wbi_answers_put(a, numbered(i), ret_at);
}

static void assert_there(const struct wbi_answers *a, int i, int64_t at)
{
    struct wbi_str want = numbered(i);
    char *got;

    assert_int_equal(wbi_answers_get(a, at, want.n, &got), WB_OK);
    assert_memory_equal(got, want.p, want.n);
    wbi_free(got);
}

static void what_outgrows_memory_is_read_back(void **state)
{
    struct wbi_answers a;
    int64_t at[MANY];
    int kept = 0;

    (void)state;
    wbi_answers_init(&a, WBI_LIT("/tmp"));
    for (int i = 0; i < MANY; i++)
        if (!put(&a, i, &at[i]))
            kept++;
    assert_int_equal(kept, MANY - 4);
    assert_true(a.in_memory <= WBI_LIMIT_ANSWERS);
    for (int i = MANY - 1; i >= kept; i--)
        assert_there(&a, i, at[i]);
    wbi_answers_fini(&a);
}

static void without_a_place_all_stay(void **state)
{
    static const char *const dirs[] = {"", "/nonexistent/state", "/proc/self/exe"};

    (void)state;
    for (size_t d = 0; d < sizeof(dirs) / sizeof(dirs[0]); d++) {
        struct wbi_answers a;
        int64_t at;

        wbi_answers_init(&a, wbi_str_z(dirs[d]));
        for (int i = 0; i < MANY; i++)
            assert_false(put(&a, i, &at));
        wbi_answers_fini(&a);
    }
}

/* A disk without room keeps nothing of an answer, and does not harm the others. */
static void what_the_disk_does_not_take_stays(void **state)
{
    static const int errors[] = {ENOSPC, EIO, EINTR, FAULT_SHORT_WRITE};
    struct wbi_answers a;
    int64_t first = 0, at = 0;
    char *got;

    (void)state;
    wbi_answers_init(&a, WBI_LIT("/tmp"));
    for (int i = 0; i < MANY - 4; i++)
        assert_false(put(&a, i, &at));
    assert_true(put(&a, 1, &first));
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        bool over = errors[i] == EINTR || errors[i] == FAULT_SHORT_WRITE;

        faults_arm(FAULT_WRITE, 1, errors[i], false, NULL);
        assert_int_equal(put(&a, 2, &at), over);
        assert_int_equal(faults_disarm(), 1);
        if (over)
            assert_there(&a, 2, at);
    }
    assert_true(put(&a, 3, &at));
    assert_there(&a, 3, at);
    assert_there(&a, 1, first);
    faults_arm(FAULT_READ, 1, EIO, false, NULL);
    assert_int_equal(wbi_answers_get(&a, first, SIZE - 1, &got), WB_EIO);
    (void)faults_disarm();
    wbi_answers_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_outgrows_memory_is_read_back),
        cmocka_unit_test(without_a_place_all_stay),
        cmocka_unit_test(what_the_disk_does_not_take_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
