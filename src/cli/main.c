/* SPDX-License-Identifier: Apache-2.0
 * cli/main.c: the binary. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/cli.h"

static int print_overview(FILE *to)
{
    fprintf(to,
            "Waybill %s: the tool layer of an AI agent. One call in, exactly one outcome out.\n\n"
            "usage: waybill COMMAND [OPTIONS]\n\n",
            wb_version());
    for (size_t i = 0; commands[i] != NULL; i++)
        fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(to, "\nevery command, before or after it: " COMMON_OPTIONS
                "\n`waybill COMMAND --help` shows options and examples.\n"
                "\nexamples:\n"
                "  waybill tools list\n"
                "  waybill call NAME --input '{\"key\": \"value\"}'\n"
                "  echo '{\"b\": 1, \"a\": 2}' | waybill json canonical\n");
    return EXIT_OK;
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; commands[i] != NULL; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* Secrets may pass through this process: no core, no looking in from outside. */
static void protect(void)
{
    struct rlimit none = {0, 0};

    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* best effort */
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(SIGPIPE, SIG_IGN); /* a closed reader is an error of write() */
    (void)signal(SIGXFSZ, SIG_IGN); /* and so is a file over the limit */
}

/* A descriptor that was closed would be given to the next file that is opened, and
 * output would go into it. It becomes one that cannot be used either. */
static void hold_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY); /* the lowest */
}

static int no_such(const char *name)
{
    const struct args none = {.command = NULL};

    return usage_error(&none, "there is no %s \"%s\"; `waybill --help` lists them",
                       name[0] == '-' ? "option" : "command", name);
}

/* `waybill help [COMMAND]` */
static int help(int argc, char **argv)
{
    const struct command *command = argc > 0 ? find_command(argv[0]) : NULL;

    if (argc == 0)
        return print_overview(stdout);
    if (command == NULL)
        return no_such(argv[0]);
    if (argc > 1) {
        fprintf(stderr, "waybill help: \"%s\" is too much; say waybill help COMMAND\n", argv[1]);
        return EXIT_USAGE;
    }
    args_help(command);
    return EXIT_OK;
}

static int run_command(const char *name, int argc, char **argv)
{
    const struct command *command = find_command(name);
    struct args a;
    int code;

    if (command == NULL)
        return no_such(name);
    if (args_parse(command, argc, argv, &a, &code))
        return command->run(&a);
    if (code == EXIT_USAGE && strcmp(command->name, "exec") == 0)
        code = EXIT_OWN_FAILURE; /* 2 may be the command's own status (I2) */
    return code;
}

/* What is left of the output, then the exit code. Who reads no more of it (`| head`) ends
 * us by SIGPIPE, as with git; a command's own 141 stays what it is (I2). */
static int finish(const char *name, int code)
{
    code = finish_output(code);
    if (code == EXIT_NO_READER && strcmp(name, "exec") != 0) {
        (void)signal(SIGPIPE, SIG_DFL);
        (void)raise(SIGPIPE);
    }
    return code;
}

int main(int argc, char **argv)
{
    int at = args_lead(argc, argv);
    char *word = argv[at];

    hold_standard_descriptors();
    make_streams_patient();
    protect();
    if (word == NULL) {
        (void)print_overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(word, "--version") == 0) {
        printf("waybill %s\n", wb_version());
        return finish(word, EXIT_OK);
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return finish(word, help(argv[at + 1] != NULL && argv[at + 1][0] != '-', argv + at + 1));
    if (strcmp(word, "help") == 0)
        return finish(word, help(argc - at - 1, argv + at + 1));
    /* options before the command join those after it */
    memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof(*argv));
    return finish(word, run_command(word, argc - 2, argv + 2));
}
