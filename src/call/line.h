/* SPDX-License-Identifier: Apache-2.0
 * call/line.h: one input line of a stream of calls: text, tree and the calls in it.
 * Counted: calls made of it hold it. On the loop's thread. */
#ifndef WBI_CALL_LINE_H
#define WBI_CALL_LINE_H

#include "call/runtime.h"
#include "wire/wire.h"

struct wbi_call_line {
    struct wbi_arena *arena;
    struct wbi_wire_turn turn;
    size_t refs;
    bool refused; /* none of its calls may run, or is remembered */
};

/* Held once; NULL without memory. */
struct wbi_call_line *wbi_call_line_new(struct wbi_loop *loop);
/* Takes void * so that an arena may do it at its end. */
void wbi_call_line_release(void *line);

/* Its calls, also where it must be refused but they can be made out. *ret_tree is its JSON as
 * far as there is one; the text is copied. */
WB_MUST_CHECK wb_rc wbi_call_line_read(struct wbi_call_line *line, enum wbi_provider provider,
                                       struct wbi_str text, const wbi_json **ret_tree,
                                       struct wbi_error *err);
/* The provider's item w of the line as call's invocation; what is wrong with it is told by the
 * call's own outcome. */
WB_MUST_CHECK wb_rc wbi_call_line_fill(const struct wbi_call_line *line, struct wbi_wire_call *w,
                                       struct wbi_call *call);

#endif
