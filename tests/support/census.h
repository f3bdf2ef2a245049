/* SPDX-License-Identifier: Apache-2.0
 * tests/support/census.h: who is alive, read from /proc. Zombies are dead. */
#ifndef WAYBILL_TESTS_CENSUS_H
#define WAYBILL_TESTS_CENSUS_H

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Live processes of a group (group > 0) and, if mark is given, those whose
 * environment holds it. */
static inline int census(int group, const char *mark)
{
    DIR *proc = opendir("/proc");
    struct dirent *e;
    int alive = 0;

    while (proc != NULL && (e = readdir(proc)) != NULL) {
        char path[300], text[65536], *after, state;
        int pgrp = 0;
        size_t n, m = mark != NULL ? strlen(mark) : 0;
        FILE *f;

        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
        f = fopen(path, "re");
        n = f != NULL ? fread(text, 1, sizeof(text) - 1, f) : 0;
        if (f != NULL)
            fclose(f);
        text[n] = '\0';
        after = strrchr(text, ')');
        if (after == NULL || sscanf(after + 1, " %c %*d %d", &state, &pgrp) != 2 || state == 'Z' ||
            state == 'X')
            continue;
        if (group > 0 && pgrp == group)
            alive++;
        if (mark == NULL)
            continue;
        snprintf(path, sizeof(path), "/proc/%s/environ", e->d_name);
        f = fopen(path, "re");
        n = f != NULL ? fread(text, 1, sizeof(text), f) : 0;
        if (f != NULL)
            fclose(f);
        if (n >= m && memmem(text, n, mark, m) != NULL)
            alive++;
    }
    if (proc != NULL)
        closedir(proc);
    return alive;
}

/* The same, but gives the dying up to two seconds (S8). */
static inline int census_after_death(int group, const char *mark)
{
    int alive = census(group, mark);

    for (int i = 0; alive > 0 && i < 200; i++) {
        usleep(10000);
        alive = census(group, mark);
    }
    return alive;
}

#endif
