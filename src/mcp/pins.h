/* SPDX-License-Identifier: Apache-2.0
 * mcp/pins.h: a server's tool definitions, remembered by hash. A definition is
 * what the model is told: name, title, description, both schemas, annotations,
 * _meta and whatever else it holds. What changed since it was
 * accepted is not callable until somebody has looked at the difference. */
#ifndef WBI_MCP_PINS_H
#define WBI_MCP_PINS_H

#include "base/hash.h"
#include "json/json.h"

enum wbi_pin_policy {
    WBI_PIN_FIRST_USE = 0, /* the first definition seen is accepted */
    WBI_PIN_APPROVAL       /* nothing is callable before it was approved */
};

enum wbi_pin_state {
    WBI_PIN_ACCEPTED = 0,
    WBI_PIN_NEW,     /* never approved (policy approval) */
    WBI_PIN_CHANGED, /* differs from what was accepted */
    WBI_PIN_REFUSED  /* somebody has looked at it and said no */
};
/* "accepted", "new", "changed", "refused". */
const char *wbi_pin_state_name(enum wbi_pin_state state);

/* Whether what a record has pending was refused: it waits on, but no longer for an approval of
 * the whole server. */
bool wbi_pin_is_refused(const wbi_json *pending);

/* Where pins are kept. Keys are "server/tool"; values JSON. */
struct wbi_pin_store {
    /* WB_ENOTFOUND when there is none; *ret in arena. */
    wb_rc (*get)(void *arg, struct wbi_str key, struct wbi_arena *arena, struct wbi_str *ret,
                 struct wbi_error *err);
    wb_rc (*put)(void *arg, struct wbi_str key, struct wbi_str value, struct wbi_error *err);
    void *arg;
};

/* Hex SHA-256 over the canonical form of the definition; WB_EINPUT when it has
 * none (numbers out of range) or is no object with a name. */
WB_MUST_CHECK wb_rc wbi_pin_hash(const wbi_json *tool, struct wbi_arena *arena,
                                 char ret[WBI_SHA256_HEX], struct wbi_error *err);

/* Compares a definition with what is kept and records what is seen: the first
 * sight as accepted or pending by policy, a change as pending beside the accepted
 * one. A store that fails gives its error: then the tool is not callable. */
WB_MUST_CHECK wb_rc wbi_pin_check(const struct wbi_pin_store *store, enum wbi_pin_policy policy,
                                  struct wbi_str server, const wbi_json *tool, int64_t wall_ms,
                                  struct wbi_arena *arena, enum wbi_pin_state *ret,
                                  struct wbi_error *err);

/* Accept what is pending, if its hash still is the one that was looked at (absent:
 * whatever it is). WB_ENOTFOUND when nothing is pending, WB_EAGAIN when it has
 * changed once more. */
WB_MUST_CHECK wb_rc wbi_pin_approve(const struct wbi_pin_store *store, struct wbi_str server,
                                    struct wbi_str tool, struct wbi_str hash, int64_t wall_ms,
                                    struct wbi_arena *arena, struct wbi_error *err);

/* Lines "- path: old" and "+ path: new" between the accepted and the pending
 * definition; text is shown as JSON, so nothing in it can pose as a line. */
WB_MUST_CHECK wb_rc wbi_pin_diff(const struct wbi_pin_store *store, struct wbi_str server,
                                 struct wbi_str tool, struct wbi_arena *arena, struct wbi_buf *out,
                                 struct wbi_error *err);

#endif
