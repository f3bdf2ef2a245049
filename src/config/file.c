/* SPDX-License-Identifier: Apache-2.0
 * config/file.c: one configuration file, from bytes to a checked place in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "config/config_int.h"

static void name_file(struct wbi_error *err, const struct wbi_config_file *file)
{
    if (err != NULL)
        (void)snprintf(err->at, sizeof(err->at), "%.*s", WBI_FMT(file->name));
}

wb_rc wbi_config_fail(struct wbi_error *err, const struct wbi_config_file *file, const wbi_json *v,
                      wb_rc rc, const char *fmt, ...)
{
    char text[sizeof(err->text)];
    size_t offset = v ? wbi_json_offset(file->copy, v) : SIZE_MAX;
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    (void)wbi_fail(err, rc, "%s", text);
    name_file(err, file);
    if (offset != SIZE_MAX)
        wbi_error_locate(err, file->text.p, file->text.n, offset);
    return rc;
}

uint32_t wbi_config_line(const struct wbi_config_file *file, const wbi_json *v)
{
    size_t offset = wbi_json_offset(file->copy, v);
    struct wbi_error place = WBI_ERROR_INIT;

    if (offset == SIZE_MAX)
        return 1;
    if (wbi_json_is(v, WBI_JSON_OBJ)) /* its first name was found; it opens before */
        while (offset > 0 && file->text.p[offset] != '{')
            offset--;
    wbi_error_locate(&place, file->text.p, file->text.n, offset);
    return place.line;
}

/* All bytes of a regular file up to the limit. */
static wb_rc read_all(struct wbi_arena *arena, int fd, size_t size, struct wbi_config_file *file,
                      struct wbi_error *err)
{
    char *p = wbi_arena_alloc(arena, size + 1);
    size_t n = 0;

    if (p == NULL)
        return wbi_fail_nomem(err);
    while (n < size) {
        ssize_t got = read(fd, p + n, size - n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return wbi_config_fail(err, file, NULL, WB_ESTATE, "cannot be read: %s",
                                   strerrordesc_np(errno));
        if (got == 0)
            break; /* it became shorter meanwhile */
        n += (size_t)got;
    }
    p[n] = '\0';
    file->text = wbi_str_make(p, n);
    return WB_OK;
}

static wb_rc check_kind(int fd, struct wbi_config_file *file, size_t *ret_size,
                        struct wbi_error *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return wbi_config_fail(err, file, NULL, WB_ESTATE, "cannot be read: %s",
                               strerrordesc_np(errno));
    if (!S_ISREG(st.st_mode))
        return wbi_config_fail(err, file, NULL, WB_ESTATE, "is no regular file");
    if (st.st_size > (off_t)WBI_LIMIT_CONFIG_FILE)
        return wbi_config_fail(err, file, NULL, WB_ELIMIT, "is larger than %u bytes",
                               WBI_LIMIT_CONFIG_FILE);
    file->device = st.st_dev;
    file->inode = st.st_ino;
    file->owner = st.st_uid;
    file->mode = st.st_mode;
    *ret_size = (size_t)st.st_size;
    return WB_OK;
}

wb_rc wbi_config_file_read(struct wbi_arena *arena, int folder, const char *path,
                           struct wbi_config_file *file, struct wbi_error *err)
{
    /* O_NONBLOCK: opening a pipe somebody put there must not wait. */
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (file->workspace ? O_NOFOLLOW : 0);
    int fd = openat(folder, path, flags);
    size_t size = 0;
    wb_rc rc;

    if (fd < 0 && errno == ENOENT)
        return wbi_config_fail(err, file, NULL, WB_ENOTFOUND, "does not exist");
    if (fd < 0 && errno == ELOOP)
        return wbi_config_fail(err, file, NULL, WB_ESTATE,
                               "is a link; a workspace's configuration must be a plain file");
    if (fd < 0)
        return wbi_config_fail(err, file, NULL, WB_ESTATE, "cannot be opened: %s",
                               strerrordesc_np(errno));
    rc = check_kind(fd, file, &size, err);
    if (rc == WB_OK)
        rc = read_all(arena, fd, size, file, err);
    (void)close(fd); /* read only: nothing to lose */
    return rc;
}

wb_rc wbi_config_file_parse(struct wbi_arena *arena, struct wbi_config_file *file,
                            struct wbi_error *err)
{
    wb_rc rc =
        wbi_json_read_placed(arena, file->text, WBI_JSON_CONFIG, &file->root, &file->copy, err);

    if (rc != WB_OK)
        name_file(err, file);
    return rc;
}
