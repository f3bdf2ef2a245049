/* SPDX-License-Identifier: Apache-2.0
 * artifact/facts.c: facts as files. A put writes a file beside, syncs it, renames
 * it over the old one and syncs the directory: readers see old or new. */
#include "artifact/facts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/store_int.h"
#include "base/alloc.h"
#include "base/fd.h"
#include "base/limits.h"

struct wbi_fact_dir {
    int fd;
    uint64_t next;
};

bool wbi_fact_key_ok(struct wbi_str key)
{
    if (key.n == 0 || key.n > WBI_FACT_KEY_MAX || key.p[0] == '.')
        return false;
    for (size_t i = 0; i < key.n; i++) {
        char c = key.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '_' && c != '-' && c != '.')
            return false;
    }
    return true;
}

static wb_rc key_name(struct wbi_str key, char out[WBI_FACT_KEY_MAX + 1], struct wbi_error *err)
{
    if (!wbi_fact_key_ok(key))
        return wbi_fail(err, WB_EINPUT, "bad key for a fact: %.*s", WBI_FMT(wbi_str_head(key, 80)));
    memcpy(out, key.p, key.n);
    out[key.n] = '\0';
    return WB_OK;
}

wb_rc wbi_fact_dir_open(const char *path, struct wbi_fact_dir **ret, struct wbi_error *err)
{
    struct wbi_fact_dir *d = wbi_zalloc(sizeof(*d));
    wb_rc rc;

    if (d == NULL)
        return wbi_fail_nomem(err);
    rc = wbi_open_dir(AT_FDCWD, path, &d->fd, err);
    if (rc != WB_OK) {
        wbi_free(d);
        return rc;
    }
    *ret = d;
    return WB_OK;
}

void wbi_fact_dir_close(struct wbi_fact_dir *d)
{
    if (d == NULL)
        return;
    (void)close(d->fd);
    wbi_free(d);
}

void wbi_fact_dir_tidy(struct wbi_fact_dir *d, int64_t now_ms)
{
    wbi_remove_leftovers(d->fd, now_ms);
}

static wb_rc get(void *arg, struct wbi_str key, struct wbi_arena *arena, struct wbi_str *ret,
                 struct wbi_error *err)
{
    struct wbi_fact_dir *d = arg;
    char name[WBI_FACT_KEY_MAX + 1], *text;
    struct stat st;
    size_t have = 0;
    ssize_t n = 1;
    int fd;
    wb_rc rc = key_name(key, name, err);

    if (rc != WB_OK)
        return rc;
    fd = openat(d->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? wbi_fail(err, WB_ENOTFOUND, "no fact named %s", name)
                               : wbi_fail_errno(err, errno, "cannot read a fact");
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > WBI_LIMIT_FACT) {
        (void)close(fd);
        return wbi_fail(err, WB_EIO, "the fact %s is no small file", name);
    }
    text = wbi_arena_alloc(arena, (size_t)st.st_size + 1);
    while (text != NULL && have < (size_t)st.st_size && n != 0) {
        n = read(fd, text + have, (size_t)st.st_size - have);
        if (n < 0 && errno != EINTR)
            break;
        have += n > 0 ? (size_t)n : 0;
    }
    (void)close(fd);
    if (text == NULL)
        return wbi_fail_nomem(err);
    if (n < 0)
        return wbi_fail_errno(err, errno, "cannot read a fact");
    *ret = wbi_str_make(text, have);
    return WB_OK;
}

static wb_rc replace(struct wbi_fact_dir *d, const char *name, struct wbi_str json,
                     struct wbi_error *err)
{
    struct wbi_buf temp;
    int fd = -1, failed = 0;

    wbi_buf_init(&temp, 128);
    wbi_buf_addf(&temp, ".new-%d-%llu", (int)getpid(), (unsigned long long)d->next++);
    if (wbi_buf_rc(&temp) != WB_OK)
        return wbi_fail_nomem(err);
    fd = openat(d->fd, temp.p, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        failed = errno;
    if (failed == 0)
        failed = wbi_write_all(fd, json.p, json.n);
    if (failed == 0 && fsync(fd) != 0)
        failed = errno;
    if (fd >= 0)
        (void)close(fd);
    if (failed == 0 && renameat(d->fd, temp.p, d->fd, name) != 0)
        failed = errno;
    if (failed == 0 && fsync(d->fd) != 0)
        failed = errno;
    else if (failed != 0)
        (void)unlinkat(d->fd, temp.p, 0);
    wbi_buf_fini(&temp);
    return failed == 0 ? WB_OK : wbi_fail_errno(err, failed, "cannot store a fact");
}

static wb_rc has_still(struct wbi_fact_dir *d, struct wbi_str key, struct wbi_str had,
                       struct wbi_error *err)
{
    struct wbi_arena *arena;
    struct wbi_str now = WBI_NONE;
    bool same;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    rc = get(d, key, arena, &now, err);
    same = rc == WB_ENOTFOUND ? had.p == NULL : had.p != NULL && wbi_str_eq(now, had);
    wbi_arena_free(arena);
    if (rc != WB_OK && rc != WB_ENOTFOUND)
        return rc;
    return same ? WB_OK : wbi_fail(err, WB_EAGAIN, "the fact was changed meanwhile");
}

static wb_rc put(void *arg, struct wbi_str key, const struct wbi_str *had, struct wbi_str json,
                 struct wbi_error *err)
{
    struct wbi_fact_dir *d = arg;
    char name[WBI_FACT_KEY_MAX + 1];
    wb_rc rc = key_name(key, name, err);

    if (rc != WB_OK)
        return rc;
    if (flock(d->fd, LOCK_EX) != 0)
        return wbi_fail_errno(err, errno, "cannot lock the facts");
    if (had != NULL)
        rc = has_still(d, key, *had, err);
    if (rc == WB_OK)
        rc = replace(d, name, json, err);
    (void)flock(d->fd, LOCK_UN);
    return rc;
}

static wb_rc list(void *arg, bool (*each)(void *, struct wbi_str), void *each_arg,
                  struct wbi_error *err)
{
    struct wbi_fact_dir *d = arg;
    int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *e;

    if (dir == NULL) {
        int failed = errno;
        if (fd >= 0)
            (void)close(fd);
        return wbi_fail_errno(err, failed, "cannot list facts");
    }
    while ((e = readdir(dir)) != NULL)
        if (wbi_fact_key_ok(wbi_str_z(e->d_name)) && !each(each_arg, wbi_str_z(e->d_name)))
            break;
    (void)closedir(dir);
    return WB_OK;
}

static wb_rc discard(void *arg, struct wbi_str key, struct wbi_error *err)
{
    struct wbi_fact_dir *d = arg;
    char name[WBI_FACT_KEY_MAX + 1];
    wb_rc rc = key_name(key, name, err);

    if (rc != WB_OK)
        return rc;
    if (unlinkat(d->fd, name, 0) != 0 && errno != ENOENT)
        return wbi_fail_errno(err, errno, "cannot remove a fact");
    return WB_OK;
}

struct wbi_facts wbi_fact_dir_facts(struct wbi_fact_dir *d)
{
    return (struct wbi_facts){d, put, get, list, discard};
}
