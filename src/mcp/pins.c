/* SPDX-License-Identifier: Apache-2.0
 * mcp/pins.c: one record a tool: {"accepted":{hash,at,tool},"pending":{…}}.
 * Only approval (or a first sight under trust on first use) writes `accepted`. */
#include "mcp/pins.h"

#include "base/clock.h"
#include "base/limits.h"
#include "json/canonical.h"
#include "json/pointer.h"
#include "json/write.h"
#include "text/hygiene.h"

const char *wbi_pin_state_name(enum wbi_pin_state state)
{
    static const char *const names[] = {"accepted", "new", "changed", "refused"};

    return names[state];
}

wb_rc wbi_pin_hash(const wbi_json *tool, struct wbi_arena *arena, char ret[WBI_SHA256_HEX],
                   struct wbi_error *err)
{
    uint8_t digest[WBI_SHA256_SIZE];
    struct wbi_buf b;
    wb_rc rc;

    if (wbi_json_get_str(tool, "name").n == 0)
        return wbi_fail(err, WB_EINPUT, "a tool definition needs a name");
    wbi_buf_init_arena(&b, arena, WBI_LIMIT_JSON_TEXT);
    rc = wbi_json_canonical_any(tool, &b, err);
    if (rc != WB_OK)
        return rc;
    rc = wbi_sha256(b.p, b.n, digest);
    if (rc != WB_OK)
        return wbi_fail(err, rc, "no SHA-256 is available");
    wbi_hex(digest, sizeof(digest), ret);
    return WB_OK;
}

static struct wbi_str key_of(struct wbi_arena *arena, struct wbi_str server, struct wbi_str tool)
{
    return wbi_arena_fmt(arena, "%.*s/%.*s", WBI_FMT(server), WBI_FMT(tool));
}

/* *ret NULL: nothing is kept. */
static wb_rc read_record(const struct wbi_pin_store *store, struct wbi_str key,
                         struct wbi_arena *arena, const wbi_json **ret, struct wbi_error *err)
{
    struct wbi_str text = WBI_NONE;
    wb_rc rc;

    *ret = NULL;
    if (key.p == NULL)
        return wbi_fail_nomem(err);
    rc = store->get(store->arg, key, arena, &text, err);
    if (rc == WB_ENOTFOUND)
        return WB_OK;
    if (rc != WB_OK)
        return rc;
    return wbi_json_read(arena, text, WBI_JSON_STRICT, ret, err);
}

static void put_side(struct wbi_jw *w, const char *name, const char *hash, int64_t wall_ms,
                     const wbi_json *tool)
{
    char at[WBI_RFC3339_SIZE];

    wbi_time_format(wall_ms, at);
    wbi_jw_key(w, name);
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "hash", hash);
    wbi_jw_kstrz(w, "at", at);
    wbi_jw_kval(w, "tool", tool);
    wbi_jw_obj_end(w);
}

/* accepted: the part to keep as it is, or NULL. */
static wb_rc write_record(const struct wbi_pin_store *store, struct wbi_str key,
                          const wbi_json *accepted, const char *side, const char *hash,
                          int64_t wall_ms, const wbi_json *tool, struct wbi_arena *arena,
                          struct wbi_error *err)
{
    struct wbi_buf b;
    struct wbi_jw w;

    wbi_buf_init_arena(&b, arena, WBI_LIMIT_JSON_TEXT);
    w = wbi_jw_to(&b);
    wbi_jw_obj(&w);
    if (accepted != NULL)
        wbi_jw_kval(&w, "accepted", accepted);
    put_side(&w, side, hash, wall_ms, tool);
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&b) != WB_OK)
        return wbi_fail(err, wbi_buf_rc(&b), "a tool definition is too large to keep");
    return store->put(store->arg, key, wbi_buf_str(&b), err);
}

bool wbi_pin_is_refused(const wbi_json *pending)
{
    return wbi_json_true(wbi_json_get(pending, "refused"));
}

wb_rc wbi_pin_check(const struct wbi_pin_store *store, enum wbi_pin_policy policy,
                    struct wbi_str server, const wbi_json *tool, int64_t wall_ms,
                    struct wbi_arena *arena, enum wbi_pin_state *ret, struct wbi_error *err)
{
    struct wbi_str key = key_of(arena, server, wbi_json_get_str(tool, "name"));
    const wbi_json *record, *accepted, *pending;
    char hash[WBI_SHA256_HEX];
    bool trust, same;
    wb_rc rc = wbi_pin_hash(tool, arena, hash, err);

    if (rc == WB_OK)
        rc = read_record(store, key, arena, &record, err);
    if (rc != WB_OK)
        return rc;
    accepted = wbi_json_get_as(record, "accepted", WBI_JSON_OBJ);
    if (wbi_str_eqz(wbi_json_get_str(accepted, "hash"), hash)) {
        *ret = WBI_PIN_ACCEPTED;
        return WB_OK;
    }
    trust = record == NULL && policy == WBI_PIN_FIRST_USE;
    pending = wbi_json_get(record, "pending");
    same = wbi_str_eqz(wbi_json_get_str(pending, "hash"), hash);
    if (!same)
        rc = write_record(store, key, accepted, trust ? "accepted" : "pending", hash, wall_ms, tool,
                          arena, err);
    if (rc == WB_OK)
        *ret = trust                                 ? WBI_PIN_ACCEPTED
               : same && wbi_pin_is_refused(pending) ? WBI_PIN_REFUSED
               : accepted != NULL                    ? WBI_PIN_CHANGED
                                                     : WBI_PIN_NEW;
    return rc;
}

wb_rc wbi_pin_approve(const struct wbi_pin_store *store, struct wbi_str server, struct wbi_str tool,
                      struct wbi_str hash, int64_t wall_ms, struct wbi_arena *arena,
                      struct wbi_error *err)
{
    struct wbi_str key = key_of(arena, server, tool), kept;
    const wbi_json *record, *pending;
    const char *kept_z;
    wb_rc rc = read_record(store, key, arena, &record, err);

    if (rc != WB_OK)
        return rc;
    pending = wbi_json_get_as(record, "pending", WBI_JSON_OBJ);
    kept = wbi_json_get_str(pending, "hash");
    if (kept.p == NULL)
        return wbi_fail(err, WB_ENOTFOUND, "nothing waits for approval at %.*s", WBI_FMT(key));
    if (hash.p != NULL && !wbi_str_eq(hash, kept))
        return wbi_fail(err, WB_EAGAIN, "%.*s has changed since; look at it again", WBI_FMT(key));
    kept_z = wbi_arena_strz(arena, kept);
    if (kept_z == NULL)
        return wbi_fail_nomem(err);
    return write_record(store, key, NULL, "accepted", kept_z, wall_ms,
                        wbi_json_get(pending, "tool"), arena, err);
}

static void put_line(struct wbi_buf *out, char sign, struct wbi_str path, const wbi_json *v)
{
    wbi_buf_addc(out, sign);
    wbi_buf_addc(out, ' ');
    wbi_json_quote(out, path);
    wbi_buf_addz(out, ": ");
    wbi_json_write(out, v);
    wbi_buf_addc(out, '\n');
}

struct pair {
    const wbi_json *a, *b;
    struct wbi_str path;
};

static bool push(struct wbi_arena *arena, struct pair *stack, size_t *n, struct wbi_str path,
                 struct wbi_str name, const wbi_json *a, const wbi_json *b)
{
    struct wbi_buf p;

    if (*n == WBI_LIMIT_JSON_DEPTH)
        return false;
    wbi_buf_init_arena(&p, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_adds(&p, path);
    wbi_json_pointer_add(&p, name);
    stack[(*n)++] = (struct pair){a, b, wbi_buf_str(&p)};
    return wbi_buf_rc(&p) == WB_OK;
}

/* Objects are compared member by member, everything else as a whole. Where the
 * stack is full the members are shown as a whole too. */
static void diff_pair(struct wbi_arena *arena, struct pair *stack, size_t *n, struct pair at,
                      struct wbi_buf *out)
{
    if (at.a != NULL && at.b != NULL && wbi_json_equal(at.a, at.b))
        return;
    if (!wbi_json_is(at.a, WBI_JSON_OBJ) || !wbi_json_is(at.b, WBI_JSON_OBJ) ||
        *n + wbi_json_count(at.a) + wbi_json_count(at.b) > WBI_LIMIT_JSON_DEPTH) {
        if (at.a != NULL)
            put_line(out, '-', at.path, at.a);
        if (at.b != NULL)
            put_line(out, '+', at.path, at.b);
        return;
    }
    WBI_JSON_EACH_MEMBER (at.b, k) {
        if (wbi_json_getn(at.a, wbi_json_str(k)) == NULL)
            (void)push(arena, stack, n, at.path, wbi_json_str(k), NULL, k_val);
    }
    WBI_JSON_EACH_MEMBER (at.a, m) {
        (void)push(arena, stack, n, at.path, wbi_json_str(m), m_val,
                   wbi_json_getn(at.b, wbi_json_str(m)));
    }
}

wb_rc wbi_pin_diff(const struct wbi_pin_store *store, struct wbi_str server, struct wbi_str tool,
                   struct wbi_arena *arena, struct wbi_buf *out, struct wbi_error *err)
{
    struct pair *stack = wbi_arena_array(arena, WBI_LIMIT_JSON_DEPTH, sizeof(*stack));
    const wbi_json *record, *pending;
    struct wbi_buf text;
    size_t n = 0;
    wb_rc rc = read_record(store, key_of(arena, server, tool), arena, &record, err);

    if (rc != WB_OK)
        return rc;
    pending = wbi_json_get(wbi_json_get(record, "pending"), "tool");
    if (stack == NULL)
        return wbi_fail_nomem(err);
    if (pending == NULL)
        return wbi_fail(err, WB_ENOTFOUND, "nothing waits for approval at %.*s/%.*s",
                        WBI_FMT(server), WBI_FMT(tool));
    stack[n++] =
        (struct pair){wbi_json_get(wbi_json_get(record, "accepted"), "tool"), pending, WBI_LIT("")};
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    while (n > 0) {
        struct pair at = stack[--n];

        diff_pair(arena, stack, &n, at, &text);
    }
    if (wbi_buf_rc(&text) != WB_OK)
        return wbi_buf_rc(&text);
    /* Who decides must see what a person would not. */
    rc = wbi_hygiene_clean(wbi_buf_str(&text), out, NULL);
    return rc == WB_OK ? wbi_buf_rc(out) : rc;
}
