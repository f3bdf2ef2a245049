/* SPDX-License-Identifier: Apache-2.0
 * tests/support/guarded.h: a runtime with policies and scripted tools, for tests that
 * follow whole calls past the guards. Time stands still unless a test moves it. */
#ifndef WAYBILL_TESTS_GUARDED_H
#define WAYBILL_TESTS_GUARDED_H

#include <stdbool.h>

#include "json/json.h"
#include "waybill/waybill.h"

#define HELD_MAX 256
#define ENDED_MAX 64 /* that are remembered */

/* What a tool does in its first, second, … run; the last word is repeated:
 * "ok", "fail" (transient), "broken" (for good), "hold", "late" (ends well, but
 * only once cancelled), "odd" (breaks its output schema), "partials" (two, then
 * fails), "leak" (an error with a secret in it). */
struct scripted {
    struct guarded *world;
    const char *script[8];
    int runs;
    wb_tool_call *held[HELD_MAX];
    int held_n;
    int64_t takes_ms; /* the clock moves on by that while it runs */
};

/* What the caller of a call was told in the end. */
struct ended {
    char call[64], kind[64];
    const wbi_json *result;
};

struct guarded {
    wb_runtime *runtime;
    struct wbi_arena *arena; /* of the results read */
    char root[64];
    int64_t mono_ns, wall_ms;
    bool real_time;
    struct scripted tools[4];
    size_t tools_n;
    struct ended ended[ENDED_MAX];
    size_t ended_n;
};

/* policies and bindings: JSON, or NULL. ledger: keep state in files. */
void guarded_open(struct guarded *g, const char *policies, const char *bindings, bool ledger);
void guarded_close(struct guarded *g);
void guarded_pass_ms(struct guarded *g, int64_t ms);
/* A tool with that name ("t" or "t@1.1.0") and effect; more: further members of its descriptor,
 * each with a comma in front. */
struct scripted *guarded_tool(struct guarded *g, const char *name, const char *effect,
                              const char *more, const char *first, const char *second);
/* A tool that is held: end it well. */
void scripted_finish(struct scripted *t, int i);

/* One call under way or over. */
struct asked {
    wb_request *request;
    wb_call_id id;
    int done;
    const wbi_json *result; /* the view "result" */
    char kind[64];
    struct guarded *world;
    char frames[16384];
};
/* fields: pairs of wb_field and text, ended by 0. */
void ask(struct guarded *g, struct asked *a, const char *tool, ...);
/* Turn the loop until it is over. */
void wait_for(struct asked *a);
/* Both at once. */
const wbi_json *answer(struct guarded *g, struct asked *a, const char *tool, ...);
/* Turn the loop a few times without waiting. */
void settle_down(struct guarded *g);

/* JSON text of a place in the result, "" when it is not there. */
const char *at(const struct asked *a, const char *pointer);
int64_t number_at(const struct asked *a, const char *pointer);
/* RFC 3339 of the world's wall clock plus ms. */
const char *deadline_in(const struct guarded *g, int64_t ms);

#endif
