/* SPDX-License-Identifier: Apache-2.0
 * tests/tree.h: a throw-away directory for tests that need a real file system. */
#ifndef WAYBILL_TESTS_TREE_H
#define WAYBILL_TESTS_TREE_H

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* top/root is the execution root, top/outside what must not be reached. */
struct tree {
    char top[64];
    char root[80];
    char outside[80];
};

static inline int tree_remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)st;
    (void)type;
    (void)f;
    return remove(path);
}

static inline bool tree_make(struct tree *t)
{
    snprintf(t->top, sizeof(t->top), "/tmp/waybill-test-XXXXXX");
    if (mkdtemp(t->top) == NULL)
        return false;
    snprintf(t->root, sizeof(t->root), "%s/work", t->top);
    snprintf(t->outside, sizeof(t->outside), "%s/outside", t->top);
    return mkdir(t->root, 0755) == 0 && mkdir(t->outside, 0755) == 0;
}

static inline void tree_remove(struct tree *t)
{
    nftw(t->top, tree_remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

/* Path of name beneath top; one of four buffers in turn. */
static inline const char *tree_at(const struct tree *t, const char *name)
{
    static char bufs[4][4096];
    static unsigned turn;
    char *b = bufs[turn++ % 4];

    snprintf(b, sizeof(bufs[0]), "%s/%s", t->top, name);
    return b;
}

static inline bool tree_put(const struct tree *t, const char *name, const void *p, size_t n)
{
    int fd = open(tree_at(t, name), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    bool ok;

    if (fd < 0)
        return false;
    ok = write(fd, p, n) == (ssize_t)n;
    return close(fd) == 0 && ok;
}

static inline bool tree_puts(const struct tree *t, const char *name, const char *text)
{
    return tree_put(t, name, text, strlen(text));
}

/* Content into out, NUL-terminated; -1 when there is no such file. */
static inline ssize_t tree_get(const struct tree *t, const char *name, char *out, size_t max)
{
    int fd = open(tree_at(t, name), O_RDONLY);
    ssize_t n;

    if (fd < 0)
        return -1;
    n = read(fd, out, max - 1);
    close(fd);
    if (n >= 0)
        out[n] = '\0';
    return n;
}

static inline bool tree_is(const struct tree *t, const char *name, const char *text)
{
    static char buf[65536];
    ssize_t n = tree_get(t, name, buf, sizeof(buf));

    return n >= 0 && (size_t)n == strlen(text) && memcmp(buf, text, (size_t)n) == 0;
}

#endif
