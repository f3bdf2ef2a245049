/* SPDX-License-Identifier: Apache-2.0
 * cli/main.c: the binary. */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "cli/cli.h"

static int print_overview(FILE *to)
{
    fprintf(to,
            "Waybill %s: the tool layer of an AI agent. One call in, exactly one outcome out.\n\n"
            "usage: waybill COMMAND [OPTIONS]\n\n",
            wb_version());
    for (size_t i = 0; commands[i] != NULL; i++)
        fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(to, "\n`waybill COMMAND --help` shows options and examples.\n"
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
}

int main(int argc, char **argv)
{
    const struct command *command;
    struct args a;
    int code;

    protect();
    if (argc < 2) {
        (void)print_overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("waybill %s\n", wb_version());
        return finish_output(EXIT_OK);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return finish_output(print_overview(stdout));
    if (strcmp(argv[1], "help") == 0) {
        command = argc > 2 ? find_command(argv[2]) : NULL;
        if (command == NULL)
            return finish_output(print_overview(stdout));
        args_help(command);
        return finish_output(EXIT_OK);
    } else {
        command = find_command(argv[1]);
    }
    if (command == NULL) {
        fprintf(stderr, "waybill: there is no command \"%s\"; `waybill --help` lists them\n",
                argv[1]);
        return EXIT_USAGE;
    }
    if (!args_parse(command, argc - 2, argv + 2, &a, &code)) {
        if (code == EXIT_USAGE && strcmp(command->name, "exec") == 0)
            code = EXIT_OWN_FAILURE; /* 2 may be the command's own status (I2) */
        return finish_output(code);
    }
    return finish_output(command->run(&a));
}
