/* SPDX-License-Identifier: Apache-2.0
 * family/file/ignore.c: the rules of .gitignore and .ignore files. */
#include "family/file/glob.h"

#include "base/limits.h"

void wbi_ignore_init(struct wbi_ignore *ig)
{
    wbi_buf_init(&ig->text, WBI_LIMIT_IGNORE_FILE * 4);
    wbi_buf_init(&ig->rules, (size_t)WBI_LIMIT_IGNORE_FILE * 4 * sizeof(struct wbi_ignore_rule));
}

void wbi_ignore_fini(struct wbi_ignore *ig)
{
    wbi_buf_fini(&ig->text);
    wbi_buf_fini(&ig->rules);
}

/* Is the last character a backslash that no other one escapes? */
static bool ends_with_escape(struct wbi_str s)
{
    bool escape = false;

    while (s.n > 0 && s.p[--s.n] == '\\')
        escape = !escape;
    return escape;
}

/* Trailing spaces go unless escaped. */
static struct wbi_str trim_line(struct wbi_str s)
{
    if (s.n > 0 && s.p[s.n - 1] == '\r')
        s.n--;
    while (s.n > 0 && s.p[s.n - 1] == ' ' && !ends_with_escape(wbi_str_head(s, s.n - 1)))
        s.n--;
    return s;
}

static void add_rule(struct wbi_ignore *ig, struct wbi_str line)
{
    struct wbi_ignore_rule r = {0};

    line = trim_line(line);
    if (line.n == 0 || line.p[0] == '#')
        return;
    if (line.p[0] == '!') {
        r.negated = true;
        line = wbi_str_from(line, 1);
    }
    if (line.n > 0 && line.p[line.n - 1] == '/') {
        r.dir_only = true;
        line.n--;
    }
    if (wbi_str_starts(line, WBI_LIT("/"))) {
        r.anchored = true;
        line = wbi_str_from(line, 1);
    }
    r.anchored = r.anchored || wbi_str_index(line, '/') < line.n;
    if (line.n == 0 || ends_with_escape(line)) /* it escapes nothing, so nothing matches */
        return;
    r.at = ig->text.n;
    r.n = line.n;
    while (r.literal < line.n && strchr("*?[\\", line.p[r.literal]) == NULL)
        r.literal++;
    wbi_buf_adds(&ig->text, line);
    wbi_buf_add(&ig->rules, &r, sizeof(r));
}

wb_rc wbi_ignore_add(struct wbi_ignore *ig, struct wbi_str text)
{
    wb_rc rc;

    if (wbi_str_starts(text, WBI_LIT("\xef\xbb\xbf")))
        text = wbi_str_from(text, 3);
    while (text.n > 0) {
        size_t n = wbi_str_index(text, '\n');

        add_rule(ig, wbi_str_head(text, n));
        text = wbi_str_from(text, n + 1);
    }
    rc = wbi_buf_rc(&ig->text);
    return rc ? rc : wbi_buf_rc(&ig->rules);
}

/* As git: what has no special character is compared first, and the glob sees only
 * the rest (so that a "**" may stand behind a name). */
static bool rule_matches(const struct wbi_ignore_rule *r, struct wbi_str pattern, struct wbi_str s)
{
    if (s.n < r->literal || memcmp(s.p, pattern.p, r->literal) != 0)
        return false;
    if (r->literal == pattern.n)
        return s.n == pattern.n;
    return wbi_path_glob(wbi_str_from(pattern, r->literal), wbi_str_from(s, r->literal));
}

enum wbi_ignore_verdict wbi_ignore_match(const struct wbi_ignore *ig, struct wbi_str path,
                                         bool is_dir)
{
    const struct wbi_ignore_rule *rules = (const void *)ig->rules.p;
    struct wbi_str name = path;

    while (wbi_str_index(name, '/') < name.n)
        name = wbi_str_from(name, wbi_str_index(name, '/') + 1);
    for (size_t i = ig->rules.n / sizeof(*rules); i-- > 0;) {
        struct wbi_str p = wbi_str_make(ig->text.p + rules[i].at, rules[i].n);

        if (rules[i].dir_only && !is_dir)
            continue;
        if (rule_matches(&rules[i], p, rules[i].anchored ? path : name))
            return rules[i].negated ? WBI_IGNORE_NO : WBI_IGNORE_YES;
    }
    return WBI_IGNORE_NONE;
}
