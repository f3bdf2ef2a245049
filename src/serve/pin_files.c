/* SPDX-License-Identifier: Apache-2.0
 * serve/pin_files.c: DIR/<SHA-256 of the server's name, or of "WORKSPACE\nNAME">.json holds
 * {"server": …, "workspace": …, "pins": {tool: pin}}. */
#include "serve/pin_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "config/config.h"
#include "json/write.h"
#include "serve/token.h"

#define BUCKETS 4096u

struct pin {
    struct pin *next, *next_alike; /* in the order of the file; in its bucket */
    struct wbi_str tool;
    const wbi_json *kept; /* as it was read; NULL: not yet there */
    struct wbi_str text;  /* put since; absent: none */
};

struct wbi_pin_sheet {
    const struct wbi_pin_files *files;
    struct wbi_arena *arena;
    struct wbi_str server, workspace;
    struct wbi_pin_stamp stamp;
    struct pin *pins, **end, *buckets[BUCKETS];
    size_t puts;
    bool to_write, dirty;
    int lock; /* -1: none could be had; then writing fails, too */
};

wb_rc wbi_pin_files_open(struct wbi_arena *arena, const struct wbi_runtime *rt,
                         struct wbi_pin_files *ret, struct wbi_error *err)
{
    *ret = (struct wbi_pin_files){.rt = rt};
    if (rt->places.user_state.p == NULL)
        return WB_OK;
    ret->dir = wbi_arena_fmt(arena, "%.*s/pins", WBI_FMT(rt->places.user_state));
    return ret->dir.p != NULL ? WB_OK : wbi_fail_nomem(err);
}

struct wbi_str wbi_pin_files_workspace(const struct wbi_pin_files *f, struct wbi_str server)
{
    const struct wbi_config_server *servers;
    size_t n = f->rt->made_of != NULL ? wbi_config_servers(f->rt->made_of, &servers) : 0;

    for (size_t i = 0; i < n; i++)
        if (wbi_str_eq(servers[i].name, server) && servers[i].workspace)
            return f->rt->places.root;
    return WBI_NONE;
}

static wb_rc hash_name(struct wbi_str server, struct wbi_str workspace, char hex[WBI_SHA256_HEX])
{
    uint8_t sum[WBI_SHA256_SIZE];
    struct wbi_buf key;
    wb_rc rc;

    wbi_buf_init(&key, WBI_LIMIT_JSON_TEXT);
    if (workspace.p != NULL) {
        wbi_buf_adds(&key, workspace);
        wbi_buf_addc(&key, '\n'); /* no name of a server has one */
    }
    wbi_buf_adds(&key, server);
    rc = wbi_buf_rc(&key);
    if (rc == WB_OK)
        rc = wbi_sha256(key.p, key.n, sum);
    if (rc == WB_OK)
        wbi_hex(sum, sizeof(sum), hex);
    wbi_buf_fini(&key);
    return rc;
}

static wb_rc path_of(const struct wbi_pin_files *f, struct wbi_str server, struct wbi_str workspace,
                     const char *tail, char path[WBI_LIMIT_PATH + 1], struct wbi_error *err)
{
    char hex[WBI_SHA256_HEX];
    wb_rc rc = hash_name(server, workspace, hex);

    if (f->dir.p == NULL)
        return wbi_fail(err, WB_ESTATE, "there is no folder for pins: HOME is not set");
    if (rc != WB_OK)
        return wbi_fail(err, rc, "cannot hash the name of a pin");
    if ((size_t)snprintf(path, WBI_LIMIT_PATH + 1, "%.*s/%s%s", WBI_FMT(f->dir), hex, tail) >
        WBI_LIMIT_PATH)
        return wbi_fail(err, WB_ELIMIT, "the path of the user's state folder is too long");
    return WB_OK;
}

/* ---- reading ---- */

static wb_rc read_whole(int fd, struct wbi_arena *arena, struct wbi_str *ret, struct wbi_error *err)
{
    struct wbi_buf b;

    wbi_buf_init_arena(&b, arena, WBI_LIMIT_JSON_TEXT);
    for (;;) {
        char *room = wbi_buf_room(&b, 4096);
        ssize_t n = room != NULL ? read(fd, room, 4096) : -1;

        if (room == NULL)
            return wbi_fail(err, wbi_buf_rc(&b), "pins are too large");
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return wbi_fail_errno(err, errno, "cannot read pins");
        if (n == 0)
            break;
        b.n += (size_t)n;
    }
    *ret = wbi_buf_str(&b);
    return WB_OK;
}

static struct wbi_pin_stamp stamp_of(const struct stat *st)
{
    return (struct wbi_pin_stamp){
        st->st_ino, (int64_t)st->st_mtim.tv_sec * WBI_NS_PER_S + st->st_mtim.tv_nsec, st->st_size};
}

/* WB_ENOTFOUND, without a text, when there is no such file. stamp may be NULL. */
static wb_rc read_file(const char *path, struct wbi_arena *arena, const wbi_json **ret,
                       struct wbi_pin_stamp *stamp, struct wbi_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct wbi_str text;
    struct stat st;
    wb_rc rc;

    if (fd < 0 && errno == ENOENT)
        return WB_ENOTFOUND;
    if (fd < 0)
        return wbi_fail_errno(err, errno, "cannot open pins");
    if (stamp != NULL && fstat(fd, &st) == 0)
        *stamp = stamp_of(&st);
    rc = read_whole(fd, arena, &text, err);
    close(fd);
    return rc == WB_OK ? wbi_json_read(arena, text, WBI_JSON_STRICT, ret, err) : rc;
}

struct wbi_pin_stamp wbi_pin_files_stamp(const struct wbi_pin_files *f, struct wbi_str server)
{
    char path[WBI_LIMIT_PATH + 1];
    struct stat st;

    if (path_of(f, server, wbi_pin_files_workspace(f, server), ".json", path, NULL) != WB_OK ||
        lstat(path, &st) != 0)
        return (struct wbi_pin_stamp){0};
    return stamp_of(&st);
}

/* ---- one server's pins ---- */

static struct pin **bucket_of(struct wbi_pin_sheet *s, struct wbi_str tool)
{
    return &s->buckets[wbi_hash64(tool.p, tool.n, 0) % BUCKETS];
}

static struct pin *find(struct wbi_pin_sheet *s, struct wbi_str tool)
{
    struct pin *p = *bucket_of(s, tool);

    while (p != NULL && !wbi_str_eq(p->tool, tool))
        p = p->next_alike;
    return p;
}

static struct pin *add(struct wbi_pin_sheet *s, struct wbi_str tool, const wbi_json *kept)
{
    struct pin *p = wbi_arena_zalloc(s->arena, sizeof(*p));
    struct pin **like = bucket_of(s, tool);

    if (p == NULL)
        return NULL;
    p->tool = wbi_arena_str(s->arena, tool);
    if (p->tool.p == NULL)
        return NULL;
    p->kept = kept;
    p->next_alike = *like;
    *like = p;
    *s->end = p;
    s->end = &p->next;
    return p;
}

/* "server/tool" without the server. */
static struct wbi_str tool_of(const struct wbi_pin_sheet *s, struct wbi_str key)
{
    return wbi_str_from(key, s->server.n + 1);
}

static wb_rc get(void *arg, struct wbi_str key, struct wbi_arena *arena, struct wbi_str *ret,
                 struct wbi_error *err)
{
    struct wbi_buf b;
    const struct pin *p = find(arg, tool_of(arg, key));

    if (p == NULL)
        return WB_ENOTFOUND;
    *ret = p->text;
    if (p->text.p != NULL)
        return WB_OK;
    wbi_buf_init_arena(&b, arena, WBI_LIMIT_JSON_TEXT);
    wbi_json_write(&b, p->kept);
    *ret = wbi_buf_str(&b);
    return wbi_buf_rc(&b) == WB_OK ? WB_OK : wbi_fail_nomem(err);
}

static wb_rc put(void *arg, struct wbi_str key, struct wbi_str value, struct wbi_error *err)
{
    struct wbi_pin_sheet *s = arg;
    struct pin *p = find(s, tool_of(s, key));

    if (s->files->dir.p == NULL)
        return wbi_fail(err, WB_ESTATE, "there is no folder for pins: HOME is not set");
    if (p == NULL)
        p = add(s, tool_of(s, key), NULL);
    if (p == NULL)
        return wbi_fail_nomem(err);
    p->text = wbi_arena_str(s->arena, value);
    s->dirty = true;
    s->puts++;
    return p->text.p != NULL ? WB_OK : wbi_fail_nomem(err);
}

struct wbi_pin_store wbi_pin_sheet_store(struct wbi_pin_sheet *sheet)
{
    return (struct wbi_pin_store){get, put, sheet};
}

size_t wbi_pin_sheet_puts(const struct wbi_pin_sheet *sheet)
{
    return sheet->puts;
}

static wb_rc load(struct wbi_pin_sheet *s, struct wbi_error *err)
{
    char path[WBI_LIMIT_PATH + 1];
    const wbi_json *v = NULL;
    wb_rc rc = path_of(s->files, s->server, s->workspace, ".json", path, err);

    if (rc == WB_OK)
        rc = read_file(path, s->arena, &v, &s->stamp, err);
    if (rc != WB_OK && rc != WB_ENOTFOUND)
        return rc;
    WBI_JSON_EACH_MEMBER (wbi_json_get(v, "pins"), k) {
        if (add(s, wbi_json_str(k), k_val) == NULL)
            return wbi_fail_nomem(err);
    }
    return WB_OK;
}

/* Waits for whoever writes; that takes the time of one check at most. */
static int take_lock(const struct wbi_pin_files *f)
{
    char path[WBI_LIMIT_PATH + 1];
    int fd;

    if (f->dir.p == NULL ||
        (size_t)snprintf(path, sizeof(path), "%.*s/.lock", WBI_FMT(f->dir)) >= sizeof(path))
        return -1;
    wbi_make_parents(path);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    while (fd >= 0 && flock(fd, LOCK_EX) != 0) {
        if (errno == EINTR)
            continue;
        close(fd);
        return -1;
    }
    return fd;
}

static void free_sheet(struct wbi_pin_sheet *s)
{
    if (s->lock >= 0)
        close(s->lock); /* and so unlocked */
    wbi_free(s);
}

wb_rc wbi_pin_sheet_open(const struct wbi_pin_files *files, struct wbi_arena *arena,
                         struct wbi_str server, bool to_write, struct wbi_pin_sheet **ret,
                         struct wbi_error *err)
{
    struct wbi_pin_sheet *s = wbi_zalloc(sizeof(*s));
    wb_rc rc = WB_OK;

    if (s == NULL)
        return wbi_fail_nomem(err);
    s->files = files;
    s->arena = arena;
    s->server = server;
    s->workspace = wbi_pin_files_workspace(files, server);
    s->end = &s->pins;
    s->to_write = to_write;
    s->lock = to_write ? take_lock(files) : -1;
    if (files->dir.p != NULL)
        rc = load(s, err);
    if (rc != WB_OK) {
        free_sheet(s);
        return rc;
    }
    *ret = s;
    return WB_OK;
}

/* ---- writing ---- */

static wb_rc write_pins(const struct wbi_pin_sheet *s, struct wbi_buf *out, struct wbi_error *err)
{
    struct wbi_jw w = wbi_jw_to(out);

    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "server", s->server);
    if (s->workspace.p != NULL)
        wbi_jw_kstr(&w, "workspace", s->workspace);
    wbi_jw_key(&w, "pins");
    wbi_jw_obj(&w);
    for (const struct pin *p = s->pins; p != NULL; p = p->next) {
        wbi_jw_keyn(&w, p->tool);
        if (p->text.p != NULL)
            wbi_jw_raw(&w, p->text);
        else
            wbi_jw_val(&w, p->kept);
    }
    wbi_jw_obj_end(&w);
    wbi_jw_obj_end(&w);
    return wbi_buf_rc(out) == WB_OK ? WB_OK : wbi_fail(err, wbi_buf_rc(out), "pins are too large");
}

static wb_rc replace(struct wbi_pin_sheet *s, struct wbi_str text, struct wbi_error *err)
{
    char path[WBI_LIMIT_PATH + 1], temp[WBI_LIMIT_PATH + 1], tail[32];
    wb_rc rc = path_of(s->files, s->server, s->workspace, ".json", path, err);
    struct stat st;
    bool ok;
    int fd;

    (void)snprintf(tail, sizeof(tail), ".%ld.tmp", (long)getpid());
    if (rc == WB_OK)
        rc = path_of(s->files, s->server, s->workspace, tail, temp, err);
    if (rc != WB_OK)
        return rc;
    wbi_make_parents(path);
    fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return wbi_fail_errno(err, errno, "cannot write pins");
    ok = wbi_write_all(fd, text.p, text.n) == 0 && fsync(fd) == 0 && fstat(fd, &st) == 0;
    close(fd);
    if (ok && rename(temp, path) == 0) {
        s->stamp = stamp_of(&st);
        return WB_OK;
    }
    rc = wbi_fail_errno(err, errno, "cannot write pins");
    (void)unlink(temp); /* best effort */
    return rc;
}

wb_rc wbi_pin_sheet_close(struct wbi_pin_sheet *s, struct wbi_pin_stamp *ret, struct wbi_error *err)
{
    struct wbi_buf out;
    wb_rc rc = WB_OK;

    if (s->dirty && s->to_write) {
        wbi_buf_init(&out, WBI_LIMIT_JSON_TEXT);
        rc = write_pins(s, &out, err);
        if (rc == WB_OK)
            rc = replace(s, wbi_buf_str(&out), err);
        wbi_buf_fini(&out);
    }
    if (ret != NULL)
        *ret = s->stamp;
    free_sheet(s);
    return rc;
}

/* ---- all of them ---- */

struct finds {
    struct wbi_arena *arena;
    struct wbi_pin *list;
    size_t n, room;
};

static wb_rc note(struct finds *all, const struct wbi_pin *pin)
{
    if (all->n == all->room) {
        size_t room = all->room > 0 ? 2 * all->room : 64;
        struct wbi_pin *more = wbi_arena_array(all->arena, room, sizeof(*more));

        if (more == NULL)
            return WB_ENOMEM;
        if (all->n > 0)
            memcpy(more, all->list, all->n * sizeof(*more));
        all->list = more;
        all->room = room;
    }
    all->list[all->n++] = *pin;
    return WB_OK;
}

/* One file. What cannot be read, or is another workspace's, is left out. */
static wb_rc one(const struct wbi_pin_files *f, const char *name, struct finds *all)
{
    char path[WBI_LIMIT_PATH + 1];
    struct wbi_pin pin;
    const wbi_json *v;
    wb_rc rc = WB_OK;

    if (!wbi_str_ends(wbi_str_z(name), WBI_LIT(".json")) ||
        (size_t)snprintf(path, sizeof(path), "%.*s/%s", WBI_FMT(f->dir), name) >= sizeof(path) ||
        read_file(path, all->arena, &v, NULL, NULL) != WB_OK)
        return WB_OK;
    pin.server = wbi_json_get_str(v, "server");
    pin.workspace = wbi_json_get_str(v, "workspace");
    if (pin.workspace.p != NULL && !wbi_str_eq(pin.workspace, f->rt->places.root))
        return WB_OK;
    WBI_JSON_EACH_MEMBER (wbi_json_get(v, "pins"), k) {
        pin.tool = wbi_json_str(k);
        pin.value = k_val;
        if (rc == WB_OK)
            rc = note(all, &pin);
    }
    return rc;
}

/* The user's before a workspace's. */
static int by_name(const void *a, const void *b)
{
    const struct wbi_pin *p = a, *q = b;
    int order = wbi_str_cmp(p->server, q->server);

    if (order == 0)
        order = wbi_str_cmp(p->workspace, q->workspace);
    return order != 0 ? order : wbi_str_cmp(p->tool, q->tool);
}

wb_rc wbi_pin_files_each(const struct wbi_pin_files *f,
                         void (*fn)(void *arg, const struct wbi_pin *pin), void *arg,
                         struct wbi_error *err)
{
    DIR *d = f->dir.p != NULL ? opendir(f->dir.p) : NULL;
    struct finds all = {0};
    struct dirent *e;
    wb_rc rc;

    if (d == NULL)
        return WB_OK; /* nothing was ever pinned */
    rc = wbi_arena_new(WBI_LIMIT_CALL_ARENA, &all.arena);
    while (rc == WB_OK && (e = readdir(d)) != NULL)
        rc = one(f, e->d_name, &all);
    closedir(d);
    if (rc == WB_OK && all.n > 1)
        qsort(all.list, all.n, sizeof(*all.list), by_name);
    for (size_t i = 0; rc == WB_OK && i < all.n; i++)
        fn(arg, &all.list[i]);
    wbi_arena_free(all.arena);
    return rc == WB_OK ? WB_OK : wbi_fail_nomem(err);
}
