/* SPDX-License-Identifier: Apache-2.0
 * text/redact.h: secrets of JSON values replaced by member name, by path and by
 * form (C8.8). The value itself is never changed: a new text is written. */
#ifndef WBI_TEXT_REDACT_H
#define WBI_TEXT_REDACT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "json/json.h"
#include "text/secrets.h"

/* Compiled paths. Immutable, any thread. */
struct wbi_redact_rules;

/* Paths are dotted: headers.authorization, *.token, items[*].key, list[0],
 * a["quoted.name"]. A * stands for one member or element. With by_name, members
 * whose name wbi_secrets_name() knows are replaced at any depth too.
 * WB_EINPUT names the path that cannot be read. */
WB_MUST_CHECK wb_rc wbi_redact_rules_new(const struct wbi_str *paths, size_t n, bool by_name,
                                         struct wbi_redact_rules **ret, struct wbi_error *err);
void wbi_redact_rules_free(struct wbi_redact_rules *rules);

/* Paths that were replaced, in document order, in the arena given. */
struct wbi_redact_list {
    struct wbi_arena *arena;
    const struct wbi_str *path;
    size_t n;
};

/* One text. Where it is not clean (text/hygiene.h) it is cleaned first: a colour, or a
 * character that cannot be seen, must not hide the secret in which it stands. *ret_found:
 * secrets were found, and out has got the text, clean and without them. */
WB_MUST_CHECK wb_rc wbi_redact_string(const struct wbi_secrets *secrets, struct wbi_str text,
                                      struct wbi_buf *out, bool *ret_found);

/* Write v to out, compact, with secrets replaced by strings. A replaced value
 * hides all below it and is listed once; a path that does not occur is neither
 * made nor listed. secrets or rules may be NULL to leave that part out; list may
 * be NULL. Any type of value is replaced. */
WB_MUST_CHECK wb_rc wbi_redact_json(const struct wbi_secrets *secrets,
                                    const struct wbi_redact_rules *rules, const wbi_json *v,
                                    struct wbi_buf *out, struct wbi_redact_list *list);

/* True: wbi_redact_json would replace nothing in this JSON text. Found without
 * parsing it, which for most texts is all that is needed; false says nothing. */
bool wbi_redact_is_clean(const struct wbi_secrets *secrets, const struct wbi_redact_rules *rules,
                         struct wbi_str json);

#endif
