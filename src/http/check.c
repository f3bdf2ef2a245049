/* SPDX-License-Identifier: Apache-2.0
 * http/check.c: which requests are read on. Pure verdicts over one request's
 * head; llhttp has refused what breaks the grammar, this refuses what is legal
 * but could be read in two ways, and what may not talk to us. */

#include "base/word.h"
#include "http/http_int.h"
#include "json/write.h"

struct wbi_str wbi_http_header(const struct wbi_http_request *r, const char *name)
{
    struct wbi_str wanted = wbi_str_z(name);

    for (size_t i = 0; i < r->header_count; i++) {
        if (wbi_str_eq(r->headers[i].name, wanted))
            return r->headers[i].value;
    }
    return WBI_NONE;
}

/* Up to the next mark of *rest, trimmed. */
static struct wbi_str next_part(struct wbi_str *rest, char mark)
{
    size_t at = wbi_str_index(*rest, mark);
    struct wbi_str one = wbi_str_trim(wbi_str_head(*rest, at));

    *rest = wbi_str_from(*rest, at + 1);
    return one;
}

/* How closely a range names the type: 3 itself, 2 its kind, 1 any; 0: it does not. */
static int media_fits(struct wbi_str range, struct wbi_str type, bool wildcards)
{
    size_t slash = wbi_str_index(type, '/');

    if (wbi_str_ieq(range, type))
        return 3;
    if (!wildcards)
        return 0;
    if (wbi_str_eqz(range, "*/*"))
        return 1;
    return range.n == slash + 2 && range.p[range.n - 1] == '*' &&
                   wbi_str_ieq(wbi_str_head(range, slash + 1), wbi_str_head(type, slash + 1))
               ? 2
               : 0;
}

/* Whether the parameters say that what they stand behind is not wanted: q=0. */
static bool is_unwanted(struct wbi_str parameters)
{
    while (parameters.n > 0) {
        struct wbi_str one = next_part(&parameters, ';');
        size_t i = 2;

        if (one.n < 3 || !wbi_str_ieq(wbi_str_head(one, 2), WBI_LIT("q=")))
            continue;
        while (i < one.n && (one.p[i] == '0' || one.p[i] == '.'))
            i++;
        return i == one.n;
    }
    return false;
}

bool wbi_http_accepts(const struct wbi_http_request *r, const char *type, bool wildcards)
{
    bool wanted = false;
    int best = 0;

    for (size_t i = 0; i < r->header_count; i++) {
        struct wbi_str rest = r->headers[i].value;

        if (r->headers[i].field != WBI_HTTP_ACCEPT)
            continue;
        while (rest.n > 0) {
            struct wbi_str one = next_part(&rest, ',');
            int fits = media_fits(next_part(&one, ';'), wbi_str_z(type), wildcards);

            if (fits > best) { /* the closest one counts */
                best = fits;
                wanted = !is_unwanted(one);
            }
        }
    }
    return wanted;
}

bool wbi_http_is_type(const struct wbi_http_request *r, const char *type)
{
    struct wbi_str v = wbi_http_first(r, WBI_HTTP_CONTENT_TYPE);

    return wbi_str_eqz(v, type) ||
           wbi_str_ieq(wbi_str_trim(wbi_str_head(v, wbi_str_index(v, ';'))), wbi_str_z(type));
}

bool wbi_http_same_secret(struct wbi_str presented, struct wbi_str secret)
{
    volatile unsigned char diff = presented.n != secret.n;

    for (size_t i = 0; i < presented.n; i++) {
        unsigned char with = secret.n > 0 ? (unsigned char)secret.p[i % secret.n] : 0;
        diff = (unsigned char)(diff | ((unsigned char)presented.p[i] ^ with));
    }
    return diff == 0;
}

static bool port_ok(struct wbi_str port)
{
    uint64_t v;

    return port.n > 0 && port.n <= 5 && wbi_parse_u64(port, &v) && v > 0 && v <= 65535;
}

/* Splits "name:port"; the port is optional. False when it is neither. */
static bool split_host(struct wbi_str host, struct wbi_str *ret_name)
{
    size_t end;

    if (host.n > 0 && host.p[0] == '[') {
        end = wbi_str_index(host, ']');
        if (end == host.n)
            return false;
        end++;
    } else {
        end = wbi_str_index(host, ':');
    }
    *ret_name = wbi_str_head(host, end);
    if (end == 0 || end > 255)
        return false;
    return end == host.n || (host.p[end] == ':' && port_ok(wbi_str_from(host, end + 1)));
}

static bool is_plain(struct wbi_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];

        if (c <= ' ' || c >= 0x7f || strchr("@/\\,*", c) != NULL)
            return false;
    }
    return true;
}

bool wbi_http_is_host(struct wbi_str host)
{
    struct wbi_str name;

    return split_host(host, &name) && name.n == host.n && is_plain(name);
}

bool wbi_http_host_ok(const struct wbi_http *http, struct wbi_str host)
{
    struct wbi_str name;

    if (!split_host(host, &name))
        return false;
    if (wbi_str_eqz(name, "127.0.0.1") || wbi_str_eqz(name, "[::1]") ||
        wbi_str_ieq(name, WBI_LIT("localhost")))
        return true;
    if (!is_plain(name))
        return false;
    if (http->o.any_host)
        return true;
    for (size_t i = 0; i < http->host_count; i++) {
        if (wbi_str_ieq(name, wbi_str_z(http->hosts[i])))
            return true;
    }
    return false;
}

bool wbi_http_origin_ok(const struct wbi_http *http, struct wbi_str origin)
{
    struct wbi_str rest;

    if (wbi_str_starts(origin, WBI_LIT("http://")))
        rest = wbi_str_from(origin, 7);
    else if (wbi_str_starts(origin, WBI_LIT("https://")))
        rest = wbi_str_from(origin, 8);
    else
        return false;
    for (size_t i = 0; i < rest.n; i++) { /* browsers send lower case */
        if (rest.p[i] >= 'A' && rest.p[i] <= 'Z')
            return false;
    }
    return wbi_http_host_ok(http, rest);
}

enum wbi_http_field wbi_http_field_of(struct wbi_str name)
{
    switch (name.n) {
    case 4:
        return wbi_str_eqz(name, "host") ? WBI_HTTP_HOST : WBI_HTTP_OTHER;
    case 6:
        if (wbi_str_eqz(name, "accept"))
            return WBI_HTTP_ACCEPT;
        if (wbi_str_eqz(name, "origin"))
            return WBI_HTTP_ORIGIN;
        return wbi_str_eqz(name, "expect") ? WBI_HTTP_EXPECT : WBI_HTTP_OTHER;
    case 7:
        return wbi_str_eqz(name, "upgrade") ? WBI_HTTP_UPGRADE : WBI_HTTP_OTHER;
    case 12:
        return wbi_str_eqz(name, "content-type") ? WBI_HTTP_CONTENT_TYPE : WBI_HTTP_OTHER;
    case 13:
        if (wbi_str_eqz(name, "authorization"))
            return WBI_HTTP_AUTHORIZATION;
        return wbi_str_eqz(name, "last-event-id") ? WBI_HTTP_LAST_EVENT_ID : WBI_HTTP_OTHER;
    case 14:
        if (wbi_str_eqz(name, "content-length"))
            return WBI_HTTP_CONTENT_LENGTH;
        return wbi_str_eqz(name, "mcp-session-id") ? WBI_HTTP_MCP_SESSION_ID : WBI_HTTP_OTHER;
    case 16:
        return wbi_str_eqz(name, "content-encoding") ? WBI_HTTP_CONTENT_ENCODING : WBI_HTTP_OTHER;
    case 17:
        return wbi_str_eqz(name, "transfer-encoding") ? WBI_HTTP_TRANSFER_ENCODING : WBI_HTTP_OTHER;
    case 20:
        return wbi_str_eqz(name, "mcp-protocol-version") ? WBI_HTTP_MCP_PROTOCOL_VERSION
                                                         : WBI_HTTP_OTHER;
    default:
        return WBI_HTTP_OTHER;
    }
}

/* Another one of this name stands before it. */
static bool came_before(const struct wbi_http_request *r, size_t i)
{
    for (size_t j = 0; j < i; j++) {
        if (wbi_str_eq(r->headers[i].name, r->headers[j].name))
            return true;
    }
    return false;
}

/* Whether a field of which two would leave it open which one counts comes twice: all that
 * are known but Accept, and whatever MCP says in headers. */
static bool repeats(const struct wbi_http_request *r)
{
    uint32_t seen = 0;

    for (size_t i = 0; i < r->header_count; i++) {
        enum wbi_http_field field = r->headers[i].field;

        if (field == WBI_HTTP_OTHER && wbi_str_starts(r->headers[i].name, WBI_LIT("mcp-")) &&
            came_before(r, i))
            return true;
        if (field == WBI_HTTP_OTHER || field == WBI_HTTP_ACCEPT)
            continue;
        if (seen & UINT32_C(1) << field)
            return true;
        seen |= UINT32_C(1) << field;
    }
    return false;
}

/* None of eight bytes is below a space or DEL; a tab makes it false, too. */
static bool eight_are_plain(const char *p)
{
    uint64_t v;

    memcpy(&v, p, 8);
    return (wbi_word_below(v, 0x20) | wbi_word_has(v, 0x7f)) == 0;
}

static bool has_control(struct wbi_str v)
{
    size_t k = 0;

    while (v.n - k >= 8 && eight_are_plain(v.p + k))
        k += 8;
    if (k > 0 && v.n - k < 8 && eight_are_plain(v.p + v.n - 8))
        return false; /* what is left lies in the last eight */
    for (; k < v.n; k++) {
        unsigned char c = (unsigned char)v.p[k];

        if ((c < ' ' && c != '\t') || c == 0x7f)
            return true;
    }
    return false;
}

static bool has_control_bytes(const struct wbi_http_request *r)
{
    for (size_t i = 0; i < r->header_count; i++) {
        if (has_control(r->headers[i].value))
            return true;
    }
    return false;
}

static int refuse(int status, const char *why, const char **ret_why)
{
    *ret_why = why;
    return status;
}

static int check_framing(const struct wbi_http_request *r, const llhttp_t *parser,
                         const char **ret_why)
{
    struct wbi_str te = wbi_http_first(r, WBI_HTTP_TRANSFER_ENCODING);
    struct wbi_str coding = wbi_http_first(r, WBI_HTTP_CONTENT_ENCODING);
    struct wbi_str expect = wbi_http_first(r, WBI_HTTP_EXPECT);
    struct wbi_str length = wbi_http_first(r, WBI_HTTP_CONTENT_LENGTH);
    bool bodiless = !wbi_str_eqz(r->method, "POST");

    if (parser->http_major != 1 || parser->http_minor != 1)
        return refuse(505, "only HTTP/1.1 is spoken here", ret_why);
    if (parser->upgrade || wbi_http_first(r, WBI_HTTP_UPGRADE).p != NULL)
        return refuse(400, "no other protocol is offered", ret_why);
    if (te.p != NULL && (!wbi_str_ieq(te, WBI_LIT("chunked")) || length.p != NULL))
        return refuse(400, "the only transfer coding accepted is `chunked`, alone", ret_why);
    if (bodiless && (te.p != NULL || (length.p != NULL && !wbi_str_eqz(length, "0"))))
        return refuse(400, "a body is accepted with POST only", ret_why);
    if (!bodiless && te.p == NULL && length.p == NULL)
        return refuse(411, "POST needs Content-Length or chunks", ret_why);
    if (coding.p != NULL && !wbi_str_ieq(coding, WBI_LIT("identity")))
        return refuse(415, "content codings are not accepted", ret_why);
    if (expect.p != NULL && !wbi_str_ieq(expect, WBI_LIT("100-continue")))
        return refuse(417, "only 100-continue may be expected", ret_why);
    return 0;
}

static int check_caller(const struct wbi_http *http, const struct wbi_http_request *r,
                        const char **ret_why)
{
    struct wbi_str origin = wbi_http_first(r, WBI_HTTP_ORIGIN);
    struct wbi_str host = wbi_http_first(r, WBI_HTTP_HOST);
    struct wbi_str auth = wbi_http_first(r, WBI_HTTP_AUTHORIZATION);

    if (host.p == NULL)
        return refuse(400, "exactly one Host is required", ret_why);
    if (!wbi_http_host_ok(http, host))
        return refuse(403, "this Host is not served here; --allow-host adds a name", ret_why);
    if (origin.p != NULL && !wbi_http_origin_ok(http, origin))
        return refuse(403, "this Origin is not allowed; --allow-host adds its name", ret_why);
    if (http->o.token.p == NULL)
        return 0;
    if (http->o.health.p != NULL && wbi_str_eq(r->path, http->o.health))
        return 0;
    if (auth.n < 7 || !wbi_str_ieq(wbi_str_head(auth, 7), WBI_LIT("bearer ")) ||
        !wbi_http_same_secret(wbi_str_trim(wbi_str_from(auth, 7)), http->o.token))
        return refuse(401, "a valid bearer token is required", ret_why);
    return 0;
}

int wbi_http_check(const struct wbi_http *http, const struct wbi_http_request *r,
                   const llhttp_t *parser, const char **ret_why)
{
    int status;

    if (r->path.n == 0 || r->path.p[0] != '/' || memchr(r->path.p, '#', r->path.n) != NULL)
        return refuse(400, "the target must be a path", ret_why);
    if (repeats(r) || has_control_bytes(r))
        return refuse(400, "a header is repeated or holds control bytes", ret_why);
    status = check_framing(r, parser, ret_why);
    return status != 0 ? status : check_caller(http, r, ret_why);
}

void wbi_http_access_json(const struct wbi_http_access *a, struct wbi_buf *out)
{
    struct wbi_jw w = wbi_jw_to(out);
    char when[WBI_RFC3339_SIZE];

    wbi_time_format(a->wall_ms, when);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "time", when);
    wbi_jw_kstr(&w, "peer", a->peer);
    wbi_jw_kstr(&w, "method", a->method);
    wbi_jw_kstr(&w, "path", wbi_str_head(a->path, 256));
    wbi_jw_kint(&w, "status", a->status);
    wbi_jw_kint(&w, "bytes_in", (int64_t)a->bytes_in);
    wbi_jw_kint(&w, "bytes_out", (int64_t)a->bytes_out);
    wbi_jw_kint(&w, "duration_us", a->duration_ns / 1000);
    if (a->refused != NULL)
        wbi_jw_kstrz(&w, "refused", a->refused);
    wbi_jw_obj_end(&w);
}
