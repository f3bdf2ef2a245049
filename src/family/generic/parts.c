/* SPDX-License-Identifier: Apache-2.0
 * family/generic/parts.c: results of several parts: {content, structured,
 * artifacts}. Text is shown, media are kept as artifacts of their raw bytes and
 * named, and what structured output and text both say is shown once. */
#include <stdio.h>

#include "base/arena.h"
#include "base/limits.h"
#include "family/generic/generic_int.h"
#include "family/receipt.h"
#include "text/hygiene.h"
#include "text/tokens.h"

#define HEADER_TOKENS 60u
#define SECTION_TOKENS 20u /* the head of a text among several */

/* ---- reading ---- */

/* Only a root that is nothing else is taken for parts. */
static bool is_content_root(const wbi_json *root)
{
    static const char *const names[] = {"content", "structuredContent", "isError", "_meta",
                                        WBI_ENVELOPE_KEY};
    const wbi_json *content = wbi_json_get_as(root, "content", WBI_JSON_ARR);
    bool fits = wbi_json_count(content) > 0 && !wbi_json_true(wbi_json_get(root, "isError"));

    WBI_JSON_EACH_MEMBER (root, key) {
        bool known = false;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            known = known || wbi_str_eqz(wbi_json_str(key), names[i]);
        fits = fits && known;
        (void)key_val;
    }
    return fits;
}

static bool is_whole(const struct wbi_wire_part *part)
{
    switch (part->type) {
    case WBI_PART_TEXT:
        return part->text.p != NULL;
    case WBI_PART_IMAGE:
    case WBI_PART_AUDIO:
        return part->data.p != NULL && part->mime.p != NULL;
    case WBI_PART_LINK:
        return part->uri.p != NULL;
    case WBI_PART_RESOURCE:
        return part->uri.p != NULL && (part->text.p != NULL || part->data.p != NULL);
    case WBI_PART_FILE:
    case WBI_PART_OTHER:
        break;
    }
    return false;
}

wb_rc wbi_generic_take_parts(struct wbi_arena *arena, struct wbi_complete *full)
{
    struct wbi_wire_part *parts;
    const wbi_json *content;
    size_t n = 0;

    if (full->parts != NULL || full->output.p == NULL ||
        wbi_str_find(full->output, WBI_LIT("\"content\"")) == full->output.n)
        return WB_OK;
    if ((full->value == NULL &&
         wbi_json_read(arena, full->output, WBI_JSON_STRICT, &full->value, NULL) != WB_OK) ||
        !is_content_root(full->value))
        return WB_OK; /* the projector says what is wrong with it */
    content = wbi_json_get(full->value, "content");
    parts = wbi_arena_array(arena, wbi_json_count(content), sizeof(*parts));
    if (parts == NULL)
        return WB_ENOMEM;
    WBI_JSON_EACH (content, block) {
        if (!wbi_wire_part_read(block, &parts[n]) || !is_whole(&parts[n]))
            return WB_OK; /* its own shape after all */
        if (wbi_wire_part_clean(arena, &parts[n++]) != WB_OK)
            return WB_ENOMEM;
    }
    full->parts = parts;
    full->part_count = n;
    return WB_OK;
}

bool wbi_generic_is_media(const struct wbi_wire_part *part)
{
    return part->data.p != NULL && (part->type == WBI_PART_IMAGE || part->type == WBI_PART_AUDIO ||
                                    part->type == WBI_PART_FILE || part->type == WBI_PART_RESOURCE);
}

/* ---- media ---- */

static int sextet(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* The bytes; absent when it is no base64 or there is no memory. */
static struct wbi_str decode(struct wbi_arena *arena, struct wbi_str data)
{
    char *out = wbi_arena_alloc(arena, data.n / 4 * 3 + 3);
    uint32_t bits = 0;
    int have = 0;
    size_t n = 0;

    while (data.n > 0 && data.p[data.n - 1] == '=')
        data.n--;
    for (size_t i = 0; out != NULL && i < data.n; i++) {
        int v = sextet(data.p[i]);
        if (v < 0)
            return WBI_NONE;
        bits = bits << 6 | (uint32_t)v;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[n++] = (char)(bits >> have & 0xff);
        }
    }
    return out ? wbi_str_make(out, n) : WBI_NONE;
}

static const char *type_name(const struct wbi_wire_part *part)
{
    static const char *const names[] = {
        [WBI_PART_TEXT] = "text",         [WBI_PART_IMAGE] = "image",
        [WBI_PART_AUDIO] = "audio",       [WBI_PART_LINK] = "resource_link",
        [WBI_PART_RESOURCE] = "resource", [WBI_PART_FILE] = "file",
        [WBI_PART_OTHER] = "other",
    };

    return names[part->type];
}

/* What is found out about a part. */
struct seen {
    struct wbi_str bytes; /* absent: its data is no base64 */
    struct wbi_str path;  /* absent: not kept */
    uint64_t tokens;      /* of its line */
    bool twin;            /* its text says what the structured value does */
    bool listed;          /* it has a line in the header */
};

/* What is kept of a part: the bytes of media, a block of an unknown type as it came. */
static struct wbi_str bytes_of(struct wbi_arena *arena, const struct wbi_wire_part *part)
{
    struct wbi_buf text;

    if (wbi_generic_is_media(part))
        return decode(arena, part->data);
    if (part->type != WBI_PART_OTHER || part->raw == NULL)
        return WBI_NONE;
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, part->raw);
    return wbi_buf_rc(&text) == WB_OK ? wbi_buf_str(&text) : WBI_NONE;
}

static wb_rc keep_media(const struct wbi_complete *full, const struct wbi_projection *p,
                        struct seen *seen, struct wbi_error *err)
{
    char role[32];
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < full->part_count; i++) {
        seen[i].bytes = bytes_of(p->arena, &full->parts[i]);
        if (seen[i].bytes.p == NULL || p->sink == NULL)
            continue;
        (void)snprintf(role, sizeof(role), "%s%zu", type_name(&full->parts[i]), i + 1);
        rc = p->sink->put(p->sink->arg, role, seen[i].bytes, &seen[i].path, err);
    }
    return rc;
}

/* ---- the line of a part ---- */

struct line {
    struct wbi_str type, uri, name, mime, path;
    int64_t bytes; /* below 0: not told */
    bool unreadable;
};

/* Also what the receipt shows: counted here, written there. */
static void add_part_line(struct wbi_buf *out, const struct line *l)
{
    wbi_hygiene_one_line(l->type, out);
    wbi_buf_addz(out, ": ");
    wbi_hygiene_one_line(l->uri, out);
    wbi_buf_addz(out, l->uri.p && (l->name.p || l->mime.p) ? ", " : "");
    wbi_hygiene_one_line(l->name, out);
    wbi_buf_addz(out, l->name.p && l->mime.p ? ", " : "");
    wbi_hygiene_one_line(l->mime, out);
    if (l->bytes >= 0)
        wbi_buf_addf(out, ", %lld bytes", (long long)l->bytes);
    wbi_buf_addz(out, l->unreadable ? ", its data is no base64" : "");
    if (l->path.p != NULL) {
        wbi_buf_addz(out, ", artifact ");
        wbi_hygiene_one_line(l->path, out);
    }
    wbi_buf_addc(out, '\n');
}

static struct line line_of(const struct wbi_wire_part *part, const struct seen *seen)
{
    return (struct line){.type = wbi_str_z(type_name(part)),
                         .uri = part->uri,
                         .name = part->name,
                         .mime = part->mime,
                         .path = seen->path,
                         .bytes = seen->bytes.p ? (int64_t)seen->bytes.n : -1,
                         .unreadable = seen->bytes.p == NULL && wbi_generic_is_media(part)};
}

/* ---- projecting ---- */

static bool same_value(struct wbi_arena *arena, struct wbi_str text, const wbi_json *structured)
{
    const wbi_json *v;

    if (wbi_json_is(structured, WBI_JSON_STR))
        return wbi_str_eq(wbi_str_trim(text), wbi_str_trim(wbi_json_str(structured)));
    return wbi_json_read(arena, text, WBI_JSON_STRICT, &v, NULL) == WB_OK &&
           wbi_json_equal(v, structured);
}

static bool has_text(const struct wbi_wire_part *part)
{
    return part->text.p != NULL && (part->type == WBI_PART_TEXT || part->type == WBI_PART_RESOURCE);
}

static void add_lines(struct wbi_buf *out, struct wbi_str text)
{
    wbi_buf_adds(out, text);
    if (text.n > 0 && text.p[text.n - 1] != '\n')
        wbi_buf_addc(out, '\n');
}

/* Everything that is text, as one; with the lines of parts that are not listed, if told. */
static wb_rc join(const struct wbi_complete *full, const struct seen *seen,
                  const wbi_json *structured, bool with_lines, struct wbi_arena *arena,
                  struct wbi_str *ret)
{
    struct wbi_buf all;

    wbi_buf_init_arena(&all, arena, WBI_LIMIT_JSON_TEXT);
    for (size_t i = 0; i < full->part_count; i++) {
        const struct wbi_wire_part *part = &full->parts[i];
        struct line line = line_of(part, &seen[i]);

        if (seen[i].twin)
            continue;
        if (with_lines && part->type != WBI_PART_TEXT && !seen[i].listed)
            add_part_line(&all, &line);
        if (has_text(part))
            add_lines(&all, part->text);
    }
    if (structured != NULL) {
        struct wbi_str pretty = wbi_generic_display(arena, structured);

        if (pretty.p == NULL)
            return WB_ENOMEM;
        wbi_buf_adds(&all, pretty);
    }
    *ret = wbi_buf_str(&all);
    return wbi_buf_rc(&all);
}

/* What the lines and the heads of texts take, each for itself, and which texts are twins. */
static wb_rc look(const struct wbi_complete *full, const wbi_json *structured,
                  struct wbi_arena *arena, struct seen *seen, uint64_t *ret_tokens)
{
    struct wbi_buf text;
    uint64_t tokens = HEADER_TOKENS;

    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    for (size_t i = 0; i < full->part_count; i++) {
        const struct wbi_wire_part *part = &full->parts[i];
        struct line line = line_of(part, &seen[i]);

        seen[i].twin =
            structured != NULL && has_text(part) && same_value(arena, part->text, structured);
        if (seen[i].twin)
            continue;
        wbi_buf_clear(&text);
        if (part->type != WBI_PART_TEXT)
            add_part_line(&text, &line);
        seen[i].tokens = wbi_tokens(wbi_buf_str(&text));
        tokens += seen[i].tokens + (has_text(part) ? SECTION_TOKENS : 0);
    }
    *ret_tokens = tokens;
    return wbi_buf_rc(&text);
}

/* Shown clean, told as they are. */
static bool texts_fit(const struct wbi_projection *p, uint64_t tokens, struct wbi_str all)
{
    struct wbi_str clean = wbi_generic_clean(p->arena, all);

    return clean.p != NULL && tokens + wbi_tokens(all) <= p->budget_tokens &&
           (clean.p == all.p || tokens + wbi_tokens(clean) <= p->budget_tokens);
}

/* As many parts as take half the room; returns what they take. */
static uint64_t list_some(const struct wbi_complete *full, uint64_t room, struct seen *seen)
{
    uint64_t used = 0;

    for (size_t i = 0; i < full->part_count; i++) {
        seen[i].listed = full->parts[i].type != WBI_PART_TEXT && !seen[i].twin &&
                         used + seen[i].tokens <= room / 2;
        used += seen[i].listed ? seen[i].tokens : 0;
    }
    return used;
}

static void put_part(struct wbi_jw *w, const struct wbi_wire_part *part, const struct seen *seen,
                     bool with_text, size_t *at)
{
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "type", type_name(part));
    if (part->uri.p != NULL)
        wbi_jw_kstr(w, "uri", part->uri);
    if (part->name.p != NULL)
        wbi_jw_kstr(w, "name", part->name);
    if (part->mime.p != NULL)
        wbi_jw_kstr(w, "mimeType", part->mime);
    if (with_text && has_text(part))
        wbi_jw_kstr(w, "text", part->text);
    if (seen->bytes.p != NULL)
        wbi_jw_kint(w, "size_bytes", (int64_t)seen->bytes.n);
    else if (wbi_generic_is_media(part))
        wbi_jw_kbool(w, "unreadable", true);
    if (seen->path.p != NULL)
        wbi_jw_kint(w, "artifact", (int64_t)(*at)++);
    wbi_jw_obj_end(w);
}

static void put_content(struct wbi_jw *w, const struct wbi_complete *full, const struct seen *seen,
                        bool fits)
{
    size_t at = fits ? 0 : 1; /* the first artifact is the whole text */

    wbi_jw_key(w, "content");
    wbi_jw_arr(w);
    for (size_t i = 0; i < full->part_count; i++)
        if (!seen[i].twin && (fits || seen[i].listed))
            put_part(w, &full->parts[i], &seen[i], fits, &at);
    wbi_jw_arr_end(w);
}

static void put_artifacts(struct wbi_jw *w, const struct wbi_str *paths, size_t n)
{
    wbi_jw_key(w, "artifacts");
    wbi_jw_arr(w);
    for (size_t i = 0; i < n; i++) {
        wbi_jw_obj(w);
        wbi_jw_kstr(w, "path", paths[i]);
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
}

/* One text, or a text and the same as a value: no parts are worth telling. */
static bool is_single(const struct wbi_complete *full, const wbi_json *structured,
                      const struct seen *seen)
{
    return full->part_count == 1 && full->parts[0].type == WBI_PART_TEXT && has_text(full->parts) &&
           (structured == NULL || seen[0].twin);
}

static wb_rc single_value(const struct wbi_complete *full, const wbi_json *structured,
                          struct wbi_arena *arena, const wbi_json **ret, struct wbi_error *err)
{
    struct wbi_buf text;

    *ret = structured;
    if (structured != NULL)
        return WB_OK;
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_quote(&text, full->parts[0].text);
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_fail_nomem(err);
    return wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, ret, err);
}

/* A path for each part that is told and kept; how many. */
static size_t paths_of(const struct wbi_complete *full, const struct seen *seen, bool fits,
                       struct wbi_str *paths)
{
    size_t n = 0;

    for (size_t i = 0; i < full->part_count; i++)
        if (seen[i].path.p != NULL && !seen[i].twin && (fits || seen[i].listed))
            paths[n++] = seen[i].path;
    return n;
}

static wb_rc put_seen(const struct wbi_complete *full, const wbi_json *structured,
                      const struct wbi_projection *p, struct seen *seen, uint64_t tokens,
                      struct wbi_jw *w, struct wbi_error *err)
{
    struct wbi_str *paths = wbi_arena_array(p->arena, full->part_count, sizeof(*paths));
    uint64_t room = wbi_generic_room(p);
    struct wbi_str all;
    size_t n;
    bool fits;
    wb_rc rc;

    if (paths == NULL || join(full, seen, structured, false, p->arena, &all) != WB_OK)
        return wbi_fail_nomem(err);
    fits = texts_fit(p, tokens, all);
    if (!fits) { /* what the header has no room for is told in the text */
        room -= list_some(full, room, seen);
        if (join(full, seen, structured, true, p->arena, &all) != WB_OK)
            return wbi_fail_nomem(err);
        fits = all.n == 0;
    }
    n = paths_of(full, seen, fits, paths);
    wbi_jw_obj(w);
    put_content(w, full, seen, fits);
    if (!fits) {
        rc = wbi_generic_put_large(p, all, room, paths, n, w, err);
        wbi_jw_obj_end(w);
        return rc;
    }
    if (structured != NULL)
        wbi_jw_kval(w, "structured", structured);
    if (n > 0)
        put_artifacts(w, paths, n);
    wbi_jw_obj_end(w);
    return WB_OK;
}

wb_rc wbi_generic_put_parts(const struct wbi_complete *full, const wbi_json *output,
                            const struct wbi_projection *p, struct wbi_jw *w,
                            const wbi_json **ret_value, struct wbi_error *err)
{
    const wbi_json *structured = full->flat ? NULL
                                 : is_content_root(output)
                                     ? wbi_json_get(output, "structuredContent")
                                     : output; /* an upstream's, beside its parts */
    struct seen *seen = wbi_arena_array(p->arena, full->part_count, sizeof(*seen));
    uint64_t tokens;
    wb_rc rc;

    if (seen == NULL)
        return wbi_fail_nomem(err);
    rc = keep_media(full, p, seen, err);
    if (rc != WB_OK)
        return rc;
    if (look(full, structured, p->arena, seen, &tokens) != WB_OK)
        return wbi_fail_nomem(err);
    if (is_single(full, structured, seen))
        return single_value(full, structured, p->arena, ret_value, err);
    return put_seen(full, structured, p, seen, tokens, w, err);
}

/* ---- the receipt ---- */

bool wbi_generic_has_parts(const wbi_json *result)
{
    const wbi_json *content = wbi_json_get_as(result, "content", WBI_JSON_ARR);
    bool known = wbi_json_is(result, WBI_JSON_OBJ) && content != NULL;

    WBI_JSON_EACH (content, part) {
        known = known && wbi_json_get_str(part, "type").p != NULL;
    }
    WBI_JSON_EACH_MEMBER (known ? result : NULL, key) {
        struct wbi_str name = wbi_json_str(key);
        known = known && (wbi_str_eqz(name, "content") || wbi_str_eqz(name, "structured") ||
                          wbi_str_eqz(name, "artifacts") || wbi_str_eqz(name, "truncated") ||
                          wbi_str_starts(name, WBI_LIT("output_")));
        (void)key_val;
    }
    return known;
}

static void part_line(const wbi_json *result, const wbi_json *part, struct wbi_buf *out)
{
    struct line line = {.type = wbi_json_get_str(part, "type"),
                        .uri = wbi_json_get_str(part, "uri"),
                        .name = wbi_json_get_str(part, "name"),
                        .mime = wbi_json_get_str(part, "mimeType"),
                        .bytes = -1,
                        .unreadable = wbi_json_true(wbi_json_get(part, "unreadable"))};
    int64_t n;

    (void)wbi_json_i64(wbi_json_get(part, "size_bytes"), &line.bytes); /* absent: not told */
    if (wbi_json_i64(wbi_json_get(part, "artifact"), &n) && n >= 0)
        line.path =
            wbi_json_get_str(wbi_json_at(wbi_json_get(result, "artifacts"), (size_t)n), "path");
    add_part_line(out, &line);
}

static wb_rc text_sections(const wbi_json *result, struct wbi_arena *arena, struct wbi_buf *out)
{
    const wbi_json *content = wbi_json_get(result, "content");
    size_t texts = 0, at = 0;
    char name[32];

    WBI_JSON_EACH (content, part) {
        texts += wbi_json_get_str(part, "text").p != NULL;
    }
    WBI_JSON_EACH (content, part) {
        struct wbi_str text = wbi_json_get_str(part, "text");

        if (text.p == NULL)
            continue;
        text = wbi_generic_clean(arena, text);
        if (text.p == NULL)
            return WB_ENOMEM;
        (void)snprintf(name, sizeof(name), texts > 1 ? "output %zu" : "output", ++at);
        wbi_receipt_section(out, name, text);
    }
    return WB_OK;
}

wb_rc wbi_generic_render_parts(const wbi_json *result, struct wbi_arena *arena, struct wbi_buf *out)
{
    const wbi_json *structured = wbi_json_get(result, "structured");
    struct wbi_str text;

    WBI_JSON_EACH (wbi_json_get(result, "content"), part) {
        if (!wbi_str_eqz(wbi_json_get_str(part, "type"), "text"))
            part_line(result, part, out);
    }
    if (wbi_json_get(result, "output_preview") != NULL) {
        wbi_generic_render_cut(result, out);
        return wbi_buf_rc(out);
    }
    if (text_sections(result, arena, out) != WB_OK)
        return WB_ENOMEM;
    if (structured != NULL) {
        text = wbi_generic_display(arena, structured);
        text = text.p ? wbi_generic_clean(arena, text) : WBI_NONE;
        if (text.p == NULL)
            return WB_ENOMEM;
        wbi_receipt_section(out, "structured", text);
    }
    return wbi_buf_rc(out);
}

enum wbi_content_type wbi_generic_content_type(const wbi_json *result)
{
    const wbi_json *content = wbi_json_get_as(result, "content", WBI_JSON_ARR);
    struct wbi_str type, mime;

    if (!wbi_generic_has_parts(result) || wbi_json_count(content) != 1 ||
        wbi_json_get(result, "structured") != NULL)
        return WBI_CONTENT_INFER;
    type = wbi_json_get_str(wbi_json_first(content), "type");
    mime = wbi_json_get_str(wbi_json_first(content), "mimeType");
    if (wbi_json_get(wbi_json_first(content), "size_bytes") == NULL)
        return WBI_CONTENT_INFER;
    return wbi_str_eqz(type, "image") || wbi_str_starts(mime, WBI_LIT("image/"))
               ? WBI_CONTENT_IMAGE
               : WBI_CONTENT_BINARY;
}
