/* SPDX-License-Identifier: Apache-2.0
 * family/file/walk.c: an explicit stack of directories. Each holds the next
 * names of its directory in order, at most WBI_LIMIT_LIST_BATCH of them; when
 * they are used up and there were more, the directory is read again from the
 * last name on. */
#include "family/file/walk.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/checked.h"
#include "base/fd.h"

struct name {
    const char *p; /* after the type byte; NUL-terminated */
    uint32_t n;
    unsigned char type;
};

struct frame {
    int fd;
    size_t path_n;        /* of the directory's path in walk.path, its slash included */
    struct wbi_buf text;  /* names, each with its NUL */
    struct wbi_buf names; /* of struct name */
    size_t at;
    bool more;
    struct wbi_ignore ignore;
};

/* Rules of a directory that the walk began beneath. */
struct above {
    struct wbi_ignore ignore;
    size_t path_n; /* as in struct frame */
};

struct wbi_walk {
    struct wbi_walk_options opt;
    struct above *above; /* outermost first */
    size_t n_above;
    struct frame frames[WBI_LIMIT_WALK_DEPTH];
    unsigned n, unreadable, too_deep;
    struct wbi_error err; /* why the walk ends, where that is not memory */
    bool descend;         /* the last entry was a directory to enter */
    struct wbi_buf path;  /* from the root; entries give what is behind base_n */
    size_t base_n;
    struct wbi_str after; /* what is left of the path to take up behind */
    char *after_copy;
    struct wbi_listing dir;
    char entered[256];
};

static int cmp_name(const void *a, const void *b)
{
    const struct name *x = a, *y = b;

    return strcmp(x->p, y->p);
}

/* ---- reading one directory ---- */

/* Adds the rules of the open file; takes fd over. Rules that are too many are
 * left out and counted: more is shown, nothing breaks. */
static wb_rc add_rules(struct wbi_walk *w, struct wbi_ignore *ig, int fd, const struct stat *st)
{
    struct wbi_buf text;
    wb_rc rc = WB_OK;
    ssize_t got = 0;
    char *room;

    wbi_buf_init(&text, WBI_LIMIT_IGNORE_FILE);
    room = st->st_size > 0 ? wbi_buf_room(&text, (size_t)st->st_size) : NULL;
    if (room != NULL)
        got = wbi_path_read(fd, room, (size_t)st->st_size);
    rc = wbi_buf_rc(&text);
    if (got > 0)
        rc = wbi_ignore_add(ig, wbi_str_make(room, (size_t)got));
    wbi_buf_fini(&text);
    close(fd);
    if (rc == WB_OK || rc == WB_ENOMEM)
        return rc;
    w->unreadable++;
    return WB_OK;
}

wb_rc wbi_walk_not_opened(struct wbi_str path, int errno_value, struct wbi_error *err)
{
    char shown[WBI_PATH_SHOWN];

    if (!wbi_errno_is_shortage(errno_value))
        return WB_OK;
    return wbi_fail(err, WB_EIO, "opening `%s`: %s", wbi_path_show(path, shown),
                    strerrordesc_np(errno_value));
}

/* The same where w->err says why already. */
static wb_rc not_opened(struct wbi_walk *w, wb_rc rc)
{
    if (rc == WB_EIO || rc == WB_ENOMEM)
        return rc;
    wbi_error_clear(&w->err);
    return WB_OK;
}

/* Why the walk cannot go on. */
static wb_rc ended(const struct wbi_walk *w, struct wbi_error *err)
{
    if (w->err.rc == WB_OK || w->err.rc == WB_ENOMEM)
        return wbi_fail_nomem(err);
    if (err != NULL)
        *err = w->err;
    return w->err.rc;
}

/* The rules of one directory. */
static wb_rc read_ignore(struct wbi_walk *w, struct wbi_ignore *ig, int dir_fd)
{
    static const char *const names[] = {".gitignore", ".ignore"};
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < WBI_COUNT(names) && rc == WB_OK; i++) {
        struct stat st;
        int fd = wbi_path_open_child_file(dir_fd, names[i], &st);

        rc = fd >= 0 ? add_rules(w, ig, fd, &st)
                     : wbi_walk_not_opened(wbi_str_z(names[i]), errno, &w->err);
    }
    return rc;
}

/* ---- what holds from above ---- */

static struct above *new_above(struct wbi_walk *w, size_t path_n)
{
    struct above *a = &w->above[w->n_above++];

    wbi_ignore_init(&a->ignore);
    a->path_n = path_n;
    return a;
}

static wb_rc read_exclude(struct wbi_walk *w, struct wbi_root *root)
{
    struct stat st;
    int fd;
    wb_rc rc = wbi_path_open_read(root, WBI_LIT(".git/info/exclude"), &w->err, &fd, &st);

    if (rc != WB_OK)
        return not_opened(w, rc); /* no repository here */
    return add_rules(w, &new_above(w, 0)->ignore, fd, &st);
}

/* The rules of the directories between the root and where the walk begins, whose
 * path with its slash is in w->path. */
static wb_rc read_above(struct wbi_walk *w, struct wbi_root *root)
{
    struct wbi_str base = wbi_buf_str(&w->path);
    size_t levels = 1, at = 0;
    wb_rc rc;

    for (size_t i = 0; i < base.n; i++)
        levels += base.p[i] == '/';
    w->above = wbi_zalloc(levels * sizeof(*w->above));
    rc = w->above != NULL ? read_exclude(w, root) : WB_ENOMEM;
    while (rc == WB_OK && at < base.n) {
        struct wbi_str dir = at ? wbi_str_head(base, at - 1) : WBI_LIT(".");
        int fd;

        rc = wbi_path_open_dir(root, dir, &w->err, &fd);
        if (rc == WB_OK) {
            rc = read_ignore(w, &new_above(w, at)->ignore, fd);
            close(fd);
        } else {
            rc = not_opened(w, rc);
        }
        at += wbi_str_index(wbi_str_from(base, at), '/') + 1;
    }
    return rc;
}

/* Sorts what was gathered and keeps the first batch. */
static void keep_first(struct frame *f)
{
    size_t n = f->names.n / sizeof(struct name);

    if (n > 1)
        qsort(f->names.p, n, sizeof(struct name), cmp_name);
    if (n > WBI_LIMIT_LIST_BATCH) {
        f->names.n = WBI_LIMIT_LIST_BATCH * sizeof(struct name);
        f->more = true;
    }
}

/* Names are gathered as offsets first, since the text may move. */
static void fix_pointers(struct frame *f)
{
    struct name *names = (void *)f->names.p;
    size_t n = f->names.n / sizeof(*names), at = 0;

    for (size_t i = 0; i < n; i++) {
        names[i].p = f->text.p + at;
        at += names[i].n + 1;
    }
}

/* Moves the kept names' text together, so that memory stays bounded. */
static wb_rc compact(struct frame *f)
{
    struct wbi_buf text;
    struct name *names = (void *)f->names.p;
    size_t n = f->names.n / sizeof(*names);

    wbi_buf_init(&text, f->text.max);
    for (size_t i = 0; i < n; i++)
        wbi_buf_add(&text, names[i].p, names[i].n + 1);
    if (wbi_buf_rc(&text) != WB_OK) {
        wbi_buf_fini(&text);
        return WB_ENOMEM;
    }
    wbi_buf_fini(&f->text);
    f->text = text;
    fix_pointers(f);
    return WB_OK;
}

/* The next batch of names behind `last` ("" for the first). */
static wb_rc load(struct wbi_walk *w, struct frame *f, const char *last)
{
    struct wbi_listing_entry e;

    f->at = 0;
    f->more = false;
    wbi_buf_clear(&f->text);
    wbi_buf_clear(&f->names);
    if (lseek(f->fd, 0, SEEK_SET) < 0) {
        w->unreadable++;
        return WB_OK;
    }
    wbi_listing_init(&w->dir, f->fd);
    while (wbi_listing_next(&w->dir, &e)) {
        struct name name = {.n = (uint32_t)e.name.n, .type = e.type};

        if (strcmp(e.name.p, last) <= 0)
            continue;
        wbi_buf_add(&f->text, e.name.p, e.name.n + 1);
        wbi_buf_add(&f->names, &name, sizeof(name));
        if (wbi_buf_rc(&f->text) != WB_OK || wbi_buf_rc(&f->names) != WB_OK)
            return WB_ENOMEM;
        if (f->names.n / sizeof(name) == 2 * (size_t)WBI_LIMIT_LIST_BATCH) {
            fix_pointers(f);
            keep_first(f);
            if (compact(f) != WB_OK)
                return WB_ENOMEM;
        }
    }
    if (w->dir.failed)
        w->unreadable++;
    fix_pointers(f);
    keep_first(f);
    return WB_OK;
}

/* ---- the stack ---- */

static void pop(struct wbi_walk *w)
{
    struct frame *f = &w->frames[--w->n];

    close(f->fd);
    wbi_buf_fini(&f->text);
    wbi_buf_fini(&f->names);
    wbi_ignore_fini(&f->ignore);
}

/* Takes fd over. */
static wb_rc push(struct wbi_walk *w, int fd)
{
    struct frame *f = &w->frames[w->n++];
    struct wbi_str head;
    char first[256] = "";
    size_t n;
    wb_rc rc;

    memset(f, 0, sizeof(*f));
    f->fd = fd;
    f->path_n = w->path.n;
    wbi_buf_init(&f->text, (size_t)WBI_LIMIT_LIST_BATCH * 2 * 257);
    wbi_buf_init(&f->names, (size_t)WBI_LIMIT_LIST_BATCH * 2 * sizeof(struct name) + 64);
    wbi_ignore_init(&f->ignore);
    rc = w->opt.no_ignore ? WB_OK : read_ignore(w, &f->ignore, fd);
    if (rc != WB_OK)
        return rc;
    if (w->after.n == 0)
        return load(w, f, "");
    /* Taking up: the batch begins with the first component of `after`, which is
     * entered again (its own entry has been seen). */
    n = wbi_str_index(w->after, '/');
    head = wbi_str_head(w->after, n);
    w->after = wbi_str_from(w->after, n + 1);
    if (head.n >= sizeof(first))
        return load(w, f, "");
    memcpy(first, head.p, head.n);
    memcpy(w->entered, first, sizeof(first));
    return load(w, f, first);
}

/* The innermost rules that say anything decide. */
static bool is_ignored(const struct wbi_walk *w, struct wbi_str path, bool is_dir)
{
    enum wbi_ignore_verdict v = WBI_IGNORE_NONE;

    for (unsigned i = w->n; v == WBI_IGNORE_NONE && i-- > 0;)
        v = wbi_ignore_match(&w->frames[i].ignore, wbi_str_from(path, w->frames[i].path_n), is_dir);
    for (size_t i = w->n_above; v == WBI_IGNORE_NONE && i-- > 0;)
        v = wbi_ignore_match(&w->above[i].ignore, wbi_str_from(path, w->above[i].path_n), is_dir);
    return v == WBI_IGNORE_YES;
}

static bool is_skipped(const struct wbi_walk *w, const struct name *name, struct wbi_str path)
{
    if (!w->opt.no_ignore && strcmp(name->p, ".git") == 0)
        return true;
    if (name->p[0] == '.' && !w->opt.hidden)
        return true;
    return !w->opt.no_ignore && is_ignored(w, path, name->type == DT_DIR);
}

static unsigned depth_cap(const struct wbi_walk *w)
{
    return w->opt.max_depth && w->opt.max_depth < WBI_LIMIT_WALK_DEPTH ? w->opt.max_depth
                                                                       : WBI_LIMIT_WALK_DEPTH;
}

/* Enters the directory whose path is in w->path. */
static wb_rc enter(struct wbi_walk *w, const char *name)
{
    int fd;

    if (w->n >= depth_cap(w)) {
        w->too_deep += w->n >= WBI_LIMIT_WALK_DEPTH;
        return WB_OK;
    }
    fd = wbi_path_open_child_dir(w->frames[w->n - 1].fd, name);
    if (fd < 0) {
        w->unreadable++;
        return wbi_walk_not_opened(wbi_str_z(name), errno, &w->err);
    }
    wbi_buf_addc(&w->path, '/');
    if (wbi_buf_rc(&w->path) != WB_OK) {
        close(fd);
        return wbi_buf_rc(&w->path) == WB_ENOMEM ? WB_ENOMEM : WB_OK;
    }
    return push(w, fd);
}

/* Goes down along the path that the walk is taken up behind. */
static wb_rc take_up(struct wbi_walk *w)
{
    wb_rc rc = WB_OK;

    while (rc == WB_OK && w->entered[0] != '\0') {
        char name[256];
        unsigned before = w->n;

        memcpy(name, w->entered, sizeof(name));
        w->entered[0] = '\0';
        w->path.n = w->frames[w->n - 1].path_n;
        wbi_buf_addz(&w->path, name);
        rc = enter(w, name);
        if (w->n == before)
            w->after = WBI_NONE;
    }
    if (w->after_copy != NULL)
        w->unreadable = 0; /* those were told with the pages before */
    return rc;
}

/* w->path: where the walk begins, with a slash; "" for the root. */
static wb_rc begin_path(struct wbi_walk *w, struct wbi_root *root, struct wbi_str dir)
{
    struct wbi_arena *arena;
    struct wbi_str real;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);

    if (rc != WB_OK)
        return rc;
    rc = wbi_path_real(root, dir.n > 0 ? dir : WBI_LIT("."), arena, NULL, &real);
    if (rc == WB_OK && !wbi_str_eqz(real, ".")) {
        wbi_buf_adds(&w->path, real);
        wbi_buf_addc(&w->path, '/');
    }
    wbi_arena_free(arena);
    w->base_n = w->path.n;
    /* moved away since it was opened: then nothing above it counts */
    return rc == WB_ENOMEM ? rc : wbi_buf_rc(&w->path);
}

wb_rc wbi_walk_begin(struct wbi_root *root, struct wbi_str dir,
                     const struct wbi_walk_options *options, struct wbi_str after,
                     struct wbi_error *err, struct wbi_walk **ret)
{
    struct wbi_walk *w;
    int fd;
    wb_rc rc = wbi_path_open_dir(root, dir, err, &fd);

    if (rc)
        return rc;
    w = wbi_zalloc(sizeof(*w));
    if (w == NULL) {
        close(fd);
        return wbi_fail_nomem(err);
    }
    w->opt = *options;
    wbi_buf_init(&w->path, (size_t)WBI_LIMIT_WALK_DEPTH * 257 + WBI_LIMIT_PATH);
    if (after.n > 0) {
        w->after_copy = wbi_strdup(after);
        w->after = wbi_str_make(w->after_copy, w->after_copy ? after.n : 0);
    }
    rc = after.n > 0 && w->after_copy == NULL ? WB_ENOMEM : begin_path(w, root, dir);
    if (rc == WB_OK && !w->opt.no_ignore)
        rc = read_above(w, root);
    if (rc == WB_OK)
        rc = push(w, fd);
    else
        close(fd);
    if (rc == WB_OK)
        rc = take_up(w);
    if (rc) {
        rc = ended(w, err);
        wbi_walk_end(w);
        return rc;
    }
    *ret = w;
    return WB_OK;
}

/* Steps to the next name of the innermost directory; false when it is done. */
static wb_rc next_name(struct wbi_walk *w, struct frame *f, const struct name **ret)
{
    const struct name *names = (const void *)f->names.p;
    size_t n = f->names.n / sizeof(*names);
    char last[256];
    wb_rc rc = WB_OK;

    *ret = NULL;
    if (f->at >= n && f->more && n > 0) {
        memcpy(last, names[n - 1].p, names[n - 1].n + 1);
        rc = load(w, f, last);
        names = (const void *)f->names.p;
        n = f->names.n / sizeof(*names);
    }
    if (rc == WB_OK && f->at < n)
        *ret = &names[f->at++];
    return rc;
}

wb_rc wbi_walk_next(struct wbi_walk *w, struct wbi_error *err, struct wbi_walk_entry *ret,
                    bool *ret_more)
{
    *ret_more = false;
    if (w->descend) {
        w->descend = false;
        if (enter(w, w->entered) != WB_OK)
            return ended(w, err);
        w->entered[0] = '\0';
    }
    while (w->n > 0) {
        struct frame *f = &w->frames[w->n - 1];
        const struct name *name;
        struct wbi_str path;

        if (next_name(w, f, &name) != WB_OK)
            return wbi_fail_nomem(err);
        if (name == NULL) {
            pop(w);
            continue;
        }
        w->path.n = f->path_n;
        wbi_buf_add(&w->path, name->p, name->n + 1);
        if (wbi_buf_rc(&w->path) != WB_OK)
            return wbi_fail_nomem(err);
        w->path.n--;
        path = wbi_buf_str(&w->path);
        if (is_skipped(w, name, path))
            continue;
        if (name->type == DT_DIR) {
            w->descend = true;
            memcpy(w->entered, name->p, name->n + 1);
        }
        *ret = (struct wbi_walk_entry){.path = wbi_str_from(path, w->base_n),
                                       .name = name->p,
                                       .type = name->type,
                                       .depth = w->n,
                                       .dir_fd = f->fd};
        *ret_more = true;
        return WB_OK;
    }
    return WB_OK;
}

unsigned wbi_walk_unreadable(const struct wbi_walk *w)
{
    return w->unreadable;
}

unsigned wbi_walk_too_deep(const struct wbi_walk *w)
{
    return w->too_deep;
}

void wbi_walk_end(struct wbi_walk *w)
{
    if (w == NULL)
        return;
    while (w->n > 0)
        pop(w);
    while (w->n_above > 0)
        wbi_ignore_fini(&w->above[--w->n_above].ignore);
    wbi_free(w->above);
    wbi_buf_fini(&w->path);
    wbi_free(w->after_copy);
    wbi_free(w);
}
