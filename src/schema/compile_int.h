/* SPDX-License-Identifier: Apache-2.0
 * schema/compile_int.h: the compiler's own state, gone when it is done.
 * Jobs are values that still have to become nodes; references are resolved
 * when no job is left, since any of them may define what they name. */
#ifndef WBI_SCHEMA_COMPILE_INT_H
#define WBI_SCHEMA_COMPILE_INT_H

#include "schema/schema_int.h"

struct wbi_dialect {
    unsigned draft;      /* IN_07 or IN_2020 */
    unsigned vocabulary; /* VOCAB_ bits */
    uint64_t keywords;   /* bit of each keyword that means something */
};

struct wbi_document {
    const wbi_json *root;
    uint32_t n;        /* values */
    uint32_t *node_of; /* by place of the value, 0: none yet */
};

/* What a resource is while compiling, beside struct wbi_resource. */
struct wbi_origin {
    uint32_t document;
    struct wbi_dialect dialect;
};

/* A URI (resource == NO_NODE) or an anchor within a resource. */
struct wbi_named_place {
    struct wbi_str name;
    uint32_t resource;
    bool used;
    bool dynamic;
    uint32_t leads_to;     /* resource, for a URI */
    const wbi_json *value; /* for an anchor */
};

struct wbi_job {
    const wbi_json *value;
    uint32_t node;
    uint32_t resource;
};

struct wbi_pending {
    struct wbi_op *op;
    const wbi_json *value; /* the string of the reference */
    uint32_t resource;
};

struct wbi_compiler {
    struct wbi_schema *schema;
    struct wbi_arena *arena; /* the schema's */
    struct wbi_arena *scratch;
    const struct wbi_schema_options *opt;
    struct wbi_error *err;
    struct wbi_node *nodes;
    size_t n_nodes, cap_nodes;
    struct wbi_resource *resources;
    size_t n_resources, cap_resources;
    struct wbi_origin *origins;
    size_t cap_origins;
    struct wbi_document *documents;
    size_t n_documents, cap_documents;
    struct wbi_named_place *places;
    size_t n_places, cap_places; /* cap is a power of two */
    struct wbi_job *jobs;
    size_t n_jobs, cap_jobs;
    struct wbi_pending *pending;
    size_t n_pending, cap_pending;
    size_t n_patterns;
};

/* One schema object being turned into a node. */
struct wbi_build {
    struct wbi_compiler *c;
    const wbi_json *value;
    uint32_t resource;
    struct wbi_dialect dialect;
    uint64_t present; /* bit of each keyword that is there and means something */
    struct wbi_node node;
    const wbi_json *keyword[KW_COUNT];
};

static inline const wbi_json *wbi_build_get(const struct wbi_build *b, enum wbi_keyword k)
{
    return b->present >> k & 1 ? b->keyword[k] : NULL;
}

/* compile.c */
/* Room for one more element of size bytes in a list of the scratch arena. */
WB_MUST_CHECK wb_rc wbi_compile_room(struct wbi_compiler *c, void **list, size_t *cap, size_t n,
                                     size_t size);
/* Fill err with the place of value and return rc. */
__attribute__((format(printf, 4, 5))) wb_rc
wbi_compile_fail(struct wbi_compiler *c, const wbi_json *value, wb_rc rc, const char *fmt, ...);
/* A node for value, to be built by a later job; the one it has already, if any. */
WB_MUST_CHECK wb_rc wbi_compile_node(struct wbi_compiler *c, const wbi_json *value,
                                     uint32_t resource, uint32_t *ret);
WB_MUST_CHECK wb_rc wbi_compile_jobs(struct wbi_compiler *c);

/* load.c: documents, resources, names, dialects. */
WB_MUST_CHECK wb_rc wbi_load_document(struct wbi_compiler *c, const wbi_json *root,
                                      struct wbi_str uri, enum wbi_schema_draft forced,
                                      uint32_t *ret_resource);
/* Find the resource of an absolute URI, loading its document if need be. */
WB_MUST_CHECK wb_rc wbi_load_uri(struct wbi_compiler *c, struct wbi_str uri,
                                 const wbi_json *asked_by, uint32_t *ret_resource);
/* The anchor's place, NULL when the resource has no such anchor. */
const struct wbi_named_place *wbi_find_anchor(const struct wbi_compiler *c, uint32_t resource,
                                              struct wbi_str name);
/* $id, $anchor and $dynamicAnchor of b; may change b->resource and b->dialect. */
WB_MUST_CHECK wb_rc wbi_load_names(struct wbi_build *b, uint32_t node);
struct wbi_str wbi_embedded_schema(struct wbi_str uri);

/* build.c, build_object.c, build_ops.c */
WB_MUST_CHECK wb_rc wbi_build_node(struct wbi_compiler *c, const struct wbi_job *job);
WB_MUST_CHECK wb_rc wbi_build_count(struct wbi_build *b, enum wbi_keyword k, uint64_t *ret);
WB_MUST_CHECK wb_rc wbi_build_regex(struct wbi_build *b, const wbi_json *key,
                                    struct wbi_regex **ret);
WB_MUST_CHECK wb_rc wbi_build_object(struct wbi_build *b);
WB_MUST_CHECK wb_rc wbi_build_array(struct wbi_build *b);
WB_MUST_CHECK wb_rc wbi_build_ops(struct wbi_build *b);

/* refs.c */
WB_MUST_CHECK wb_rc wbi_resolve_refs(struct wbi_compiler *c);
/* Refuse schemas that would apply themselves to the same value for ever. */
WB_MUST_CHECK wb_rc wbi_refuse_loops(struct wbi_compiler *c);

#endif
