/* SPDX-License-Identifier: Apache-2.0
 * family/envelope.h: metadata about a result under the reserved root member
 * "__envelope" (C4.3). Pure functions: a JSON value in, bytes out. Written with
 * the documented spellings; older ones (createdUtc, a number as contentType, an
 * array as compat) are read too; members we do not know are kept. */
#ifndef WBI_FAMILY_ENVELOPE_H
#define WBI_FAMILY_ENVELOPE_H

#include "base/clock.h"
#include "json/json.h"
#include "json/write.h"

#define WBI_ENVELOPE_KEY "__envelope"
#define WBI_ENVELOPE_VERSION "1.0"

enum wbi_content_type {
    WBI_CONTENT_INFER = 0, /* from the payload, when it is written */
    WBI_CONTENT_UNKNOWN,
    WBI_CONTENT_TEXT,
    WBI_CONTENT_LIST,
    WBI_CONTENT_OBJECT,
    WBI_CONTENT_IMAGE,
    WBI_CONTENT_BINARY
};

/* "Text", …; "Unknown" for WBI_CONTENT_INFER. */
const char *wbi_content_type_name(enum wbi_content_type type);
/* Any case; false when the name is none of the six. */
bool wbi_content_type_by_name(struct wbi_str name, enum wbi_content_type *ret);
/* False when Text is said of no string, List of no array, Object of no object:
 * worth a warning, never a failure. */
bool wbi_content_type_fits(enum wbi_content_type type, const wbi_json *payload);

struct wbi_envelope_pair {
    struct wbi_str key;
    struct wbi_str value;
};

/* What is to be written; zeroed is an envelope of defaults. Absent slices are
 * left out, payload_path is then "result". Nothing is owned. */
struct wbi_envelope {
    struct wbi_str tool;
    struct wbi_str provider;
    struct wbi_str model;
    struct wbi_str tool_call_id;
    enum wbi_content_type content_type;
    struct wbi_str payload_path;
    struct wbi_str schema_ref;
    const struct wbi_envelope_pair *compat;
    size_t compat_n;
    struct wbi_str created_at;     /* RFC 3339, any offset; absent: by clock */
    const struct wbi_clock *clock; /* NULL and no created_at: left out */
    const struct wbi_str *tags;
    size_t tags_n;
};

/* All append to out and return WB_OK, WB_EINPUT (a root that is no object, a
 * "__envelope" that is none, a path into "__envelope", a created_at that is no
 * time, a compat key twice) or the buffer's failure. */

/* The envelope alone; payload (may be NULL) serves to infer the content type. */
WB_MUST_CHECK wb_rc wbi_envelope_create(const struct wbi_envelope *env, const wbi_json *payload,
                                        struct wbi_buf *out, struct wbi_error *err);
/* The root with this envelope in place of any other, whose unknown members stay. */
WB_MUST_CHECK wb_rc wbi_envelope_attach(const wbi_json *root, const struct wbi_envelope *env,
                                        struct wbi_buf *out, struct wbi_error *err);
/* The root as it is when it has an envelope, else as attach. */
WB_MUST_CHECK wb_rc wbi_envelope_ensure(const wbi_json *root, const struct wbi_envelope *env,
                                        struct wbi_buf *out, struct wbi_error *err);
/* The root's envelope in the documented spelling; without one it writes null and
 * returns WB_ENOTFOUND. */
WB_MUST_CHECK wb_rc wbi_envelope_get(const wbi_json *root, struct wbi_buf *out,
                                     struct wbi_error *err);
/* A new root with any payload (NULL is null) under payload_key, which is also
 * written as payloadPath. Absent key: env's payload_path, else "result". */
WB_MUST_CHECK wb_rc wbi_envelope_wrap(const wbi_json *payload, const struct wbi_envelope *env,
                                      struct wbi_str payload_key, struct wbi_buf *out,
                                      struct wbi_error *err);

/* The payload of a root: at payloadPath (a top-level name first, then a dotted
 * path or JSON Pointer), then by the names of an array compat, then result,
 * list, items. A present null is found. WB_ENOTFOUND when there is none. */
WB_MUST_CHECK wb_rc wbi_envelope_payload(const wbi_json *root, const wbi_json **ret,
                                         struct wbi_error *err);

/* What a root says about itself; members of the wrong type read as absent. */
struct wbi_envelope_view {
    struct wbi_str version;
    struct wbi_str tool;
    struct wbi_str provider;
    struct wbi_str model;
    struct wbi_str tool_call_id;
    enum wbi_content_type content_type; /* never INFER */
    struct wbi_str payload_path;        /* "result" when absent or blank */
    struct wbi_str schema_ref;
    struct wbi_str created_at;
    const wbi_json *compat; /* object or array, else NULL */
    const wbi_json *tags;   /* array, else NULL */
};
/* WB_ENOTFOUND when the root has none, WB_EINPUT as above. */
WB_MUST_CHECK wb_rc wbi_envelope_view(const wbi_json *root, struct wbi_envelope_view *ret,
                                      struct wbi_error *err);

/* For writers of whole roots: the value of "__envelope" at the writer's place. */
WB_MUST_CHECK wb_rc wbi_envelope_write(struct wbi_jw *w, const struct wbi_envelope *env,
                                       const wbi_json *payload, struct wbi_error *err);

#endif
