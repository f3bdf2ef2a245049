/* SPDX-License-Identifier: Apache-2.0
 * run/holder_int.h: the messages between runtime, holder and keepers, and the
 * memory the latter two work in. Both ends are the same binary, so layouts are
 * those of the compiler.
 *
 * The holder forks one keeper per command, one ahead: a spare waits for the next
 * request on the holder's own socket. A keeper is the subreaper of its command:
 * whatever the command leaves behind becomes the keeper's child, so a process
 * always belongs to exactly one command. The runtime and the keeper share a
 * socket; when the runtime dies the socket ends and the keeper kills all. */
#ifndef WBI_RUN_HOLDER_INT_H
#define WBI_RUN_HOLDER_INT_H

#include <stddef.h>

#include "run/launch.h"

#define WBI_REQUEST_INLINE 32768u /* longer arguments travel in a memory file */
#define WBI_REQUEST_FDS 6
#define WBI_KEEPERS_MAX 4096u
#define WBI_POINTERS 512u /* of arguments and environment; more are mapped */
#define WBI_SCAN_MAX 16384u

enum wbi_request_flags {
    WBI_REQUEST_TTY = 1,
    WBI_REQUEST_NEW_PRIVS = 2,
    WBI_REQUEST_WORKDIR = 4, /* a descriptor for it follows the keeper's socket */
    WBI_REQUEST_BLOCK = 8    /* the last descriptor holds the strings */
};

/* With it: stdin, stdout, stderr, keeper's socket, [workdir], [strings]. */
struct wbi_request {
    uint32_t argc, envc;
    uint32_t flags;
    uint32_t bytes; /* path, arguments, environment, each with its NUL */
    struct wbi_rlimits limits;
};

enum wbi_keeper_type {
    WBI_KEEPER_STARTED = 1, /* a: pid, b: the keeper's own */
    WBI_KEEPER_FAILED,      /* a: stage, b: errno; the last message */
    WBI_KEEPER_EXITED,      /* a: exit status or -1, b: signal, c: nothing else is left */
    WBI_KEEPER_LIMIT,       /* a: enum wbi_limit_hit; a sweep follows */
    WBI_KEEPER_GONE,        /* a: processes swept, b: could not be killed; the last one */
    WBI_KEEPER_SIGNAL,      /* to the keeper; a: signal for the group */
    WBI_KEEPER_SWEEP        /* to the keeper: kill everything and go */
};

struct wbi_keeper_msg {
    uint32_t type;
    int32_t a, b, c;
};

/* A process as /proc shows it. */
struct wbi_scanned {
    pid_t pid, parent;
    uint64_t rss_pages;
    bool ours;
};

struct wbi_holder_area {
    size_t size; /* with the stack behind it */
    int control;
    struct wbi_request request;
    char strings[WBI_REQUEST_INLINE];
    char *pointers[WBI_POINTERS];
    pid_t spare; /* a keeper that waits for a command; 0: none */
    bool wasted; /* the last one ended without a command: the next is not forked at once */
    uint32_t keeper_count;
    pid_t keepers[WBI_KEEPERS_MAX];
    uint32_t scanned_count;
    struct wbi_scanned scanned[WBI_SCAN_MAX];
    char io[32768];
};

/* The holder's whole life; area->control is its socket. Never returns. */
int wbi_holder_main(void *area);
/* What a keeper can do before it has a command. Its descriptor for ended children,
 * -1 on failure. */
int wbi_keeper_prepare(struct wbi_holder_area *area);
/* The keeper's life from then on. strings holds request.bytes bytes. */
_Noreturn void wbi_keeper_main(struct wbi_holder_area *area, int children, char *strings,
                               const int *fds);

/* Where n bytes and their end fill all the room, the last number may be half of one, and so
 * somebody else's: it is dropped. The next scan finds it. */
void wbi_scan_whole(char *text, size_t n, size_t room);
/* Children of this process into area->scanned[0 .. result). */
uint32_t wbi_scan_children(struct wbi_holder_area *area);
/* All descendants of this process, marked `ours`; returns how many, and the
 * pages they have resident. */
uint32_t wbi_scan_tree(struct wbi_holder_area *area, uint64_t *ret_pages);
/* KILL for each child not in keepers and for its whole group. */
void wbi_kill_children(struct wbi_holder_area *area, uint32_t count);

#endif
