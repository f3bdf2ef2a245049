/* SPDX-License-Identifier: Apache-2.0
 * api/replay_command.c: the streams of a command go through the same cleaning and
 * indexing as when it ran. */
#include "api/replay_int.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "artifact/store.h"

#define UNKNOWN_PATH WBI_LIT("(an artifact)")

static const wbi_json *member(const wbi_json *result, const char *stream, const char *what)
{
    char key[48];

    (void)snprintf(key, sizeof(key), "%s_%s", stream, what);
    return wbi_json_get(result, key);
}

static wb_rc feed_file(struct wbi_shown *shown, int fd)
{
    char bytes[65536];
    ssize_t n;

    while ((n = read(fd, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            wbi_shown_feed(shown, wbi_str_make(bytes, (size_t)n));
    (void)close(fd);
    return n == 0 ? WB_OK : WB_ENOTFOUND;
}

/* Everything the stream printed: from its artifact, or the preview if that is all. */
static wb_rc feed(struct wbi_runtime *rt, const wbi_json *result, const char *stream,
                  struct wbi_shown *shown, struct wbi_str *ret_path)
{
    struct wbi_str preview = wbi_json_str(member(result, stream, "preview"));
    struct wbi_artifact artifact;
    int64_t at;
    int fd;
    wb_rc rc;

    if (!wbi_json_i64(member(result, stream, "artifact"), &at)) {
        if (wbi_json_true(member(result, stream, "truncated")))
            return WB_ENOTFOUND;
        wbi_shown_feed(shown, preview);
        *ret_path = UNKNOWN_PATH; /* under a lower budget there would be one */
        return WB_OK;
    }
    *ret_path =
        wbi_json_get_str(wbi_json_at(wbi_json_get(result, "artifacts"), (size_t)at), "path");
    rc = ret_path->p ? WB_OK : WB_ENOTFOUND;
    if (rc == WB_OK)
        rc = wbi_artifact_find(rt->artifacts, *ret_path, &artifact, NULL);
    if (rc == WB_OK)
        rc = wbi_artifact_open(rt->artifacts, &artifact, &fd, NULL);
    return rc == WB_OK ? feed_file(shown, fd) : WB_ENOTFOUND;
}

static void free_shown(void *shown)
{
    wbi_shown_free(shown);
}

static wb_rc fill_stream(struct wbi_runtime *rt, struct wbi_arena *arena, const wbi_json *result,
                         const char *name, struct wbi_str cmd, struct wbi_command_stream *ret)
{
    int64_t bytes = 0, lines = 0, dropped = 0;
    struct wbi_shown *shown;
    wb_rc rc;

    if (!wbi_json_i64(member(result, name, "bytes"), &bytes) || bytes <= 0)
        return WB_OK;                                                    /* nothing was printed */
    (void)wbi_json_i64(member(result, name, "lines"), &lines);           /* else 0 */
    (void)wbi_json_i64(member(result, name, "dropped_bytes"), &dropped); /* else 0 */
    rc = wbi_runtime_open_artifacts(rt, NULL);
    if (rc != WB_OK)
        return WB_ENOTFOUND;
    rc = wbi_shown_new(wbi_artifact_dir(rt->artifacts), rt->secrets, cmd, &shown);
    if (rc == WB_OK && wbi_arena_defer(arena, free_shown, shown) != WB_OK) {
        wbi_shown_free(shown);
        rc = WB_ENOMEM;
    }
    if (rc == WB_OK)
        rc = feed(rt, result, name, shown, &ret->artifact);
    if (rc == WB_OK)
        rc = wbi_shown_end(shown);
    ret->shown = shown;
    ret->bytes = (uint64_t)bytes;
    ret->lines = (uint64_t)lines;
    ret->dropped = dropped > 0 ? (uint64_t)dropped : 0;
    ret->drop_reason = dropped > 0 ? "recorded" : NULL;
    return rc;
}

wb_rc wbi_replay_command(struct wbi_runtime *rt, struct wbi_arena *arena, const wbi_json *result,
                         struct wbi_str cmd, uint32_t budget, struct wbi_command_output *ret)
{
    struct wbi_command_output o = {
        .disposition = WBI_DISPOSITION_COMPLETED, .cmd = cmd, .budget_tokens = budget};
    int64_t exit_status = 0, signal = 0;
    struct wbi_str limit = wbi_json_get_str(result, "limit");
    wb_rc rc;

    if (!wbi_str_eqz(wbi_json_get_str(result, "disposition"), "completed"))
        return WB_ENOTFOUND;
    (void)wbi_json_i64(wbi_json_get(result, "exit_status"), &exit_status); /* null by a signal */
    (void)wbi_json_i64(wbi_json_get(result, "signal"), &signal);
    (void)wbi_json_i64(wbi_json_get(result, "timeout_ms"), &o.timeout_ms);
    o.exit_status = (int)exit_status;
    o.signal = (int)signal;
    o.timed_out = wbi_json_true(wbi_json_get(result, "timed_out"));
    o.combined = wbi_json_get(result, "combined_output_bytes") != NULL;
    o.limit = limit.p ? wbi_arena_str(arena, limit).p : NULL;
    rc = fill_stream(rt, arena, result, o.combined ? "combined_output" : "stdout", cmd,
                     &o.stream[0]);
    if (rc == WB_OK && !o.combined)
        rc = fill_stream(rt, arena, result, "stderr", cmd, &o.stream[1]);
    if (rc == WB_OK)
        *ret = o;
    return rc;
}
