/* SPDX-License-Identifier: Apache-2.0
 * text/preview_evidence.c: why something failed is mostly said by a few lines right below what
 * says that it did: the value that was expected and the one that came, what a difference is made
 * of, the marked lines of an assertion. They belong together and go before lines that only name
 * what failed: a test that failed is named as it runs, above its details and in the summary. */
#include <strings.h>

#include "text/preview_int.h"

#define LABEL_MORE 32u  /* bytes between the word of a label and its colon */
#define LEGEND_MORE 12u /* bytes behind the word in the legend of a difference */
#define VALUE_NEAR 5u   /* lines below a complaint in which values are looked for */
#define CHANGE_NEAR 24u /* lines below a legend in which changes are looked for */
#define CHANGE_RUNS 2u
#define REASON 90.0f /* score of a complaint that says why, at least */
#define REASON_LESS 0.03f
#define FURTHER_LESS 0.6f /* of the lines that an assertion goes on with */
#define NAMED_LESS 0.5f   /* of lines that only name what failed */

/* ---- what a line says ---- */

/* The label that s begins with: its length, or 0. */
static size_t label(struct wbi_str s)
{
    static const struct wbi_str labels[] = {
        WBI_LIT_INIT("actual"), WBI_LIT_INIT("but was"),  WBI_LIT_INIT("expected"),
        WBI_LIT_INIT("found"),  WBI_LIT_INIT("got"),      WBI_LIT_INIT("left"),
        WBI_LIT_INIT("right"),  WBI_LIT_INIT("received"), WBI_LIT_INIT("which is"),
        WBI_LIT_INIT("wanted"), WBI_LIT_INIT("want")};

    for (size_t i = 0; i < sizeof labels / sizeof *labels && s.n > 1; i++)
        if ((s.p[0] | 0x20) == labels[i].p[0] && (s.p[1] | 0x20) == labels[i].p[1] &&
            s.n >= labels[i].n && strncasecmp(s.p, labels[i].p, labels[i].n) == 0)
            return labels[i].n;
    return 0;
}

static bool has_label(struct wbi_str s, bool marked)
{
    size_t n = label(s), most = n + LABEL_MORE;

    if (n == 0)
        return false;
    if (marked && s.n <= n + LEGEND_MORE)
        return true;
    for (; n < s.n && n < most; n++)
        if (s.p[n] == ':')
            return n + 1 == s.n || s.p[n + 1] == ' ' || s.p[n + 1] == '\t';
        else if (s.p[n] != ' ' && (uint8_t)((s.p[n] | 0x20) - 'a') >= 26)
            return false;
    return false;
}

bool wbi_names_value(struct wbi_str line, size_t start)
{
    size_t i = start;

    while (i < line.n && i < start + 3 && (line.p[i] == '+' || line.p[i] == '-'))
        i++;
    while (i > start && i < line.n && line.p[i] == ' ')
        i++;
    return has_label(wbi_str_from(line, i), i > start);
}

/* What follows "expected" or "Expected" in s, or nothing. */
static struct wbi_str behind_expected(struct wbi_str s)
{
    const char *at = s.p, *end = s.p + s.n;

    while ((at = memchr(at, 'x', (size_t)(end - at))) != NULL) { /* a rare letter */
        struct wbi_str rest = wbi_str_make(at, (size_t)(end - at));

        if (wbi_str_starts(rest, WBI_LIT("xpected")) && at > s.p && (at[-1] | 0x20) == 'e' &&
            (at - 1 == s.p || (uint8_t)((at[-2] | 0x20) - 'a') >= 26)) /* not "unexpected" */
            return wbi_str_from(rest, 7);
        at++;
    }
    return wbi_str_from(s, s.n);
}

bool wbi_compares(struct wbi_str line, size_t start)
{
    struct wbi_str s = behind_expected(wbi_str_from(line, start));

    for (size_t i = 1; i < s.n; i++) {
        struct wbi_str came = wbi_str_from(s, i);

        if (s.p[i - 1] != ' ' || s.p[i] == ' ')
            continue;
        if (wbi_str_starts(came, WBI_LIT("but was")) || wbi_str_starts(came, WBI_LIT("got")) ||
            wbi_str_starts(came, WBI_LIT("received")) || wbi_str_starts(came, WBI_LIT("actual")))
            return true;
    }
    return false;
}

/* FAIL, FAILED, FAILURE or FAILURES at the start of s: its length, or 0. */
static size_t verdict(struct wbi_str s)
{
    static const struct wbi_str words[] = {WBI_LIT_INIT("FAILURES"), WBI_LIT_INIT("FAILURE"),
                                           WBI_LIT_INIT("FAILED"), WBI_LIT_INIT("FAIL")};

    for (size_t i = 0; i < sizeof words / sizeof *words && s.n > 1 && s.p[1] == 'A'; i++)
        if (wbi_str_starts(s, words[i]))
            return words[i].n;
    return 0;
}

/* Nothing is said of it: no colon, dash or comma with a blank behind it. */
static bool is_name(struct wbi_str s)
{
    for (size_t i = 0; i + 1 < s.n; i++)
        if (s.p[i + 1] == ' ' && (s.p[i] == ':' || s.p[i] == ',' || s.p[i] == ';' ||
                                  (s.p[i] == '-' && i > 0 && s.p[i - 1] == ' ')))
            return false;
    return s.n == 0 || s.p[0] != '(';
}

bool wbi_names_failed(struct wbi_str line, size_t start, bool marked)
{
    struct wbi_str s = wbi_str_trim(wbi_str_from(line, start));
    size_t i = 0, n;

    if (marked)
        return is_name(s);
    while (i < s.n && memchr("=-_*#[> ", s.p[i], 8) != NULL)
        i++;
    n = verdict(wbi_str_from(s, i));
    if (n > 0) {
        i += n;
        while (i < s.n && memchr("=-_*#]: \t", s.p[i], 9) != NULL)
            i++;
        return is_name(wbi_str_from(s, i));
    }
    for (i = s.n; i > 0 && s.p[i - 1] != ' ';)
        i--;
    return i > 0 && verdict(wbi_str_from(s, i)) == s.n - i && is_name(wbi_str_head(s, i));
}

/* ---- what belongs to a complaint ---- */

static bool has_flag(const struct chooser *c, size_t i, unsigned flag)
{
    return (c->picks[i].rec->flags & flag) != 0;
}

/* Line k stands below the label at i, which has its values there. */
static bool under_label(const struct chooser *c, size_t i, size_t k)
{
    return has_flag(c, i, LINE_VALUE) && has_flag(c, i, LINE_HEADING) && k <= i + VALUE_NEAR &&
           !has_flag(c, k, LINE_BLANK) && c->picks[k].rec->indent > c->picks[i].rec->indent;
}

/* The last line below complaint i that names a value, or i. */
static size_t values_end(const struct chooser *c, size_t i)
{
    size_t end = i, label = i;

    for (size_t k = i + 1; k < c->n && k <= end + VALUE_NEAR && wbi_neighbours(c, k - 1, k); k++) {
        if (under_label(c, label, k)) {
            end = k;
        } else if (has_flag(c, k, LINE_VALUE)) {
            end = label = k;
        } else if (end > i || c->picks[k].rec->severity >= FAILURE) {
            break;
        }
    }
    return end;
}

/* Marked lines of an assertion go on. */
static bool goes_on(const struct chooser *c, size_t i)
{
    return has_flag(c, i, LINE_MARKED) && i > 0 && has_flag(c, i - 1, LINE_MARKED) &&
           wbi_neighbours(c, i - 1, i);
}

/* It says why something failed, or stands right above what does. */
bool wbi_is_reason(const struct chooser *c, size_t i)
{
    const struct record *r = c->picks[i].rec;

    if (r->severity < FAILURE || r->flags & LINE_PASSED || goes_on(c, i))
        return false;
    return r->flags & (LINE_MARKED | LINE_VALUE) || values_end(c, i) > i;
}

static size_t next_reason(const struct chooser *c, size_t i)
{
    while (i < c->n && !wbi_is_reason(c, i))
        i++;
    return i;
}

static bool several_reasons(const struct chooser *c)
{
    size_t first = next_reason(c, 0);

    return first < c->n && next_reason(c, values_end(c, first) + 1) < c->n;
}

void wbi_prefer_reasons(struct chooser *c)
{
    bool several = several_reasons(c);
    size_t covered = 0;
    unsigned nth = 0;

    for (size_t i = 0; i < c->n; i++) {
        struct pick *p = &c->picks[i];
        float reason = REASON / (1.0f + REASON_LESS * (float)nth);

        if (p->score <= 0) /* nothing, or one of a flood */
            continue;
        if (goes_on(c, i)) {
            p->score *= FURTHER_LESS;
        } else if (several && has_flag(c, i, LINE_VERDICT)) {
            p->score *= NAMED_LESS;
        } else if (i >= covered && wbi_is_reason(c, i)) {
            p->score = p->score > reason ? p->score : reason;
            covered = values_end(c, i) + 1;
            nth++;
        }
    }
    c->reasons = nth > 0;
}

/* Lines of a difference that begin with its marks, in few runs. */
static wb_rc show_changes(struct chooser *c, size_t legend, uint64_t limit)
{
    size_t runs = 0, from = 0;
    bool taken;
    wb_rc rc = WB_OK;

    for (size_t k = legend + 1; rc == WB_OK && runs < CHANGE_RUNS && k <= legend + CHANGE_NEAR &&
                                k < c->n && wbi_neighbours(c, k - 1, k);
         k++) {
        const struct record *r = c->picks[k].rec;
        char mark;

        rc = wbi_pick_load(c, &c->picks[k]);
        if (rc != WB_OK)
            return rc;
        mark = r->start < c->picks[k].text.n ? c->picks[k].text.p[r->start] : ' ';
        if (mark == '-' || mark == '+') {
            from = from == 0 ? k : from;
            continue;
        }
        if (from > 0) {
            rc = wbi_offer(c, from, k - 1, limit, &taken);
            runs = taken ? runs + 1 : CHANGE_RUNS;
            from = 0;
        }
        if (!(r->flags & LINE_BLANK) && r->indent + 1 < c->picks[legend].rec->indent)
            break;
    }
    return rc;
}

/* The values that line i names stand for the sides of a difference below. */
static wb_rc is_legend(struct chooser *c, size_t i, bool *ret)
{
    struct pick *p = &c->picks[i];
    wb_rc rc = wbi_pick_load(c, p);

    *ret = rc == WB_OK && has_flag(c, i, LINE_VALUE) && p->rec->start < p->text.n &&
           (p->text.p[p->rec->start] == '-' || p->text.p[p->rec->start] == '+');
    return rc;
}

struct wbi_str wbi_marked_text(struct wbi_str line)
{
    return wbi_str_trim(wbi_str_from(line, line.n > 0));
}

/* The marked line below i begins where i does: a message goes on there with what was compared. */
static wb_rc message_goes_on(struct chooser *c, size_t i, bool *ret)
{
    struct pick *p = &c->picks[i];
    wb_rc rc;

    *ret = false;
    if (i + 1 == c->n || !has_flag(c, i, LINE_MARKED) || !goes_on(c, i + 1))
        return WB_OK;
    rc = wbi_pick_load(c, &p[0]);
    if (rc == WB_OK)
        rc = wbi_pick_load(c, &p[1]);
    *ret = rc == WB_OK &&
           wbi_marked_text(p[0].text).p - p[0].text.p == wbi_marked_text(p[1].text).p - p[1].text.p;
    return rc;
}

/* The first line from i on that names a value, or `to`. */
static size_t first_value(const struct chooser *c, size_t i, size_t to)
{
    while (i < to && !has_flag(c, i, LINE_VALUE))
        i++;
    return i;
}

wb_rc wbi_offer_reason(struct chooser *c, size_t i, bool again, uint64_t limit, bool *ret_taken)
{
    bool both = has_flag(c, i, LINE_VALUE) && c->picks[i].rec->severity >= SURE; /* in one line */
    size_t from = i, to = both ? i : values_end(c, i);
    bool legend = false, on = false;
    wb_rc rc = message_goes_on(c, i, &on);

    *ret_taken = false;
    if (rc != WB_OK)
        return rc;
    to += on && to == i;
    while (!both && from > 0 && has_flag(c, from, LINE_VALUE) &&
           has_flag(c, from - 1, LINE_VALUE) && wbi_neighbours(c, from - 1, from))
        from--;
    if (again) /* that it failed was said in these words before */
        from = first_value(c, from, to);
    rc = wbi_offer(c, from, to, limit, ret_taken);
    if (rc == WB_OK && !*ret_taken && to > i && from == i && !has_flag(c, i, LINE_VALUE)) {
        if (!on)
            rc = wbi_offer(c, first_value(c, i, to), to, limit, ret_taken);
        if (rc == WB_OK && !*ret_taken)
            rc = wbi_offer(c, i, i, limit, ret_taken);
    }
    if (rc == WB_OK && *ret_taken)
        rc = is_legend(c, to, &legend);
    return rc == WB_OK && legend ? show_changes(c, to, limit) : rc;
}

bool wbi_has_values(const struct chooser *c, size_t i)
{
    return values_end(c, i) > i;
}
