/* SPDX-License-Identifier: Apache-2.0
 * wire/patch.c: the operation of an apply_patch_call as Codex patch text, which
 * is what ApplyPatch takes. One operation touches one file: a diff that holds
 * patch headers of its own, and a path with line breaks, are refused. */
#include "base/limits.h"
#include "wire/wire_int.h"

struct lines {
    struct wbi_str rest;
};

static bool next_line(struct lines *l, struct wbi_str *ret)
{
    size_t end;

    if (l->rest.n == 0)
        return false;
    end = wbi_str_index(l->rest, '\n');
    *ret = wbi_str_head(l->rest, end);
    l->rest = wbi_str_from(l->rest, end + 1);
    return true;
}

static bool has_headers(struct wbi_str diff)
{
    struct lines l = {diff};
    struct wbi_str line;

    while (next_line(&l, &line))
        if (wbi_str_starts(line, WBI_LIT("*** ")) &&
            !wbi_str_eq(wbi_str_trim(line), WBI_LIT("*** End of File")))
            return true;
    return false;
}

/* "--- a/x", "+++ b/x" of a unified diff; the operation's path says which file it is. */
static struct wbi_str without_file_names(struct wbi_str diff)
{
    struct lines l = {diff};
    struct wbi_str old, new;

    if (next_line(&l, &old) && next_line(&l, &new) && wbi_str_starts(old, WBI_LIT("--- ")) &&
        wbi_str_starts(new, WBI_LIT("+++ ")) && wbi_str_starts(l.rest, WBI_LIT("@@")))
        return l.rest;
    return diff;
}

static bool is_blank(struct wbi_str line)
{
    return line.n == 0 || wbi_str_eqz(line, "\r");
}

/* What stands around the added lines of a diff. */
static bool is_frame(struct wbi_str line)
{
    return wbi_str_starts(line, WBI_LIT("@@")) || wbi_str_starts(line, WBI_LIT("*** ")) ||
           wbi_str_starts(line, WBI_LIT("\\ No newline"));
}

/* Blank lines have often lost their plus. */
static bool all_added(struct wbi_str diff)
{
    struct lines l = {diff};
    struct wbi_str line;
    bool any = false;

    while (next_line(&l, &line)) {
        bool added = wbi_str_starts(line, WBI_LIT("+"));
        if (!added && !is_blank(line) && !is_frame(line))
            return false;
        any = any || added;
    }
    return any;
}

/* New files come as added lines, or as their plain content. */
static void add_new_file(struct wbi_buf *patch, struct wbi_str diff)
{
    struct wbi_str hunks = without_file_names(diff), line;
    bool added = all_added(hunks);
    struct lines l = {added ? hunks : diff};

    while (next_line(&l, &line)) {
        if (added && is_frame(line))
            continue;
        if (!added || is_blank(line))
            wbi_buf_addc(patch, '+');
        wbi_buf_adds(patch, line);
        wbi_buf_addc(patch, '\n');
    }
}

static void add_update(struct wbi_buf *patch, struct wbi_str diff)
{
    diff = without_file_names(diff);
    if (!wbi_str_starts(diff, WBI_LIT("@@")))
        wbi_buf_addz(patch, "@@\n");
    wbi_buf_adds(patch, diff);
    if (diff.n > 0 && diff.p[diff.n - 1] != '\n')
        wbi_buf_addc(patch, '\n');
}

static const char *header_of(struct wbi_str type)
{
    if (wbi_str_eqz(type, "create_file"))
        return "*** Add File: ";
    if (wbi_str_eqz(type, "update_file"))
        return "*** Update File: ";
    if (wbi_str_eqz(type, "delete_file"))
        return "*** Delete File: ";
    return NULL;
}

static bool is_path(struct wbi_str path)
{
    for (size_t i = 0; i < path.n; i++)
        if ((uint8_t)path.p[i] < 0x20)
            return false;
    return path.n > 0 && path.n <= WBI_LIMIT_PATH;
}

static wb_rc write_patch(struct wbi_decoding *d, struct wbi_wire_call *call, const char *header,
                         struct wbi_str path, struct wbi_str diff)
{
    struct wbi_buf patch, text;
    struct wbi_jw w = wbi_jw_to(&text);

    wbi_buf_init_arena(&patch, d->arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_addz(&patch, "*** Begin Patch\n");
    wbi_buf_addz(&patch, header);
    wbi_buf_adds(&patch, path);
    wbi_buf_addc(&patch, '\n');
    if (header[4] == 'A')
        add_new_file(&patch, diff);
    else if (header[4] == 'U')
        add_update(&patch, diff);
    wbi_buf_addz(&patch, "*** End Patch\n");
    if (wbi_buf_rc(&patch) != WB_OK)
        return wbi_fail(d->err, wbi_buf_rc(&patch), "the patch does not fit into memory");
    wbi_buf_init_arena(&text, d->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "patch", wbi_buf_str(&patch));
    wbi_jw_obj_end(&w);
    return wbi_decoding_input(d, call, &text);
}

wb_rc wbi_decoding_patch(struct wbi_decoding *d, struct wbi_wire_call *call,
                         const wbi_json *operation)
{
    const char *header = header_of(wbi_json_get_str(operation, "type"));
    struct wbi_str path = wbi_json_get_str(operation, "path");
    struct wbi_str diff = wbi_json_get_str(operation, "diff");

    if (header == NULL)
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "operation.type of an apply_patch_call must be create_file, "
                                    "update_file or delete_file");
    if (!is_path(path))
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "operation.path must be a path without control characters");
    if (diff.p == NULL && header[4] != 'D')
        return wbi_decoding_problem(d, call, WBI_KIND_MALFORMED_CALL,
                                    "operation.diff must be a string");
    if (has_headers(diff))
        return wbi_decoding_problem(d, call, WBI_KIND_INVALID_PATCH,
                                    "operation.diff holds a patch header; one operation changes "
                                    "one file, send one call a file");
    return write_patch(d, call, header, path, diff);
}
