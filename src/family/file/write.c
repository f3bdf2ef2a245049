/* SPDX-License-Identifier: Apache-2.0
 * family/file/write.c: a whole file, made, replaced or grown. */
#include "family/file/file.h"

#include "base/arena.h"
#include "path/path.h"

static wb_rc fail_changed(struct wbi_error *err, struct wbi_str path)
{
    char shown[WBI_PATH_SHOWN];

    return wbi_fail_kind(
        err, WB_EAGAIN, WBI_KIND_FILE_CHANGED,
        "`%s` does not have the expected SHA-256; it has changed since it was read",
        wbi_path_show(path, shown));
}

static wb_rc check_hash(struct wbi_str old, const struct wbi_write_request *req,
                        struct wbi_error *err)
{
    uint8_t have[WBI_SHA256_SIZE], want[WBI_SHA256_SIZE];
    wb_rc rc;

    if (req->expected_sha256.n == 0)
        return WB_OK;
    if (req->expected_sha256.n != 64 || !wbi_unhex(req->expected_sha256, want))
        return wbi_fail_kind(err, WB_EINPUT, WBI_KIND_INVALID_TOOL_INPUT,
                             "expected_sha256 has 64 hexadecimal digits");
    rc = wbi_sha256(old.p, old.n, have);
    if (rc)
        return wbi_fail(err, rc, "SHA-256 is not available here");
    return memcmp(have, want, sizeof(have)) == 0 ? WB_OK : fail_changed(err, req->path);
}

/* A file that was there when it was hashed, and is not, is not made anew. */
static wb_rc check_new(struct wbi_root *root, const struct wbi_write_request *req, unsigned flags,
                       struct wbi_arena *arena, struct wbi_error *err)
{
    char shown[WBI_PATH_SHOWN];
    struct wbi_str real;
    struct stat st;
    wb_rc rc;

    if (req->expected_sha256.n == 0 || wbi_path_lstat(root, req->path, &st))
        return WB_OK;
    rc = wbi_path_target(root, req->path, flags, arena, err, &real);
    if (rc != WB_OK) /* nothing is created there, whatever is expected */
        return rc;
    return wbi_fail_kind(err, WB_ENOTFOUND, WBI_KIND_FILE_NOT_FOUND,
                         "`%s` does not exist, so it cannot have the expected SHA-256; without "
                         "expected_sha256 it is created",
                         wbi_path_show(req->path, shown));
}

static wb_rc describe(const struct wbi_write_request *req, struct wbi_str old,
                      struct wbi_error *err, struct wbi_write_result *res)
{
    struct wbi_str parts[2] = {old, req->data};
    struct wbi_sha256 *h = NULL;
    uint8_t sum[WBI_SHA256_SIZE];
    char last = '\n';
    wb_rc rc = wbi_sha256_new(&h);

    for (int i = 0; i < 2; i++) {
        res->size += parts[i].n;
        for (size_t k = 0; k < parts[i].n; k++)
            res->lines += parts[i].p[k] == '\n';
        if (parts[i].n > 0)
            last = parts[i].p[parts[i].n - 1];
        if (rc == WB_OK)
            rc = wbi_sha256_add(h, parts[i].p, parts[i].n);
    }
    res->lines += last != '\n';
    if (rc == WB_OK)
        rc = wbi_sha256_end(h, sum);
    if (rc == WB_OK)
        wbi_hex(sum, sizeof(sum), res->sha256);
    wbi_sha256_free(h);
    return rc == WB_OK || rc == WB_EUNSUPPORTED ? WB_OK : wbi_fail_nomem(err);
}

/* Replaces only the very file that was read, creates only what is not there. Once the file has
 * its name it is written, whatever syncing the directory comes to. */
static wb_rc put(struct wbi_root *root, struct wbi_str path, struct wbi_str data, unsigned flags,
                 struct wbi_error *err, bool *ret_unsynced)
{
    struct wbi_staged s;
    wb_rc rc = wbi_path_stage(root, path, data, flags, err, &s);

    if (rc)
        return rc;
    rc = wbi_path_swap(&s, err);
    if (rc) {
        wbi_path_discard(&s);
        return rc;
    }
    *ret_unsynced = wbi_path_sync_staged(&s, NULL) != WB_OK;
    wbi_path_settle(&s);
    return WB_OK;
}

wb_rc wbi_file_write(struct wbi_root *root, const struct wbi_write_request *req,
                     struct wbi_arena *arena, struct wbi_error *err, struct wbi_write_result *ret)
{
    struct wbi_write_result res = {.path = req->path};
    unsigned flags = (req->make_dirs ? WBI_WRITE_MKDIRS : 0u) |
                     (req->executable ? WBI_WRITE_EXEC : 0u) |
                     (req->granted ? WBI_WRITE_GRANT : 0u);
    struct wbi_str old = wbi_str_make("", 0), whole = req->data;
    wb_rc rc = WB_OK;

    if (req->data.n > WBI_LIMIT_WRITE)
        return wbi_fail_kind(err, WB_ELIMIT, WBI_KIND_INVALID_TOOL_INPUT,
                             "the content has %zu bytes; at most %u are accepted", req->data.n,
                             WBI_LIMIT_WRITE);
    if (req->mode != WBI_FILE_CREATE) {
        rc = wbi_path_read_all(root, req->path, WBI_LIMIT_WRITE, arena, err, &old, NULL);
        if (rc == WB_ENOTFOUND && req->mode == WBI_FILE_APPEND && req->expected_sha256.n == 0) {
            res.created = true;
            rc = WB_OK;
        }
        if (rc == WB_OK)
            rc = check_hash(old, req, err);
    } else {
        rc = check_new(root, req, flags, arena, err);
    }
    if (rc)
        return rc;
    res.created = res.created || req->mode == WBI_FILE_CREATE;
    if (res.created)
        flags |= WBI_WRITE_NEW;
    if (req->mode == WBI_FILE_APPEND && !res.created) {
        char *p = wbi_arena_alloc(arena, old.n + req->data.n);

        if (p == NULL)
            return wbi_fail_nomem(err);
        memcpy(p, old.p, old.n);
        if (req->data.n > 0)
            memcpy(p + old.n, req->data.p, req->data.n);
        whole = wbi_str_make(p, old.n + req->data.n);
    }
    rc = describe(req, req->mode == WBI_FILE_APPEND ? old : wbi_str_make("", 0), err, &res);
    if (rc == WB_OK)
        rc = put(root, req->path, whole, flags, err, &res.unsynced);
    if (rc == WB_OK)
        *ret = res;
    return rc;
}
