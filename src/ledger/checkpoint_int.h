/* SPDX-License-Identifier: Apache-2.0
 * ledger/checkpoint_int.h: the key, and one line of the file. */
#ifndef WBI_LEDGER_CHECKPOINT_INT_H
#define WBI_LEDGER_CHECKPOINT_INT_H

#include "ledger/checkpoint.h"
#include "ledger/ledger_int.h"

/* The user's folder has a file <state id>.checkpoints for each ledger. */
#define WBI_WITNESS_ENDING ".checkpoints"

struct wbi_key {
    uint8_t secret[WBI_SIGN_KEY_SIZE], public_key[WBI_SIGN_KEY_SIZE];
};
/* WB_ENOTFOUND when there is none; make: then a new one. */
WB_MUST_CHECK wb_rc wbi_key_load(const struct wbi_dir *dir, const struct wbi_ids *ids, bool make,
                                 struct wbi_key *ret, struct wbi_error *err);
/* Another key in the old one's place. */
WB_MUST_CHECK wb_rc wbi_key_replace(const struct wbi_dir *dir, const struct wbi_key *key,
                                    struct wbi_error *err);
/* As long as *ret is open the key stays; to_rotate: nobody else has such a lock. Taken before
 * that of a witness. */
WB_MUST_CHECK wb_rc wbi_keys_lock(const struct wbi_dir *dir, bool to_rotate, int *ret,
                                  struct wbi_error *err);
WB_MUST_CHECK wb_rc wbi_key_make(const struct wbi_ids *ids, struct wbi_key *ret,
                                 struct wbi_error *err);

enum wbi_line_kind { WBI_LINE_HEAD, WBI_LINE_ANCHOR, WBI_LINE_KEY };
struct wbi_line {
    enum wbi_line_kind kind;
    struct wbi_witness at;
    char time[WBI_RFC3339_SIZE];
    uint8_t key[WBI_SIGN_KEY_SIZE];  /* that signs */
    uint8_t next[WBI_SIGN_KEY_SIZE]; /* KEY only */
    uint8_t signature[WBI_SIGNATURE_SIZE];
};
/* The bytes that are signed. */
void wbi_line_bytes(const struct wbi_line *line, const char *state_id, struct wbi_buf *out);
/* One line with its line end. */
void wbi_line_write(const struct wbi_line *line, const char *state_id, struct wbi_buf *out);
/* Members only; the signature is not checked. */
bool wbi_line_read(struct wbi_arena *arena, struct wbi_str text, const char *state_id,
                   struct wbi_line *ret);

#endif
