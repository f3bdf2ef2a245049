/* SPDX-License-Identifier: Apache-2.0
 * family/command/project.c: complete output -> bounded result. The budget covers
 * the whole receipt; header and artifact lines are reserved first, the streams
 * share the rest by need. */
#include "family/command/command_int.h"

#include "base/checked.h"
#include "base/utf8.h"
#include "text/tokens.h"

#define HEADER_TOKENS WBI_COMMAND_HEADER_TOKENS
#define PROMOTED_TOKENS 40 /* the lines about the task */
#define ARTIFACT_TOKENS 30 /* sizes, the notice in the header, the head of the section */
#define SECTION_TOKENS 8
#define REDRAWS_TOKENS 8 /* how often lines were drawn over */
#define ENCODING_TOKENS 8
#define LOST_TOKENS 40   /* the line that not all of it is on the disk */
#define KILLED_TOKENS 40 /* the line about processes that were killed */
#define COMMAND_SHOWN 400u

#define PATH_TOKENS 60 /* of a path that is not known yet */

static uint64_t redraws(const struct wbi_command_stream *s)
{
    return s->shown != NULL ? wbi_shown_counts(s->shown)->redraws : 0;
}

static bool decoded(const struct wbi_command_stream *s)
{
    return s->shown != NULL && wbi_shown_counts(s->shown)->decoded > 0;
}

static uint64_t stream_cost(const struct wbi_command_stream *s, bool artifact)
{
    uint64_t sizes = ARTIFACT_TOKENS + (redraws(s) > 0 ? REDRAWS_TOKENS : 0) +
                     (decoded(s) ? ENCODING_TOKENS : 0);

    if (s->artifact.p != NULL && !s->needless)
        return wbi_tokens(s->artifact) + sizes;
    return artifact ? PATH_TOKENS + sizes : SECTION_TOKENS;
}

uint64_t wbi_command_frame(const struct wbi_command_stream *s)
{
    return s->bytes > 0 ? stream_cost(s, false) : 0;
}

uint64_t wbi_command_need(const struct wbi_command_stream *s)
{
    uint64_t tokens = s->shown != NULL && s->bytes > 0 ? wbi_shown_tokens(s->shown) : 0;

    return tokens > 0 ? tokens + tokens / 8 + 12 : 0; /* estimates: a little slack */
}

#define CUT_STREAM_MIN 80 /* below this a cut stream shows little but its notice */
#define NOTICE_TOKENS 40  /* of a cut, but for the call that reads it */
#define PATH_WORTH 10     /* times the call with a whole path that a preview has at least */
#define CUT_BOTH_MIN 110  /* below this two cut streams show nothing but their notices */
#define TELLING_WELL 600  /* up to this the stream that tells of a failure has the more room */
#define NEITHER (-1)

/* A stream is shown whole when an estimate and one in so many tokens more fit. */
#define WHOLE_SLACK 20

static uint64_t rest(uint64_t budget, uint64_t fixed)
{
    return budget > fixed + 40 ? budget - fixed : 40;
}

/* The stream with the line that tells most of a failure, if there is such a line. */
static int telling_stream(const struct wbi_command_output *o)
{
    double out = wbi_shown_worst(o->stream[0].shown), err = wbi_shown_worst(o->stream[1].shown);

    return out == err ? NEITHER : err > out;
}

static void lean_to(int telling, uint64_t left, uint64_t share[2])
{
    share[telling] = WBI_MAX(share[telling], WBI_MIN(left - left / 4, (uint64_t)TELLING_WELL));
    share[!telling] = left - share[telling];
}

/* What each stream's preview may cost, 0: it has none; artifacts: as if both had one. The
 * smaller stream whole and the larger one cut, where that leaves it a third: a few lines of
 * errors beside a long output are what matters, but many that are all alike are not. Of two
 * cut ones the one that tells of a failure has three quarters while there is little. Where that
 * leaves the other hardly more than the word that it is cut, one is shown alone: the telling
 * one, else where it is very little, by the exit. */
static void share_budget(const struct wbi_command_output *o, bool artifacts, uint64_t ret[2])
{
    uint64_t need[2] = {0, 0}, cost[2] = {0, 0}, fixed = HEADER_TOKENS, left;
    int big, small, telling = NEITHER;

    if (o->disposition == WBI_DISPOSITION_PROMOTED)
        fixed += PROMOTED_TOKENS;
    if (o->disposition == WBI_DISPOSITION_LOST)
        fixed += LOST_TOKENS;
    if (o->killed > 0)
        fixed += KILLED_TOKENS;
    if (o->budget.raised)
        fixed += HEADER_TOKENS;
    for (int i = 0; i < 2; i++) {
        if (o->stream[i].shown == NULL || o->stream[i].bytes == 0)
            continue;
        cost[i] = stream_cost(&o->stream[i], artifacts);
        if (o->unasked[i])
            continue;
        need[i] = wbi_command_need(&o->stream[i]);
    }
    big = need[1] > need[0];
    small = !big;
    left = rest(o->budget_tokens,
                fixed + cost[big] + (cost[small] ? stream_cost(&o->stream[small], false) : 0));
    if (need[small] + WBI_MAX(CUT_STREAM_MIN, left / 3) <= left || need[0] + need[1] <= left) {
        ret[small] = need[small];
        ret[big] = left - need[small];
        return;
    }
    left = rest(o->budget_tokens, fixed + cost[0] + cost[1]);
    if (need[small] > left / 2)
        telling = telling_stream(o);
    wbi_preview_split(left, need[0], need[1], &ret[0], &ret[1]);
    if (telling != NEITHER)
        lean_to(telling, left, ret);
    if (telling != NEITHER ? ret[!telling] >= CUT_STREAM_MIN
                           : left >= CUT_BOTH_MIN || need[small] <= left / 2)
        return;
    if (telling == NEITHER)
        telling = o->exit_status != 0 || o->signal != 0;
    ret[telling] = left;
    ret[!telling] = 0;
}

static uint64_t whole_tokens(const struct wbi_command_stream *s)
{
    uint64_t tokens = s->shown != NULL ? wbi_shown_tokens(s->shown) : 0;

    return tokens > 0 ? tokens + tokens / WHOLE_SLACK + 1 : 0;
}

static bool needs_no_copy(const struct wbi_command_output *o, int i, uint64_t share)
{
    const struct wbi_command_stream *s = &o->stream[i];

    return s->shown == NULL || (!o->unasked[i] && whole_tokens(s) <= share && s->dropped == 0 &&
                                !wbi_shown_changed(s->shown));
}

/* Without the lines about their artifacts all of both fits. */
static bool fits_without_artifacts(const struct wbi_command_output *o)
{
    struct wbi_command_output bare = *o;
    uint64_t share[2] = {0, 0};

    bare.stream[0].artifact = bare.stream[1].artifact = WBI_NONE;
    share_budget(&bare, /* artifacts= */ false, share);
    return needs_no_copy(o, 0, share[0]) && needs_no_copy(o, 1, share[1]);
}

void wbi_command_shows_whole(const struct wbi_command_output *o, bool ret[2])
{
    uint64_t share[2] = {0, 0}, cost = HEADER_TOKENS;

    ret[0] = ret[1] = fits_without_artifacts(o);
    if (!ret[0])
        share_budget(o, /* artifacts= */ true, share);
    for (int i = 0; i < 2; i++) {
        ret[i] = ret[i] || needs_no_copy(o, i, share[i]);
        cost += ret[i] ? whole_tokens(&o->stream[i]) + wbi_command_frame(&o->stream[i]) : 0;
    }
    if (cost > o->budget_tokens) /* only in a batch: little as it is, it may not be shown */
        ret[0] = ret[1] = false;
}

/* How to read what was left out. Where its path, which stands in the header, would take a tenth
 * of what may be shown, by the artifact's name, which is as good; where that is too much as well,
 * the path in the header has to do, and at last the word. */
static struct wbi_str read_call(const struct wbi_command_stream *s, uint64_t budget,
                                struct wbi_arena *arena)
{
    struct wbi_str call = wbi_receipt_read_call(arena, s->artifact), name = s->artifact;

    if (call.p == NULL || budget >= PATH_WORTH * wbi_tokens(call))
        return call;
    for (size_t i = 0; i < s->artifact.n; i++)
        if (s->artifact.p[i] == '/')
            name = wbi_str_from(s->artifact, i + 1);
    call = wbi_receipt_read_call(arena, name);
    if (call.p == NULL || budget >= NOTICE_TOKENS + wbi_tokens(call) * 5 / 4) /* its id is random */
        return call;
    call = WBI_LIT("ReadArtifact {\"path\":<its artifact>,\"lines\":\"A-B\"}");
    return budget >= NOTICE_TOKENS + wbi_tokens(call) ? call : WBI_LIT("ReadArtifact");
}

wb_rc wbi_command_preview(const struct wbi_command_stream *s, struct wbi_str cmd, uint64_t budget,
                          struct wbi_arena *arena, struct wbi_preview *ret, struct wbi_error *err)
{
    struct wbi_preview_policy policy = {.budget = budget, .command = cmd};
    bool ended;

    *ret = (struct wbi_preview){.text = WBI_NONE};
    if (s->shown == NULL || s->bytes == 0)
        return WB_OK;
    ended = wbi_shown_end(s->shown) == WB_OK;
    if (ended && wbi_shown_lines(s->shown) == 0) /* nothing but colours and the like */
        return WB_OK;
    if (budget == 0 || !ended) { /* no room here, or for its copy */
        ret->truncated = true;
        return WB_OK;
    }
    if (s->artifact.p != NULL) {
        policy.read_call = read_call(s, budget, arena);
        if (policy.read_call.p == NULL)
            return wbi_fail_nomem(err);
    }
    return wbi_shown_preview(s->shown, arena, &policy, ret, err);
}

/* As previews and reads number them; what was dropped, or has no such copy, is only known as
 * it was printed. */
static uint64_t lines_of(const struct wbi_command_stream *s)
{
    bool all = s->shown != NULL && s->bytes > 0 && s->dropped == 0;

    return all && wbi_shown_end(s->shown) == WB_OK ? wbi_shown_lines(s->shown) : s->lines;
}

static void write_counts(struct wbi_jw *w, const char *name, const struct wbi_command_stream *s)
{
    char key[40];

    (void)snprintf(key, sizeof(key), "%s_bytes", name);
    wbi_jw_kint(w, key, (int64_t)s->bytes);
    (void)snprintf(key, sizeof(key), "%s_lines", name);
    wbi_jw_kint(w, key, (int64_t)lines_of(s));
    if (decoded(s)) {
        (void)snprintf(key, sizeof(key), "%s_encoding", name);
        wbi_jw_kstrz(w, key, "utf-16");
    }
    if (redraws(s) > 0) {
        (void)snprintf(key, sizeof(key), "%s_redraws", name);
        wbi_jw_kint(w, key, (int64_t)redraws(s));
    }
    if (s->dropped > 0) {
        (void)snprintf(key, sizeof(key), "%s_dropped_bytes", name);
        wbi_jw_kint(w, key, (int64_t)s->dropped);
        (void)snprintf(key, sizeof(key), "%s_dropped_reason", name);
        wbi_jw_kstrz(w, key, s->drop_reason ? s->drop_reason : "unknown");
    }
}

static void write_artifacts(struct wbi_jw *w, const struct wbi_command_output *o,
                            const char *const names[2], const bool cut[2])
{
    char key[40];
    int at[2] = {-1, -1}, n = 0;

    wbi_jw_key(w, "artifacts");
    wbi_jw_arr(w);
    for (int i = 0; i < 2; i++) {
        if (o->stream[i].artifact.p == NULL || (o->stream[i].needless && !cut[i]))
            continue;
        at[i] = n++;
        wbi_jw_obj(w);
        wbi_jw_kstr(w, "path", o->stream[i].artifact);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
    for (int i = 0; i < 2; i++) {
        if (at[i] < 0)
            continue;
        (void)snprintf(key, sizeof(key), "%s_artifact", names[i]);
        wbi_jw_kint(w, key, at[i]);
    }
}

static bool is_cut(const struct wbi_preview *p, const struct wbi_command_stream *s)
{
    return p->truncated || s->dropped > 0;
}

/* Previews, flags, counts and artifacts of both streams as members; names[1] is
 * not used for combined output. */
static wb_rc write_streams(const struct wbi_command_output *o, const char *const names[2],
                           struct wbi_arena *arena, struct wbi_jw *w, struct wbi_error *err)
{
    struct wbi_preview preview[2];
    bool cut[2] = {false, false};
    uint64_t budget[2] = {0, 0};
    char key[40];
    int streams = o->combined ? 1 : 2;

    if (o->telling == WBI_TELL_ALL)
        share_budget(o, /* artifacts= */ false, budget);
    for (int i = 0; i < streams; i++) {
        wb_rc rc = wbi_command_preview(&o->stream[i], o->cmd, o->unasked[i] ? 0 : budget[i], arena,
                                       &preview[i], err);
        if (rc != WB_OK)
            return rc;
        (void)snprintf(key, sizeof(key), "%s_preview", names[i]);
        wbi_jw_kstr(w, key, preview[i].text); /* null when nothing was printed */
    }
    for (int i = 0; i < streams; i++) {
        (void)snprintf(key, sizeof(key), "%s_truncated", names[i]);
        cut[i] = is_cut(&preview[i], &o->stream[i]);
        wbi_jw_kbool(w, key, cut[i]);
    }
    if (!o->combined)
        wbi_jw_kbool(w, "truncated", cut[0] || cut[1]);
    for (int i = 0; i < streams; i++)
        write_counts(w, names[i], &o->stream[i]);
    write_artifacts(w, o, names, cut);
    return WB_OK;
}

static const char *const stream_names[2] = {"stdout", "stderr"};
static const char *const combined_names[2] = {"combined_output", ""};

static const char *const *names_of(const struct wbi_command_output *o)
{
    return o->combined ? combined_names : stream_names;
}

wb_rc wbi_command_write_partial(const struct wbi_command_output *o, struct wbi_arena *arena,
                                struct wbi_jw *w, struct wbi_error *err)
{
    return write_streams(o, names_of(o), arena, w, err);
}

void wbi_command_write_end(struct wbi_jw *w, const struct wbi_command_output *o)
{
    if (o->status_lost) {
        wbi_jw_knull(w, "exit_status");
    } else if (o->signal != 0) {
        wbi_jw_knull(w, "exit_status");
        wbi_jw_kint(w, "signal", o->signal);
    } else {
        wbi_jw_kint(w, "exit_status", o->exit_status);
    }
    if (o->timed_out) {
        wbi_jw_kbool(w, "timed_out", true);
        wbi_jw_kint(w, "timeout_ms", o->timeout_ms);
    }
    if (o->limit != NULL)
        wbi_jw_kstrz(w, "limit", o->limit);
}

wb_rc wbi_command_write_completed(const struct wbi_command_output *o, struct wbi_arena *arena,
                                  struct wbi_jw *w, struct wbi_error *err)
{
    wbi_command_write_end(w, o);
    if (o->killed > 0)
        wbi_jw_kint(w, "killed_processes", o->killed);
    return write_streams(o, names_of(o), arena, w, err);
}

static void write_handle(struct wbi_jw *w, const struct wbi_command_output *o)
{
    wbi_jw_key(w, "task_handle");
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "task_id", o->task_id);
    wbi_jw_kstrz(w, "kind", "command_task");
    wbi_jw_obj_end(w);
}

/* Both streams so far, in one preview: the first that printed anything leads. */
static wb_rc write_promoted(const struct wbi_command_output *o, struct wbi_arena *arena,
                            struct wbi_jw *w, struct wbi_error *err)
{
    static const char *const names[2] = {"initial_output", "initial_stderr"};
    struct wbi_command_output only = *o;

    write_handle(w, o);
    only.combined = o->stream[1].bytes == 0 || o->combined;
    return write_streams(&only, names, arena, w, err);
}

struct wbi_str wbi_command_shown(struct wbi_str cmd)
{
    return wbi_str_head(cmd, wbi_utf8_cut_words(cmd, COMMAND_SHOWN));
}

static struct wbi_str summary_of(const struct wbi_command_output *o, struct wbi_arena *arena)
{
    switch (o->disposition) {
    case WBI_DISPOSITION_PROMOTED:
        return WBI_LIT("command promoted to managed task");
    case WBI_DISPOSITION_ALREADY_RUNNING:
        return wbi_arena_fmt(arena, "command already running as %.*s", WBI_FMT(o->task_id));
    case WBI_DISPOSITION_FAILED:
        return wbi_arena_fmt(arena, "command could not be started: %s", o->error);
    case WBI_DISPOSITION_STOPPED:
        return WBI_LIT("command stopped with the call");
    case WBI_DISPOSITION_SKIPPED:
        return WBI_LIT("command skipped after an earlier failure");
    case WBI_DISPOSITION_LOST:
    case WBI_DISPOSITION_COMPLETED:
        break;
    }
    if (o->timed_out)
        return wbi_arena_fmt(arena, "command timed out after %lld ms", (long long)o->timeout_ms);
    if (o->limit != NULL)
        return wbi_arena_fmt(arena, "command was ended by the %s limit", o->limit);
    if (o->signal != 0)
        return wbi_arena_fmt(arena, "command ended by signal %d", o->signal);
    return wbi_arena_fmt(arena, "command exited with status %d", o->exit_status);
}

const char *wbi_disposition_name(enum wbi_disposition d)
{
    switch (d) {
    case WBI_DISPOSITION_COMPLETED:
        return "completed";
    case WBI_DISPOSITION_PROMOTED:
        return "promoted_to_task";
    case WBI_DISPOSITION_ALREADY_RUNNING:
        return "already_running";
    case WBI_DISPOSITION_FAILED:
    case WBI_DISPOSITION_LOST:
        return "failed";
    case WBI_DISPOSITION_STOPPED:
        return "stopped";
    case WBI_DISPOSITION_SKIPPED:
        break;
    }
    return "skipped";
}

wb_rc wbi_command_project(void *arg, const struct wbi_complete *full,
                          const struct wbi_projection *p, struct wbi_buf *ret_result,
                          struct wbi_str *ret_summary, struct wbi_error *err)
{
    const struct wbi_command_output *o = full->typed;
    struct wbi_jw w = wbi_jw_to(ret_result);
    wb_rc rc = WB_OK;

    (void)arg;
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "disposition", wbi_disposition_name(o->disposition));
    if (o->disposition == WBI_DISPOSITION_COMPLETED) {
        rc = wbi_command_write_completed(o, p->arena, &w, err);
    } else if (o->disposition == WBI_DISPOSITION_PROMOTED) {
        rc = write_promoted(o, p->arena, &w, err);
    } else {
        write_handle(&w, o);
        wbi_jw_kstr(&w, "status", o->task_status);
        wbi_jw_kstr(&w, "command", wbi_command_shown(o->cmd));
    }
    wbi_receipt_write_budget(&w, &o->budget);
    wbi_jw_obj_end(&w);
    *ret_summary = summary_of(o, p->arena);
    if (rc == WB_OK && ret_summary->p == NULL)
        return wbi_fail_nomem(err);
    return rc == WB_OK ? wbi_buf_rc(ret_result) : rc;
}
