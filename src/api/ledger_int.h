/* SPDX-License-Identifier: Apache-2.0
 * api/ledger_int.h: what the functions of waybill/ledger.h share. */
#ifndef WBI_API_LEDGER_INT_H
#define WBI_API_LEDGER_INT_H

#include "api/api_int.h"
#include "config/places.h"
#include "ledger/ledger.h"

struct wb_ledger {
    struct wbi_arena *arena; /* of the places */
    struct wbi_places places;
    struct wbi_clock clock;
    struct wbi_ids ids;
    wb_ledger_mode mode;
    struct wbi_store *store;
    struct wbi_ledger *ledger;
    char tool[WBI_LIMIT_MODEL_NAME + 1]; /* that the last filter means, as rows name it */
};

/* Before each use: a state directory that was made meanwhile is opened; to_write: made. */
WB_MUST_CHECK wb_rc wbi_ledger_refresh(wb_ledger *ledger, bool to_write, wb_error **reterr);

/* RFC 3339, or a number and s, m, h or d: so long before now; text NULL leaves *ret. name is
 * what the caller calls it. */
WB_MUST_CHECK wb_rc wbi_filter_time(const wb_ledger *ledger, const char *name, const char *text,
                                    int64_t *ret, struct wbi_error *err);
/* The rows a filter means; slices are the filter's, or live until the next one. max is not
 * set. */
WB_MUST_CHECK wb_rc wbi_filter_query(wb_ledger *ledger, const wb_ledger_filter *filter,
                                     struct wbi_row_query *ret, struct wbi_error *err);
/* With a limit, let query begin behind the rows in front of the newest that many that fit. */
WB_MUST_CHECK wb_rc wbi_filter_newest(wb_ledger *ledger, const wb_ledger_filter *filter,
                                      struct wbi_row_query *query, struct wbi_error *err);

#endif
