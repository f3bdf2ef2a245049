/* SPDX-License-Identifier: Apache-2.0
 * call/answers.c */
#include "call/answers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "path/path.h"

void wbi_answers_init(struct wbi_answers *a, struct wbi_str dir)
{
    *a = (struct wbi_answers){.dir = dir, .fd = -1};
}

void wbi_answers_fini(struct wbi_answers *a)
{
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
}

static bool have_file(struct wbi_answers *a)
{
    char path[WBI_LIMIT_PATH + 1];

    if (a->fd >= 0 || a->none)
        return a->fd >= 0;
    a->none = a->dir.n == 0 || a->dir.n >= sizeof(path);
    if (a->none)
        return false;
    (void)snprintf(path, sizeof(path), "%.*s", WBI_FMT(a->dir));
    a->fd = wbi_path_open_unnamed(AT_FDCWD, path);
    a->none = a->fd < 0;
    return a->fd >= 0;
}

/* A disk that takes not all of it keeps what is behind `end` in vain. */
static bool write_at_end(struct wbi_answers *a, struct wbi_str text)
{
    size_t done = 0;

    while (done < text.n) {
        ssize_t n = pwrite(a->fd, text.p + done, text.n - done, a->end + (int64_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

bool wbi_answers_put(struct wbi_answers *a, struct wbi_str text, int64_t *ret_at)
{
    if (a->in_memory + text.n <= WBI_LIMIT_ANSWERS || !have_file(a) || !write_at_end(a, text)) {
        a->in_memory += text.n;
        return false;
    }
    *ret_at = a->end;
    a->end += (int64_t)text.n;
    return true;
}

static bool read_at(int fd, int64_t at, char *to, size_t n)
{
    while (n > 0) {
        ssize_t got = pread(fd, to, n, at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

wb_rc wbi_answers_get(const struct wbi_answers *a, int64_t at, size_t n, char **ret)
{
    char *text = wbi_alloc(n);

    if (text == NULL)
        return WB_ENOMEM;
    if (!read_at(a->fd, at, text, n)) {
        wbi_free(text);
        return WB_EIO;
    }
    *ret = text;
    return WB_OK;
}
