/* SPDX-License-Identifier: Apache-2.0
 * api/text.c: the pure functions of waybill/text.h. */
#include "api/api_int.h"
#include "base/limits.h"
#include "catalog/semver.h"
#include "family/envelope.h"
#include "json/canonical.h"
#include "json/pointer.h"

/* Text in, text out: parse into an arena, write into a heap buffer. */
typedef wb_rc transform_fn(struct wbi_arena *arena, const wbi_json *v, struct wbi_buf *out,
                           void *arg, struct wbi_error *err);

static wb_rc transform(const char *text, size_t size, transform_fn *fn, void *arg, char **ret,
                       size_t *ret_size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_arena *arena;
    const wbi_json *v = NULL;
    struct wbi_buf out;
    wb_rc rc;

    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    rc = text == NULL ? WB_OK
                      : wbi_json_read(arena, wbi_str_make(text, size), WBI_JSON_STRICT, &v, &err);
    if (rc == WB_OK)
        rc = fn(arena, v, &out, arg, &err);
    wbi_arena_free(arena);
    if (rc == WB_OK)
        return wbi_api_give(&out, ret, ret_size, reterr);
    wbi_buf_fini(&out);
    err.rc = rc;
    return wbi_api_fail(reterr, &err);
}

wb_rc wb_json_check(const char *text, size_t size, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_arena *arena;
    const wbi_json *v;
    wb_rc rc;

    if (text == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_json_check: text is NULL");
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    rc = wbi_json_read(arena, wbi_str_make(text, size), WBI_JSON_STRICT, &v, &err);
    wbi_arena_free(arena);
    return rc == WB_OK ? WB_OK : wbi_api_fail(reterr, &err);
}

static wb_rc canonical(struct wbi_arena *arena, const wbi_json *v, struct wbi_buf *out, void *arg,
                       struct wbi_error *err)
{
    (void)arena;
    (void)arg;
    return wbi_json_canonical(v, out, err);
}

wb_rc wb_json_canonical(const char *text, size_t size, char **ret, size_t *ret_size,
                        wb_error **reterr)
{
    if (text == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_json_canonical: NULL");
    return transform(text, size, canonical, NULL, ret, ret_size, reterr);
}

static wb_rc pretty(struct wbi_arena *arena, const wbi_json *v, struct wbi_buf *out, void *arg,
                    struct wbi_error *err)
{
    (void)arena;
    (void)arg;
    (void)err;
    wbi_json_pretty(out, v);
    return wbi_buf_rc(out);
}

wb_rc wb_json_pretty(const char *text, size_t size, char **ret, size_t *ret_size, wb_error **reterr)
{
    if (text == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_json_pretty: NULL");
    return transform(text, size, pretty, NULL, ret, ret_size, reterr);
}

static wb_rc follow(struct wbi_arena *arena, const wbi_json *v, struct wbi_buf *out, void *arg,
                    struct wbi_error *err)
{
    const wbi_json *found;
    wb_rc rc = wbi_json_pointer(v, wbi_str_z(arg), &found, err);

    (void)arena;
    if (rc != WB_OK)
        return rc;
    if (wbi_json_is(found, WBI_JSON_STR))
        wbi_buf_adds(out, wbi_json_str(found));
    else
        wbi_json_write(out, found);
    return wbi_buf_rc(out);
}

wb_rc wb_json_pointer(const char *text, size_t size, const char *pointer, char **ret,
                      size_t *ret_size, wb_error **reterr)
{
    if (text == NULL || pointer == NULL || ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_json_pointer: NULL");
    return transform(text, size, follow, (void *)(uintptr_t)pointer, ret, ret_size, reterr);
}

/* ---- times ---- */

wb_rc wb_time_check(const char *text)
{
    int64_t ms;

    if (text == NULL)
        return WB_EMISUSE;
    return wbi_time_parse(wbi_str_z(text), &ms) ? WB_OK : WB_EINPUT;
}

/* ---- SemVer ---- */

wb_rc wb_semver_match(const char *range, const char *version, int *ret_match, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_semver_range *r;
    struct wbi_arena *arena;
    struct wbi_semver v;
    wb_rc rc;

    if (range == NULL || version == NULL || ret_match == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_semver_match: NULL");
    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    rc = wbi_semver_range_parse(arena, wbi_str_z(range), &r, &err);
    if (rc == WB_OK)
        rc = wbi_semver_parse(wbi_str_z(version), &v, &err);
    if (rc == WB_OK)
        *ret_match = wbi_semver_satisfies(r, &v);
    wbi_arena_free(arena);
    return rc == WB_OK ? WB_OK : wbi_api_fail(reterr, &err);
}

static wb_rc pick(struct wbi_arena *arena, const char *range, const char *const *versions,
                  size_t count, size_t *ret_index, struct wbi_error *err)
{
    struct wbi_str *list = wbi_arena_array(arena, count, sizeof(*list));
    struct wbi_semver v;

    if (list == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = 0; i < count; i++) {
        wb_rc rc;
        list[i] = wbi_str_z(versions[i]);
        rc = wbi_semver_parse(list[i], &v, err);
        if (rc != WB_OK)
            return rc;
    }
    return wbi_semver_pick(arena, wbi_str_z(range), list, count, ret_index, err);
}

wb_rc wb_semver_pick(const char *range, const char *const *versions, size_t count,
                     size_t *ret_index, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_arena *arena;
    wb_rc rc;

    if (range == NULL || (versions == NULL && count > 0) || ret_index == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_semver_pick: NULL");
    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return wbi_api_fail_text(reterr, WB_ENOMEM, "out of memory");
    rc = pick(arena, range, versions, count, ret_index, &err);
    wbi_arena_free(arena);
    err.rc = rc;
    return rc == WB_OK ? WB_OK : wbi_api_fail(reterr, &err);
}

wb_rc wb_semver_compare(const char *a, const char *b, int *ret_order, wb_error **reterr)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_semver va, vb;
    wb_rc rc;

    if (a == NULL || b == NULL || ret_order == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_semver_compare: NULL");
    rc = wbi_semver_parse(wbi_str_z(a), &va, &err);
    if (rc == WB_OK)
        rc = wbi_semver_parse(wbi_str_z(b), &vb, &err);
    if (rc != WB_OK)
        return wbi_api_fail(reterr, &err);
    *ret_order = wbi_semver_compare(&va, &vb);
    return WB_OK;
}

/* ---- __envelope ---- */

struct envelope_job {
    wb_envelope_op op;
    const wb_envelope *given;
    struct wbi_clock clock;
    struct wbi_str text; /* of the root */
};

static wb_rc read_pairs(struct wbi_arena *arena, const wb_envelope *g, struct wbi_envelope *env,
                        struct wbi_error *err)
{
    struct wbi_envelope_pair *pairs = wbi_arena_array(arena, g->compat_count, sizeof(*pairs));
    struct wbi_str *tags = wbi_arena_array(arena, g->tag_count, sizeof(*tags));

    if (pairs == NULL || tags == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = 0; i < g->compat_count; i++) {
        struct wbi_str pair = wbi_str_z(g->compat[i]);
        size_t at = wbi_str_index(pair, '=');
        if (pair.p == NULL)
            return wbi_fail(err, WB_EMISUSE, "compat[%zu] is NULL", i);
        if (at == pair.n || at == 0)
            return wbi_fail(err, WB_EINPUT, "compat must be KEY=VALUE; got \"%.80s\"",
                            g->compat[i]);
        pairs[i] = (struct wbi_envelope_pair){wbi_str_head(pair, at), wbi_str_from(pair, at + 1)};
    }
    for (size_t i = 0; i < g->tag_count; i++) {
        tags[i] = wbi_str_z(g->tags[i]);
        if (tags[i].p == NULL)
            return wbi_fail(err, WB_EMISUSE, "tags[%zu] is NULL", i);
    }
    env->compat = pairs;
    env->compat_n = g->compat_count;
    env->tags = tags;
    env->tags_n = g->tag_count;
    return WB_OK;
}

static wb_rc read_envelope(struct wbi_arena *arena, struct envelope_job *job,
                           struct wbi_envelope *env, struct wbi_error *err)
{
    const wb_envelope *g = job->given;

    *env = (struct wbi_envelope){.tool = wbi_str_z(g->tool),
                                 .provider = wbi_str_z(g->provider),
                                 .model = wbi_str_z(g->model),
                                 .tool_call_id = wbi_str_z(g->tool_call_id),
                                 .payload_path = wbi_str_z(g->payload_path),
                                 .schema_ref = wbi_str_z(g->schema_ref),
                                 .created_at = wbi_str_z(g->created_at),
                                 .clock = &job->clock};
    if (g->content_type != NULL &&
        !wbi_content_type_by_name(wbi_str_z(g->content_type), &env->content_type))
        return wbi_fail(err, WB_EINPUT,
                        "content type must be one of Unknown, Text, List, Object, Image and "
                        "Binary; got \"%.80s\"",
                        g->content_type);
    return read_pairs(arena, g, env, err);
}

static wb_rc apply_to(struct wbi_arena *arena, const wbi_json *root, struct wbi_buf *out,
                      struct envelope_job *job, struct wbi_error *err)
{
    const wbi_json *payload;
    struct wbi_envelope env;
    wb_rc rc = read_envelope(arena, job, &env, err);

    if (rc != WB_OK)
        return rc;
    switch (job->op) {
    case WB_ENVELOPE_CREATE:
        return wbi_envelope_create(&env, root, out, err);
    case WB_ENVELOPE_ATTACH:
        return wbi_envelope_attach(root, &env, out, err);
    case WB_ENVELOPE_ENSURE:
        return wbi_envelope_ensure(root, &env, out, err);
    case WB_ENVELOPE_GET:
        return wbi_envelope_get(root, out, err);
    case WB_ENVELOPE_WRAP:
        return wbi_envelope_wrap(root, &env, wbi_str_z(job->given->payload_key), out, err);
    case WB_ENVELOPE_PAYLOAD:
        rc = wbi_envelope_payload(root, &payload, err);
        if (rc == WB_OK)
            wbi_json_write(out, payload);
        return rc == WB_OK ? wbi_buf_rc(out) : rc;
    }
    return wbi_fail(err, WB_EMISUSE, "no such envelope operation");
}

/* What is wrong is found in the root as everybody reads it; what is given out has its numbers
 * as they were written: an envelope changes nothing beside it. */
static wb_rc apply(struct wbi_arena *arena, const wbi_json *root, struct wbi_buf *out, void *arg,
                   struct wbi_error *err)
{
    struct envelope_job *job = arg;
    wb_rc rc = apply_to(arena, root, out, job, err);
    struct wbi_arena *own;

    if (rc != WB_OK || root == NULL)
        return rc;
    wbi_buf_clear(out);
    if (wbi_arena_new(WBI_LIMIT_CALL_ARENA, &own) != WB_OK) /* the other holds the first tree */
        return wbi_fail_nomem(err);
    rc = wbi_json_read(own, job->text, WBI_JSON_AS_WRITTEN, &root, err);
    if (rc == WB_OK)
        rc = apply_to(own, root, out, job, err);
    wbi_arena_free(own);
    return rc;
}

wb_rc wb_envelope_apply(wb_envelope_op op, const wb_envelope *envelope, const char *root,
                        size_t size, char **ret, size_t *ret_size, wb_error **reterr)
{
    static const wb_envelope defaults;
    struct envelope_job job = {op, envelope ? envelope : &defaults, wbi_clock_system(),
                               wbi_str_make(root, size)};

    if (ret == NULL || (root == NULL && op != WB_ENVELOPE_CREATE) ||
        (job.given->compat == NULL && job.given->compat_count > 0) ||
        (job.given->tags == NULL && job.given->tag_count > 0))
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_envelope_apply: NULL");
    return transform(root, size, apply, &job, ret, ret_size, reterr);
}

int wb_envelope_fits(const char *root, size_t size)
{
    struct wbi_envelope_view view;
    const wbi_json *v, *payload;
    struct wbi_arena *arena;
    bool fits = true;

    if (root == NULL || wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena) != WB_OK)
        return true;
    if (wbi_json_read(arena, wbi_str_make(root, size), WBI_JSON_STRICT, &v, NULL) == WB_OK &&
        wbi_envelope_view(v, &view, NULL) == WB_OK &&
        wbi_envelope_payload(v, &payload, NULL) == WB_OK)
        fits = wbi_content_type_fits(view.content_type, payload);
    wbi_arena_free(arena);
    return fits;
}
