/* SPDX-License-Identifier: Apache-2.0
 * tests/datafiles.h: folders of test data, one case a file. Include after cmocka.h. */
#ifndef WAYBILL_TESTS_DATAFILES_H
#define WAYBILL_TESTS_DATAFILES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "json/write.h"

/* Calls each for the files of a folder whose names end so, in the order of their names; where
 * the variable `only` is set, for those whose names begin with its value. How many. */
static inline int each_data_file(const char *folder, const char *end, const char *only,
                                 void (*each)(const char *path, const char *name))
{
    const char *wish = only != NULL ? getenv(only) : NULL;
    struct dirent **list;
    int n = scandir(folder, &list, NULL, alphasort), called = 0;
    char path[4352];

    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        size_t length = strlen(name);

        if (length > strlen(end) && strcmp(name + length - strlen(end), end) == 0 &&
            (wish == NULL || strncmp(name, wish, strlen(wish)) == 0)) {
            (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
            each(path, name);
            called++;
        }
        free(list[i]);
    }
    free(list);
    assert_true(called > 0);
    return called;
}

/* What WAYBILL_UPDATE leaves of a file. */
static inline void write_data_file(const char *path, const wbi_json *v)
{
    struct wbi_buf pretty;
    FILE *f = fopen(path, "wb");

    wbi_buf_init(&pretty, WBI_LIMIT_JSON_TEXT);
    wbi_json_pretty(&pretty, v);
    wbi_buf_addc(&pretty, '\n');
    assert_non_null(f);
    assert_int_equal(fwrite(pretty.p, 1, pretty.n, f), pretty.n);
    assert_int_equal(fclose(f), 0);
    wbi_buf_fini(&pretty);
}

#endif
