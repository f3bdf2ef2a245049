/* SPDX-License-Identifier: Apache-2.0
 * ledger/stats.c: one pass over the outcomes, in memory that does not grow with
 * them: counters per tool and kind, logarithmic histograms of durations (3 %
 * apart), a row of time slots that doubles its width when it is full, and the
 * ten largest results. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/limits.h"
#include "ledger/lean.h"
#include "ledger/ledger_int.h"
#include "text/tokens.h"

enum {
    TOOLS_MAX = 256, /* further ones are counted together */
    KINDS_MAX = 96,
    LARGEST = 10,
    SLOTS = 64,
    FINE = 32, /* parts of each doubling */
    OCTAVES = 40,
    BUCKETS = OCTAVES * FINE
};

struct histogram {
    uint64_t count;
    int64_t max;
    uint32_t buckets[BUCKETS];
};

struct tally {
    char name[WBI_LIMIT_ID + 1];
    size_t name_n;
    uint64_t calls, errors, shown, kept;
    struct histogram us;
};

struct large {
    char id[WBI_ID_SIZE];
    char tool[WBI_LIMIT_ID + 1];
    int64_t bytes;
    uint64_t shown;
};

struct kind_count {
    char name[64];
    uint64_t count;
};

struct stats {
    struct tally *tools[TOOLS_MAX];
    size_t tools_n;
    struct tally *last; /* the same tool often comes again */
    struct tally all;
    struct kind_count kinds[KINDS_MAX];
    size_t kinds_n;
    struct large largest[LARGEST];
    size_t largest_n;
    int64_t first_ms, last_ms, slot_ms;
    uint32_t slots[SLOTS];
    struct wbi_arena *arena; /* for one row */
    wb_rc rc;
};

/* ---- durations ---- */

static unsigned bucket_of(int64_t us)
{
    uint64_t v = us < 0 ? 0 : (uint64_t)us;
    unsigned octave, b;

    if (v < FINE)
        return (unsigned)v;
    octave = 63u - (unsigned)__builtin_clzll(v); /* 5 … */
    b = (octave - 4) * FINE + (unsigned)((v >> (octave - 5)) & (FINE - 1));
    return WBI_MIN(b, (unsigned)BUCKETS - 1);
}

/* The highest duration of a bucket. */
static int64_t bucket_top(unsigned b)
{
    unsigned octave = b / FINE;

    if (octave == 0)
        return b;
    return ((int64_t)(FINE + b % FINE + 1) << (octave - 1)) - 1;
}

static void add_duration(struct histogram *h, int64_t us)
{
    if (us < 0)
        return; /* nobody knows how long it took */
    h->count++;
    h->max = WBI_MAX(h->max, us);
    h->buckets[bucket_of(us)]++;
}

static int64_t percentile(const struct histogram *h, unsigned per_mille)
{
    uint64_t want = (h->count * per_mille + 999) / 1000, seen = 0;

    for (unsigned b = 0; b < BUCKETS; b++) {
        seen += h->buckets[b];
        if (seen >= want && seen > 0)
            return WBI_MIN(bucket_top(b), h->max);
    }
    return 0;
}

/* ---- adding up ---- */

static void add_time(struct stats *s, int64_t ms)
{
    int64_t slot;

    if (s->all.calls == 0)
        s->first_ms = ms;
    s->last_ms = WBI_MAX(s->last_ms, ms);
    slot = ms > s->first_ms ? (ms - s->first_ms) / s->slot_ms : 0;
    while (slot >= SLOTS) {
        for (size_t i = 0; i < SLOTS / 2; i++)
            s->slots[i] = s->slots[2 * i] + s->slots[2 * i + 1];
        memset(s->slots + SLOTS / 2, 0, sizeof(s->slots) / 2);
        s->slot_ms *= 2;
        slot = (ms - s->first_ms) / s->slot_ms;
    }
    s->slots[slot]++;
}

static struct tally *tool_of(struct stats *s, struct wbi_str name)
{
    struct tally *t = s->last;

    if (t != NULL && wbi_str_eq(name, wbi_str_make(t->name, t->name_n)))
        return t;
    for (size_t i = 0; i < s->tools_n; i++) {
        t = s->tools[i];
        if (wbi_str_eq(name, wbi_str_make(t->name, t->name_n)))
            return s->last = t;
    }
    if (s->tools_n == TOOLS_MAX)
        return s->tools[TOOLS_MAX - 1];
    t = wbi_zalloc(sizeof(*t));
    if (t == NULL) {
        s->rc = WB_ENOMEM;
        return NULL;
    }
    if (s->tools_n == TOOLS_MAX - 1)
        name = WBI_LIT("(others)");
    t->name_n = WBI_MIN(name.n, sizeof(t->name) - 1);
    if (t->name_n > 0)
        memcpy(t->name, name.p, t->name_n);
    s->tools[s->tools_n++] = t;
    return s->last = t;
}

static void add_kind(struct stats *s, struct wbi_str kind)
{
    for (size_t i = 0; i < s->kinds_n; i++) {
        if (wbi_str_eqz(kind, s->kinds[i].name)) {
            s->kinds[i].count++;
            return;
        }
    }
    if (s->kinds_n == KINDS_MAX || kind.n >= sizeof(s->kinds[0].name))
        return;
    memcpy(s->kinds[s->kinds_n].name, kind.p, kind.n);
    s->kinds[s->kinds_n++].count = 1;
}

/* What the complete outputs on disk add up to. */
static int64_t artifact_bytes(struct stats *s, struct wbi_str artifacts)
{
    const wbi_json *list;
    int64_t sum = 0, n;

    if (artifacts.n <= 2 ||
        wbi_json_read(s->arena, artifacts, WBI_JSON_STRICT, &list, NULL) != WB_OK)
        return 0;
    WBI_JSON_EACH (list, fact) {
        if (wbi_json_i64(wbi_json_get(fact, "bytes"), &n) && n > 0 && sum <= INT64_MAX - n)
            sum += n;
    }
    wbi_arena_reset(s->arena);
    return sum;
}

/* Of the Result's output, without reading it: the text is ours (call/views.c), and
 * `durationMs` comes right behind the output, or where it would be. */
static int64_t output_bytes(struct wbi_str canonical, struct wbi_str result)
{
    static const char head[] = "{\"status\":\"Ok\",\"output\":", behind[] = ",\"durationMs\":";
    const size_t head_n = sizeof(head) - 1, behind_n = sizeof(behind) - 1;

    if (wbi_str_starts(result, WBI_LIT("{\"status\":\"Ok\",\"durationMs\":")))
        return (int64_t)wbi_lean_result(canonical).n;
    if (!wbi_str_starts(result, wbi_str_make(head, head_n)))
        return 0; /* an error keeps nothing away */
    for (size_t at = result.n - behind_n; at > head_n; at--) {
        const char *comma = memrchr(result.p + head_n, ',', at + 1 - head_n);
        if (comma == NULL)
            break;
        at = (size_t)(comma - result.p);
        if (memcmp(comma, behind, behind_n) == 0)
            return (int64_t)(at - head_n);
    }
    return 0;
}

static void add_large(struct stats *s, const struct wbi_glance *g, int64_t bytes, uint64_t shown)
{
    size_t at = s->largest_n;
    struct large *l;

    if (at == LARGEST && bytes <= s->largest[LARGEST - 1].bytes)
        return;
    if (at == LARGEST)
        at--;
    else
        s->largest_n++;
    for (; at > 0 && s->largest[at - 1].bytes < bytes; at--)
        s->largest[at] = s->largest[at - 1];
    l = &s->largest[at];
    *l = (struct large){.bytes = bytes, .shown = shown};
    if (g->call_id.p != NULL)
        memcpy(l->id, g->call_id.p, WBI_MIN(g->call_id.n, sizeof(l->id) - 1));
    if (g->tool.p != NULL)
        memcpy(l->tool, g->tool.p, WBI_MIN(g->tool.n, sizeof(l->tool) - 1));
}

static void add_row(void *arg, const struct wbi_glance *g)
{
    struct stats *s = arg;
    int64_t full = WBI_MAX(output_bytes(g->canonical, g->result), artifact_bytes(s, g->artifacts));
    uint64_t shown = wbi_tokens(g->receipt);
    uint64_t kept = full > (int64_t)g->receipt.n ? (uint64_t)(full - (int64_t)g->receipt.n) / 4 : 0;
    bool failed = wbi_str_eqz(g->status, "error");
    struct tally *t = tool_of(s, g->tool), *both[2] = {&s->all, t};

    if (t == NULL)
        return;
    add_time(s, g->time_ms);
    for (size_t i = 0; i < 2; i++) {
        both[i]->calls++;
        both[i]->errors += failed;
        both[i]->shown += shown;
        both[i]->kept += kept;
        add_duration(&both[i]->us, g->duration_us);
    }
    if (failed && g->error_kind.p != NULL)
        add_kind(s, g->error_kind);
    add_large(s, g, full, shown);
}

/* ---- as JSON ---- */

static void write_ms(struct wbi_jw *w, const char *name, int64_t us)
{
    wbi_jw_key(w, name);
    wbi_jw_real(w, (double)us / 1000.0);
}

static void write_tally(struct wbi_jw *w, const struct tally *t)
{
    wbi_jw_kint(w, "calls", (int64_t)t->calls);
    wbi_jw_kint(w, "errors", (int64_t)t->errors);
    wbi_jw_key(w, "latency_ms");
    wbi_jw_obj(w);
    write_ms(w, "p50", percentile(&t->us, 500));
    write_ms(w, "p90", percentile(&t->us, 900));
    write_ms(w, "p99", percentile(&t->us, 990));
    write_ms(w, "max", t->us.max);
    wbi_jw_obj_end(w);
    wbi_jw_key(w, "tokens");
    wbi_jw_obj(w);
    wbi_jw_kint(w, "shown", (int64_t)t->shown);
    wbi_jw_kint(w, "kept_away", (int64_t)t->kept);
    wbi_jw_obj_end(w);
}

/* Doublings from 1 µs on; leading and trailing zeros are left out. */
static void write_histogram(struct wbi_jw *w, const struct histogram *h)
{
    uint64_t octaves[OCTAVES] = {0};
    unsigned first = 0, end = OCTAVES;

    for (unsigned b = 0; b < BUCKETS; b++)
        octaves[b / FINE] += h->buckets[b];
    while (h->count > 0 && octaves[first] == 0)
        first++;
    while (end > first + 1 && octaves[end - 1] == 0)
        end--;
    wbi_jw_key(w, "histogram");
    wbi_jw_obj(w);
    write_ms(w, "from_ms", first == 0 ? 0 : (int64_t)FINE << (first - 1));
    wbi_jw_key(w, "doublings");
    wbi_jw_arr(w);
    for (unsigned o = first; o < end && h->count > 0; o++)
        wbi_jw_int(w, (int64_t)octaves[o]);
    wbi_jw_arr_end(w);
    wbi_jw_obj_end(w);
}

static void write_slots(struct wbi_jw *w, const struct stats *s)
{
    char first[WBI_RFC3339_SIZE], last[WBI_RFC3339_SIZE];
    size_t n = SLOTS;

    while (n > 0 && s->slots[n - 1] == 0)
        n--;
    wbi_time_format(s->first_ms, first);
    wbi_time_format(s->last_ms, last);
    wbi_jw_key(w, "time");
    wbi_jw_obj(w);
    if (s->all.calls > 0) {
        wbi_jw_kstrz(w, "first", first);
        wbi_jw_kstrz(w, "last", last);
    }
    wbi_jw_kint(w, "slot_ms", s->slot_ms);
    wbi_jw_key(w, "calls");
    wbi_jw_arr(w);
    for (size_t i = 0; i < n; i++)
        wbi_jw_int(w, s->slots[i]);
    wbi_jw_arr_end(w);
    wbi_jw_obj_end(w);
}

static void write_tools(struct wbi_jw *w, const struct stats *s)
{
    bool done[TOOLS_MAX] = {false};

    wbi_jw_key(w, "tools");
    wbi_jw_arr(w);
    for (size_t i = 0; i < s->tools_n; i++) { /* most calls first */
        size_t best = TOOLS_MAX;
        for (size_t k = 0; k < s->tools_n; k++)
            if (!done[k] && (best == TOOLS_MAX || s->tools[k]->calls > s->tools[best]->calls))
                best = k;
        if (best == TOOLS_MAX)
            break;
        done[best] = true;
        wbi_jw_obj(w);
        wbi_jw_kstr(w, "tool", wbi_str_make(s->tools[best]->name, s->tools[best]->name_n));
        write_tally(w, s->tools[best]);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
}

static void write_rest(struct wbi_jw *w, const struct stats *s)
{
    wbi_jw_key(w, "errors_by_kind");
    wbi_jw_arr(w);
    for (size_t i = 0; i < s->kinds_n; i++) {
        wbi_jw_obj(w);
        wbi_jw_kstrz(w, "kind", s->kinds[i].name);
        wbi_jw_kint(w, "count", (int64_t)s->kinds[i].count);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
    wbi_jw_key(w, "largest");
    wbi_jw_arr(w);
    for (size_t i = 0; i < s->largest_n; i++) {
        wbi_jw_obj(w);
        wbi_jw_kstrz(w, "id", s->largest[i].id);
        wbi_jw_kstrz(w, "tool", s->largest[i].tool);
        wbi_jw_kint(w, "bytes", s->largest[i].bytes);
        wbi_jw_kint(w, "tokens_shown", (int64_t)s->largest[i].shown);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
}

static int most_first(const void *a, const void *b)
{
    uint64_t x = ((const struct kind_count *)a)->count, y = ((const struct kind_count *)b)->count;

    return x < y ? 1 : x > y ? -1 : 0;
}

wb_rc wbi_ledger_stats(struct wbi_ledger *l, const struct wbi_row_query *query, struct wbi_buf *out,
                       struct wbi_error *err)
{
    struct stats *s = wbi_zalloc(sizeof(*s));
    struct wbi_jw w = wbi_jw_to(out);
    wb_rc rc = s ? wbi_arena_new(WBI_LIMIT_CALL_ARENA, &s->arena) : WB_ENOMEM;

    if (rc != WB_OK) {
        wbi_free(s);
        return wbi_fail_nomem(err);
    }
    s->slot_ms = 1000;
    rc = wbi_store_scan(l->store, query, add_row, s, err);
    if (rc == WB_OK && s->rc != WB_OK)
        rc = wbi_fail_nomem(err);
    if (rc == WB_OK) {
        qsort(s->kinds, s->kinds_n, sizeof(s->kinds[0]), most_first);
        wbi_jw_obj(&w);
        write_tally(&w, &s->all);
        write_histogram(&w, &s->all.us);
        write_slots(&w, s);
        write_tools(&w, s);
        write_rest(&w, s);
        wbi_jw_obj_end(&w);
        rc = wbi_buf_rc(out) == WB_OK ? WB_OK : wbi_fail_nomem(err);
    }
    for (size_t i = 0; i < s->tools_n; i++)
        wbi_free(s->tools[i]);
    wbi_arena_free(s->arena);
    wbi_free(s);
    return rc;
}
