/* SPDX-License-Identifier: Apache-2.0
 * text/redact.c: path rules over a JSON value. The walk keeps, per level, the
 * set of rules whose first segments fit the way down; a rule that ends at a
 * member replaces it. No recursion. */
#include "text/redact.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/limits.h"
#include "json/write.h"
#include "text/hygiene.h"

struct segment {
    char *name; /* NULL: any */
    size_t n;
    bool index; /* name is the decimal index of an element */
};

struct path {
    struct segment *segment;
    size_t n;
};

struct wbi_redact_rules {
    struct path *path;
    size_t n;
    bool by_name;
};

static inline char fold(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

#define BIT(c) (1u << ((c) - 'a'))

/* Whether the names below may end with these two bytes: most others do not. */
static inline bool may_end_secret(char before, char last)
{
    static const uint32_t befores[26] = {
        ['d' - 'a'] = BIT('r') | BIT('w'), /* password, pwd */
        ['e' - 'a'] = BIT('i') | BIT('s'), /* cookie, passphrase */
        ['g' - 'a'] = BIT('n'),            /* connectionstring */
        ['l' - 'a'] = BIT('a'),            /* credential */
        ['n' - 'a'] = BIT('e') | BIT('o'), /* token, authorization */
        ['s' - 'a'] = BIT('l'),            /* credentials */
        ['t' - 'a'] = BIT('e'),            /* secret */
        ['y' - 'a'] = BIT('e'),            /* key */
    };
    unsigned y = (unsigned)fold(before) - 'a', z = (unsigned)fold(last) - 'a';

    return y >= 26 || z >= 26 || ((befores[z] >> y) & 1);
}

/* Which letters they end with, by their first. */
static bool may_be_secret(struct wbi_str name)
{
    static const uint32_t ends[26] = {
        ['a' - 'a'] = BIT('n') | BIT('y'),
        ['b' - 'a'] = BIT('n'),
        ['c' - 'a'] = BIT('e') | BIT('g') | BIT('l') | BIT('s') | BIT('t'),
        ['e' - 'a'] = BIT('y'),
        ['i' - 'a'] = BIT('n'),
        ['p' - 'a'] = BIT('d') | BIT('e') | BIT('n') | BIT('y'),
        ['r' - 'a'] = BIT('n'),
        ['s' - 'a'] = BIT('e') | BIT('n') | BIT('t') | BIT('y'),
        ['t' - 'a'] = BIT('n'),
        ['w' - 'a'] = BIT('t'),
        ['x' - 'a'] = BIT('n') | BIT('y'),
    };
    unsigned a = (unsigned)fold(name.p[0]) - 'a', z = (unsigned)fold(name.p[name.n - 1]) - 'a';

    return a >= 26 || z >= 26 || ((ends[a] >> z) & 1);
}

static bool is_secret_name(struct wbi_str name)
{
    static const struct wbi_str names[] = {
        /* shorter ones first */
        WBI_LIT_INIT("pwd"),
        WBI_LIT_INIT("token"),
        WBI_LIT_INIT("apikey"),
        WBI_LIT_INIT("cookie"),
        WBI_LIT_INIT("passwd"),
        WBI_LIT_INIT("secret"),
        WBI_LIT_INIT("idtoken"),
        WBI_LIT_INIT("xapikey"),
        WBI_LIT_INIT("password"),
        WBI_LIT_INIT("accesskey"),
        WBI_LIT_INIT("authtoken"),
        WBI_LIT_INIT("secretkey"),
        WBI_LIT_INIT("setcookie"),
        WBI_LIT_INIT("credential"),
        WBI_LIT_INIT("passphrase"),
        WBI_LIT_INIT("privatekey"),
        WBI_LIT_INIT("signingkey"),
        WBI_LIT_INIT("xauthtoken"),
        WBI_LIT_INIT("accesstoken"),
        WBI_LIT_INIT("bearertoken"),
        WBI_LIT_INIT("credentials"),
        WBI_LIT_INIT("clientsecret"),
        WBI_LIT_INIT("refreshtoken"),
        WBI_LIT_INIT("sessiontoken"),
        WBI_LIT_INIT("authorization"),
        WBI_LIT_INIT("encryptionkey"),
        WBI_LIT_INIT("webhooksecret"),
        WBI_LIT_INIT("secretaccesskey"),
        WBI_LIT_INIT("connectionstring"),
        WBI_LIT_INIT("proxyauthorization"),
    };
    char plain[32] = "";
    size_t n = 0;

    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        if (c == '_' || c == '-')
            continue;
        if (n == sizeof plain)
            return false;
        plain[n++] = fold(c);
    }
    for (size_t i = 0; i < WBI_COUNT(names) && names[i].n <= n; i++)
        if (names[i].n == n && names[i].p[0] == plain[0] && memcmp(names[i].p, plain, n) == 0)
            return true;
    return false;
}

bool wbi_secrets_name(struct wbi_str name)
{
    return name.n >= 3 && may_be_secret(name) && is_secret_name(name);
}

/* ---- reading paths ---- */

struct reader {
    struct wbi_str text;
    size_t at;
};

static wb_rc add_segment(struct path *p, struct wbi_str name, bool any, bool index)
{
    struct segment *s;

    if (p->n == WBI_LIMIT_REDACT_SEGMENTS)
        return WB_EINPUT;
    if (p->segment == NULL) {
        p->segment = wbi_zalloc_array(WBI_LIMIT_REDACT_SEGMENTS, sizeof *p->segment);
        if (p->segment == NULL)
            return WB_ENOMEM;
    }
    s = &p->segment[p->n];
    *s = (struct segment){NULL, name.n, index};
    if (!any) {
        s->name = wbi_strdup(name);
        if (s->name == NULL)
            return WB_ENOMEM;
    }
    p->n++;
    return WB_OK;
}

/* [*], [12], ["name"], ['name']; the reader stands behind the bracket. */
static wb_rc read_bracket(struct reader *r, struct path *p)
{
    struct wbi_str rest = wbi_str_from(r->text, r->at), name;
    size_t end;
    uint64_t ignored;
    char quote = rest.n > 0 ? rest.p[0] : 0;

    if (quote == '"' || quote == '\'') {
        end = 1 + wbi_str_index(wbi_str_from(rest, 1), quote);
        if (end + 1 >= rest.n || rest.p[end + 1] != ']')
            return WB_EINPUT;
        r->at += end + 2;
        return add_segment(p, wbi_str_make(rest.p + 1, end - 1), false, false);
    }
    end = wbi_str_index(rest, ']');
    if (end == rest.n)
        return WB_EINPUT;
    name = wbi_str_head(rest, end);
    r->at += end + 1;
    if (wbi_str_eqz(name, "*"))
        return add_segment(p, name, true, false);
    return wbi_parse_u64(name, &ignored) ? add_segment(p, name, false, true) : WB_EINPUT;
}

static wb_rc read_name(struct reader *r, struct path *p)
{
    size_t from = r->at;
    struct wbi_str name;

    while (r->at < r->text.n && r->text.p[r->at] != '.' && r->text.p[r->at] != '[')
        r->at++;
    name = wbi_str_make(r->text.p + from, r->at - from);
    return name.n == 0 ? WB_EINPUT : add_segment(p, name, wbi_str_eqz(name, "*"), false);
}

static wb_rc read_path(struct wbi_str text, struct path *p)
{
    struct reader r = {text, 0};
    bool dot = true; /* a name may stand here */
    wb_rc rc = text.n > 0 ? WB_OK : WB_EINPUT;

    while (rc == WB_OK && r.at < text.n) {
        if (text.p[r.at] == '[') {
            r.at++;
            rc = read_bracket(&r, p);
            dot = false;
        } else if (text.p[r.at] == '.') {
            if (dot || r.at + 1 == text.n || text.p[r.at + 1] == '[')
                return WB_EINPUT;
            r.at++;
            dot = true;
        } else if (dot) {
            rc = read_name(&r, p);
            dot = false;
        } else {
            return WB_EINPUT;
        }
    }
    return rc;
}

wb_rc wbi_redact_rules_new(const struct wbi_str *paths, size_t n, bool by_name,
                           struct wbi_redact_rules **ret, struct wbi_error *err)
{
    struct wbi_redact_rules *rules;
    wb_rc rc = WB_OK;

    rules = wbi_zalloc(sizeof *rules);
    if (rules != NULL)
        rules->path = wbi_zalloc_array(n + 1, sizeof *rules->path);
    if (rules == NULL || rules->path == NULL) {
        wbi_free(rules);
        return wbi_fail_nomem(err);
    }
    rules->by_name = by_name;
    for (; rules->n < n && rc == WB_OK; rules->n++)
        rc = read_path(paths[rules->n], &rules->path[rules->n]);
    if (rc != WB_OK) {
        wbi_fail(err, rc,
                 "redaction path \"%.*s\" cannot be read; expected names and [*] such as "
                 "headers.authorization, *.token or items[*].key",
                 WBI_FMT(paths[rules->n - 1]));
        wbi_redact_rules_free(rules);
        return rc;
    }
    *ret = rules;
    return WB_OK;
}

void wbi_redact_rules_free(struct wbi_redact_rules *rules)
{
    if (rules == NULL)
        return;
    for (size_t i = 0; i < rules->n; i++) {
        for (size_t k = 0; k < rules->path[i].n; k++)
            wbi_free(rules->path[i].segment[k].name);
        wbi_free(rules->path[i].segment);
    }
    wbi_free(rules->path);
    wbi_free(rules);
}

/* ---- one text ---- */

/* As it stands some may be seen that cleaning removes, so both are looked at. */
static wb_rc redact_unclean(const struct wbi_secrets *secrets, struct wbi_str text,
                            struct wbi_buf *out, bool *ret_found)
{
    struct wbi_buf clean;
    wb_rc rc;

    wbi_buf_init(&clean, WBI_LIMIT_JSON_TEXT);
    rc = wbi_hygiene_clean(text, &clean, NULL);
    if (rc == WB_OK)
        *ret_found =
            wbi_secrets_found(secrets, wbi_buf_str(&clean)) || wbi_secrets_found(secrets, text);
    if (rc == WB_OK && *ret_found)
        rc = wbi_secrets_replace(secrets, wbi_buf_str(&clean), out, NULL);
    wbi_buf_fini(&clean);
    return rc;
}

wb_rc wbi_redact_string(const struct wbi_secrets *secrets, struct wbi_str text, struct wbi_buf *out,
                        bool *ret_found)
{
    *ret_found = false;
    if (!wbi_hygiene_is_clean(text))
        return redact_unclean(secrets, text, out, ret_found);
    *ret_found = wbi_secrets_found(secrets, text);
    return *ret_found ? wbi_secrets_replace(secrets, text, out, NULL) : WB_OK;
}

/* ---- walking ---- */

struct level {
    const wbi_json *v; /* the container */
    const wbi_json *next;
    size_t left;
    size_t index;
    size_t path_n; /* length of the path text of this container */
    bool object;
    bool sealed; /* the values of a Secret: all of them */
};

struct walker {
    const struct wbi_secrets *secrets;
    const struct wbi_redact_rules *rules;
    struct wbi_redact_list *list;
    struct wbi_str *listed;
    size_t cap;
    struct wbi_jw out;
    struct wbi_buf path;
    struct wbi_buf scratch;
    struct level *level;
    size_t depth;
    /* a bit for each rule: those that go on below the member at hand, then, for each level, those
     * whose first segments fit the way to it */
    uint64_t *live;
    size_t words;
};

static bool segment_fits(const struct segment *s, const struct level *l, struct wbi_str key)
{
    uint64_t index;

    if (s->name == NULL)
        return true;
    if (l->object)
        return !s->index && wbi_str_eq(wbi_str_make(s->name, s->n), key);
    return s->index && wbi_parse_u64(wbi_str_make(s->name, s->n), &index) && index == l->index;
}

/* Notes the rules that go on below this member; true when one ends here. */
static bool follow(struct walker *w, const struct level *l, struct wbi_str key)
{
    const uint64_t *live;
    bool ends = false;

    if (w->words == 0)
        return false;
    live = w->live + w->depth * w->words;
    memset(w->live, 0, w->words * sizeof *w->live);
    for (size_t i = 0; i < w->rules->n; i++) {
        const struct path *p = &w->rules->path[i];

        if (!((live[i / 64] >> (i % 64)) & 1) || p->n < w->depth ||
            !segment_fits(&p->segment[w->depth - 1], l, key))
            continue;
        if (p->n == w->depth)
            ends = true;
        else
            w->live[i / 64] |= 1ull << (i % 64);
    }
    return ends;
}

static bool plain_name(struct wbi_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '.' || s.p[i] == '[' || s.p[i] == ']' || s.p[i] == '"')
            return false;
    return s.n > 0;
}

static void push_path(struct walker *w, const struct level *l, struct wbi_str key)
{
    w->path.n = l->path_n;
    if (!l->object) {
        wbi_buf_addc(&w->path, '[');
        wbi_buf_addu(&w->path, l->index);
        wbi_buf_addc(&w->path, ']');
    } else if (plain_name(key)) {
        if (w->path.n > 0)
            wbi_buf_addc(&w->path, '.');
        wbi_buf_adds(&w->path, key);
    } else {
        wbi_buf_addc(&w->path, '[');
        wbi_json_quote(&w->path, key);
        wbi_buf_addc(&w->path, ']');
    }
}

static wb_rc list_path(struct walker *w)
{
    struct wbi_redact_list *list = w->list;
    struct wbi_str *grown, copy;

    if (list == NULL)
        return WB_OK;
    if (list->n == w->cap) {
        grown = wbi_arena_array(list->arena, w->cap * 2 + 8, sizeof *grown);
        if (grown == NULL)
            return WB_ENOMEM;
        if (list->n > 0)
            memcpy(grown, list->path, list->n * sizeof *grown);
        w->cap = w->cap * 2 + 8;
        w->listed = grown;
        list->path = grown;
    }
    copy = wbi_arena_str(list->arena, wbi_buf_str(&w->path));
    if (copy.p == NULL)
        return WB_ENOMEM;
    w->listed[list->n++] = copy;
    return WB_OK;
}

static wb_rc write_masked(struct walker *w, const wbi_json *v)
{
    struct wbi_str text = wbi_json_str(v);
    struct wbi_buf mask;
    wb_rc rc = WB_OK;

    if (w->secrets != NULL && wbi_secrets_is_mask(w->secrets, text)) { /* done before: keep it */
        wbi_jw_str(&w->out, text);
        return list_path(w);
    }
    wbi_buf_clear(&w->scratch);
    if (w->secrets == NULL) {
        wbi_jw_strz(&w->out, "[redacted:value]");
        return list_path(w);
    }
    if (text.p == NULL) {
        wbi_json_write(&w->scratch, v);
        text = wbi_buf_str(&w->scratch);
    }
    wbi_buf_init(&mask, 256);
    rc = wbi_secrets_mask(w->secrets, "value", text, &mask);
    if (rc == WB_OK)
        wbi_jw_str(&w->out, wbi_buf_str(&mask));
    wbi_buf_fini(&mask);
    return rc == WB_OK ? list_path(w) : rc;
}

/* A string scanned for forms; *ret_changed tells whether any was found. */
static wb_rc scan_string(struct walker *w, struct wbi_str text, bool *ret_changed)
{
    *ret_changed = false;
    if (w->secrets == NULL)
        return WB_OK;
    wbi_buf_clear(&w->scratch);
    return wbi_redact_string(w->secrets, text, &w->scratch, ret_changed);
}

/* As a line of text the two would be a secret: "DB_PASSWORD": "…". */
static bool found_as_member(struct walker *w, struct wbi_str key, const wbi_json *v)
{
    if (key.n == 0 || w->secrets == NULL || w->rules == NULL || !w->rules->by_name ||
        !wbi_secrets_telling(key))
        return false;
    wbi_buf_clear(&w->scratch);
    wbi_json_quote(&w->scratch, key);
    wbi_buf_addz(&w->scratch, ": ");
    wbi_json_write(&w->scratch, v);
    return wbi_secrets_found(w->secrets, wbi_buf_str(&w->scratch));
}

/* key: of the member that v is, if it is one. */
static wb_rc write_scalar(struct walker *w, struct wbi_str key, const wbi_json *v)
{
    bool changed = false;
    wb_rc rc = WB_OK;

    if (wbi_json_is(v, WBI_JSON_STR))
        rc = scan_string(w, wbi_json_str(v), &changed);
    if (rc != WB_OK)
        return rc;
    if (!changed && wbi_json_is(v, WBI_JSON_STR) && found_as_member(w, key, v))
        return write_masked(w, v);
    if (!changed) {
        wbi_jw_val(&w->out, v);
        return WB_OK;
    }
    wbi_jw_str(&w->out, wbi_buf_str(&w->scratch));
    return list_path(w);
}

/* The name as it may be told, written and part of the path from now on. */
static wb_rc write_key(struct walker *w, const struct level *l, struct wbi_str key)
{
    bool changed;
    wb_rc rc = scan_string(w, key, &changed);

    if (rc != WB_OK)
        return rc;
    if (changed)
        key = wbi_buf_str(&w->scratch);
    push_path(w, l, key);
    wbi_jw_keyn(&w->out, key);
    return changed ? list_path(w) : WB_OK;
}

/* The data of a Kubernetes Secret. */
static bool holds_secrets(const struct walker *w, const wbi_json *owner, struct wbi_str key)
{
    if (w->rules == NULL || !w->rules->by_name || owner == NULL)
        return false;
    if (!wbi_str_eqz(key, "data") && !wbi_str_eqz(key, "stringData"))
        return false;
    return wbi_str_eqz(wbi_json_get_str(owner, "kind"), "Secret");
}

static void open_level(struct walker *w, const wbi_json *v, bool sealed)
{
    bool object = wbi_json_is(v, WBI_JSON_OBJ);

    if (object)
        wbi_jw_obj(&w->out);
    else
        wbi_jw_arr(&w->out);
    w->level[w->depth++] =
        (struct level){v, v + 1, wbi_json_count(v), 0, w->path.n, object, sealed};
    for (size_t i = 0; i < w->words; i++)
        w->live[w->depth * w->words + i] = w->live[i];
}

static wb_rc step(struct walker *w)
{
    struct level *l = &w->level[w->depth - 1];
    struct wbi_str key = WBI_NONE;
    const wbi_json *v;
    bool ends;
    wb_rc rc = WB_OK;

    if (l->left == 0) {
        if (l->object)
            wbi_jw_obj_end(&w->out);
        else
            wbi_jw_arr_end(&w->out);
        w->depth--;
        return WB_OK;
    }
    l->left--;
    if (l->object)
        key = wbi_json_str(l->next++);
    v = l->next;
    l->next = wbi_json_skip(v);
    if (l->object)
        rc = write_key(w, l, key);
    else
        push_path(w, l, key);
    ends = follow(w, l, key);
    l->index++;
    if (rc != WB_OK)
        return rc;
    if (ends || l->sealed ||
        (l->object && w->rules != NULL && w->rules->by_name && wbi_secrets_name(key)))
        return write_masked(w, v);
    if (wbi_json_is(v, WBI_JSON_ARR) || wbi_json_is(v, WBI_JSON_OBJ)) {
        open_level(w, v, l->object && holds_secrets(w, l->v, key));
        return WB_OK;
    }
    return write_scalar(w, key, v);
}

/* A tree is at most as deep as it has values: small ones need few levels. */
static size_t levels_for(const wbi_json *v)
{
    size_t values = (size_t)(wbi_json_skip(v) - v);

    return (values < WBI_LIMIT_JSON_DEPTH ? values : WBI_LIMIT_JSON_DEPTH) + 2;
}

wb_rc wbi_redact_json(const struct wbi_secrets *secrets, const struct wbi_redact_rules *rules,
                      const wbi_json *v, struct wbi_buf *out, struct wbi_redact_list *list)
{
    struct walker w = {.secrets = secrets, .rules = rules, .list = list};
    size_t levels = levels_for(v);
    wb_rc rc = WB_OK;

    if (list != NULL) {
        list->path = NULL;
        list->n = 0;
    }
    w.out = wbi_jw_to(out);
    wbi_buf_init(&w.path, WBI_LIMIT_JSON_TEXT);
    wbi_buf_init(&w.scratch, WBI_LIMIT_JSON_TEXT);
    w.level = wbi_zalloc_array(levels, sizeof *w.level);
    if (rules != NULL && rules->n > 0) {
        w.words = (rules->n + 63) / 64;
        w.live = wbi_zalloc_array(levels + 1, w.words * sizeof *w.live);
    }
    for (size_t i = 0; w.live != NULL && i < w.words; i++)
        w.live[i] = UINT64_MAX;
    if (w.level == NULL || (w.words > 0 && w.live == NULL))
        rc = WB_ENOMEM;
    else if (wbi_json_is(v, WBI_JSON_ARR) || wbi_json_is(v, WBI_JSON_OBJ))
        open_level(&w, v, false);
    else
        rc = write_scalar(&w, WBI_NONE, v);
    while (rc == WB_OK && w.depth > 0)
        rc = step(&w);
    if (rc == WB_OK)
        rc = wbi_buf_rc(out);
    if (rc == WB_OK)
        rc = wbi_buf_rc(&w.path);
    wbi_free(w.level);
    wbi_free(w.live);
    wbi_buf_fini(&w.path);
    wbi_buf_fini(&w.scratch);
    return rc;
}

/* ---- without parsing ---- */

/* Only escapes that hide no letter and that cleaning leaves: \" \\ \n \t, and \r before
 * \n, but not \u0074, \/ or \b. */
static bool plain_escapes(struct wbi_str json)
{
    const char *end = json.p + json.n, *p = json.p;

    while (p < end && (p = memchr(p, '\\', (size_t)(end - p))) != NULL) {
        bool crlf = end - p >= 4 && memcmp(p, "\\r\\n", 4) == 0;

        if (!crlf && (p + 1 == end || (p[1] != '"' && p[1] != '\\' && p[1] != 'n' && p[1] != 't')))
            return false;
        p += 2;
    }
    return true;
}

/* The string before i, white space aside; absent when there is none, or none that could be
 * a secret's name. Of one with an escaped quote in it, which no such name has, only what
 * follows that. */
static struct wbi_str string_before(struct wbi_str json, size_t i)
{
    const char *quote;

    while (i > 0 && (json.p[i - 1] == ' ' || json.p[i - 1] == '\n' || json.p[i - 1] == '\r' ||
                     json.p[i - 1] == '\t'))
        i--;
    if (i < 3 || json.p[--i] != '"' || !may_end_secret(json.p[i - 2], json.p[i - 1]))
        return WBI_NONE;
    quote = memrchr(json.p, '"', i);
    return quote != NULL ? wbi_str_make(quote + 1, (size_t)(json.p + i - quote) - 1)
                         : wbi_str_make(json.p, i);
}

/* Every name is followed by a colon; a colon inside a string does no harm. */
static bool has_secret_name(struct wbi_str json)
{
    const char *end = json.p + json.n, *at = json.p;
    struct wbi_str name;

    for (; at < end && (at = memchr(at, ':', (size_t)(end - at))) != NULL; at++) {
        name = string_before(json, (size_t)(at - json.p));
        if (name.n > 0 && wbi_secrets_name(name))
            return true;
    }
    return false;
}

/* With nothing escaped but bytes that no literal has, and nothing to be cleaned, every
 * string stands in the text as it is, so what is not in the text is in no string. Known values may
 * have any byte, and the data of a Secret is told by that word, a literal. */
bool wbi_redact_is_clean(const struct wbi_secrets *secrets, const struct wbi_redact_rules *rules,
                         struct wbi_str json)
{
    bool by_name = rules != NULL && rules->by_name;

    if ((rules != NULL && rules->n > 0) || secrets == NULL || !plain_escapes(json) ||
        !wbi_hygiene_is_clean(json))
        return false;
    if (wbi_secrets_knows_values(secrets) && wbi_str_index(json, '\\') < json.n)
        return false;
    return !wbi_secrets_suspected(secrets, json) && !(by_name && has_secret_name(json));
}
