/* SPDX-License-Identifier: Apache-2.0
 * family/command/render.c: the receipts of commands (C6, S0 "Prefer Textual
 * Receipts"). Outcome first, handles and artifacts next, then length-marked
 * output. */
#include "family/command/command_int.h"

#include <string.h>

#include "family/compact.h"

static void signal_line(const wbi_json *result, struct wbi_buf *out)
{
    const char *name;
    int64_t number = 0;

    if (!wbi_json_i64(wbi_json_get(result, "signal"), &number))
        return;
    name = sigabbrev_np((int)number);
    wbi_buf_addf(out, "Process ended by signal %lld%s%s%s\n", (long long)number,
                 name ? " (SIG" : "", name ? name : "", name ? ")" : "");
}

static void first_line(const wbi_json *result, struct wbi_buf *out)
{
    int64_t status = 0, timeout = 0;
    struct wbi_str limit = wbi_json_get_str(result, "limit");

    if (wbi_json_true(wbi_json_get(result, "timed_out"))) {
        (void)wbi_json_i64(wbi_json_get(result, "timeout_ms"), &timeout);
        wbi_buf_addf(out, "Process timed out after %lld ms and was ended\n", (long long)timeout);
    } else if (limit.p != NULL) {
        wbi_buf_addf(out, "Process was ended by the %.*s limit\n", WBI_FMT(limit));
    }
    if (wbi_json_i64(wbi_json_get(result, "exit_status"), &status))
        wbi_buf_addf(out, "Process exited with code %lld\n", (long long)status);
    else
        signal_line(result, out);
}

/* A server started with & is gone when its command has ended; nobody would know why. */
static void killed_line(const wbi_json *result, struct wbi_buf *out)
{
    int64_t n = 0;

    if (wbi_json_i64(wbi_json_get(result, "killed_processes"), &n) && n > 0)
        wbi_buf_addf(out,
                     "Killed with it: %lld process%s left in the background (what has to go on is "
                     "run in the foreground with yield_time_ms 0, as a task)\n",
                     (long long)n, n == 1 ? "" : "es");
}

struct stream_names {
    const char *prefix;  /* of the members */
    const char *section; /* in the receipt */
};

static void streams(const wbi_json *result, const struct stream_names *names, size_t n,
                    struct wbi_buf *out)
{
    for (size_t i = 0; i < n; i++)
        wbi_receipt_stream_header(out, result, names[i].prefix, names[i].section);
    for (size_t i = 0; i < n; i++)
        wbi_receipt_stream(out, result, names[i].prefix, names[i].section);
}

void wbi_command_render_streams(const wbi_json *result, struct wbi_buf *out)
{
    static const struct stream_names names[] = {
        {"stdout", "stdout"}, {"stderr", "stderr"}, {"combined_output", "output"}};

    streams(result, names, 3, out);
}

void wbi_command_render_completed(const wbi_json *result, struct wbi_buf *out)
{
    first_line(result, out);
    killed_line(result, out);
    wbi_receipt_budget(out, result);
    wbi_command_render_streams(result, out);
}

static void render_promoted(const wbi_json *result, struct wbi_buf *out)
{
    static const struct stream_names names[] = {{"initial_output", "Initial output"},
                                                {"initial_stderr", "Initial stderr"}};

    wbi_buf_addz(out, "Command promoted to background task\n");
    wbi_receipt_line(out, "Task", wbi_json_get_str(wbi_json_get(result, "task_handle"), "task_id"));
    wbi_receipt_budget(out, result);
    streams(result, names, 2, out);
}

static void render_running(const wbi_json *result, struct wbi_buf *out)
{
    wbi_buf_addz(out, "Command is already running\n");
    wbi_receipt_line(out, "Task", wbi_json_get_str(wbi_json_get(result, "task_handle"), "task_id"));
    wbi_receipt_line(out, "Status", wbi_json_get_str(result, "status"));
    wbi_receipt_line(out, "Command", wbi_json_get_str(result, "command"));
    wbi_buf_addz(out, "Next: read it with TaskOutput, or set duplicate_policy to \"start_new\" to "
                      "start another one\n");
}

/* A result that was made smaller, or elsewhere, may not say how it ended. */
static bool tells_the_end(const wbi_json *result)
{
    int64_t number;

    return wbi_json_i64(wbi_json_get(result, "exit_status"), &number) ||
           wbi_json_i64(wbi_json_get(result, "signal"), &number) ||
           wbi_json_true(wbi_json_get(result, "timed_out")) ||
           wbi_json_get_str(result, "limit").p != NULL;
}

/* Previews alone are output to be shown as such (S0 has such results). */
static bool has_preview(const wbi_json *result)
{
    return wbi_json_get_str(result, "stdout_preview").p != NULL ||
           wbi_json_get_str(result, "stderr_preview").p != NULL ||
           wbi_json_get_str(result, "combined_output_preview").p != NULL;
}

static wb_rc render(void *arg, const struct wbi_canonical *c, struct wbi_arena *arena,
                    struct wbi_buf *out, struct wbi_error *err)
{
    struct wbi_str disposition = wbi_json_get_str(c->result, "disposition");

    (void)arg;
    (void)err;
    if (disposition.p == NULL && !has_preview(c->result))
        return wbi_compact_show(arena, c, WBI_RUNG_SUMMARY, out);
    if (wbi_str_eqz(disposition, "promoted_to_task"))
        render_promoted(c->result, out);
    else if (wbi_str_eqz(disposition, "already_running"))
        render_running(c->result, out);
    else {
        if (!tells_the_end(c->result))
            wbi_buf_addf(out, "%.*s\n", WBI_FMT(c->summary));
        wbi_command_render_completed(c->result, out);
    }
    return wbi_buf_rc(out);
}

const struct wbi_family wbi_command_family = {"command", NULL, wbi_command_project, render, {NULL}};
