/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_sealed.c: the values of a Kubernetes Secret: all members of data and
 * stringData of an object whose kind is Secret, in YAML and in JSON (also quoted
 * inside a string). Read forward only, from the version or the kind on, whichever
 * comes first. */
#include "text/secrets_int.h"

#include "base/checked.h"

/* A member of the object under way. */
struct member {
    struct wbi_str name;
    size_t value; /* where it begins, behind the colon */
    size_t end;   /* where it ends; in YAML behind its last line */
};

/* ---- YAML ---- */

static size_t line_end(struct wbi_str t, size_t at)
{
    return at + wbi_str_index(wbi_str_from(t, at), '\n');
}

/* Column of the first character of a line that is neither a blank nor the dash of
 * a list; SIZE_MAX for an empty one. *ret_item when there was such a dash. */
static size_t column(struct wbi_str t, size_t from, size_t end, bool *ret_item)
{
    size_t i = from;

    *ret_item = false;
    while (i < end && (t.p[i] == ' ' || (t.p[i] == '-' && i + 1 < end && t.p[i + 1] == ' '))) {
        *ret_item |= t.p[i] == '-';
        i++;
    }
    return i == end || t.p[i] == '\r' ? SIZE_MAX : i - from;
}

/* The line at `from` as a member of an object whose names stand in column `col`. */
static bool yaml_member(struct wbi_str t, size_t from, size_t col, struct member *ret)
{
    size_t end = line_end(t, from), next = end, at;
    struct wbi_str line = wbi_str_make(t.p + from + col, end - from - col);
    size_t colon = wbi_str_index(line, ':');
    bool item;

    if (colon == line.n)
        return false;
    ret->name = wbi_str_head(line, colon);
    ret->value = from + col + colon + 1;
    while (next < t.n) { /* lines further in belong to it */
        at = column(t, next + 1, line_end(t, next + 1), &item);
        if (at <= col || (item && at <= col + 2))
            break;
        next = line_end(t, next + 1);
    }
    ret->end = next;
    return true;
}

/* ---- JSON ---- */

/* A quote, or in a text quoted once more, \". */
static size_t quote_at(struct wbi_str t, size_t i, bool escaped)
{
    if (escaped)
        return i + 1 < t.n && t.p[i] == '\\' && t.p[i + 1] == '"' ? 2 : 0;
    return i < t.n && t.p[i] == '"';
}

/* Behind the string that opens at i; t.n when it does not end. */
static size_t skip_string(struct wbi_str t, size_t i, bool escaped)
{
    for (i += quote_at(t, i, escaped); i < t.n; i++) {
        size_t n = quote_at(t, i, escaped);

        if (n > 0)
            return i + n;
        if (t.p[i] == '\\')
            i += escaped ? 3 : 1;
    }
    return t.n;
}

static size_t skip_space(struct wbi_str t, size_t i)
{
    while (i < t.n && (t.p[i] == ' ' || t.p[i] == '\n' || t.p[i] == '\t' || t.p[i] == '\r'))
        i++;
    return i;
}

/* Behind the value at i: the comma or bracket that follows; t.n when it does not end. */
static size_t skip_value(struct wbi_str t, size_t i, bool escaped)
{
    size_t depth = 0;

    while (i < t.n) {
        if (quote_at(t, i, escaped) > 0) {
            i = skip_string(t, i, escaped);
            continue;
        }
        if (t.p[i] == '{' || t.p[i] == '[') {
            depth++;
        } else if (t.p[i] == '}' || t.p[i] == ']') {
            if (depth == 0)
                return i;
            depth--;
        } else if (t.p[i] == ',' && depth == 0) {
            return i;
        }
        i++;
    }
    return t.n;
}

/* The member whose name opens at i. */
static bool json_member(struct wbi_str t, size_t i, bool escaped, struct member *ret)
{
    size_t n = quote_at(t, i, escaped), end = skip_string(t, i, escaped), colon;

    ret->end = end;
    if (n == 0 || end < i + 2 * n)
        return false;
    ret->name = wbi_str_make(t.p + i + n, end - i - 2 * n);
    colon = skip_space(t, end);
    if (colon >= t.n || t.p[colon] != ':')
        return false;
    ret->value = skip_space(t, colon + 1);
    ret->end = skip_value(t, ret->value, escaped);
    return true;
}

/* ---- the object ---- */

static bool is_secret(struct wbi_str value)
{
    while (value.n > 0 && strchr("\" \\'\t\r", value.p[0]) != NULL)
        value = wbi_str_from(value, 1);
    while (value.n > 0 && strchr("\" \\'\t\r\n", value.p[value.n - 1]) != NULL)
        value.n--;
    return wbi_str_eqz(value, "Secret");
}

/* A member noted; false when the object is of another kind. */
static bool note(struct sealed *s, struct wbi_str t, const struct member *m)
{
    if (wbi_str_eqz(m->name, "apiVersion")) {
        bool first = !s->version;

        s->version = true;
        return first;
    }
    if (wbi_str_eqz(m->name, "kind")) {
        if (s->kind)
            return false;
        s->kind = true;
        s->secret = is_secret(wbi_str_make(t.p + m->value, m->end - m->value));
        return s->secret;
    }
    if ((wbi_str_eqz(m->name, "data") || wbi_str_eqz(m->name, "stringData")) && s->n < SEALED_MAX)
        s->block[s->n++] = (struct span){m->value, m->end};
    return true;
}

/* Members from the line at `from` on. */
static void read_yaml(struct sealed *s, struct wbi_str t, size_t from, size_t col)
{
    struct member m;
    bool item = false;

    while (yaml_member(t, from, col, &m) && note(s, t, &m)) {
        size_t at;

        s->read = m.end;
        if (m.end >= t.n) {
            s->unfinished = true;
            return;
        }
        from = m.end + 1;
        at = column(t, from, line_end(t, from), &item);
        if (at != col || item || wbi_str_starts(wbi_str_from(t, from), WBI_LIT("---"))) {
            s->unfinished = from >= t.n;
            return;
        }
    }
}

static void read_json(struct sealed *s, struct wbi_str t, size_t from)
{
    struct member m;

    while (json_member(t, from, s->escaped, &m) && note(s, t, &m)) {
        s->read = m.end;
        from = m.end < t.n && t.p[m.end] == ',' ? skip_space(t, m.end + 1) : m.end;
        if (from >= t.n) {
            s->unfinished = true;
            return;
        }
        if (t.p[m.end] != ',')
            return;
    }
    s->read = m.end;
}

bool wbi_sealed_open(struct sealed *s, struct wbi_str t, size_t at, size_t *left)
{
    size_t from = wbi_line_start(t, at);
    bool item;

    *s = (struct sealed){.from = from, .read = at};
    if (*left == 0)
        return false;
    if (at > 0 && t.p[at - 1] == '"') {
        s->json = true;
        s->escaped = at > 1 && t.p[at - 2] == '\\';
        read_json(s, t, at - 1 - s->escaped);
    } else if (column(t, from, line_end(t, from), &item) == at - from) {
        read_yaml(s, t, from, at - from);
    }
    *left -= WBI_MIN(*left, s->read - WBI_MIN(s->read, at));
    return s->unfinished || (s->secret && s->n > 0);
}

/* ---- values ---- */

/* The value in the line [from, end) whose names stand in column `col`. */
static struct span yaml_value(struct wbi_str t, size_t from, size_t end, size_t col)
{
    bool item;
    size_t at = column(t, from, end, &item), i = from + (at == SIZE_MAX ? 0 : at);
    size_t colon = wbi_str_index(wbi_str_make(t.p + i, end - i), ':');

    if (at == SIZE_MAX)
        return (struct span){end, end};
    if (at <= col && i + colon < end)
        i += colon + 1;
    while (i < end && strchr(" \"'|>-+\t", t.p[i]) != NULL)
        i++;
    while (end > i && strchr(" \"'\r\t", t.p[end - 1]) != NULL)
        end--;
    return (struct span){i, end};
}

static struct span next_yaml(struct wbi_str t, struct span block, size_t from)
{
    size_t line = line_end(t, block.from) + 1, end;
    struct span v = {0, 0};
    bool item;
    size_t col = line < block.to ? column(t, line, line_end(t, line), &item) : 0;

    if (line < from)
        line = wbi_line_start(t, from);
    for (; line < block.to; line = end + 1) {
        end = line_end(t, line);
        v = yaml_value(t, line, end, col);
        if (v.from >= from && v.from < v.to)
            return v;
    }
    return (struct span){block.to, block.to};
}

static struct span next_json(struct sealed *s, struct wbi_str t, struct span block, size_t from)
{
    struct member m;
    size_t i = s->member > block.from ? s->member : skip_space(t, block.from + 1), n;

    while (i < block.to && json_member(t, i, s->escaped, &m)) {
        n = quote_at(t, m.value, s->escaped);
        s->member = i;
        if (m.value >= from && n > 0 && skip_string(t, m.value, s->escaped) > m.value + 2 * n)
            return (struct span){m.value + n, skip_string(t, m.value, s->escaped) - n};
        i = skip_space(t, m.end + 1);
    }
    return (struct span){block.to, block.to};
}

bool wbi_sealed_next(struct sealed *s, const struct wbi_secrets *set, struct wbi_str t, size_t from,
                     struct secret *ret)
{
    for (size_t b = 0; s->secret && b < s->n; b++) {
        while (from < s->block[b].to) {
            struct span v =
                s->json ? next_json(s, t, s->block[b], from) : next_yaml(t, s->block[b], from);

            if (v.from >= s->block[b].to)
                break;
            wbi_found(ret, v.from, v.to, SEALED_LABEL);
            if (!wbi_masked_before(set, t, ret))
                return true;
            from = v.to + 1;
        }
    }
    return false;
}
