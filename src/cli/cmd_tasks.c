/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd_tasks.c: `waybill tasks`: the task tools for people, also for tasks that
 * another process holds. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* A JSON object under construction. */
struct object {
    FILE *out;
    char *text;
    size_t size;
    bool any;
};

static bool object_open(struct object *o)
{
    *o = (struct object){.out = NULL};
    o->out = open_memstream(&o->text, &o->size);
    if (o->out != NULL)
        fputc('{', o->out);
    return o->out != NULL;
}

static void object_key(struct object *o, const char *name)
{
    fprintf(o->out, "%s\"%s\":", o->any ? "," : "", name);
    o->any = true;
}

static void object_string(struct object *o, const char *name, const char *value, size_t n)
{
    if (value == NULL)
        return;
    object_key(o, name);
    put_quoted(o->out, value, n);
}

/* free() it; NULL when out of memory. */
static char *object_close(struct object *o)
{
    fputc('}', o->out);
    if (fclose(o->out) == 0)
        return o->text;
    free(o->text);
    return NULL;
}

/* Call a tool with the input (freed) and give its result, or an exit code. */
static wb_result *call_tool(const struct args *a, wb_runtime *runtime, const char *tool,
                            char *input, int *ret_code)
{
    wb_request *request = wb_request_new(tool);
    wb_result *result = NULL;
    wb_rc rc = request && input ? wb_request_set(request, WB_FIELD_INPUT, input) : WB_ENOMEM;

    if (rc == WB_OK)
        rc = wb_call_run(runtime, request, &result);
    wb_request_free(request);
    free(input);
    if (rc == WB_OK)
        return result;
    (void)usage_error(a, "the call could not be started (%s)", wb_rc_name(rc));
    *ret_code = EXIT_INTERNAL;
    return NULL;
}

static int show(const struct args *a, const char *tool, char *input)
{
    wb_view view;
    wb_result *result;
    wb_runtime *runtime;
    int code = EXIT_USAGE;

    if (input == NULL || !view_by_name(a, &view)) {
        free(input);
        return code;
    }
    runtime = open_runtime(a, &code);
    if (runtime == NULL) {
        free(input);
        return code;
    }
    result = call_tool(a, runtime, tool, input, &code);
    if (result != NULL) {
        code = print_result(a, result, view);
        wb_result_free(result);
    }
    wb_runtime_free(runtime);
    return code;
}

static int print_tasks(const struct args *a, const char *tasks, size_t size)
{
    static const char *const columns[] = {"task_id=TASK",     "status=STATUS",
                                          "exit_status=EXIT", "started_at=STARTED",
                                          "duration_ms=MS",   "command=COMMAND"};

    return print_list(a, tasks, size, columns, sizeof(columns) / sizeof(columns[0]),
                      args_has(a, "--status") ? "no task has that status"
                                              : "no task is known here");
}

/* The tasks of one page behind those in `all`; *token (freed) becomes that of the next page or
 * NULL. An exit code. */
static int add_page(const struct args *a, wb_result *result, FILE *all, char **token)
{
    wb_error *error = NULL;
    size_t n, size;
    const char *canonical = wb_result_view(result, WB_VIEW_CANONICAL, &n);
    char *tasks;

    wb_free(*token);
    *token = NULL;
    if (!wb_result_ok(result)) {
        int code = print_result(a, result, WB_VIEW_RECEIPT);
        return code != EXIT_OK ? code : EXIT_INTERNAL;
    }
    if (canonical == NULL ||
        wb_json_pointer(canonical, n, "/result/tasks", &tasks, &size, &error) != WB_OK)
        return error ? fail(a, NULL, error) : EXIT_INTERNAL;
    if (size > 2) { /* without its brackets */
        fprintf(all, "%s%.*s", ftell(all) > 1 ? "," : "", (int)size - 2, tasks + 1);
        if (wb_json_pointer(canonical, n, "/result/nextToken", token, &size, NULL) != WB_OK)
            *token = NULL;
    }
    wb_free(tasks);
    return EXIT_OK;
}

/* Page after page: people want them all. */
static int add_tasks(const struct args *a, wb_runtime *runtime, FILE *all)
{
    const char *status = args_get(a, "--status");
    char *token = NULL;
    int code = EXIT_OK;

    do {
        struct object o;
        wb_result *result;

        if (!object_open(&o)) {
            wb_free(token);
            return EXIT_INTERNAL;
        }
        object_string(&o, "status", status, status ? strlen(status) : 0);
        object_string(&o, "pageToken", token, token ? strlen(token) : 0);
        result = call_tool(a, runtime, "TaskList", object_close(&o), &code);
        if (result != NULL)
            code = add_page(a, result, all, &token);
        wb_result_free(result);
    } while (code == EXIT_OK && token != NULL);
    wb_free(token);
    return code;
}

/* Without a row there is no task, and nothing is made to say so. */
static bool none_recorded(const struct args *a, int *ret_code)
{
    wb_ledger *ledger = open_ledger(a, WB_LEDGER_READ, ret_code);
    wb_error *error = NULL;
    int64_t newest = 0;

    if (ledger == NULL)
        return false;
    *ret_code =
        wb_ledger_newest(ledger, 0, &newest, &error) == WB_OK ? EXIT_OK : fail(a, NULL, error);
    wb_ledger_free(ledger);
    return newest == 0;
}

static int list(const struct args *a)
{
    wb_runtime *runtime;
    char *tasks = NULL;
    size_t size;
    FILE *all;
    int code;

    if (!args_choice(a, "--status",
                     "all, running, ended, queued, cancelling, completed, failed, cancelled, "
                     "interrupted"))
        return EXIT_USAGE;
    if (none_recorded(a, &code) && code == EXIT_OK)
        return print_tasks(a, "[]", 2);
    if (code != EXIT_OK)
        return code;
    runtime = open_runtime(a, &code);
    if (runtime == NULL)
        return code;
    all = open_memstream(&tasks, &size);
    code = EXIT_INTERNAL;
    if (all != NULL) {
        fputc('[', all);
        code = add_tasks(a, runtime, all);
        fputc(']', all);
        if (fclose(all) != 0)
            code = EXIT_INTERNAL;
    }
    wb_runtime_free(runtime);
    if (code == EXIT_OK)
        code = print_tasks(a, tasks, size);
    free(tasks);
    return code;
}

static bool open_for_task(const struct args *a, struct object *o)
{
    if (!object_open(o))
        return false;
    object_string(o, "task_id", a->words[1], strlen(a->words[1]));
    return true;
}

/* Options that become members of the input as they are. */
static bool add_numbers(const struct args *a, struct object *o)
{
    static const struct {
        const char *option, *member;
        long long low, high;
    } numbers[] = {{"--wait-ms", "wait_ms", 0, 3600000},
                   {"--offset", "offset", 0, INT64_MAX},
                   {"--tail", "tail", 1, 1000000},
                   {"--max-tokens", "max_output_tokens", 0, 64000}};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        long long number = 0;
        if (!args_number(a, numbers[i].option, numbers[i].low, numbers[i].high, &number))
            return false;
        if (!args_has(a, numbers[i].option))
            continue;
        object_key(o, numbers[i].member);
        fprintf(o->out, "%lld", number); /* "010" is no number of JSON */
    }
    return true;
}

static int with_options(const struct args *a, const char *tool)
{
    static const struct {
        const char *option, *member;
    } texts[] = {{"--lines", "lines"}, {"--stream", "stream"}, {"--page-token", "pageToken"}};
    struct object o;
    bool ok;
    char *input;

    if (!args_choice(a, "--stream", "stdout, stderr, combined") || !open_for_task(a, &o))
        return EXIT_USAGE;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *value = args_get(a, texts[i].option);
        object_string(&o, texts[i].member, value, value ? strlen(value) : 0);
    }
    ok = add_numbers(a, &o);
    input = object_close(&o);
    if (ok)
        return show(a, tool, input);
    free(input);
    return EXIT_USAGE;
}

static int input(const struct args *a)
{
    struct object o;
    size_t n = 0;
    char *text = NULL, *json;

    if (a->word_count == 2 && !args_has(a, "--end"))
        return usage_error(a, "TEXT is missing; @FILE is what a file holds, - standard input");
    if (!open_for_task(a, &o))
        return EXIT_USAGE;
    if (a->word_count == 3) {
        text = read_value(a, a->words[2], &n);
        if (text == NULL) {
            free(object_close(&o));
            return EXIT_USAGE;
        }
        object_string(&o, "input", text, n);
        free(text);
    }
    if (args_has(a, "--end")) {
        object_key(&o, "end_of_input");
        fputs("true", o.out);
    }
    json = object_close(&o);
    if (json != NULL && wb_json_check(json, strlen(json), NULL) == WB_EINPUT) {
        free(json);
        return usage_error(a, "the input must be UTF-8, for a call is kept as text");
    }
    return show(a, "TaskInput", json);
}

static int run(const struct args *a)
{
    const char *verb = a->word_count > 0 ? a->words[0] : "list";

    if (strcmp(verb, "list") == 0)
        return list(a);
    if (strcmp(verb, "output") == 0)
        return with_options(a, "TaskOutput");
    if (strcmp(verb, "stop") == 0)
        return with_options(a, "TaskStop");
    return input(a);
}

static const struct option_spec options[] = {
    {"--status", "STATUS", "running, ended or how it ended", false, "list"},
    {"--wait-ms", "N", "wait so long for its end", false, "output stop"},
    {"--lines", "A-B", "these lines of one stream, counted from 1", false, "output"},
    {"--offset", "N", "from this byte of one stream on", false, "output"},
    {"--tail", "N", "the last N lines of one stream", false, "output"},
    {"--stream", "NAME", "stdout, stderr or combined (of a terminal)", false, "output"},
    {"--page-token", "TOKEN", "go on where a page ended", false, "output"},
    {"--max-tokens", "N", "budget of the receipt", false, "output"},
    {"--end", NULL, "close its input afterwards", false, "input"},
    {"--view", "VIEW", "receipt, canonical, result, envelope or record", false,
     "output input stop"},
    {NULL},
};

static const struct form forms[] = {
    {"list", NULL},
    {"output ID", "`waybill tasks list` shows them"},
    {"input ID [TEXT|@FILE|-]", "`waybill tasks list` shows them"},
    {"stop ID", "`waybill tasks list` shows them"},
    {"", NULL},
    {NULL, NULL},
};

const struct command command_tasks = {
    "tasks",
    "Commands that go on in the background: list, read, write to, stop.",
    "list | output ID [--wait-ms N] [--lines A-B|--offset N|--tail N] | input ID TEXT|@FILE|- | "
    "stop ID",
    "`list` shows the tasks of this workspace, newest first. `output` prints what a task has\n"
    "printed so far. `input` writes TEXT as it is to a task that accepts input. `stop` ends a\n"
    "task: SIGTERM, a second later SIGKILL.\n"
    "\nexamples:\n"
    "  waybill exec --yield-ms 1000 -- npm run dev\n"
    "  waybill tasks output task_1f… --tail 20\n"
    "  waybill tasks stop task_1f…\n",
    options,
    forms,
    run,
};
