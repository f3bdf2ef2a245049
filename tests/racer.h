/* SPDX-License-Identifier: Apache-2.0
 * tests/racer.h: a process that swaps a directory with a link to the outside as
 * fast as it can (attack 5). work/swap is now the directory with a file `f` of
 * "inside", now a link to outside, whose `f` holds "secret". */
#ifndef WAYBILL_TESTS_RACER_H
#define WAYBILL_TESTS_RACER_H

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chance.h"
#include "tree.h"

#define RACER_ROUNDS 300000ul /* of each way in, whole (chance.h) */
#define RACER_PATIENCE 200u   /* times as many, where the swapping thread gets no turn */

struct racer {
    struct tree tree;
    pid_t pid;
};

static inline bool racer_start(struct racer *r)
{
    char a[128], b[128];

    if (!tree_make(&r->tree) || !tree_puts(&r->tree, "outside/f", "secret") ||
        !tree_puts(&r->tree, "outside/marker", "secret") ||
        mkdir(tree_at(&r->tree, "work/swap"), 0755) != 0 ||
        !tree_puts(&r->tree, "work/swap/f", "inside") ||
        symlink("../outside", tree_at(&r->tree, "work/other")) != 0)
        return false;
    snprintf(a, sizeof(a), "%s", tree_at(&r->tree, "work/swap"));
    snprintf(b, sizeof(b), "%s", tree_at(&r->tree, "work/other"));
    r->pid = fork();
    if (r->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
    }
    return r->pid > 0;
}

static inline void racer_stop(struct racer *r)
{
    kill(r->pid, SIGKILL);
    waitpid(r->pid, NULL, 0);
}

/* Nothing outside was made, changed or removed. */
static inline bool racer_outside_is_whole(struct racer *r)
{
    DIR *d = opendir(r->tree.outside);
    unsigned entries = 0;

    while (d != NULL && readdir(d) != NULL)
        entries++;
    if (d != NULL)
        closedir(d);
    return entries == 4 && /* ".", "..", f, marker */
           tree_is(&r->tree, "outside/f", "secret") &&
           tree_is(&r->tree, "outside/marker", "secret");
}

#endif
