/* SPDX-License-Identifier: Apache-2.0
 * wire/history.h: a conversation in any provider's form as one list of calls
 * and outputs, each output paired with the call it answers. Used by repair and
 * by compaction. Pure; everything lives in the arena and the tree given. */
#ifndef WBI_WIRE_HISTORY_H
#define WBI_WIRE_HISTORY_H

#include "wire/wire.h"

#define WBI_HISTORY_NONE ((size_t)-1)

struct wbi_history_entry {
    bool is_call;            /* else an output */
    bool duplicate;          /* a call or output that repeats an earlier one */
    enum wbi_wire_kind kind; /* of the call; of outputs the kind they are made for */
    size_t message;          /* index of the item, message or content it stands in */
    const wbi_json *value;   /* item, tool call, block or part; the message for Chat outputs */
    struct wbi_str id;       /* absent where none is given */
    struct wbi_str name;     /* calls that have one, and Gemini outputs */
    size_t partner;          /* entry of the other half, or WBI_HISTORY_NONE */
    size_t round;            /* from 0; of outputs: that of their call, where it is in sight */
    size_t next;             /* used while pairing */
};

struct wbi_history {
    enum wbi_provider provider; /* never AUTO */
    const wbi_json *root;
    const char *key;                   /* "input", "messages", "contents"; NULL for a bare array */
    const wbi_json *messages;          /* the array */
    struct wbi_history_entry *entries; /* in document order */
    size_t n;
    size_t rounds;
};

/* root: the bare array or the request object. AUTO looks at key and contents.
 * WB_EINPUT when there is no history in it, WB_ELIMIT, WB_ENOMEM. */
WB_MUST_CHECK wb_rc wbi_history_read(struct wbi_arena *arena, enum wbi_provider provider,
                                     const wbi_json *root, struct wbi_history *ret,
                                     struct wbi_error *err);
/* Entries of one message stand together; the first at or after entry `from`
 * with message >= m, or n. */
size_t wbi_history_seek(const struct wbi_history *h, size_t from, size_t m);
/* The array that holds a message's parts (content, parts, tool_calls); NULL where none. */
const wbi_json *wbi_history_blocks(enum wbi_provider provider, const wbi_json *message);
/* True for messages the model wrote. */
bool wbi_history_by_model(enum wbi_provider provider, const wbi_json *message);

#endif
