/* SPDX-License-Identifier: Apache-2.0
 * builtin/file.c: ReadFile, ListFiles, SearchFiles and WriteFile (C7.3). */
#include "builtin/file_int.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "builtin/command_int.h"
#include "family/file/show.h"
#include "path/path.h"

/* A number of the input; the schema has checked its range. */
static uint64_t number(const struct wbi_job *j, const char *name, uint64_t absent)
{
    uint64_t v = absent;

    (void)wbi_json_u64(wbi_json_get(j->exec->input, name), &v); /* absent: the default */
    return v;
}

static bool flag(const struct wbi_job *j, const char *name)
{
    return wbi_json_true(wbi_json_get(j->exec->input, name));
}

/* "" is the root itself, as is ".". A name that JSON or a receipt cannot hold is given as lists
 * show it, escaped; one that is there as it is written goes first. */
static struct wbi_str path_of(const struct wbi_job *j)
{
    struct wbi_str path = wbi_json_get_str(j->exec->input, "path"), named;
    struct stat st;

    if (wbi_str_eqz(path, "."))
        return WBI_LIT("");
    if (wbi_str_index(path, '\\') == path.n || wbi_path_stat(j->root, path, NULL, &st) == WB_OK)
        return path;
    named = wbi_file_named(j->arena, path);
    return named.p != NULL && wbi_path_stat(j->root, named, NULL, &st) == WB_OK ? named : path;
}

static wb_rc page_token(struct wbi_job *j, struct wbi_str *ret)
{
    struct wbi_str given = wbi_json_get_str(j->exec->input, "pageToken");

    *ret = WBI_NONE;
    if (given.p == NULL)
        return WB_OK;
    *ret = wbi_token_decode(j->arena, given);
    if (ret->p != NULL)
        return WB_OK;
    return wbi_fail_kind(&j->err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                         "pageToken is not one that an earlier answer has given");
}

wb_rc wbi_job_tell_path(struct wbi_job *j, wb_rc rc)
{
    struct wbi_str path = wbi_json_get_str(j->exec->input, "path");
    struct wbi_buf details;
    struct wbi_jw w = wbi_jw_to(&details);

    if (rc == WB_OK || path.p == NULL)
        return rc;
    wbi_buf_init_arena(&details, j->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "path", wbi_file_name(j->arena, wbi_str_head(path, wbi_utf8_cut(path, 512))));
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&details) == WB_OK)
        j->details = wbi_buf_str(&details);
    return rc;
}

/* ---- ReadFile ---- */

#define LINE_BYTES 2000u

static wb_rc run_read(struct wbi_job *j)
{
    struct wbi_read_output *o = wbi_arena_zalloc(j->arena, sizeof(*o));
    struct wbi_read_request req = {.path = path_of(j),
                                   .file = j->state,
                                   .first_line = number(j, "first_line", 1),
                                   .max_lines = number(j, "max_lines", 0),
                                   .max_line = number(j, "max_line_bytes", LINE_BYTES),
                                   .secrets = j->exec->runtime->secrets};
    wb_rc rc;

    if (o == NULL)
        return wbi_fail_nomem(&j->err);
    o->budget = wbi_exec_budget(j->exec);
    o->numbered = flag(j, "numbered");
    req.max_bytes = (size_t)o->budget.tokens * 16; /* more than such a receipt can show */
    rc = page_token(j, &req.token);
    if (rc == WB_OK)
        rc = wbi_file_read(j->root, &req, j->arena, &j->err, &o->r);
    if (rc == WB_OK && o->r.hidden)
        j->redacted = "output.text";
    j->typed = o;
    return wbi_job_tell_path(j, rc);
}

static bool is_at_hand(struct wbi_job *j)
{
    struct wbi_file_at_hand *file = wbi_arena_alloc(j->arena, sizeof(*file));

    if (file == NULL ||
        !wbi_path_read_at_hand(j->root, path_of(j), j->arena, &file->bytes, &file->st))
        return false;
    j->state = file;
    return true;
}

static void start_read(struct wbi_exec *x)
{
    wbi_job_start_quick(x, run_read, is_at_hand);
}

const struct wbi_tool_ops wbi_read_file_ops = {start_read, wbi_job_cancel};

/* ---- ListFiles ---- */

static wb_rc run_list(struct wbi_job *j)
{
    struct wbi_list_output *o = wbi_arena_zalloc(j->arena, sizeof(*o));
    struct wbi_str kind = wbi_json_get_str(j->exec->input, "kind");
    struct wbi_list_request req = {.path = path_of(j),
                                   .glob = wbi_json_get_str(j->exec->input, "glob"),
                                   .max_depth = (unsigned)number(j, "depth", 0),
                                   .hidden = flag(j, "hidden"),
                                   .no_ignore = flag(j, "ignored"),
                                   .dirs_only = wbi_str_eqz(kind, "directories"),
                                   .files_only = wbi_str_eqz(kind, "files"),
                                   .max_entries = number(j, "max_entries", 0),
                                   .stop = &j->stop};
    wb_rc rc;

    if (o == NULL)
        return wbi_fail_nomem(&j->err);
    o->budget = wbi_exec_budget(j->exec);
    rc = page_token(j, &req.token);
    if (rc == WB_OK)
        rc = wbi_file_list(j->root, &req, j->arena, &j->err, &o->r);
    j->typed = o;
    return wbi_job_tell_path(j, rc);
}

static void start_list(struct wbi_exec *x)
{
    wbi_job_start(x, run_list, NULL, NULL, /* with_root= */ true);
}

const struct wbi_tool_ops wbi_list_files_ops = {start_list, wbi_job_cancel};

/* ---- SearchFiles ---- */

static enum wbi_search_mode search_mode(struct wbi_str mode)
{
    if (wbi_str_eqz(mode, "files"))
        return WBI_SEARCH_FILES;
    return wbi_str_eqz(mode, "count") ? WBI_SEARCH_COUNT : WBI_SEARCH_LINES;
}

static wb_rc run_search(struct wbi_job *j)
{
    struct wbi_search_output *o = wbi_arena_zalloc(j->arena, sizeof(*o));
    unsigned around = (unsigned)number(j, "context", 0);
    struct wbi_search_request req = {.pattern = wbi_json_get_str(j->exec->input, "pattern"),
                                     .literal = flag(j, "literal"),
                                     .ignore_case = flag(j, "ignore_case"),
                                     .path = path_of(j),
                                     .glob = wbi_json_get_str(j->exec->input, "glob"),
                                     .mode = search_mode(wbi_json_get_str(j->exec->input, "mode")),
                                     .before = (unsigned)number(j, "before", around),
                                     .after = (unsigned)number(j, "after", around),
                                     .hidden = flag(j, "hidden"),
                                     .no_ignore = flag(j, "ignored"),
                                     .max_matches = number(j, "max_matches", 0),
                                     .stop = &j->stop,
                                     .secrets = j->exec->runtime->secrets};
    wb_rc rc;

    if (o == NULL)
        return wbi_fail_nomem(&j->err);
    o->budget = wbi_exec_budget(j->exec);
    o->pattern = req.pattern;
    o->mode = req.mode;
    rc = page_token(j, &req.token);
    if (rc == WB_OK)
        rc = wbi_file_search(j->root, &req, j->arena, &j->err, &o->r);
    if (rc == WB_OK && o->r.hidden)
        j->redacted = "output.files[*].lines[*].text";
    j->typed = o;
    return wbi_job_tell_path(j, rc);
}

static void start_search(struct wbi_exec *x)
{
    wbi_job_start(x, run_search, NULL, NULL, /* with_root= */ true);
}

const struct wbi_tool_ops wbi_search_files_ops = {start_search, wbi_job_cancel};

/* ---- WriteFile ---- */

static enum wbi_write_mode write_mode(struct wbi_str mode)
{
    if (wbi_str_eqz(mode, "replace"))
        return WBI_FILE_REPLACE;
    return wbi_str_eqz(mode, "append") ? WBI_FILE_APPEND : WBI_FILE_CREATE;
}

static wb_rc run_write(struct wbi_job *j)
{
    struct wbi_write_output *o = wbi_arena_zalloc(j->arena, sizeof(*o));
    struct wbi_write_request req = {.path = path_of(j),
                                    .data = wbi_json_get_str(j->exec->input, "content"),
                                    .mode = write_mode(wbi_json_get_str(j->exec->input, "mode")),
                                    .expected_sha256 =
                                        wbi_json_get_str(j->exec->input, "expected_sha256"),
                                    .make_dirs = true,
                                    .executable = flag(j, "executable"),
                                    .granted = wbi_guarded_granted(j->exec->runtime)};

    if (o == NULL)
        return wbi_fail_nomem(&j->err);
    o->mode = req.mode;
    j->typed = o;
    return wbi_job_tell_path(j, wbi_file_write(j->root, &req, j->arena, &j->err, &o->r));
}

static void start_write(struct wbi_exec *x)
{
    wbi_job_start(x, run_write, NULL, NULL, /* with_root= */ true);
}

const struct wbi_tool_ops wbi_write_file_ops = {start_write, NULL};
