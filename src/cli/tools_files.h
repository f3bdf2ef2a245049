/* SPDX-License-Identifier: Apache-2.0
 * cli/tools_files.h: descriptors as files, for `waybill tools`. */
#ifndef WBI_CLI_TOOLS_FILES_H
#define WBI_CLI_TOOLS_FILES_H

#include "cli/cli.h"

/* tools.d/NAME.json from the options; returns the exit code. */
int tools_add(const struct args *a);
/* Files named, or all of tools.d; returns the exit code. */
int tools_check(const struct args *a);

#endif
