/* SPDX-License-Identifier: Apache-2.0
 * family/task/output.c: TaskOutput. The streams are shown as those of a command;
 * a range as a page of an artifact. */
#include "family/task/task_int.h"

#define STATE_TOKENS 60u /* the lines about the task in the header */

/* I3: no reference to what is shown whole, as it was printed. */
static void drop_needless_artifacts(struct wbi_command_output *o)
{
    bool whole[2];

    wbi_command_shows_whole(o, whole);
    for (int i = 0; i < 2; i++)
        if (whole[i])
            o->stream[i].artifact = WBI_NONE;
}

static wb_rc project(void *arg, const struct wbi_complete *full, const struct wbi_projection *p,
                     struct wbi_buf *ret_result, struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_task_output *t = full->typed;
    struct wbi_command_output output = t->output;
    struct wbi_jw w = wbi_jw_to(ret_result);
    wb_rc rc = WB_OK;

    (void)arg;
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "retrieval_status", t->retrieval);
    if (t->waited_ms > 0)
        wbi_jw_kint(&w, "waited_ms", t->waited_ms);
    wbi_jw_key(&w, "task");
    wbi_jw_obj(&w);
    wbi_task_write_state(&w, &t->task);
    wbi_jw_obj_end(&w);
    if (t->page != NULL) {
        if (t->stream != NULL)
            wbi_jw_kstrz(&w, "stream", t->stream);
        if (t->other_bytes > 0)
            wbi_jw_kint(&w, "other_stream_bytes", (int64_t)t->other_bytes);
        wbi_page_write(&w, t->page);
    } else {
        output.budget_tokens -= output.budget_tokens > 2 * STATE_TOKENS ? STATE_TOKENS : 0;
        if (wbi_str_eqz(WBI_LIT("success"), t->retrieval)) /* more may come of a task that runs */
            drop_needless_artifacts(&output);
        rc = wbi_command_write_partial(&output, p->arena, &w, err);
        wbi_receipt_write_budget(&w, &output.budget);
    }
    wbi_jw_obj_end(&w);
    *ret_summary = wbi_task_summary(&t->task, p->arena);
    if (rc == WB_OK && ret_summary->p == NULL)
        return wbi_fail_nomem(err);
    return rc == WB_OK ? wbi_buf_rc(ret_result) : rc;
}

static const char *first_line(struct wbi_str retrieval)
{
    if (wbi_str_eqz(retrieval, "success"))
        return "Task output retrieved\n";
    if (wbi_str_eqz(retrieval, "timeout"))
        return "Task output wait timed out; the task still runs\n";
    return "Task output is not ready; the task still runs\n";
}

static bool of_stderr(const wbi_json *result)
{
    return wbi_str_eqz(wbi_json_get_str(result, "stream"), "stderr");
}

/* Which stream was read where the call named none, if that is not plain. */
static void chosen_stream(struct wbi_buf *out, const wbi_json *result)
{
    struct wbi_str stream = wbi_json_get_str(result, "stream");
    const char *other = of_stderr(result) ? "stdout" : "stderr";
    int64_t bytes = 0;

    (void)wbi_json_i64(wbi_json_get(result, "other_stream_bytes"), &bytes); /* absent: 0 */
    if (stream.p == NULL || (bytes == 0 && !of_stderr(result)))
        return;
    wbi_buf_addf(out, "Stream: %.*s", WBI_FMT(stream));
    if (bytes > 0)
        wbi_buf_addf(out, "; %s has %lld byte%s, read with stream \"%s\"", other, (long long)bytes,
                     bytes == 1 ? "" : "s", other);
    wbi_buf_addc(out, '\n');
}

/* Which part is below, and where to go on with a task that still prints: nothing but the
 * receipt tells the model. */
static void shown_part(struct wbi_buf *out, const wbi_json *result)
{
    bool writing = wbi_json_true(wbi_json_get(result, "writing"));
    bool more = wbi_json_get_str(result, "nextToken").p != NULL;
    int64_t first, last, total, resume;

    if (wbi_json_get_str(result, "content").n == 0)
        return;
    if (wbi_json_i64(wbi_json_get(result, "first_byte"), &first) &&
        wbi_json_i64(wbi_json_get(result, "end_byte"), &last)) {
        wbi_buf_addf(out, "Bytes: %lld-%lld", (long long)first, (long long)last);
        if (writing && !more) {
            bool open = wbi_json_i64(wbi_json_get(result, "resume_byte"), &resume);
            wbi_buf_addf(out, ", all so far; what follows is read with %soffset %lld%s",
                         of_stderr(result) ? "stream \"stderr\" and " : "",
                         (long long)(open ? resume : last),
                         open ? ", from the start of the last line: it is not finished" : "");
        }
        wbi_buf_addc(out, '\n');
    } else if (wbi_json_i64(wbi_json_get(result, "first_line"), &first) &&
               wbi_json_i64(wbi_json_get(result, "last_line"), &last)) {
        wbi_buf_addf(out, "Lines: %lld-%lld", (long long)first, (long long)last);
        if (wbi_json_i64(wbi_json_get(result, "total_lines"), &total))
            wbi_buf_addf(out, " of %lld%s", (long long)total, writing ? " so far" : "");
        wbi_buf_addc(out, '\n');
    }
}

/* A range that holds nothing says how much there is. */
static void empty_page(struct wbi_buf *out, const wbi_json *result)
{
    bool bytes = wbi_str_eqz(wbi_json_get_str(result, "view"), "bytes");
    int64_t total = 0;

    if (wbi_json_get_str(result, "content").n > 0)
        return;
    (void)wbi_json_i64(wbi_json_get(result, bytes ? "end_byte" : "total_lines"), &total);
    wbi_buf_addf(out, "Nothing there: it has %lld %s%s\n", (long long)total,
                 bytes ? "byte" : "line", total == 1 ? "" : "s");
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *out, struct wbi_error *err)
{
    int64_t waited;

    (void)arg;
    (void)arena;
    (void)err;
    wbi_buf_addz(out, first_line(wbi_json_get_str(c->result, "retrieval_status")));
    if (wbi_json_i64(wbi_json_get(c->result, "waited_ms"), &waited))
        wbi_buf_addf(out, "Waited %lld ms, the most one call may; call again to wait on\n",
                     (long long)waited);
    wbi_task_render_state(out, wbi_json_get(c->result, "task"));
    if (wbi_json_get(c->result, "content") != NULL) {
        wbi_page_render_header(out, c->tool_name, c->result);
        chosen_stream(out, c->result);
        shown_part(out, c->result);
        empty_page(out, c->result);
        wbi_page_render_content(out, c->result);
    } else {
        wbi_receipt_budget(out, c->result);
        wbi_command_render_streams(c->result, out);
    }
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_task_output_family = {
    "task_output", NULL, project, render, {"/retrieval_status", "/task/status"}};
