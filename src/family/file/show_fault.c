/* SPDX-License-Identifier: Apache-2.0
 * family/file/show_fault.c: why a patch could not be applied, as details of the
 * error: the rule of the grammar, the first divergence, the candidates. Each
 * member stays below what an error keeps whole (C4.7). */
#include "base/arena.h"
#include "base/utf8.h"
#include "family/file/show_int.h"

#define TEXT_BYTES 160u       /* of one line shown */
#define CANDIDATE_BYTES 160u  /* of the lines around one candidate */
#define CANDIDATES_BYTES 700u /* of all of them */

static struct wbi_str bounded(struct wbi_arena *arena, struct wbi_str text, size_t most)
{
    text.n = wbi_utf8_cut(text, text.n < most ? text.n : most);
    return wbi_file_clean(arena, text);
}

static void put_lines(struct wbi_jw *w, struct wbi_arena *arena, const char *name,
                      const struct wbi_str *lines, size_t n)
{
    wbi_jw_key(w, name);
    wbi_jw_arr(w);
    for (size_t i = 0; i < n; i++)
        wbi_jw_str(w, bounded(arena, lines[i], TEXT_BYTES));
    wbi_jw_arr_end(w);
}

static void put_divergence(struct wbi_jw *w, struct wbi_arena *arena,
                           const struct wbi_patch_fault *f)
{
    wbi_jw_key(w, "first_divergence");
    wbi_jw_obj(w);
    wbi_jw_kint(w, "candidate_line", f->candidate_line);
    wbi_jw_kint(w, "matched_prefix_lines", f->matched_prefix_lines);
    wbi_jw_kint(w, "file_line", f->file_line);
    put_lines(w, arena, "expected", f->expected, f->n_expected);
    put_lines(w, arena, "actual", f->actual, f->n_actual);
    wbi_jw_obj_end(w);
}

static void put_candidates(struct wbi_jw *w, struct wbi_arena *arena,
                           const struct wbi_patch_fault *f)
{
    size_t total = f->candidates_total > f->n_candidates ? f->candidates_total : f->n_candidates;
    size_t bytes = 0;

    wbi_jw_kint(w, "candidates_total", (int64_t)total);
    wbi_jw_key(w, "candidates");
    wbi_jw_arr(w);
    for (size_t i = 0; i < f->n_candidates; i++) {
        struct wbi_str text = bounded(arena, f->candidates[i].text, CANDIDATE_BYTES);

        wbi_jw_obj(w);
        wbi_jw_kint(w, "line", f->candidates[i].line);
        if (bytes + text.n <= CANDIDATES_BYTES)
            wbi_jw_kstr(w, "text", text);
        bytes += text.n;
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
}

struct wbi_str wbi_patch_fault_details(struct wbi_arena *arena, const struct wbi_patch_fault *f)
{
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    if (f->rule != NULL)
        wbi_jw_kstrz(&w, "rule", f->rule);
    if (f->path.p != NULL)
        wbi_jw_kstr(&w, "path", wbi_file_name(arena, f->path));
    if (f->line > 0)
        wbi_jw_kint(&w, "patch_line", f->line);
    if (f->hunk > 0)
        wbi_jw_kint(&w, "hunk", f->hunk);
    if (f->has_divergence)
        put_divergence(&w, arena, f);
    if (f->n_candidates > 0)
        put_candidates(&w, arena, f);
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(&out) == WB_OK && out.n > 2 ? wbi_buf_str(&out) : WBI_NONE;
}
