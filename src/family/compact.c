/* SPDX-License-Identifier: Apache-2.0
 * family/compact.c: the members of a result by what they are, not by which tool
 * made it: ids, handles and references stay; texts are trimmed, then go. */
#include "family/compact.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "family/receipt.h"
#include "json/write.h"

#define TRIM_BYTES 1200    /* of one text on the TRIMMED rung */
#define TRIM_NOTE_BYTES 80 /* of the note inside it: a trimmed text is not trimmed again */
#define SHORT_BYTES 96     /* texts that stay on the SUMMARY rung */
#define LIST_ITEMS 20      /* elements of a list that stay on TRIMMED */
#define SUMMARY_ITEMS 5

static bool ends(struct wbi_str name, const char *suffix)
{
    return wbi_str_ends(name, wbi_str_z(suffix));
}

/* Compact ids, handles and references: never dropped. */
static bool is_protected(struct wbi_str name)
{
    return ends(name, "_id") || ends(name, "Id") || ends(name, "_ids") || ends(name, "_artifact") ||
           ends(name, "_handle") || ends(name, "_ref") || ends(name, "_refs") ||
           ends(name, "_token") || ends(name, "Token") || wbi_str_eqz(name, "artifacts") ||
           wbi_str_eqz(name, "id");
}

/* Where it was: kept too, but not of every element of a long list. */
static bool is_place(struct wbi_str name)
{
    return wbi_str_eqz(name, "path") || wbi_str_eqz(name, "uri");
}

/* True when some name at or below v is protected. A text that reads like such a
 * name counts too: that keeps an empty container, never loses an id. */
static bool holds_protected(const wbi_json *v)
{
    const wbi_json *end = wbi_json_skip(v);

    if (!wbi_json_is(v, WBI_JSON_OBJ) && !wbi_json_is(v, WBI_JSON_ARR))
        return false;
    for (const wbi_json *at = v + 1; at < end; at++)
        if (wbi_json_is(at, WBI_JSON_STR) && is_protected(wbi_json_str(at)))
            return true;
    return false;
}

/* Facts that are small and tell how it went. */
static bool is_fact(const wbi_json *v)
{
    enum wbi_json_type t = wbi_json_type(v);

    return t == WBI_JSON_BOOL || t == WBI_JSON_INT || t == WBI_JSON_REAL || t == WBI_JSON_NULL;
}

/* First and last part of a text, with what is between counted. */
static void write_trimmed(struct wbi_jw *w, struct wbi_arena *arena, struct wbi_str s)
{
    size_t head, tail, lines = 0;
    struct wbi_buf out;

    if (s.n <= TRIM_BYTES + TRIM_NOTE_BYTES) {
        wbi_jw_str(w, s);
        return;
    }
    head = wbi_utf8_cut(s, TRIM_BYTES / 2);
    tail = s.n - TRIM_BYTES / 2;
    while (tail < s.n && ((uint8_t)s.p[tail] & 0xc0) == 0x80)
        tail++;
    for (size_t i = head; i < tail; i++)
        lines += s.p[i] == '\n';
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_add(&out, s.p, head);
    wbi_buf_addf(&out, "\n[compacted: %zu bytes, %zu line ends left out]\n", tail - head, lines);
    wbi_buf_add(&out, s.p + tail, s.n - tail);
    wbi_jw_str(w, wbi_buf_str(&out));
}

/* One container being copied; `keep` is what its children inherit. */
struct level {
    const wbi_json *next;
    size_t left;
    size_t seen; /* elements of a list so far */
    bool object;
    bool keep; /* inside something protected: everything stays */
    bool bare; /* beyond the elements that are shown: only what is protected stays */
};

struct copy {
    struct wbi_jw *w;
    struct wbi_arena *arena;
    enum wbi_rung rung;
    struct level stack[WBI_LIMIT_JSON_DEPTH];
    size_t depth;
};

static bool in_view(const struct copy *c, size_t index)
{
    return index < (c->rung == WBI_RUNG_TRIMMED ? LIST_ITEMS : SUMMARY_ITEMS);
}

static bool stays(const struct copy *c, const struct level *l, struct wbi_str name,
                  const wbi_json *v, size_t index)
{
    if (l->keep || (l->object && is_protected(name)) || holds_protected(v))
        return true;
    if (l->bare || (!l->object && !in_view(c, index)))
        return false;
    if (c->rung == WBI_RUNG_TRIMMED || is_place(name))
        return true;
    if (c->rung == WBI_RUNG_LINE)
        return wbi_json_is(v, WBI_JSON_OBJ) && wbi_json_get(v, "path") != NULL;
    return is_fact(v) || !wbi_json_is(v, WBI_JSON_STR) || wbi_json_str(v).n <= SHORT_BYTES;
}

static void open_level(struct copy *c, const wbi_json *v, bool keep, bool bare)
{
    struct level *l = &c->stack[c->depth++];

    *l = (struct level){.next = v + 1,
                        .left = wbi_json_count(v),
                        .object = wbi_json_is(v, WBI_JSON_OBJ),
                        .keep = keep,
                        .bare = bare};
    if (l->object)
        wbi_jw_obj(c->w);
    else
        wbi_jw_arr(c->w);
}

static void close_level(struct copy *c)
{
    struct level *l = &c->stack[--c->depth];

    if (l->object)
        wbi_jw_obj_end(c->w);
    else
        wbi_jw_arr_end(c->w);
}

/* One value; containers are opened and walked by the loop in copy_value. */
static void put(struct copy *c, const wbi_json *v, bool keep, bool bare)
{
    if ((wbi_json_is(v, WBI_JSON_OBJ) || wbi_json_is(v, WBI_JSON_ARR)) &&
        c->depth < WBI_LIMIT_JSON_DEPTH)
        open_level(c, v, keep, bare);
    else if (wbi_json_is(v, WBI_JSON_STR) && !keep)
        write_trimmed(c->w, c->arena, wbi_json_str(v));
    else
        wbi_jw_val(c->w, v);
}

static void copy_value(struct copy *c, const wbi_json *v)
{
    put(c, v, /* keep= */ false, /* bare= */ false);
    while (c->depth > 0) {
        struct level *l = &c->stack[c->depth - 1];
        struct wbi_str name = l->object && l->left > 0 ? wbi_json_str(l->next) : WBI_NONE;
        const wbi_json *child = l->object ? l->next + 1 : l->next;
        size_t index = l->seen;
        bool bare = l->bare;

        if (l->left == 0) {
            close_level(c);
            continue;
        }
        l->left--;
        l->seen++;
        l->next = wbi_json_skip(child);
        if (!stays(c, l, name, child, index))
            continue;
        if (l->object)
            wbi_jw_keyn(c->w, name);
        else
            bare = bare || !in_view(c, index);
        put(c, child, l->keep || (l->object && is_protected(name)), bare);
    }
}

static void write_error(struct wbi_jw *w, struct copy *c, const wbi_json *error)
{
    const wbi_json *details = wbi_json_get(error, "details");

    wbi_jw_obj(w);
    wbi_jw_kval(w, "kind", wbi_json_get(error, "kind"));
    wbi_jw_kval(w, "message", wbi_json_get(error, "message"));
    if (details != NULL && (c->rung < WBI_RUNG_LINE || holds_protected(details))) {
        wbi_jw_key(w, "details");
        copy_value(c, details);
    }
    if (wbi_json_get(error, "recovery_hint") != NULL)
        wbi_jw_kval(w, "recovery_hint", wbi_json_get(error, "recovery_hint"));
    wbi_jw_kval(w, "retryable", wbi_json_get(error, "retryable"));
    wbi_jw_obj_end(w);
}

static wb_rc write_rung(struct wbi_arena *arena, const struct wbi_canonical *can,
                        enum wbi_rung rung, struct wbi_buf *out)
{
    struct wbi_jw w = wbi_jw_to(out);
    struct copy *c = wbi_arena_zalloc(arena, sizeof(*c));

    if (c == NULL)
        return WB_ENOMEM;
    c->w = &w;
    c->arena = arena;
    c->rung = rung;
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "tool_name", can->tool_name);
    wbi_jw_kstrz(&w, "status", can->success ? "success" : "error");
    wbi_jw_kstr(&w, "summary_text", can->summary);
    wbi_jw_key(&w, "result");
    if (!can->success)
        wbi_jw_null(&w);
    else if (wbi_json_is(can->result, WBI_JSON_OBJ) || wbi_json_is(can->result, WBI_JSON_ARR) ||
             rung < WBI_RUNG_SUMMARY)
        copy_value(c, can->result);
    else
        wbi_jw_raw(&w, WBI_LIT("{}")); /* a plain text: gone, but legal */
    wbi_jw_key(&w, "error");
    if (can->success)
        wbi_jw_null(&w);
    else
        write_error(&w, c, can->error);
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(out);
}

wb_rc wbi_compact_result(struct wbi_arena *arena, struct wbi_str canonical, enum wbi_rung rung,
                         struct wbi_str *ret, struct wbi_error *err)
{
    struct wbi_canonical can;
    struct wbi_str best;
    wb_rc rc = wbi_canonical_parse(arena, canonical, &can, err);

    if (rc != WB_OK)
        return rc;
    best = canonical;
    for (int r = WBI_RUNG_TRIMMED; r <= (int)rung; r++) { /* each no larger than the one before */
        struct wbi_buf out;
        wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
        rc = write_rung(arena, &can, (enum wbi_rung)r, &out);
        if (rc != WB_OK)
            return wbi_fail(err, rc, "out of memory");
        if (out.n <= best.n)
            best = wbi_buf_str(&out);
    }
    *ret = best;
    return WB_OK;
}

/* ---- the receipt of what is left ---- */

/* Leaves as "a.b: value", in order; artifacts as "artifact: PATH". */
struct leaves {
    struct wbi_arena *arena;
    struct wbi_buf *out;
    const char *between;
    struct {
        const wbi_json *next;
        size_t left;
        struct wbi_str name; /* of the whole level, dotted */
        bool object;
    } stack[WBI_LIMIT_JSON_DEPTH];
    size_t depth;
};

static void put_leaf(struct leaves *l, struct wbi_str name, const wbi_json *v)
{
    struct wbi_str text = wbi_json_str(v);

    if (wbi_str_ends(name, WBI_LIT("artifacts.path")))
        name = WBI_LIT("artifact");
    wbi_buf_addf(l->out, "%s%.*s: ", l->between, WBI_FMT(name));
    if (!wbi_json_is(v, WBI_JSON_STR)) {
        wbi_json_write(l->out, v);
        return;
    }
    for (size_t i = 0; i < text.n; i++) /* one line, whatever it holds */
        wbi_buf_addc(l->out, (uint8_t)text.p[i] < 0x20 ? ' ' : text.p[i]);
}

static void add_leaves(struct leaves *l, const wbi_json *v)
{
    struct wbi_str name = WBI_NONE;

    for (;;) {
        bool open = wbi_json_is(v, WBI_JSON_OBJ) || wbi_json_is(v, WBI_JSON_ARR);
        if (open && l->depth < WBI_LIMIT_JSON_DEPTH) {
            l->stack[l->depth].next = v + 1;
            l->stack[l->depth].left = wbi_json_count(v);
            l->stack[l->depth].name = name;
            l->stack[l->depth++].object = wbi_json_is(v, WBI_JSON_OBJ);
        } else {
            put_leaf(l, name, v);
        }
        while (l->depth > 0 && l->stack[l->depth - 1].left == 0)
            l->depth--;
        if (l->depth == 0)
            return;
        name = l->stack[l->depth - 1].name;
        v = l->stack[l->depth - 1].next;
        if (l->stack[l->depth - 1].object) {
            name = name.n == 0 ? wbi_json_str(v)
                               : wbi_arena_fmt(l->arena, "%.*s.%.*s", WBI_FMT(name),
                                               WBI_FMT(wbi_json_str(v)));
            v++;
        }
        l->stack[l->depth - 1].left--;
        l->stack[l->depth - 1].next = wbi_json_skip(v);
    }
}

static void add_flat(struct wbi_buf *out, struct wbi_str text, bool one_line)
{
    for (size_t i = 0; i < text.n; i++)
        wbi_buf_addc(out, one_line && text.p[i] == '\n' ? ' ' : text.p[i]);
}

static void add_error(struct leaves *l, const wbi_json *error, bool one_line)
{
    struct wbi_str hint = wbi_json_get_str(error, "recovery_hint");

    wbi_buf_addf(l->out, "Error: %.*s (%s)%s", WBI_FMT(wbi_json_get_str(error, "kind")),
                 wbi_json_true(wbi_json_get(error, "retryable")) ? "retryable" : "not retryable",
                 l->between);
    if (one_line) {
        add_flat(l->out, wbi_json_get_str(error, "message"), one_line);
    } else {
        wbi_receipt_message(l->out, wbi_json_get_str(error, "message"));
        if (wbi_buf_rc(l->out) == WB_OK) /* what comes next begins with its own */
            l->out->p[--l->out->n] = '\0';
    }
    if (hint.p != NULL) {
        wbi_buf_addf(l->out, "%sNext: ", l->between);
        add_flat(l->out, hint, one_line);
    }
    if (wbi_json_get(error, "details") != NULL)
        add_leaves(l, wbi_json_get(error, "details"));
    wbi_buf_addz(l->out, l->between);
}

wb_rc wbi_compact_show(struct wbi_arena *arena, const struct wbi_canonical *can, enum wbi_rung rung,
                       struct wbi_buf *out)
{
    bool one_line = rung == WBI_RUNG_LINE;
    struct leaves *l = wbi_arena_zalloc(arena, sizeof(*l));

    if (l == NULL)
        return WB_ENOMEM;
    *l = (struct leaves){.arena = arena, .out = out, .between = one_line ? "; " : "\n"};
    if (!can->success)
        add_error(l, can->error, one_line);
    wbi_buf_addf(out, "%.*s: ", WBI_FMT(can->tool_name));
    add_flat(out, can->summary, one_line);
    if (can->success && can->result != NULL)
        add_leaves(l, can->result);
    return wbi_buf_rc(out);
}

wb_rc wbi_compact_receipt(struct wbi_arena *arena, struct wbi_str canonical, enum wbi_rung rung,
                          struct wbi_buf *out, struct wbi_error *err)
{
    struct wbi_canonical can;
    wb_rc rc = wbi_canonical_parse(arena, canonical, &can, err);

    if (rc != WB_OK)
        return rc;
    rc = wbi_compact_show(arena, &can, rung, out);
    return rc == WB_ENOMEM ? wbi_fail_nomem(err) : rc;
}
