/* SPDX-License-Identifier: Apache-2.0
 * tests/guard_crash_test.c: what idempotency keys and budgets know after their process
 * was killed (C8.6: "an unknown outcome after a crash is not rerun"). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "waybill/waybill.h"

static char root[64];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)st;
    (void)type;
    (void)f;
    return remove(path);
}

static void write_config(const char *policies)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/config.json", root);
    f = fopen(path, "wbe");
    assert_non_null(f);
    fprintf(f, "{\"policies\":%s}", policies);
    assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
    char path[128];

    (void)state;
    snprintf(root, sizeof(root), "/tmp/waybill-crash-XXXXXX");
    if (mkdtemp(root) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/work", root);
    write_config("{}");
    (void)unsetenv("XDG_CONFIG_HOME");
    (void)unsetenv("XDG_STATE_HOME");
    return setenv("HOME", root, 1) | mkdir(path, 0700);
}

static int teardown(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* One byte per execution, durable as any effect in the world. */
static void take_effect(void)
{
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/effects", root);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1)
        _exit(99);
    close(fd);
}

static long effects(void)
{
    struct stat st;
    char path[128];

    snprintf(path, sizeof(path), "%s/effects", root);
    return stat(path, &st) == 0 ? (long)st.st_size : 0;
}

static void die_before(wb_tool_call *call, void *arg)
{
    (void)call;
    (void)arg;
    kill(getpid(), SIGKILL);
}

static void die_after(wb_tool_call *call, void *arg)
{
    (void)call;
    (void)arg;
    take_effect();
    kill(getpid(), SIGKILL);
}

static void live(wb_tool_call *call, void *arg)
{
    (void)arg;
    take_effect();
    wb_tool_finish_json(call, "{\"done\":true}", 13);
}

/* Under the policies last written. Returns the kind of the outcome; *ret_text is its
 * Result. */
static const char *call_once(wb_tool_run_cb run, const char *key, char *ret_text, size_t size)
{
    static char kind[64];
    wb_options *o = wb_options_new();
    wb_request *r = wb_request_new("t");
    wb_runtime *runtime;
    wb_result *result;
    char path[128];

    snprintf(path, sizeof(path), "%s/config.json", root);
    assert_int_equal(wb_options_set(o, WB_OPT_CONFIG, path), WB_OK);
    snprintf(path, sizeof(path), "%s/work", root);
    assert_int_equal(wb_options_set(o, WB_OPT_ROOT, path), WB_OK);
    assert_int_equal(wb_runtime_new(o, &runtime, NULL), WB_OK);
    assert_int_equal(wb_tool_register(runtime,
                                      "{\"name\":\"t\",\"description\":\"For tests.\","
                                      "\"version\":\"1.0.0\",\"inputSchema\":{\"type\":\"object\"},"
                                      "\"effect\":\"IdempotentWrite\"}",
                                      NULL, run, NULL, NULL, NULL),
                     WB_OK);
    assert_int_equal(wb_request_set(r, WB_FIELD_IDEMPOTENCY_KEY, key), WB_OK);
    assert_int_equal(wb_call_run(runtime, r, &result), WB_OK);
    snprintf(kind, sizeof(kind), "%s", wb_result_kind(result));
    snprintf(ret_text, size, "%s", wb_result_view(result, WB_VIEW_RESULT, NULL));
    wb_result_free(result);
    wb_request_free(r);
    wb_runtime_free(runtime);
    wb_options_free(o);
    return kind;
}

static void killed_in(wb_tool_run_cb run, const char *key)
{
    char text[4096];
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        (void)call_once(run, key, text, sizeof(text));
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void a_claim_of_a_killed_process_is_unknown_and_never_run_again(void **state)
{
    char text[4096];

    (void)state;
    killed_in(die_before, "before");
    assert_int_equal(effects(), 0);
    assert_string_equal(call_once(live, "before", text, sizeof(text)), "outcome_unknown");
    assert_int_equal(effects(), 0); /* nobody can tell, so it is not run */
    killed_in(die_after, "after");
    assert_int_equal(effects(), 1);
    assert_string_equal(call_once(live, "after", text, sizeof(text)), "outcome_unknown");
    assert_string_equal(call_once(live, "after", text, sizeof(text)), "outcome_unknown");
    assert_int_equal(effects(), 1);
}

static void a_completed_key_is_replayed_by_the_next_process(void **state)
{
    char text[4096];

    (void)state;
    assert_string_equal(call_once(live, "k", text, sizeof(text)), "");
    assert_string_equal(call_once(live, "k", text, sizeof(text)), "");
    assert_non_null(strstr(text, "\"replayed\":true"));
    assert_non_null(strstr(text, "\"output\":{\"done\":true}"));
    assert_int_equal(effects(), 1);
}

static void a_budget_outlives_its_process(void **state)
{
    static const char two[] =
        "{\"environment\":{\"budget\":{\"windowMs\":3600000,\"calls\":2,\"id\":\"b\"}}}";
    char text[4096];

    (void)state;
    write_config(two);
    killed_in(die_after, "1"); /* charged, whatever became of it */
    assert_string_equal(call_once(live, "2", text, sizeof(text)), "");
    assert_string_equal(call_once(live, "3", text, sizeof(text)), "budget_exceeded");
    assert_int_equal(effects(), 2);
}

/* Calls with keys of its own until the budget is spent. Returns how many ran. */
static int spend(int who, int calls)
{
    char text[4096], key[32];
    int ran = 0;

    for (int i = 0; i < calls; i++) {
        const char *kind;

        snprintf(key, sizeof(key), "%d-%d", who, i);
        kind = call_once(live, key, text, sizeof(text));
        if (kind[0] == '\0')
            ran++;
        else if (strcmp(kind, "budget_exceeded") != 0)
            return 99;
    }
    return ran;
}

/* C8.4: a budget is one for all processes of a state directory; no process overwrites
 * what another has spent. */
static void processes_spend_one_budget_together(void **state)
{
    static const char some[] =
        "{\"environment\":{\"budget\":{\"windowMs\":3600000,\"calls\":11,\"id\":\"b\"}}}";
    pid_t child[3];
    int status, ran = 0;

    (void)state;
    write_config(some);
    for (int i = 0; i < 3; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0)
            _exit(spend(i, 6));
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 6);
        ran += WEXITSTATUS(status);
    }
    assert_int_equal(ran, 11);
    assert_int_equal(effects(), 11);
    assert_int_equal(spend(3, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_claim_of_a_killed_process_is_unknown_and_never_run_again,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_completed_key_is_replayed_by_the_next_process, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_budget_outlives_its_process, setup, teardown),
        cmocka_unit_test_setup_teardown(processes_spend_one_budget_together, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
