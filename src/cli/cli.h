/* SPDX-License-Identifier: Apache-2.0
 * cli/cli.h: what the commands of the binary share. Commands are clients of
 * include/waybill/ and of nothing else. */
#ifndef WBI_CLI_CLI_H
#define WBI_CLI_CLI_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "waybill/waybill.h"

/* Exit codes (I2). */
enum { EXIT_OK = 0, EXIT_NEGATIVE = 1, EXIT_USAGE = 2, EXIT_STATE = 3, EXIT_INTERNAL = 70 };
/* As a shell sees a process that SIGPIPE ended: nobody reads the output any more. */
enum { EXIT_NO_READER = 128 + SIGPIPE };
/* Of `waybill exec` alone; otherwise it exits as its command does. */
enum { EXIT_PROMOTED = 75, EXIT_TIMED_OUT = 124, EXIT_OWN_FAILURE = 125 };

/* One option a command accepts. */
struct option_spec {
    const char *name;  /* "--input" */
    const char *value; /* name of its value in the help, NULL for a flag */
    const char *does;  /* for the help; short options beside long ones have none */
    bool many;         /* each time it is given counts, not only the last */
    const char *of;    /* verbs it goes with, a blank between them; NULL: all */
};

struct option_value {
    const struct option_spec *spec;
    const char *value; /* NULL for a flag */
};

#define OPTIONS_MAX 256

/* The parsed command line of one command. */
struct args {
    const struct command *command;
    struct option_value options[OPTIONS_MAX];
    size_t option_count;
    char **words; /* what is no option */
    size_t word_count;
    char **rest; /* after "--" where the command takes_rest, NULL without one */
    size_t rest_count;
    /* options that every command has */
    const char *root, *config, *state, *principal, *events;
    bool quiet, verbose, json;
};

/* How the words of a command may look: a verb in small letters and what follows it,
 * in brackets what may be left out, "…" where there may be more of the last one:
 * "check SCHEMA INSTANCE", "lint [FILE…]", "NAME". "" is none at all; beside verbs
 * it stands last. */
struct form {
    const char *words;
    const char *hint; /* told to who got it wrong, may be NULL */
};

struct command {
    const char *name;
    const char *summary;
    const char *usage;                 /* "NAME [--input JSON|@FILE|-]" */
    const char *details;               /* paragraphs and examples of --help */
    const struct option_spec *options; /* ends with a NULL name */
    const struct form *forms;          /* ends with NULL words; NULL: run looks at the words */
    int (*run)(const struct args *a);
    bool takes_rest; /* what stands behind "--" is kept apart, in args.rest */
};

extern const struct command *const commands[];

/* ---- arguments ---- */

/* The options of every command, for the help. */
#define COMMON_OPTIONS                                          \
    "--root DIR, --config FILE, --state DIR, --as PRINCIPAL,\n" \
    "  --events FILE, --json (for tables and receipts), -q, -v, --help\n"

/* False: a message was printed, exit with *ret_exit. */
bool args_parse(const struct command *command, int argc, char **argv, struct args *ret,
                int *ret_exit);
/* Whether the words have one of the command's forms; false: a message was printed. */
bool forms_check(const struct args *a);
void args_help(const struct command *command);
/* Where the command stands: past the options that every command has, which may
 * come before it as with git. argc when there is none. */
int args_lead(int argc, char **argv);
/* Value of an option, NULL when it was not given; for flags any non-NULL. */
const char *args_get(const struct args *a, const char *name);
bool args_has(const struct args *a, const char *name);
/* The i-th value of an option that may be given more than once, NULL past it. */
const char *args_nth(const struct args *a, const char *name, size_t i);
/* A number from low to high; false: a message was printed. *ret keeps its value
 * when the option was not given. */
bool args_number(const struct args *a, const char *name, long long low, long long high,
                 long long *ret);
/* One of "a, b, c", or not given; false: a message was printed. */
bool args_choice(const struct args *a, const char *name, const char *choices);

/* ---- talking ---- */

/* "waybill COMMAND: text" on stderr; returns EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int usage_error(const struct args *a, const char *fmt, ...);
#define PLACE_SIZE 192 /* an error's file has less than 160 */
/* "FILE: LINE:COLUMN: " in buf, or what there is of it. */
const char *error_place(const wb_error *error, char *buf, size_t size);
/* The error on stderr with its place and a next step, freed; returns the exit
 * code that fits it. */
int fail(const struct args *a, const char *what, wb_error *error);
/* Exit code for a return code. */
int exit_code_of(wb_rc rc);
/* Names of files and answers of servers may hold what moves a terminal's cursor, begins another
 * message or shows another text than there is: as with git, "?" stands for it. */
void make_one_line(char *line);
/* The same to be told, unless -q; and even then. */
__attribute__((format(printf, 2, 3))) void note(const struct args *a, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void warn(const struct args *a, const char *fmt, ...);

/* Whoever started us may have left standard descriptors that do not block (as Node does, and
 * ssh): reading and writing wait all the same. The descriptors stay as they are. */
void make_streams_patient(void);
/* All of text on stdout; false when it could not be written. */
bool put(const char *text, size_t size);
bool put_line(const char *text, size_t size);
/* A JSON string. */
void put_quoted(FILE *out, const char *text, size_t n);
/* What is buffered goes out; false when something was lost, then or before. */
bool flush_output(void);
/* Whether nobody reads the output any more. */
bool reader_gone(void);
/* Flush stdout; code, or where that is EXIT_OK and something was lost EXIT_INTERNAL,
 * EXIT_NO_READER when nobody wanted it. */
int finish_output(int code);
/* TERM names one that knows no escape sequences. */
bool dumb_terminal(void);
/* Escape sequences for a terminal, "" when stdout is none or a dumb one, or NO_COLOR is set. */
const char *style(const char *name);

/* A JSON array as it is with --json, else as a table ("member=HEADER" each). */
int print_table(const struct args *a, const char *json, size_t size, const char *const *columns,
                size_t count);
/* The same; an empty table is `none`, a note. */
int print_list(const struct args *a, const char *json, size_t size, const char *const *columns,
               size_t count, const char *none);
/* The same, not cut to the terminal: what somebody decides upon is seen whole. */
int print_whole_list(const struct args *a, const char *json, size_t size,
                     const char *const *columns, size_t count, const char *none);
/* A JSON value as it is with --json, else with line ends and indentation. */
int print_pretty(const struct args *a, const char *json, size_t size);

/* ---- reading ---- */

/* A whole file, or standard input for "-". NUL-terminated, free() it. NULL: a
 * message was printed. */
char *read_file(const struct args *a, const char *path, size_t *ret_size);
/* "@FILE", "-" or the text itself. */
char *read_value(const struct args *a, const char *value, size_t *ret_size);

/* ---- the runtime ---- */

/* --view, else the receipt, with --json the canonical result; false: a message was printed. */
bool view_by_name(const struct args *a, wb_view *ret);
/* A view of a result on stdout; returns the exit code of its outcome. */
int print_result(const struct args *a, wb_result *result, wb_view view);

/* Standard output and error, and with `input` standard input, become /dev/null. */
void let_go(bool input);
/* Two signals (or one, twice) as a descriptor that can be waited for; -1. */
int signal_descriptor(int one, int other);
/* Nothing is blocked any more. */
void signals_as_usual(void);
/* What came of reading policies and bindings again; error NULL: they hold. */
void say_reloaded(const struct args *a, const wb_error *error);
/* Whenever fd tells of a SIGHUP, policies and bindings are read again. */
void reload_on_hangup(const struct args *a, wb_runtime *runtime, int fd);

/* What a person has to know of a call that waits for a yes; free() it. NULL without memory. */
char *approval_text(const char *approval, size_t size);
/* A runtime by the options every command has. NULL: a message was printed. Calls that wait for
 * a yes are told on stderr. */
wb_runtime *open_runtime(const struct args *a, int *ret_exit);
/* On stderr from now on: what is missing though nothing failed. */
void tell_notices(const struct args *a, wb_runtime *runtime);
/* Free it; says so when events were lost. NULL is fine. */
void close_runtime(const struct args *a, wb_runtime *runtime);
wb_options *runtime_options(const struct args *a);
/* The ledger by the same options. NULL: a message was printed. */
wb_ledger *open_ledger(const struct args *a, wb_ledger_mode mode, int *ret_exit);

#endif
