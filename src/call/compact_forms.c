/* SPDX-License-Identifier: Apache-2.0
 * call/compact_forms.c: the texts a result is brought to. Each is a function of
 * the canonical result where Waybill made it, else of the text alone, and ends
 * in a mark that says its rung, its call and how to get the rest. The mark with
 * the call's own id is how a form is known again: such a text is frozen. */
#include "base/limits.h"
#include "base/utf8.h"
#include "call/compact_int.h"
#include "family/command/command.h"
#include "json/write.h"
#include "text/preview.h"
#include "text/tokens.h"
#include "wire/rewrite.h"

#define TRIM_TOKENS 300
#define SUMMARY_BYTES 400
#define LINE_BYTES 160
#define QUOTE_BYTES 60
#define FAILED_HEAD_BYTES 800 /* of a failure on rung 1 */
#define FAILED_TAIL_BYTES 400
/* Most that generic text can have on rung 1 (a preview) and below. */
#define GENERIC_TRIMMED_BYTES 16384
#define GENERIC_SHORT_BYTES 1024
#define MARK "[compacted to rung "

uint64_t wbi_compact_cost(struct wbi_compact_job *j, struct wbi_str text)
{
    wbi_buf_clear(&j->scratch);
    wbi_json_quote(&j->scratch, text);
    /* two more for where the text begins and ends inside the message */
    return wbi_tokens_units(wbi_buf_str(&j->scratch)) + 2 * WBI_TOKEN_UNIT;
}

/* ---- the mark ---- */

static struct wbi_str shown_id(const struct wbi_compact_item *it)
{
    return it->id.p != NULL ? it->id : WBI_LIT("?");
}

/* Blanks in front of it go: read again, a form comes to the same lower ones. */
static void add_mark(struct wbi_buf *out, const struct wbi_compact_item *it, int rung)
{
    while (out->n > 0 && (out->p[out->n - 1] == '\n' || out->p[out->n - 1] == ' '))
        out->n--;
    if (out->n > 0)
        wbi_buf_addc(out, rung == WBI_RUNG_LINE ? ' ' : '\n');
    wbi_buf_addf(out, MARK "%d of 3: call %.*s", rung, WBI_FMT(shown_id(it)));
    if (it->artifact.p != NULL) {
        wbi_buf_addz(out, "; ReadArtifact {\"path\":");
        wbi_json_quote(out, it->artifact);
        wbi_buf_addz(out, "} reads the rest]");
    } else if (it->known.mutates || it->known.external) {
        wbi_buf_addz(out, "; it may have had effects: repeat it only where that is safe]");
    } else {
        wbi_buf_addz(out, "; repeat the call for the rest]");
    }
}

/* Where the mark of this very call begins; text.n when there is none. */
static size_t find_mark(const struct wbi_compact_item *it, struct wbi_str text, int *ret_rung)
{
    size_t least = sizeof(MARK) - 1 + sizeof("1 of 3: call ") - 1;
    struct wbi_str rest;

    if (text.n < least || text.p[text.n - 1] != ']')
        return text.n;
    for (size_t at = text.n - least + 1; at-- > 0 && text.p[at] != '\n';) {
        rest = wbi_str_from(text, at);
        if (text.p[at] != '[' || !wbi_str_starts(rest, WBI_LIT(MARK)))
            continue;
        rest = wbi_str_from(rest, sizeof(MARK) - 1);
        if (rest.p[0] < '1' || rest.p[0] > '3' ||
            !wbi_str_starts(wbi_str_from(rest, 1), WBI_LIT(" of 3: call ")) ||
            !wbi_str_starts(wbi_str_from(rest, sizeof("1 of 3: call ") - 1), shown_id(it)))
            return text.n;
        *ret_rung = rest.p[0] - '0';
        return at;
    }
    return text.n;
}

/* ---- forms ---- */

static struct wbi_str first_line(struct wbi_str text, size_t most)
{
    text = wbi_str_head(text, wbi_str_index(text, '\n'));
    return wbi_str_head(text, wbi_utf8_cut(text, most));
}

/* The start of a failure on one line: its message stands below its kind. */
static void add_start(struct wbi_buf *out, struct wbi_str text, size_t most)
{
    text = wbi_str_head(text, wbi_utf8_cut(text, most));
    for (size_t i = 0; i < text.n; i++)
        wbi_buf_addc(out, text.p[i] == '\n' ? ' ' : text.p[i]);
}

/* The first line as it is, so that every lower rung begins alike. */
static wb_rc add_preview(struct wbi_compact_job *j, struct wbi_str body, struct wbi_buf *out,
                         struct wbi_error *err)
{
    struct wbi_preview_policy policy = {.budget = TRIM_TOKENS, .plain = true};
    struct wbi_str first = first_line(body, SUMMARY_BYTES);
    struct wbi_preview preview;
    wb_rc rc = wbi_preview_text(j->arena, body, &policy, &preview, err);

    if (rc != WB_OK)
        return rc;
    if (!wbi_str_eq(first_line(preview.text, SUMMARY_BYTES), first)) {
        wbi_buf_adds(out, first);
        wbi_buf_addc(out, '\n');
    }
    wbi_buf_adds(out, preview.text);
    return WB_OK;
}

static void add_head_and_tail(struct wbi_buf *out, struct wbi_str body)
{
    size_t head = wbi_utf8_cut(body, FAILED_HEAD_BYTES), tail;

    if (body.n <= FAILED_HEAD_BYTES + FAILED_TAIL_BYTES) {
        wbi_buf_adds(out, body);
        return;
    }
    tail = body.n - FAILED_TAIL_BYTES;
    while (tail < body.n && ((uint8_t)body.p[tail] & 0xc0) == 0x80)
        tail++;
    wbi_buf_adds(out, wbi_str_head(body, head));
    wbi_buf_addf(out, "\n[%zu bytes left out]\n", tail - head);
    wbi_buf_adds(out, wbi_str_from(body, tail));
}

static wb_rc generic_form(struct wbi_compact_job *j, const struct wbi_compact_item *it, int rung,
                          struct wbi_buf *out, struct wbi_error *err)
{
    size_t most = rung == WBI_RUNG_SUMMARY ? SUMMARY_BYTES : LINE_BYTES;

    if (rung == WBI_RUNG_TRIMMED && !it->failed)
        return add_preview(j, it->body, out, err);
    if (rung == WBI_RUNG_TRIMMED)
        add_head_and_tail(out, it->body);
    else if (it->failed)
        add_start(out, it->body, rung == WBI_RUNG_SUMMARY ? most : most * 2);
    else
        wbi_buf_adds(out, first_line(it->body, most));
    return WB_OK;
}

static wb_rc known_form(struct wbi_compact_job *j, const struct wbi_compact_item *it, int rung,
                        struct wbi_buf *out, struct wbi_error *err)
{
    struct wbi_str canonical;
    wb_rc rc =
        wbi_compact_result(j->arena, it->known.canonical, (enum wbi_rung)rung, &canonical, err);

    if (rc != WB_OK)
        return rc;
    if (rung == WBI_RUNG_TRIMMED && j->source->render != NULL) {
        rc = j->source->render(j->source->arg, j->arena, canonical, out, err);
        if (rc == WB_OK || rc == WB_ENOMEM)
            return rc;
        wbi_buf_clear(out); /* a family that needs what was cut: its plain receipt */
    }
    return wbi_compact_receipt(j->arena, canonical, (enum wbi_rung)rung, out, err);
}

wb_rc wbi_compact_form(struct wbi_compact_job *j, const struct wbi_compact_item *it, int rung,
                       struct wbi_str *ret, struct wbi_error *err)
{
    struct wbi_buf out;
    wb_rc rc;

    wbi_buf_init_arena(&out, j->arena, WBI_LIMIT_CALL_ARENA);
    rc = it->known.canonical.p != NULL ? known_form(j, it, rung, &out, err)
                                       : generic_form(j, it, rung, &out, err);
    if (rc != WB_OK)
        return rc;
    add_mark(&out, it, rung);
    *ret = wbi_buf_str(&out);
    return wbi_buf_rc(&out) == WB_OK ? WB_OK : wbi_fail_nomem(err);
}

/* ---- reading ---- */

/* Only for results nobody recorded: the row's effect is what counts. */
static bool mutates_by_name(struct wbi_str name)
{
    static const char *const names[] = {"ApplyPatch",     "WriteFile",        "CreateWorkItem",
                                        "UpdateWorkItem", "CompleteWorkItem", "apply_patch"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (wbi_str_eqz(name, names[i]))
            return true;
    return false;
}

static struct wbi_str trimmed(struct wbi_str s)
{
    while (s.n > 0 && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == ' '))
        s.n--;
    return s;
}

/* Each entry is the receipt of one command; the last may say more. */
static bool is_shell_receipt(struct wbi_compact_job *j, const wbi_json *entries,
                             const wbi_json *items)
{
    const wbi_json *item = wbi_json_first(items);

    if (wbi_json_count(items) != wbi_json_count(entries))
        return false;
    WBI_JSON_EACH (entries, entry) {
        wbi_buf_clear(&j->scratch);
        wbi_command_render_item(item, &j->scratch);
        if (!wbi_str_starts(wbi_json_get_str(entry, "stdout"), trimmed(wbi_buf_str(&j->scratch))))
            return false;
        item = wbi_json_skip(item);
    }
    return true;
}

/* Media stand behind the receipt, as notes or beside it. */
static bool is_receipt(struct wbi_compact_job *j, const struct wbi_compact_item *it,
                       const struct wbi_canonical *can)
{
    const struct wbi_history_entry *e = &j->h.entries[it->entry];
    const wbi_json *items = wbi_json_get_as(can->result, "items", WBI_JSON_ARR);
    struct wbi_str text = trimmed(it->text), receipt = trimmed(it->known.receipt);

    if (e->kind == WBI_WIRE_SHELL && wbi_json_count(items) > 0)
        return is_shell_receipt(j, wbi_json_get_as(e->value, "output", WBI_JSON_ARR), items);
    return wbi_str_eq(text, receipt) ||
           (wbi_history_has_parts(&j->h, e) && receipt.n > 0 && wbi_str_starts(text, receipt));
}

/* A form of this record, or on the last rung one with a note behind it. */
static wb_rc is_form(struct wbi_compact_job *j, const struct wbi_compact_item *it, int rung,
                     bool *ret, struct wbi_error *err)
{
    struct wbi_str form;
    int ignored;
    wb_rc rc = wbi_compact_form(j, it, rung, &form, err);

    if (rc != WB_OK)
        return rc;
    *ret = wbi_str_eq(it->text, form);
    if (rung == WBI_RUNG_LINE && it->text.n <= form.n + GENERIC_SHORT_BYTES)
        *ret = wbi_str_starts(it->text, trimmed(wbi_str_head(form, find_mark(it, form, &ignored))));
    return WB_OK;
}

static struct wbi_compact_known unknown(const struct wbi_compact_item *it)
{
    return (struct wbi_compact_known){.mutates = mutates_by_name(it->name)};
}

/* rung: what the text's mark says, 0 without one. */
static wb_rc read_known(struct wbi_compact_job *j, struct wbi_compact_item *it, int rung,
                        struct wbi_error *err)
{
    struct wbi_canonical can;
    bool same = false;
    int64_t status;
    wb_rc rc;

    if (j->source == NULL || it->id.p == NULL ||
        !j->source->known(j->source->arg, j->arena, it->id, &it->known)) {
        it->known = unknown(it);
        return WB_OK;
    }
    rc = wbi_canonical_parse(j->arena, it->known.canonical, &can, NULL);
    if (rc == WB_ENOMEM)
        return wbi_fail_nomem(err);
    if (rc == WB_OK) {
        it->artifact =
            wbi_json_get_str(wbi_json_at(wbi_json_get(can.result, "artifacts"), 0), "path");
        if (rung == 0)
            same = is_receipt(j, it, &can);
        else
            rc = is_form(j, it, rung, &same, err);
    }
    if (rc == WB_OK && same) {
        it->failed = it->failed || !can.success;
        if (wbi_json_i64(wbi_json_get(can.result, "exit_status"), &status))
            it->failed = it->failed || status != 0; /* a command that failed is a failure */
        return WB_OK;
    }
    it->known = unknown(it);
    it->artifact = WBI_NONE;
    return rc == WB_EINPUT ? WB_OK : rc; /* one that cannot be read is none */
}

/* What is known of it and the rung it was brought to before; 0 for a text that is as it
 * was. One that only claims it is larger than we would have left it. */
static wb_rc read_state(struct wbi_compact_job *j, struct wbi_compact_item *it,
                        struct wbi_error *err)
{
    int rung = 0;
    size_t at = find_mark(it, it->text, &rung);
    size_t most = rung == WBI_RUNG_TRIMMED ? GENERIC_TRIMMED_BYTES : GENERIC_SHORT_BYTES;
    wb_rc rc = read_known(j, it, rung, err);

    it->body = it->text;
    if (rung == 0 || (it->known.canonical.p == NULL && at > most + it->id.n))
        return rc;
    it->body = trimmed(wbi_str_head(it->text, at));
    it->frozen = it->rung = rung;
    return rc;
}

wb_rc wbi_compact_item_read(struct wbi_compact_job *j, struct wbi_compact_item *it,
                            struct wbi_error *err)
{
    const struct wbi_history_entry *e = &j->h.entries[it->entry];
    wb_rc rc;

    it->id = e->id;
    it->message = e->message;
    it->round = e->round;
    it->same = WBI_COMPACT_NONE;
    if (e->partner != WBI_HISTORY_NONE)
        it->name = j->h.entries[e->partner].name;
    it->failed = wbi_history_failed(&j->h, e, it->text);
    rc = read_state(j, it, err);
    if (rc != WB_OK)
        return rc;
    it->important = it->failed || it->known.mutates;
    it->now = it->text;
    it->cost = wbi_compact_cost(j, wbi_history_is_text(&j->h, e) ? it->text : WBI_LIT(""));
    wbi_buf_clear(&j->scratch); /* counted with all that would go with the text */
    wbi_history_add_rest(&j->h, e, &j->scratch);
    it->cost += wbi_tokens_units(wbi_buf_str(&j->scratch));
    it->first = it->cost;
    return wbi_buf_rc(&j->scratch) == WB_OK ? WB_OK : wbi_fail_nomem(err);
}

/* ---- the same call again ---- */

static size_t count_lines(struct wbi_str s)
{
    size_t n = s.n > 0;

    for (size_t i = 0; i + 1 < s.n; i++)
        n += s.p[i] == '\n';
    return n;
}

/* The line that holds byte `at`, at most QUOTE_BYTES of it, among them that byte. */
static struct wbi_str line_at(struct wbi_str s, size_t at)
{
    size_t from;

    at = at < s.n ? at : s.n;
    for (from = at; from > 0 && s.p[from - 1] != '\n';)
        from--;
    if (at - from >= QUOTE_BYTES)
        from = at - QUOTE_BYTES / 2;
    while (from < at && ((uint8_t)s.p[from] & 0xc0) == 0x80)
        from++;
    return first_line(wbi_str_from(s, from), QUOTE_BYTES);
}

static void add_change(struct wbi_buf *out, struct wbi_str a, struct wbi_str b)
{
    size_t same = 0;

    while (same < a.n && same < b.n && a.p[same] == b.p[same])
        same++;
    if (count_lines(a) != count_lines(b))
        wbi_buf_addf(out, "%zu lines became %zu, ", count_lines(a), count_lines(b));
    wbi_buf_addf(out, "the first change in line %zu: \"%.*s\" became \"%.*s\"",
                 count_lines(wbi_str_head(a, same)) + (same == 0 || a.p[same - 1] == '\n'),
                 WBI_FMT(line_at(a, same)), WBI_FMT(line_at(b, same)));
}

/* What is protected of a recorded result, on one line. */
static wb_rc add_line(struct wbi_compact_job *j, const struct wbi_compact_item *it,
                      struct wbi_buf *out, struct wbi_error *err)
{
    if (it->known.canonical.p == NULL)
        return WB_OK;
    return known_form(j, it, WBI_RUNG_LINE, out, err);
}

wb_rc wbi_compact_again(struct wbi_compact_job *j, const struct wbi_compact_item *it,
                        const struct wbi_compact_item *later, bool equal, struct wbi_str *ret,
                        struct wbi_error *err)
{
    struct wbi_buf out, other;
    wb_rc rc;

    wbi_buf_init_arena(&out, j->arena, WBI_LIMIT_CALL_ARENA);
    wbi_buf_init_arena(&other, j->arena, WBI_LIMIT_CALL_ARENA);
    rc = add_line(j, it, &out, err);
    if (rc == WB_OK && equal)
        rc = add_line(j, later, &other, err);
    if (rc != WB_OK)
        return rc;
    if (equal && wbi_str_eq(wbi_buf_str(&out), wbi_buf_str(&other)))
        wbi_buf_clear(&out); /* the later one has all of it */
    if (out.n > 0)
        wbi_buf_addz(&out, "; ");
    if (equal) {
        wbi_buf_addf(&out, "same result as the later call %.*s", WBI_FMT(shown_id(later)));
    } else {
        wbi_buf_addf(&out,
                     "the later equal call %.*s gave another result: ", WBI_FMT(shown_id(later)));
        add_change(&out, it->body, later->body);
    }
    add_mark(&out, it, WBI_RUNG_LINE);
    *ret = wbi_buf_str(&out);
    return wbi_buf_rc(&out) == WB_OK ? WB_OK : wbi_fail_nomem(err);
}
