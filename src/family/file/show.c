/* SPDX-License-Identifier: Apache-2.0
 * family/file/show.c: what the projectors and renderers of files share. */
#include "family/file/show_int.h"

#include "base/arena.h"
#include "base/utf8.h"
#include "path/path.h"
#include "text/hygiene.h"

/* What stands for itself in a token. Of letters those that nobody who copies a text makes
 * others of: marks that combine, and what Unicode holds equal to another, are not among them. */
static bool plain(uint32_t c)
{
    static const uint32_t letters[][2] = {{0x00c0, 0x00d6}, {0x00d8, 0x00f6}, {0x00f8, 0x024f},
                                          {0x0388, 0x03ff}, {0x0400, 0x0481}, {0x048a, 0x052f},
                                          {0x3041, 0x3096}, {0x30a1, 0x30fa}, {0x3400, 0x4dbf},
                                          {0x4e00, 0x9fff}, {0xac00, 0xd7a3}};

    if (c < 0x80)
        return c > 0x20 && c < 0x7f && c != '%' && c != '"' && c != '\\';
    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
        if (c >= letters[i][0] && c <= letters[i][1])
            return true;
    return false;
}

struct wbi_str wbi_token_encode(struct wbi_arena *arena, struct wbi_str raw)
{
    struct wbi_buf out;
    size_t at = 0, from, skip;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    while (at < raw.n) {
        from = at;
        if (wbi_utf8_step((const uint8_t *)raw.p + at, raw.n - at, &skip) == 0)
            at += skip;
        else if (plain(wbi_utf8_next(raw, &at))) {
            wbi_buf_add(&out, raw.p + from, at - from);
            continue;
        }
        for (; from < at; from++)
            wbi_buf_addf(&out, "%%%02X", (uint8_t)raw.p[from]);
    }
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

struct wbi_str wbi_token_decode(struct wbi_arena *arena, struct wbi_str text)
{
    struct wbi_buf out;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != '%') {
            wbi_buf_addc(&out, text.p[i]);
            continue;
        }
        if (text.n - i < 3 || hex_digit(text.p[i + 1]) < 0 || hex_digit(text.p[i + 2]) < 0)
            return WBI_NONE;
        wbi_buf_addc(&out, (char)(hex_digit(text.p[i + 1]) * 16 + hex_digit(text.p[i + 2])));
        i += 2;
    }
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

struct wbi_str wbi_file_name(struct wbi_arena *arena, struct wbi_str path)
{
    struct wbi_buf out;
    char one[16];
    size_t at = 0;

    if (wbi_hygiene_is_clean(path) && wbi_str_index(path, '\n') == path.n &&
        wbi_str_index(path, '\t') == path.n)
        return path;
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    while (at < path.n) {
        size_t n = wbi_path_show_one(path, &at, one);

        wbi_buf_add(&out, one, n);
    }
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

/* What \xNN or \u{N} at the start of s stands for, into out; *ret_used 0: it is neither. */
static size_t unescape(struct wbi_str s, char out[4], size_t *ret_used)
{
    bool wide = s.n > 2 && s.p[1] == 'u' && s.p[2] == '{';
    size_t at = wide ? 3 : 2, digits = 0, most = wide ? 6 : 2;
    uint32_t v = 0;

    *ret_used = 0;
    if (s.n < 4 || s.p[0] != '\\' || (!wide && s.p[1] != 'x'))
        return 0;
    for (; at < s.n && digits < most; at++, digits++) {
        char c = s.p[at];
        int d = c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= '0' && c <= '9' ? c - '0' : -1;

        if (d < 0)
            break;
        v = v * 16 + (uint32_t)d;
    }
    if (digits == 0 || (wide ? at == s.n || s.p[at] != '}' || v > 0x10ffff : digits < 2))
        return 0;
    *ret_used = at + wide;
    if (wide)
        return wbi_utf8_put(v, out);
    out[0] = (char)v;
    return 1;
}

struct wbi_str wbi_file_named(struct wbi_arena *arena, struct wbi_str name)
{
    struct wbi_buf out;
    struct wbi_str path, again;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    for (size_t at = 0, used; at < name.n; at += used) {
        char one[4];
        size_t n = unescape(wbi_str_from(name, at), one, &used);

        wbi_buf_add(&out, used > 0 ? one : name.p + at, used > 0 ? n : 1);
        used += used == 0;
    }
    path = wbi_buf_str(&out);
    again = wbi_buf_rc(&out) == WB_OK ? wbi_file_name(arena, path) : WBI_NONE;
    return again.p != NULL && wbi_str_eq(again, name) ? path : WBI_NONE;
}

struct wbi_str wbi_file_beneath(struct wbi_arena *arena, struct wbi_str dir, struct wbi_str path)
{
    bool absolute = dir.n > 0 && dir.p[0] == '/';

    while (dir.n > 0 && dir.p[dir.n - 1] == '/')
        dir.n--;
    if ((dir.n == 0 && !absolute) || wbi_str_eqz(dir, "."))
        return path;
    return wbi_arena_fmt(arena, "%.*s/%.*s", WBI_FMT(dir), WBI_FMT(path));
}

uint64_t wbi_file_room_bytes(uint32_t budget_tokens, struct wbi_str path, struct wbi_str token)
{
    uint64_t fixed = WBI_FILE_HEADER_TOKENS + 2 * path.n + 2 * token.n;

    return budget_tokens > fixed ? budget_tokens - fixed : 0;
}

uint64_t wbi_file_room(uint32_t budget_tokens, struct wbi_str path, struct wbi_str token)
{
    uint64_t fixed = WBI_FILE_HEADER_TOKENS + 2 * wbi_tokens(path) + 2 * wbi_tokens(token);

    return (budget_tokens > fixed + 40 ? budget_tokens - fixed : 40) * WBI_TOKEN_UNIT;
}

/* "ESC [ 31 m": a colour hides nothing. */
static bool is_colour(struct wbi_str s, size_t i)
{
    struct wbi_str rest = wbi_str_from(s, i);
    size_t n = 2;

    if (!wbi_str_starts(rest, WBI_LIT("\033[")))
        return false;
    while (n < rest.n && strchr("0123456789;:", rest.p[n]) != NULL && rest.p[n] != '\0')
        n++;
    return n < rest.n && rest.p[n] == 'm';
}

/* Would a terminal move its cursor, or erase? A CR that ends a line does not count. */
static bool moves_cursor(struct wbi_str s, size_t i)
{
    return s.p[i] == '\b' || (s.p[i] == '\033' && !is_colour(s, i)) ||
           (s.p[i] == '\r' && i + 1 < s.n && s.p[i + 1] != '\n');
}

/* A file is no drawing on a terminal: what would be drawn over is text as well, and
 * a patch must name it. So these controls are shown, not played out. */
static void add_undrawn(struct wbi_buf *out, struct wbi_str raw)
{
    for (size_t i = 0; i < raw.n; i++) {
        if (moves_cursor(raw, i))
            wbi_buf_addf(out, "<U+%04X>", (unsigned)raw.p[i]);
        else
            wbi_buf_addc(out, raw.p[i]);
    }
}

struct wbi_str wbi_file_clean(struct wbi_arena *arena, struct wbi_str raw)
{
    struct wbi_buf text, undrawn;
    wb_rc rc;

    if (wbi_hygiene_is_clean(raw))
        return raw;
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init(&undrawn, WBI_LIMIT_JSON_TEXT);
    add_undrawn(&undrawn, raw);
    rc = wbi_buf_rc(&undrawn);
    if (rc == WB_OK)
        rc = wbi_hygiene_clean(wbi_buf_str(&undrawn), &text, NULL);
    wbi_buf_fini(&undrawn);
    return rc == WB_OK ? wbi_buf_str(&text) : WBI_NONE;
}

wb_rc wbi_file_put_token(struct wbi_jw *w, struct wbi_arena *arena, struct wbi_str raw)
{
    struct wbi_str token;

    if (raw.p == NULL)
        return WB_OK;
    token = wbi_token_encode(arena, raw);
    if (token.p == NULL)
        return WB_ENOMEM;
    wbi_jw_kstr(w, "nextToken", token);
    return WB_OK;
}

int64_t wbi_result_int(const wbi_json *result, const char *name)
{
    int64_t v = 0;

    (void)wbi_json_i64(wbi_json_get(result, name), &v); /* absent: 0 */
    return v;
}

void wbi_file_more(struct wbi_buf *out, const wbi_json *result, const char *what)
{
    struct wbi_str token = wbi_json_get_str(result, "nextToken");

    if (token.p != NULL)
        wbi_buf_addf(out, "More: %s; repeat the call with pageToken \"%.*s\"\n", what,
                     WBI_FMT(token));
}

void wbi_file_more_at_cut(struct wbi_buf *out, const wbi_json *result, const char *what)
{
    struct wbi_str token = wbi_json_get_str(result, "nextToken");

    if (token.p != NULL)
        wbi_buf_addf(out, "[%s: pageToken \"%.*s\"]\n", what, WBI_FMT(token));
}

void wbi_file_count(struct wbi_buf *out, int64_t n, const char *one, const char *many)
{
    wbi_buf_addi(out, n);
    wbi_buf_addc(out, ' ');
    wbi_buf_addz(out, n == 1 ? one : many);
}
