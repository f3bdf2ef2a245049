/* SPDX-License-Identifier: Apache-2.0
 * config/config_test.c: files, layers and trust (I1), in real folders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "config/config_int.h"
#include "config/temp_test.h"

extern const char wbi_data_config_schema_json[];
extern const size_t wbi_data_config_schema_json_n;

static struct wbi_arena *arena;
static char temp[200];
static struct wbi_clock_manual hand = {0, INT64_C(1794744000000)};
static struct wbi_clock at_hand;
static struct wbi_places places;

static int set_up(void **state)
{
    (void)state;
    at_hand = wbi_clock_by_hand(&hand);
    temp_make(temp);
    temp_folder(temp, "w");
    temp_folder(temp, "w/tools.d");
    temp_folder(temp, "home");
    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return -1;
    places = (struct wbi_places){
        .root = wbi_arena_fmt(arena, "%s/w", temp),
        .user_config = wbi_arena_fmt(arena, "%s/home", temp),
        .user_state = wbi_arena_fmt(arena, "%s/home/a/state", temp),
        .config_file = wbi_arena_fmt(arena, "%s/home/config.json", temp),
    };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_remove(temp);
    wbi_arena_free(arena);
    return 0;
}

static struct wbi_config *load(void)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_config *c = NULL;

    if (wbi_config_load(&places, &c, &err) != WB_OK)
        fail_msg("%s:%u:%u: %s", err.at, err.line, err.column, err.text);
    return c;
}

static void trust(void)
{
    struct wbi_config *c = load();

    assert_int_equal(wbi_config_trust(c, &at_hand, NULL), WB_OK);
    wbi_config_unref(c);
}

static void assert_refused(wb_rc rc, const char *at, unsigned line, unsigned column,
                           const char *needle)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_config *c = NULL;

    assert_int_equal(wbi_config_load(&places, &c, &err), rc);
    assert_null(c);
    assert_string_equal(err.at, at);
    if (err.line != line || err.column != column || strstr(err.text, needle) == NULL)
        fail_msg("%s:%u:%u: %s", err.at, err.line, err.column, err.text);
}

static const struct wbi_config_ignored *ignored(const struct wbi_config *c, const char *what)
{
    const struct wbi_config_ignored *list;
    size_t n = wbi_config_ignored(c, &list);

    for (size_t i = 0; i < n; i++)
        if (wbi_str_eqz(list[i].what, what))
            return &list[i];
    return NULL;
}

static void no_files_is_a_configuration(void **state)
{
    const struct wbi_config_tool *tools;
    struct wbi_config *c = load();

    (void)state;
    assert_int_equal(wbi_config_trust_state(c), WBI_CONFIG_TRUSTED);
    assert_int_equal(wbi_config_tools(c, &tools), 0);
    assert_int_equal(wbi_config_file_count(c), 0);
    assert_int_equal(wbi_config_number(c, "/limits/fileBytes", 7), 7);
    assert_null(wbi_config_setting(c, "/shell"));
    assert_ptr_equal(wbi_config_ref(c), c);
    wbi_config_unref(c);
    wbi_config_unref(c);
    wbi_config_unref(NULL);
}

static void comments_and_trailing_commas_are_fine(void **state)
{
    const struct wbi_config_tool *tools;
    struct wbi_config *c;

    (void)state;
    temp_file(temp, "home/config.json",
              "// mine\n{\n  /* two */\n  \"tools\": [\n    {\"name\": \"a\"},\n"
              "    {\n      \"name\": \"b\",\n    },\n  ],\n}\n");
    c = load();
    assert_int_equal(wbi_config_tools(c, &tools), 2);
    assert_true(wbi_str_eqz(tools[1].name, "b"));
    assert_int_equal(tools[0].line, 5);
    assert_int_equal(tools[1].line, 6);
    assert_false(tools[1].workspace);
    assert_string_equal(tools[1].file.p, temp_path(temp, "home/config.json"));
    wbi_config_unref(c);
}

/* Errors say file, line and column, and what would be accepted. */
static void errors_have_their_place(void **state)
{
    static const struct {
        const char *text;
        unsigned line, column;
        const char *needle;
    } cases[] = {
        {"{\n  \"toolz\": []}", 2, 3,
         "accepted are $schema, tools, mcpServers, policies, bindings, settings"},
        {"{\"settings\": {\n\"shel\": \"x\"}}", 2, 1, "accepted are budgets, shell, env, limits"},
        {"{\"tools\": {}}", 1, 2, "must be an array"},
        {"{\"tools\": [\n{\"x\": 1}]}", 2, 2, "must have a \"name\""},
        {"{\"tools\": [\n{\"name\": 5}]}", 2, 2, "must have a \"name\""},
        {"{\"tools\": [7]}", 1, 2, "must be an object"},
        {"{\"mcpServers\": {\n \"git\": []}}", 2, 2, "must be an object"},
        {"{\"bindings\": [1]}", 1, 2, "must be an object"},
        {"{\"policies\": []}", 1, 2, "must be an object"},
        {"{\"settings\": {\"limits\": {\"processes\": -1}}}", 1, 26, "whole number"},
        {"{\"settings\": {\"limits\": {\"memoryByte\": 1}}}", 1, 26, "cpuSeconds, fileBytes"},
        {"{\"settings\": {\"env\": {\"FOO\": \"1\"}}}", 1, 23, "accepted are allow"},
        {"{\"settings\": {\"secrets\": {\"values\": []}}}", 1, 27, "accepted are env"},
        {"{\"settings\": {\"budgets\": {\"a\": \"1\"}}}", 1, 27, "whole number"},
        {"{\"settings\": {\"shell\": []}}", 1, 15, "path or an array"},
        {"{\"settings\": {\"shell\": [\"a\", 1]}}", 1, 15, "path or an array"},
        {"{\"settings\": {\"env\": []}}", 1, 15, "must be an object"},
        {"{\"tools\": [\n{\"name\": \"a\"},\n {\"name\": \"a\"}]}", 3, 3, "second tool"},
        {"{\"tools\": [\n  ,]}", 2, 3, ""},
        {"{\"policies\": {}, \"policies\": {}}", 1, 18, "second member"},
        {"[]", 0, 0, "must hold an object"},
        {"", 1, 1, "empty"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        temp_file(temp, "home/config.json", cases[i].text);
        assert_refused(WB_EINPUT, temp_path(temp, "home/config.json"), cases[i].line,
                       cases[i].column, cases[i].needle);
    }
    (void)unlink(temp_path(temp, "home/config.json"));
    temp_file(temp, "w/tools.d/x.json", "{\n  \"command\": []}");
    assert_refused(WB_EINPUT, "tools.d/x.json", 2, 3, "name");
    (void)unlink(temp_path(temp, "w/tools.d/x.json"));
    temp_file(temp, "w/waybill.json", "{\"x\": 1}");
    assert_refused(WB_EINPUT, "waybill.json", 1, 2, "unknown member \"x\"");
}

static void files_that_cannot_be_used_are_refused(void **state)
{
    (void)state;
    places.config_given = true;
    assert_refused(WB_ESTATE, temp_path(temp, "home/config.json"), 0, 0, "does not exist");
    places.config_given = false;
    temp_folder(temp, "home/config.json");
    assert_refused(WB_ESTATE, temp_path(temp, "home/config.json"), 0, 0, "no regular file");
    assert_int_equal(rmdir(temp_path(temp, "home/config.json")), 0);
    temp_file(temp, "elsewhere", "{}");
    assert_int_equal(symlink(temp_path(temp, "elsewhere"), temp_path(temp, "w/waybill.json")), 0);
    assert_refused(WB_ESTATE, "waybill.json", 0, 0, "is a link");
    (void)unlink(temp_path(temp, "w/waybill.json"));
    assert_int_equal(mkfifo(temp_path(temp, "w/waybill.json"), 0600), 0);
    assert_refused(WB_ESTATE, "waybill.json", 0, 0, "no regular file");
}

/* "any change asks again": content, a new file, a file less. */
static void trust_is_for_exactly_these_files(void **state)
{
    struct wbi_config *c;
    struct stat st;

    (void)state;
    temp_file(temp, "w/waybill.json", "{\"tools\": [{\"name\": \"a\"}]}");
    c = load();
    assert_int_equal(wbi_config_trust_state(c), WBI_CONFIG_UNTRUSTED);
    assert_int_equal(wbi_config_trust(c, &at_hand, NULL), WB_OK);
    wbi_config_unref(c);
    assert_int_equal(stat(temp_path(temp, "home/a/state/trust.json"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(temp_path(temp, "home/a/state"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);

    c = load();
    assert_int_equal(wbi_config_trust_state(c), WBI_CONFIG_TRUSTED);
    wbi_config_unref(c);
    temp_file(temp, "w/waybill.json", "{\"tools\": [{\"name\": \"b\"}]}");
    c = load();
    assert_int_equal(wbi_config_trust_state(c), WBI_CONFIG_CHANGED);
    assert_non_null(ignored(c, "b"));
    wbi_config_unref(c);
    trust();
    temp_file(temp, "w/tools.d/new.json", "{\"name\": \"new\"}");
    c = load();
    assert_int_equal(wbi_config_trust_state(c), WBI_CONFIG_CHANGED);
    wbi_config_unref(c);
    trust();
    (void)unlink(temp_path(temp, "w/waybill.json"));
    c = load();
    assert_int_equal(wbi_config_trust_state(c), WBI_CONFIG_CHANGED);
    wbi_config_unref(c);
    (void)unlink(temp_path(temp, "w/tools.d/new.json"));
    c = load();
    assert_int_equal(wbi_config_trust_state(c), WBI_CONFIG_TRUSTED); /* nothing to trust */
    wbi_config_unref(c);
}

static void trust_is_for_one_place(void **state)
{
    struct wbi_config *c;

    (void)state;
    temp_file(temp, "w/waybill.json", "{}");
    trust();
    temp_folder(temp, "w2");
    temp_file(temp, "w2/waybill.json", "{}");
    places.root = wbi_arena_fmt(arena, "%s/w2", temp);
    c = load();
    assert_int_equal(wbi_config_trust_state(c), WBI_CONFIG_UNTRUSTED);
    assert_string_equal(wbi_config_trust_name(WBI_CONFIG_UNTRUSTED), "untrusted");
    wbi_config_unref(c);
    trust();
    places.root = wbi_arena_fmt(arena, "%s/w", temp);
    c = load(); /* the first record is still there */
    assert_int_equal(wbi_config_trust_state(c), WBI_CONFIG_TRUSTED);
    wbi_config_unref(c);
}

static void a_trust_file_others_could_write_is_not_believed(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_config *c = NULL;

    (void)state;
    temp_file(temp, "w/waybill.json", "{}");
    trust();
    assert_int_equal(chmod(temp_path(temp, "home/a/state/trust.json"), 0666), 0);
    assert_int_equal(wbi_config_load(&places, &c, &err), WB_ESTATE);
    assert_int_equal(chmod(temp_path(temp, "home/a/state/trust.json"), 0600), 0);
    temp_file(temp, "home/a/state/trust.json", "{\"workspaces\": 1}");
    assert_int_equal(wbi_config_load(&places, &c, &err), WB_ESTATE);
    assert_null(c);
}

static void trust_needs_a_folder(void **state)
{
    struct wbi_config *c;

    (void)state;
    temp_file(temp, "w/waybill.json", "{}");
    places.user_state = WBI_NONE;
    c = load();
    assert_int_equal(wbi_config_trust_state(c), WBI_CONFIG_UNTRUSTED);
    assert_int_equal(wbi_config_trust(c, &at_hand, NULL), WB_ESTATE);
    wbi_config_unref(c);
}

static const char workspace_text[] =
    "{\"tools\": [{\"name\": \"wtool\"}],\n"
    " \"mcpServers\": {\"git\": {\"command\": [\"evil\"]}, \"mine\": {\"command\": [\"w\"]}},\n"
    " \"policies\": {\"environment\": {\"timeoutMs\": 5}},\n"
    " \"bindings\": [{\"principal\": \"*\", \"allow\": [\"*\"]},\n"
    "                {\"principal\": \"*\", \"deny\": [\"rm\"]}],\n"
    " \"settings\": {\"shell\": \"/evil\", \"env\": {\"allow\": [\"SECRET\"]},\n"
    "                \"limits\": {\"openFiles\": 5, \"processes\": 500}, \"budgets\": "
    "{\"command\": 100}}}";
static const char user_text[] =
    "{\"mcpServers\": {\"mine\": {\"command\": [\"u\"]}},\n"
    " \"policies\": {\"environment\": {\"timeoutMs\": 50}},\n"
    " \"bindings\": [{\"principal\": \"me\", \"allow\": [\"*\"]}],\n"
    " \"settings\": {\"limits\": {\"openFiles\": 10, \"processes\": 100}}}";

/* "A workspace's files may only tighten policy until `waybill config trust`". */
static void an_untrusted_workspace_only_tightens(void **state)
{
    const struct wbi_config_part *parts;
    const struct wbi_config_server *servers;
    const struct wbi_config_tool *tools;
    struct wbi_config *c;

    (void)state;
    temp_file(temp, "home/config.json", user_text);
    temp_file(temp, "w/waybill.json", workspace_text);
    temp_file(temp, "w/tools.d/t.json", "{\"name\": \"dtool\"}");
    c = load();
    assert_int_equal(wbi_config_tools(c, &tools), 0);
    assert_int_equal(wbi_config_servers(c, &servers), 1);
    assert_false(servers[0].workspace);
    assert_int_equal(wbi_config_policies(c, &parts), 2);
    assert_false(parts[0].tighten_only);
    assert_true(parts[1].tighten_only && parts[1].workspace);
    assert_int_equal(wbi_config_bindings(c, &parts), 2);
    assert_non_null(wbi_json_get(parts[1].value, "deny"));
    assert_null(wbi_config_setting(c, "/shell"));
    assert_null(wbi_config_setting(c, "/env/allow"));
    assert_int_equal(wbi_config_number(c, "/limits/openFiles", 99), 5);   /* lower is taken */
    assert_int_equal(wbi_config_number(c, "/limits/processes", 99), 100); /* higher is not */
    assert_int_equal(wbi_config_number(c, "/budgets/command", 99), 99);
    assert_int_equal(wbi_config_number(c, "/budgets/command", 8000), 100);
    assert_non_null(ignored(c, "wtool"));
    assert_non_null(ignored(c, "git"));
    assert_non_null(ignored(c, "shell"));
    assert_non_null(ignored(c, "env"));
    assert_non_null(ignored(c, "policies"));
    assert_non_null(ignored(c, "bindings"));
    assert_string_equal(ignored(c, "dtool")->file.p, "tools.d/t.json");
    assert_non_null(strstr(ignored(c, "dtool")->reason, "not trusted"));
    wbi_config_unref(c);
}

/* What a binding denies and asks for counts, whatever else it says; what it gives does not. */
static void bindings_of_an_untrusted_workspace_only_take(void **state)
{
    const struct wbi_config_part *parts;
    const struct wbi_config_ignored *list;
    struct wbi_config *c;

    (void)state;
    temp_file(temp, "w/waybill.json",
              "{\"bindings\": [\n"
              "  {\"principal\": \"a\", \"allow\": [\"*\"], \"deny\": [\"rm\"]},\n"
              "  {\"principal\": \"b\", \"approval\": {\"*\": \"ask\"}},\n"
              "  {\"principal\": \"c\", \"allow\": [\"*\"], \"effects\": [\"Pure\"]},\n"
              "  {\"principal\": \"d\", \"allow\": [\"*\"]}]}");
    c = load();
    assert_int_equal(wbi_config_bindings(c, &parts), 2);
    assert_int_equal(parts[0].line, 2);
    assert_true(parts[0].tighten_only);
    assert_non_null(wbi_json_get(parts[0].value, "deny"));
    assert_null(wbi_json_get(parts[0].value, "allow"));
    assert_true(wbi_str_eqz(wbi_json_get_str(parts[1].value, "principal"), "b"));
    assert_non_null(wbi_json_get(parts[1].value, "approval"));
    assert_int_equal(wbi_config_ignored(c, &list), 1); /* said once */
    assert_true(wbi_str_eqz(list[0].what, "bindings"));
    wbi_config_unref(c);
    temp_file(temp, "w/waybill.json", "{\"bindings\": [{\"principal\": \"a\", \"deny\": []}]}");
    c = load();
    assert_int_equal(wbi_config_bindings(c, &parts), 1);
    assert_int_equal(wbi_config_ignored(c, &list), 0);
    wbi_config_unref(c);
}

/* A limit of 0 is none, and a smaller free space to keep is a weaker guard. */
static void an_untrusted_workspace_takes_no_limit_away(void **state)
{
    struct wbi_config *c;

    (void)state;
    temp_file(temp, "home/config.json",
              "{\"settings\": {\"limits\": {\"memoryBytes\": 500, \"freeDiskBytes\": 900}}}");
    temp_file(temp, "w/waybill.json",
              "{\"settings\": {\"limits\": {\"memoryBytes\": 0, \"freeDiskBytes\": 1,"
              " \"cpuSeconds\": 0}}}");
    c = load();
    assert_int_equal(wbi_config_number(c, "/limits/memoryBytes", 99), 500);
    assert_int_equal(wbi_config_number(c, "/limits/freeDiskBytes", 99), 900);
    assert_int_equal(wbi_config_number(c, "/limits/cpuSeconds", 99), 99);
    wbi_config_unref(c);
}

/* "the user's settings win" */
static void the_users_settings_win_over_a_trusted_workspace(void **state)
{
    const struct wbi_config_part *parts;
    const struct wbi_config_server *servers;
    const struct wbi_config_tool *tools;
    struct wbi_config *c;

    (void)state;
    temp_file(temp, "home/config.json", user_text);
    temp_file(temp, "w/waybill.json", workspace_text);
    temp_file(temp, "w/tools.d/b.json", "[{\"name\": \"b1\"}, {\"name\": \"b2\"}]");
    temp_file(temp, "w/tools.d/a.json", "{\"name\": \"a\"}");
    temp_file(temp, "w/tools.d/.hidden.json", "nonsense");
    temp_file(temp, "w/tools.d/README.md", "nonsense");
    trust();
    c = load();
    assert_int_equal(wbi_config_trust_state(c), WBI_CONFIG_TRUSTED);
    assert_int_equal(wbi_config_tools(c, &tools), 4);
    assert_true(wbi_str_eqz(tools[0].name, "a")); /* sorted by file name */
    assert_true(wbi_str_eqz(tools[1].name, "b1"));
    assert_true(wbi_str_eqz(tools[3].name, "wtool"));
    assert_int_equal(wbi_config_servers(c, &servers), 2);
    assert_true(wbi_str_eqz(servers[0].name, "mine") && !servers[0].workspace);
    assert_true(wbi_str_eqz(servers[1].name, "git") && servers[1].workspace);
    assert_int_equal(servers[1].line, 2);
    assert_int_equal(wbi_config_policies(c, &parts), 2);
    assert_true(parts[0].workspace && !parts[0].tighten_only);
    assert_false(parts[1].workspace); /* later wins */
    assert_int_equal(wbi_config_bindings(c, &parts), 3);
    assert_true(wbi_str_eqz(wbi_json_str(wbi_config_setting(c, "/shell")), "/evil"));
    assert_int_equal(wbi_config_number(c, "/limits/processes", 99), 100);
    assert_int_equal(wbi_config_number(c, "/budgets/command", 99), 100);
    assert_non_null(ignored(c, "mine"));
    assert_string_equal(servers[1].file.p, "waybill.json");
    assert_string_equal(tools[2].file.p, "tools.d/b.json");
    assert_int_equal(wbi_config_file_count(c), 4);
    assert_string_equal(wbi_config_file_name(c, 3).p, "waybill.json");
    wbi_config_unref(c);
}

static void a_users_tool_shadows_a_workspaces(void **state)
{
    const struct wbi_config_tool *tools;
    struct wbi_config *c;

    (void)state;
    temp_file(temp, "home/config.json", "{\"tools\": [{\"name\": \"t\", \"mine\": true}]}");
    temp_file(temp, "w/waybill.json", "{\"tools\": [{\"name\": \"t\"}]}");
    trust();
    c = load();
    assert_int_equal(wbi_config_tools(c, &tools), 1);
    assert_true(wbi_json_true(wbi_json_get(tools[0].descriptor, "mine")));
    assert_non_null(strstr(ignored(c, "t")->reason, "user's"));
    wbi_config_unref(c);
    temp_file(temp, "w/tools.d/x.json", "{\"name\": \"x\"}");
    temp_file(temp, "w/waybill.json", "{\"tools\": [{\"name\": \"x\"}]}");
    trust();
    assert_refused(WB_EINPUT, "waybill.json", 1, 13, "the first is in tools.d/x.json, line 1");
}

/* The user who names the workspace's file by --config has said it is theirs. */
static void a_file_given_as_the_users_is_trusted(void **state)
{
    const struct wbi_config_tool *tools;
    struct wbi_config *c;

    (void)state;
    temp_file(temp, "w/waybill.json", "{\"tools\": [{\"name\": \"t\"}]}");
    places.config_file = wbi_arena_fmt(arena, "%s/w/waybill.json", temp);
    places.config_given = true;
    c = load();
    assert_int_equal(wbi_config_tools(c, &tools), 1);
    assert_int_equal(wbi_config_trust_state(c), WBI_CONFIG_TRUSTED);
    wbi_config_unref(c);
}

static void assert_same_names(const wbi_json *properties, const char *const *names)
{
    size_t n = 0;

    for (; names[n] != NULL; n++)
        assert_non_null(wbi_json_get(properties, names[n]));
    assert_int_equal(wbi_json_count(properties), n);
}

/* config/schema.json names exactly what is accepted. */
static void the_schema_tells_the_truth(void **state)
{
    const wbi_json *schema = NULL, *properties;

    (void)state;
    assert_int_equal(
        wbi_json_read(arena,
                      wbi_str_make(wbi_data_config_schema_json, wbi_data_config_schema_json_n),
                      WBI_JSON_STRICT, &schema, NULL),
        WB_OK);
    properties = wbi_json_get(schema, "properties");
    assert_same_names(properties, wbi_config_members);
    assert_same_names(wbi_json_get(wbi_json_get(properties, "settings"), "properties"),
                      wbi_config_settings);
}

int main(void)
{
#define IN_FOLDERS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDERS(no_files_is_a_configuration),
        IN_FOLDERS(comments_and_trailing_commas_are_fine),
        IN_FOLDERS(errors_have_their_place),
        IN_FOLDERS(files_that_cannot_be_used_are_refused),
        IN_FOLDERS(trust_is_for_exactly_these_files),
        IN_FOLDERS(trust_is_for_one_place),
        IN_FOLDERS(a_trust_file_others_could_write_is_not_believed),
        IN_FOLDERS(trust_needs_a_folder),
        IN_FOLDERS(an_untrusted_workspace_only_tightens),
        IN_FOLDERS(bindings_of_an_untrusted_workspace_only_take),
        IN_FOLDERS(an_untrusted_workspace_takes_no_limit_away),
        IN_FOLDERS(the_users_settings_win_over_a_trusted_workspace),
        IN_FOLDERS(a_users_tool_shadows_a_workspaces),
        IN_FOLDERS(a_file_given_as_the_users_is_trusted),
        IN_FOLDERS(the_schema_tells_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
