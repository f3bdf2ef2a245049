/* SPDX-License-Identifier: Apache-2.0
 * artifact/seal.c: from a written file to a finished artifact, and its fact. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/store_int.h"
#include "base/alloc.h"
#include "json/write.h"

#define HASH_BYTES (256u * WBI_KIB)

/* Size, lines and hash of what the file holds now. */
static wb_rc measure(int fd, struct wbi_artifact *a, struct wbi_error *err)
{
    uint8_t digest[WBI_SHA256_SIZE];
    struct wbi_sha256 *hash = NULL;
    char *buffer = wbi_alloc(HASH_BYTES), last = '\n';
    uint64_t bytes = 0, lines = 0;
    ssize_t n = 0;
    wb_rc rc = buffer != NULL ? wbi_sha256_new(&hash) : WB_ENOMEM;

    while (rc == WB_OK) {
        n = pread(fd, buffer, HASH_BYTES, (off_t)bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        rc = wbi_sha256_add(hash, buffer, (size_t)n);
        bytes += (uint64_t)n;
        lines += wbi_count_newlines(buffer, (size_t)n);
        last = buffer[n - 1];
    }
    if (rc == WB_OK && n < 0)
        rc = wbi_fail_errno(err, errno, "cannot read the artifact back");
    if (rc == WB_OK)
        rc = wbi_sha256_end(hash, digest);
    if (rc == WB_OK) {
        a->bytes = bytes;
        a->lines = lines + (last != '\n');
        wbi_hex(digest, sizeof(digest), a->sha256);
    } else if (err != NULL && err->rc == WB_OK) {
        (void)wbi_fail(err, rc, "cannot hash the artifact");
    }
    wbi_sha256_free(hash);
    wbi_free(buffer);
    return rc;
}

wb_rc wbi_artifact_measure(const struct wbi_artifact_store *s, struct wbi_artifact *a,
                           struct wbi_error *err)
{
    int fd = openat(s->dir, a->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    wb_rc rc;

    if (fd < 0)
        return wbi_fail_errno(err, errno, "cannot open the artifact");
    rc = measure(fd, a, err);
    (void)close(fd);
    return rc;
}

/* by-hash/<sha256> names the same file, or an equal one that is there already. */
static int link_by_hash(const struct wbi_artifact_store *s, const struct wbi_artifact *a)
{
    if (linkat(s->dir, a->name, s->by_hash, a->sha256, 0) == 0)
        return fsync(s->by_hash) == 0 ? 0 : errno;
    return errno == EEXIST ? 0 : errno;
}

/* An equal file that was there before takes the place of ours. Nobody holds its lock: without
 * the fact it would look as if its writer had died. */
static void share_equal(const struct wbi_artifact_store *s, const struct wbi_artifact *a)
{
    char temp[WBI_ARTIFACT_NAME + 8] = ".eq-";
    struct stat mine, theirs;

    if (fstatat(s->by_hash, a->sha256, &theirs, AT_SYMLINK_NOFOLLOW) != 0 ||
        fstatat(s->dir, a->name, &mine, AT_SYMLINK_NOFOLLOW) != 0 || mine.st_ino == theirs.st_ino ||
        mine.st_size != theirs.st_size)
        return; /* the size differs only if somebody damaged it: keep ours */
    memcpy(temp + 4, a->name, strlen(a->name) + 1);
    (void)unlinkat(s->dir, temp, 0);
    if (linkat(s->by_hash, a->sha256, s->dir, temp, 0) != 0)
        return; /* two copies are no harm */
    if (renameat(s->dir, temp, s->dir, a->name) != 0)
        (void)unlinkat(s->dir, temp, 0);
}

wb_rc wbi_artifact_finish(struct wbi_artifact_store *s, const struct wbi_artifact *a,
                          struct wbi_error *err)
{
    wb_rc rc = wbi_artifact_put_fact(s, a, err);

    if (rc == WB_OK)
        share_equal(s, a);
    return rc;
}

wb_rc wbi_artifact_seal(const struct wbi_artifact_store *s, struct wbi_artifact *a,
                        struct wbi_error *err)
{
    int fd = openat(s->dir, a->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), failed = 0;
    wb_rc rc;

    if (fd < 0)
        return wbi_fail_errno(err, errno, "cannot open the written output");
    rc = measure(fd, a, err);
    if (rc == WB_OK && (fsync(fd) != 0 || fchmod(fd, 0400) != 0))
        failed = errno;
    (void)close(fd);
    if (rc == WB_OK && failed == 0)
        failed = link_by_hash(s, a);
    if (rc == WB_OK && failed == 0 && fsync(s->dir) != 0)
        failed = errno;
    if (failed != 0)
        return wbi_fail_kind(err, WB_EIO, WBI_KIND_OUTPUT_PERSISTENCE_FAILED,
                             "the output could not be kept for good: %s", strerror(failed));
    return rc;
}

wb_rc wbi_artifact_put_fact(struct wbi_artifact_store *s, const struct wbi_artifact *a,
                            struct wbi_error *err)
{
    struct wbi_buf text;
    struct wbi_jw w = wbi_jw_to(&text);
    wb_rc rc;

    wbi_buf_init(&text, WBI_LIMIT_FACT);
    wbi_jw_obj(&w);
    wbi_jw_kstrz(&w, "name", a->name);
    wbi_jw_kstrz(&w, "call_id", a->call_id);
    wbi_jw_kstrz(&w, "role", a->role);
    wbi_jw_kint(&w, "bytes", (int64_t)a->bytes);
    wbi_jw_kint(&w, "lines", (int64_t)a->lines);
    wbi_jw_kint(&w, "dropped", (int64_t)a->dropped);
    wbi_jw_kstrz(&w, "sha256", a->sha256);
    wbi_jw_kbool(&w, "complete", a->complete);
    wbi_jw_kbool(&w, "expired", a->expired);
    wbi_jw_kstrz(&w, "reason", a->reason);
    wbi_jw_kint(&w, "created_ms", a->created_ms);
    wbi_jw_kint(&w, "sealed_ms", a->sealed_ms);
    wbi_jw_obj_end(&w);
    rc = wbi_buf_rc(&text);
    if (rc == WB_OK)
        rc = s->facts.put(s->facts.arg, wbi_str_z(a->name), NULL, wbi_buf_str(&text), err);
    else
        (void)wbi_fail_nomem(err);
    wbi_buf_fini(&text);
    return rc;
}

static void text_member(const wbi_json *v, const char *name, char *into, size_t room)
{
    struct wbi_str s = wbi_json_get_str(v, name);

    if (s.n >= room)
        s.n = 0;
    if (s.n > 0)
        memcpy(into, s.p, s.n);
    into[s.n] = '\0';
}

static uint64_t number_member(const wbi_json *v, const char *name)
{
    uint64_t n = 0;

    return wbi_json_u64(wbi_json_get(v, name), &n) ? n : 0;
}

wb_rc wbi_artifact_get_fact(struct wbi_artifact_store *s, struct wbi_str name,
                            struct wbi_arena *arena, struct wbi_artifact *ret,
                            struct wbi_error *err)
{
    const wbi_json *v = NULL;
    struct wbi_str text;
    wb_rc rc = s->facts.get(s->facts.arg, name, arena, &text, err);

    if (rc == WB_OK)
        rc = wbi_json_read(arena, text, WBI_JSON_STRICT, &v, err);
    if (rc != WB_OK)
        return rc;
    memset(ret, 0, sizeof(*ret));
    text_member(v, "name", ret->name, sizeof(ret->name));
    text_member(v, "call_id", ret->call_id, sizeof(ret->call_id));
    text_member(v, "role", ret->role, sizeof(ret->role));
    text_member(v, "sha256", ret->sha256, sizeof(ret->sha256));
    text_member(v, "reason", ret->reason, sizeof(ret->reason));
    ret->bytes = number_member(v, "bytes");
    ret->lines = number_member(v, "lines");
    ret->dropped = number_member(v, "dropped");
    ret->created_ms = (int64_t)number_member(v, "created_ms");
    ret->sealed_ms = (int64_t)number_member(v, "sealed_ms");
    if (ret->sealed_ms == 0) /* written by an older version */
        ret->sealed_ms = ret->created_ms;
    ret->complete = wbi_json_true(wbi_json_get(v, "complete"));
    ret->expired = wbi_json_true(wbi_json_get(v, "expired"));
    if (!wbi_str_eqz(name, ret->name))
        return wbi_fail(err, WB_EIO, "the fact of %.*s is about something else", WBI_FMT(name));
    return WB_OK;
}
