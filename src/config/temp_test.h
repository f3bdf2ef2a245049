/* SPDX-License-Identifier: Apache-2.0
 * config/temp_test.h: real folders for the tests of this room. */
#ifndef WBI_CONFIG_TEMP_TEST_H
#define WBI_CONFIG_TEMP_TEST_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder of its own, links resolved; end with temp_remove. */
static inline void temp_make(char out[200])
{
    char name[] = "/tmp/waybill-config-XXXXXX", *real;

    assert_non_null(mkdtemp(name));
    real = realpath(name, NULL);
    assert_non_null(real);
    (void)snprintf(out, 200, "%s", real);
    free(real);
}

static inline int temp_remove_one(const char *path, const struct stat *st, int kind,
                                  struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

static inline void temp_remove(const char *folder)
{
    (void)nftw(folder, temp_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline const char *temp_path(const char *folder, const char *name)
{
    static char paths[8][600];
    static unsigned next;
    char *path = paths[next++ % 8];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static inline void temp_folder(const char *folder, const char *name)
{
    assert_int_equal(mkdir(temp_path(folder, name), 0700), 0);
}

static inline void temp_file(const char *folder, const char *name, const char *text)
{
    FILE *f = fopen(temp_path(folder, name), "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

#endif
