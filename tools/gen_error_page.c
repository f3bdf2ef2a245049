/* SPDX-License-Identifier: Apache-2.0
 * tools/gen_error_page.c: docs/errors.md from the table of base/error_table.h, so
 * that the page cannot differ from it. Writes to standard output. */
#include <stdio.h>

#include "waybill/waybill.h"

int main(void)
{
    wb_error_row row;

    printf("# Errors\n\n"
           "Made from `src/base/error_table.h` by `tools/gen_error_page.c`; a test keeps it "
           "current.\n\n"
           "Every error outcome has a **kind**: what the model should do next. Category and code "
           "are its\n"
           "name on the Result surface. *Retryable* is an upper bound: effect and idempotency key "
           "narrow it\n"
           "(a write that timed out may have happened). The hint is what the receipt says after "
           "`Next:`\n"
           "unless the tool knows better.\n\n"
           "| kind | category / code | retryable | JSON-RPC | HTTP | exit | hint |\n"
           "| --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; wb_error_table(i, &row) != NULL; i++)
        printf("| `%s` | %s / %s | %s | %d | %d | %d | %s |\n", row.kind, row.category, row.code,
               row.retryable ? "yes" : "no", row.jsonrpc, row.http, row.exit_code, row.hint);
    return 0;
}
