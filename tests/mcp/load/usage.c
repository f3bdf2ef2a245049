/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/load/usage.c: what a process uses, as the kernel tells it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

#define DEPTH_MAX 4

/* CPU time of a thread in nanoseconds. */
static double thread_ns(long pid, long tid)
{
    char path[96];
    double ns = 0;
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%ld/task/%ld/schedstat", pid, tid);
    f = fopen(path, "r");
    if (f != NULL && fscanf(f, "%lf", &ns) != 1)
        ns = 0;
    if (f != NULL)
        (void)fclose(f);
    return ns;
}

/* Calls each with the numbers that are names in a folder of /proc; how many. */
static long each_number(const char *path, void (*each)(long number, void *arg), void *arg)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    long count = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        count++;
        if (each != NULL)
            each(atol(entry->d_name), arg);
    }
    if (dir != NULL)
        closedir(dir);
    return count;
}

struct threads {
    long pid;
    double ns;
};

static void add_thread(long tid, void *arg)
{
    struct threads *t = arg;

    t->ns += thread_ns(t->pid, tid);
}

static double process_us(long pid)
{
    struct threads t = {pid, 0};
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%ld/task", pid);
    (void)each_number(path, add_thread, &t);
    return t.ns / 1000;
}

/* Children of the first thread: it is the one that starts them. */
static void add_children(long pid, int depth, struct usage *u)
{
    char path[96];
    long child;
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", pid, pid);
    f = depth < DEPTH_MAX ? fopen(path, "r") : NULL;
    while (f != NULL && fscanf(f, "%ld", &child) == 1) {
        u->children++;
        u->kids_us += process_us(child);
        add_children(child, depth + 1, u);
    }
    if (f != NULL)
        (void)fclose(f);
}

static void read_memory(long pid, struct usage *u)
{
    char path[64], line[256];
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%ld/status", pid);
    f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0)
            u->rss_kb = atol(line + 6);
        if (strncmp(line, "VmHWM:", 6) == 0)
            u->peak_kb = atol(line + 6);
    }
    if (f != NULL)
        (void)fclose(f);
}

void usage_of(long pid, struct usage *ret)
{
    char path[64];

    memset(ret, 0, sizeof(*ret));
    if (pid == 0)
        return;
    ret->self_us = process_us(pid);
    ret->loop_us = thread_ns(pid, pid) / 1000;
    read_memory(pid, ret);
    add_children(pid, 0, ret);
    (void)snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
    ret->descriptors = each_number(path, NULL, NULL);
}
