/* SPDX-License-Identifier: Apache-2.0
 * cli/commands.c: the list of commands, in the order the overview shows. */
#include "cli/cli.h"

/* clang-format off */
#define COMMANDS(X) \
    X(exec)         \
    X(call)         \
    X(dispatch)     \
    X(serve)        \
    X(connect)      \
    X(tools)        \
    X(tasks)        \
    X(artifact)     \
    X(patch)        \
    X(ledger)       \
    X(calls)        \
    X(approve)      \
    X(policy)       \
    X(config)       \
    X(repair)       \
    X(compact)      \
    X(render)       \
    X(envelope)     \
    X(schema)       \
    X(json)         \
    X(semver)       \
    X(pins)         \
    X(doctor)
/* clang-format on */

#define X(name) extern const struct command command_##name;
COMMANDS(X)
#undef X

const struct command *const commands[] = {
#define X(name) &command_##name,
    COMMANDS(X)
#undef X
        NULL,
};
