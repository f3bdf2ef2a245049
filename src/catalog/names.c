/* SPDX-License-Identifier: Apache-2.0
 * catalog/names.c: every tool first claims the name it would like. Claims that
 * meet are settled by rank, never by order of arrival: a built-in, then an MCP
 * tool that needed no cleaning, then such a local tool keep the name if they are
 * alone on their rank; all others carry a hash of their qualified name. A server
 * may tell its tools late, and a name must not mean another tool then: what reads
 * as a server's tool is no other tool's name from the start, and tools of a server
 * without a prefix get what local tools leave. */
#include "catalog/names.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/local.h"
#include "base/utf8.h"

#define HASH_DIGITS 8u
#define AMBIGUOUS ((size_t)-2)
#define VACANT ((size_t)-1)

struct slot {
    struct wbi_str key;
    size_t entry; /* VACANT, AMBIGUOUS or an index into entries */
};

struct entry {
    struct wbi_name name;
    struct wbi_str wish; /* sanitised, of any length */
    int rank;            /* 0 built-in, 1 MCP as it is, 2 local as it is, 3 cleaned,
                          * 4 MCP without a prefix as it is, 5 cleaned */
    bool keeps;          /* the wish is the model name */
};

struct wbi_names {
    struct wbi_arena *arena;
    struct entry *entries; /* by qualified name */
    size_t n;
    struct slot *slots;
    size_t mask;
    struct wbi_name_servers servers; /* borrowed while names are given */
};

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool is_name_char(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

bool wbi_name_is_model_name(struct wbi_str name)
{
    if (name.n == 0 || name.n > WBI_LIMIT_MODEL_NAME || !is_letter(name.p[0]))
        return false;
    for (size_t i = 0; i < name.n; i++)
        if (!is_name_char(name.p[i]))
            return false;
    return true;
}

/* Apart at the first separator; false when a side would be empty. */
static bool split(struct wbi_str s, struct wbi_str separator, struct wbi_str *left,
                  struct wbi_str *right)
{
    size_t at = wbi_str_find(s, separator);

    if (at == 0 || at + separator.n >= s.n)
        return false;
    *left = wbi_str_head(s, at);
    *right = wbi_str_from(s, at + separator.n);
    return true;
}

struct wbi_name_parts wbi_name_parts(struct wbi_str name)
{
    struct wbi_name_parts parts = {.origin = WBI_NAME_UNKNOWN, .tool = name};
    bool mcp = false;

    if (wbi_str_starts(name, WBI_LIT("local::")) && name.n > 7)
        return (struct wbi_name_parts){.origin = WBI_NAME_LOCAL, .tool = wbi_str_from(name, 7)};
    if (wbi_str_starts(name, WBI_LIT("mcp::")))
        mcp = split(wbi_str_from(name, 5), WBI_LIT("::"), &parts.server, &parts.tool);
    else if (wbi_str_starts(name, WBI_LIT("mcp__")))
        mcp = split(wbi_str_from(name, 5), WBI_LIT("__"), &parts.server, &parts.tool);
    if (mcp)
        parts.origin = WBI_NAME_MCP;
    return parts;
}

/* For qualified names only, with every rule checked. */
static wb_rc parse_qualified(struct wbi_str name, struct wbi_name_parts *ret, struct wbi_error *err)
{
    struct wbi_name_parts parts = wbi_name_parts(name);
    struct wbi_str shown = wbi_str_head(name, wbi_utf8_cut(name, 120));

    if (name.n > WBI_LIMIT_TOOL_NAME)
        return wbi_fail(err, WB_EINPUT, "tool name of %zu bytes; at most %u are accepted", name.n,
                        WBI_LIMIT_TOOL_NAME);
    if (!wbi_utf8_valid(name))
        return wbi_fail(err, WB_EINPUT, "a tool name must be UTF-8");
    if (wbi_utf8_control(name) < name.n)
        return wbi_fail(err, WB_EINPUT, "a tool name must not hold control characters");
    if (parts.origin == WBI_NAME_UNKNOWN || wbi_str_starts(name, WBI_LIT("mcp__")))
        return wbi_fail(err, WB_EINPUT,
                        "\"%.*s\" is no qualified tool name; accepted are local::<tool> and "
                        "mcp::<server>::<tool>",
                        WBI_FMT(shown));
    *ret = parts;
    return WB_OK;
}

/* --- wishes --- */

bool wbi_name_put_clean(struct wbi_str name, struct wbi_buf *out)
{
    bool exact = true;
    size_t bad = 0, step;

    for (size_t at = 0; at<name.n; at += step> 0 ? step : bad) {
        bool fine = is_name_char(name.p[at]);

        step = wbi_utf8_step((const uint8_t *)name.p + at, name.n - at, &bad);
        wbi_buf_addc(out, fine ? name.p[at] : '_');
        exact = exact && fine;
    }
    return exact;
}

static bool is_bare(const struct entry *e)
{
    return e->name.parts.origin == WBI_NAME_MCP && e->name.prefix.p != NULL &&
           e->name.prefix.n == 0;
}

static wb_rc make_wish(struct wbi_arena *arena, struct entry *e, struct wbi_error *err)
{
    const struct wbi_name_parts *parts = &e->name.parts;
    struct wbi_str prefix = e->name.prefix.p != NULL ? e->name.prefix : parts->server;
    bool joined = parts->origin == WBI_NAME_MCP && prefix.n > 0;
    struct wbi_str first = joined ? prefix : parts->tool;
    struct wbi_buf out;
    bool exact = true;

    wbi_buf_init_arena(&out, arena, 2 * WBI_LIMIT_TOOL_NAME);
    if (!is_letter(first.p[0]) && is_name_char(first.p[0])) {
        wbi_buf_addc(&out, '_'); /* Gemini takes no digit or hyphen in front */
        exact = false;
    }
    exact &= wbi_name_put_clean(first, &out);
    if (joined) {
        wbi_buf_addz(&out, "__");
        exact &= wbi_name_put_clean(parts->tool, &out);
    }
    if (wbi_buf_rc(&out) != WB_OK)
        return wbi_fail_nomem(err);
    e->wish = wbi_buf_str(&out);
    if (e->name.builtin)
        e->rank = 0;
    else
        e->rank = (!exact ? 3 : joined ? 1 : 2) + (is_bare(e) ? 2 : 0);
    return WB_OK;
}

static wb_rc make_entry(struct wbi_arena *arena, const struct wbi_name_in *in, size_t index,
                        struct entry *e, struct wbi_error *err)
{
    wb_rc rc;

    e->name.index = index;
    e->name.builtin = in->builtin;
    e->name.prefix = wbi_arena_str(arena, in->prefix);
    e->name.qualified = wbi_arena_str(arena, in->qualified);
    if (in->prefix.p != NULL && e->name.prefix.p == NULL)
        return wbi_fail_nomem(err);
    if (e->name.qualified.p == NULL)
        return in->qualified.p ? wbi_fail_nomem(err)
                               : wbi_fail(err, WB_EMISUSE, "a tool without a name");
    rc = parse_qualified(e->name.qualified, &e->name.parts, err);
    if (rc != WB_OK)
        return rc;
    if (in->builtin && !wbi_name_is_model_name(e->name.parts.tool))
        return wbi_fail(err, WB_EINPUT,
                        "built-in tool \"%.*s\" must have a name that providers take: 1 to %u "
                        "letters, digits, _ and -",
                        WBI_FMT(e->name.parts.tool), WBI_LIMIT_MODEL_NAME);
    return make_wish(arena, e, err);
}

/* --- the table of spellings --- */

static struct slot *slot_of(const struct wbi_names *t, struct wbi_str key)
{
    size_t at = wbi_hash64(key.p, key.n, t->n) & t->mask;

    while (t->slots[at].entry != VACANT && !wbi_str_eq(t->slots[at].key, key))
        at = (at + 1) & t->mask;
    return &t->slots[at];
}

static wb_rc make_table(struct wbi_names *t, struct wbi_error *err)
{
    size_t slots = 16;

    while (slots < t->n * 16) /* at most seven spellings a tool */
        slots *= 2;
    t->slots = wbi_arena_array(t->arena, slots, sizeof(*t->slots));
    if (t->slots == NULL)
        return wbi_fail_nomem(err);
    t->mask = slots - 1;
    for (size_t i = 0; i < slots; i++)
        t->slots[i].entry = VACANT;
    return WB_OK;
}

static void put(struct wbi_names *t, struct wbi_str key, size_t entry)
{
    struct slot *s = slot_of(t, key);

    if (s->entry == VACANT)
        *s = (struct slot){key, entry};
}

/* A second-rate spelling: never instead of a model name or a local tool's, and of two
 * tools' none. */
static void put_alias(struct wbi_names *t, struct wbi_str key, size_t entry)
{
    struct slot *s = slot_of(t, key);

    if (s->entry == VACANT)
        *s = (struct slot){key, entry};
    else if (s->entry != entry &&
             (s->entry == AMBIGUOUS || (t->entries[s->entry].name.parts.origin == WBI_NAME_MCP &&
                                        !wbi_str_eq(t->entries[s->entry].name.model, key))))
        s->entry = AMBIGUOUS;
}

/* Those with the server in them. */
static wb_rc put_mcp_aliases(struct wbi_names *t, size_t i, struct wbi_error *err)
{
    const struct entry *e = &t->entries[i];
    const struct wbi_name_parts *parts = &e->name.parts;
    struct wbi_str raw =
        wbi_arena_fmt(t->arena, "mcp__%.*s__%.*s", WBI_FMT(parts->server), WBI_FMT(parts->tool));
    struct wbi_str clean = wbi_arena_fmt(t->arena, "mcp__%.*s", WBI_FMT(e->wish));

    if (raw.p == NULL || clean.p == NULL)
        return wbi_fail_nomem(err);
    put_alias(t, raw, i);
    put_alias(t, wbi_str_from(raw, 5), i);
    if (!is_bare(e)) {
        put_alias(t, clean, i);
        put_alias(t, e->wish, i);
    }
    return WB_OK;
}

/* --- who keeps its wish --- */

static bool begins_with(struct wbi_str name, struct wbi_str first)
{
    return first.n > 0 && name.n > first.n + 2 && wbi_str_starts(name, first) &&
           memcmp(name.p + first.n, "__", 2) == 0;
}

/* True for "server__tool" and "mcp__server__tool". */
static bool reads_as_a_servers(const struct wbi_names *t, struct wbi_str name)
{
    struct wbi_str rest = wbi_str_starts(name, WBI_LIT("mcp__")) ? wbi_str_from(name, 5) : WBI_NONE;

    for (size_t i = 0; i < t->servers.n; i++)
        if (begins_with(name, t->servers.list[i]) || begins_with(rest, t->servers.list[i]))
            return true;
    return false;
}

static int by_qualified(const void *a, const void *b)
{
    return wbi_str_cmp(((const struct entry *)a)->name.qualified,
                       ((const struct entry *)b)->name.qualified);
}

static int by_wish(const void *a, const void *b)
{
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
    int order = wbi_str_cmp(x->wish, y->wish);

    return order != 0 ? order : x->rank - y->rank;
}

/* group: the tools with one wish, best rank first. */
static void settle_group(struct entry **group, size_t n)
{
    bool alone = n == 1 || group[0]->rank < group[1]->rank;
    bool worthy = n == 1 || group[0]->rank < 3 || group[1]->rank > 3;

    group[0]->keeps = alone && worthy && group[0]->wish.n <= WBI_LIMIT_MODEL_NAME;
}

static wb_rc settle_wishes(struct wbi_names *t, struct wbi_error *err)
{
    struct entry **order = wbi_arena_array(t->arena, t->n, sizeof(struct entry *));

    if (order == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = 0; i < t->n; i++)
        order[i] = &t->entries[i];
    if (t->n > 1)
        qsort(order, t->n, sizeof(struct entry *), by_wish);
    for (size_t i = 0, end; i < t->n; i = end) {
        for (end = i + 1; end < t->n && wbi_str_eq(order[end]->wish, order[i]->wish); end++)
            ;
        settle_group(order + i, end - i);
    }
    return WB_OK;
}

static wb_rc hashed_name(struct wbi_names *t, struct entry *e, size_t digits, struct wbi_error *err)
{
    uint8_t sum[WBI_SHA256_SIZE];
    char hex[WBI_SHA256_HEX];
    struct wbi_str head = wbi_str_head(e->wish, WBI_LIMIT_MODEL_NAME - 1 - digits);
    wb_rc rc = wbi_sha256(e->name.qualified.p, e->name.qualified.n, sum);

    if (rc != WB_OK)
        return wbi_fail(err, rc, "cannot hash a tool name");
    wbi_hex(sum, sizeof(sum), hex);
    e->name.model = wbi_arena_fmt(t->arena, "%.*s_%.*s", WBI_FMT(head), (int)digits, hex);
    return e->name.model.p ? WB_OK : wbi_fail_nomem(err);
}

/* Longer hashes until nobody has the name. */
static wb_rc give_hashed_name(struct wbi_names *t, size_t i, struct wbi_error *err)
{
    for (size_t digits = HASH_DIGITS; digits < WBI_LIMIT_MODEL_NAME / 2; digits *= 2) {
        wb_rc rc = hashed_name(t, &t->entries[i], digits, err);
        if (rc != WB_OK)
            return rc;
        if (slot_of(t, t->entries[i].name.model)->entry == VACANT) {
            put(t, t->entries[i].name.model, i);
            return WB_OK;
        }
    }
    return wbi_fail(err, WB_EEXISTS, "no free model name for \"%.*s\"",
                    WBI_FMT(t->entries[i].name.qualified));
}

static void keep_wish(struct wbi_names *t, size_t i)
{
    struct entry *e = &t->entries[i];

    if (!e->keeps || slot_of(t, e->wish)->entry != VACANT)
        return;
    e->name.model = e->wish;
    put(t, e->wish, i);
}

/* Built-ins and what has its server in front. */
static wb_rc give_first_names(struct wbi_names *t, struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < t->n; i++) {
        const struct entry *e = &t->entries[i];

        put(t, e->name.qualified, i);
        if (e->rank == 0 || (e->name.parts.origin == WBI_NAME_MCP && !is_bare(e)))
            keep_wish(t, i);
    }
    for (size_t i = 0; i < t->n && rc == WB_OK; i++)
        if (t->entries[i].name.parts.origin == WBI_NAME_MCP)
            rc = put_mcp_aliases(t, i, err);
    return rc;
}

/* Local tools, or those of servers without a prefix: what is left. */
static void give_own_names(struct wbi_names *t, enum wbi_name_origin origin)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->entries[i].name.parts.origin == origin && !reads_as_a_servers(t, t->entries[i].wish))
            keep_wish(t, i);
    for (size_t i = 0; i < t->n; i++) {
        const struct entry *e = &t->entries[i];

        if (e->name.parts.origin != origin || (origin == WBI_NAME_MCP && !is_bare(e)))
            continue;
        if (reads_as_a_servers(t, e->wish))
            continue;
        if (origin == WBI_NAME_LOCAL) {
            put(t, e->name.parts.tool, i);
        } else {
            put_alias(t, e->name.parts.tool, i);
            put_alias(t, e->wish, i);
        }
    }
}

static wb_rc give_names(struct wbi_names *t, struct wbi_error *err)
{
    wb_rc rc = give_first_names(t, err);

    if (rc != WB_OK)
        return rc;
    give_own_names(t, WBI_NAME_LOCAL);
    give_own_names(t, WBI_NAME_MCP);
    for (size_t i = 0; i < t->n && rc == WB_OK; i++)
        if (t->entries[i].name.model.p == NULL)
            rc = give_hashed_name(t, i, err);
    return rc;
}

static wb_rc fill(struct wbi_names *t, const struct wbi_name_in *in, size_t n,
                  struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    t->n = n;
    t->entries = wbi_arena_array(t->arena, n, sizeof(*t->entries));
    if (t->entries == NULL)
        return wbi_fail_nomem(err);
    for (size_t i = 0; i < n && rc == WB_OK; i++)
        rc = make_entry(t->arena, &in[i], i, &t->entries[i], err);
    if (rc != WB_OK)
        return rc;
    if (n > 1)
        qsort(t->entries, n, sizeof(*t->entries), by_qualified);
    for (size_t i = 1; i < n; i++)
        if (wbi_str_eq(t->entries[i - 1].name.qualified, t->entries[i].name.qualified))
            return wbi_fail(err, WB_EEXISTS, "tool \"%.*s\" is registered twice",
                            WBI_FMT(t->entries[i].name.qualified));
    rc = settle_wishes(t, err);
    if (rc == WB_OK)
        rc = make_table(t, err);
    return rc == WB_OK ? give_names(t, err) : rc;
}

wb_rc wbi_names_new(const struct wbi_name_in *in, size_t n, const struct wbi_name_servers *servers,
                    struct wbi_names **ret, struct wbi_error *err)
{
    struct wbi_arena *arena;
    struct wbi_names *t;
    wb_rc rc;

    if (n > WBI_LIMIT_NAMES)
        return wbi_fail(err, WB_ELIMIT, "%zu tools; at most %u are accepted", n, WBI_LIMIT_NAMES);
    rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &arena);
    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    t = wbi_arena_zalloc(arena, sizeof(*t));
    if (t == NULL) {
        wbi_arena_free(arena);
        return wbi_fail_nomem(err);
    }
    t->arena = arena;
    if (servers != NULL)
        t->servers = *servers;
    rc = fill(t, in, n, err);
    if (rc == WB_OK)
        *ret = t;
    else
        wbi_arena_free(arena);
    return rc;
}

void wbi_names_free(struct wbi_names *names)
{
    if (names != NULL)
        wbi_arena_free(names->arena);
}

const struct wbi_name *wbi_names_at(const struct wbi_names *names, size_t i)
{
    return i < names->n ? &names->entries[i].name : NULL;
}

static const struct wbi_name *look_up(const struct wbi_names *t, struct wbi_str key)
{
    const struct slot *s = slot_of(t, key);

    return s->entry < t->n ? &t->entries[s->entry].name : NULL;
}

const struct wbi_name *wbi_names_find(const struct wbi_names *names, struct wbi_str name_space,
                                      struct wbi_str name)
{
    WBI_LARGE_LOCAL char joined[2 * WBI_LIMIT_TOOL_NAME + 2];
    struct wbi_str space = name_space;

    if (name.n == 0 || name.n > WBI_LIMIT_TOOL_NAME || space.n > WBI_LIMIT_TOOL_NAME)
        return NULL;
    if (space.n == 0 || wbi_str_eqz(space, "functions"))
        return look_up(names, name);
    if (wbi_str_ends(space, WBI_LIT("__")))
        space = wbi_str_head(space, space.n - 2);
    memcpy(joined, space.p, space.n);
    memcpy(joined + space.n, "__", 2);
    memcpy(joined + space.n + 2, name.p, name.n);
    return look_up(names, wbi_str_make(joined, space.n + 2 + name.n));
}
