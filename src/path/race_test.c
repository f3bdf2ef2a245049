/* SPDX-License-Identifier: Apache-2.0
 * path/race_test.c: attack 5 against every way of opening and writing; F1: no
 * escape in any round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "path/path.h"
#include "racer.h"

struct counts {
    unsigned inside, refused, escaped;
};

#define Z(s) wbi_str_z(s)

static void read_round(struct wbi_root *root, const char *path, struct counts *c)
{
    char buf[16];
    ssize_t n;
    int fd;

    if (wbi_path_open_read(root, Z(path), NULL, &fd, NULL) != WB_OK) {
        c->refused++;
        return;
    }
    n = wbi_path_read(fd, buf, sizeof(buf));
    close(fd);
    if (n == 6 && memcmp(buf, "inside", 6) == 0)
        c->inside++;
    else if (n > 0)
        c->escaped++;
}

static void write_round(struct wbi_root *root, unsigned round)
{
    struct wbi_error err;
    wb_rc rc;

    rc = wbi_path_write(root, Z(round % 2 ? "swap/w" : "swap/../swap/w"), Z("inside"), 0, &err);
    if (rc == WB_OK && round % 3 == 0)
        rc = wbi_path_unlink(root, Z("swap/w"), 0, &err);
    if (round % 16 == 0)
        rc = wbi_path_mkdirs(root, Z("swap/d/e"), 0, &err);
    if (round % 5 == 0)
        rc = wbi_path_rename(root, Z("swap/w"), Z("swap/v"), 0, &err);
    (void)rc;
}

static void list_round(struct wbi_root *root, struct counts *c)
{
    static struct wbi_listing d;
    struct wbi_listing_entry e;
    int fd;

    if (wbi_path_open_dir(root, Z("swap"), NULL, &fd) != WB_OK)
        return;
    wbi_listing_init(&d, fd);
    while (wbi_listing_next(&d, &e))
        if (wbi_str_eqz(e.name, "marker"))
            c->escaped++;
    close(fd);
}

static void no_escape(unsigned flags)
{
    struct racer r;
    struct wbi_root *root;
    struct wbi_error err;
    struct counts c = {0};
    unsigned long rounds = soak(RACER_ROUNDS), i;

    chance_start();
    assert_true(racer_start(&r));
    assert_int_equal(wbi_root_open(r.tree.root, flags | WBI_ROOT_NO_SYNC, &err, &root), WB_OK);
    for (i = 0; i < rounds || (c.inside == 0 && i < RACER_PATIENCE * rounds); i++) {
        read_round(root, chance(4) ? "swap/f" : "swap/../swap/f", &c);
        write_round(root, (unsigned)chance(240));
        list_round(root, &c);
    }
    racer_stop(&r);
    print_message("%lu rounds: %u inside, %u refused, %u escaped\n", i, c.inside, c.refused,
                  c.escaped);
    assert_int_equal(c.escaped, 0);
    assert_true(c.inside > 0);
    assert_true(racer_outside_is_whole(&r));
    wbi_root_unref(root);
    tree_remove(&r.tree);
}

static void a05_swapping_never_lets_a_path_out_kernel(void **state)
{
    (void)state;
    no_escape(0);
}

static void a05_swapping_never_lets_a_path_out_walk(void **state)
{
    (void)state;
    no_escape(WBI_ROOT_WALK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a05_swapping_never_lets_a_path_out_kernel),
        cmocka_unit_test(a05_swapping_never_lets_a_path_out_walk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
