/* SPDX-License-Identifier: Apache-2.0
 * ledger/checkpoint_line.c: one signed statement as bytes and as JSON. */
#include "ledger/checkpoint_int.h"

static const char *const kinds[] = {"head", "anchor", "key"};

void wbi_line_bytes(const struct wbi_line *l, const char *state_id, struct wbi_buf *out)
{
    char hash[WBI_SHA256_HEX], next[2 * WBI_SIGN_KEY_SIZE + 1] = "";

    wbi_hex(l->at.hash, sizeof(l->at.hash), hash);
    if (l->kind == WBI_LINE_KEY)
        wbi_hex(l->next, sizeof(l->next), next);
    /* No field holds a NUL, so the NULs keep them apart. */
    wbi_buf_add(out, "waybill.ledger.checkpoint.v1", sizeof("waybill.ledger.checkpoint.v1"));
    wbi_buf_add(out, kinds[l->kind], strlen(kinds[l->kind]) + 1);
    wbi_buf_add(out, state_id, strlen(state_id) + 1);
    wbi_buf_addi(out, l->at.seq);
    wbi_buf_addc(out, '\0');
    wbi_buf_add(out, hash, strlen(hash) + 1);
    wbi_buf_add(out, l->time, strlen(l->time) + 1);
    wbi_buf_add(out, next, strlen(next) + 1);
}

void wbi_line_write(const struct wbi_line *l, const char *state_id, struct wbi_buf *out)
{
    char hash[WBI_SHA256_HEX], key[2 * WBI_SIGN_KEY_SIZE + 1], next[2 * WBI_SIGN_KEY_SIZE + 1];
    char signature[2 * WBI_SIGNATURE_SIZE + 1];
    struct wbi_jw w = wbi_jw_to(out);

    wbi_hex(l->at.hash, sizeof(l->at.hash), hash);
    wbi_hex(l->key, sizeof(l->key), key);
    wbi_hex(l->signature, sizeof(l->signature), signature);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "kind", kinds[l->kind]);
    wbi_jw_kstrz(&w, "state", state_id);
    wbi_jw_kint(&w, "seq", l->at.seq);
    wbi_jw_kstrz(&w, "hash", hash);
    wbi_jw_kstrz(&w, "time", l->time);
    if (l->kind == WBI_LINE_KEY) {
        wbi_hex(l->next, sizeof(l->next), next);
        wbi_jw_kstrz(&w, "next", next);
    }
    wbi_jw_kstrz(&w, "key", key);
    wbi_jw_kstrz(&w, "sig", signature);
    wbi_jw_obj_end(&w);
    wbi_buf_addc(out, '\n');
}

static bool read_hex(const wbi_json *v, const char *name, uint8_t *ret, size_t n)
{
    struct wbi_str s = wbi_json_get_str(v, name);

    return s.n == 2 * n && wbi_unhex(s, ret);
}

bool wbi_line_read(struct wbi_arena *arena, struct wbi_str text, const char *state_id,
                   struct wbi_line *ret)
{
    struct wbi_line l = {.kind = WBI_LINE_HEAD};
    struct wbi_str kind, time;
    int64_t ms;
    const wbi_json *v;

    if (wbi_json_read(arena, text, WBI_JSON_STRICT, &v, NULL) != WB_OK)
        return false;
    kind = wbi_json_get_str(v, "kind");
    time = wbi_json_get_str(v, "time");
    while ((unsigned)l.kind < 3 && !wbi_str_eqz(kind, kinds[l.kind]))
        l.kind++;
    if ((unsigned)l.kind == 3 || time.n != WBI_RFC3339_SIZE - 1 || !wbi_time_parse(time, &ms) ||
        !wbi_str_eqz(wbi_json_get_str(v, "state"), state_id))
        return false;
    memcpy(l.time, time.p, time.n);
    if (!wbi_json_i64(wbi_json_get(v, "seq"), &l.at.seq) || l.at.seq < 0 ||
        !read_hex(v, "hash", l.at.hash, sizeof(l.at.hash)) ||
        !read_hex(v, "key", l.key, sizeof(l.key)) ||
        !read_hex(v, "sig", l.signature, sizeof(l.signature)) ||
        (l.kind == WBI_LINE_KEY && !read_hex(v, "next", l.next, sizeof(l.next))))
        return false;
    *ret = l;
    return true;
}
