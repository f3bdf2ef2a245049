/* SPDX-License-Identifier: Apache-2.0
 * serve/pin_files.c: DIR/<SHA-256 of the key>.json holds {"key": …, "pin": …}. */
#include "serve/pin_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "json/write.h"
#include "serve/token.h"

#define PIN_BYTES (8u * WBI_MIB)

wb_rc wbi_pin_files_open(struct wbi_arena *arena, struct wbi_str user_state,
                         struct wbi_pin_files *ret, struct wbi_error *err)
{
    ret->dir = WBI_NONE;
    if (user_state.p == NULL)
        return WB_OK;
    ret->dir = wbi_arena_fmt(arena, "%.*s/pins", WBI_FMT(user_state));
    return ret->dir.p != NULL ? WB_OK : wbi_fail_nomem(err);
}

static wb_rc path_of(const struct wbi_pin_files *f, struct wbi_str key, const char *tail,
                     char path[WBI_LIMIT_PATH + 1], struct wbi_error *err)
{
    uint8_t sum[WBI_SHA256_SIZE];
    char hex[WBI_SHA256_HEX];
    wb_rc rc = wbi_sha256(key.p, key.n, sum);

    if (f->dir.p == NULL)
        return wbi_fail(err, WB_ESTATE, "there is no folder for pins: HOME is not set");
    if (rc != WB_OK)
        return wbi_fail(err, rc, "cannot hash the name of a pin");
    wbi_hex(sum, sizeof(sum), hex);
    if ((size_t)snprintf(path, WBI_LIMIT_PATH + 1, "%.*s/%s%s", WBI_FMT(f->dir), hex, tail) >
        WBI_LIMIT_PATH)
        return wbi_fail(err, WB_ELIMIT, "the path of the user's state folder is too long");
    return WB_OK;
}

static wb_rc read_whole(int fd, struct wbi_arena *arena, struct wbi_str *ret, struct wbi_error *err)
{
    struct wbi_buf b;

    wbi_buf_init_arena(&b, arena, PIN_BYTES);
    for (;;) {
        char *room = wbi_buf_room(&b, 4096);
        ssize_t n = room != NULL ? read(fd, room, 4096) : -1;

        if (room == NULL)
            return wbi_fail(err, wbi_buf_rc(&b), "a pin is too large");
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return wbi_fail_errno(err, errno, "cannot read a pin");
        if (n == 0)
            break;
        b.n += (size_t)n;
    }
    *ret = wbi_buf_str(&b);
    return WB_OK;
}

static wb_rc read_pin(const char *path, struct wbi_arena *arena, const wbi_json **ret,
                      struct wbi_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct wbi_str text;
    wb_rc rc;

    if (fd < 0 && errno == ENOENT)
        return WB_ENOTFOUND;
    if (fd < 0)
        return wbi_fail_errno(err, errno, "cannot open a pin");
    rc = read_whole(fd, arena, &text, err);
    close(fd);
    return rc == WB_OK ? wbi_json_read(arena, text, WBI_JSON_STRICT, ret, err) : rc;
}

static wb_rc get(void *arg, struct wbi_str key, struct wbi_arena *arena, struct wbi_str *ret,
                 struct wbi_error *err)
{
    char path[WBI_LIMIT_PATH + 1];
    const wbi_json *v;
    struct wbi_buf b;
    wb_rc rc = path_of(arg, key, ".json", path, err);

    if (rc == WB_OK)
        rc = read_pin(path, arena, &v, err);
    if (rc != WB_OK)
        return rc;
    wbi_buf_init_arena(&b, arena, PIN_BYTES);
    wbi_json_write(&b, wbi_json_get(v, "pin"));
    *ret = wbi_buf_str(&b);
    return wbi_buf_rc(&b) == WB_OK ? WB_OK : wbi_fail_nomem(err);
}

static wb_rc replace(const struct wbi_pin_files *f, struct wbi_str key, struct wbi_str text,
                     struct wbi_error *err)
{
    char path[WBI_LIMIT_PATH + 1], temp[WBI_LIMIT_PATH + 1], tail[32];
    wb_rc rc = path_of(f, key, ".json", path, err);
    bool ok;
    int fd;

    (void)snprintf(tail, sizeof(tail), ".%ld.tmp", (long)getpid());
    if (rc == WB_OK)
        rc = path_of(f, key, tail, temp, err);
    if (rc != WB_OK)
        return rc;
    fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return wbi_fail_errno(err, errno, "cannot write a pin");
    ok = wbi_write_all(fd, text.p, text.n) == 0 && fsync(fd) == 0;
    close(fd);
    if (ok && rename(temp, path) == 0)
        return WB_OK;
    rc = wbi_fail_errno(err, errno, "cannot write a pin");
    (void)unlink(temp); /* best effort */
    return rc;
}

static wb_rc put(void *arg, struct wbi_str key, struct wbi_str value, struct wbi_error *err)
{
    const struct wbi_pin_files *f = arg;
    char parent[WBI_LIMIT_PATH + 1];
    struct wbi_buf b;
    struct wbi_jw w = wbi_jw_to(&b);
    wb_rc rc;

    if (f->dir.p == NULL)
        return wbi_fail(err, WB_ESTATE, "there is no folder for pins: HOME is not set");
    if ((size_t)snprintf(parent, sizeof(parent), "%.*s/", WBI_FMT(f->dir)) >= sizeof(parent))
        return wbi_fail(err, WB_ELIMIT, "the path of the user's state folder is too long");
    wbi_make_parents(parent);
    wbi_buf_init(&b, PIN_BYTES);
    wbi_jw_obj(&w);
    wbi_jw_kstr(&w, "key", key);
    wbi_jw_kraw(&w, "pin", value);
    wbi_jw_obj_end(&w);
    rc = wbi_buf_rc(&b) == WB_OK ? replace(f, key, wbi_buf_str(&b), err)
                                 : wbi_fail(err, wbi_buf_rc(&b), "a pin is too large");
    wbi_buf_fini(&b);
    return rc;
}

struct wbi_pin_store wbi_pin_files_store(struct wbi_pin_files *files)
{
    return (struct wbi_pin_store){get, put, files};
}

static wb_rc one(const struct wbi_pin_files *f, const char *name,
                 void (*fn)(void *, struct wbi_str, const wbi_json *), void *arg)
{
    char path[WBI_LIMIT_PATH + 1];
    struct wbi_arena *arena;
    const wbi_json *v;

    if (!wbi_str_ends(wbi_str_z(name), WBI_LIT(".json")) ||
        (size_t)snprintf(path, sizeof(path), "%.*s/%s", WBI_FMT(f->dir), name) >= sizeof(path))
        return WB_OK;
    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return WB_ENOMEM;
    if (read_pin(path, arena, &v, NULL) == WB_OK && wbi_json_get_str(v, "key").p != NULL)
        fn(arg, wbi_json_get_str(v, "key"), wbi_json_get(v, "pin"));
    wbi_arena_free(arena);
    return WB_OK;
}

wb_rc wbi_pin_files_each(const struct wbi_pin_files *f,
                         void (*fn)(void *arg, struct wbi_str key, const wbi_json *value),
                         void *arg, struct wbi_error *err)
{
    DIR *d = f->dir.p != NULL ? opendir(f->dir.p) : NULL;
    struct dirent *e;
    wb_rc rc = WB_OK;

    if (d == NULL)
        return WB_OK; /* nothing was ever pinned */
    while (rc == WB_OK && (e = readdir(d)) != NULL)
        rc = one(f, e->d_name, fn, arg);
    closedir(d);
    return rc == WB_OK ? WB_OK : wbi_fail_nomem(err);
}

wb_rc wbi_pin_files_drop(const struct wbi_pin_files *f, struct wbi_str key, struct wbi_error *err)
{
    char path[WBI_LIMIT_PATH + 1];
    wb_rc rc = path_of(f, key, ".json", path, err);

    if (rc != WB_OK)
        return rc;
    if (unlink(path) == 0)
        return WB_OK;
    if (errno == ENOENT)
        return wbi_fail(err, WB_ENOTFOUND, "there is no pin \"%.*s\"", WBI_FMT(key));
    return wbi_fail_errno(err, errno, "cannot remove a pin");
}
