/* SPDX-License-Identifier: Apache-2.0
 * call/outcome.c */
#include "call/outcome.h"

#include "base/checked.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "family/receipt.h"
#include "text/tokens.h"

static bool is_break(uint8_t c)
{
    return c <= 0x20 || c == 0x7f;
}

/* The longest prefix of s with at most n characters, ill-formed bytes counted
 * as one each. */
static size_t cut_chars(struct wbi_str s, size_t n)
{
    return wbi_utf8_cut(s, wbi_utf8_cut_chars(s, n));
}

/* One line of at most `chars` characters: line ends and tabs become spaces,
 * runs of white space one; "…" marks a cut. */
static struct wbi_str one_line(struct wbi_arena *arena, struct wbi_str s, size_t chars)
{
    size_t n = 0, most = chars * 4 + 4, keep; /* bytes that hold a character too many */
    char *out;

    s = wbi_str_trim(s);
    out = wbi_arena_alloc(arena, WBI_MIN(s.n, most) + 4);
    if (out == NULL)
        return WBI_NONE;
    for (size_t i = 0; i < s.n && n < most; i++) {
        if (!is_break((uint8_t)s.p[i]))
            out[n++] = s.p[i];
        else if (n > 0 && out[n - 1] != ' ')
            out[n++] = ' ';
    }
    if (n > chars && wbi_utf8_count(wbi_str_make(out, n)) > chars) {
        keep = cut_chars(wbi_str_make(out, n), chars - 1);
        memcpy(out + keep, "\xe2\x80\xa6", 3);
        n = keep + 3;
    }
    out[n] = '\0';
    return wbi_str_make(out, n);
}

wb_rc wbi_outcome_succeed(struct wbi_outcome *o, struct wbi_arena *arena, struct wbi_str summary,
                          struct wbi_str result, struct wbi_str output)
{
    struct wbi_str line;

    if (o->state != WBI_OUTCOME_NONE || result.n == 0 || wbi_str_eqz(result, "null"))
        return WB_EMISUSE;
    line = one_line(arena, summary, WBI_LIMIT_SUMMARY_CHARS);
    if (line.p == NULL)
        return WB_ENOMEM;
    o->summary = line.n ? line : WBI_LIT("completed");
    o->result = result;
    o->output = output;
    o->state = WBI_OUTCOME_SUCCESS;
    return WB_OK;
}

#define LONG_WORD_BYTES 300u

/* The message within its share; what was left out is said. */
static struct wbi_str bound_message(struct wbi_arena *arena, struct wbi_str s)
{
    size_t keep;

    if (s.n < WBI_MESSAGE_TOKENS || wbi_tokens(s) <= WBI_MESSAGE_TOKENS)
        return s; /* a token has a byte at least */
    keep = wbi_tokens_prefix(s, (uint64_t)(WBI_MESSAGE_TOKENS - 20) * WBI_TOKEN_UNIT);
    if (keep == 0) /* one long word */
        keep = wbi_utf8_cut(s, LONG_WORD_BYTES);
    return wbi_arena_fmt(arena, "%.*s [… %zu of %zu bytes left out]", (int)keep, s.p, s.n - keep,
                         s.n);
}

static wb_rc summarize(struct wbi_outcome *o, struct wbi_arena *arena)
{
    o->summary = one_line(arena, o->fault.message, WBI_LIMIT_SUMMARY_CHARS);
    return o->summary.p != NULL ? WB_OK : WB_ENOMEM;
}

wb_rc wbi_outcome_fail(struct wbi_outcome *o, struct wbi_arena *arena,
                       const struct wbi_fault *fault)
{
    if (o->state != WBI_OUTCOME_NONE || fault->kind <= WBI_KIND_NONE ||
        fault->kind >= WBI_KIND_COUNT)
        return WB_EMISUSE;
    o->fault = *fault;
    if (fault->message.n == 0)
        o->fault.message = wbi_str_z(wbi_kind_row(fault->kind)->code);
    if (summarize(o, arena) != WB_OK)
        return WB_ENOMEM;
    o->state = WBI_OUTCOME_ERROR;
    return WB_OK;
}

wb_rc wbi_outcome_bound(struct wbi_outcome *o, struct wbi_arena *arena)
{
    struct wbi_fault *f = &o->fault;
    wb_rc rc = WB_OK;

    f->message = bound_message(arena, f->message);
    if (f->message.p == NULL)
        return WB_ENOMEM;
    if (f->details.p != NULL)
        rc = wbi_details_bound(arena, f->details,
                               WBI_ERROR_TOKENS - WBI_ERROR_FRAME_TOKENS - wbi_tokens(f->message),
                               &f->details);
    return rc == WB_OK ? summarize(o, arena) : rc;
}

void wbi_fault_cause(struct wbi_fault *f, enum wbi_kind kind, struct wbi_str code,
                     struct wbi_str message)
{
    if (f->cause_count == WBI_LIMIT_CAUSED_BY_COUNT) {
        f->causes_dropped++;
        return;
    }
    f->causes[f->cause_count++] = (struct wbi_cause){kind, code, message};
}

bool wbi_fault_retryable(const struct wbi_fault *f)
{
    /* The table is an upper bound: a fault can only narrow it (C4.7). */
    return wbi_kind_row(f->kind)->retryable && f->retryable != WBI_RETRYABLE_NO;
}

struct wbi_str wbi_fault_hint(const struct wbi_fault *f)
{
    return f->hint.p ? f->hint : wbi_str_z(wbi_kind_row(f->kind)->hint);
}

struct wbi_str wbi_fault_code(const struct wbi_fault *f)
{
    return f->code.p ? f->code : wbi_str_z(wbi_kind_row(f->kind)->code);
}

/* These survive everything (C4.7). */
static bool protected_member(struct wbi_str name)
{
    static const char *const names[] = {"retryAfterMs", "throttlingScope", "circuitState",
                                        "missingField", "parse_error",     "providerCode",
                                        "partial",      "resetAfterMs",    "rule"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (wbi_str_eqz(name, names[i]))
            return true;
    return false;
}

static wb_rc write_omitted(struct wbi_jw *w, struct wbi_str text)
{
    uint8_t sum[WBI_SHA256_SIZE];
    char hex[WBI_SHA256_HEX];
    wb_rc rc = wbi_sha256(text.p, text.n, sum);

    if (rc != WB_OK)
        return rc;
    wbi_hex(sum, sizeof(sum), hex);
    wbi_jw_obj(w);
    wbi_jw_kbool(w, "omitted", true);
    wbi_jw_kint(w, "char_count", (int64_t)wbi_utf8_count(text));
    wbi_jw_kstrz(w, "sha256", hex);
    wbi_jw_kstr(w, "preview", wbi_str_head(text, cut_chars(text, 200)));
    wbi_jw_obj_end(w);
    return WB_OK;
}

/* What is left of the room for details while they are written. */
struct room {
    size_t chars; /* for members that are kept whole */
    uint64_t tokens;
    size_t previews; /* that are shown whatever they cost (C4.7) */
    size_t dropped;
};

#define PREVIEWS_ALWAYS 2
#define SMALL_TOKENS 20u /* a value no dearer than what would stand for it */

/* Strings are measured and previewed as they are, other values as JSON. */
static wb_rc measure(struct wbi_arena *arena, const wbi_json *v, struct wbi_str *ret)
{
    struct wbi_buf text;

    *ret = wbi_json_str(v);
    if (wbi_json_is(v, WBI_JSON_STR))
        return WB_OK;
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, v);
    *ret = wbi_buf_str(&text);
    return wbi_buf_rc(&text);
}

static uint64_t less(uint64_t tokens, uint64_t cost)
{
    return tokens > cost ? tokens - cost : 0;
}

static wb_rc write_member(struct wbi_jw *w, struct wbi_arena *arena, const wbi_json *key,
                          struct room *room)
{
    bool always = protected_member(wbi_json_str(key));
    struct wbi_str text;
    struct wbi_buf omitted;
    struct wbi_jw to = wbi_jw_to(&omitted);
    size_t chars;
    bool fits;
    wb_rc rc = measure(arena, key + 1, &text);

    if (rc != WB_OK)
        return rc;
    chars = wbi_utf8_count(text);
    fits = chars <= room->chars &&
           (wbi_tokens(text) <= room->tokens || wbi_tokens(text) <= SMALL_TOKENS);
    if (always || fits) {
        room->chars -= always ? 0 : chars;
        room->tokens = less(room->tokens, always ? 0 : wbi_tokens(text));
        wbi_jw_keyn(w, wbi_json_str(key));
        wbi_jw_val(w, key + 1);
        return WB_OK;
    }
    wbi_buf_init_arena(&omitted, arena, WBI_LIMIT_JSON_TEXT);
    rc = write_omitted(&to, text);
    if (rc == WB_OK)
        rc = wbi_buf_rc(&omitted);
    if (rc != WB_OK)
        return rc;
    if (wbi_tokens(wbi_buf_str(&omitted)) > room->tokens && room->previews == 0) {
        room->dropped++;
        return WB_OK;
    }
    room->previews -= room->previews > 0;
    room->tokens = less(room->tokens, wbi_tokens(wbi_buf_str(&omitted)));
    wbi_jw_keyn(w, wbi_json_str(key));
    wbi_jw_raw(w, wbi_buf_str(&omitted));
    return WB_OK;
}

/* What the protected members cost is not there for the others. */
static uint64_t left_for_others(struct wbi_arena *arena, const wbi_json *obj, uint64_t tokens)
{
    struct wbi_str text;

    WBI_JSON_EACH_MEMBER (obj, key) {
        if (protected_member(wbi_json_str(key)) && !wbi_str_eqz(wbi_json_str(key), "partial") &&
            measure(arena, key_val, &text) == WB_OK)
            tokens = less(tokens, wbi_tokens(text));
    }
    return tokens;
}

wb_rc wbi_details_bound(struct wbi_arena *arena, struct wbi_str details, uint64_t tokens,
                        struct wbi_str *ret)
{
    struct room room = {WBI_LIMIT_DETAILS_CHARS, 0, PREVIEWS_ALWAYS, 0};
    const wbi_json *obj;
    struct wbi_buf out;
    struct wbi_jw w;
    wb_rc rc;

    if (wbi_utf8_count(details) <= WBI_LIMIT_DETAILS_CHARS && wbi_tokens(details) <= tokens) {
        *ret = details;
        return WB_OK;
    }
    rc = wbi_json_read(arena, details, WBI_JSON_STRICT, &obj, NULL);
    if (rc != WB_OK)
        return rc;
    room.tokens = left_for_others(arena, obj, tokens);
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    w = wbi_jw_to(&out);
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (obj, key) {
        (void)key_val;
        rc = write_member(&w, arena, key, &room);
        if (rc != WB_OK)
            return rc;
    }
    if (room.dropped > 0)
        wbi_jw_kint(&w, "omitted_members", (int64_t)room.dropped);
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&out) != WB_OK)
        return wbi_buf_rc(&out);
    *ret = wbi_buf_str(&out);
    return WB_OK;
}
