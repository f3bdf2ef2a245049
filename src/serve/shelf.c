/* SPDX-License-Identifier: Apache-2.0
 * serve/shelf.c: made when a list comes, so that looking something up later costs
 * a search by halves and no parsing. */
#include "serve/shelf.h"

#include <stdlib.h>

#include "base/limits.h"
#include "json/write.h"
#include "serve/definition.h"

static int compare(const void *a, const void *b)
{
    const struct wbi_shelf_item *x = *(const struct wbi_shelf_item *const *)a;
    const struct wbi_shelf_item *y = *(const struct wbi_shelf_item *const *)b;

    return wbi_str_cmp(x->key, y->key);
}

static const char *key_member(enum wbi_mcp_list what)
{
    if (what == WBI_MCP_RESOURCES)
        return "uri";
    return what == WBI_MCP_TEMPLATES ? "uriTemplate" : "name";
}

static void put_arguments(struct wbi_jw *w, const wbi_json *list)
{
    wbi_jw_arr(w);
    WBI_JSON_EACH (list, e)
        wbi_definition_members(w, e);
    wbi_jw_arr_end(w);
}

/* One item with its key under the name that clients know; absent: out of memory. */
static struct wbi_str write_item(struct wbi_arena *arena, const wbi_json *item, const char *member,
                                 struct wbi_str key)
{
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_MCP_MESSAGE);
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (item, k) {
        if (!wbi_item_tells(wbi_json_str(k), k_val))
            continue;
        wbi_jw_keyn(&w, wbi_json_str(k));
        if (wbi_str_eqz(wbi_json_str(k), member))
            wbi_jw_str(&w, key);
        else if (wbi_str_eqz(wbi_json_str(k), "arguments"))
            put_arguments(&w, k_val);
        else if (wbi_str_eqz(wbi_json_str(k), "annotations"))
            wbi_definition_members(&w, k_val);
        else
            wbi_jw_val(&w, k_val);
    }
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

static bool add(struct wbi_shelf *s, enum wbi_mcp_list what, struct wbi_str prefix,
                const wbi_json *item)
{
    const char *member = key_member(what);
    struct wbi_str key = wbi_json_get_str(item, member);
    struct wbi_shelf_item *to = &s->items[s->count];

    if (key.n == 0 || !wbi_item_allowed(what, item))
        return true; /* one bad item must not cost a client the others */
    if (what == WBI_MCP_PROMPTS && prefix.n > 0)
        to->key = wbi_arena_fmt(s->arena, "%.*s__%.*s", WBI_FMT(prefix), WBI_FMT(key));
    else
        to->key = wbi_arena_str(s->arena, key);
    to->json = to->key.p != NULL ? write_item(s->arena, item, member, to->key) : WBI_NONE;
    s->by_key[s->count] = to;
    s->count++;
    return to->json.p != NULL;
}

static bool fill(struct wbi_shelf *s, enum wbi_mcp_list what, struct wbi_str prefix,
                 const wbi_json *items)
{
    size_t n = wbi_json_count(items);

    s->items = wbi_arena_array(s->arena, n + 1, sizeof(*s->items));
    s->by_key = wbi_arena_array(s->arena, n + 1, sizeof(*s->by_key));
    if (s->items == NULL || s->by_key == NULL)
        return false;
    WBI_JSON_EACH (items, item) {
        if (!add(s, what, prefix, item))
            return false;
    }
    if (s->count > 1)
        qsort(s->by_key, s->count, sizeof(struct wbi_shelf_item *), compare);
    return true;
}

static bool same(const struct wbi_shelf *a, const struct wbi_shelf *b)
{
    if (a->told != b->told || a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!wbi_str_eq(a->items[i].json, b->items[i].json))
            return false;
    return true;
}

bool wbi_shelf_put(struct wbi_shelf *s, enum wbi_mcp_list what, struct wbi_str prefix,
                   struct wbi_str text)
{
    struct wbi_shelf fresh = {.told = true, .late = s->late};
    struct wbi_arena *scratch = NULL;
    const wbi_json *items = NULL;
    bool good = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &fresh.arena) == WB_OK &&
                wbi_arena_new(WBI_LIMIT_CALL_ARENA, &scratch) == WB_OK &&
                wbi_json_read(scratch, text, WBI_JSON_STRICT, &items, NULL) == WB_OK &&
                fill(&fresh, what, prefix, items) && !same(s, &fresh);

    wbi_arena_free(scratch);
    if (!good) {
        wbi_arena_free(fresh.arena);
        return false;
    }
    wbi_arena_free(s->arena);
    *s = fresh;
    return true;
}

bool wbi_shelf_has(const struct wbi_shelf *s, struct wbi_str key)
{
    struct wbi_shelf_item like = {.key = key};
    const struct wbi_shelf_item *at = &like;

    return s->count > 0 && bsearch(&at, s->by_key, s->count, sizeof(at), compare) != NULL;
}

/* Steps of one search through templates: they are a server's, and may be made to
 * take long. */
#define MOST_STEPS (1u << 20)

/* Whether the URI can come of the template: an expression in braces stands for any
 * characters. Where it does not go on, the last expression takes one more. */
static bool fits(struct wbi_str t, struct wbi_str uri, size_t *steps, size_t *ret_plain)
{
    size_t at = 0, u = 0, after = SIZE_MAX, from = 0, end;

    *ret_plain = 0;
    while (at < t.n || u < uri.n) {
        if (*steps == 0)
            return false;
        (*steps)--;
        end = at < t.n && t.p[at] == '{' ? at + wbi_str_index(wbi_str_from(t, at), '}') : t.n;
        if (end < t.n) {
            after = at = end + 1;
            from = u;
        } else if (at < t.n && u < uri.n && t.p[at] == uri.p[u]) {
            at++;
            u++;
        } else if (after != SIZE_MAX && from < uri.n) {
            at = after;
            u = ++from;
        } else {
            return false;
        }
    }
    for (at = 0; at < t.n; at++) {
        end = t.p[at] == '{' ? at + wbi_str_index(wbi_str_from(t, at), '}') : t.n;
        if (end < t.n)
            at = end;
        else
            (*ret_plain)++;
    }
    return true;
}

size_t wbi_shelf_fits(const struct wbi_shelf *s, struct wbi_str uri)
{
    size_t best = 0, plain, steps = MOST_STEPS;

    for (size_t i = 0; i < s->count; i++)
        if (fits(s->items[i].key, uri, &steps, &plain) && plain + 1 > best)
            best = plain + 1;
    return best;
}

void wbi_shelf_empty(struct wbi_shelf *s)
{
    wbi_arena_free(s->arena);
    *s = (struct wbi_shelf){.late = s->late};
}
