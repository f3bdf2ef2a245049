/* SPDX-License-Identifier: Apache-2.0
 * tests/shared_vectors.h: public test vectors, read where they are. They are
 * not part of this tree; a test that needs them says by name what it skipped. */
#ifndef WBI_TESTS_SHARED_VECTORS_H
#define WBI_TESTS_SHARED_VECTORS_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"

/* Path of name below WAYBILL_VECTORS, or below ../shared. */
static inline const char *shared_path(char *out, size_t size, const char *name)
{
    const char *root = getenv("WAYBILL_VECTORS");

    (void)snprintf(out, size, "%s/%s", root ? root : WAYBILL_SOURCE "/../shared", name);
    return out;
}

/* False, and a line that says so, when the vectors are not there. */
static inline bool shared_present(const char *name)
{
    char path[1024];

    if (access(shared_path(path, sizeof(path), name), R_OK) == 0)
        return true;
    printf("skipped: %s (no ../shared)\n", name);
    return false;
}

/* Whole file into out (a heap buffer the caller ends); false when unreadable. */
static inline bool read_whole_file(const char *path, struct wbi_buf *out)
{
    char chunk[8192];
    FILE *f = fopen(path, "rb");
    size_t n;

    wbi_buf_init(out, (size_t)64 << 20);
    if (f == NULL)
        return false;
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        wbi_buf_add(out, chunk, n);
    fclose(f);
    return wbi_buf_rc(out) == WB_OK;
}

static inline bool read_shared(const char *name, struct wbi_buf *out)
{
    char path[1024];

    return read_whole_file(shared_path(path, sizeof(path), name), out);
}

#endif
