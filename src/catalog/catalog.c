/* SPDX-License-Identifier: Apache-2.0
 * catalog/catalog.c: building a snapshot and finding tools in it.
 * (1) A snapshot never changes and dies with its last reference; what a tool was
 * read into is counted too, and goes from snapshot to snapshot as it is. (2) Tools are sorted by
 * model name, versions of one tool stand together, highest first. (3) Model names depend on the set
 * of tools alone, not on the order they were added in. */
#include "catalog/catalog.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/limits.h"
#include "catalog/descriptor.h"
#include "catalog/semver.h"
#include "json/canonical.h"
#include "schema/schema.h"

struct wbi_catalog {
    atomic_size_t refs;
    struct wbi_arena *arena;
    struct wbi_tool *tools;
    size_t count;
    struct wbi_names *names;
};

struct wbi_catalog_builder {
    struct wbi_arena *arena, *scratch;
    struct wbi_tool *tools;
    size_t count;
    size_t cap;
    uint32_t *slots; /* by the hash of qualified names: an index of tools, plus one */
    size_t slot_count;
    struct wbi_name_servers servers;
};

/* What the members of a tool point into. */
struct wbi_tool_body {
    atomic_size_t refs;
    struct wbi_arena *arena;
};

#define CATALOG_BYTES ((size_t)512 * WBI_MIB)

wb_rc wbi_catalog_builder_new(struct wbi_catalog_builder **ret)
{
    struct wbi_catalog_builder *b = wbi_zalloc(sizeof(*b));

    if (b == NULL)
        return WB_ENOMEM;
    if (wbi_arena_new(CATALOG_BYTES, &b->arena) != WB_OK ||
        wbi_arena_new(CATALOG_BYTES, &b->scratch) != WB_OK) {
        wbi_catalog_builder_free(b);
        return WB_ENOMEM;
    }
    *ret = b;
    return WB_OK;
}

void wbi_catalog_builder_free(struct wbi_catalog_builder *b)
{
    if (b == NULL)
        return;
    wbi_arena_free(b->scratch);
    wbi_arena_free(b->arena);
    wbi_free(b);
}

/* ---- what a tool was read into ---- */

static struct wbi_tool_body *body_new(void)
{
    struct wbi_tool_body *body = wbi_zalloc(sizeof(*body));

    if (body == NULL)
        return NULL;
    atomic_init(&body->refs, 1);
    if (wbi_arena_new_small(CATALOG_BYTES, &body->arena) == WB_OK)
        return body;
    wbi_free(body);
    return NULL;
}

static void body_unref(void *arg)
{
    struct wbi_tool_body *body = arg;

    if (atomic_fetch_sub(&body->refs, 1) != 1)
        return;
    wbi_arena_free(body->arena);
    wbi_free(body);
}

/* ---- adding ---- */

static struct wbi_tool *new_tool(struct wbi_catalog_builder *b)
{
    if (b->count == b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 32;
        struct wbi_tool *tools =
            wbi_arena_grow(b->arena, b->tools, b->cap * sizeof(*tools), cap * sizeof(*tools));
        if (tools == NULL)
            return NULL;
        b->tools = tools;
        b->cap = cap;
    }
    return &b->tools[b->count];
}

static void unref_schema(void *schema)
{
    wbi_schema_free(schema);
}

static wb_rc compile(struct wbi_arena *arena, const wbi_json *schema, const char *which,
                     struct wbi_schema **ret, struct wbi_error *err)
{
    struct wbi_error inner = WBI_ERROR_INIT;
    wb_rc rc = wbi_schema_compile(schema, NULL, ret, &inner);

    if (rc != WB_OK)
        return wbi_fail(err, rc, "%s: %s", which, inner.text);
    rc = wbi_arena_defer(arena, unref_schema, *ret);
    if (rc != WB_OK) {
        wbi_schema_free(*ret);
        return wbi_fail_nomem(err);
    }
    return WB_OK;
}

static wb_rc compile_schemas(struct wbi_arena *arena, struct wbi_tool *t, struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    if (t->input_schema == NULL)
        rc = wbi_json_read(arena,
                           t->input_kind == WBI_INPUT_TEXT ? WBI_LIT(WBI_TOOL_ANY_TEXT)
                                                           : WBI_LIT(WBI_TOOL_ANY_OBJECT),
                           WBI_JSON_STRICT, &t->input_schema, err);
    if (rc == WB_OK)
        rc = compile(arena, t->input_schema, "inputSchema", &t->input_compiled, err);
    if (rc == WB_OK && t->output_schema != NULL)
        rc = compile(arena, t->output_schema, "outputSchema", &t->output_compiled, err);
    return rc;
}

/* The hash of the canonical descriptor: pins and cache keys (C8.7). */
static wb_rc hash_descriptor(struct wbi_arena *scratch, struct wbi_tool *t, struct wbi_error *err)
{
    struct wbi_buf text;
    wb_rc rc;

    wbi_buf_init_arena(&text, scratch, WBI_LIMIT_JSON_TEXT);
    rc = wbi_json_canonical(t->descriptor, &text, err);
    if (rc == WB_EINPUT) { /* huge numbers have no canonical form: hash them as written */
        wbi_buf_clear(&text);
        wbi_json_write(&text, t->descriptor);
        rc = wbi_buf_rc(&text);
    }
    t->mcp_headers = wbi_str_find(wbi_buf_str(&text), WBI_LIT("\"x-mcp-header\":")) < text.n;
    if (rc == WB_OK)
        rc = wbi_sha256(text.p, text.n, t->content_hash);
    return rc == WB_OK ? WB_OK : wbi_fail(err, rc, "cannot hash the descriptor");
}

static wb_rc copy_json(struct wbi_arena *arena, struct wbi_arena *scratch, const wbi_json *v,
                       const wbi_json **ret, struct wbi_error *err)
{
    struct wbi_buf text;

    wbi_buf_init_arena(&text, scratch, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, v);
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_fail_nomem(err);
    return wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, ret, err);
}

static wb_rc bind(struct wbi_arena *arena, struct wbi_tool *t,
                  const struct wbi_tool_binding *binding, struct wbi_error *err)
{
    struct wbi_str declared = t->qualified;

    t->family = binding->family;
    t->ops = binding->ops;
    t->ops_arg = binding->ops_arg;
    t->builtin = binding->builtin;
    t->hidden = binding->hidden;
    if (t->timeout_ms == 0)
        t->timeout_ms = binding->timeout_ms;
    t->prefix = wbi_arena_str(arena, binding->prefix);
    t->blocked = wbi_arena_str(arena, binding->blocked);
    if ((binding->blocked.p != NULL && t->blocked.p == NULL) ||
        (binding->prefix.p != NULL && t->prefix.p == NULL))
        return wbi_fail_nomem(err);
    t->origin = binding->origin.p ? wbi_arena_str(arena, binding->origin) : WBI_LIT("local");
    if (wbi_str_starts(declared, WBI_LIT("local::")) || wbi_str_starts(declared, WBI_LIT("mcp::")))
        t->qualified = declared;
    else
        t->qualified = wbi_arena_fmt(arena, "%.*s::%.*s", WBI_FMT(t->origin), WBI_FMT(declared));
    if (t->qualified.p == NULL || t->origin.p == NULL)
        return wbi_fail_nomem(err);
    if (!wbi_str_starts(t->qualified, t->origin))
        return wbi_fail(err, WB_EINPUT, "name \"%.*s\" does not belong to origin %.*s",
                        WBI_FMT(declared), WBI_FMT(t->origin));
    return WB_OK;
}

/* The first slot to look into for a name; those that follow hold the others of its hash. */
static size_t slot_of(const struct wbi_catalog_builder *b, struct wbi_str qualified)
{
    return wbi_hash64(qualified.p, qualified.n, 0) & (b->slot_count - 1);
}

/* The next tool of that name from *slot on, b->count when there is none left. */
static size_t next_named(const struct wbi_catalog_builder *b, struct wbi_str qualified,
                         size_t *slot)
{
    while (b->slot_count > 0 && b->slots[*slot] != 0) {
        size_t i = b->slots[*slot] - 1;

        *slot = (*slot + 1) & (b->slot_count - 1);
        if (wbi_str_eq(b->tools[i].qualified, qualified))
            return i;
    }
    return b->count;
}

static void enter(struct wbi_catalog_builder *b, size_t i)
{
    size_t slot = slot_of(b, b->tools[i].qualified);

    while (b->slots[slot] != 0)
        slot = (slot + 1) & (b->slot_count - 1);
    b->slots[slot] = (uint32_t)i + 1;
}

/* At most half of the slots are taken. */
static bool room_for_one(struct wbi_catalog_builder *b)
{
    size_t n = b->slot_count ? b->slot_count * 2 : 64;
    uint32_t *slots;

    if ((b->count + 1) * 2 <= b->slot_count)
        return true;
    slots = wbi_arena_array(b->arena, n, sizeof(*slots));
    if (slots == NULL)
        return false;
    b->slots = slots;
    b->slot_count = n;
    for (size_t i = 0; i < b->count; i++)
        enter(b, i);
    return true;
}

static wb_rc refuse_twin(const struct wbi_catalog_builder *b, const struct wbi_tool *t,
                         struct wbi_error *err)
{
    size_t slot = slot_of(b, t->qualified), i;

    while ((i = next_named(b, t->qualified, &slot)) < b->count) {
        if (b->tools[i].builtin != t->builtin) /* commands and other tools rely on those */
            return wbi_fail(err, WB_EEXISTS,
                            "%.*s is a built-in tool, of which there are no other versions; "
                            "take another name",
                            WBI_FMT(t->qualified));
        if (wbi_str_eq(b->tools[i].version, t->version))
            return wbi_fail(err, WB_EEXISTS, "tool %.*s has a version %.*s already",
                            WBI_FMT(t->qualified), WBI_FMT(t->version));
    }
    return WB_OK;
}

static wb_rc read_tool(struct wbi_catalog_builder *b, struct wbi_arena *arena,
                       const wbi_json *descriptor, const struct wbi_tool_binding *binding,
                       struct wbi_tool *t, struct wbi_error *err)
{
    const wbi_json *copy;
    wb_rc rc = copy_json(arena, b->scratch, descriptor, &copy, err);

    if (rc == WB_OK)
        rc = wbi_descriptor_read(copy, t, err);
    if (rc == WB_OK)
        rc = bind(arena, t, binding, err);
    if (rc == WB_OK)
        rc = refuse_twin(b, t, err);
    if (rc == WB_OK)
        rc = compile_schemas(arena, t, err);
    if (rc == WB_OK)
        rc = hash_descriptor(b->scratch, t, err);
    wbi_arena_reset(b->scratch);
    return rc;
}

/* The body goes with the catalog, and at once when that cannot be. */
static wb_rc keep(struct wbi_catalog_builder *b, struct wbi_tool *t, struct wbi_tool_body *body,
                  struct wbi_error *err)
{
    if (wbi_arena_defer(b->arena, body_unref, body) != WB_OK) {
        body_unref(body);
        return wbi_fail_nomem(err);
    }
    t->body = body;
    enter(b, b->count++);
    return WB_OK;
}

wb_rc wbi_catalog_add(struct wbi_catalog_builder *b, const wbi_json *descriptor,
                      const struct wbi_tool_binding *binding, struct wbi_error *err)
{
    struct wbi_tool *t = new_tool(b);
    struct wbi_tool_body *body;
    wb_rc rc;

    if (t == NULL || !room_for_one(b) || (body = body_new()) == NULL)
        return wbi_fail_nomem(err);
    rc = read_tool(b, body->arena, descriptor, binding, t, err);
    if (rc == WB_OK)
        return keep(b, t, body, err);
    body_unref(body);
    return rc;
}

static wb_rc add_again(struct wbi_catalog_builder *b, const struct wbi_tool *from,
                       struct wbi_error *err)
{
    struct wbi_tool *t = new_tool(b);
    wb_rc rc;

    if (t == NULL || !room_for_one(b))
        return wbi_fail_nomem(err);
    *t = *from;
    t->model_name = WBI_NONE; /* it depends on who else is there */
    rc = refuse_twin(b, t, err);
    if (rc != WB_OK)
        return rc;
    atomic_fetch_add(&from->body->refs, 1);
    return keep(b, t, from->body, err);
}

wb_rc wbi_catalog_add_all(struct wbi_catalog_builder *b, const struct wbi_catalog *from,
                          struct wbi_error *err)
{
    return wbi_catalog_add_others(b, from, WBI_NONE, err);
}

wb_rc wbi_catalog_add_others(struct wbi_catalog_builder *b, const struct wbi_catalog *from,
                             struct wbi_str origin, struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < from->count; i++)
        if (origin.p == NULL || !wbi_str_eq(from->tools[i].origin, origin))
            rc = add_again(b, &from->tools[i], err);
    return rc;
}

/* Highest first; what is no SemVer (provider pins) last, in byte order. */
static int version_order(const struct wbi_tool *a, const struct wbi_tool *b)
{
    struct wbi_semver va, vb;
    bool fa = wbi_semver_parse(a->version, &va, NULL) == WB_OK;
    bool fb = wbi_semver_parse(b->version, &vb, NULL) == WB_OK;
    int order = 0;

    if (fa && fb)
        order = -wbi_semver_compare(&va, &vb);
    else if (fa != fb)
        return fa ? -1 : 1;
    return order ? order : wbi_str_cmp(a->version, b->version);
}

static int tool_order(const void *pa, const void *pb)
{
    const struct wbi_tool *a = pa, *b = pb;
    int order = wbi_str_cmp(a->model_name, b->model_name);

    return order ? order : version_order(a, b);
}

/* Versions of one tool share its name. */
static size_t unique_names(const struct wbi_catalog_builder *b, struct wbi_name_in *in)
{
    size_t n = 0;

    for (size_t i = 0; i < b->count; i++) {
        size_t slot = slot_of(b, b->tools[i].qualified);

        if (next_named(b, b->tools[i].qualified, &slot) == i)
            in[n++] = (struct wbi_name_in){b->tools[i].qualified, b->tools[i].builtin,
                                           b->tools[i].prefix};
    }
    return n;
}

static wb_rc settle_names(struct wbi_catalog_builder *b, struct wbi_names **ret,
                          struct wbi_error *err)
{
    struct wbi_name_in *in = wbi_arena_array(b->arena, b->count, sizeof(*in));
    wb_rc rc;

    if (in == NULL)
        return wbi_fail_nomem(err);
    rc = wbi_names_new(in, unique_names(b, in), &b->servers, ret, err);
    if (rc != WB_OK)
        return rc;
    for (size_t i = 0; i < b->count; i++) {
        const struct wbi_name *name = wbi_names_find(*ret, WBI_NONE, b->tools[i].qualified);
        b->tools[i].model_name = name->model;
    }
    return WB_OK;
}

void wbi_catalog_servers(struct wbi_catalog_builder *b, const struct wbi_name_servers *servers)
{
    b->servers = *servers;
}

wb_rc wbi_catalog_build(struct wbi_catalog_builder *b, struct wbi_catalog **ret,
                        struct wbi_error *err)
{
    struct wbi_catalog *c;
    struct wbi_names *names;
    wb_rc rc = settle_names(b, &names, err);

    if (rc != WB_OK)
        return rc;
    c = wbi_zalloc(sizeof(*c));
    if (c == NULL) {
        wbi_names_free(names);
        return wbi_fail_nomem(err);
    }
    if (b->count > 1)
        qsort(b->tools, b->count, sizeof(*b->tools), tool_order);
    atomic_init(&c->refs, 1);
    c->arena = b->arena;
    c->tools = b->tools;
    c->count = b->count;
    c->names = names;
    wbi_arena_free(b->scratch);
    wbi_free(b);
    *ret = c;
    return WB_OK;
}

struct wbi_catalog *wbi_catalog_ref(struct wbi_catalog *c)
{
    atomic_fetch_add(&c->refs, 1);
    return c;
}

void wbi_catalog_unref(struct wbi_catalog *c)
{
    if (c == NULL || atomic_fetch_sub(&c->refs, 1) != 1)
        return;
    wbi_names_free(c->names);
    wbi_arena_free(c->arena);
    wbi_free(c);
}

size_t wbi_catalog_count(const struct wbi_catalog *c)
{
    return c->count;
}

const struct wbi_tool *wbi_catalog_at(const struct wbi_catalog *c, size_t i)
{
    return i < c->count ? &c->tools[i] : NULL;
}

/* ---- resolving ---- */

/* First index whose model name is not below name. */
static size_t lower_bound(const struct wbi_catalog *c, struct wbi_str name)
{
    size_t low = 0, high = c->count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (wbi_str_cmp(c->tools[mid].model_name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static size_t versions_from(const struct wbi_catalog *c, size_t first)
{
    size_t n = 0;

    while (first + n < c->count &&
           wbi_str_eq(c->tools[first + n].model_name, c->tools[first].model_name))
        n++;
    return n;
}

static enum wbi_sight sight(const struct wbi_viewer *viewer, const struct wbi_tool *t)
{
    return viewer ? viewer->sees(viewer, t) : WBI_SIGHT_CLEAR;
}

static bool is_local_named(const struct wbi_tool *t, struct wbi_str name)
{
    return wbi_str_starts(t->qualified, WBI_LIT("local::")) &&
           wbi_str_eq(wbi_str_from(t->qualified, 7), name);
}

/* What may have been meant, NULL when that is not this tool: without a namespace, another case, or
 * a local tool that has another name because this one is kept for a server. */
static const char *hint_of(const struct wbi_tool *t, struct wbi_str name_space, struct wbi_str name)
{
    if (name_space.n > 0)
        return wbi_str_eq(t->model_name, name) ? "without a namespace there is" : NULL;
    if (wbi_str_ieq(t->model_name, name))
        return "names are case-sensitive, there is";
    return is_local_named(t, name) ? "that would be a server's, the local tool is" : NULL;
}

static wb_rc no_such_tool(const struct wbi_catalog *c, const struct wbi_viewer *viewer,
                          struct wbi_str name_space, struct wbi_str name, struct wbi_error *err)
{
    char place[160] = "", meant[160] = "";

    if (name_space.n > 0)
        (void)snprintf(place, sizeof(place), " in the namespace \"%.*s\"",
                       WBI_FMT(wbi_str_head(name_space, 100)));
    for (size_t i = 0; i < c->count && meant[0] == '\0'; i++) {
        const struct wbi_tool *t = &c->tools[i];
        const char *hint = hint_of(t, name_space, name);

        if (!t->hidden && hint != NULL && sight(viewer, t) != WBI_SIGHT_HIDDEN)
            (void)snprintf(meant, sizeof(meant), "; %s \"%.*s\"", hint, WBI_FMT(t->model_name));
    }
    return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_UNKNOWN_TOOL, "there is no tool \"%.*s\"%s%s",
                         WBI_FMT(wbi_str_head(name, 128)), place, meant);
}

/* Versions of one tool as somebody sees them, highest first. */
struct seen {
    const struct wbi_tool **tools;
    struct wbi_str *versions; /* of them */
    size_t n;
};

static wb_rc no_such_version(const struct seen *seen, struct wbi_str range, struct wbi_error *err)
{
    char list[200] = "";
    size_t at = 0;

    for (size_t i = 0; i < seen->n && at + seen->versions[i].n + 3 < sizeof(list); i++) {
        memcpy(list + at, seen->versions[i].p, seen->versions[i].n);
        at += seen->versions[i].n;
        memcpy(list + at, ", ", 3);
        at += 2;
    }
    if (at >= 2)
        list[at - 2] = '\0';
    return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_UNSUPPORTED_VERSION,
                         "no version of %.*s fits \"%.*s\"; available: %s",
                         WBI_FMT(seen->tools[0]->model_name), WBI_FMT(wbi_str_head(range, 80)),
                         list);
}

/* Exact strings first (pins), then SemVer. */
static wb_rc pick_version(const struct seen *seen, struct wbi_arena *arena, struct wbi_str range,
                          const struct wbi_tool **ret, struct wbi_error *err)
{
    size_t index = 0;
    wb_rc rc = WB_OK;

    while (index < seen->n && !wbi_str_eq(seen->versions[index], range))
        index++;
    if (index == seen->n)
        rc = wbi_semver_pick(arena, range, seen->versions, seen->n, &index, err);
    if (rc == WB_ENOTFOUND)
        return no_such_version(seen, range, err);
    if (rc == WB_EINPUT && err != NULL)
        err->kind = WBI_KIND_UNSUPPORTED_VERSION;
    if (rc == WB_OK)
        *ret = seen->tools[index];
    return rc;
}

static wb_rc see(const struct wbi_viewer *viewer, enum wbi_sight as, const struct wbi_tool *tools,
                 size_t n, struct wbi_arena *arena, struct seen *ret, struct wbi_error *err)
{
    ret->n = 0;
    ret->tools = wbi_arena_array(arena, n, sizeof(const struct wbi_tool *));
    ret->versions = wbi_arena_array(arena, n, sizeof(*ret->versions));
    if (ret->tools == NULL || ret->versions == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = 0; i < n; i++) {
        if (sight(viewer, &tools[i]) != as)
            continue;
        ret->tools[ret->n] = &tools[i];
        ret->versions[ret->n++] = tools[i].version;
    }
    return WB_OK;
}

/* What may be called first; what is barred only where nothing else fits. */
static wb_rc pick_seen(const struct wbi_catalog *c, const struct wbi_viewer *viewer, size_t first,
                       struct wbi_arena *arena, struct wbi_str name_space, struct wbi_str name,
                       struct wbi_str range, const struct wbi_tool **ret, struct wbi_error *err)
{
    size_t n = versions_from(c, first);
    struct seen clear, barred;
    wb_rc rc = see(viewer, WBI_SIGHT_CLEAR, &c->tools[first], n, arena, &clear, err);

    if (rc != WB_OK)
        return rc;
    if (clear.n > 0) {
        rc = pick_version(&clear, arena, range, ret, err);
        if (rc != WB_ENOTFOUND || clear.n == n)
            return rc;
    }
    rc = see(viewer, WBI_SIGHT_BARRED, &c->tools[first], n, arena, &barred, err);
    if (rc != WB_OK)
        return rc;
    if (clear.n + barred.n == 0)
        return no_such_tool(c, viewer, name_space, name, err);
    if (clear.n == 0)
        return pick_version(&barred, arena, range, ret, err);
    if (barred.n > 0 && pick_version(&barred, arena, range, ret, NULL) == WB_OK)
        return WB_OK;
    return WB_ENOTFOUND; /* err tells of what may be called */
}

/* No range means the highest release; a pre-release only if nothing else is
 * there (npm's `latest` never picks one). NULL: none is seen so. */
static const struct wbi_tool *highest(const struct wbi_viewer *viewer, enum wbi_sight as,
                                      const struct wbi_tool *tools, size_t n)
{
    const struct wbi_tool *found = NULL;

    if (n == 1) /* whichever it is */
        return sight(viewer, tools) == as ? tools : NULL;
    for (size_t i = 0; i < n; i++) {
        struct wbi_semver v;
        bool release = wbi_semver_parse(tools[i].version, &v, NULL) == WB_OK && v.pre.p == NULL;
        if ((!release && found != NULL) || sight(viewer, &tools[i]) != as)
            continue;
        if (release)
            return &tools[i];
        found = &tools[i];
    }
    return found;
}

wb_rc wbi_catalog_resolve(const struct wbi_catalog *c, struct wbi_arena *arena,
                          const struct wbi_viewer *viewer, struct wbi_str name_space,
                          struct wbi_str name, struct wbi_str range, const struct wbi_tool **ret,
                          struct wbi_error *err)
{
    const struct wbi_name *found = wbi_names_find(c->names, name_space, name);
    const struct wbi_tool *picked;
    size_t first, n;

    if (found == NULL)
        return no_such_tool(c, viewer, name_space, name, err);
    first = lower_bound(c, found->model);
    if (wbi_str_trim(range).n > 0)
        return pick_seen(c, viewer, first, arena, name_space, name, range, ret, err);
    n = versions_from(c, first);
    picked = highest(viewer, WBI_SIGHT_CLEAR, &c->tools[first], n);
    if (picked == NULL)
        picked = highest(viewer, WBI_SIGHT_BARRED, &c->tools[first], n);
    if (picked == NULL)
        return no_such_tool(c, viewer, name_space, name, err);
    *ret = picked;
    return WB_OK;
}
