/* SPDX-License-Identifier: Apache-2.0
 * serve/result.c: content blocks and structuredContent of a result. Twins (a text
 * that is the structuredContent once more) are shown once. */
#include "serve/result.h"

#include "base/checked.h"
#include "base/limits.h"
#include "call/redact.h"
#include "call/runtime.h"
#include "text/hygiene_value.h"
#include "text/tokens.h"
#include "wire/wire.h"

/* Largest _meta that goes with a receipt; the same for members of texts, and how many. */
#define META_BYTES (64u * WBI_KIB)
#define MEMBERS_MAX 16u /* each is looked for in every text */

/* Bytes that a text in base64 stands for. */
static size_t decoded(struct wbi_str data)
{
    size_t n = data.n / 4 * 3, padding = 0;

    while (padding < 2 && padding < data.n && data.p[data.n - 1 - padding] == '=')
        padding++;
    return n - WBI_MIN(padding, n);
}

/* A block as text; what has none is described in one line. */
static void add_text(struct wbi_buf *out, const struct wbi_wire_part *p)
{
    if (out->n > 0)
        wbi_buf_addc(out, '\n');
    switch (p->type) {
    case WBI_PART_TEXT:
        wbi_buf_adds(out, p->text);
        break;
    case WBI_PART_RESOURCE:
        if (p->text.p != NULL)
            wbi_buf_adds(out, p->text);
        else
            wbi_buf_addf(out, "[resource %.*s]", WBI_FMT(p->uri));
        break;
    case WBI_PART_LINK:
        wbi_buf_addf(out, "[resource %.*s]", WBI_FMT(p->uri));
        break;
    case WBI_PART_IMAGE:
    case WBI_PART_AUDIO:
    case WBI_PART_FILE:
        wbi_buf_addf(out, "[%s %.*s, %zu bytes]", p->type == WBI_PART_IMAGE ? "image" : "data",
                     WBI_FMT(p->mime), decoded(p->data));
        break;
    case WBI_PART_OTHER:
        wbi_buf_addf(out, "[%.*s]", WBI_FMT(p->name));
        break;
    }
}

/* All blocks as parts, and their text. */
static wb_rc read_content(const struct wbi_exec *x, const wbi_json *content,
                          struct wbi_wire_part **ret_parts, size_t *ret_n, struct wbi_buf *text)
{
    struct wbi_wire_part *parts =
        wbi_arena_array(x->arena, wbi_json_count(content), sizeof(*parts));

    if (parts == NULL)
        return WB_ENOMEM;
    *ret_n = 0;
    *ret_parts = parts;
    WBI_JSON_EACH (content, block) {
        struct wbi_wire_part *part = &parts[*ret_n];

        if (!wbi_wire_part_read(block, part) ||
            (part->type == WBI_PART_TEXT && part->text.p == NULL))
            return WB_EINPUT;
        add_text(text, &parts[(*ret_n)++]);
    }
    return wbi_buf_rc(text);
}

/* Where there are secrets a block goes on without them, with members that are not known here;
 * of one that holds text as well as bytes only what is known. */
static wb_rc leave_secrets(const struct wbi_exec *x, const wbi_json *result,
                           struct wbi_wire_part *parts, size_t n, const wbi_json **shown)
{
    wb_rc rc = wbi_redact_value(x->call, result, shown);
    size_t i = 0;

    WBI_JSON_EACH (wbi_json_get(*shown, "content"), block) {
        if (i < n && parts[i].type == WBI_PART_RESOURCE && parts[i].text.p != NULL)
            parts[i].raw = NULL;
        else if (i < n && !wbi_json_equal(block, parts[i].raw))
            parts[i].raw = block;
        i++;
    }
    return rc;
}

static bool says_itself(struct wbi_str member)
{
    return wbi_str_eqz(member, "type") || wbi_str_eqz(member, "text");
}

/* The members besides their text that all text blocks have alike: a receipt that stands for
 * the texts has them, too (annotations, _meta). NULL: there are none. */
static wb_rc shared_members(struct wbi_arena *arena, const struct wbi_wire_part *parts, size_t n,
                            const wbi_json **ret)
{
    const wbi_json *first = NULL;
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);

    for (size_t i = 0; i < n && first == NULL; i++)
        first = parts[i].type == WBI_PART_TEXT ? parts[i].raw : NULL;
    if (wbi_json_count(first) <= 2 || wbi_json_count(first) > MEMBERS_MAX)
        return WB_OK;
    wbi_buf_init_arena(&text, arena, META_BYTES);
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (first, k) {
        struct wbi_str name = wbi_json_str(k);
        bool all = !says_itself(name);

        for (size_t i = 0; i < n && all; i++)
            all = parts[i].type != WBI_PART_TEXT ||
                  wbi_json_equal(wbi_json_getn(parts[i].raw, name), k_val);
        if (all) {
            wbi_jw_keyn(&w, name);
            wbi_jw_val(&w, k_val);
        }
    }
    wbi_jw_obj_end(&w);
    if (wbi_buf_rc(&text) != WB_OK) /* too much to stand beside a receipt */
        return wbi_buf_rc(&text) == WB_ELIMIT ? WB_OK : WB_ENOMEM;
    return text.n > 2 ? wbi_json_read(arena, wbi_buf_str(&text), WBI_JSON_STRICT, ret, NULL)
                      : WB_OK;
}

/* What is more than text is a part of the result, and so is text beside it, and text that says
 * other things than the structured value. */
static void keep_parts(struct wbi_wire_part *parts, size_t n, bool texts, struct wbi_complete *ret)
{
    for (size_t i = 0; i < n; i++) {
        if (parts[i].type != WBI_PART_TEXT || texts)
            parts[ret->part_count++] = parts[i];
    }
    ret->parts = ret->part_count > 0 ? parts : NULL;
}

static bool has_others(const struct wbi_wire_part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (parts[i].type != WBI_PART_TEXT)
            return true;
    }
    return false;
}

/* Whether the text says what the structured value says. */
static bool is_twin(struct wbi_arena *arena, struct wbi_str text, const wbi_json *structured)
{
    const wbi_json *v;

    return wbi_json_read(arena, text, WBI_JSON_STRICT, &v, NULL) == WB_OK &&
           wbi_json_equal(v, structured);
}

static wb_rc set_output(const struct wbi_exec *x, const wbi_json *structured, struct wbi_str text,
                        struct wbi_complete *ret)
{
    struct wbi_buf out;

    wbi_buf_init_arena(&out, x->arena, WBI_LIMIT_JSON_TEXT);
    if (structured != NULL)
        wbi_json_write(&out, structured);
    else
        wbi_json_quote(&out, text);
    ret->output = wbi_buf_str(&out);
    return wbi_buf_rc(&out);
}

/* What the server says to the client's machinery goes on beside a receipt, too: clean, and what
 * a colour may have hidden is looked for once more. shown has no other secrets. */
static struct wbi_str meta_of(const struct wbi_exec *x, const wbi_json *shown)
{
    const wbi_json *meta = wbi_json_get_as(shown, "_meta", WBI_JSON_OBJ);
    struct wbi_buf text;

    if (meta == NULL ||
        (!wbi_hygiene_value_is_clean(meta) && (wbi_hygiene_value(x->arena, meta, &meta) != WB_OK ||
                                               wbi_redact_block(x->call, meta, &meta) != WB_OK)))
        return WBI_NONE;
    wbi_buf_init_arena(&text, x->arena, META_BYTES);
    wbi_json_write(&text, meta);
    return wbi_buf_rc(&text) == WB_OK ? wbi_buf_str(&text) : WBI_NONE;
}

static uint32_t budget_of(const struct wbi_exec *x)
{
    uint32_t budget = x->tool->budget_tokens, wish = x->call->inv.max_tokens;

    return wish > 0 && wish < budget ? wish : budget;
}

static bool fits(const struct wbi_exec *x, struct wbi_str text)
{
    uint32_t budget = budget_of(x);

    return text.n <= budget || wbi_tokens(text) <= budget; /* a token has a byte or more */
}

/* Names, links and unknown members take room, too; the data of images does not count. */
static bool rest_fits(const struct wbi_exec *x, struct wbi_str source,
                      const struct wbi_wire_part *parts, size_t n, size_t said)
{
    size_t rest = source.n;

    for (size_t i = 0; i < n; i++)
        rest -= WBI_MIN(rest, parts[i].data.n);
    return rest <= 2 * said + 4 * (size_t)budget_of(x);
}

/* Some servers write null for what they leave out. */
static const wbi_json *said(const wbi_json *result, const char *member)
{
    const wbi_json *v = wbi_json_get(result, member);

    return wbi_json_is(v, WBI_JSON_NULL) ? NULL : v;
}

/* The text, where that is all there is. */
static const wbi_json *only_text(const struct wbi_wire_part *parts, size_t n)
{
    return n == 1 && parts[0].type == WBI_PART_TEXT ? wbi_json_get(parts[0].raw, "text") : NULL;
}

/* With nothing escaped every string stands in the source as it is. */
static bool is_clean(bool plain, struct wbi_str source)
{
    return plain && wbi_str_index(source, '\\') == source.n;
}

wb_rc wbi_tool_result_read(const struct wbi_exec *x, const wbi_json *result, struct wbi_str source,
                           struct wbi_complete *ret, struct wbi_tool_text *ret_text)
{
    const wbi_json *content = said(result, "content");
    const wbi_json *structured = wbi_json_get(result, "structuredContent");
    const wbi_json *failed = said(result, "isError"), *shown = result;
    struct wbi_wire_part *parts = NULL;
    bool plain = wbi_redact_is_plain(x->call, source), secrets = false, texts;
    struct wbi_buf text;
    size_t n = 0;
    wb_rc rc = WB_OK;

    if (!wbi_json_is(result, WBI_JSON_OBJ) ||
        (content != NULL && !wbi_json_is(content, WBI_JSON_ARR)) ||
        (content == NULL && structured == NULL) ||
        (failed != NULL && !wbi_json_is(failed, WBI_JSON_BOOL)))
        return WB_EINPUT;
    wbi_buf_init_arena(&text, x->arena, WBI_LIMIT_CALL_ARENA);
    if (!plain)
        rc = wbi_redact_would(x->call, result, structured, &secrets);
    if (rc == WB_OK && content != NULL)
        rc = read_content(x, content, &parts, &n, &text);
    if (rc == WB_OK && secrets)
        rc = leave_secrets(x, result, parts, n, &shown);
    if (rc == WB_OK)
        rc = shared_members(x->arena, parts, n, &ret->members);
    if (rc == WB_OK)
        rc = set_output(x, structured, wbi_buf_str(&text), ret);
    if (rc != WB_OK)
        return rc;
    /* Clients may rely on content being there. */
    ret_text->untouched = content != NULL && !secrets &&
                          (is_clean(plain, source) || wbi_hygiene_value_is_clean(result)) &&
                          fits(x, wbi_buf_str(&text)) &&
                          (structured == NULL || fits(x, ret->output)) &&
                          rest_fits(x, source, parts, n, text.n + ret->output.n);
    texts = structured != NULL ? text.n > 0 && !is_twin(x->arena, wbi_buf_str(&text), structured)
                               : has_others(parts, n);
    ret->flat = structured == NULL;
    ret->value = structured != NULL || secrets ? structured : only_text(parts, n);
    ret->looked = plain && (structured != NULL || n == 1); /* else they were put together here */
    keep_parts(parts, n, texts, ret);
    ret_text->text = wbi_buf_str(&text);
    ret_text->structured = structured != NULL;
    ret_text->twin = structured != NULL && text.n > 0 && !texts;
    ret_text->secrets = secrets;
    ret->loose = structured != NULL && !wbi_json_is(structured, WBI_JSON_OBJ);
    ret->meta = meta_of(x, shown);
    return WB_OK;
}

static bool has_content(const wbi_json *result)
{
    return wbi_json_count(wbi_json_get_as(result, "content", WBI_JSON_ARR)) > 0;
}

/* [one text: the value as JSON] */
static void write_as_text(struct wbi_jw *w, struct wbi_arena *arena, const wbi_json *value)
{
    struct wbi_buf text;

    wbi_buf_init_arena(&text, arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&text, value);
    wbi_jw_key(w, "content");
    wbi_jw_arr(w);
    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "type", "text");
    wbi_jw_kstr(w, "text", wbi_buf_str(&text));
    wbi_jw_obj_end(w);
    wbi_jw_arr_end(w);
}

wb_rc wbi_result_for_legacy(struct wbi_arena *arena, struct wbi_str result, struct wbi_buf *out)
{
    struct wbi_jw w = wbi_jw_to(out);
    const wbi_json *v;
    bool full;
    wb_rc rc = wbi_json_read(arena, result, WBI_JSON_STRICT, &v, NULL);

    if (rc != WB_OK)
        return rc;
    full = has_content(v);
    wbi_jw_obj(&w);
    if (!full)
        write_as_text(&w, arena, wbi_json_get(v, "structuredContent"));
    WBI_JSON_EACH_MEMBER (v, k) {
        struct wbi_str name = wbi_json_str(k);

        if (wbi_str_eqz(name, "structuredContent") || (!full && wbi_str_eqz(name, "content")))
            continue;
        wbi_jw_keyn(&w, name);
        wbi_jw_val(&w, k_val);
    }
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(out);
}
