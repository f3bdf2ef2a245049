/* SPDX-License-Identifier: Apache-2.0
 * serve/token.c: the bearer token of HTTP, in the user's state folder or a file of
 * the user's choice; nobody else may be able to read it. */
#include "serve/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/id.h"
#include "base/limits.h"

#define TOKEN_BYTES 32

static wb_rc fail_with(struct wbi_error *err, const char *what, const char *path)
{
    int why = errno;
    char text[256];

    (void)snprintf(text, sizeof(text), "%s the token file %.200s", what, path);
    return wbi_fail_errno(err, why, text);
}

wb_rc wbi_token_read(const char *path, struct wbi_buf *out, struct wbi_error *err)
{
    char text[WBI_TOKEN_MAX + 1];
    struct wbi_str token;
    struct stat st;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT)
        return wbi_fail(err, WB_ENOTFOUND, "there is no token file %.200s", path);
    if (fd < 0)
        return fail_with(err, "cannot open", path);
    n = read(fd, text, sizeof(text));
    if (n < 0 || fstat(fd, &st) != 0) {
        wb_rc rc = fail_with(err, "cannot read", path);
        close(fd);
        return rc;
    }
    close(fd);
    if ((st.st_mode & 077) != 0)
        return wbi_fail(err, WB_EDENIED, "others can read the token file %.200s; make it 0600",
                        path);
    token = wbi_str_trim(wbi_str_make(text, (size_t)n));
    if (token.n < 16 || token.n > WBI_TOKEN_MAX)
        return wbi_fail(err, WB_EINPUT, "a token has 16 to %d characters, not as in %.200s",
                        WBI_TOKEN_MAX, path);
    for (size_t i = 0; i < token.n; i++)
        if (token.p[i] <= ' ' || token.p[i] > '~') /* no header could carry it */
            return wbi_fail(err, WB_EINPUT,
                            "a token is one word of plain characters; there is something else in "
                            "%.200s",
                            path);
    wbi_buf_adds(out, token);
    return wbi_buf_rc(out) == WB_OK ? WB_OK : wbi_fail_nomem(err);
}

void wbi_make_parents(char *path)
{
    for (size_t i = 1; path[i] != '\0'; i++) {
        if (path[i] != '/')
            continue;
        path[i] = '\0';
        (void)mkdir(path, 0700); /* may exist; opening tells */
        path[i] = '/';
    }
}

/* It gets its name once it is whole: of two that begin at once one makes it, the other
 * reads it. */
static wb_rc make_token(const struct wbi_ids *ids, const char *path, struct wbi_error *err)
{
    uint8_t bytes[TOKEN_BYTES];
    char hex[2 * TOKEN_BYTES + 2], draft[WBI_LIMIT_PATH + 32];
    wb_rc rc = WB_OK;
    int fd;

    (void)snprintf(draft, sizeof(draft), "%s.%ld", path, (long)getpid());
    fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail_with(err, "cannot make", path);
    ids->fill(ids->arg, bytes, sizeof(bytes));
    wbi_hex(bytes, sizeof(bytes), hex);
    hex[sizeof(hex) - 2] = '\n';
    if (write(fd, hex, sizeof(hex) - 1) != (ssize_t)sizeof(hex) - 1 || fsync(fd) != 0)
        rc = fail_with(err, "cannot write", path);
    close(fd);
    if (rc == WB_OK && link(draft, path) != 0)
        rc = errno == EEXIST ? WB_EEXISTS : fail_with(err, "cannot make", path);
    (void)unlink(draft); /* best effort */
    return rc;
}

wb_rc wbi_token_own(struct wbi_str dir, struct wbi_buf *out, int *created, struct wbi_error *err)
{
    struct wbi_ids ids = wbi_ids_system();
    char path[WBI_LIMIT_PATH + 1];
    wb_rc rc;

    if (dir.p == NULL)
        return wbi_fail(err, WB_ESTATE,
                        "there is no folder for the token: HOME is not set; give "
                        "--token-file");
    if ((size_t)snprintf(path, sizeof(path), "%.*s/http-token", WBI_FMT(dir)) >= sizeof(path))
        return wbi_fail(err, WB_ELIMIT, "the path of the user's state folder is too long");
    rc = wbi_token_read(path, out, err);
    if (rc != WB_ENOTFOUND)
        return rc;
    wbi_make_parents(path);
    rc = make_token(&ids, path, err);
    *created = rc == WB_OK;
    if (rc == WB_OK || rc == WB_EEXISTS)
        rc = wbi_token_read(path, out, err);
    return rc;
}
