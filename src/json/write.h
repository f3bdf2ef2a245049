/* SPDX-License-Identifier: Apache-2.0
 * json/write.h: writing JSON straight into a buffer, members in the order given.
 * Failures stick to the buffer (wbi_buf_rc). Text given as strings must be
 * UTF-8; ill-formed bytes are written as U+FFFD so that output is always JSON. */
#ifndef WBI_JSON_WRITE_H
#define WBI_JSON_WRITE_H

#include "json/json.h"

struct wbi_jw {
    struct wbi_buf *out;
    bool comma; /* the next value at this level needs one in front */
};

static inline struct wbi_jw wbi_jw_to(struct wbi_buf *out)
{
    return (struct wbi_jw){out, false};
}

void wbi_jw_obj(struct wbi_jw *w);     /* { */
void wbi_jw_obj_end(struct wbi_jw *w); /* } */
void wbi_jw_arr(struct wbi_jw *w);
void wbi_jw_arr_end(struct wbi_jw *w);
/* A name that the program itself has: n bytes of ASCII, nothing to escape. Most are
 * literals, of which the compiler makes a few stores. */
static inline void wbi_jw_name(struct wbi_jw *w, const char *name, size_t n)
{
    char *p = wbi_buf_room(w->out, n + 3 + w->comma);

    if (p == NULL)
        return;
    w->out->n += n + 3 + w->comma;
    *p = ',';
    p += w->comma;
    *p++ = '"';
    memcpy(p, name, n);
    memcpy(p + n, "\":", 3);
    w->comma = false;
}
static inline void wbi_jw_key(struct wbi_jw *w, const char *name)
{
    wbi_jw_name(w, name, strlen(name));
}
/* Any other name. */
void wbi_jw_keyn(struct wbi_jw *w, struct wbi_str name);
/* The absent slice writes null. */
void wbi_jw_str(struct wbi_jw *w, struct wbi_str s);
void wbi_jw_strz(struct wbi_jw *w, const char *z);
void wbi_jw_int(struct wbi_jw *w, int64_t v);
void wbi_jw_uint(struct wbi_jw *w, uint64_t v);
/* ECMAScript's shortest form; not finite writes null. */
void wbi_jw_real(struct wbi_jw *w, double v);
void wbi_jw_bool(struct wbi_jw *w, bool v);
void wbi_jw_null(struct wbi_jw *w);
/* A value of a parsed text, compact; NULL writes null. */
void wbi_jw_val(struct wbi_jw *w, const wbi_json *v);
/* Bytes that are one JSON value already. */
void wbi_jw_raw(struct wbi_jw *w, struct wbi_str json);

/* name and value in one call */
static inline void wbi_jw_kstr(struct wbi_jw *w, const char *name, struct wbi_str s)
{
    wbi_jw_key(w, name);
    wbi_jw_str(w, s);
}
static inline void wbi_jw_kstrz(struct wbi_jw *w, const char *name, const char *z)
{
    wbi_jw_key(w, name);
    wbi_jw_strz(w, z);
}
static inline void wbi_jw_kint(struct wbi_jw *w, const char *name, int64_t v)
{
    wbi_jw_key(w, name);
    wbi_jw_int(w, v);
}
static inline void wbi_jw_kbool(struct wbi_jw *w, const char *name, bool v)
{
    wbi_jw_key(w, name);
    wbi_jw_bool(w, v);
}
static inline void wbi_jw_knull(struct wbi_jw *w, const char *name)
{
    wbi_jw_key(w, name);
    wbi_jw_null(w);
}
static inline void wbi_jw_kval(struct wbi_jw *w, const char *name, const wbi_json *v)
{
    wbi_jw_key(w, name);
    wbi_jw_val(w, v);
}
static inline void wbi_jw_kraw(struct wbi_jw *w, const char *name, struct wbi_str json)
{
    wbi_jw_key(w, name);
    wbi_jw_raw(w, json);
}

/* v compact, without white space. */
void wbi_json_write(struct wbi_buf *out, const wbi_json *v);
/* v with two spaces a level and "\n" between lines, none at the end. */
void wbi_json_pretty(struct wbi_buf *out, const wbi_json *v);
/* Only the quoted, escaped form of s. */
void wbi_json_quote(struct wbi_buf *out, struct wbi_str s);
/* The length of the quoted form that a JSON text begins with; all of it where that has no end. */
size_t wbi_json_quoted(struct wbi_str text);
/* ECMAScript Number::toString; v must be finite. Returns the length. */
#define WBI_JSON_NUMBER_SIZE 32
size_t wbi_json_number(double v, char out[WBI_JSON_NUMBER_SIZE]);

#endif
