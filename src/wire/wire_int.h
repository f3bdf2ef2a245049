/* SPDX-License-Identifier: Apache-2.0
 * wire/wire_int.h: what the codecs of this room share. A codec is one file
 * with three functions; decode.c and encode.c choose among them. */
#ifndef WBI_WIRE_WIRE_INT_H
#define WBI_WIRE_WIRE_INT_H

#include "json/write.h"
#include "wire/wire.h"

/* State of one decode. */
struct wbi_decoding {
    struct wbi_arena *arena;
    struct wbi_wire_turn *turn;
    size_t room;       /* of turn->calls */
    size_t unfinished; /* calls that the model still writes; not in the turn */
    struct wbi_error *err;
};

struct wbi_codec {
    const char *name;
    /* True when the value has this provider's shape, even without a call in it. */
    bool (*knows)(const wbi_json *v);
    /* Append the calls of v (an object) to the turn; none is no failure. */
    wb_rc (*decode)(struct wbi_decoding *d, const wbi_json *v);
    /* Write one output item of an answerable call. */
    void (*encode)(struct wbi_jw *w, const struct wbi_wire_call *call,
                   const struct wbi_wire_answer *answer);
};

extern const struct wbi_codec wbi_codec_responses;
extern const struct wbi_codec wbi_codec_chat;
extern const struct wbi_codec wbi_codec_anthropic;
extern const struct wbi_codec wbi_codec_gemini;
extern const struct wbi_codec wbi_codec_mcp;
extern const struct wbi_codec wbi_codec_native;
/* NULL for AUTO and values out of range. */
const struct wbi_codec *wbi_codec_of(enum wbi_provider provider);

/* One more call in the turn, zeroed but for item and kind. */
WB_MUST_CHECK wb_rc wbi_decoding_add(struct wbi_decoding *d, enum wbi_wire_kind kind,
                                     const wbi_json *item, struct wbi_wire_call **ret);
/* Set id and answerable from the first of the two members that is a string
 * with bytes in it; second may be NULL. */
WB_MUST_CHECK wb_rc wbi_decoding_id(struct wbi_decoding *d, struct wbi_wire_call *call,
                                    const wbi_json *from, const char *first, const char *second);
/* A problem when the id is too long or has control characters. */
WB_MUST_CHECK wb_rc wbi_decoding_check_id(struct wbi_decoding *d, struct wbi_wire_call *call,
                                          const char *member);
/* *ret is the name of the member unless it is too long or has control characters. */
WB_MUST_CHECK wb_rc wbi_decoding_set_name(struct wbi_decoding *d, struct wbi_wire_call *call,
                                          struct wbi_str name, const char *member,
                                          struct wbi_str *ret);
/* Set the name from a string member. */
WB_MUST_CHECK wb_rc wbi_decoding_name(struct wbi_decoding *d, struct wbi_wire_call *call,
                                      const wbi_json *from, const char *member);
/* Arguments: JSON text in a string (empty counts as {}), or an object. */
WB_MUST_CHECK wb_rc wbi_decoding_arguments(struct wbi_decoding *d, struct wbi_wire_call *call,
                                           const wbi_json *arguments, const char *member);
/* Parse text made here into the input. */
WB_MUST_CHECK wb_rc wbi_decoding_input(struct wbi_decoding *d, struct wbi_wire_call *call,
                                       const struct wbi_buf *text);
/* Why the call must not run; the first problem stays. */
__attribute__((format(printf, 4, 5))) WB_MUST_CHECK wb_rc wbi_decoding_problem(
    struct wbi_decoding *d, struct wbi_wire_call *call, enum wbi_kind kind, const char *fmt, ...);
/* The last call of the turn was cut if it came from last_item. */
void wbi_decoding_cut_last(struct wbi_decoding *d, const wbi_json *last_item);

/* --- content --- */

/* True when the content is one text, which is *ret then. */
bool wbi_content_is_text(const struct wbi_wire_answer *answer, struct wbi_str *ret);

#define WBI_NOTE_SIZE 1400
/* The sentence that stands for a part the provider cannot take. */
struct wbi_str wbi_part_note(const struct wbi_wire_part *part, char out[WBI_NOTE_SIZE]);
/* Base64 of a part (any data: prefix removed) when it is clean, else absent. */
struct wbi_str wbi_part_data(const struct wbi_wire_part *part);
/* The part's own type, resources with image data counting as images, with
 * other data as files, with text as text. */
enum wbi_wire_part_type wbi_part_as(const struct wbi_wire_part *part);
/* True for JPEG, PNG, GIF and WebP: the images that OpenAI and Anthropic take. */
bool wbi_mime_is_image(struct wbi_str mime);
/* True when mime is one of a NULL-terminated list. */
bool wbi_mime_in(struct wbi_str mime, const char *const *list);
/* "data:MIME;base64,DATA" as a JSON string. */
void wbi_jw_data_url(struct wbi_jw *w, struct wbi_str mime, struct wbi_str data);
/* A text part, a resource's text, or the note for it. */
struct wbi_str wbi_part_text(const struct wbi_wire_part *part, char note[WBI_NOTE_SIZE]);

/* Decode of apply_patch_call.operation into ApplyPatch's input (patch.c). */
WB_MUST_CHECK wb_rc wbi_decoding_patch(struct wbi_decoding *d, struct wbi_wire_call *call,
                                       const wbi_json *operation);

#endif
