/* SPDX-License-Identifier: Apache-2.0
 * family/file/patch_apply.c: a parsed patch against a file system. Every file
 * is located, read, matched and built in memory first; only when all of them
 * fit is the list of changes handed over to be committed as one. */
#include "family/file/patch_int.h"

#include <stdarg.h>
#include <stdio.h>

#include "path/path.h"

/* A file the patch touches, under its real name. */
struct entry {
    struct wbi_str real, path;
    bool existed, exists;
    bool under;               /* a file has the name of one of its folders */
    bool folder;              /* a folder has its name */
    struct wbi_str old, data; /* at the start, now */
    bool was_exec;
    int exec;
    enum wbi_patch_action last; /* its fate so far */
    size_t change;              /* the last change of it */
};

struct plan {
    const struct wbi_patch_fs *fs;
    struct wbi_arena *arena;
    struct wbi_error *err;
    struct wbi_patch_fault *fault;
    struct wbi_patch *patch;
    struct wbi_patch_result *res;
    struct entry *entries;
    size_t n, cap, diagnostics_cap;
};

__attribute__((format(printf, 4, 5))) static void
diagnose(struct plan *p, const char *kind, struct wbi_str path, const char *fmt, ...)
{
    struct wbi_patch_diagnostic *d;
    char text[256];
    va_list ap;
    int n;

    p->res->diagnostics_total++;
    if (p->res->n_diagnostics == WBI_LIMIT_PATCH_DIAGNOSTICS)
        return;
    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    d = wbi_patch_push(p->arena, &p->res->diagnostics, p->res->n_diagnostics, &p->diagnostics_cap,
                       sizeof(*d));
    if (d == NULL || n < 0)
        return;
    d->kind = kind;
    d->path = path;
    d->message = wbi_arena_str(p->arena, wbi_str_z(text));
    p->res->n_diagnostics++;
}

static wb_rc refuse(struct plan *p, const struct wbi_patch_file *f, const char *rule,
                    const char *what)
{
    char shown[WBI_PATH_SHOWN];

    p->fault->rule = rule;
    p->fault->path = f->path;
    p->fault->line = f->at_line;
    return wbi_fail_kind(p->err, WB_EINPUT, WBI_KIND_INVALID_PATCH,
                         "patch line %u, `%s`: %s (rule %s)", f->at_line,
                         wbi_path_show(f->path, shown), what, rule);
}

static struct entry *known(struct plan *p, struct wbi_str real)
{
    for (size_t i = 0; i < p->n; i++)
        if (wbi_str_eq(p->entries[i].real, real))
            return &p->entries[i];
    return NULL;
}

/* Does the patch take away a file that has the name of a folder of path, or with beneath one in
 * the folder path? */
static bool takes_away(const struct plan *p, struct wbi_str path, bool beneath)
{
    for (size_t i = 0; i < p->patch->n_files; i++) {
        const struct wbi_patch_file *f = &p->patch->files[i];
        struct wbi_str name = f->action == WBI_PATCH_DELETE ? f->path : f->from_path;

        if (name.n > 0 && (beneath ? wbi_patch_beneath(name, path) : wbi_patch_beneath(path, name)))
            return true;
    }
    return false;
}

enum {
    FRESH = 1u << 8
}; /* beside enum wbi_patch_locate: a name that comes, in a folder's place, too */

static wb_rc locate(struct plan *p, struct wbi_str path, unsigned how, struct wbi_str *ret,
                    bool *ret_under)
{
    struct wbi_error first = WBI_ERROR_INIT;
    unsigned known_how = how & ~(unsigned)FRESH;
    wb_rc rc = p->fs->locate(p->fs->arg, path, known_how, p->arena, &first, ret);

    *ret_under = rc != WB_OK && (how & FRESH) && takes_away(p, path, false);
    if (*ret_under)
        return p->fs->locate(p->fs->arg, path, known_how | WBI_PATCH_OVER_FILE, p->arena, p->err,
                             ret);
    if (rc != WB_OK && p->err != NULL)
        *p->err = first;
    return rc;
}

static wb_rc read_entry(struct plan *p, struct entry *e, unsigned how)
{
    struct wbi_error first = WBI_ERROR_INIT;
    wb_rc rc;

    e->old = wbi_str_make("", 0);
    if (e->under)
        return WB_OK;
    rc = p->fs->read(p->fs->arg, e->real, p->arena, &first, &e->existed, &e->old, &e->was_exec);
    e->folder = rc != WB_OK && (how & FRESH) && takes_away(p, e->path, true);
    if (e->folder) {
        e->existed = false;
        e->old = wbi_str_make("", 0);
        return WB_OK;
    }
    if (rc != WB_OK && p->err != NULL)
        *p->err = first;
    return rc;
}

/* The entry of a path; *ret_again when the patch named it before. The index is
 * given, since later entries move the array. */
static wb_rc enter(struct plan *p, struct wbi_str path, unsigned how, size_t *ret_at,
                   bool *ret_again)
{
    struct wbi_str real;
    struct entry *e;
    bool under;
    wb_rc rc = locate(p, path, how, &real, &under);

    if (rc)
        return rc;
    e = known(p, real);
    *ret_again = e != NULL;
    if (e != NULL) {
        *ret_at = (size_t)(e - p->entries);
        return WB_OK;
    }
    e = wbi_patch_push(p->arena, &p->entries, p->n, &p->cap, sizeof(*e));
    if (e == NULL)
        return wbi_fail_nomem(p->err);
    e->real = real;
    e->path = path;
    e->exec = -1;
    e->under = under;
    rc = read_entry(p, e, how);
    if (rc)
        return rc;
    e->exists = e->existed;
    e->data = e->old;
    *ret_at = p->n++;
    return WB_OK;
}

static bool only_adds(const struct wbi_patch_file *f)
{
    for (size_t i = 0; i < f->n_hunks; i++)
        if (f->hunks[i].n_old > 0 || f->hunks[i].n_anchors > 0)
            return false;
    return f->n_hunks > 0;
}

static bool names_bom(const struct wbi_patch_file *f)
{
    for (size_t i = 0; i < f->n_hunks; i++)
        for (size_t k = 0; k < f->hunks[i].n_lines; k++)
            if (wbi_str_starts(f->hunks[i].lines[k].text, WBI_LIT("\xef\xbb\xbf")))
                return true;
    return false;
}

/* A mark that the patch names is content like any other; alone it is a line. */
static void take_bom_as_text(struct wbi_patch_text *t)
{
    if (t->n == 0) {
        t->lines[t->n++] = t->data;
        t->final_newline = false;
    } else {
        t->lines[0].p -= t->bom;
        t->lines[0].n += t->bom;
    }
    t->bom = 0;
}

static void diagnose_hunk(struct plan *p, const struct wbi_patch_file *f,
                          const struct wbi_patch_hunk *h, size_t no,
                          const struct wbi_patch_place *at)
{
    if (at->tier == WBI_TIER_TRAILING || at->tier == WBI_TIER_SPACE)
        diagnose(p, "whitespace_tolerant_match", f->path,
                 "hunk %zu matched at line %zu only with white space at line %s ignored", no + 1,
                 at->at + 1, at->tier == WBI_TIER_SPACE ? "starts and ends" : "ends");
    if (at->tier == WBI_TIER_PUNCT)
        diagnose(p, "punctuation_tolerant_match", f->path,
                 "hunk %zu matched at line %zu only with typographic punctuation taken as ASCII",
                 no + 1, at->at + 1);
    if (h->count_mismatch)
        diagnose(p, "hunk_count_mismatch", f->path,
                 "hunk %zu announces %u old and %u new lines but has %zu and %zu", no + 1,
                 h->old_count, h->new_count, h->n_old, h->n_new);
    if (p->patch->form == WBI_PATCH_UNIFIED && !h->has_numbers)
        diagnose(p, "hunk_without_numbers", f->path,
                 "hunk %zu has no line numbers; its context placed it at line %zu", no + 1,
                 at->at + 1);
    else if (p->patch->form == WBI_PATCH_UNIFIED && h->n_old > 0 && h->old_start != at->at + 1)
        diagnose(p, "hunk_moved", f->path, "hunk %zu matched at line %zu instead of %u", no + 1,
                 at->at + 1, h->old_start);
}

/* Empty lines around a hunk of a Codex patch read as its context, and are it where the file has
 * them. Without those at its end (ends & 1) and the bare ones in front (ends & 2), if it has
 * them and something is left to look for, or to add in front of a gap. *ret_meant: one at the
 * end has a marker column, and so is no mere gap. */
static bool drop_empty_context(struct wbi_patch_hunk *h, unsigned ends, bool *ret_meant)
{
    const struct wbi_patch_line *end = h->lines + h->n_lines;
    size_t front = 0, back = 0;

    *ret_meant = false;
    while ((ends & 1) && back < h->n_lines && end[-1].op == ' ' &&
           wbi_str_trim(end[-1].text).n == 0) {
        end--;
        back++;
        *ret_meant = *ret_meant || !end->bare;
    }
    h->n_lines -= back;
    while ((ends & 2) && front < h->n_lines && h->lines[front].bare)
        front++;
    h->lines += front;
    h->n_lines -= front;
    h->n_old -= front + back;
    h->n_new -= front + back;
    return (h->n_old > 0 || (ends == 1 && !*ret_meant && h->n_lines > 0)) &&
           (back > 0) == ((ends & 1) != 0) && (front > 0) == ((ends & 2) != 0);
}

/* Is the place without the empty lines better than what was found with them (rc, with)? */
static bool better_without(wb_rc rc, const struct wbi_patch_place *with,
                           const struct wbi_patch_hunk *less, bool meant,
                           const struct wbi_patch_place *without)
{
    if (rc == WB_ENOTFOUND)
        return true;
    return !meant && less->n_old > 0 && (rc == WB_EINPUT || without->tier < with->tier);
}

static wb_rc find_hunk(struct plan *p, const struct wbi_patch_file *f,
                       const struct wbi_patch_text *text, size_t no, size_t from,
                       struct wbi_patch_place *ret)
{
    struct wbi_patch_hunk *h = &f->hunks[no], less;
    struct wbi_patch_place place;
    struct wbi_patch_fault fault, before = *p->fault;
    struct wbi_error err = WBI_ERROR_INIT;
    bool meant;
    wb_rc rc = wbi_patch_find(text, h, p->patch->form, from, p->arena, p->err, p->fault, ret);

    if (p->patch->form != WBI_PATCH_CODEX || (rc == WB_OK && ret->tier <= WBI_TIER_TEXT) ||
        (rc != WB_OK && rc != WB_ENOTFOUND && rc != WB_EINPUT))
        return rc;
    for (unsigned ends = 1; ends <= 3; ends++) {
        less = *h;
        fault = before;
        if (!drop_empty_context(&less, ends, &meant) ||
            wbi_patch_find(text, &less, WBI_PATCH_CODEX, from, p->arena, &err, &fault, &place) !=
                WB_OK ||
            !better_without(rc, ret, &less, meant, &place))
            continue;
        *h = less;
        *ret = place;
        if (meant)
            diagnose(p, "empty_context_dropped", f->path,
                     "hunk %zu: empty lines at its end are not in the file and were left out",
                     no + 1);
        return WB_OK;
    }
    return rc;
}

/* Hunks that only add lines at the end of the file may stand before others in the patch; they
 * come last in the file. The others are in its order already. */
static wb_rc end_last(struct plan *p, const struct wbi_patch_file *f, size_t end,
                      struct wbi_patch_place *places)
{
    struct wbi_patch_hunk *late = wbi_arena_array(p->arena, f->n_hunks, sizeof(*late));
    struct wbi_patch_place *at = wbi_arena_array(p->arena, f->n_hunks, sizeof(*at));
    size_t n = 0, n_late = 0;

    if (late == NULL || at == NULL)
        return wbi_fail_nomem(p->err);
    for (size_t i = 0; i < f->n_hunks; i++)
        if (places[i].at == end) {
            late[n_late] = f->hunks[i];
            at[n_late++] = places[i];
        } else {
            f->hunks[n] = f->hunks[i];
            places[n++] = places[i];
        }
    memcpy(f->hunks + n, late, n_late * sizeof(*late));
    memcpy(places + n, at, n_late * sizeof(*at));
    return WB_OK;
}

/* True for one that goes to the end of the file whatever stands before it. */
static bool added_at_end(const struct wbi_patch_hunk *h)
{
    return h->n_old == 0 && (h->n_anchors == 0 || h->at_end);
}

/* Places every hunk of f in the entry's present content. */
static wb_rc place_hunks(struct plan *p, const struct wbi_patch_file *f,
                         const struct wbi_patch_text *text, struct wbi_patch_place **ret)
{
    struct wbi_patch_place *places;
    size_t from = 0;
    wb_rc rc = WB_OK;

    places = wbi_arena_array(p->arena, f->n_hunks ? f->n_hunks : 1, sizeof(*places));
    if (places == NULL)
        return wbi_fail_nomem(p->err);
    for (size_t i = 0; i < f->n_hunks && rc == WB_OK; i++) {
        memset(p->fault, 0, sizeof(*p->fault));
        p->fault->path = f->path;
        p->fault->hunk = (uint32_t)(i + 1);
        p->fault->line = f->hunks[i].at_line;
        rc = find_hunk(p, f, text, i, from, &places[i]);
        if (rc == WB_OK) {
            diagnose_hunk(p, f, &f->hunks[i], i, &places[i]);
            if (!added_at_end(&f->hunks[i]))
                from = places[i].at + f->hunks[i].n_old;
        }
    }
    *ret = places;
    if (rc)
        return rc;
    memset(p->fault, 0, sizeof(*p->fault));
    return f->n_hunks > 1 ? end_last(p, f, text->n, places) : WB_OK;
}

/* New content and description of one file of the patch. */
static wb_rc build(struct plan *p, const struct wbi_patch_file *f, struct wbi_str old,
                   struct wbi_str *ret_data)
{
    struct wbi_patch_change *c = &p->res->changes[p->res->n_changes++];
    struct wbi_patch_build b = {.file = f, .form = p->patch->form};
    struct wbi_patch_text text;
    struct wbi_patch_place *places = NULL;
    wb_rc rc = wbi_patch_split(old, p->arena, &text);

    if (rc)
        return wbi_fail_nomem(p->err);
    if (text.bom && names_bom(f))
        take_bom_as_text(&text);
    rc = place_hunks(p, f, &text, &places);
    if (rc)
        return rc;
    b.text = &text;
    b.places = places;
    c->action = f->action;
    c->path = f->path;
    c->from_path = f->from_path;
    c->exec = f->exec;
    rc = wbi_patch_new_content(&b, p->arena, p->err, ret_data);
    if (rc == WB_OK)
        rc = wbi_patch_describe(&b, p->arena, p->err, c);
    p->res->added += c->added;
    p->res->removed += c->removed;
    return rc;
}

static wb_rc fail_file(struct plan *p, const struct wbi_patch_file *f, struct wbi_str path,
                       enum wbi_kind kind, const char *what)
{
    char shown[WBI_PATH_SHOWN];

    p->fault->path = path;
    p->fault->line = f->at_line;
    return wbi_fail_kind(p->err, kind == WBI_KIND_FILE_EXISTS ? WB_EEXISTS : WB_ENOTFOUND, kind,
                         "patch line %u: `%s` %s", f->at_line, wbi_path_show(path, shown), what);
}

static wb_rc plan_add(struct plan *p, const struct wbi_patch_file *f, struct entry *e)
{
    wb_rc rc;

    if (e->exists && e->data.n > 0)
        return fail_file(p, f, f->path, WBI_KIND_FILE_EXISTS,
                         "exists already; update it instead of adding it");
    rc = build(p, f, wbi_str_make("", 0), &e->data);
    e->exists = true;
    e->exec = f->exec;
    return rc;
}

static wb_rc plan_delete(struct plan *p, const struct wbi_patch_file *f, struct entry *e)
{
    struct wbi_str left;
    wb_rc rc;

    if (!e->exists)
        return fail_file(p, f, f->path, WBI_KIND_FILE_NOT_FOUND, "does not exist");
    rc = build(p, f, e->data, &left);
    if (rc == WB_OK && f->n_hunks > 0 && left.n > 0)
        return fail_file(p, f, f->path, WBI_KIND_CONTEXT_NOT_FOUND,
                         "holds more than the patch removes; it is not deleted");
    if (rc == WB_OK && p->patch->form == WBI_PATCH_UNIFIED && f->n_hunks == 0 && e->data.n > 0)
        return fail_file(p, f, f->path, WBI_KIND_CONTEXT_NOT_FOUND,
                         "is not empty but the patch removes no line of it; it is not deleted");
    e->exists = false;
    return rc;
}

static wb_rc plan_modify(struct plan *p, struct wbi_patch_file *f, struct entry *e)
{
    wb_rc rc;

    if (!e->exists && only_adds(f)) {
        diagnose(p, "created_missing_file", f->path,
                 "the file did not exist; the patch only adds lines, so it was created");
        f->action = WBI_PATCH_ADD;
    } else if (!e->exists) {
        return fail_file(p, f, f->path, WBI_KIND_FILE_NOT_FOUND, "does not exist");
    }
    rc = build(p, f, e->exists ? e->data : wbi_str_make("", 0), &e->data);
    e->exists = true;
    if (f->exec >= 0)
        e->exec = f->exec;
    return rc;
}

static wb_rc plan_move(struct plan *p, struct wbi_patch_file *f)
{
    size_t from, to;
    bool again_from, again_to;
    struct entry *a, *b;
    wb_rc rc;

    p->fault->path = f->from_path;
    rc = enter(p, f->from_path, 0, &from, &again_from);
    if (rc)
        return rc;
    p->fault->path = f->path;
    rc = enter(p, f->path, FRESH, &to, &again_to);
    if (rc)
        return rc;
    a = &p->entries[from];
    b = &p->entries[to];
    if (a == b) { /* moved onto itself: a change in place */
        f->action = WBI_PATCH_MODIFY;
        f->from_path = WBI_NONE;
        return again_from ? refuse(p, f, "duplicate_path", "the path is named twice")
                          : plan_modify(p, f, a);
    }
    if (again_from || again_to)
        return refuse(p, f, "duplicate_path", "a moved path is named elsewhere in the patch");
    if (!a->exists)
        return fail_file(p, f, f->from_path, WBI_KIND_FILE_NOT_FOUND, "does not exist");
    if (b->exists)
        return fail_file(p, f, f->path, WBI_KIND_FILE_EXISTS, "exists already; it is not replaced");
    rc = build(p, f, a->data, &b->data);
    b->exec = f->exec >= 0 ? f->exec : a->was_exec ? 1 : -1;
    b->exists = true;
    a->exists = false;
    a->last = b->last = WBI_PATCH_MOVE;
    return rc;
}

/* Deleted and added in one patch: the file stays and has another content. */
static void make_replacement(struct plan *p, const struct entry *e)
{
    struct wbi_patch_change *added = &p->res->changes[p->res->n_changes - 1];

    p->res->changes[e->change].action = WBI_PATCH_MODIFY;
    added->action = WBI_PATCH_MODIFY;
    added->again = true;
}

static wb_rc plan_file(struct plan *p, struct wbi_patch_file *f)
{
    size_t at;
    bool again, replaces;
    struct entry *e;
    wb_rc rc;

    p->fault->path = f->path;
    p->fault->line = f->at_line;
    if (f->action == WBI_PATCH_MOVE)
        return plan_move(p, f);
    /* Text may be changed through a link; a name that comes or goes is the link's own. */
    rc = enter(p, f->path,
               f->action == WBI_PATCH_MODIFY ? WBI_PATCH_THROUGH_LINK
               : f->action == WBI_PATCH_ADD  ? FRESH
                                             : 0,
               &at, &again);
    if (rc)
        return rc;
    e = &p->entries[at];
    replaces = again && p->patch->form == WBI_PATCH_CODEX && e->last == WBI_PATCH_DELETE &&
               f->action == WBI_PATCH_ADD;
    if (again && !replaces && !(e->last == WBI_PATCH_MODIFY && f->action == WBI_PATCH_MODIFY))
        return refuse(p, f, "duplicate_path",
                      "the path is named twice with different fates; only several updates of one "
                      "file, or deleting and then adding it, are accepted");
    e->last = f->action;
    if (f->action == WBI_PATCH_ADD)
        rc = plan_add(p, f, e);
    else if (f->action == WBI_PATCH_DELETE)
        rc = plan_delete(p, f, e);
    else
        rc = plan_modify(p, f, e);
    if (rc)
        return rc;
    if (replaces)
        make_replacement(p, e);
    if (e->last == WBI_PATCH_MODIFY)
        p->res->changes[p->res->n_changes - 1].again = again;
    e->change = p->res->n_changes - 1;
    return WB_OK;
}

static wb_rc fail_conflict(struct plan *p, const struct entry *e, const char *what)
{
    p->fault->rule = "path_conflict";
    p->fault->path = e->path;
    return wbi_fail_kind(p->err, WB_EINPUT, WBI_KIND_INVALID_PATCH, "%s (rule path_conflict)",
                         what);
}

/* A file that becomes a folder is taken away, and a folder that becomes a file loses all. */
static wb_rc check_change_of_kind(struct plan *p, const struct entry *e)
{
    struct wbi_str *files;
    size_t n = 0;
    bool free = !e->under;

    if (!e->under && !e->folder)
        return WB_OK;
    files = wbi_arena_array(p->arena, p->n, sizeof(*files));
    if (files == NULL)
        return wbi_fail_nomem(p->err);
    for (size_t i = 0; i < p->n; i++) {
        const struct entry *other = &p->entries[i];

        if (!other->existed || other->exists)
            continue;
        files[n++] = other->real;
        free = free || wbi_patch_beneath(e->real, other->real);
    }
    if (!free)
        return fail_conflict(p, e, "a file has the name of a folder of an added one");
    p->fault->path = e->path;
    return e->folder ? p->fs->holds_only(p->fs->arg, e->real, files, n, p->err) : WB_OK;
}

/* A file cannot be the folder of another one. */
static wb_rc check_nesting(struct plan *p)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->n; k++)
            if (p->entries[i].exists && p->entries[k].exists &&
                wbi_patch_beneath(p->entries[k].real, p->entries[i].real))
                return fail_conflict(p, &p->entries[k],
                                     "the patch makes one path both a file and a folder");
    for (size_t i = 0; i < p->n && rc == WB_OK; i++)
        if (p->entries[i].exists)
            rc = check_change_of_kind(p, &p->entries[i]);
    return rc;
}

static wb_rc commit(struct plan *p)
{
    struct wbi_patch_op *ops = wbi_arena_array(p->arena, p->n ? p->n : 1, sizeof(*ops));
    size_t n = 0;

    if (ops == NULL)
        return wbi_fail_nomem(p->err);
    for (int removing = 0; removing < 2; removing++) /* what is new comes first */
        for (size_t i = 0; i < p->n; i++) {
            const struct entry *e = &p->entries[i];

            if (e->exists == (removing == 1) || (!e->exists && !e->existed))
                continue;
            if (e->exists && e->existed && wbi_str_eq(e->old, e->data) &&
                (e->exec < 0 || e->exec == e->was_exec))
                continue;
            ops[n].kind = !e->exists   ? WBI_PATCH_OP_REMOVE
                          : e->existed ? WBI_PATCH_OP_REPLACE
                                       : WBI_PATCH_OP_CREATE;
            ops[n].real = e->real;
            ops[n].data = e->data;
            ops[n].old = e->old;
            ops[n].exec = e->exec;
            n++;
        }
    return p->fs->commit(p->fs->arg, ops, n, p->arena, p->err);
}

wb_rc wbi_patch_apply(struct wbi_str text, const struct wbi_patch_fs *fs, unsigned flags,
                      struct wbi_arena *arena, struct wbi_error *err, struct wbi_patch_fault *fault,
                      struct wbi_patch_result *ret)
{
    struct wbi_patch patch;
    struct wbi_patch_result res = {0};
    struct plan p = {
        .fs = fs, .arena = arena, .err = err, .fault = fault, .patch = &patch, .res = &res};
    wb_rc rc = wbi_patch_parse(text, arena, err, fault, &patch);

    if (rc)
        return rc;
    res.form = patch.form;
    res.changes = wbi_arena_array(arena, patch.n_files, sizeof(*res.changes));
    if (res.changes == NULL)
        return wbi_fail_nomem(err);
    if (wbi_str_find(text, WBI_LIT("\xef\xbf\xbd")) < text.n)
        diagnose(&p, "replacement_character_in_input", WBI_NONE,
                 "the patch holds U+FFFD; some of its text may have been lost on the way");
    if (patch.indented)
        diagnose(&p, "indented_patch", WBI_NONE,
                 "every line of the patch was indented; the indentation was taken off");
    for (size_t i = 0; i < patch.n_files && rc == WB_OK; i++)
        rc = plan_file(&p, &patch.files[i]);
    if (rc == WB_OK)
        rc = check_nesting(&p);
    if (rc)
        return rc;
    memset(fault, 0, sizeof(*fault));
    if (!(flags & WBI_PATCH_CHECK))
        rc = commit(&p);
    if (rc == WB_OK)
        *ret = res;
    return rc;
}
