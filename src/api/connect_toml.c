/* SPDX-License-Identifier: Apache-2.0
 * api/connect_toml.c: the one table of Codex's configuration that is ours. As much of TOML
 * is read as finding it and the ends of its values takes; nothing else is touched. */
#include "api/connect_int.h"
#include "base/checked.h"
#include "json/write.h"

/* A line of TOML without its blanks and quotes, as far as names of tables go. */
static struct wbi_str squeeze(struct wbi_str line, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < line.n && n < size; i++)
        if (strchr(" \t\r\"'", line.p[i]) == NULL || line.p[i] == '\0')
            out[n++] = line.p[i];
    return wbi_str_make(out, n);
}

/* Goes behind the string that begins at *at; false: it has no end. One of several lines may end
 * in two quotes of its own. */
static bool skip_string(struct wbi_str t, size_t *ret_at)
{
    size_t at = *ret_at, extra = 0;
    char quote = t.p[at];
    bool is_long = at + 2 < t.n && t.p[at + 1] == quote && t.p[at + 2] == quote, ended = false;
    size_t width = is_long ? 3 : 1;

    for (at += width; at < t.n && !ended; at++) {
        if (t.p[at] == '\\' && quote == '"')
            at++;
        else if (t.p[at] == quote &&
                 (!is_long || (at + 2 < t.n && t.p[at + 1] == quote && t.p[at + 2] == quote)))
            ended = true;
        else if (t.p[at] == '\n' && !is_long)
            break;
    }
    at += ended ? width - 1 : 0;
    while (ended && is_long && extra < 2 && at < t.n && t.p[at] == quote) {
        at++;
        extra++;
    }
    *ret_at = WBI_MIN(at, t.n);
    return ended;
}

/* Escapes of "…" are those of JSON, but for a few that nobody writes: they stay as they are. */
static struct wbi_str read_string(struct wbi_arena *arena, struct wbi_str quoted)
{
    const wbi_json *v;

    if (quoted.n < 2)
        return quoted;
    if (quoted.p[0] == '"' && wbi_str_index(quoted, '\\') < quoted.n &&
        wbi_json_read(arena, quoted, WBI_JSON_STRICT, &v, NULL) == WB_OK)
        return wbi_json_str(v);
    return wbi_str_make(quoted.p + 1, quoted.n - 2);
}

/* Behind the value at `at`, which may have several lines; start (or NULL) gets its strings. */
static size_t skip_value(struct wbi_arena *arena, struct wbi_str t, size_t at,
                         struct wbi_start *start)
{
    size_t depth = 0, end = at;

    while (at < t.n && (depth > 0 || (t.p[at] != '\n' && t.p[at] != '#'))) {
        size_t from = at;

        if (t.p[at] == '"' || t.p[at] == '\'') {
            (void)skip_string(t, &at);
            if (start != NULL)
                wbi_start_add(start, read_string(arena, wbi_str_make(t.p + from, at - from)));
        } else if (t.p[at] == '#') {
            at += wbi_str_index(wbi_str_from(t, at), '\n');
        } else {
            depth += t.p[at] == '[' || t.p[at] == '{';
            depth -= depth > 0 && (t.p[at] == ']' || t.p[at] == '}');
            at++;
        }
        if (strchr(" \t\r\n", t.p[at - 1]) == NULL)
            end = at;
    }
    return end;
}

static size_t skip_blanks(struct wbi_str t, size_t at)
{
    while (at < t.n && (t.p[at] == ' ' || t.p[at] == '\t'))
        at++;
    return at;
}

/* The members of the table, up to the next one. */
static void read_table(struct wbi_arena *arena, struct wbi_str t, struct wbi_toml_entry *e)
{
    struct wbi_start command = {.n = 0}, args = {.n = 0};
    char room[64];

    for (size_t at = e->body, end; at < t.n; at = end + 1) {
        struct wbi_str line, name;
        size_t equals;

        at = skip_blanks(t, at);
        end = at + wbi_str_index(wbi_str_from(t, at), '\n');
        line = wbi_str_make(t.p + at, end - at);
        equals = wbi_str_index(line, '=');
        if (line.n > 0 && line.p[0] == '[')
            break;
        if (line.n == 0 || line.p[0] == '#' || equals == line.n)
            continue;
        name = squeeze(wbi_str_head(line, equals), room, sizeof(room));
        at = skip_blanks(t, at + equals + 1);
        if (wbi_str_eqz(name, "command")) {
            e->command = at;
            e->command_end = end = skip_value(arena, t, at, &command);
        } else if (wbi_str_eqz(name, "args")) {
            e->args = at;
            e->args_end = end = skip_value(arena, t, at, &args);
        } else {
            e->by_url |= wbi_str_eqz(name, "url");
            end = skip_value(arena, t, at, NULL);
        }
        end += wbi_str_index(wbi_str_from(t, end), '\n');
    }
    e->start = command;
    for (size_t i = 0; i < args.n && i < WBI_COUNT(args.words); i++)
        wbi_start_add(&e->start, args.words[i]);
}

/* The next statement: neither a blank nor a comment. */
static size_t skip_void(struct wbi_str t, size_t at)
{
    while (at < t.n && strchr(" \t\r\n#", t.p[at]) != NULL)
        at += t.p[at] == '#' ? wbi_str_index(wbi_str_from(t, at), '\n') : 1;
    return at;
}

/* Goes behind the name of a table, or a value, which may have several lines. NULL, or what is
 * wrong with it: behind something without an end, our table would be a part of that. */
static const char *skip_statement(struct wbi_str t, size_t *at)
{
    bool is_name = t.p[*at] == '[', has_value = false;
    size_t depth = 0;
    char last = '\0';

    while (*at < t.n && (depth > 0 || (t.p[*at] != '\n' && t.p[*at] != '#'))) {
        char c = t.p[*at];

        if (is_name && (c == '\n' || c == '#'))
            return "the name of a table has no end";
        if (is_name && depth == 0 && last == ']' && strchr(" \t\r", c) == NULL)
            return "something stands behind the name of a table";
        if (c == '"' || c == '\'') {
            if (!skip_string(t, at))
                return "a string has no end";
        } else if (c == '#') {
            *at = skip_void(t, *at);
            continue;
        } else {
            if (depth == 0 && (c == ']' || c == '}'))
                return "a bracket is closed that was not opened";
            depth += c == '[' || c == '{';
            depth -= c == ']' || c == '}';
            has_value |= c == '=' && depth == 0;
            ++*at;
        }
        last = strchr(" \t\r\n", c) == NULL ? c : last;
    }
    if (depth > 0)
        return "a bracket is not closed";
    return is_name || (has_value && last != '=') ? NULL : "there is no value";
}

static size_t line_of(struct wbi_str t, size_t at)
{
    size_t line = 1;

    for (size_t i = 0; i < at; i++)
        line += t.p[i] == '\n';
    return line;
}

wb_rc wbi_toml_find(struct wbi_arena *arena, struct wbi_str t, struct wbi_toml_entry *ret,
                    struct wbi_error *err)
{
    size_t at = skip_void(t, wbi_str_starts(t, WBI_LIT("\xef\xbb\xbf")) ? 3 : 0);
    bool in_servers = false;
    char room[128];

    *ret = (struct wbi_toml_entry){.found = false};
    for (; at < t.n; at = skip_void(t, at)) {
        size_t from = at;
        const char *why = skip_statement(t, &at);
        struct wbi_str line = squeeze(wbi_str_make(t.p + from, at - from), room, sizeof(room));

        if (why != NULL)
            return wbi_fail(err, WB_EINPUT, "line %zu is no TOML: %s; mend the file first",
                            line_of(t, from), why);
        if (line.p[0] == '[')
            in_servers = wbi_str_eqz(line, "[mcp_servers]");
        if ((in_servers && (wbi_str_starts(line, WBI_LIT("waybill=")) ||
                            wbi_str_starts(line, WBI_LIT("waybill.")))) ||
            wbi_str_starts(line, WBI_LIT("mcp_servers.waybill=")) ||
            wbi_str_starts(line, WBI_LIT("mcp_servers.waybill.")))
            ret->loose = true;
        if (wbi_str_eqz(line, "[mcp_servers.waybill]")) {
            ret->found = true;
            ret->body = WBI_MIN(at + wbi_str_index(wbi_str_from(t, at), '\n') + 1, t.n);
            read_table(arena, t, ret);
        }
        if (wbi_str_starts(line, WBI_LIT("mcp_servers=")))
            return wbi_fail(err, WB_EINPUT,
                            "mcp_servers is written as one value there; add waybill to it by hand "
                            "(`waybill connect snippet` shows command and args)");
    }
    return WB_OK;
}

static void add_args(struct wbi_buf *out, struct wbi_str root)
{
    wbi_buf_addz(out, "[\"serve\", \"--root\", ");
    wbi_json_quote(out, root);
    wbi_buf_addc(out, ']');
}

static void add_members(struct wbi_buf *out, struct wbi_str program, struct wbi_str root,
                        bool command, bool args)
{
    if (command) {
        wbi_buf_addz(out, "command = ");
        wbi_json_quote(out, program);
        wbi_buf_addc(out, '\n');
    }
    if (args) {
        wbi_buf_addz(out, "args = ");
        add_args(out, root);
        wbi_buf_addc(out, '\n');
    }
}

void wbi_toml_put(struct wbi_str text, const struct wbi_toml_entry *e, struct wbi_str program,
                  struct wbi_str root, struct wbi_buf *out)
{
    size_t at = e->found ? e->body : text.n;

    wbi_buf_adds(out, wbi_str_head(text, at));
    if (at > 0 && text.p[at - 1] != '\n')
        wbi_buf_addc(out, '\n');
    if (!e->found)
        wbi_buf_addz(out, text.n > 0 ? "\n[mcp_servers.waybill]\n" : "[mcp_servers.waybill]\n");
    add_members(out, program, root, e->command == 0, e->args == 0);
    for (int i = 0; i < 2; i++) { /* whichever stands first */
        bool command =
            e->command != 0 && e->command >= at && (e->args < at || e->command < e->args);
        size_t from = command ? e->command : e->args;

        if (from == 0 || from < at)
            continue;
        wbi_buf_adds(out, wbi_str_make(text.p + at, from - at));
        if (command)
            wbi_json_quote(out, program);
        else
            add_args(out, root);
        at = command ? e->command_end : e->args_end;
    }
    wbi_buf_adds(out, wbi_str_from(text, at));
}
