/* SPDX-License-Identifier: Apache-2.0
 * wire/repair_test.c: C9.5 by example and by property. The checker of legality
 * below knows the providers' rules from their documents, not from repair.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "arena_fixture.h"
#include "base/checked.h"
#include "base/limits.h"
#include "wire/history.h"
#include "wire/repair.h"

static struct wbi_str repair(enum wbi_provider provider, struct wbi_str text,
                             struct wbi_repair_report *report)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_buf out;

    wbi_buf_init_arena(&out, arena, WBI_LIMIT_JSON_TEXT);
    if (wbi_wire_repair(arena, provider, text, &out, report, &err) != WB_OK)
        fail_msg("%s", err.text);
    return wbi_buf_str(&out);
}

#define UNKNOWN                                                                               \
    "Error: outcome_unknown (not retryable)\\nno output of this call was recorded; it may "   \
    "have run, in part or in whole\\nNext: check whether the effect happened before calling " \
    "again"

/* --- by example --- */

struct example {
    enum wbi_provider provider;
    const char *promise;
    const char *in;
    const char *out; /* NULL: as it came */
};

#define R WBI_PROVIDER_RESPONSES
#define C WBI_PROVIDER_CHAT
#define A WBI_PROVIDER_ANTHROPIC
#define G WBI_PROVIDER_GEMINI
#define FC(id) \
    "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define FO(id) "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":\"done\"}"
#define FU(id) \
    "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":\"" UNKNOWN "\"}"
#define MSG "{\"type\":\"message\",\"role\":\"user\",\"content\":\"hi\"}"
#define TC(id) \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}"
#define ASK(calls) "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" calls "]}"
#define TOOL(id) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"done\"}"
#define TOOLU(id) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" UNKNOWN "\"}"
#define USER "{\"role\":\"user\",\"content\":\"hi\"}"
#define USE(id) "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"f\",\"input\":{}}"
#define RES(id) "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"done\"}"
#define RESU(id)                                                                  \
    "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"" UNKNOWN \
    "\",\"is_error\":true}"
#define ASST(blocks) "{\"role\":\"assistant\",\"content\":[" blocks "]}"
#define USERB(blocks) "{\"role\":\"user\",\"content\":[" blocks "]}"
#define TEXT "{\"type\":\"text\",\"text\":\"hi\"}"
#define GCALL(name) "{\"functionCall\":{\"name\":\"" name "\",\"args\":{}}}"
#define GRES(name) \
    "{\"functionResponse\":{\"name\":\"" name "\",\"response\":{\"output\":\"done\"}}}"
#define GRESU(name) \
    "{\"functionResponse\":{\"name\":\"" name "\",\"response\":{\"error\":\"" UNKNOWN "\"}}}"
#define GCALLI(id) "{\"functionCall\":{\"id\":\"" id "\",\"name\":\"f\"}}"
#define GRESI(id) \
    "{\"functionResponse\":{\"id\":\"" id "\",\"name\":\"f\",\"response\":{\"output\":\"x\"}}}"
#define GMODEL(parts) "{\"role\":\"model\",\"parts\":[" parts "]}"
#define GUSER(parts) "{\"role\":\"user\",\"parts\":[" parts "]}"
#define GTEXT "{\"text\":\"hi\"}"

static const struct example examples[] = {
    {R, "empty", "[]", NULL},
    {R, "legal, with odd white space",
     " [ " MSG ", " FC("a") "," FC("b") "," FO("b") ",\n" FO("a") "]\n", NULL},
    {R, "ids used again in a later round", "[" FC("a") "," FO("a") "," FC("a") "," FO("a") "]",
     NULL},
    {R, "missing output", "[" FC("a") "," FC("b") "," FO("b") "," MSG "]",
     "[" FC("a") "," FC("b") "," FU("a") "," FO("b") "," MSG "]"},
    {R, "missing at the end, request object kept",
     "{\"model\":\"m\",\"input\":[" FC("a") "],\"stream\":true}",
     "{\"model\":\"m\",\"input\":[" FC("a") "," FU("a") "],\"stream\":true}"},
    {R, "orphan", "[" FO("x") "," MSG "]", "[" MSG "]"},
    {R, "second output", "[" FC("a") "," FO("a") "," FO("a") "]", "[" FC("a") "," FO("a") "]"},
    {R, "repeated call", "[" FC("a") "," FC("a") "," FO("a") "]", "[" FC("a") "," FO("a") "]"},
    {R, "output before its call", "[" FO("a") "," MSG "," FC("a") "," FC("b") "," FO("b") "]",
     "[" MSG "," FC("a") "," FC("b") "," FO("a") "," FO("b") "]"},
    {R, "output of the other type",
     "[{\"type\":\"custom_tool_call\",\"call_id\":\"a\",\"name\":\"f\",\"input\":\"x\"}," FO(
         "a") "]",
     "[{\"type\":\"custom_tool_call\",\"call_id\":\"a\",\"name\":\"f\",\"input\":\"x\"},"
     "{\"type\":\"custom_tool_call_output\",\"call_id\":\"a\",\"output\":\"done\"}]"},
    {R, "a call without an id",
     "[{\"type\":\"function_call\",\"name\":\"f\",\"arguments\":\"{}\"}]",
     "[{\"type\":\"function_call\",\"name\":\"f\",\"arguments\":\"{}\",\"call_id\":"
     "\"call_repaired_0\"}," FU("call_repaired_0") "]"},
    {R, "old shell items are keyed by id",
     "[{\"type\":\"local_shell_call\",\"id\":\"l\",\"action\":{}}," FO("l") "]", NULL},
    {R, "old shell outputs may name the item",
     "[{\"type\":\"local_shell_call\",\"id\":\"l\",\"call_id\":\"c\",\"action\":{}},"
     "{\"type\":\"local_shell_call_output\",\"id\":\"l\",\"output\":\"{}\"}]",
     NULL},
    {R, "shell and patch calls get outputs of their kind",
     "[{\"type\":\"shell_call\",\"call_id\":\"s\",\"action\":{\"commands\":[\"a\"]}},"
     "{\"type\":\"apply_patch_call\",\"call_id\":\"p\"}]",
     "[{\"type\":\"shell_call\",\"call_id\":\"s\",\"action\":{\"commands\":[\"a\"]}},"
     "{\"type\":\"apply_patch_call\",\"call_id\":\"p\"},"
     "{\"type\":\"shell_call_output\",\"call_id\":\"s\",\"output\":[{\"stdout\":\"" UNKNOWN
     "\",\"stderr\":\"\",\"outcome\":{\"type\":\"exit\",\"exit_code\":1}}]},"
     "{\"type\":\"apply_patch_call_output\",\"call_id\":\"p\",\"status\":\"failed\",\"output\":"
     "\"" UNKNOWN "\"}]"},
    {R, "the call is in the response before",
     "{\"previous_response_id\":\"r1\",\"input\":[" FO("x") "," MSG "]}", NULL},
    {R, "an output without an id, perhaps of a call of the response before",
     "{\"previous_response_id\":\"r1\",\"input\":[" FC("a") "," FO("a") "," FO("") "]}", NULL},
    {R, "the call is only referred to",
     "[{\"type\":\"item_reference\",\"id\":\"fc_1\"}," FO("x") "]", NULL},
    {R, "missing output beside a call of the response before",
     "{\"previous_response_id\":\"r1\",\"input\":[" FO("x") "," FC("a") "]}",
     "{\"previous_response_id\":\"r1\",\"input\":[" FO("x") "," FC("a") "," FU("a") "]}"},
    {C, "legal", "[" USER "," ASK(TC("a") "," TC("b")) "," TOOL("b") "," TOOL("a") "," USER "]",
     NULL},
    {C, "missing", "[" ASK(TC("a") "," TC("b")) "," TOOL("b") "," USER "]",
     "[" ASK(TC("a") "," TC("b")) "," TOOL("b") "," TOOLU("a") "," USER "]"},
    {C, "somebody spoke in between", "{\"messages\":[" ASK(TC("a")) "," USER "," TOOL("a") "]}",
     "{\"messages\":[" ASK(TC("a")) "," TOOL("a") "," USER "]}"},
    {C, "orphan and second output", "[" TOOL("z") "," ASK(TC("a")) "," TOOL("a") "," TOOL("a") "]",
     "[" ASK(TC("a")) "," TOOL("a") "]"},
    {C, "ids that start anew every turn",
     "[" ASK(TC("0")) "," TOOL("0") "," ASK(TC("0")) "," TOOL("0") "]", NULL},
    {C, "an unanswered id used again", "[" ASK(TC("0")) "," ASK(TC("0")) "," TOOL("0") "]",
     "[" ASK(TC("0")) "," TOOLU("0") "," ASK(TC("0")) "," TOOL("0") "]"},
    {C, "the same call twice in a message", "[" ASK(TC("a") "," TC("a")) "," TOOL("a") "]",
     "[" ASK(TC("a")) "," TOOL("a") "]"},
    {A, "legal",
     "[" USER
     "," ASST(TEXT "," USE("a") "," USE("b")) "," USERB(RES("b") "," RES("a") "," TEXT) "]",
     NULL},
    {A, "legal over neighbouring messages",
     "[" ASST(USE("a")) "," ASST(USE("b")) "," USERB(RES("a")) "," USERB(RES("b") "," TEXT) "]",
     NULL},
    {A, "missing, the user went on", "[" ASST(USE("a")) "," USER "]",
     "[" ASST(USE("a")) "," USERB(RESU("a") "," TEXT) "]"},
    {A, "missing at the end", "[" ASST(USE("a") "," USE("b")) "]",
     "[" ASST(USE("a") "," USE("b")) "," USERB(RESU("a") "," RESU("b")) "]"},
    {A, "text before the result", "[" ASST(USE("a")) "," USERB(TEXT "," RES("a")) "]",
     "[" ASST(USE("a")) "," USERB(RES("a") "," TEXT) "]"},
    {A, "result one turn late",
     "[" ASST(USE("a")) "," USER "," ASST(TEXT) "," USERB(RES("a")) "," ASST(TEXT) "]",
     "[" ASST(USE("a")) "," USERB(RES("a") "," TEXT) "," ASST(TEXT) "," ASST(TEXT) "]"},
    {A, "orphan beside a result", "[" ASST(USE("a")) "," USERB(RES("z") "," RES("a")) "]",
     "[" ASST(USE("a")) "," USERB(RES("a")) "]"},
    {G, "legal, told by name",
     "{\"contents\":[" GUSER(GTEXT) "," GMODEL(GCALL("f") "," GCALL("g")) "," GUSER(
         GRES("f") "," GRES("g")) "]}",
     NULL},
    {G, "two calls of one name, one output",
     "[" GMODEL(GCALL("f") "," GCALL("f")) "," GUSER(GRES("f")) "]",
     "[" GMODEL(GCALL("f") "," GCALL("f")) "," GUSER(GRES("f") "," GRESU("f")) "]"},
    {G, "missing", "[" GMODEL(GCALL("f")) "," GUSER(GTEXT) "]",
     "[" GMODEL(GCALL("f")) "," GUSER(GRESU("f") "," GTEXT) "]"},
    {G, "orphan", "[" GUSER(GTEXT) "," GUSER(GRES("f")) "," GMODEL(GTEXT) "]",
     "[" GUSER(GTEXT) "," GMODEL(GTEXT) "]"},
    {G, "ids decide where both have one",
     "[" GMODEL("{\"functionCall\":{\"id\":\"1\",\"name\":\"f\"}}") "," GUSER(
         "{\"functionResponse\":{\"id\":\"2\",\"name\":\"f\",\"response\":{}}}") "]",
     "[" GMODEL("{\"functionCall\":{\"id\":\"1\",\"name\":\"f\"}}") "," GUSER(
         "{\"functionResponse\":{\"id\":\"1\",\"name\":\"f\",\"response\":{\"error\":\"" UNKNOWN
         "\"}}}") "]"},
    {G, "an output without an id is of the call that ids leave over",
     "[" GMODEL(GCALLI("1") "," GCALLI("2")) "," GUSER(GRES("f") "," GRESI("1")) "]", NULL},
    {G, "an unanswered id used again",
     "[" GMODEL(GCALLI("0")) "," GUSER(GTEXT) "," GMODEL(GCALLI("0")) "," GUSER(GRESI("0")) "]",
     "[" GMODEL(GCALLI("0")) "," GUSER(
         "{\"functionResponse\":{\"id\":\"0\",\"name\":\"f\",\"response\":{\"error\":\"" UNKNOWN
         "\"}}}," GTEXT) "," GMODEL(GCALLI("0")) "," GUSER(GRESI("0")) "]"},
};

#define FCI(more) \
    "{\"type\":\"function_call\",\"id\":\"i\",\"name\":\"f\",\"arguments\":\"{}\"" more "}"
#define FCN(text) "{\"type\":\"function_call\",\"name\":\"f\",\"arguments\":\"" text "\"}"
#define FCM(text, id)                                                                              \
    "{\"type\":\"function_call\",\"name\":\"f\",\"arguments\":\"" text "\",\"call_id\":\"" id "\"" \
    "}"
#define FON(text, id) \
    "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":\"" text "\"}"
#define THOUGHT "{\"type\":\"reasoning\",\"summary\":[]}"
#define SHELL(id) "{\"type\":\"shell_call\",\"call_id\":\"" id "\",\"action\":{}}"
#define SHELLO(id) "{\"type\":\"shell_call_output\",\"call_id\":\"" id "\",\"output\":[]}"
#define LOCAL(more) "{\"type\":\"local_shell_call\",\"action\":{}" more "}"
#define LOCALO(more) "{\"type\":\"local_shell_call_output\",\"output\":\"{}\"" more "}"
#define CUSTOM                                                                                \
    "{\"type\":\"custom_tool_call\",\"id\":\"i\",\"call_id\":\"c\",\"name\":\"f\",\"input\":" \
    "\"x\"}"
#define CO(id) "{\"type\":\"custom_tool_call_output\",\"call_id\":\"" id "\",\"output\":\"done\"}"
#define USEN(more) "{\"type\":\"tool_use\",\"name\":\"f\",\"input\":{}" more "}"
#define TOOLN(more) "{\"role\":\"tool\",\"content\":\"1\"" more "}"
#define M0 "call_repaired_0"
#define M1 "call_repaired_1"
#define GTOLD(name, text) \
    "{\"functionResponse\":{\"name\":\"" name "\",\"response\":{\"output\":\"" text "\"}}}"
#define GCALLN(id, name) "{\"functionCall\":{\"id\":\"" id "\",\"name\":\"" name "\"}}"
#define GRESN(id, name) \
    "{\"functionResponse\":{\"id\":\"" id "\",\"name\":\"" name "\",\"response\":{}}}"

#define NOTE "{\"type\":\"text\",\"text\":\"" WBI_REPAIR_NOTE "\"}"
#define GNOTE "{\"text\":\"" WBI_REPAIR_NOTE "\"}"

/* The first and the last turn are the user's, also where it held only what has to go. */
static const struct example turns[] = {
    {A, "results of calls that were cut away", "[" USERB(RES("z")) "," ASST(TEXT) "," USER "]",
     "[" USERB(NOTE) "," ASST(TEXT) "," USER "]"},
    {A, "a result again, in the end", "[" USER "," ASST(TEXT) "," USERB(RES("z")) "]",
     "[" USER "," ASST(TEXT) "," USERB(NOTE) "]"},
    {A, "nothing but that", "[" USERB(RES("z")) "]", "[" USERB(NOTE) "]"},
    {A, "another turn of the user is there",
     "[" USERB(RES("z")) "," USER "," ASST(TEXT) "," USER "," USERB(RES("z")) "]",
     "[" USER "," ASST(TEXT) "," USER "]"},
    {A, "turns of the model are joined",
     "[" USER "," ASST(TEXT) "," USERB(RES("z")) "," ASST(TEXT) "]",
     "[" USER "," ASST(TEXT) "," ASST(TEXT) "]"},
    {G, "responses of calls that were cut away",
     "[" GUSER(GRES("f")) "," GMODEL(GCALL("f")) "," GUSER(GRES("f")) "]",
     "[" GUSER(GNOTE) "," GMODEL(GCALL("f")) "," GUSER(GRES("f")) "]"},
    {G, "turns of the model are not joined",
     "[" GUSER(GTEXT) "," GMODEL(GTEXT) "," GUSER(GRES("f")) "," GMODEL(GTEXT) "]",
     "[" GUSER(GTEXT) "," GMODEL(GTEXT) "," GUSER(GNOTE) "," GMODEL(GTEXT) "]"},
    {G, "one note for several",
     "[" GUSER(GRES("f")) "," GUSER(GRES("f")) "," GMODEL(GTEXT) "," GUSER(GTEXT) "]",
     "[" GUSER(GNOTE) "," GMODEL(GTEXT) "," GUSER(GTEXT) "]"},
};

/* Which call an output is of where ids are missing, wrong or used again. */
static const struct example ties[] = {
    {R, "an output may name the item, with the type of another call", "[" CUSTOM "," FO("i") "]",
     "[" CUSTOM "," CO("c") "]"},
    {R, "a call without call_id keeps the output that names its item", "[" FCI("") "," FO("i") "]",
     "[" FCI(",\"call_id\":\"" M0 "\"") "," FO(M0) "]"},
    {R, "the same id twice without any output", "[" FC("a") "," FC("a") "]",
     "[" FC("a") "," FU("a") "]"},
    {R, "of two calls of one id the nearer one", "[" FO("a") "," FC("a") "," FO("a") "]",
     "[" FC("a") "," FO("a") "]"},
    {R, "the output without an id of a call without one", "[" FCN("1") "," FON("1", "") "]",
     "[" FCM("1", M0) "," FON("1", M0) "]"},
    {R, "parallel calls have their outputs in order, whatever the model says in between",
     "[" FCN("1") "," THOUGHT "," FCN("2") "," FON("1", "") "," FON("2", "") "," MSG "]",
     "[" FCM("1", M0) "," THOUGHT "," FCM("2", M1) "," FON("1", M0) "," FON("2", M1) "," MSG "]"},
    {R, "one without an id is of the newest turn first, those left of the one before",
     "[" FCN("1") "," MSG "," FCN("2") "," FON("2", "") "," FON("1", "") "]",
     "[" FCM("1", M0) "," MSG "," FCM("2", M1) "," FON("2", M1) "," FON("1", M0) "]"},
    {R, "what a later call gave without an id is not that of an interrupted one",
     "[" FCN("1") "," MSG "," FCN("2") "," FON("2", "") "]",
     "[" FCM("1", M0) "," FU(M0) "," MSG "," FCM("2", M1) "," FON("2", M1) "]"},
    {R, "one without an id is of the call that ids leave over",
     "[" FC("a") "," FC("b") "," FON("1", "") "," FO("a") "]",
     "[" FC("a") "," FC("b") "," FON("1", "b") "," FO("a") "]"},
    {R, "without ids a shell's output is of a shell call, a function's of a function",
     "[" SHELL("s") "," FC("a") "," FO("") "," SHELLO("") "]",
     "[" SHELL("s") "," FC("a") "," FO("a") "," SHELLO("s") "]"},
    {R, "old shell calls without any id", "[" LOCAL("") "," LOCAL("") "," LOCALO("") "," FO("") "]",
     "[" LOCAL(",\"call_id\":\"" M0 "\"") "," LOCAL(",\"call_id\":\"" M1 "\"") "," LOCALO(
         ",\"id\":\"" M0 "\"") "," FO(M1) "]"},
    {R, "one without an id and without a call", "[" FC("a") "," FO("a") "," FO("") "]",
     "[" FC("a") "," FO("a") "]"},
    {C, "outputs without ids are those of the calls without, in order",
     "[" ASK(TC("") "," TC("")) "," TOOLN("") "," TOOL("") "," USER "]",
     "[" ASK(TC(M0) "," TC(M1)) "," TOOLN(",\"tool_call_id\":\"" M0 "\"") "," TOOL(M1) "," USER
                                                                                       "]"},
    {C, "one without an id is of the newest message first",
     "[" ASK(TC("")) "," USER "," ASK(TC("")) "," TOOL("") "]",
     "[" ASK(TC(M0)) "," TOOLU(M0) "," USER "," ASK(TC(M1)) "," TOOL(M1) "]"},
    {C, "one without an id is of the call that ids leave over",
     "[" ASK(TC("a") "," TC("b")) "," TOOL("") "," TOOL("a") "]",
     "[" ASK(TC("a") "," TC("b")) "," TOOL("b") "," TOOL("a") "]"},
    {C, "one without an id and without a call", "[" ASK(TC("a")) "," TOOL("a") "," TOOL("") "]",
     "[" ASK(TC("a")) "," TOOL("a") "]"},
    {A, "an id that is made is no other's",
     "[" ASST(USE(M1) "," USEN("")) "," USERB(RES(M1) "," RES("")) "]",
     "[" ASST(USE(M1) "," USEN(",\"id\":\"call_repaired_3\"")) "," USERB(
         RES(M1) "," RES("call_repaired_3")) "]"},
    {R, "nor that of an output",
     "{\"previous_response_id\":\"r1\",\"input\":[" FO(M1) "," FCN("1") "," FON("1", "") "]}",
     "{\"previous_response_id\":\"r1\",\"input\":[" FO(M1) "," FCM("1", "call_repaired_3") "," FON(
         "1", "call_repaired_3") "]}"},
    {A, "results without ids", "[" ASST(USEN("")) "," USERB(RES("")) "]",
     "[" ASST(USEN(",\"id\":\"" M0 "\"")) "," USERB(RES(M0)) "]"},
    {G, "what a later call gave is not that of an interrupted one",
     "[" GMODEL(GCALL("f")) "," GUSER(GTEXT) "," GMODEL(GCALL("f")) "," GUSER(GRES("f")) "]",
     "[" GMODEL(GCALL("f")) "," GUSER(GRESU("f") "," GTEXT) "," GMODEL(GCALL("f")) "," GUSER(
         GRES("f")) "]"},
    {G, "one that comes late is still that of the interrupted call",
     "[" GMODEL(GCALL("f")) "," GUSER(GTEXT) "," GMODEL(GTEXT) "," GUSER(GRES("f")) "]",
     "[" GMODEL(GCALL("f")) "," GUSER(GRES("f") "," GTEXT) "," GMODEL(GTEXT) "," GUSER(GNOTE) "]"},
    {G, "calls of neighbouring contents have their outputs in order",
     "[" GMODEL(GCALL("f")) "," GMODEL(GCALL("f")) "," GUSER(
         GTOLD("f", "1") "," GTOLD("f", "2")) "]",
     "[" GMODEL(GCALL("f")) "," GUSER(GTOLD("f", "1")) "," GMODEL(GCALL("f")) "," GUSER(
         GTOLD("f", "2")) "]"},
    {G, "an id says enough; the name becomes that of the call",
     "[" GMODEL(GCALLI("1") "," GCALLI("2")) "," GUSER(GRESI("2") "," GRESN("1", "unknown")) "]",
     "[" GMODEL(GCALLI("1") "," GCALLI("2")) "," GUSER(GRESI("2") "," GRESN("1", "f")) "]"},
    {G, "what a call that was cut away gave is not that of an interrupted one",
     "[" GUSER(GTOLD("f", "1")) "," GMODEL(GCALL("f")) "," GUSER(GTEXT) "]",
     "[" GUSER(GNOTE) "," GMODEL(GCALL("f")) "," GUSER(GRESU("f") "," GTEXT) "]"},
    {G, "id and name together say more than the id",
     "[" GMODEL(GCALLN("1", "f") "," GCALLN("1", "g")) "," GUSER(
         GRESN("1", "g") "," GRESN("1", "f") "," GRESN("1", "h")) "]",
     "[" GMODEL(GCALLN("1", "f") "," GCALLN("1", "g")) "," GUSER(
         GRESN("1", "g") "," GRESN("1", "f")) "]"},
    {G, "a call that was interrupted has the late output that names it",
     "[" GMODEL(GCALLN("1", "f")) "," GUSER(GTEXT) "," GMODEL(GCALLN("1", "g")) "," GUSER(
         GRESN("1", "f")) "]",
     "[" GMODEL(GCALLN("1", "f")) "," GUSER(GRESN("1", "f") "," GTEXT) "," GMODEL(
         GCALLN("1", "g")) "," GUSER("{\"functionResponse\":{\"id\":\"1\",\"name\":\"g\","
                                     "\"response\":{\"error\":\"" UNKNOWN "\"}}}") "]"},
    {G, "a second output of an id is not that of a call without one",
     "[" GMODEL(GCALLI("1") "," GCALL("f")) "," GUSER(GRESI("1") "," GRESI("1")) "]",
     "[" GMODEL(GCALLI("1") "," GCALL("f")) "," GUSER(GRESI("1") "," GRESU("f")) "]"},
    {G, "of an early output the id decides, too",
     "[" GUSER(GTEXT "," GRESI("1")) "," GMODEL(GCALLI("1")) "," GMODEL(GCALL("f")) "]",
     "[" GUSER(GTEXT) "," GMODEL(GCALLI("1")) "," GUSER(GRESI("1")) "," GMODEL(
         GCALL("f")) "," GUSER(GRESU("f")) "]"},
};

static void check_example(const struct example *e, enum wbi_provider provider)
{
    struct wbi_str in = wbi_str_z(e->in), want = wbi_str_z(e->out ? e->out : e->in);
    struct wbi_repair_report report;
    struct wbi_str got = repair(provider, in, &report), again;

    if (!wbi_str_eq(got, want))
        fail_msg("%s %s\n want %s\n  got %.*s", wbi_provider_name(e->provider), e->promise, want.p,
                 WBI_FMT(got));
    assert_int_equal(report.changed, e->out != NULL);
    again = repair(provider, got, &report);
    assert_true(wbi_str_eq(again, got));
    assert_false(report.changed);
}

static void broken_histories_are_mended_and_legal_ones_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < WBI_COUNT(examples); i++) {
        check_example(&examples[i], examples[i].provider);
        if (wbi_str_find(wbi_str_z(examples[i].in), WBI_LIT("[]")) == strlen(examples[i].in))
            check_example(&examples[i], WBI_PROVIDER_AUTO);
    }
}

static void every_output_is_given_to_its_call(void **state)
{
    (void)state;
    for (size_t i = 0; i < WBI_COUNT(ties); i++)
        check_example(&ties[i], ties[i].provider);
}

static void the_user_keeps_the_first_and_the_last_turn(void **state)
{
    (void)state;
    for (size_t i = 0; i < WBI_COUNT(turns); i++)
        check_example(&turns[i], turns[i].provider);
}

static void the_report_counts_what_was_done(void **state)
{
    struct wbi_repair_report r;

    (void)state;
    (void)repair(R, WBI_LIT("[" FO("x") "," FO("a") "," FC("a") "," FC("a") "," FC("b") "]"), &r);
    assert_int_equal(r.calls, 2);
    assert_int_equal(r.outputs_added, 1);
    assert_int_equal(r.orphans_dropped, 1);
    assert_int_equal(r.duplicates_dropped, 1);
    assert_int_equal(r.outputs_moved, 1);
    assert_int_equal(r.provider, R);
}

static void what_is_no_history_is_refused(void **state)
{
    static const char *const bad[] = {"", "{}", "7", "{\"input\":7}", "[", "{\"a\":[]}"};
    struct wbi_error err;
    struct wbi_buf out;

    (void)state;
    wbi_buf_init_arena(&out, arena, 1000);
    for (size_t i = 0; i < WBI_COUNT(bad); i++)
        assert_int_equal(
            wbi_wire_repair(arena, WBI_PROVIDER_AUTO, wbi_str_z(bad[i]), &out, NULL, &err),
            WB_EINPUT);
    assert_int_equal(wbi_wire_repair(arena, WBI_PROVIDER_MCP, WBI_LIT("[]"), &out, NULL, &err),
                     WB_EINPUT);
    assert_int_equal(out.n, 0);
}

static void rounds_are_numbered(void **state)
{
    struct wbi_history h;
    const wbi_json *root;
    struct wbi_error err;

    (void)state;
    assert_int_equal(
        wbi_json_read(arena,
                      WBI_LIT("[" FC("a") "," FC("b") "," FO("b") "," FO("a") "," FC("c") "]"),
                      WBI_JSON_STRICT, &root, &err),
        WB_OK);
    assert_int_equal(wbi_history_read(arena, WBI_PROVIDER_AUTO, root, &h, &err), WB_OK);
    assert_int_equal(h.provider, R);
    assert_int_equal(h.rounds, 2);
    assert_int_equal(h.entries[1].round, 0);
    assert_int_equal(h.entries[2].partner, 1);
    assert_int_equal(h.entries[3].round, 0);
    assert_int_equal(h.entries[4].round, 1);
    assert_int_equal(h.entries[4].partner, WBI_HISTORY_NONE);
}

/* Processor time of repairing n calls {id a, name x} and n responses of that id. */
static clock_t time_of_one_id(unsigned n, const char *name, bool early)
{
    struct wbi_buf b;
    clock_t from;

    wbi_arena_reset(arena);
    wbi_buf_init_arena(&b, arena, WBI_LIMIT_JSON_TEXT);
    for (unsigned turn = 0; turn < 2; turn++) {
        bool calls = (turn == 1) == early;

        wbi_buf_addf(&b, "%s{\"role\":\"%s\",\"parts\":[", turn == 0 ? "[" : "]},",
                     calls ? "model" : "user");
        for (unsigned i = 0; i < n; i++)
            wbi_buf_addf(&b, "%s{\"function%s\":{\"id\":\"a\",\"name\":\"%s\"}}", i ? "," : "",
                         calls ? "Call" : "Response", calls ? "x" : name);
    }
    wbi_buf_addz(&b, "]}]");
    from = clock();
    (void)repair(G, wbi_buf_str(&b), NULL);
    return clock() - from;
}

static void many_calls_of_one_id_take_no_square_of_time(void **state)
{
    (void)state;
    for (int early = 0; early < 2; early++) {
        clock_t same = time_of_one_id(16000, "x", early);

        assert_true(time_of_one_id(16000, "y", early) < 20 * (same + CLOCKS_PER_SEC / 1000));
    }
}

static void little_memory_is_an_error_not_a_crash(void **state)
{
    (void)state;
    for (size_t i = 0; i < WBI_COUNT(examples); i++) {
        for (size_t cap = 16;; cap += 112) {
            struct wbi_arena *small;
            struct wbi_buf out;
            wb_rc rc;

            assert_int_equal(wbi_arena_new(cap, &small), WB_OK);
            wbi_buf_init_arena(&out, small, WBI_LIMIT_JSON_TEXT);
            rc = wbi_wire_repair(small, examples[i].provider, wbi_str_z(examples[i].in), &out, NULL,
                                 NULL);
            wbi_arena_free(small);
            if (rc == WB_OK)
                break;
            assert_int_equal(rc, WB_ENOMEM);
        }
    }
}

/* --- by property --- */

static uint64_t seed;

static unsigned roll(unsigned n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % n;
}

/* A heap of calls, outputs and talk in no order, over few ids. */
static void make_message(struct wbi_buf *b, enum wbi_provider p)
{
    static const char *const ids[] = {"a", "b", "c", "d", ""};
    static const char *const types[] = {"function", "function", "custom_tool", "shell",
                                        "local_shell"};
    const char *id = ids[roll(5)], *other = ids[roll(5)];

    switch (p) {
    case R:
        if (roll(5) == 0)
            wbi_buf_addf(b, "{\"type\":\"message\",\"role\":\"%s\",\"content\":\"%s\"}",
                         roll(2) ? "user" : "assistant", id);
        else
            wbi_buf_addf(b, "{\"type\":\"%s_%s\",\"call_id\":\"%s\",\"name\":\"f\"}",
                         types[roll(WBI_COUNT(types))], roll(2) ? "call" : "call_output", id);
        break;
    case C:
        if (roll(3) == 0)
            wbi_buf_addf(
                b, "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"%s\"},{\"id\":\"%s\"}]}", id,
                other);
        else
            wbi_buf_addf(b,
                         roll(3) ? "{\"role\":\"tool\",\"tool_call_id\":\"%s\",\"content\":\"\"}"
                                 : "{\"role\":\"user\",\"content\":\"%s\"}",
                         id);
        break;
    case A:
        if (roll(2) == 0)
            wbi_buf_addf(
                b,
                "{\"role\":\"assistant\",\"content\":[" TEXT
                ",{\"type\":\"tool_use\",\"id\":\"%s\"},{\"type\":\"tool_use\",\"id\":\"%s\"}]}",
                id, other);
        else if (roll(4) == 0)
            wbi_buf_addz(b, USER);
        else
            wbi_buf_addf(b,
                         "{\"role\":\"user\",\"content\":[%s{\"type\":\"tool_result\",\"tool_use_"
                         "id\":\"%s\"},{\"type\":\"tool_result\",\"tool_use_id\":\"%s\"}]}",
                         roll(3) ? "" : TEXT ",", id, other);
        break;
    default:
        if (roll(2) == 0)
            wbi_buf_addf(b,
                         "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"%s\"}},{"
                         "\"functionCall\":{\"id\":\"%s\",\"name\":\"f\"}}]}",
                         id, other);
        else
            wbi_buf_addf(b,
                         "{\"role\":\"user\",\"parts\":[%s{\"functionResponse\":{\"name\":\"%s\"}},"
                         "{\"functionResponse\":{\"id\":\"%s\",\"name\":\"f\"}}]}",
                         roll(3) ? "" : GTEXT ",", id, other);
    }
}

#define MOST 64

/* Ids asked for that wait for their outputs. */
struct waiting {
    struct wbi_str ids[MOST * 2];
    size_t n;
};

static bool answer(struct waiting *w, struct wbi_str id)
{
    for (size_t i = 0; i < w->n; i++) {
        if (wbi_str_eq(w->ids[i], id)) {
            w->ids[i] = w->ids[--w->n];
            return true;
        }
    }
    return false;
}

static bool ask(struct waiting *w, struct wbi_str id)
{
    for (size_t i = 0; i < w->n; i++)
        if (wbi_str_eq(w->ids[i], id))
            return false;
    w->ids[w->n++] = id;
    return true;
}

static bool legal_responses(const wbi_json *items)
{
    struct waiting w = {.n = 0};
    bool ok = true;

    WBI_JSON_EACH (items, v) {
        struct wbi_str type = wbi_json_get_str(v, "type"), id = wbi_json_get_str(v, "call_id");
        if (wbi_str_eqz(type, "local_shell_call_output") && id.n == 0)
            id = wbi_json_get_str(v, "id");
        if (wbi_str_ends(type, WBI_LIT("_call")))
            ok = ok && ask(&w, id);
        else if (wbi_str_ends(type, WBI_LIT("_call_output")))
            ok = ok && answer(&w, id);
    }
    return ok && w.n == 0;
}

static bool legal_chat(const wbi_json *messages)
{
    struct waiting w = {.n = 0};
    bool ok = true;

    WBI_JSON_EACH (messages, v) {
        if (wbi_str_eqz(wbi_json_get_str(v, "role"), "tool")) {
            ok = ok && answer(&w, wbi_json_get_str(v, "tool_call_id"));
            continue;
        }
        ok = ok && w.n == 0;
        WBI_JSON_EACH (wbi_json_get(v, "tool_calls"), call) {
            ok = ok && ask(&w, wbi_json_get_str(call, "id"));
        }
    }
    return ok && w.n == 0;
}

static bool legal_anthropic(const wbi_json *messages)
{
    struct waiting w = {.n = 0};
    bool ok = true;

    WBI_JSON_EACH (messages, v) {
        bool model = wbi_str_eqz(wbi_json_get_str(v, "role"), "assistant");
        if (!model && !wbi_json_is(wbi_json_get(v, "content"), WBI_JSON_ARR))
            ok = ok && w.n == 0;
        WBI_JSON_EACH (wbi_json_get(v, "content"), block) {
            struct wbi_str type = wbi_json_get_str(block, "type");
            if (wbi_str_eqz(type, "tool_use"))
                ok = ok && ask(&w, wbi_json_get_str(block, "id"));
            else if (wbi_str_eqz(type, "tool_result"))
                ok = ok && answer(&w, wbi_json_get_str(block, "tool_use_id"));
            else if (!model)
                ok = ok && w.n == 0;
        }
    }
    return ok && w.n == 0;
}

/* As many responses as calls in the very next content, by name. */
static bool legal_gemini(const wbi_json *contents)
{
    size_t waiting = 0;
    bool ok = true;

    WBI_JSON_EACH (contents, v) {
        size_t calls = 0, outputs = 0;
        WBI_JSON_EACH (wbi_json_get(v, "parts"), part) {
            calls += wbi_json_get(part, "functionCall") != NULL;
            outputs += wbi_json_get(part, "functionResponse") != NULL;
        }
        ok = ok && outputs == waiting;
        waiting = calls;
    }
    return ok && waiting == 0;
}

static bool ends_are_by_the_user(enum wbi_provider p, const wbi_json *messages)
{
    size_t n = wbi_json_count(messages);

    return n > 0 && !wbi_history_by_model(p, wbi_json_at(messages, 0)) &&
           !wbi_history_by_model(p, wbi_json_at(messages, n - 1));
}

static void any_heap_of_items_becomes_legal_and_stays_so(void **state)
{
    static bool (*const legal[])(const wbi_json *) = {
        [R] = legal_responses, [C] = legal_chat, [A] = legal_anthropic, [G] = legal_gemini};
    int runs = getenv("WAYBILL_SOAK") ? 20000 : 1000;

    (void)state;
    seed = 20261115;
    for (int run = 0; run < runs; run++) {
        enum wbi_provider p = (enum wbi_provider)(R + run % 4);
        struct wbi_repair_report report;
        struct wbi_str once, twice;
        const wbi_json *root, *heap;
        struct wbi_buf b;

        wbi_arena_reset(arena);
        wbi_buf_init_arena(&b, arena, WBI_LIMIT_JSON_TEXT);
        wbi_buf_addc(&b, '[');
        for (unsigned n = roll(12), i = 0; i < n; i++) {
            wbi_buf_addz(&b, i ? "," : "");
            make_message(&b, p);
        }
        wbi_buf_addc(&b, ']');
        once = repair(p, wbi_buf_str(&b), &report);
        assert_int_equal(wbi_json_read(arena, once, WBI_JSON_STRICT, &root, NULL), WB_OK);
        if (!legal[p](root))
            fail_msg("%s\n from %.*s\n made %.*s", wbi_provider_name(p), WBI_FMT(wbi_buf_str(&b)),
                     WBI_FMT(once));
        assert_int_equal(wbi_json_read(arena, wbi_buf_str(&b), WBI_JSON_STRICT, &heap, NULL),
                         WB_OK);
        if ((p == A || p == G) && ends_are_by_the_user(p, heap) && !ends_are_by_the_user(p, root))
            fail_msg("%s lost a turn of the user\n from %.*s\n made %.*s", wbi_provider_name(p),
                     WBI_FMT(wbi_buf_str(&b)), WBI_FMT(once));
        twice = repair(p, once, &report);
        if (report.changed || !wbi_str_eq(once, twice))
            fail_msg("%s not stable\n from %.*s\n made %.*s\n then %.*s", wbi_provider_name(p),
                     WBI_FMT(wbi_buf_str(&b)), WBI_FMT(once), WBI_FMT(twice));
    }
}

/* Turns of one to four parallel calls without ids, each call with its number
 * and its output with the same; one turn in four was interrupted. */
static void make_turns(struct wbi_buf *b, enum wbi_provider p)
{
    unsigned number = 0;

    wbi_buf_addz(b, p == R ? "[" MSG : "[" USER);
    for (unsigned left = 1 + roll(4); left > 0; left--) {
        unsigned n = 1 + roll(4);

        wbi_buf_addz(b, p == R ? "" : ",{\"role\":\"assistant\",\"tool_calls\":[");
        for (unsigned i = 0; i < n; i++)
            wbi_buf_addf(b,
                         p != R    ? "%s{\"function\":{\"name\":\"%u\"}}"
                         : roll(3) ? "%s{\"type\":\"function_call\",\"name\":\"%u\"}"
                                   : "%s" THOUGHT ",{\"type\":\"function_call\",\"name\":\"%u\"}",
                         p == R || i > 0 ? "," : "", number + i);
        wbi_buf_addz(b, p == R ? "" : "]}");
        for (unsigned i = 0, told = roll(4) > 0; told && i < n; i++)
            wbi_buf_addf(b,
                         p == R ? ",{\"type\":\"function_call_output\",\"output\":\"%u\"}"
                                : ",{\"role\":\"tool\",\"content\":\"%u\"}",
                         number + i);
        wbi_buf_addz(b, p == R ? "," MSG : "," USER);
        number += n;
    }
    wbi_buf_addc(b, ']');
}

static void outputs_without_ids_are_never_swapped(void **state)
{
    int runs = getenv("WAYBILL_SOAK") ? 20000 : 500;

    (void)state;
    seed = 20261118;
    for (int run = 0; run < runs; run++) {
        enum wbi_provider p = run % 2 ? R : C;
        struct wbi_repair_report report;
        struct wbi_history h;
        const wbi_json *root;
        struct wbi_buf b;

        wbi_arena_reset(arena);
        wbi_buf_init_arena(&b, arena, WBI_LIMIT_JSON_TEXT);
        make_turns(&b, p);
        assert_int_equal(
            wbi_json_read(arena, repair(p, wbi_buf_str(&b), &report), WBI_JSON_STRICT, &root, NULL),
            WB_OK);
        assert_int_equal(report.orphans_dropped + report.duplicates_dropped, 0);
        assert_int_equal(wbi_history_read(arena, p, root, &h, NULL), WB_OK);
        for (size_t i = 0; i < h.n; i++) {
            const struct wbi_history_entry *e = &h.entries[i];
            struct wbi_str text = wbi_json_get_str(e->value, p == R ? "output" : "content");

            assert_true(e->partner != WBI_HISTORY_NONE);
            if (!e->is_call && !wbi_str_starts(text, WBI_LIT("Error")) &&
                !wbi_str_eq(text, h.entries[e->partner].name))
                fail_msg("swapped: %.*s", WBI_FMT(wbi_buf_str(&b)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(broken_histories_are_mended_and_legal_ones_kept, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_output_is_given_to_its_call, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_user_keeps_the_first_and_the_last_turn, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_report_counts_what_was_done, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_history_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rounds_are_numbered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_calls_of_one_id_take_no_square_of_time, set_up,
                                        tear_down),
        cmocka_unit_test(little_memory_is_an_error_not_a_crash),
        cmocka_unit_test_setup_teardown(any_heap_of_items_becomes_legal_and_stays_so, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(outputs_without_ids_are_never_swapped, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("wire/repair", tests, NULL, NULL);
}
