/* SPDX-License-Identifier: Apache-2.0
 * family/receipt.c: every line written here ends in a line end; the last one is
 * taken off at the end. */
#include "family/receipt.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "family/command/command.h"
#include "family/compact.h"
#include "family/generic/generic.h"
#include "json/pointer.h"
#include "json/write.h"
#include "text/hygiene.h"
#include "text/tokens.h"

size_t wbi_receipt_lines(struct wbi_str text)
{
    size_t lines = 0;

    for (size_t at = 0; at < text.n; at++) {
        at += wbi_str_index(wbi_str_from(text, at), '\n');
        lines++;
    }
    return lines;
}

static void section_head(struct wbi_buf *out, const char *name, size_t lines)
{
    wbi_buf_addz(out, name);
    wbi_buf_addz(out, ": (");
    wbi_buf_addu(out, lines);
    wbi_buf_addz(out, lines == 1 ? " line)\n" : " lines)\n");
}

void wbi_receipt_section(struct wbi_buf *out, const char *name, struct wbi_str text)
{
    size_t lines = wbi_receipt_lines(text);

    if (lines == 0)
        return;
    section_head(out, name, lines);
    wbi_buf_adds(out, text);
    if (text.p[text.n - 1] != '\n')
        wbi_buf_addc(out, '\n');
}

void wbi_receipt_preview(struct wbi_buf *out, const char *name, struct wbi_str text)
{
    if (text.p == NULL)
        return;
    section_head(out, name,
                 wbi_receipt_lines(text) + (text.n == 0 || wbi_str_ends(text, WBI_LIT("\n"))));
    wbi_buf_adds(out, text);
    wbi_buf_addc(out, '\n');
}

void wbi_receipt_line(struct wbi_buf *out, const char *name, struct wbi_str value)
{
    wbi_buf_addz(out, name);
    wbi_buf_addz(out, ": ");
    wbi_hygiene_one_line(value, out);
    wbi_buf_addc(out, '\n');
}

struct wbi_str wbi_receipt_read_call(struct wbi_arena *arena, struct wbi_str path)
{
    struct wbi_buf out;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    wbi_buf_addz(&out, "ReadArtifact {\"path\":");
    wbi_json_quote(&out, path);
    wbi_buf_addz(&out, ",\"lines\":\"A-B\"}");
    return wbi_buf_rc(&out) == WB_OK ? wbi_buf_str(&out) : WBI_NONE;
}

/* Strings as they are, others as compact JSON; absent when out of memory. */
static struct wbi_str detail_text(struct wbi_arena *arena, const wbi_json *value)
{
    struct wbi_buf text;

    if (wbi_json_is(value, WBI_JSON_STR))
        return wbi_json_str(value);
    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, value);
    return wbi_buf_rc(&text) == WB_OK ? wbi_buf_str(&text) : WBI_NONE;
}

#define CUT_TOKENS 24u /* of the words that say so */

static void detail_line(struct wbi_buf *out, struct wbi_arena *arena, const wbi_json *key,
                        uint64_t most)
{
    char *name = wbi_arena_strz(arena, wbi_json_str(key));
    struct wbi_str text = detail_text(arena, key + 1);
    size_t keep;

    if (text.n > most && wbi_tokens(text) > most) { /* a token has a byte at least */
        keep = wbi_tokens_prefix(text, (most - CUT_TOKENS) * WBI_TOKEN_UNIT);
        if (keep == 0) /* one long word */
            keep = wbi_utf8_cut(text, most - CUT_TOKENS);
        text = wbi_arena_fmt(arena,
                             "%.*s [\xe2\x80\xa6 %zu of %zu bytes left out; all is in the record]",
                             (int)keep, text.p, text.n - keep, text.n);
    }
    if (name == NULL || text.p == NULL)
        out->rc = WB_ENOMEM;
    else
        wbi_receipt_line(out, name, text);
}

static const wbi_json *member(const wbi_json *result, const char *prefix, const char *suffix)
{
    char key[64];

    (void)snprintf(key, sizeof(key), "%s_%s", prefix, suffix);
    return wbi_json_get(result, key);
}

/* "12 lines, 345 bytes, UTF-16, 6 redraws folded"; empty where a result does not count them. */
struct counts {
    char text[128];
    int64_t lines;
};

static struct counts counts_of(const wbi_json *result, const char *prefix)
{
    struct counts c = {.text = "", .lines = 0};
    int64_t bytes = 0, redraws = 0;
    int n;

    if (!wbi_json_i64(member(result, prefix, "bytes"), &bytes) ||
        !wbi_json_i64(member(result, prefix, "lines"), &c.lines))
        return c;
    n = snprintf(c.text, sizeof(c.text), "%lld line%s, %lld byte%s", (long long)c.lines,
                 c.lines == 1 ? "" : "s", (long long)bytes, bytes == 1 ? "" : "s");
    if (wbi_str_eqz(wbi_json_str(member(result, prefix, "encoding")), "utf-16"))
        n += snprintf(c.text + n, sizeof(c.text) - (size_t)n, ", UTF-16");
    if (wbi_json_i64(member(result, prefix, "redraws"), &redraws))
        (void)snprintf(c.text + n, sizeof(c.text) - (size_t)n, ", %lld redraw%s folded",
                       (long long)redraws, redraws == 1 ? "" : "s");
    return c;
}

void wbi_receipt_stream_header(struct wbi_buf *out, const wbi_json *result, const char *prefix,
                               const char *section)
{
    struct counts c = counts_of(result, prefix);
    bool known = c.text[0] != '\0';
    int64_t index = -1, dropped = 0;

    if (wbi_json_i64(member(result, prefix, "artifact"), &index) && index >= 0) {
        const wbi_json *a = wbi_json_at(wbi_json_get(result, "artifacts"), (size_t)index);
        wbi_buf_addf(out, "%s artifact: ", section);
        wbi_hygiene_one_line(wbi_json_get_str(a, "path"), out);
        wbi_buf_addf(out, "%s%s%s\n", known ? " (" : "", c.text, known ? ")" : "");
        known = false; /* said once */
    }
    if (c.lines > 0 && !wbi_json_is(member(result, prefix, "preview"), WBI_JSON_STR))
        wbi_buf_addf(out, "%s is left out here%s%s\n", section, known ? ": " : "",
                     known ? c.text : "");
    else if (wbi_json_true(member(result, prefix, "truncated")))
        wbi_buf_addf(out, "%s is truncated below%s%s%s\n", section, known ? ": " : "",
                     known ? c.text : "", known ? " in all" : "");
    if (wbi_json_i64(member(result, prefix, "dropped_bytes"), &dropped))
        wbi_buf_addf(out, "%s: %lld bytes could not be kept (%.*s)\n", section, (long long)dropped,
                     WBI_FMT(wbi_json_str(member(result, prefix, "dropped_reason"))));
}

void wbi_receipt_stream(struct wbi_buf *out, const wbi_json *result, const char *prefix,
                        const char *section)
{
    wbi_receipt_preview(out, section, wbi_json_str(member(result, prefix, "preview")));
}

void wbi_receipt_write_budget(struct wbi_jw *w, const struct wbi_allowance *budget)
{
    if (!budget->raised)
        return;
    wbi_jw_key(w, "budget");
    wbi_jw_obj(w);
    wbi_jw_kint(w, "asked", budget->asked);
    wbi_jw_kint(w, "used", budget->tokens);
    wbi_jw_obj_end(w);
}

void wbi_receipt_budget(struct wbi_buf *out, const wbi_json *result)
{
    const wbi_json *budget = wbi_json_get_as(result, "budget", WBI_JSON_OBJ);
    int64_t asked = 0, used = 0;

    if (wbi_json_i64(wbi_json_get(budget, "asked"), &asked) &&
        wbi_json_i64(wbi_json_get(budget, "used"), &used))
        wbi_buf_addf(out, "Budget: %lld tokens count as %lld, the least\n", (long long)asked,
                     (long long)used);
}

/* What the commands of a batch had done when it was stopped. */
static void partial_batch(struct wbi_buf *out, const wbi_json *partial)
{
    const wbi_json *items = wbi_json_get_as(partial, "items", WBI_JSON_ARR);
    int64_t planned = 0, begun = (int64_t)wbi_json_count(items);

    if (items == NULL || !wbi_json_i64(wbi_json_get(partial, "commands"), &planned))
        return;
    wbi_batch_render_items(items, out);
    if (planned > begun)
        wbi_buf_addf(out, "Not started: %lld of %lld commands\n", (long long)(planned - begun),
                     (long long)planned);
}

/* What a cancelled or late call had produced: its streams as in a success. */
static void partial_lines(struct wbi_buf *out, struct wbi_arena *arena, const wbi_json *partial)
{
    for (int pass = 0; pass < 2; pass++) {
        WBI_JSON_EACH_MEMBER (partial, key) {
            struct wbi_str name = wbi_json_str(key);
            char *prefix;

            if (!wbi_str_ends(name, WBI_LIT("_preview")))
                continue;
            prefix = wbi_arena_strz(arena, wbi_str_head(name, name.n - 8));
            if (prefix == NULL || (!wbi_json_is(key_val, WBI_JSON_STR) &&
                                   member(partial, prefix, "artifact") == NULL))
                continue;
            if (pass == 0)
                wbi_receipt_stream_header(out, partial, prefix, prefix);
            else
                wbi_receipt_stream(out, partial, prefix, prefix);
        }
    }
    partial_batch(out, partial);
}

/* C6.6: a phrase that stands word for word in the message is not shown again. Single
 * words are handles (paths, ids, names of members): they keep their line. */
static bool said(struct wbi_str message, const wbi_json *value)
{
    struct wbi_str text = wbi_json_str(value);

    return wbi_str_index(text, ' ') < text.n && wbi_str_find(message, text) < message.n;
}

static bool has_line(const wbi_json *key, struct wbi_str message)
{
    return !wbi_str_eqz(wbi_json_str(key), "partial") && !said(message, key + 1);
}

/* Tokens that each detail may cost so that all fit: the longest are cut, the others stay. */
static uint64_t detail_share(struct wbi_arena *arena, const wbi_json *details,
                             struct wbi_str message)
{
    uint64_t frame = WBI_ERROR_FRAME_TOKENS + wbi_tokens(message), sum, most;
    uint64_t room = frame < WBI_ERROR_TOKENS ? WBI_ERROR_TOKENS - frame : 0;

    for (most = room; most > 2 * CUT_TOKENS; most -= most / 8) {
        sum = 0;
        WBI_JSON_EACH_MEMBER (details, key) {
            uint64_t cost = has_line(key, message) ? wbi_tokens(detail_text(arena, key_val)) : 0;

            sum += cost < most ? cost : most;
        }
        if (sum <= room)
            return most;
    }
    return 2 * CUT_TOKENS;
}

void wbi_receipt_message(struct wbi_buf *out, struct wbi_str message)
{
    if (wbi_str_index(message, '\n') + 1 < message.n) {
        wbi_receipt_section(out, "message", message);
        return;
    }
    wbi_buf_adds(out, message);
    if (!wbi_str_ends(message, WBI_LIT("\n")))
        wbi_buf_addc(out, '\n');
}

/* The receipt of an error, the same for all families. Details that are kept whole whatever
 * their length are cut here, and it says so. */
static wb_rc receipt_of_error(const struct wbi_canonical *c, struct wbi_arena *arena,
                              struct wbi_buf *out)
{
    const wbi_json *details = wbi_json_get_as(c->error, "details", WBI_JSON_OBJ);
    struct wbi_str hint = wbi_json_get_str(c->error, "recovery_hint");
    struct wbi_str message = wbi_json_get_str(c->error, "message");
    uint64_t share = 0;

    wbi_buf_addz(out, "Error: ");
    wbi_buf_adds(out, wbi_json_get_str(c->error, "kind"));
    wbi_buf_addz(out, wbi_json_true(wbi_json_get(c->error, "retryable")) ? " (retryable)\n"
                                                                         : " (not retryable)\n");
    wbi_receipt_message(out, message);
    if (details != NULL)
        share = detail_share(arena, details, message);
    WBI_JSON_EACH_MEMBER (details, key) {
        (void)key_val;
        if (has_line(key, message))
            detail_line(out, arena, key, share);
    }
    if (hint.p != NULL)
        wbi_receipt_line(out, "Next", hint);
    partial_lines(out, arena, wbi_json_get_as(details, "partial", WBI_JSON_OBJ));
    return wbi_buf_rc(out);
}

static bool has_all(const wbi_json *result, const char *const needs[3])
{
    const wbi_json *found;

    for (size_t i = 0; i < 3 && needs[i] != NULL; i++)
        if (wbi_json_pointer(result, wbi_str_z(needs[i]), &found, NULL) != WB_OK)
            return false;
    return true;
}

wb_rc wbi_receipt_render(const struct wbi_family *family, const struct wbi_canonical *c,
                         struct wbi_arena *arena, struct wbi_buf *out, struct wbi_error *err)
{
    wb_rc rc;

    if (!c->success)
        rc = receipt_of_error(c, arena, out);
    else if (family != NULL && !has_all(c->result, family->needs))
        rc = wbi_compact_show(arena, c, WBI_RUNG_SUMMARY, out);
    else if (family != NULL)
        rc = family->render(family->arg, c, arena, out, err);
    else
        rc = wbi_generic_family.render(NULL, c, arena, out, err);
    if (rc == WB_OK)
        rc = wbi_buf_rc(out);
    if (rc == WB_ELIMIT)
        return wbi_fail(err, rc, "the receipt would be longer than %zu bytes", out->max);
    if (rc == WB_OK && out->n > 0 && out->p[out->n - 1] == '\n')
        out->p[--out->n] = '\0';
    return rc;
}
