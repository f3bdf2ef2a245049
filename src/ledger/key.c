/* SPDX-License-Identifier: Apache-2.0
 * ledger/key.c: the user's signing key, 64 hex digits in a file that only the
 * user can read. It appears whole or not at all; of two processes that make one
 * at once, the first wins and both use it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/checkpoint_int.h"

/* dir->user_fd is USER/instances. */
#define KEY_FILE "../ledger.key"

static wb_rc unusable(struct wbi_error *err, const char *why)
{
    return wbi_fail_kind(err, WB_ESTATE, WBI_KIND_STATE_UNAVAILABLE,
                         "the signing key ledger.key in the user's state folder %s; move it away, "
                         "then `waybill ledger checkpoint --restart`",
                         why);
}

static wb_rc parse_key(struct wbi_str text, struct wbi_key *ret, struct wbi_error *err)
{
    text = wbi_str_trim(text);
    if (text.n != 2 * WBI_SIGN_KEY_SIZE || !wbi_unhex(text, ret->secret))
        return unusable(err, "is no key");
    if (wbi_sign_public(ret->secret, ret->public_key) != WB_OK)
        return wbi_fail(err, WB_EUNSUPPORTED, "cannot sign: libcrypto.so.3 is missing");
    return WB_OK;
}

static wb_rc read_key(const struct wbi_dir *dir, struct wbi_key *ret, struct wbi_error *err)
{
    char text[2 * WBI_SIGN_KEY_SIZE + 8];
    struct stat st;
    ssize_t n;
    int fd = openat(dir->user_fd, KEY_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return errno == ENOENT ? wbi_fail(err, WB_ENOTFOUND, "there is no signing key")
                               : wbi_fail_errno(err, errno, "cannot open ledger.key");
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & 077) != 0) {
        close(fd);
        return unusable(err, "is not a file of this user alone (mode 0600)");
    }
    n = read(fd, text, sizeof(text));
    close(fd);
    if (n < 0)
        return wbi_fail_errno(err, errno, "cannot read ledger.key");
    return parse_key(wbi_str_make(text, (size_t)n), ret, err);
}

wb_rc wbi_key_make(const struct wbi_ids *ids, struct wbi_key *ret, struct wbi_error *err)
{
    ids->fill(ids->arg, ret->secret, sizeof(ret->secret));
    if (wbi_sign_public(ret->secret, ret->public_key) != WB_OK)
        return wbi_fail(err, WB_EUNSUPPORTED, "cannot sign: libcrypto.so.3 is missing");
    return WB_OK;
}

/* Whole and durable under a name of its own. */
static wb_rc write_key(const struct wbi_dir *dir, const char *name, const struct wbi_key *key,
                       struct wbi_error *err)
{
    char text[2 * WBI_SIGN_KEY_SIZE + 2];
    int fd, failed = 0;

    wbi_hex(key->secret, sizeof(key->secret), text);
    text[2 * WBI_SIGN_KEY_SIZE] = '\n';
    (void)unlinkat(dir->user_fd, name, 0); /* of a dead process with our number */
    fd = openat(dir->user_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return wbi_fail_errno(err, errno, "cannot make ledger.key");
    if (write(fd, text, 2 * WBI_SIGN_KEY_SIZE + 1) != 2 * WBI_SIGN_KEY_SIZE + 1 || fsync(fd) != 0)
        failed = errno;
    close(fd);
    if (failed == 0)
        return WB_OK;
    (void)unlinkat(dir->user_fd, name, 0);
    return wbi_fail_errno(err, failed, "cannot write ledger.key");
}

static void temp_name(char out[64])
{
    (void)snprintf(out, 64, "../.ledger.key.%ld", (long)getpid());
}

wb_rc wbi_key_replace(const struct wbi_dir *dir, const struct wbi_key *key, struct wbi_error *err)
{
    char temp[64];
    wb_rc rc;

    temp_name(temp);
    rc = write_key(dir, temp, key, err);
    if (rc == WB_OK && renameat(dir->user_fd, temp, dir->user_fd, KEY_FILE) != 0)
        rc = wbi_fail_errno(err, errno, "cannot replace ledger.key");
    return rc;
}

wb_rc wbi_key_load(const struct wbi_dir *dir, const struct wbi_ids *ids, bool make,
                   struct wbi_key *ret, struct wbi_error *err)
{
    struct wbi_key key;
    char temp[64];
    wb_rc rc = read_key(dir, ret, err);

    if (rc != WB_ENOTFOUND || !make)
        return rc;
    rc = wbi_key_make(ids, &key, err);
    if (rc != WB_OK)
        return rc;
    temp_name(temp);
    rc = write_key(dir, temp, &key, err);
    if (rc == WB_OK &&
        renameat2(dir->user_fd, temp, dir->user_fd, KEY_FILE, RENAME_NOREPLACE) != 0) {
        if (errno != EEXIST)
            rc = wbi_fail_errno(err, errno, "cannot make ledger.key");
        (void)unlinkat(dir->user_fd, temp, 0); /* another process was faster */
    }
    return rc == WB_OK ? read_key(dir, ret, err) : rc;
}
