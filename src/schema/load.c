/* SPDX-License-Identifier: Apache-2.0
 * schema/load.c: documents, and what "$id", "$schema" and anchors call things.
 * Documents are copied whole into the schema's arena: values are flat, so a
 * copy is one memcpy and new homes for the strings. */
#include "base/checked.h"
#include "base/hash.h"
#include "base/limits.h"
#include "schema/compile_int.h"

static const wbi_json *copy_value(struct wbi_arena *arena, const wbi_json *v)
{
    size_t n = (size_t)(wbi_json_skip(v) - v), bytes = 0;
    wbi_json *copy;
    char *text;

    for (size_t i = 0; i < n; i++)
        bytes += wbi_json_str(&v[i]).n + 1;
    copy = wbi_arena_array(arena, n, sizeof(*copy));
    text = wbi_arena_alloc(arena, bytes);
    if (copy == NULL || text == NULL)
        return NULL;
    memcpy(copy, v, n * sizeof(*copy));
    for (size_t i = 0; i < n; i++) {
        struct wbi_str s = wbi_json_str(&v[i]);
        if (s.p == NULL)
            continue;
        memcpy(text, s.p, s.n);
        text[s.n] = '\0';
        copy[i].uni.str = text;
        text += s.n + 1;
    }
    return copy;
}

static uint64_t keywords_of(const struct wbi_dialect *d)
{
    uint64_t bits = 0;

    for (int k = KW_NONE + 1; k < KW_FALSE; k++) {
        const struct wbi_keyword_row *row = wbi_keyword_row((enum wbi_keyword)k);
        if ((row->drafts & d->draft) != 0 && (row->vocabulary & d->vocabulary) != 0)
            bits |= UINT64_C(1) << k;
    }
    return bits;
}

static struct wbi_dialect dialect_make(unsigned draft, unsigned vocabulary)
{
    struct wbi_dialect d = {draft, vocabulary, 0};

    d.keywords = keywords_of(&d);
    return d;
}

static unsigned draft_of(struct wbi_str uri)
{
    if (wbi_str_ends(uri, WBI_LIT("#")))
        uri.n--;
    if (wbi_str_eqz(uri, "https://json-schema.org/draft/2020-12/schema") ||
        wbi_str_eqz(uri, "http://json-schema.org/draft/2020-12/schema"))
        return IN_2020;
    if (wbi_str_eqz(uri, "http://json-schema.org/draft-07/schema") ||
        wbi_str_eqz(uri, "https://json-schema.org/draft-07/schema"))
        return IN_07;
    return 0;
}

struct vocabulary_name {
    const char *name;
    unsigned bits;
};

static wb_rc read_vocabulary(struct wbi_compiler *c, const wbi_json *asked_by,
                             const wbi_json *vocabulary, unsigned *ret)
{
    static const char prefix[] = "https://json-schema.org/draft/2020-12/vocab/";
    static const struct vocabulary_name known[] = {
        {"core", VOCAB_CORE},
        {"applicator", VOCAB_APPLICATOR},
        {"validation", VOCAB_VALIDATION},
        {"unevaluated", VOCAB_UNEVALUATED},
        {"format-annotation", VOCAB_FORMAT},
        {"format-assertion", VOCAB_FORMAT | VOCAB_FORMAT_ASSERT},
        {"meta-data", 0},
        {"content", 0}};
    unsigned bits = VOCAB_CORE;

    WBI_JSON_EACH_MEMBER (vocabulary, k) {
        struct wbi_str name = wbi_json_text(k);
        size_t i = WBI_COUNT(known);
        if (wbi_str_starts(name, WBI_LIT("https://json-schema.org/draft/2020-12/vocab/")))
            for (i = 0; i < WBI_COUNT(known); i++)
                if (wbi_str_eqz(wbi_str_from(name, sizeof(prefix) - 1), known[i].name))
                    break;
        if (i < WBI_COUNT(known))
            bits |= known[i].bits;
        else if (wbi_json_true(k_val))
            return wbi_compile_fail(c, asked_by, WB_EUNSUPPORTED,
                                    "vocabulary \"%.*s\" is required but not known", WBI_FMT(name));
    }
    *ret = bits;
    return WB_OK;
}

/* The meta-schema of a dialect of one's own that was given, and the draft it stands on. */
static const wbi_json *given_meta(struct wbi_compiler *c, struct wbi_str uri, unsigned *ret_draft)
{
    const wbi_json *meta = NULL;

    if (wbi_str_ends(uri, WBI_LIT("#")))
        uri.n--;
    if (c->opt->remote != NULL)
        meta = c->opt->remote(c->opt->arg, uri);
    *ret_draft = meta != NULL ? draft_of(wbi_json_get_str(meta, "$schema")) : 0;
    return meta;
}

/* A dialect of its own: its meta-schema says which draft and vocabularies. */
static wb_rc custom_dialect(struct wbi_compiler *c, const wbi_json *schema, struct wbi_dialect *ret)
{
    unsigned draft, bits = VOCAB_DEFAULT;
    const wbi_json *meta = given_meta(c, wbi_json_text(schema), &draft), *vocabulary;
    wb_rc rc;

    if (draft == 0)
        return wbi_compile_fail(c, schema, WB_EUNSUPPORTED,
                                "dialect \"%.*s\" is not supported; use JSON Schema 2020-12 or "
                                "draft-07",
                                WBI_FMT(wbi_json_text(schema)));
    vocabulary = wbi_json_get_as(meta, "$vocabulary", WBI_JSON_OBJ);
    if (vocabulary != NULL && draft == IN_2020) {
        rc = read_vocabulary(c, schema, vocabulary, &bits);
        if (rc != WB_OK)
            return rc;
    }
    *ret = dialect_make(draft, bits);
    return WB_OK;
}

/* The dialect "$schema" names; *ret stays as it is when there is none. */
static wb_rc declared_dialect(struct wbi_compiler *c, const wbi_json *object,
                              struct wbi_dialect *ret)
{
    const wbi_json *schema = wbi_json_get(object, "$schema");
    unsigned draft;

    if (schema == NULL)
        return WB_OK;
    if (!wbi_json_is(schema, WBI_JSON_STR))
        return wbi_compile_fail(c, schema, WB_EINPUT, "\"$schema\" must be a string");
    draft = draft_of(wbi_json_text(schema));
    if (draft == 0)
        return custom_dialect(c, schema, ret);
    *ret = dialect_make(draft, VOCAB_DEFAULT);
    return WB_OK;
}

/* A draft that was asked for stands above "$schema", but for a dialect of one's own that
 * stands on that draft: there is no other way to ask for both. */
static wb_rc forced_dialect(struct wbi_compiler *c, const wbi_json *object, struct wbi_dialect *ret)
{
    const wbi_json *schema = wbi_json_get_as(object, "$schema", WBI_JSON_STR);
    unsigned draft = 0;

    if (schema == NULL || draft_of(wbi_json_text(schema)) != 0 ||
        given_meta(c, wbi_json_text(schema), &draft) == NULL || draft != ret->draft)
        return WB_OK;
    return custom_dialect(c, schema, ret);
}

static size_t place_slot(const struct wbi_compiler *c, struct wbi_str name, uint32_t resource)
{
    size_t at = wbi_hash64(name.p, name.n, resource ^ (uint64_t)(uintptr_t)c->scratch);

    for (at &= c->cap_places - 1; c->places[at].used; at = (at + 1) & (c->cap_places - 1))
        if (c->places[at].resource == resource && wbi_str_eq(c->places[at].name, name))
            break;
    return at;
}

static const struct wbi_named_place *find_place(const struct wbi_compiler *c, struct wbi_str name,
                                                uint32_t resource)
{
    size_t at;

    if (c->n_places == 0)
        return NULL;
    at = place_slot(c, name, resource);
    return c->places[at].used ? &c->places[at] : NULL;
}

static wb_rc more_places(struct wbi_compiler *c)
{
    struct wbi_named_place *old = c->places;
    size_t n = c->cap_places;

    if (c->n_places * 2 < n)
        return WB_OK;
    c->cap_places = n == 0 ? 16 : n * 2;
    c->places = wbi_arena_array(c->scratch, c->cap_places, sizeof(*c->places));
    if (c->places == NULL)
        return wbi_fail_nomem(c->err);
    for (size_t i = 0; i < n; i++)
        if (old[i].used)
            c->places[place_slot(c, old[i].name, old[i].resource)] = old[i];
    return WB_OK;
}

/* The first of two equal names stays. */
static wb_rc add_place(struct wbi_compiler *c, const struct wbi_named_place *place)
{
    wb_rc rc = more_places(c);
    size_t at;

    if (rc != WB_OK)
        return rc;
    at = place_slot(c, place->name, place->resource);
    if (c->places[at].used)
        return WB_OK;
    c->places[at] = *place;
    c->places[at].used = true;
    c->n_places++;
    return WB_OK;
}

static wb_rc add_uri(struct wbi_compiler *c, struct wbi_str uri, uint32_t resource)
{
    struct wbi_named_place p = {.name = uri, .resource = NO_NODE, .leads_to = resource};

    return add_place(c, &p);
}

const struct wbi_named_place *wbi_find_anchor(const struct wbi_compiler *c, uint32_t resource,
                                              struct wbi_str name)
{
    return find_place(c, name, resource);
}

static wb_rc add_resource(struct wbi_compiler *c, struct wbi_str uri, const wbi_json *root,
                          uint32_t document, const struct wbi_dialect *dialect, uint32_t *ret)
{
    uint32_t index = (uint32_t)c->n_resources;
    wb_rc rc = wbi_compile_room(c, (void **)&c->resources, &c->cap_resources, index,
                                sizeof(*c->resources));

    if (rc == WB_OK)
        rc = wbi_compile_room(c, (void **)&c->origins, &c->cap_origins, index, sizeof(*c->origins));
    if (rc != WB_OK)
        return rc;
    c->resources[index] = (struct wbi_resource){.uri = uri, .root = root};
    c->origins[index] = (struct wbi_origin){document, *dialect};
    c->n_resources++;
    *ret = index;
    return add_uri(c, uri, index);
}

static wb_rc add_document(struct wbi_compiler *c, const wbi_json *root, uint32_t *ret)
{
    struct wbi_document *d;
    wb_rc rc;

    if (c->n_documents >= WBI_LIMIT_SCHEMA_DOCUMENTS)
        return wbi_fail(c->err, WB_ELIMIT, "more than %u schema documents",
                        WBI_LIMIT_SCHEMA_DOCUMENTS);
    rc = wbi_compile_room(c, (void **)&c->documents, &c->cap_documents, c->n_documents,
                          sizeof(*c->documents));
    if (rc != WB_OK)
        return rc;
    d = &c->documents[c->n_documents];
    d->n = (uint32_t)(wbi_json_skip(root) - root);
    d->root = copy_value(c->arena, root);
    d->node_of = wbi_arena_array(c->scratch, d->n, sizeof(*d->node_of));
    if (d->root == NULL || d->node_of == NULL)
        return wbi_fail_nomem(c->err);
    *ret = (uint32_t)c->n_documents++;
    return WB_OK;
}

wb_rc wbi_load_document(struct wbi_compiler *c, const wbi_json *value, struct wbi_str uri,
                        enum wbi_schema_draft forced, uint32_t *ret_resource)
{
    unsigned draft = c->opt->draft == WBI_SCHEMA_DRAFT_07 ? IN_07 : IN_2020;
    struct wbi_dialect dialect = dialect_make(draft, VOCAB_DEFAULT);
    struct wbi_str base = wbi_arena_str(c->arena, uri.p ? uri : WBI_LIT(""));
    const wbi_json *root;
    uint32_t document = 0;
    wb_rc rc;

    if (base.p == NULL)
        return wbi_fail_nomem(c->err);
    rc = add_document(c, value, &document);
    if (rc != WB_OK)
        return rc;
    root = c->documents[document].root;
    rc = forced == WBI_SCHEMA_AUTO ? declared_dialect(c, root, &dialect)
                                   : forced_dialect(c, root, &dialect);
    if (rc == WB_OK)
        rc = add_resource(c, base, root, document, &dialect, ret_resource);
    return rc;
}

wb_rc wbi_load_uri(struct wbi_compiler *c, struct wbi_str uri, const wbi_json *asked_by,
                   uint32_t *ret_resource)
{
    const struct wbi_named_place *known = find_place(c, uri, NO_NODE);
    struct wbi_str text;
    const wbi_json *root = NULL;
    uint32_t node;
    wb_rc rc = WB_OK;

    if (known != NULL) {
        *ret_resource = known->leads_to;
        return WB_OK;
    }
    text = wbi_embedded_schema(uri);
    if (text.p != NULL)
        rc = wbi_json_read(c->scratch, text, WBI_JSON_STRICT, &root, c->err);
    else if (c->opt->remote != NULL)
        root = c->opt->remote(c->opt->arg, uri);
    if (rc == WB_OK && root == NULL)
        return wbi_compile_fail(c, asked_by, WB_EUNSUPPORTED,
                                "\"%.*s\" is not part of this schema and references are not "
                                "fetched; put it into \"$defs\"",
                                WBI_FMT(uri));
    if (rc == WB_OK)
        rc = wbi_load_document(c, root, uri, WBI_SCHEMA_AUTO, ret_resource);
    if (rc == WB_OK)
        rc = wbi_compile_node(c, c->resources[*ret_resource].root, *ret_resource, &node);
    return rc == WB_OK ? wbi_compile_jobs(c) : rc;
}

static wb_rc name_anchor(struct wbi_build *b, struct wbi_str name, uint32_t node, bool dynamic)
{
    struct wbi_compiler *c = b->c;
    struct wbi_named_place p = {
        .name = name, .resource = b->resource, .value = b->value, .dynamic = dynamic};
    struct wbi_dynamic_anchor *d;

    if (dynamic) {
        d = wbi_arena_zalloc(c->arena, sizeof(*d));
        if (d == NULL)
            return wbi_fail_nomem(c->err);
        *d = (struct wbi_dynamic_anchor){name, node, c->resources[b->resource].dynamic};
        c->resources[b->resource].dynamic = d;
    }
    return add_place(c, &p);
}

/* $id: the root of a document gets another name, others become resources. */
static wb_rc name_resource(struct wbi_build *b, struct wbi_str id)
{
    struct wbi_compiler *c = b->c;
    struct wbi_str uri = wbi_uri_resolve(c->arena, c->resources[b->resource].uri, id);
    struct wbi_dialect dialect = b->dialect;
    wb_rc rc;

    if (uri.p == NULL)
        return wbi_compile_fail(c, b->value, WB_ELIMIT, "\"$id\" is too long");
    if (c->resources[b->resource].root == b->value) {
        c->resources[b->resource].uri = uri;
        return add_uri(c, uri, b->resource);
    }
    rc = declared_dialect(c, b->value, &dialect);
    if (rc == WB_OK)
        rc = add_resource(c, uri, b->value, c->origins[b->resource].document, &dialect,
                          &b->resource);
    b->dialect = dialect;
    return rc;
}

static wb_rc load_id(struct wbi_build *b, const wbi_json *id, uint32_t node)
{
    struct wbi_str text, fragment;
    size_t hash;
    wb_rc rc = WB_OK;

    if (!wbi_json_is(id, WBI_JSON_STR))
        return wbi_compile_fail(b->c, id, WB_EINPUT, "\"$id\" must be a string");
    text = wbi_json_text(id);
    hash = wbi_str_index(text, '#');
    fragment = wbi_str_from(text, hash + 1);
    if (hash > 0 && hash <= text.n && text.n > 0)
        rc = name_resource(b, wbi_str_head(text, hash));
    if (rc != WB_OK || fragment.n == 0)
        return rc;
    if (b->dialect.draft == IN_2020)
        return wbi_compile_fail(b->c, id, WB_EINPUT,
                                "\"$id\" must not have a fragment; use \"$anchor\"");
    return name_anchor(b, fragment, node, false);
}

wb_rc wbi_load_names(struct wbi_build *b, uint32_t node)
{
    static const enum wbi_keyword anchors[] = {KW_ANCHOR, KW_DYNAMIC_ANCHOR};
    const wbi_json *id = wbi_build_get(b, KW_ID);
    wb_rc rc = id != NULL ? load_id(b, id, node) : WB_OK;

    for (size_t i = 0; rc == WB_OK && i < WBI_COUNT(anchors); i++) {
        const wbi_json *anchor = wbi_build_get(b, anchors[i]);
        if (anchor == NULL)
            continue;
        if (!wbi_json_is(anchor, WBI_JSON_STR))
            return wbi_compile_fail(b->c, anchor, WB_EINPUT, "an anchor must be a string");
        rc = name_anchor(b, wbi_json_text(anchor), node, anchors[i] == KW_DYNAMIC_ANCHOR);
    }
    return rc;
}
