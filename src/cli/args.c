/* SPDX-License-Identifier: Apache-2.0
 * cli/args.c: one parser for all commands: --name VALUE, --name=VALUE, -xVALUE, words
 * in between, after "--" nothing but words. Of an option that is given twice the last
 * counts, as with git, curl and timeout. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { HELP_COLUMN = 25 }; /* where it says what an option does */

/* The help names them in a line of its own (COMMON_OPTIONS). */
static const struct option_spec common[] = {
    {"--root", "DIR"},
    {"--config", "FILE"},
    {"--state", "DIR"},
    {"--as", "PRINCIPAL"},
    {"--events", "FILE"},
    {"-q"},
    {"--quiet"},
    {"-v"},
    {"--verbose"},
    {"--json"},
    {"--help"},
    {"-h"},
    {NULL},
};

static const struct option_spec *find(const struct option_spec *list, const char *arg, size_t n)
{
    for (; list != NULL && list->name != NULL; list++)
        if (strlen(list->name) == n && strncmp(list->name, arg, n) == 0)
            return list;
    return NULL;
}

static void set_common(struct args *a, const char *name, const char *value)
{
    if (strcmp(name, "--root") == 0)
        a->root = value;
    else if (strcmp(name, "--config") == 0)
        a->config = value;
    else if (strcmp(name, "--state") == 0)
        a->state = value;
    else if (strcmp(name, "--as") == 0)
        a->principal = value;
    else if (strcmp(name, "--events") == 0)
        a->events = value;
    else if (strcmp(name, "-q") == 0 || strcmp(name, "--quiet") == 0)
        a->quiet = true;
    else if (strcmp(name, "-v") == 0 || strcmp(name, "--verbose") == 0)
        a->verbose = true;
    else if (strcmp(name, "--json") == 0)
        a->json = true;
}

static void help_option(const struct option_spec *o)
{
    int n = printf("  %s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");

    if (o->many)
        n += printf(" …") - 2; /* three bytes, one column */
    if (n > HELP_COLUMN - 2)
        n = printf("\n") - 1;
    printf("%*s%s%s%s%s\n", HELP_COLUMN - n, "", o->does, o->of ? " (" : "", o->of ? o->of : "",
           o->of ? ")" : "");
}

void args_help(const struct command *c)
{
    printf("%s\n\nusage: waybill %s%s%s\n", c->summary, c->name, c->usage[0] ? " " : "", c->usage);
    if (c->options->name != NULL)
        printf("\noptions:\n");
    for (const struct option_spec *o = c->options; o->name != NULL; o++)
        help_option(o);
    printf("\nevery command: " COMMON_OPTIONS);
    if (c->details != NULL)
        printf("\n%s", c->details);
}

static bool asks_for_help(const char *arg)
{
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

int args_lead(int argc, char **argv)
{
    int i = 1;

    while (i < argc && argv[i][0] == '-' && !asks_for_help(argv[i])) {
        const char *equals = strchr(argv[i], '=');
        const struct option_spec *spec =
            find(common, argv[i], equals ? (size_t)(equals - argv[i]) : strlen(argv[i]));
        if (spec == NULL)
            break;
        i += spec->value != NULL && equals == NULL ? 2 : 1;
    }
    return i < argc ? i : argc;
}

/* The option that arg names in its first n bytes, the command's own first. */
static const struct option_spec *find_option(const struct args *a, const char *arg, size_t n)
{
    const struct option_spec *own = find(a->command->options, arg, n);

    return own ? own : find(common, arg, n);
}

/* The option at argv[*i] and its value; *i moves past what was used. */
static const struct option_spec *read_option(const struct args *a, int argc, char **argv, int *i,
                                             const char **ret_value)
{
    const char *arg = argv[*i], *value = strchr(arg, '=');
    size_t n = value ? (size_t)(value - arg) : strlen(arg);
    const struct option_spec *spec = find_option(a, arg, n);

    if (value != NULL)
        value++;
    if (spec == NULL && arg[1] != '-' && (spec = find_option(a, arg, 2)) != NULL) {
        if (spec->value == NULL)
            spec = NULL;
        value = arg + 2; /* "-C3" */
    }
    if (spec == NULL) {
        (void)usage_error(a, "unknown option %s; try `waybill %s --help`", arg, a->command->name);
        return NULL;
    }
    if (spec->value != NULL && value == NULL && *i + 1 < argc)
        value = argv[++*i];
    if (spec->value != NULL && value == NULL) {
        (void)usage_error(a, "%s needs a value: %s %s", spec->name, spec->name, spec->value);
        return NULL;
    }
    if (spec->value == NULL && value != NULL) {
        (void)usage_error(a, "%s takes no value", spec->name);
        return NULL;
    }
    *ret_value = value;
    return spec;
}

/* One of the command's own options; the last of two counts, where there may not be many. */
static bool keep_option(struct args *a, const struct option_spec *spec, const char *value)
{
    size_t at = 0;

    while (at < a->option_count && (spec->many || a->options[at].spec != spec))
        at++;
    if (at == OPTIONS_MAX) {
        (void)usage_error(a, "%s is one option too many; %d are accepted", spec->name, OPTIONS_MAX);
        return false;
    }
    a->options[at] = (struct option_value){spec, value};
    a->option_count += at == a->option_count;
    return true;
}

static bool take_option(struct args *a, int argc, char **argv, int *i, int *ret_exit)
{
    const char *value = NULL;
    const struct option_spec *spec = read_option(a, argc, argv, i, &value);

    *ret_exit = EXIT_USAGE;
    if (spec == NULL)
        return false;
    if (find(a->command->options, spec->name, strlen(spec->name)) == spec)
        return keep_option(a, spec, value);
    if (asks_for_help(spec->name)) {
        args_help(a->command);
        *ret_exit = EXIT_OK;
        return false;
    }
    if (value != NULL && *value == '\0') { /* "$UNSET" would be the working directory */
        (void)usage_error(a, "the value of %s is empty; say %s %s or leave it out", spec->name,
                          spec->name, spec->value);
        return false;
    }
    set_common(a, spec->name, value);
    return true;
}

/* Words are moved to the front of argv. */
static bool split(struct args *ret, int argc, char **argv, int *ret_exit)
{
    bool only_words = false;

    for (int i = 0; i < argc; i++) {
        if (!only_words && strcmp(argv[i], "--") == 0) {
            if (!ret->command->takes_rest) {
                only_words = true;
                continue;
            }
            ret->rest = argv + i + 1;
            ret->rest_count = (size_t)(argc - i - 1);
            return true;
        }
        if (!only_words && argv[i][0] == '-' && argv[i][1] != '\0') {
            if (!take_option(ret, argc, argv, &i, ret_exit))
                return false;
            continue;
        }
        ret->words[ret->word_count++] = argv[i];
    }
    return true;
}

bool args_parse(const struct command *command, int argc, char **argv, struct args *ret,
                int *ret_exit)
{
    memset(ret, 0, sizeof(*ret));
    ret->command = command;
    ret->words = argv;
    if (!split(ret, argc, argv, ret_exit))
        return false;
    *ret_exit = EXIT_USAGE;
    return command->forms == NULL || forms_check(ret);
}

const char *args_nth(const struct args *a, const char *name, size_t i)
{
    for (size_t at = 0; at < a->option_count; at++)
        if (strcmp(a->options[at].spec->name, name) == 0 && i-- == 0)
            return a->options[at].value ? a->options[at].value : "";
    return NULL;
}

const char *args_get(const struct args *a, const char *name)
{
    return args_nth(a, name, 0);
}

bool args_has(const struct args *a, const char *name)
{
    return args_nth(a, name, 0) != NULL;
}

bool args_number(const struct args *a, const char *name, long long low, long long high,
                 long long *ret)
{
    const char *text = args_get(a, name);
    char *end;
    long long v;

    if (text == NULL)
        return true;
    errno = 0;
    v = strtoll(text, &end, 10);
    if (errno != 0 || !(isdigit((unsigned char)text[0]) || text[0] == '-') || end == text ||
        *end != '\0' || v < low || v > high) {
        (void)usage_error(a, "%s must be a whole number from %lld to %lld; got \"%s\"", name, low,
                          high, text);
        return false;
    }
    *ret = v;
    return true;
}

bool args_choice(const struct args *a, const char *name, const char *choices)
{
    const char *text = args_get(a, name), *at = choices;
    size_t n = text != NULL ? strcspn(text, ", ") : 0;
    bool word = n > 0 && text[n] == '\0'; /* and no two of them */

    if (text == NULL)
        return true;
    while ((at = word ? strstr(at, text) : NULL) != NULL) {
        bool starts = at == choices || at[-1] == ' ';

        at += n;
        if (starts && (*at == '\0' || *at == ','))
            return true;
    }
    (void)usage_error(a, "%s must be one of %s; got \"%s\"", name, choices, text);
    return false;
}
