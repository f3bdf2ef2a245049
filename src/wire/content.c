/* SPDX-License-Identifier: Apache-2.0
 * wire/content.c: content parts as all encoders see them, and the notes that
 * stand for parts a provider cannot take. */
#include <stdio.h>

#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "text/hygiene.h"
#include "text/hygiene_value.h"
#include "wire/wire_int.h"

bool wbi_content_is_text(const struct wbi_wire_answer *answer, struct wbi_str *ret)
{
    if (answer->parts_n == 0)
        *ret = answer->receipt.p ? answer->receipt : WBI_LIT("");
    else if (answer->parts_n == 1 && answer->parts[0].type == WBI_PART_TEXT)
        *ret = answer->parts[0].text.p ? answer->parts[0].text : WBI_LIT("");
    else
        return false;
    return true;
}

enum wbi_wire_part_type wbi_part_as(const struct wbi_wire_part *part)
{
    if (part->type != WBI_PART_RESOURCE)
        return part->type;
    if (part->data.p == NULL)
        return WBI_PART_TEXT;
    return wbi_str_starts(part->mime, WBI_LIT("image/")) ? WBI_PART_IMAGE : WBI_PART_FILE;
}

bool wbi_mime_in(struct wbi_str mime, const char *const *list)
{
    for (; *list != NULL; list++)
        if (wbi_str_ieq(mime, wbi_str_z(*list)))
            return true;
    return false;
}

bool wbi_mime_is_image(struct wbi_str mime)
{
    static const char *const images[] = {"image/jpeg", "image/png", "image/gif", "image/webp",
                                         NULL};

    return wbi_mime_in(mime, images);
}

static bool is_base64(struct wbi_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
              c == '+' || c == '/' || c == '='))
            return false;
    }
    return s.n > 0;
}

static bool is_mime(struct wbi_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
              strchr("+-./_", c) != NULL) ||
            c == '\0')
            return false;
    }
    return s.n > 0 && s.n <= 127;
}

struct wbi_str wbi_part_data(const struct wbi_wire_part *part)
{
    struct wbi_str data = part->data;

    if (wbi_str_starts(data, WBI_LIT("data:"))) {
        size_t at = wbi_str_find(wbi_str_head(data, 256), WBI_LIT(";base64,"));
        data = wbi_str_from(data, at + 8);
    }
    return is_mime(part->mime) && is_base64(data) ? data : WBI_NONE;
}

void wbi_jw_data_url(struct wbi_jw *w, struct wbi_str mime, struct wbi_str data)
{
    /* Both are clean (wbi_part_data), so no byte needs escaping. */
    wbi_jw_raw(w, WBI_LIT("\"data:"));
    wbi_buf_adds(w->out, mime);
    wbi_buf_addz(w->out, ";base64,");
    wbi_buf_adds(w->out, data);
    wbi_buf_addc(w->out, '"');
}

/* What the part is called, cut so that a note stays a note. */
static struct wbi_str label(const struct wbi_wire_part *part)
{
    struct wbi_str s = part->uri.n > 0 ? part->uri : part->name;

    return wbi_str_head(s, wbi_utf8_cut(s, 1000));
}

struct wbi_str wbi_part_note(const struct wbi_wire_part *part, char out[WBI_NOTE_SIZE])
{
    static const char *const names[] = {
        [WBI_PART_TEXT] = "text",         [WBI_PART_IMAGE] = "image",
        [WBI_PART_AUDIO] = "audio",       [WBI_PART_LINK] = "resource link",
        [WBI_PART_RESOURCE] = "resource", [WBI_PART_FILE] = "file",
        [WBI_PART_OTHER] = "content",
    };
    struct wbi_str mime = wbi_str_head(part->mime, wbi_utf8_cut(part->mime, 127));
    struct wbi_str at = label(part);
    bool link = part->type == WBI_PART_LINK;

    (void)snprintf(out, WBI_NOTE_SIZE, "[%s%s%.*s%s%.*s%s", names[part->type], at.n ? ": " : "",
                   WBI_FMT(at), mime.n ? (at.n ? ", " : ": ") : "", WBI_FMT(mime), link ? "]" : "");
    if (!link) {
        size_t n = strlen(out);
        (void)snprintf(out + n, WBI_NOTE_SIZE - n,
                       ", %zu bytes of base64; this provider takes no such content in tool "
                       "results]",
                       part->data.n);
    }
    return wbi_str_z(out);
}

struct wbi_str wbi_part_text(const struct wbi_wire_part *part, char note[WBI_NOTE_SIZE])
{
    if (wbi_part_as(part) != WBI_PART_TEXT)
        return wbi_part_note(part, note);
    return part->text.p ? part->text : WBI_LIT("");
}

static void read_resource(const wbi_json *resource, struct wbi_wire_part *part)
{
    part->uri = wbi_json_get_str(resource, "uri");
    part->mime = wbi_json_get_str(resource, "mimeType");
    part->text = wbi_json_get_str(resource, "text");
    part->data = wbi_json_get_str(resource, "blob");
}

static struct wbi_str *member_of(struct wbi_wire_part *part, struct wbi_str *type,
                                 struct wbi_str name)
{
    if (wbi_str_eqz(name, "type"))
        return type;
    if (wbi_str_eqz(name, "text"))
        return &part->text;
    if (wbi_str_eqz(name, "data"))
        return &part->data;
    if (wbi_str_eqz(name, "mimeType"))
        return &part->mime;
    if (wbi_str_eqz(name, "name"))
        return &part->name;
    return wbi_str_eqz(name, "uri") ? &part->uri : NULL;
}

bool wbi_wire_part_read(const wbi_json *block, struct wbi_wire_part *ret)
{
    struct wbi_wire_part part = {.type = WBI_PART_OTHER, .raw = block};
    struct wbi_str type = WBI_NONE, *member;

    WBI_JSON_EACH_MEMBER (block, k) {
        member = member_of(&part, &type, wbi_json_str(k));
        if (member != NULL && wbi_json_is(k_val, WBI_JSON_STR))
            *member = wbi_json_str(k_val);
    }
    if (type.p == NULL)
        return false;
    if (wbi_str_eqz(type, "text")) {
        part.type = WBI_PART_TEXT;
    } else if (wbi_str_eqz(type, "image")) {
        part.type = WBI_PART_IMAGE;
    } else if (wbi_str_eqz(type, "audio")) {
        part.type = WBI_PART_AUDIO;
    } else if (wbi_str_eqz(type, "resource_link")) {
        part.type = WBI_PART_LINK;
    } else if (wbi_str_eqz(type, "resource")) {
        part.type = WBI_PART_RESOURCE;
        read_resource(wbi_json_get(block, "resource"), &part);
    } else {
        part.name = type;
    }
    *ret = part;
    return true;
}

static wb_rc clean_text(struct wbi_arena *arena, struct wbi_str *text)
{
    struct wbi_buf out;
    wb_rc rc;

    if (text->n == 0 || wbi_hygiene_is_clean(*text))
        return WB_OK;
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    rc = wbi_hygiene_clean(*text, &out, NULL);
    if (rc == WB_OK)
        *text = wbi_buf_str(&out);
    return rc;
}

wb_rc wbi_wire_part_clean(struct wbi_arena *arena, struct wbi_wire_part *part)
{
    /* data that is not clean is no base64: text of some kind */
    struct wbi_str *texts[] = {&part->uri, &part->name, &part->mime, &part->data};
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < WBI_COUNT(texts); i++)
        rc = clean_text(arena, texts[i]);
    if (rc != WB_OK || part->raw == NULL || part->type == WBI_PART_OTHER)
        return rc;
    rc = wbi_hygiene_value(arena, part->raw, &part->raw);
    if (rc == WB_EINPUT) { /* then what is known of it has to do */
        part->raw = NULL;
        rc = WB_OK;
    }
    return rc;
}
