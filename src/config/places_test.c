/* SPDX-License-Identifier: Apache-2.0
 * config/places_test.c: I1, "Places", with an environment of our own. */
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "config/places.h"
#include "config/temp_test.h"

static struct wbi_arena *arena;
static char temp[200];

struct variables {
    const char *pairs[10]; /* name, value, … */
};

static const char *lookup(void *arg, const char *name)
{
    const struct variables *v = arg;

    for (size_t i = 0; i + 1 < 10 && v->pairs[i] != NULL; i += 2)
        if (strcmp(v->pairs[i], name) == 0)
            return v->pairs[i + 1];
    return NULL;
}

static int set_up(void **state)
{
    (void)state;
    temp_make(temp);
    temp_folder(temp, "work");
    temp_folder(temp, "work/sub");
    temp_folder(temp, "work/sub/deep");
    temp_folder(temp, "other");
    return wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) == WB_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    temp_remove(temp);
    wbi_arena_free(arena);
    return 0;
}

static struct wbi_places find(const struct wbi_places_wish *wish, struct variables vars)
{
    struct wbi_env env = {lookup, &vars};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_places p = {.config_given = false};

    if (wbi_places_find(arena, wish, &env, &p, &err) != WB_OK)
        fail_msg("%s", err.text);
    return p;
}

static wb_rc refused(const struct wbi_places_wish *wish, struct variables vars)
{
    struct wbi_env env = {lookup, &vars};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_places p;
    wb_rc rc = wbi_places_find(arena, wish, &env, &p, &err);

    assert_true(strlen(err.text) > 0);
    return rc;
}

#define HOME_ONLY ((struct variables){{"HOME", "/home/u"}})

/* "nearest ancestor with waybill.json, .waybill or .git | the working directory" */
static void the_root_is_the_nearest_marked_ancestor(void **state)
{
    struct wbi_places_wish wish = {.workdir = wbi_str_z(temp_path(temp, "work/sub/deep"))};

    (void)state;
    assert_string_equal(find(&wish, HOME_ONLY).root.p, temp_path(temp, "work/sub/deep"));
    temp_folder(temp, "work/.git");
    assert_string_equal(find(&wish, HOME_ONLY).root.p, temp_path(temp, "work"));
    temp_file(temp, "work/sub/waybill.json", "{}");
    assert_string_equal(find(&wish, HOME_ONLY).root.p, temp_path(temp, "work/sub"));
    temp_folder(temp, "work/sub/deep/.waybill");
    assert_string_equal(find(&wish, HOME_ONLY).root.p, temp_path(temp, "work/sub/deep"));
}

/* "`--root` | `WAYBILL_ROOT` | …" */
static void what_is_said_wins_over_what_is_found(void **state)
{
    struct variables vars = {{"HOME", "/home/u", "WAYBILL_ROOT", temp_path(temp, "work/sub")}};
    struct wbi_places_wish wish = {.workdir = wbi_str_z(temp_path(temp, "work"))};

    (void)state;
    assert_string_equal(find(&wish, vars).root.p, temp_path(temp, "work/sub"));
    wish.root = WBI_LIT("../other");
    assert_string_equal(find(&wish, vars).root.p, temp_path(temp, "other"));
    wish.root = WBI_LIT("nowhere");
    assert_int_equal(refused(&wish, vars), WB_ESTATE);
    temp_file(temp, "work/file", "");
    wish.root = WBI_LIT("file");
    assert_int_equal(refused(&wish, vars), WB_ESTATE);
    wish.root = wbi_str_make("a\0b", 3);
    assert_int_equal(refused(&wish, vars), WB_EINPUT);
}

/* "`--state` | `WAYBILL_STATE` | `ROOT/.waybill` | the user's state folder if that is not
 * writable" */
static void state_has_its_order(void **state)
{
    struct variables vars = {{"HOME", "/home/u", "WAYBILL_STATE", "here"}};
    struct wbi_places_wish wish = {.workdir = wbi_str_z(temp_path(temp, "other"))};

    (void)state;
    assert_string_equal(find(&wish, HOME_ONLY).state.p, temp_path(temp, "other/.waybill"));
    assert_string_equal(find(&wish, vars).state.p, temp_path(temp, "other/here"));
    wish.state = WBI_LIT("/somewhere/state");
    assert_string_equal(find(&wish, vars).state.p, "/somewhere/state");
    wish.state = WBI_NONE;
    if (geteuid() == 0) {
        printf("skipped: unwritable root (running as root)\n");
        return;
    }
    assert_int_equal(chmod(temp_path(temp, "other"), 0500), 0);
    assert_string_equal(find(&wish, HOME_ONLY).state.p, "/home/u/.local/state/waybill");
    assert_int_equal(refused(&wish, (struct variables){{NULL}}), WB_ESTATE);
    assert_int_equal(chmod(temp_path(temp, "other"), 0700), 0);
}

/* "user's folders (XDG)"; relative XDG paths are invalid and ignored, as that standard says. */
static void user_folders_follow_xdg(void **state)
{
    struct variables vars = {
        {"HOME", "/home/u", "XDG_CONFIG_HOME", "/etc/u", "XDG_STATE_HOME", "relative"}};
    struct wbi_places_wish wish = {.workdir = wbi_str_z(temp)};
    struct wbi_places p = find(&wish, vars);

    (void)state;
    assert_string_equal(p.user_config.p, "/etc/u/waybill");
    assert_string_equal(p.config_file.p, "/etc/u/waybill/config.json");
    assert_false(p.config_given);
    assert_string_equal(p.user_state.p, "/home/u/.local/state/waybill");
    p = find(&wish, HOME_ONLY);
    assert_string_equal(p.config_file.p, "/home/u/.config/waybill/config.json");
    p = find(&wish, (struct variables){{"HOME", ""}});
    assert_null(p.user_config.p);
    assert_null(p.user_state.p);
    assert_null(p.config_file.p);
    wish.config = WBI_LIT("mine.json");
    p = find(&wish, HOME_ONLY);
    assert_string_equal(p.config_file.p, temp_path(temp, "mine.json"));
    assert_true(p.config_given);
}

static void the_process_has_an_environment(void **state)
{
    struct wbi_env env = wbi_env_process();

    (void)state;
    assert_int_equal(setenv("WAYBILL_TEST_PLACE", "x", 1), 0);
    assert_string_equal(env.get(env.arg, "WAYBILL_TEST_PLACE"), "x");
    assert_int_equal(unsetenv("WAYBILL_TEST_PLACE"), 0);
    assert_null(env.get(env.arg, "WAYBILL_TEST_PLACE"));
    /* no HOME: the one on record, as curl does */
    assert_int_equal(unsetenv("HOME"), 0);
    if (getpwuid(geteuid()) != NULL)
        assert_string_equal(env.get(env.arg, "HOME"), getpwuid(geteuid())->pw_dir);
    assert_int_equal(setenv("HOME", "/home/u", 1), 0);
    assert_string_equal(env.get(env.arg, "HOME"), "/home/u");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_root_is_the_nearest_marked_ancestor),
        cmocka_unit_test(what_is_said_wins_over_what_is_found),
        cmocka_unit_test(state_has_its_order),
        cmocka_unit_test(user_folders_follow_xdg),
        cmocka_unit_test(the_process_has_an_environment),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
