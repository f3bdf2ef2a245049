/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/load/load.h: what the parts of the load generator share. It stands
 * on the C library alone: what it measures is not in it. */
#ifndef MCP_LOAD_H
#define MCP_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENTS_MAX 256
#define KINDS_MAX 16
#define SAMPLES 10
#define KEPT_MAX 4000000 /* times of calls */
#define STUCK_NS (INT64_C(30) * 1000000000)

/* One kind of call; %s in either text stands for what is unique about a call. */
struct kind {
    const char *name, *arguments, *expected;
};

struct options {
    int port; /* 0: stdio */
    char **command;
    const char *token, *path;
    struct kind kinds[KINDS_MAX];
    size_t kind_count;
    int clients;
    long calls, warm, starts;
    double seconds;
    unsigned faults; /* of 1000 calls */
    bool modern, shared, threads;
    long flat_kb; /* by how much its memory may grow, 0: nobody looks */
    long pid;     /* the server's, 0: unknown */
};

struct text {
    char *p;
    size_t n, cap;
};

/* A client with one call under way. Over HTTP each has its own connection and,
 * unless shared, its own session; ids count from 1 for every one of them. */
struct client {
    int number, fd;
    long serial, id;
    char unique[48];
    const struct kind *kind; /* NULL: any answer will do */
    bool waiting, measured;
    bool closing; /* the server ends the connection with this answer */
    int64_t sent_ns;
    char session[256];
    struct text in, body;
    int status;
};

/* usage.c */
struct usage {
    double self_us, loop_us, kids_us; /* CPU: of all threads, of the first, of descendants */
    long rss_kb, peak_kb, descriptors, children;
};
void usage_of(long pid, struct usage *ret);

struct run {
    const struct options *o;
    struct client *clients;
    atomic_long *issued; /* of all threads */
    uint32_t *took;      /* ns, of measured calls */
    long done, measured, refused, unexpected, crossed;
    int64_t began_ns, end_ns; /* began: 0, another thread's call was the first measured */
    struct usage before, after, samples[SAMPLES];
    int sampled;
};

/* main.c */
int64_t now_ns(void);
_Noreturn void die(const char *what, const char *detail);
unsigned chance(unsigned below);
void text_add(struct text *t, const char *bytes, size_t n);
void text_addz(struct text *t, const char *s);
void text_drop(struct text *t, size_t n);
/* The next call of c, or false: there have been enough. */
bool next_call(struct run *r, struct client *c);

/* message.c: JSON-RPC, as far as a load generator needs it. */
extern const char message_initialize[], message_initialized[];
void put_call(const struct options *o, const struct client *c, struct text *out);
enum verdict { RIGHT, REFUSED, CROSSED };
/* Of the answer that c got: is it the one to its call? */
enum verdict judge(const struct client *c, const char *json, size_t n);
long message_id(const char *json, size_t n); /* -1: it has none */

/* main.c: one call less under way; how long it took, and what of its answer. */
void finish_call(struct run *r, struct client *c, const char *json, size_t n);

/* http.c */
void http_connect(const struct options *o, struct client *c);
/* Connects and opens a session. */
void http_open(const struct options *o, struct client *c);
void http_post(const struct options *o, struct client *c, const char *tool,
               const struct text *body);
/* Takes what has come: 1 a whole answer is in body, 0 not yet, -1 the connection ended. */
int http_take(struct client *c);
/* Does what a client should not do, instead of a call; c->waiting: an answer is owed. */
void http_fault(const struct options *o, struct client *c);

/* threads.c */
void run_threads(struct run *r);

#endif
