/* SPDX-License-Identifier: Apache-2.0
 * text/secrets.h: secrets found by their form or their known value and replaced
 * by a label and a short keyed hash: [redacted:github-token:1a2b3c]. The hash
 * lets two places be compared without telling the value. Text is cleaned
 * (text/hygiene.h) first; marks such as <U+200B> inside a secret do not hide it.
 * Line breaks are kept, so line numbers do not move. Replaced text is clean: a
 * second scan finds nothing. */
#ifndef WBI_TEXT_SECRETS_H
#define WBI_TEXT_SECRETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"

struct wbi_secrets_known {
    struct wbi_str value;
    struct wbi_str label; /* such as the variable's name; absent: "known-value" */
};

struct wbi_secrets_options {
    struct wbi_str key; /* of the keyed hash; any bytes, kept as a copy */
    const struct wbi_secrets_known *known;
    size_t n_known;
};

/* A compiled set. Immutable, any thread. */
struct wbi_secrets;

/* Known values under WBI_LIMIT_SECRET_KNOWN_MIN bytes are not masked;
 * *ret_ignored (may be NULL) says how many. Others are also found in base64 (all
 * three phases), percent, hexadecimal and JSON-escaped form, as common libraries write
 * them. */
WB_MUST_CHECK wb_rc wbi_secrets_new(const struct wbi_secrets_options *options,
                                    struct wbi_secrets **ret, size_t *ret_ignored,
                                    struct wbi_error *err);
void wbi_secrets_free(struct wbi_secrets *s);

#define WBI_SECRETS_LABEL_SIZE 48
struct wbi_secrets_report {
    struct {
        char label[WBI_SECRETS_LABEL_SIZE];
        uint64_t count;
    } row[24];
    size_t n;
    uint64_t total; /* also what had no row left */
};

/* text with every secret replaced, appended to out. report (may be NULL) is
 * added to, not cleared. */
WB_MUST_CHECK wb_rc wbi_secrets_replace(const struct wbi_secrets *s, struct wbi_str text,
                                        struct wbi_buf *out, struct wbi_secrets_report *report);
/* True when text holds a secret. */
bool wbi_secrets_found(const struct wbi_secrets *s, struct wbi_str text);
/* False: no piece of text, whatever stands around it, holds a secret. Looks only
 * for what secrets begin with and for known values, so true says little. */
bool wbi_secrets_suspected(const struct wbi_secrets *s, struct wbi_str text);
/* True when there are known values, which may hold any byte. */
bool wbi_secrets_knows_values(const struct wbi_secrets *s);

/* Columns of secrets in lines of fields (text/secrets_table.c). */
#define WBI_SECRETS_COLUMNS 8
struct wbi_secrets_table {
    char separator; /* 0: there are none */
    uint32_t first; /* hash of the first name: a line that begins with it is no row of values */
    uint8_t columns;
    uint8_t n; /* of those that hold secrets */
    uint8_t column[WBI_SECRETS_COLUMNS];
    uint8_t strength[WBI_SECRETS_COLUMNS];
};

/* The same over pieces: a secret cut anywhere between two pieces is found. An
 * unfinished line is held back, up to WBI_LIMIT_SECRET_HOLD, and so is a line that names
 * the value of the next one, and what may be a Kubernetes Secret, up to
 * WBI_LIMIT_SECRET_SEALED. */
struct wbi_secrets_stream {
    const struct wbi_secrets *set;
    struct wbi_buf hold;
    size_t block_left; /* inside a block: bytes that still may belong to it */
    size_t indent;     /* of a block of YAML; 0: it is a key block */
    struct wbi_secrets_table table;
    bool waiting; /* held are lines of an object that may be a Kubernetes Secret */
    struct wbi_secrets_report report;
};
void wbi_secrets_stream_init(struct wbi_secrets_stream *st, const struct wbi_secrets *s);
void wbi_secrets_stream_fini(struct wbi_secrets_stream *st);
WB_MUST_CHECK wb_rc wbi_secrets_stream_feed(struct wbi_secrets_stream *st, struct wbi_str text,
                                            struct wbi_buf *out);
WB_MUST_CHECK wb_rc wbi_secrets_stream_finish(struct wbi_secrets_stream *st, struct wbi_buf *out);

/* The replacement for one value: label, short keyed hash. */
WB_MUST_CHECK wb_rc wbi_secrets_mask(const struct wbi_secrets *s, const char *label,
                                     struct wbi_str value, struct wbi_buf *out);
/* True when text is nothing but such replacements with labels of this set. */
bool wbi_secrets_is_mask(const struct wbi_secrets *s, struct wbi_str text);
/* True for member names whose values are secret by default: token,
 * authorization, password, secret, apikey and their like; upper and lower case,
 * '_' and '-' make no difference. */
bool wbi_secrets_name(struct wbi_str name);
/* True for names whose values are looked at: those that end in such a word (DB_PASSWORD,
 * apiToken), but where a list goes on (nextPageToken). */
bool wbi_secrets_telling(struct wbi_str name);

#endif
