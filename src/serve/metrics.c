/* SPDX-License-Identifier: Apache-2.0
 * serve/metrics.c: one row per tool, found by a hash of its name; rows end at a
 * cap, so that no client can grow them without bound: tools that do not exist
 * share one row. */
#include "serve/metrics.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "call/guards.h"
#include "call/run.h"

#define SLOTS 8192u
#define BUCKETS 12
#define CODES 48

/* Upper ends in microseconds; the last one is open. */
/* Written as they are: a host's locale may have another point than Prometheus. */
static const struct {
    int64_t us;
    const char *seconds;
} bounds[BUCKETS - 1] = {{100, "0.0001"},  {250, "0.00025"}, {1000, "0.001"},   {5000, "0.005"},
                         {25000, "0.025"}, {100000, "0.1"},  {500000, "0.5"},   {1000000, "1"},
                         {5000000, "5"},   {30000000, "30"}, {300000000, "300"}};

/* Errors of one code. */
struct errors {
    struct errors *next;
    uint64_t n;
    char code[];
};

struct row {
    char *tool, *origin;
    uint64_t calls, retries, buckets[BUCKETS], sum_us;
    struct errors *errors;
    size_t error_codes;
    size_t in_use; /* while they are written */
    const char *circuit;
    bool limited;
};

struct wbi_metrics {
    struct row *slots[SLOTS];
    size_t count;
};

wb_rc wbi_metrics_new(struct wbi_metrics **ret)
{
    *ret = wbi_zalloc(sizeof(**ret));
    return *ret != NULL ? WB_OK : WB_ENOMEM;
}

static void free_row(struct row *row)
{
    if (row == NULL)
        return;
    while (row->errors != NULL) {
        struct errors *e = row->errors;

        row->errors = e->next;
        wbi_free(e);
    }
    wbi_free(row->tool);
    wbi_free(row->origin);
    wbi_free(row);
}

void wbi_metrics_free(struct wbi_metrics *m)
{
    for (size_t i = 0; m != NULL && i < SLOTS; i++)
        free_row(m->slots[i]);
    wbi_free(m);
}

static struct row *row_of(struct wbi_metrics *m, struct wbi_str tool, struct wbi_str origin)
{
    size_t at = wbi_hash64(tool.p, tool.n, 0) % SLOTS;
    struct row *row;

    while (m->slots[at] != NULL && !wbi_str_eqz(tool, m->slots[at]->tool))
        at = (at + 1) % SLOTS;
    if (m->slots[at] != NULL || m->count >= SLOTS / 2)
        return m->slots[at];
    row = wbi_zalloc(sizeof(*row));
    if (row == NULL)
        return NULL;
    row->tool = wbi_strdup(tool);
    row->origin = wbi_strdup(origin);
    if (row->tool == NULL || row->origin == NULL) {
        free_row(row);
        return NULL;
    }
    m->count++;
    m->slots[at] = row;
    return row;
}

static struct errors *errors_of(struct row *row, struct wbi_str code)
{
    struct errors *e = row->errors;

    while (e != NULL && !wbi_str_eqz(code, e->code))
        e = e->next;
    return e;
}

/* Tools have codes of their own: the last place is for those that do not fit. */
static void count_error(struct row *row, struct wbi_str code)
{
    struct errors *e = errors_of(row, code);

    if (e == NULL && row->error_codes + 1 >= CODES) {
        code = WBI_LIT("other");
        e = errors_of(row, code);
    }
    if (e == NULL) {
        e = wbi_zalloc(sizeof(*e) + code.n + 1);
        if (e == NULL)
            return;
        memcpy(e->code, code.p, code.n);
        e->next = row->errors;
        row->errors = e;
        row->error_codes++;
    }
    e->n++;
}

static struct row *row_of_call(struct wbi_metrics *m, const struct wbi_call *call)
{
    bool known = call->tool != NULL;

    return row_of(m, known ? call->tool->qualified : WBI_LIT("unknown"),
                  known ? call->tool->origin : WBI_LIT("unknown"));
}

void wbi_metrics_call(struct wbi_metrics *m, const struct wbi_call *call)
{
    struct row *row = row_of_call(m, call);
    int64_t us = (call->ended_ns - call->started_ns) / 1000;
    size_t b = 0;

    if (row == NULL)
        return;
    row->calls++;
    if (call->facts.attempts > 1)
        row->retries += call->facts.attempts - 1;
    while (b < BUCKETS - 1 && us > bounds[b].us)
        b++;
    row->buckets[b]++;
    row->sum_us += us > 0 ? (uint64_t)us : 0;
    row->limited = false;
    if (call->admission != NULL && call->admission->circuit_state != NULL)
        row->circuit = call->admission->circuit_state;
    if (call->outcome.state != WBI_OUTCOME_ERROR)
        return;
    count_error(row, wbi_fault_code(&call->outcome.fault));
    row->limited = call->outcome.fault.kind == WBI_KIND_RATE_LIMITED;
}

/* Quotes, backslashes and line ends are escaped. */
static void add_label(struct wbi_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            wbi_buf_addc(out, '\\');
        if (*text == '\n')
            wbi_buf_addz(out, "\\n");
        else
            wbi_buf_addc(out, *text);
    }
}

static void add_name(struct wbi_buf *out, const char *name, const struct row *row)
{
    wbi_buf_addz(out, name);
    wbi_buf_addz(out, "{tool=\"");
    add_label(out, row->tool);
    wbi_buf_addz(out, "\",origin=\"");
    add_label(out, row->origin);
    wbi_buf_addc(out, '"');
}

static void head(struct wbi_buf *out, const char *name, const char *type, const char *help)
{
    wbi_buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_latency(struct wbi_buf *out, const struct row *row)
{
    uint64_t sum = 0;

    for (size_t b = 0; b < BUCKETS; b++) {
        sum += row->buckets[b];
        add_name(out, "tool_latency_seconds_bucket", row);
        if (b < BUCKETS - 1)
            wbi_buf_addf(out, ",le=\"%s\"} %llu\n", bounds[b].seconds, (unsigned long long)sum);
        else
            wbi_buf_addf(out, ",le=\"+Inf\"} %llu\n", (unsigned long long)sum);
    }
    add_name(out, "tool_latency_seconds_sum", row);
    wbi_buf_addf(out, "} %llu.%06llu\n", (unsigned long long)(row->sum_us / 1000000),
                 (unsigned long long)(row->sum_us % 1000000));
    add_name(out, "tool_latency_seconds_count", row);
    wbi_buf_addf(out, "} %llu\n", (unsigned long long)sum);
}

static void write_errors(struct wbi_buf *out, const struct row *row)
{
    for (const struct errors *e = row->errors; e != NULL; e = e->next) {
        add_name(out, "tool_errors_total", row);
        wbi_buf_addz(out, ",code=\"");
        add_label(out, e->code);
        wbi_buf_addf(out, "\"} %llu\n", (unsigned long long)e->n);
    }
}

static int circuit_number(const char *state)
{
    if (state == NULL || wbi_str_eqz(wbi_str_z(state), "closed"))
        return 0;
    return wbi_str_eqz(wbi_str_z(state), "open") ? 2 : 1;
}

static void each(const struct wbi_metrics *m, struct wbi_buf *out,
                 void (*write)(struct wbi_buf *out, const struct row *row))
{
    for (size_t i = 0; i < SLOTS; i++)
        if (m->slots[i] != NULL)
            write(out, m->slots[i]);
}

static void write_calls(struct wbi_buf *out, const struct row *row)
{
    add_name(out, "tool_invocations_total", row);
    wbi_buf_addf(out, "} %llu\n", (unsigned long long)row->calls);
}

static void write_retries(struct wbi_buf *out, const struct row *row)
{
    add_name(out, "tool_retries_total", row);
    wbi_buf_addf(out, "} %llu\n", (unsigned long long)row->retries);
}

static void write_limited(struct wbi_buf *out, const struct row *row)
{
    add_name(out, "rate_limiter_saturation", row);
    wbi_buf_addf(out, "} %d\n", row->limited ? 1 : 0);
}

static void write_circuit(struct wbi_buf *out, const struct row *row)
{
    add_name(out, "circuit_state", row);
    wbi_buf_addf(out, "} %d\n", circuit_number(row->circuit));
}

static void write_in_use(struct wbi_buf *out, const struct row *row)
{
    add_name(out, "concurrency_in_use", row);
    wbi_buf_addf(out, "} %zu\n", row->in_use);
}

static void count_running(void *arg, struct wbi_call *call)
{
    struct row *row = row_of_call(arg, call);

    if (row != NULL)
        row->in_use++;
}

static void write_ledger(struct wbi_buf *out, const struct wbi_store_health *h)
{
    head(out, "ledger_writable", "gauge", "0 when the newest commit failed.");
    wbi_buf_addf(out, "ledger_writable %d\n", h->writable ? 1 : 0);
    head(out, "ledger_rows_waiting", "gauge", "Rows on their way to the disk.");
    wbi_buf_addf(out, "ledger_rows_waiting %llu\n", (unsigned long long)h->waiting);
    head(out, "ledger_rows_lost_total", "counter", "Rows that could not be written.");
    wbi_buf_addf(out, "ledger_rows_lost_total %llu\n", (unsigned long long)h->lost);
}

void wbi_metrics_write(struct wbi_metrics *m, struct wbi_calls *calls, uint64_t lost_events,
                       uint64_t lost_access, const struct wbi_store_health *ledger,
                       struct wbi_buf *out)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (m->slots[i] != NULL)
            m->slots[i]->in_use = 0;
    wbi_calls_each(calls, count_running, m);

    head(out, "tool_invocations_total", "counter", "Calls, by tool and origin.");
    each(m, out, write_calls);
    head(out, "tool_errors_total", "counter", "Calls that ended in an error, by code.");
    each(m, out, write_errors);
    head(out, "tool_retries_total", "counter", "Attempts after the first.");
    each(m, out, write_retries);
    head(out, "rate_limiter_saturation", "gauge", "1 when the newest call was rate limited.");
    each(m, out, write_limited);
    head(out, "circuit_state", "gauge", "0 closed, 1 half open, 2 open.");
    each(m, out, write_circuit);
    head(out, "tool_latency_seconds", "histogram", "From the call to its outcome.");
    each(m, out, write_latency);
    head(out, "concurrency_in_use", "gauge", "Calls under way.");
    each(m, out, write_in_use);
    head(out, "events_lost_total", "counter", "Events that no reader took.");
    wbi_buf_addf(out, "events_lost_total %llu\n", (unsigned long long)lost_events);
    head(out, "access_records_lost_total", "counter",
         "Lines of the access log that no reader took.");
    wbi_buf_addf(out, "access_records_lost_total %llu\n", (unsigned long long)lost_access);
    write_ledger(out, ledger);
}
