/* SPDX-License-Identifier: Apache-2.0
 * config/trust.c: which workspaces' files the user has trusted.
 * trust.json in the user's state folder: {"version": 1, "workspaces": {ROOT:
 * {"sha256", "trustedAt"}}}. It is replaced whole, by renaming, under a lock;
 * one that others could write is not believed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/fd.h"
#include "config/config_int.h"
#include "json/write.h"

#define TRUST_FILE "trust.json"
#define TRUST_NEW "trust.json.new"
#define TRUST_LOCK "trust.lock"

static wb_rc add_entry(struct wbi_jw *w, const struct wbi_config_file *file)
{
    uint8_t sum[WBI_SHA256_SIZE];
    char hex[WBI_SHA256_HEX];
    wb_rc rc = wbi_sha256(file->text.p, file->text.n, sum);

    if (rc != WB_OK)
        return rc;
    wbi_hex(sum, sizeof(sum), hex);
    wbi_jw_obj(w);
    wbi_jw_kstr(w, "file", file->name);
    wbi_jw_kstrz(w, "sha256", hex);
    wbi_jw_obj_end(w);
    return WB_OK;
}

/* The list is built in canonical form at once: names sorted, no white space. */
wb_rc wbi_trust_hash(const struct wbi_config_file *files, size_t n, char ret_hex[WBI_SHA256_HEX],
                     struct wbi_error *err)
{
    uint8_t sum[WBI_SHA256_SIZE];
    struct wbi_buf list;
    struct wbi_jw w = wbi_jw_to(&list);
    wb_rc rc = WB_OK;

    wbi_buf_init(&list, WBI_LIMIT_CONFIG_FILE);
    wbi_jw_arr(&w);
    for (size_t i = 0; i < n && rc == WB_OK; i++)
        if (files[i].workspace)
            rc = add_entry(&w, &files[i]);
    wbi_jw_arr_end(&w);
    if (rc == WB_OK)
        rc = wbi_buf_rc(&list);
    if (rc == WB_OK)
        rc = wbi_sha256(list.p, list.n, sum);
    if (rc == WB_OK)
        wbi_hex(sum, sizeof(sum), ret_hex);
    else
        (void)wbi_fail(err, rc, "the workspace's files cannot be hashed");
    wbi_buf_fini(&list);
    return rc;
}

/* The parsed file, NULL when there is none. */
static wb_rc read_trust(struct wbi_arena *arena, int folder, struct wbi_str shown,
                        const wbi_json **ret, struct wbi_error *err)
{
    struct wbi_config_file file = {.workspace = true}; /* no link */
    wb_rc rc;

    file.name = wbi_arena_fmt(arena, "%.*s/" TRUST_FILE, WBI_FMT(shown));
    if (file.name.p == NULL)
        return wbi_fail_nomem(err);
    rc = wbi_config_file_read(arena, folder, TRUST_FILE, &file, err);
    *ret = NULL;
    if (rc == WB_ENOTFOUND)
        return WB_OK;
    if (rc != WB_OK)
        return rc;
    if (file.owner != geteuid() || (file.mode & (S_IWGRP | S_IWOTH)) != 0)
        return wbi_config_fail(err, &file, NULL, WB_ESTATE,
                               "is not the user's alone; it must be owned by the user and "
                               "writable by nobody else");
    rc = wbi_config_file_parse(arena, &file, err);
    if (rc != WB_OK)
        return rc;
    if (!wbi_json_is(wbi_json_get(file.root, "workspaces"), WBI_JSON_OBJ))
        return wbi_config_fail(err, &file, NULL, WB_ESTATE,
                               "has no object \"workspaces\"; remove it to trust anew");
    *ret = file.root;
    return WB_OK;
}

wb_rc wbi_trust_lookup(struct wbi_arena *arena, struct wbi_str folder, struct wbi_str root,
                       struct wbi_str *ret_hex, struct wbi_error *err)
{
    int fd = folder.p ? open(folder.p, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    const wbi_json *trust = NULL;
    wb_rc rc;

    *ret_hex = WBI_NONE;
    if (fd < 0)
        return WB_OK; /* no folder, nothing trusted */
    rc = read_trust(arena, fd, folder, &trust, err);
    (void)close(fd); /* a handle only */
    if (rc == WB_OK)
        *ret_hex =
            wbi_json_get_str(wbi_json_getn(wbi_json_get(trust, "workspaces"), root), "sha256");
    return rc;
}

static void write_trust(struct wbi_buf *out, const wbi_json *old, struct wbi_str root,
                        const char *hex, int64_t wall_ms)
{
    struct wbi_jw w = wbi_jw_to(out);
    const wbi_json *workspaces = wbi_json_get(old, "workspaces");
    char now[WBI_RFC3339_SIZE];

    wbi_time_format(wall_ms, now);
    wbi_jw_obj(&w);
    wbi_jw_kint(&w, "version", 1);
    wbi_jw_key(&w, "workspaces");
    wbi_jw_obj(&w);
    WBI_JSON_EACH_MEMBER (workspaces, k) {
        if (wbi_str_eq(wbi_json_str(k), root))
            continue;
        wbi_jw_keyn(&w, wbi_json_str(k));
        wbi_jw_val(&w, k_val);
    }
    wbi_jw_keyn(&w, root);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "sha256", hex);
    wbi_jw_kstrz(&w, "trustedAt", now);
    wbi_jw_obj_end(&w);
    wbi_jw_obj_end(&w);
    wbi_jw_obj_end(&w);
    wbi_buf_addc(out, '\n');
}

/* Whole and synced under another name, then renamed. */
static wb_rc replace_file(int folder, struct wbi_str text, struct wbi_error *err)
{
    bool fine;
    int fd;

    (void)unlinkat(folder, TRUST_NEW, 0); /* left by a process that died */
    fd = openat(folder, TRUST_NEW, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return wbi_fail_errno(err, errno, "trust.json cannot be written");
    fine = wbi_write_all(fd, text.p, text.n) == 0 && fsync(fd) == 0;
    if (close(fd) != 0 || !fine || renameat(folder, TRUST_NEW, folder, TRUST_FILE) != 0) {
        wb_rc rc = wbi_fail_errno(err, errno, "trust.json cannot be written");

        (void)unlinkat(folder, TRUST_NEW, 0); /* nobody reads it */
        return rc;
    }
    if (fsync(folder) != 0)
        return wbi_fail_errno(err, errno, "trust.json cannot be synced");
    return WB_OK;
}

/* Each folder on the way, for the user alone. */
static wb_rc make_folders(char *path, struct wbi_error *err)
{
    for (char *p = path + 1;; p++) {
        char c = *p;

        if (c != '/' && c != '\0')
            continue;
        *p = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return wbi_fail(err, WB_EIO,
                            "the user's state folder cannot be made: %s: %s; set XDG_STATE_HOME to "
                            "a folder that can be written",
                            path, strerror(errno));
        *p = c;
        if (c == '\0')
            return WB_OK;
    }
}

static wb_rc record_locked(struct wbi_arena *arena, int folder, struct wbi_str shown,
                           struct wbi_str root, const char *hex, int64_t wall_ms,
                           struct wbi_error *err)
{
    const wbi_json *old = NULL;
    struct wbi_buf out;
    wb_rc rc = read_trust(arena, folder, shown, &old, err);

    if (rc != WB_OK)
        return rc;
    wbi_buf_init_arena(&out, arena, WBI_LIMIT_TRUST_FILE);
    write_trust(&out, old, root, hex, wall_ms);
    if (wbi_buf_rc(&out) != WB_OK)
        return wbi_fail(err, wbi_buf_rc(&out), "trust.json would be too large");
    return replace_file(folder, wbi_buf_str(&out), err);
}

wb_rc wbi_trust_record(struct wbi_str folder, struct wbi_str root, const char *hex, int64_t wall_ms,
                       struct wbi_error *err)
{
    struct wbi_arena *arena = NULL;
    int fd = -1, lock = -1;
    char *path;
    wb_rc rc = wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena);

    if (rc != WB_OK)
        return wbi_fail_nomem(err);
    path = wbi_arena_strz(arena, folder);
    rc = path ? make_folders(path, err) : wbi_fail_nomem(err);
    if (rc != WB_OK)
        goto out;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        lock = openat(fd, TRUST_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) != 0)
        rc = wbi_fail_errno(err, errno, "the user's state folder cannot be locked");
    else
        rc = record_locked(arena, fd, folder, root, hex, wall_ms, err);
out:
    if (lock >= 0)
        (void)close(lock); /* also lets the lock go */
    if (fd >= 0)
        (void)close(fd); /* a folder */
    wbi_arena_free(arena);
    return rc;
}
