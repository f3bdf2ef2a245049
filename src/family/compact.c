/* SPDX-License-Identifier: Apache-2.0
 * family/compact.c: the members of a result by what they are, not by which tool
 * made it: ids, handles and references stay; texts are trimmed, then go. */
#include "family/compact.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "json/write.h"

#define TRIM_BYTES 1200   /* of one text on the TRIMMED rung */
#define SHORT_BYTES 96    /* texts that stay on the SUMMARY rung */
#define LIST_ITEMS 20     /* elements of a list that stay on TRIMMED */
#define SUMMARY_ITEMS 5

static bool ends(struct wbi_str name, const char *suffix)
{
    return wbi_str_ends(name, wbi_str_z(suffix));
}

/* Compact ids, handles and references: never dropped. */
static bool is_protected(struct wbi_str name)
{
    return ends(name, "_id") || ends(name, "Id") || ends(name, "_artifact") ||
           ends(name, "_handle") || ends(name, "_ref") || ends(name, "_token") ||
           ends(name, "Token") || wbi_str_eqz(name, "artifacts") || wbi_str_eqz(name, "id") ||
           wbi_str_eqz(name, "path") || wbi_str_eqz(name, "uri");
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

    if (s.n <= TRIM_BYTES) {
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
    size_t dropped;
    bool object;
    bool keep; /* inside something protected: everything stays */
};

struct copy {
    struct wbi_jw *w;
    struct wbi_arena *arena;
    enum wbi_rung rung;
    struct level stack[WBI_LIMIT_JSON_DEPTH];
    size_t depth;
};

static bool stays(const struct copy *c, const struct level *l, struct wbi_str name,
                  const wbi_json *v, size_t index)
{
    if (l->keep || c->rung <= WBI_RUNG_FULL || is_protected(name))
        return true;
    if (!l->object)
        return index < (c->rung == WBI_RUNG_TRIMMED ? LIST_ITEMS : SUMMARY_ITEMS) &&
               (c->rung < WBI_RUNG_LINE || wbi_json_is(v, WBI_JSON_OBJ));
    if (c->rung == WBI_RUNG_TRIMMED)
        return true;
    if (wbi_json_is(v, WBI_JSON_OBJ) || wbi_json_is(v, WBI_JSON_ARR))
        return true; /* looked into: ids may be below */
    if (c->rung == WBI_RUNG_SUMMARY)
        return is_fact(v) || wbi_json_str(v).n <= SHORT_BYTES;
    return false;
}

static void open_level(struct copy *c, const wbi_json *v, bool keep)
{
    struct level *l = &c->stack[c->depth++];

    *l = (struct level){.next = v + 1,
                        .left = wbi_json_count(v),
                        .object = wbi_json_is(v, WBI_JSON_OBJ),
                        .keep = keep};
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
static void put(struct copy *c, struct wbi_str name, const wbi_json *v, bool keep)
{
    bool protected_below = keep || is_protected(name);

    if ((wbi_json_is(v, WBI_JSON_OBJ) || wbi_json_is(v, WBI_JSON_ARR)) &&
        c->depth < WBI_LIMIT_JSON_DEPTH)
        open_level(c, v, protected_below);
    else if (wbi_json_is(v, WBI_JSON_STR) && c->rung > WBI_RUNG_FULL && !protected_below)
        write_trimmed(c->w, c->arena, wbi_json_str(v));
    else
        wbi_jw_val(c->w, v);
}

static void copy_value(struct copy *c, const wbi_json *v)
{
    put(c, WBI_NONE, v, /* keep= */ false);
    while (c->depth > 0) {
        struct level *l = &c->stack[c->depth - 1];
        struct wbi_str name = WBI_NONE;
        const wbi_json *child;
        size_t index;

        if (l->left == 0) {
            close_level(c);
            continue;
        }
        index = l->object ? 0 : l->dropped;
        if (l->object) {
            name = wbi_json_str(l->next);
            child = l->next + 1;
        } else {
            child = l->next;
            l->dropped++; /* counts all elements seen */
        }
        l->left--;
        l->next = wbi_json_skip(child);
        if (!stays(c, l, name, child, index))
            continue;
        if (l->object)
            wbi_jw_keyn(c->w, name);
        put(c, name, child, l->keep);
    }
}

static void write_error(struct wbi_jw *w, struct copy *c, const wbi_json *error)
{
    const wbi_json *details = wbi_json_get(error, "details");

    wbi_jw_obj(w);
    wbi_jw_kval(w, "kind", wbi_json_get(error, "kind"));
    wbi_jw_kval(w, "message", wbi_json_get(error, "message"));
    if (details != NULL && c->rung < WBI_RUNG_LINE) {
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
    else if (wbi_json_is(can->result, WBI_JSON_OBJ) || rung < WBI_RUNG_SUMMARY)
        copy_value(c, can->result);
    else
        wbi_jw_raw(&w, WBI_LIT("{}")); /* a plain text or list: gone, but legal */
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
    const wbi_json *v;
    wb_rc rc = wbi_json_read(arena, canonical, WBI_JSON_STRICT, &v, err);

    if (rc == WB_OK)
        rc = wbi_canonical_read(v, &can, err);
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
