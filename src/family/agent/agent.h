/* SPDX-License-Identifier: Apache-2.0
 * family/agent/agent.h: what a child agent reported, and the family that shows
 * it: the report (standard output) within a budget of its own, the transcript
 * (both streams, whole) as artifacts. */
#ifndef WBI_FAMILY_AGENT_AGENT_H
#define WBI_FAMILY_AGENT_AGENT_H

#include "family/command/command.h"

struct wbi_agent_output {
    struct wbi_str agent; /* its name in the configuration */
    struct wbi_command_output run;
};

extern const struct wbi_family wbi_agent_family; /* typed: struct wbi_agent_output */

#endif
