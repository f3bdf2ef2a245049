/* SPDX-License-Identifier: Apache-2.0
 * wire/native.c: the invocation of S1 and its result. Only what is needed to
 * route and answer is read here; call/ reads and checks the other members. */
#include "wire/wire_int.h"

static bool knows(const wbi_json *v)
{
    return wbi_json_get(v, "toolName") != NULL;
}

/* callId is optional: a call without one gets the runtime's. */
static wb_rc decode_id(struct wbi_decoding *d, struct wbi_wire_call *call, const wbi_json *v)
{
    const wbi_json *id = wbi_json_get(v, "callId");
    wb_rc rc = WB_OK;

    if (id != NULL && !wbi_json_is(id, WBI_JSON_NULL) &&
        !(wbi_json_is(id, WBI_JSON_STR) && wbi_json_str(id).n == 0))
        rc = wbi_decoding_id(d, call, v, "callId", NULL);
    call->answerable = true;
    return rc;
}

static wb_rc decode(struct wbi_decoding *d, const wbi_json *v)
{
    struct wbi_wire_call *call;
    wb_rc rc = wbi_decoding_add(d, WBI_WIRE_NATIVE, v, &call);

    if (rc == WB_OK)
        rc = decode_id(d, call, v);
    if (rc == WB_OK)
        rc = wbi_decoding_name(d, call, v, "toolName");
    if (rc != WB_OK)
        return rc;
    call->invocation = v;
    call->input = wbi_json_get(v, "input");
    return WB_OK;
}

/* The result's own members after callId; they are bytes of one JSON object. */
static void encode(struct wbi_jw *w, const struct wbi_wire_call *call,
                   const struct wbi_wire_answer *answer)
{
    struct wbi_str members = wbi_str_trim(answer->result);

    wbi_jw_obj(w);
    wbi_jw_kstr(w, "callId", call->id.p != NULL ? call->id : answer->call_id);
    if (members.n >= 2 && members.p[0] == '{') {
        members = wbi_str_trim(wbi_str_make(members.p + 1, members.n - 2));
        if (members.n > 0)
            wbi_jw_raw(w, members);
    }
    wbi_jw_obj_end(w);
}

const struct wbi_codec wbi_codec_native = {"native", knows, decode, encode};
