/* SPDX-License-Identifier: Apache-2.0
 * cli/commands.c: the list of commands, in the order the overview shows. */
#include "cli/cli.h"

extern const struct command command_call;
extern const struct command command_dispatch;
extern const struct command command_repair;
extern const struct command command_compact;
extern const struct command command_tools;
extern const struct command command_render;
extern const struct command command_envelope;
extern const struct command command_json;
extern const struct command command_semver;
extern const struct command command_schema;
extern const struct command command_config;
extern const struct command command_serve;
extern const struct command command_connect;
extern const struct command command_pins;
extern const struct command command_doctor;

const struct command *const commands[] = {
    &command_call, &command_dispatch, &command_repair, &command_compact, &command_tools,  &command_render, &command_envelope,
    &command_json, &command_semver, &command_schema, &command_config,
    &command_serve, &command_connect, &command_pins, &command_doctor,
    NULL,
};
