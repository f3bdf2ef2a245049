/* SPDX-License-Identifier: Apache-2.0
 * cli/stats.h: statistics for people. */
#ifndef WBI_CLI_STATS_H
#define WBI_CLI_STATS_H

#include "cli/cli.h"

/* The JSON of wb_ledger_stats, as it is with --json. */
int print_stats(const struct args *a, const char *json, size_t size);

#endif
