/* SPDX-License-Identifier: Apache-2.0
 * mcp/rpc.c: reading and writing single JSON-RPC messages. */
#include "mcp/rpc.h"

#include "base/limits.h"
#include "json/write.h"
#include "mcp/overlong.h"

#define WHOLE_MAX 9007199254740992.0 /* up to there each integer is a double of its own */

static wb_rc invalid(int *ret_code, struct wbi_error *err, const char *what)
{
    *ret_code = WBI_RPC_INVALID;
    return wbi_fail(err, WB_EINPUT, "%s", what);
}

static bool id_ok(const wbi_json *id)
{
    if (wbi_json_is(id, WBI_JSON_INT))
        return true;
    return wbi_json_is(id, WBI_JSON_STR) && wbi_json_str(id).n <= WBI_LIMIT_MCP_ID;
}

/* Whether the id stands there as "-0", whose sign the number does not keep. */
static bool is_minus_zero(struct wbi_str text)
{
    struct wbi_overlong about = {0};

    wbi_overlong_feed(&about, text);
    return wbi_str_eqz(wbi_overlong_raw(&about), "-0");
}

static wb_rc read_id(struct wbi_arena *arena, const wbi_json *id, struct wbi_str text,
                     struct wbi_rpc *ret)
{
    struct wbi_buf b;
    int64_t n;

    wbi_buf_init_arena(&b, arena, 8 * WBI_LIMIT_MCP_ID);
    if (!wbi_json_i64(id, &n))
        wbi_json_write(&b, id);
    else if (n == 0 && wbi_str_find(text, WBI_LIT("-0")) < text.n && is_minus_zero(text))
        wbi_buf_addz(&b, "-0");
    else
        wbi_buf_addi(&b, n);
    ret->id = id;
    ret->id_text = wbi_buf_str(&b);
    return wbi_buf_rc(&b);
}

/* Whoever sent what is refused waits for an answer to it. */
static void find_id(struct wbi_arena *arena, struct wbi_str text, struct wbi_rpc *ret)
{
    struct wbi_overlong about = {0};
    const wbi_json *id = NULL;
    struct wbi_str raw;

    wbi_overlong_feed(&about, text);
    raw = wbi_overlong_raw(&about);
    if (raw.p == NULL || wbi_json_read(arena, raw, WBI_JSON_STRICT, &id, NULL) != WB_OK ||
        !id_ok(id) || read_id(arena, id, text, ret) != WB_OK)
        memset(ret, 0, sizeof(*ret));
}

/* The members that JSON-RPC knows; NULL where absent. */
struct members {
    const wbi_json *jsonrpc, *id, *method, *params, *result, *error;
};

static const wbi_json **place_of(struct members *m, struct wbi_str name)
{
    switch (name.n) {
    case 2:
        return memcmp(name.p, "id", 2) == 0 ? &m->id : NULL;
    case 5:
        return memcmp(name.p, "error", 5) == 0 ? &m->error : NULL;
    case 6:
        if (memcmp(name.p, "method", 6) == 0)
            return &m->method;
        if (memcmp(name.p, "params", 6) == 0)
            return &m->params;
        return memcmp(name.p, "result", 6) == 0 ? &m->result : NULL;
    case 7:
        return memcmp(name.p, "jsonrpc", 7) == 0 ? &m->jsonrpc : NULL;
    default:
        return NULL;
    }
}

/* One walk: every message passes here, twice for a call that goes upstream. */
static struct members members_of(const wbi_json *v)
{
    struct members m = {NULL};

    WBI_JSON_EACH_MEMBER (v, k) {
        const wbi_json **place = place_of(&m, wbi_json_str(k));

        if (place != NULL)
            *place = k_val;
    }
    return m;
}

static wb_rc read_call(const struct members *m, struct wbi_rpc *ret, int *ret_code,
                       struct wbi_error *err)
{
    ret->kind = ret->id != NULL ? WBI_RPC_REQUEST : WBI_RPC_NOTIFICATION;
    ret->method = wbi_json_is(m->method, WBI_JSON_STR) ? wbi_json_str(m->method) : WBI_NONE;
    ret->params = m->params;
    if (ret->method.n == 0)
        return invalid(ret_code, err, "method must be a string that is not empty");
    if (m->result != NULL || m->error != NULL)
        return invalid(ret_code, err, "a message has a method, or a result, or an error");
    if (m->params != NULL && !wbi_json_is(m->params, WBI_JSON_OBJ))
        return invalid(ret_code, err, "params must be an object");
    return WB_OK;
}

/* Many write null for what they leave out, and some give a number back as 7.0. */
static void leave_nulls(struct members *m)
{
    if (wbi_json_is(m->method, WBI_JSON_NULL))
        m->method = NULL;
    if (wbi_json_is(m->params, WBI_JSON_NULL))
        m->params = NULL;
    if ((m->method != NULL || m->result != NULL) && wbi_json_is(m->error, WBI_JSON_NULL))
        m->error = NULL;
    if ((m->method != NULL || m->error != NULL) && wbi_json_is(m->result, WBI_JSON_NULL))
        m->result = NULL;
}

bool wbi_rpc_whole(const wbi_json *id, uint64_t *ret)
{
    double n = wbi_json_is(id, WBI_JSON_REAL) ? wbi_json_num(id) : -1;

    if (!(n >= 0 && n <= WHOLE_MAX) || n != (double)(uint64_t)n)
        return false;
    *ret = (uint64_t)n;
    return true;
}

static wb_rc read_answer(const struct members *m, struct wbi_rpc *ret, int *ret_code,
                         struct wbi_error *err)
{
    ret->kind = m->error == NULL ? WBI_RPC_RESULT : WBI_RPC_ERROR;
    ret->result = m->result;
    ret->error = m->error;
    if ((ret->result == NULL) == (ret->error == NULL))
        return invalid(ret_code, err, "a message has a method, or a result, or an error");
    if (ret->error != NULL && !wbi_json_is(ret->error, WBI_JSON_OBJ))
        return invalid(ret_code, err, "error must be an object");
    if (ret->kind == WBI_RPC_RESULT && ret->id == NULL)
        return invalid(ret_code, err, "a result needs the id of its request");
    return WB_OK;
}

/* The text goes back to a peer that sees nothing else of err. */
static wb_rc not_json(const struct wbi_error *why, struct wbi_error *err)
{
    if (why->line == 0)
        return wbi_fail(err, why->rc, "%s", why->text);
    return wbi_fail(err, why->rc, "the message is not JSON: %s at line %u, column %u", why->text,
                    why->line, why->column);
}

wb_rc wbi_rpc_read(struct wbi_arena *arena, struct wbi_str text, struct wbi_rpc *ret, int *ret_code,
                   struct wbi_error *err)
{
    const wbi_json *v = NULL;
    struct members m;
    uint64_t whole;
    wb_rc rc;
    WBI_ERROR_HERE(why);

    rc = wbi_json_read(arena, text, WBI_JSON_STRICT, &v, &why);
    memset(ret, 0, sizeof(*ret));
    *ret_code = WBI_RPC_PARSE;
    if (rc != WB_OK) {
        find_id(arena, text, ret);
        return not_json(&why, err);
    }
    if (wbi_json_is(v, WBI_JSON_ARR))
        return invalid(ret_code, err, "batches are not accepted; send one message at a time");
    if (!wbi_json_is(v, WBI_JSON_OBJ))
        return invalid(ret_code, err, "a message must be an object");
    m = members_of(v);
    leave_nulls(&m);
    if (id_ok(m.id)) {
        rc = read_id(arena, m.id, text, ret);
        if (rc != WB_OK)
            return wbi_fail_nomem(err);
    } else if (m.method == NULL && wbi_rpc_whole(m.id, &whole)) {
        ret->id = m.id;
    }
    if (!wbi_json_is(m.jsonrpc, WBI_JSON_STR) || !wbi_str_eqz(wbi_json_str(m.jsonrpc), "2.0"))
        return invalid(ret_code, err, "jsonrpc must be \"2.0\"");
    if (m.id != NULL && ret->id == NULL && !(wbi_json_is(m.id, WBI_JSON_NULL) && m.error != NULL))
        return invalid(ret_code, err,
                       "id must be a string of at most 256 bytes or an integer of 64 bits");
    if (m.method != NULL)
        return read_call(&m, ret, ret_code, err);
    return read_answer(&m, ret, ret_code, err);
}

void wbi_rpc_one_line(struct wbi_buf *b, size_t from)
{
    for (size_t i = from; i < b->n; i++) {
        char *c = memchr(b->p + i, '\n', b->n - i);

        if (c == NULL)
            break;
        i = (size_t)(c - b->p);
        *c = ' ';
    }
    for (size_t i = from; i < b->n; i++) {
        char *c = memchr(b->p + i, '\r', b->n - i);

        if (c == NULL)
            break;
        i = (size_t)(c - b->p);
        *c = ' ';
    }
}

#define BEFORE_ID "{\"jsonrpc\":\"2.0\",\"id\":"

void wbi_rpc_put_id(struct wbi_buf *out, struct wbi_str id)
{
    wbi_buf_addz(out, BEFORE_ID);
    wbi_buf_adds(out, id);
}

struct wbi_str wbi_rpc_after_id(struct wbi_str answer, struct wbi_str id)
{
    return answer.p != NULL ? wbi_str_from(answer, strlen(BEFORE_ID) + id.n) : WBI_NONE;
}

void wbi_rpc_put_result(struct wbi_buf *out, struct wbi_str id, struct wbi_str result)
{
    size_t from;

    wbi_rpc_put_id(out, id);
    wbi_buf_addz(out, ",\"result\":");
    from = out->n;
    wbi_buf_adds(out, result);
    wbi_rpc_one_line(out, from);
    wbi_buf_addc(out, '}');
}

void wbi_rpc_put_error(struct wbi_buf *out, struct wbi_str id, int code, struct wbi_str message,
                       struct wbi_str data)
{
    size_t from;

    wbi_buf_addz(out, "{\"jsonrpc\":\"2.0\"");
    if (id.p != NULL) {
        wbi_buf_addz(out, ",\"id\":");
        wbi_buf_adds(out, id);
    }
    wbi_buf_addz(out, ",\"error\":{\"code\":");
    wbi_buf_addi(out, code);
    wbi_buf_addz(out, ",\"message\":");
    wbi_json_quote(out, message);
    if (data.p != NULL) {
        wbi_buf_addz(out, ",\"data\":");
        from = out->n;
        wbi_buf_adds(out, data);
        wbi_rpc_one_line(out, from);
    }
    wbi_buf_addz(out, "}}");
}

void wbi_rpc_put_call(struct wbi_buf *out, struct wbi_str id_or_none, const char *method,
                      struct wbi_str params)
{
    size_t from;

    wbi_buf_addz(out, "{\"jsonrpc\":\"2.0\"");
    if (id_or_none.p != NULL) {
        wbi_buf_addz(out, ",\"id\":");
        wbi_buf_adds(out, id_or_none);
    }
    wbi_buf_addz(out, ",\"method\":");
    wbi_json_quote(out, wbi_str_z(method));
    if (params.p != NULL) {
        wbi_buf_addz(out, ",\"params\":");
        from = out->n;
        wbi_buf_adds(out, params);
        wbi_rpc_one_line(out, from);
    }
    wbi_buf_addc(out, '}');
}
