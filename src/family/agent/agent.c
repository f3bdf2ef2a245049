/* SPDX-License-Identifier: Apache-2.0
 * family/agent/agent.c */
#include "family/agent/agent.h"

#include "base/arena.h"
#include "base/checked.h"
#include "family/canonical.h"
#include "family/receipt.h"

#define HEADER_TOKENS 240u     /* two artifact paths, the outcome, the notice at the cut */
#define LOG_HEADER_TOKENS 100u /* what a log that is shown adds to it */
#define LOG_TOKENS 500u        /* of the log of an agent that failed, at most */
#define LEAST_TOKENS 100u

static bool failed(const struct wbi_command_output *o)
{
    return o->timed_out || o->signal != 0 || o->exit_status != 0 || o->limit != NULL;
}

static void put_artifacts(struct wbi_jw *w, const struct wbi_command_output *o)
{
    static const char *const roles[2] = {"report_artifact", "log_artifact"};
    int n = 0;

    wbi_jw_key(w, "artifacts");
    wbi_jw_arr(w);
    for (int i = 0; i < 2; i++) {
        if (o->stream[i].artifact.p == NULL)
            continue;
        wbi_jw_obj(w);
        wbi_jw_kstr(w, "path", o->stream[i].artifact);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
    for (int i = 0; i < 2; i++)
        if (o->stream[i].artifact.p != NULL)
            wbi_jw_kint(w, roles[i], n++);
}

static void put_stream(struct wbi_jw *w, const char *const names[4],
                       const struct wbi_command_stream *s, const struct wbi_preview *p)
{
    wbi_jw_kstr(w, names[0], p->text);
    wbi_jw_kbool(w, names[1], p->truncated || s->dropped > 0);
    wbi_jw_kint(w, names[2], (int64_t)s->bytes);
    wbi_jw_kint(w, names[3], (int64_t)s->lines);
}

static wb_rc project(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary, struct wbi_error *err)
{
    static const char *const report_names[4] = {"report_preview", "report_truncated",
                                                "report_bytes", "report_lines"};
    static const char *const log_names[4] = {"log_preview", "log_truncated", "log_bytes",
                                             "log_lines"};
    const struct wbi_agent_output *o = full->typed;
    struct wbi_preview report, log = {.text = WBI_NONE};
    struct wbi_jw w = wbi_jw_to(ret_result);
    bool with_log = failed(&o->run) && o->run.stream[1].bytes > 0;
    uint64_t fixed = HEADER_TOKENS + (with_log ? LOG_HEADER_TOKENS : 0);
    uint64_t room =
        p->budget_tokens > fixed + LEAST_TOKENS ? p->budget_tokens - fixed : LEAST_TOKENS;
    uint64_t log_room = !with_log ? 0 : WBI_MIN(room / 2, LOG_TOKENS);
    wb_rc rc =
        wbi_command_preview(&o->run.stream[0], o->run.cmd, room - log_room, p->arena, &report, err);

    (void)arg;
    if (rc == WB_OK && with_log)
        rc = wbi_command_preview(&o->run.stream[1], o->run.cmd, log_room, p->arena, &log, err);
    if (rc != WB_OK)
        return rc;
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "agent", o->agent);
    wbi_command_write_end(&w, &o->run);
    put_stream(&w, report_names, &o->run.stream[0], &report);
    if (with_log)
        put_stream(&w, log_names, &o->run.stream[1], &log);
    put_artifacts(&w, &o->run);
    wbi_jw_obj_end(&w);
    *ret_summary = wbi_arena_fmt(p->arena, "agent %.*s %s", WBI_FMT(o->agent),
                                 o->run.timed_out  ? "timed out"
                                 : failed(&o->run) ? "failed"
                                                   : "completed");
    return ret_summary->p ? wbi_buf_rc(ret_result) : wbi_fail_nomem(err);
}

static void first_line(const wbi_json *r, struct wbi_buf *out)
{
    struct wbi_str name = wbi_json_get_str(r, "agent");
    int64_t n = 0;

    wbi_buf_addf(out, "Agent %.*s ", WBI_FMT(name));
    if (wbi_json_true(wbi_json_get(r, "timed_out"))) {
        (void)wbi_json_i64(wbi_json_get(r, "timeout_ms"), &n); /* absent: 0 */
        wbi_buf_addf(out, "timed out after %lld ms and was ended\n", (long long)n);
    } else if (wbi_json_get_str(r, "limit").p != NULL) {
        wbi_buf_addf(out, "was ended by the %.*s limit\n", WBI_FMT(wbi_json_get_str(r, "limit")));
    } else if (wbi_json_i64(wbi_json_get(r, "signal"), &n)) {
        wbi_buf_addf(out, "was ended by signal %lld\n", (long long)n);
    } else {
        (void)wbi_json_i64(wbi_json_get(r, "exit_status"), &n);
        if (n == 0)
            wbi_buf_addz(out, "completed\n");
        else
            wbi_buf_addf(out, "failed with exit status %lld\n", (long long)n);
    }
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *out, struct wbi_error *err)
{
    const wbi_json *r = c->result;

    (void)arg;
    (void)arena;
    (void)err;
    first_line(r, out);
    wbi_receipt_stream_header(out, r, "report", "report");
    if (wbi_json_get(r, "log_bytes") != NULL) {
        wbi_receipt_stream_header(out, r, "log", "log");
    } else if (wbi_json_get(r, "log_artifact") != NULL) {
        int64_t at = 0;
        (void)wbi_json_i64(wbi_json_get(r, "log_artifact"), &at); /* checked above */
        wbi_receipt_line(
            out, "log artifact",
            wbi_json_get_str(wbi_json_at(wbi_json_get(r, "artifacts"), (size_t)at), "path"));
    }
    wbi_receipt_stream(out, r, "report", "report");
    wbi_receipt_stream(out, r, "log", "log");
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_agent_family = {
    "agent", NULL, project, render, {"/agent", "/exit_status"}};
