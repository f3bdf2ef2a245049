/* SPDX-License-Identifier: Apache-2.0
 * wire/rewrite.c */
#include "wire/rewrite.h"

#include "base/limits.h"
#include "json/write.h"

/* The member of an output that holds what the model reads. */
static const char *text_member(const struct wbi_history *h)
{
    return h->provider == WBI_PROVIDER_RESPONSES ? "output" : "content";
}

static const wbi_json *gemini_function(const wbi_json *part)
{
    const wbi_json *f = wbi_json_get(part, "functionResponse");

    return f != NULL ? f : wbi_json_get(part, "function_response");
}

static const wbi_json *gemini_response(const wbi_json *part)
{
    return wbi_json_get(gemini_function(part), "response");
}

/* The response's only member, whatever its name; else the response as it is. */
static const wbi_json *gemini_value(const wbi_json *part)
{
    const wbi_json *response = gemini_response(part);

    if (!wbi_json_is(response, WBI_JSON_OBJ) || wbi_json_count(response) != 1)
        return response;
    return wbi_json_first(response) + 1;
}

static const wbi_json *value_of(const struct wbi_history *h, const struct wbi_history_entry *e)
{
    if (h->provider == WBI_PROVIDER_GEMINI)
        return gemini_value(e->value);
    return wbi_json_get(e->value, text_member(h));
}

static bool is_shell(const struct wbi_history *h, const struct wbi_history_entry *e)
{
    return e->kind == WBI_WIRE_SHELL && wbi_json_is(value_of(h, e), WBI_JSON_ARR);
}

bool wbi_history_has_parts(const struct wbi_history *h, const struct wbi_history_entry *e)
{
    return wbi_json_is(value_of(h, e), WBI_JSON_ARR);
}

static const wbi_json *media_of(const struct wbi_history *h, const struct wbi_history_entry *e)
{
    if (h->provider != WBI_PROVIDER_GEMINI)
        return NULL;
    return wbi_json_get(gemini_function(e->value), "parts");
}

bool wbi_history_is_text(const struct wbi_history *h, const struct wbi_history_entry *e)
{
    return wbi_json_is(value_of(h, e), WBI_JSON_STR) || is_shell(h, e);
}

void wbi_history_add_rest(const struct wbi_history *h, const struct wbi_history_entry *e,
                          struct wbi_buf *out)
{
    const wbi_json *v = value_of(h, e), *media = media_of(h, e);

    if (v != NULL && !wbi_history_is_text(h, e))
        wbi_json_write(out, v);
    if (media != NULL)
        wbi_json_write(out, media);
}

static bool equal(const wbi_json *a, const wbi_json *b)
{
    return a == NULL || b == NULL ? a == b : wbi_json_equal(a, b);
}

bool wbi_history_equal(const struct wbi_history *h, const struct wbi_history_entry *a,
                       const struct wbi_history_entry *b)
{
    return equal(value_of(h, a), value_of(h, b)) && equal(media_of(h, a), media_of(h, b));
}

/* ---- shell_call_output: an entry for each command ---- */

/* Instead of what a command printed, where the text of all stands in another entry. */
#define ELSEWHERE "[compacted: see the entry with the mark]"

static bool command_failed(const wbi_json *entry)
{
    const wbi_json *outcome = wbi_json_get(entry, "outcome");
    int64_t code;

    return wbi_str_eqz(wbi_json_get_str(outcome, "type"), "timeout") ||
           (wbi_json_i64(wbi_json_get(outcome, "exit_code"), &code) && code != 0);
}

/* The first command that failed; NULL: none did. */
static const wbi_json *failed_command(const wbi_json *entries)
{
    WBI_JSON_EACH (entries, entry) {
        if (command_failed(entry))
            return entry;
    }
    return NULL;
}

bool wbi_history_failed(const struct wbi_history *h, const struct wbi_history_entry *e,
                        struct wbi_str text)
{
    if (is_shell(h, e))
        return failed_command(value_of(h, e)) != NULL;
    if (h->provider == WBI_PROVIDER_ANTHROPIC)
        return wbi_json_true(wbi_json_get(e->value, "is_error"));
    if (h->provider == WBI_PROVIDER_GEMINI)
        return wbi_json_get(gemini_response(e->value), "error") != NULL;
    if (wbi_str_eqz(wbi_json_get_str(e->value, "status"), "failed"))
        return true;
    return wbi_str_starts(text, WBI_LIT("Error: ")); /* the only flag these providers have */
}

static void add_part(struct wbi_buf *out, struct wbi_str text)
{
    if (text.n == 0)
        return;
    if (out->n > 0 && out->p[out->n - 1] != '\n')
        wbi_buf_addc(out, '\n');
    wbi_buf_adds(out, text);
}

/* What a failed command said of it comes first, so that the start of the text tells it. */
static void add_command(struct wbi_buf *out, const wbi_json *entry)
{
    struct wbi_str printed = wbi_json_get_str(entry, "stdout");

    if (command_failed(entry))
        add_part(out, wbi_json_get_str(entry, "stderr"));
    if (!wbi_str_eqz(printed, ELSEWHERE))
        add_part(out, printed);
    if (!command_failed(entry))
        add_part(out, wbi_json_get_str(entry, "stderr"));
}

static void add_commands(struct wbi_buf *out, const wbi_json *entries)
{
    const wbi_json *first = failed_command(entries);

    if (first != NULL)
        add_command(out, first);
    WBI_JSON_EACH (entries, entry) {
        if (entry != first)
            add_command(out, entry);
    }
}

/* A list in a response of Gemini's is a value like any other, unless it is of texts alone. */
static bool is_data(const struct wbi_history *h, const wbi_json *list)
{
    if (h->provider != WBI_PROVIDER_GEMINI)
        return false;
    WBI_JSON_EACH (list, e) {
        if (!wbi_json_is(e, WBI_JSON_STR))
            return true;
    }
    return false;
}

struct wbi_str wbi_history_text(struct wbi_arena *arena, const struct wbi_history *h,
                                const struct wbi_history_entry *e)
{
    const wbi_json *v = value_of(h, e);
    struct wbi_buf out;

    if (wbi_json_is(v, WBI_JSON_STR))
        return wbi_json_str(v);
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_CALL_ARENA);
    if (is_shell(h, e)) {
        add_commands(&out, v);
    } else if (wbi_json_is(v, WBI_JSON_ARR) && !is_data(h, v)) {
        WBI_JSON_EACH (v, part)
            add_part(&out, wbi_json_is(part, WBI_JSON_STR) ? wbi_json_str(part)
                                                           : wbi_json_get_str(part, "text"));
    } else if (wbi_json_is(v, WBI_JSON_OBJ) || wbi_json_is(v, WBI_JSON_ARR)) {
        wbi_json_write(&out, v);
    }
    return wbi_buf_rc(&out) == WB_OK && out.n > 0 ? wbi_buf_str(&out) : WBI_NONE;
}

/* ---- writing ---- */

/* Outcomes stay; the text stands with the command that failed, else with the first. */
static void write_shell_output(struct wbi_jw *w, const wbi_json *entries, struct wbi_str text)
{
    const wbi_json *place = failed_command(entries);

    if (place == NULL)
        place = wbi_json_at(entries, 0);
    wbi_jw_arr(w);
    WBI_JSON_EACH (entries, entry) {
        bool printed =
            wbi_json_get_str(entry, "stdout").n + wbi_json_get_str(entry, "stderr").n > 0;

        wbi_jw_obj(w);
        WBI_JSON_EACH_MEMBER (entry, key) {
            wbi_jw_keyn(w, wbi_json_str(key));
            if (wbi_str_eqz(wbi_json_str(key), "stdout"))
                wbi_jw_str(w, entry == place ? text : printed ? WBI_LIT(ELSEWHERE) : WBI_LIT(""));
            else if (wbi_str_eqz(wbi_json_str(key), "stderr"))
                wbi_jw_strz(w, "");
            else
                wbi_jw_val(w, key_val);
        }
        wbi_jw_obj_end(w);
    }
    wbi_jw_arr_end(w);
}

static void write_gemini(struct wbi_jw *w, const wbi_json *part, struct wbi_str text)
{
    const wbi_json *response = gemini_response(part);
    struct wbi_str member = WBI_LIT("output");

    if (wbi_json_get(response, "error") != NULL)
        member = WBI_LIT("error");
    else if (wbi_json_is(response, WBI_JSON_OBJ) && wbi_json_count(response) == 1)
        member = wbi_json_str(wbi_json_first(response));
    wbi_jw_obj(w);
    WBI_JSON_EACH_MEMBER (part, key) {
        wbi_jw_keyn(w, wbi_json_str(key));
        if (!wbi_str_eqz(wbi_json_str(key), "functionResponse") &&
            !wbi_str_eqz(wbi_json_str(key), "function_response")) {
            wbi_jw_val(w, key_val);
            continue;
        }
        wbi_jw_obj(w);
        WBI_JSON_EACH_MEMBER (key_val, inner) {
            if (wbi_str_eqz(wbi_json_str(inner), "parts"))
                continue; /* media of a compacted result go with its text */
            wbi_jw_keyn(w, wbi_json_str(inner));
            if (wbi_str_eqz(wbi_json_str(inner), "response")) {
                wbi_jw_obj(w);
                wbi_jw_keyn(w, member);
                wbi_jw_str(w, text);
                wbi_jw_obj_end(w);
            } else {
                wbi_jw_val(w, inner_val);
            }
        }
        wbi_jw_obj_end(w);
    }
    wbi_jw_obj_end(w);
}

static void write_output(struct wbi_jw *w, const struct wbi_history *h,
                         const struct wbi_history_entry *e, struct wbi_str text)
{
    if (h->provider == WBI_PROVIDER_GEMINI) {
        write_gemini(w, e->value, text);
        return;
    }
    wbi_jw_obj(w);
    WBI_JSON_EACH_MEMBER (e->value, key) {
        wbi_jw_keyn(w, wbi_json_str(key));
        if (!wbi_str_eqz(wbi_json_str(key), text_member(h)))
            wbi_jw_val(w, key_val);
        else if (e->kind == WBI_WIRE_SHELL && wbi_json_is(key_val, WBI_JSON_ARR))
            write_shell_output(w, key_val, text);
        else
            wbi_jw_str(w, text);
    }
    wbi_jw_obj_end(w);
}

/* The entry whose value is v and whose text changes, or NULL. */
static const struct wbi_history_entry *changed(const struct wbi_history *h,
                                               const struct wbi_str *texts, size_t from, size_t m,
                                               const wbi_json *v)
{
    for (size_t i = from; i < h->n && h->entries[i].message == m; i++)
        if (h->entries[i].value == v && !h->entries[i].is_call && texts[i].p != NULL)
            return &h->entries[i];
    return NULL;
}

static bool any_changed(const struct wbi_history *h, const struct wbi_str *texts, size_t from,
                        size_t m)
{
    for (size_t i = from; i < h->n && h->entries[i].message == m; i++)
        if (!h->entries[i].is_call && texts[i].p != NULL)
            return true;
    return false;
}

static void write_message(struct wbi_jw *w, const struct wbi_history *h,
                          const struct wbi_str *texts, size_t from, size_t m,
                          const wbi_json *message)
{
    const struct wbi_history_entry *whole = changed(h, texts, from, m, message);
    const wbi_json *blocks = wbi_history_blocks(h->provider, message);

    if (whole != NULL) {
        write_output(w, h, whole, texts[whole - h->entries]);
        return;
    }
    if (blocks == NULL || !any_changed(h, texts, from, m)) {
        wbi_jw_val(w, message);
        return;
    }
    wbi_jw_obj(w);
    WBI_JSON_EACH_MEMBER (message, key) {
        wbi_jw_keyn(w, wbi_json_str(key));
        if (key_val != blocks) {
            wbi_jw_val(w, key_val);
            continue;
        }
        wbi_jw_arr(w);
        WBI_JSON_EACH (blocks, block) {
            const struct wbi_history_entry *e = changed(h, texts, from, m, block);
            if (e != NULL)
                write_output(w, h, e, texts[e - h->entries]);
            else
                wbi_jw_val(w, block);
        }
        wbi_jw_arr_end(w);
    }
    wbi_jw_obj_end(w);
}

static void write_messages(struct wbi_jw *w, const struct wbi_history *h,
                           const struct wbi_str *texts, size_t *ends)
{
    size_t m = 0, from = 0;

    wbi_jw_arr(w);
    WBI_JSON_EACH (h->messages, message) {
        from = wbi_history_seek(h, from, m);
        write_message(w, h, texts, from, m, message);
        if (ends != NULL)
            ends[m] = w->out->n;
        m++;
    }
    wbi_jw_arr_end(w);
}

wb_rc wbi_history_rewrite(const struct wbi_history *h, const struct wbi_str *texts,
                          struct wbi_buf *out, size_t *ends)
{
    struct wbi_jw w = wbi_jw_to(out);

    if (h->key == NULL) {
        write_messages(&w, h, texts, ends);
        return wbi_buf_rc(out);
    }
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (h->root, key) {
        wbi_jw_keyn(&w, wbi_json_str(key));
        if (key_val == h->messages && wbi_json_is(key_val, WBI_JSON_ARR)) /* or a text alone */
            write_messages(&w, h, texts, ends);
        else
            wbi_jw_val(&w, key_val);
    }
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(out);
}
