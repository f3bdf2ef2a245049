/* SPDX-License-Identifier: Apache-2.0
 * builtin/reading.c: a page of kept output. The read runs on a pool thread with an
 * arena of its own: the call's belongs to the loop thread. A page is cut to the
 * budget by reading it again with fewer bytes, so that its token is exact. */
#include "builtin/reading_int.h"

#include "artifact/cleaner.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "text/regex.h"
#include "text/tokens.h"

struct wbi_allowance wbi_exec_budget(const struct wbi_exec *x)
{
    uint32_t budget = wbi_call_usual_budget(x->call), wish = x->call->inv.max_tokens;
    struct wbi_allowance b = {.tokens = 0};
    int64_t asked = 0;

    if (wbi_json_i64(wbi_json_get(x->input, "max_output_tokens"), &asked) && asked >= 0)
        budget = asked > (int64_t)WBI_BUDGET_MOST ? WBI_BUDGET_MOST : (uint32_t)asked;
    if (wish > 0 && wish < budget)
        budget = wish;
    b.asked = budget;
    b.raised = budget < WBI_BUDGET_LEAST;
    b.tokens = b.raised ? WBI_BUDGET_LEAST : budget;
    return b;
}

void wbi_exec_fail_error(struct wbi_exec *x, enum wbi_kind otherwise, const struct wbi_error *err)
{
    wbi_exec_fail(x, err->kind != WBI_KIND_NONE ? err->kind : otherwise, "%s", err->text);
}

void wbi_exec_end(struct wbi_exec *x, const void *typed, wb_rc rc, enum wbi_kind otherwise,
                  const struct wbi_error *err)
{
    struct wbi_complete complete = {.ok = true, .typed = typed};

    if (rc == WB_ECANCELLED && x->cancel != WBI_CANCEL_NONE)
        wbi_exec_stopped(x, WBI_NONE);
    else if (rc != WB_OK)
        wbi_exec_fail_error(x, otherwise, err);
    else
        wbi_exec_done(x, &complete);
}

struct wbi_reading_job {
    struct wbi_reading *reading;
    const struct wbi_artifact_store *store;
    struct wbi_arena *arena;
    struct wbi_read_query query;
    struct wbi_cleaner cleaner;
    struct wbi_regex *regex;
    struct wbi_line_matcher matcher;
    uint64_t units; /* of content */
    struct wbi_read_page page;
    wb_rc rc;
    struct wbi_error err;
};

/* ---- what is asked ---- */

static const char *const ranges[] = {"lines", "bytes", "offset", "tail", "grep", "json_path"};

bool wbi_reading_asked(const wbi_json *input)
{
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (wbi_json_get(input, ranges[i]) != NULL)
            return true;
    return wbi_json_get(input, "pageToken") != NULL;
}

static wb_rc bad_input(struct wbi_error *err, const char *text)
{
    return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT, "%s", text);
}

static wb_rc one_range(const wbi_json *input, struct wbi_error *err)
{
    int asked = 0;

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        asked += wbi_json_get(input, ranges[i]) != NULL;
    return asked <= 1 ? WB_OK
                      : bad_input(err, "give only one of lines, bytes, offset, tail, grep and "
                                       "json_path");
}

static wb_rc ask_grep(struct wbi_reading_job *job, const wbi_json *input, struct wbi_error *err)
{
    struct wbi_read_query *q = &job->query;
    unsigned flags = wbi_json_true(wbi_json_get(input, "ignore_case")) ? WBI_REGEX_CASELESS : 0;
    uint64_t context = 0;
    struct wbi_error inner = WBI_ERROR_INIT;
    wb_rc rc = wbi_regex_compile(q->pattern, flags, &job->regex, &inner);

    if (rc != WB_OK)
        return wbi_fail_kind(err, rc, WBI_KIND_INVALID_TOOL_INPUT,
                             "grep must be a regular expression: %s", inner.text);
    (void)wbi_json_u64(wbi_json_get(input, "context"), &context); /* absent: 0 */
    q->context = (uint32_t)context;
    job->matcher = (struct wbi_line_matcher){job->regex, wbi_grep_regex};
    q->matcher = &job->matcher;
    return WB_OK;
}

static wb_rc ask(struct wbi_reading_job *job, const wbi_json *input, struct wbi_error *err)
{
    struct wbi_read_query *q = &job->query;
    struct wbi_str lines = wbi_json_get_str(input, "lines");
    struct wbi_str bytes = wbi_json_get_str(input, "bytes");
    wb_rc rc = one_range(input, err);

    q->page_token = wbi_json_get_str(input, "pageToken");
    q->pattern = wbi_json_get_str(input, "grep");
    q->json_path = wbi_json_get_str(input, "json_path");
    if (rc != WB_OK)
        return rc;
    if (lines.p != NULL) {
        rc = wbi_range_lines(lines, &q->first, &q->last, err);
    } else if (bytes.p != NULL) {
        q->kind = WBI_READ_BYTES;
        rc = wbi_range_bytes(bytes, &q->first, &q->last, err);
    } else if (wbi_json_u64(wbi_json_get(input, "offset"), &q->first)) {
        q->kind = WBI_READ_BYTES;
        q->last = WBI_RANGE_END;
    } else if (wbi_json_u64(wbi_json_get(input, "tail"), &q->first)) {
        q->kind = WBI_READ_TAIL;
    } else if (q->pattern.p != NULL) {
        q->kind = WBI_READ_GREP;
        rc = ask_grep(job, input, err);
    } else if (q->json_path.p != NULL) {
        q->kind = WBI_READ_JSON;
    }
    if (rc != WB_OK && err->kind == WBI_KIND_NONE)
        err->kind = WBI_KIND_INVALID_TOOL_INPUT;
    return rc;
}

/* The members that make up the question, for the call that reads on. */
static struct wbi_str question(struct wbi_arena *arena, const wbi_json *input)
{
    static const char *const parts[] = {"lines",       "bytes",     "offset",
                                        "tail",        "grep",      "context",
                                        "ignore_case", "json_path", "max_output_tokens"};
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);

    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (wbi_json_get(input, parts[i]) != NULL)
            wbi_jw_kval(&w, parts[i], wbi_json_get(input, parts[i]));
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(&text) == WB_OK ? wbi_buf_str(&text) : WBI_NONE;
}

/* ---- on the pool thread ---- */

#define BYTES_PER_TOKEN 8u /* more than any text has: the first read is never too short */

static void work(void *arg)
{
    struct wbi_reading_job *job = arg;
    const struct wbi_artifact *a = &job->reading->artifact;
    struct wbi_read_query *q = &job->query;
    size_t fits;

    q->max_bytes = (size_t)(job->units / WBI_TOKEN_UNIT) * BYTES_PER_TOKEN;
    for (;;) {
        job->rc = wbi_artifact_read(job->store, a, q, job->arena, &job->page, &job->err);
        if (job->rc != WB_OK)
            return;
        fits = wbi_tokens_prefix(job->page.text, job->units);
        /* A cut elsewhere may cost more than the text that was measured. */
        if (fits >= job->page.text.n || fits >= q->max_bytes)
            return;
        q->max_bytes = fits > 0 ? fits : 1;
    }
}

/* ---- and back ---- */

static wb_rc take(struct wbi_reading_job *job)
{
    static const enum wbi_page_kind kinds[] = {[WBI_READ_LINES] = WBI_PAGE_LINES,
                                               [WBI_READ_BYTES] = WBI_PAGE_BYTES,
                                               [WBI_READ_TAIL] = WBI_PAGE_TAIL,
                                               [WBI_READ_GREP] = WBI_PAGE_GREP,
                                               [WBI_READ_JSON] = WBI_PAGE_JSON};
    struct wbi_reading *r = job->reading;
    struct wbi_page_view *v = &r->view;
    struct wbi_arena *arena = r->exec->arena;

    v->kind = kinds[job->query.kind];
    v->content = wbi_arena_str(arena, job->page.text);
    v->first = job->page.first_line;
    v->last = job->page.last_line;
    v->total = job->page.total_lines;
    v->resume = job->page.resume;
    v->matches = job->page.matches;
    v->cut_line = job->page.cut_line;
    v->cut_lines = job->page.cut_lines;
    v->writing = r->artifact.writing;
    v->reason = r->artifact.writing || r->artifact.complete ? NULL : r->artifact.reason;
    if (job->page.next_token[0] != '\0') {
        v->next_token = wbi_arena_str(arena, wbi_str_z(job->page.next_token));
        if (v->next_token.p == NULL)
            return wbi_fail_nomem(&job->err);
    }
    return v->content.p != NULL ? WB_OK : wbi_fail_nomem(&job->err);
}

static void free_job(struct wbi_reading_job *job)
{
    wbi_regex_free(job->regex);
    wbi_arena_free(job->arena);
    wbi_free(job);
}

static void done(void *arg)
{
    struct wbi_reading_job *job = arg;
    struct wbi_reading *r = job->reading;
    wb_rc rc = job->rc;
    struct wbi_error err;

    if (rc == WB_OK)
        rc = take(job);
    err = job->err;
    if (err.kind == WBI_KIND_NONE && (rc == WB_EINPUT || rc == WB_ENOTFOUND || rc == WB_ELIMIT))
        err.kind = WBI_KIND_INVALID_TOOL_INPUT;
    free_job(job);
    r->on_done(r->arg, rc, &err);
}

/* Which of two streams is read was not said: a page goes on with that of the page before,
 * whatever the other has printed meanwhile. */
static void choose(struct wbi_reading_job *job)
{
    struct wbi_reading *r = job->reading;
    const struct wbi_secrets *secrets = r->exec->runtime->secrets;

    job->query.cleaner = &job->cleaner;
    job->query.stop = &r->stop;
    if (r->other.name[0] != '\0' && wbi_read_goes_on(wbi_str_z(r->other.name), &job->query))
        r->artifact = r->other;
    job->cleaner =
        r->artifact.writing ? wbi_cleaner_text_so_far(secrets) : wbi_cleaner_text(secrets);
}

wb_rc wbi_reading_start(struct wbi_reading *r, struct wbi_error *err)
{
    struct wbi_exec *x = r->exec;
    struct wbi_reading_job *job = wbi_zalloc(sizeof(*job));
    struct wbi_page_view *v = &r->view;
    uint32_t overhead;
    wb_rc rc;

    if (job == NULL)
        return wbi_fail_nomem(err);
    job->reading = r;
    job->store = x->runtime->artifacts;
    rc = ask(job, x->input, err);
    choose(job);
    v->path = wbi_artifact_path(x->runtime->artifacts, x->arena, r->artifact.name);
    v->query = question(x->arena, x->input);
    v->budget = wbi_exec_budget(x);
    if (rc == WB_OK && (v->path.p == NULL || v->query.p == NULL))
        rc = wbi_fail_nomem(err);
    if (rc == WB_OK && wbi_arena_new(WBI_LIMIT_CALL_ARENA, &job->arena) != WB_OK)
        rc = wbi_fail_nomem(err);
    if (rc == WB_OK) {
        overhead = wbi_page_overhead(v->path, v->query);
        job->units = v->budget.tokens > overhead + 40 ? v->budget.tokens - overhead : 40;
        job->units *= WBI_TOKEN_UNIT;
        rc = wbi_loop_work(x->runtime->loop, work, done, job, err);
    }
    if (rc != WB_OK)
        free_job(job);
    return rc;
}

/* ---- whole streams ---- */

struct streams_job {
    struct wbi_exec *exec;
    struct wbi_artifact from[WBI_SPOOL_STREAMS];
    struct wbi_command_output *out;
    struct wbi_shown *shown[WBI_SPOOL_STREAMS];
    uint64_t bytes[WBI_SPOOL_STREAMS];
    const struct wbi_artifact_store *store;
    const struct wbi_secrets *secrets;
    const atomic_bool *stop;
    wbi_read_done *on_done;
    void *arg;
    wb_rc rc;
    struct wbi_error err;
};

static wb_rc take_bytes(void *state, struct wbi_str raw, struct wbi_buf *out)
{
    struct wbi_shown *shown = state;

    (void)out;
    wbi_shown_feed(shown, raw);
    return WB_OK;
}

static wb_rc begin_with(void *arg, void **ret_state)
{
    *ret_state = arg;
    return WB_OK;
}

static wb_rc end_shown(void *state, struct wbi_buf *out)
{
    (void)out;
    return wbi_shown_end(state);
}

static wb_rc end_shown_so_far(void *state, struct wbi_buf *out)
{
    (void)out;
    return wbi_shown_end_so_far(state);
}

static void keep_shown(void *state)
{
    (void)state;
}

/* The whole file through a reader that shows nothing and feeds the preview. */
static wb_rc feed_stream(struct streams_job *job, int i, struct wbi_arena *arena)
{
    struct wbi_cleaner into = {job->shown[i], begin_with, take_bytes,
                               job->from[i].writing ? end_shown_so_far : end_shown, keep_shown};
    struct wbi_read_query q = {
        .kind = WBI_READ_LINES, .first = WBI_RANGE_END, .cleaner = &into, .stop = job->stop};
    struct wbi_read_page page;

    return wbi_artifact_read(job->store, &job->from[i], &q, arena, &page, &job->err);
}

static void work_streams(void *arg)
{
    struct streams_job *job = arg;
    struct wbi_arena *arena;

    job->rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);
    if (job->rc != WB_OK) {
        (void)wbi_fail_nomem(&job->err);
        return;
    }
    for (int i = 0; job->rc == WB_OK && i < WBI_SPOOL_STREAMS; i++) {
        if (job->from[i].name[0] == '\0')
            continue;
        job->rc = feed_stream(job, i, arena);
        job->bytes[i] = wbi_shown_counts(job->shown[i])->bytes_in;
    }
    wbi_arena_free(arena);
}

static void free_shown(void *shown)
{
    wbi_shown_free(shown);
}

static wb_rc give_stream(struct streams_job *job, int i)
{
    struct wbi_command_stream *s = &job->out->stream[i];
    struct wbi_arena *arena = job->exec->arena;

    if (job->shown[i] == NULL)
        return WB_OK;
    if (wbi_arena_defer(arena, free_shown, job->shown[i]) != WB_OK)
        return wbi_fail_nomem(&job->err);
    s->shown = job->shown[i];
    job->shown[i] = NULL;
    s->bytes = job->bytes[i] + job->from[i].dropped;
    s->lines = wbi_shown_lines(s->shown);
    s->dropped = job->from[i].dropped;
    if (s->dropped > 0 && job->from[i].lines > s->lines) /* printed, as bytes are */
        s->lines = job->from[i].lines;
    s->drop_reason = s->dropped > 0 ? wbi_arena_strz(arena, wbi_str_z(job->from[i].reason)) : NULL;
    if (s->bytes > 0)
        s->artifact = wbi_artifact_path(job->store, arena, job->from[i].name);
    return s->bytes == 0 || s->artifact.p != NULL ? WB_OK : wbi_fail_nomem(&job->err);
}

static void free_streams(struct streams_job *job)
{
    for (int i = 0; i < WBI_SPOOL_STREAMS; i++)
        wbi_shown_free(job->shown[i]);
    wbi_free(job);
}

static void done_streams(void *arg)
{
    struct streams_job *job = arg;
    wbi_read_done *on_done = job->on_done;
    void *on_done_arg = job->arg;
    struct wbi_error err;
    wb_rc rc = job->rc;

    for (int i = 0; rc == WB_OK && i < WBI_SPOOL_STREAMS; i++)
        rc = give_stream(job, i);
    err = job->err;
    free_streams(job);
    on_done(on_done_arg, rc, &err);
}

wb_rc wbi_streams_start(struct wbi_exec *x, const struct wbi_artifact from[WBI_SPOOL_STREAMS],
                        struct wbi_command_output *out, const atomic_bool *stop,
                        wbi_read_done *on_done, void *arg, struct wbi_error *err)
{
    struct streams_job *job = wbi_zalloc(sizeof(*job));
    wb_rc rc = WB_OK;

    if (job == NULL)
        return wbi_fail_nomem(err);
    job->exec = x;
    memcpy(job->from, from, sizeof(job->from));
    job->out = out;
    job->store = x->runtime->artifacts;
    job->secrets = x->runtime->secrets;
    job->stop = stop;
    job->on_done = on_done;
    job->arg = arg;
    for (int i = 0; rc == WB_OK && i < WBI_SPOOL_STREAMS; i++)
        if (from[i].name[0] != '\0')
            rc = wbi_shown_new(wbi_artifact_dir(x->runtime->artifacts), x->runtime->secrets,
                               out->cmd, &job->shown[i]);
    if (rc == WB_OK)
        rc = wbi_loop_work(x->runtime->loop, work_streams, done_streams, job, err);
    else
        rc = wbi_fail_nomem(err);
    if (rc != WB_OK)
        free_streams(job);
    return rc;
}
