/* SPDX-License-Identifier: Apache-2.0
 * text/preview_kind.c: complaints often carry the name of their kind, a code
 * (TS2304, E0308) or a rule in brackets at the end ([bugprone-x]). The index
 * counts them, and a shortened text tells which kinds there are and how many of
 * each. Names that are almost all different are no kinds. */
#include "text/preview_int.h"

#include "base/hash.h"

#define RULE_MIN 3u
#define RULE_MAX 60u
#define CODE_LETTERS 8u
#define CODE_LOOK 400u /* codes are looked for in so many bytes */
#define TOLD_MAX 24u
#define TOLD_FROM 6u /* lines with a kind */

static bool is_upper(char c)
{
    return (uint8_t)(c - 'A') < 26;
}

static bool is_digit(char c)
{
    return (uint8_t)(c - '0') < 10;
}

static bool in_rule(char c)
{
    return (uint8_t)((c | 0x20) - 'a') < 26 || is_digit(c) ||
           (c != '\0' && strchr("-_.,=/+@", c) != NULL);
}

/* A rule in brackets at the end of the line. */
static struct wbi_str rule_of(struct wbi_str line)
{
    struct wbi_str t = wbi_str_trim(line);
    size_t i = t.n > 0 ? t.n - 1 : 0, letters = 0;

    if (t.n < RULE_MIN + 2 || (t.p[i] != ']' && t.p[i] != ')'))
        return wbi_str_make(NULL, 0);
    while (i > 0 && t.n - i <= RULE_MAX + 2 && in_rule(t.p[i - 1])) {
        i--;
        letters += (uint8_t)((t.p[i] | 0x20) - 'a') < 26;
    }
    if (i < 2 || t.p[i - 1] != (t.p[t.n - 1] == ']' ? '[' : '(') || t.p[i - 2] != ' ' ||
        letters < RULE_MIN || t.n - 1 - i > RULE_MAX)
        return wbi_str_make(NULL, 0);
    return wbi_str_make(t.p + i, t.n - 1 - i);
}

/* Capital letters and two to five digits, standing alone. */
static struct wbi_str code_of(struct wbi_str line)
{
    size_t n = line.n < CODE_LOOK ? line.n : CODE_LOOK, i = 0, from, digits;

    while (i < n) {
        if (!is_upper(line.p[i]) ||
            (i > 0 && line.p[i - 1] != ' ' && line.p[i - 1] != '[' && line.p[i - 1] != '(')) {
            i++;
            continue;
        }
        from = i;
        while (i < n && is_upper(line.p[i]))
            i++;
        digits = i;
        while (i < n && is_digit(line.p[i]))
            i++;
        if (digits - from <= CODE_LETTERS && i - digits >= 2 && i - digits <= 5 &&
            (i == line.n || line.p[i] == ':' || line.p[i] == ']' || line.p[i] == ')' ||
             line.p[i] == ' '))
            return wbi_str_make(line.p + from, i - from);
    }
    return wbi_str_make(NULL, 0);
}

void wbi_kinds_count(struct kinds *k, struct wbi_str line, uint64_t offset, bool code)
{
    struct wbi_str name = rule_of(line);
    uint64_t hash;
    size_t i;

    if (name.n == 0 && code)
        name = code_of(line);
    if (name.n == 0)
        return;
    k->lines++;
    hash = wbi_hash64(name.p, name.n, 5);
    for (i = 0; i < k->n && k->kind[i].hash != hash; i++)
        ;
    if (i == KINDS_MAX)
        return;
    if (i == k->n) {
        k->kind[k->n++] = (struct named_kind){.hash = hash,
                                              .bytes = (uint32_t)name.n,
                                              .offset = offset + (uint64_t)(name.p - line.p)};
    }
    k->kind[i].count++;
}

static wb_rc add_kind(struct chooser *c, const struct named_kind *k, bool first)
{
    wbi_buf_addz(&c->groups, first ? ": " : ", ");
    if (wbi_buf_rc(&c->groups) != WB_OK)
        return wbi_buf_rc(&c->groups);
    if (c->source.read(c->source.arg, k->offset, k->bytes, &c->groups) != WB_OK)
        return WB_EIO;
    if (k->count > 1)
        wbi_buf_addf(&c->groups, " \xc3\x97%llu", (unsigned long long)k->count);
    return wbi_buf_rc(&c->groups);
}

static wb_rc add_kinds(struct chooser *c, const struct named_kind *sorted, size_t n, size_t told)
{
    wb_rc rc = WB_OK;

    wbi_buf_addf(&c->groups, "[kinds in %llu lines", (unsigned long long)c->index->kinds.lines);
    for (size_t i = 0; i < told && rc == WB_OK; i++)
        rc = add_kind(c, &sorted[i], i == 0);
    if (told < n)
        wbi_buf_addf(&c->groups, " and %zu more", n - told);
    wbi_buf_addz(&c->groups, "]\n");
    return rc == WB_OK ? wbi_buf_rc(&c->groups) : rc;
}

wb_rc wbi_choose_kinds(struct chooser *c)
{
    const struct kinds *k = &c->index->kinds;
    struct named_kind sorted[KINDS_MAX];
    size_t n = k->n, at, before = c->groups.n;
    wb_rc rc = WB_OK;

    if (n < 2 || n == KINDS_MAX || k->lines < TOLD_FROM || n * 3 > k->lines * 2)
        return WB_OK;
    for (size_t i = 0; i < n; i++) {
        for (at = i; at > 0 && sorted[at - 1].count < k->kind[i].count; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = k->kind[i];
    }
    /* fewer of them when the budget is small; none when even two are too many */
    for (size_t told = n < TOLD_MAX ? n : TOLD_MAX; rc == WB_OK && told >= 2; told /= 2) {
        uint64_t cost;
        rc = add_kinds(c, sorted, n, told);
        cost = wbi_tokens_units(wbi_str_from(wbi_buf_str(&c->groups), before));
        if (rc == WB_OK && cost <= c->units / 3 && c->spent + cost <= c->units) {
            c->spent += cost;
            return WB_OK;
        }
        c->groups.n = before;
    }
    return rc;
}
