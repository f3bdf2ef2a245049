/* SPDX-License-Identifier: Apache-2.0
 * family/file/show_int.h: what the projectors and renderers of files share. */
#ifndef WBI_FAMILY_FILE_SHOW_INT_H
#define WBI_FAMILY_FILE_SHOW_INT_H

#include "family/canonical.h"
#include "family/file/show.h"
#include "family/receipt.h"
#include "text/tokens.h"

/* Tokens left free for the first lines, the section head and both notices. */
#define WBI_FILE_HEADER_TOKENS 150u

/* What the payload may cost, in units of text/tokens.h. */
uint64_t wbi_file_room(uint32_t budget_tokens, struct wbi_str path, struct wbi_str token);
/* How many bytes cost no more whatever they are: a token has a byte at least. */
uint64_t wbi_file_room_bytes(uint32_t budget_tokens, struct wbi_str path, struct wbi_str token);
/* Text of a file fit to be shown (C6.5), controls that move a cursor written
 * visibly; raw itself when it is clean. Absent: out of memory. */
struct wbi_str wbi_file_clean(struct wbi_arena *arena, struct wbi_str raw);
/* A path of the listing or search of dir, as the other tools take it. dir: as it was
 * given, absent for the root. Absent: out of memory. */
struct wbi_str wbi_file_beneath(struct wbi_arena *arena, struct wbi_str dir, struct wbi_str path);
/* nextToken of a result, if there is one, encoded. */
WB_MUST_CHECK wb_rc wbi_file_put_token(struct wbi_jw *w, struct wbi_arena *arena,
                                       struct wbi_str raw);
int64_t wbi_result_int(const wbi_json *result, const char *name);
/* "More: …" in the header and "[…]" behind the payload when there is a next
 * page; what: what goes on there. */
void wbi_file_more(struct wbi_buf *out, const wbi_json *result, const char *what);
void wbi_file_more_at_cut(struct wbi_buf *out, const wbi_json *result, const char *what);
/* "12 lines", "1 line". */
void wbi_file_count(struct wbi_buf *out, int64_t n, const char *one, const char *many);

#endif
