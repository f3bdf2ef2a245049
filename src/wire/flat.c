/* SPDX-License-Identifier: Apache-2.0
 * wire/flat.c: a model that is told of every member, and reads the choices in the
 * description, writes calls that fit; a definition that is refused fails every request. */
#include "wire/flat.h"

#include "base/checked.h"
#include "base/limits.h"
#include "json/pointer.h"
#include "json/write.h"
#include "wire/definitions.h"

/* More branches than that are not looked at, more text is not quoted. */
#define BRANCHES 256
#define QUOTED 4000

static const char *const choices[] = {"anyOf", "oneOf", "allOf", "enum", "not"};
#define WITH_BRANCHES 3 /* the first ones */

struct member {
    struct wbi_str name;
    const wbi_json *schema;
};

struct flat {
    struct wbi_arena *arena;
    const wbi_json *root;
    const wbi_json *branches[BRANCHES];
    size_t n_branches;
    struct member *members; /* of all branches, one behind the other */
    size_t n, room;
};

static bool is_choice(struct wbi_str keyword)
{
    for (size_t i = 0; i < WBI_COUNT(choices); i++)
        if (wbi_str_eqz(keyword, choices[i]))
            return true;
    return false;
}

/* What a branch refers to, if it is in the same document. */
static const wbi_json *behind(const struct flat *f, const wbi_json *branch)
{
    struct wbi_str ref = wbi_json_get_str(branch, "$ref");
    const wbi_json *found;

    if (ref.n < 2 || ref.p[0] != '#' ||
        wbi_json_pointer(f->root, wbi_str_from(ref, 1), &found, NULL) != WB_OK)
        return branch;
    return found;
}

static void add_branch(struct flat *f, const wbi_json *branch)
{
    for (size_t i = 0; i < f->n_branches; i++)
        if (f->branches[i] == branch)
            return;
    if (f->n_branches < BRANCHES)
        f->branches[f->n_branches++] = branch;
}

static void add_branches(struct flat *f, const wbi_json *schema)
{
    for (size_t i = 0; i < WITH_BRANCHES; i++)
        WBI_JSON_EACH (wbi_json_get_as(schema, choices[i], WBI_JSON_ARR), branch)
            add_branch(f, behind(f, branch));
}

static bool has(const struct flat *f, struct wbi_str name, const wbi_json *schema)
{
    for (size_t i = 0; i < f->n; i++)
        if (wbi_str_eq(f->members[i].name, name) &&
            (schema == NULL || wbi_json_equal(f->members[i].schema, schema)))
            return true;
    return false;
}

/* A member that one branch forbids is what the others say. */
static bool is_nothing(const wbi_json *schema)
{
    return wbi_json_is(schema, WBI_JSON_BOOL) && !wbi_json_true(schema);
}

static wb_rc add_members(struct flat *f, const wbi_json *branch)
{
    const wbi_json *own = wbi_json_get(f->root, "properties");

    WBI_JSON_EACH_MEMBER (wbi_json_get_as(branch, "properties", WBI_JSON_OBJ), key) {
        struct wbi_str name = wbi_json_str(key);

        if (wbi_json_getn(own, name) != NULL || is_nothing(key_val) || has(f, name, key_val))
            continue;
        if (f->n == f->room) {
            size_t room = f->room ? 2 * f->room : 32;
            struct member *more =
                wbi_arena_grow(f->arena, f->members, f->room * sizeof(*more), room * sizeof(*more));
            if (more == NULL)
                return WB_ENOMEM;
            f->members = more;
            f->room = room;
        }
        f->members[f->n++] = (struct member){name, key_val};
    }
    return WB_OK;
}

/* Where other members are refused, those of branches alone never fit. */
static wb_rc collect(struct flat *f)
{
    const wbi_json *others = wbi_json_get(f->root, "additionalProperties");
    wb_rc rc = WB_OK;

    if (!wbi_json_is(others, WBI_JSON_BOOL) || wbi_json_true(others))
        add_branches(f, f->root);
    for (size_t i = 0; i < f->n_branches && rc == WB_OK; i++) {
        rc = add_members(f, f->branches[i]);
        add_branches(f, f->branches[i]);
    }
    return rc;
}

/* One that branches see differently may be any of what they say. */
static void write_member(struct wbi_jw *w, const struct flat *f, size_t first)
{
    struct wbi_str name = f->members[first].name;
    size_t others = 0;

    for (size_t i = first + 1; i < f->n; i++)
        others += wbi_str_eq(f->members[i].name, name);
    wbi_jw_keyn(w, name);
    if (others == 0) {
        wbi_jw_val(w, f->members[first].schema);
        return;
    }
    wbi_jw_obj(w);
    wbi_jw_key(w, "anyOf");
    wbi_jw_arr(w);
    for (size_t i = first; i < f->n; i++)
        if (wbi_str_eq(f->members[i].name, name))
            wbi_jw_val(w, f->members[i].schema);
    wbi_jw_arr_end(w);
    wbi_jw_obj_end(w);
}

static void write_properties(struct wbi_jw *w, const struct flat *f)
{
    wbi_jw_key(w, "properties");
    wbi_jw_obj(w);
    WBI_JSON_EACH_MEMBER (wbi_json_get_as(f->root, "properties", WBI_JSON_OBJ), key) {
        wbi_jw_keyn(w, wbi_json_str(key));
        wbi_jw_val(w, key_val);
    }
    for (size_t i = 0; i < f->n; i++) {
        struct flat before = *f;

        before.n = i;
        if (!has(&before, f->members[i].name, NULL))
            write_member(w, f, i);
    }
    wbi_jw_obj_end(w);
}

/* What the schema said of itself, and what is no longer in it. */
static wb_rc write_description(struct wbi_jw *w, const struct flat *f)
{
    struct wbi_str own = wbi_json_get_str(f->root, "description");
    struct wbi_buf gone, text;
    struct wbi_jw g = wbi_jw_to(&gone);

    wbi_buf_init_arena(&gone, f->arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init_arena(&text, f->arena, WBI_LIMIT_JSON_TEXT);
    wbi_jw_obj(&g);
    WBI_JSON_EACH_MEMBER (f->root, key) {
        if (!is_choice(wbi_json_str(key)))
            continue;
        wbi_jw_keyn(&g, wbi_json_str(key));
        wbi_jw_val(&g, key_val);
    }
    wbi_jw_obj_end(&g);
    wbi_buf_adds(&text, own);
    if (gone.n > 2)
        wbi_buf_addz(&text, own.n > 0 ? "\n\n" : "");
    if (gone.n > 2 && gone.n <= QUOTED)
        wbi_buf_addf(&text, "It must also fit this JSON Schema: %.*s", WBI_FMT(wbi_buf_str(&gone)));
    else if (gone.n > 2)
        wbi_buf_addz(&text, "Not every combination of members is accepted; a call that does not "
                            "fit is refused with the reason.");
    if (wbi_buf_rc(&gone) != WB_OK || wbi_buf_rc(&text) != WB_OK)
        return WB_ENOMEM;
    if (text.n > 0)
        wbi_jw_kstr(w, "description", wbi_buf_str(&text));
    return WB_OK;
}

static wb_rc write_flat(struct wbi_jw *w, const struct flat *f)
{
    const wbi_json *type = wbi_json_get(f->root, "type");
    wb_rc rc;

    wbi_jw_obj(w);
    if (wbi_definition_takes_object(f->root))
        wbi_jw_kstrz(w, "type", "object");
    else
        wbi_jw_kval(w, "type", type);
    rc = write_description(w, f);
    write_properties(w, f);
    WBI_JSON_EACH_MEMBER (f->root, key) {
        struct wbi_str keyword = wbi_json_str(key);

        if (is_choice(keyword) || wbi_str_eqz(keyword, "type") ||
            wbi_str_eqz(keyword, "description") || wbi_str_eqz(keyword, "properties"))
            continue;
        wbi_jw_keyn(w, keyword);
        wbi_jw_val(w, key_val);
    }
    wbi_jw_obj_end(w);
    return rc;
}

wb_rc wbi_schema_flat(struct wbi_arena *arena, const wbi_json *schema, const wbi_json **ret,
                      struct wbi_error *err)
{
    struct flat *f;
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);
    bool any = wbi_json_is(wbi_json_get(schema, "type"), WBI_JSON_ARR);

    for (size_t i = 0; i < WBI_COUNT(choices); i++)
        any |= wbi_json_get(schema, choices[i]) != NULL;
    *ret = schema;
    if (!any)
        return WB_OK;
    f = wbi_arena_zalloc(arena, sizeof(*f));
    if (f == NULL)
        return wbi_fail_nomem(err);
    f->arena = arena;
    f->root = schema;
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    if (collect(f) != WB_OK || write_flat(&w, f) != WB_OK || wbi_buf_rc(&text) != WB_OK)
        return wbi_fail_nomem(err);
    return wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, ret, err);
}
