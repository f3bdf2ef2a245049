/* SPDX-License-Identifier: Apache-2.0
 * http/ring.c: many sends by one system call (io_uring).
 * (1) A client that waits for its answer wakes up in the middle of the call that
 *     sends it, and takes the core as soon as that call ends: sent one by one, half
 *     of a crowd's answers cost a change of thread. Sent together they cost one.
 * (2) Nothing here waits: what a socket does not take at once is told, as by send().
 * (3) Where a ring cannot be had, or fails, the caller sends what is left by itself.
 *     An answer that the kernel may have begun is never given back to be sent again. */
#include <errno.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "http/http_int.h"

struct wbi_ring {
    int fd;
    bool broken; /* it failed once: not used again */
    void *shared;
    size_t shared_n;
    struct io_uring_sqe *asks;
    size_t asks_n;
    _Atomic unsigned *asks_end, *results_start, *results_end;
    unsigned *order;
    struct io_uring_cqe *results;
    unsigned asks_mask, results_mask;
};

static void *map(const struct wbi_ring *r, size_t n, off_t what)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, what);

    return p == MAP_FAILED ? NULL : p;
}

static void *place(const struct wbi_ring *r, unsigned offset)
{
    return (char *)r->shared + offset;
}

static bool map_all(struct wbi_ring *r, const struct io_uring_params *p)
{
    const size_t asks = p->sq_off.array + p->sq_entries * sizeof(unsigned);
    const size_t results = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);

    r->shared_n = WBI_MAX(asks, results);
    r->asks_n = p->sq_entries * sizeof(struct io_uring_sqe);
    r->shared = map(r, r->shared_n, IORING_OFF_SQ_RING);
    r->asks = map(r, r->asks_n, IORING_OFF_SQES);
    if (r->shared == NULL || r->asks == NULL)
        return false;
    r->asks_end = place(r, p->sq_off.tail);
    r->asks_mask = *(unsigned *)place(r, p->sq_off.ring_mask);
    r->order = place(r, p->sq_off.array);
    r->results_start = place(r, p->cq_off.head);
    r->results_end = place(r, p->cq_off.tail);
    r->results_mask = *(unsigned *)place(r, p->cq_off.ring_mask);
    r->results = place(r, p->cq_off.cqes);
    return true;
}

struct wbi_ring *wbi_ring_new(void)
{
    /* Without SUBMIT_ALL (Linux 5.18) one broken connection would hold up the others. */
    struct io_uring_params p = {.flags = IORING_SETUP_SUBMIT_ALL};
    struct wbi_ring *r = wbi_zalloc(sizeof(*r));

    if (r == NULL)
        return NULL;
    r->fd = (int)syscall(SYS_io_uring_setup, WBI_HTTP_SEND_BATCH, &p);
    if (r->fd >= 0 && (p.features & IORING_FEAT_SINGLE_MMAP) != 0 && map_all(r, &p))
        return r;
    wbi_ring_free(r);
    return NULL;
}

void wbi_ring_free(struct wbi_ring *r)
{
    if (r == NULL)
        return;
    if (r->asks != NULL)
        (void)munmap(r->asks, r->asks_n);
    if (r->shared != NULL)
        (void)munmap(r->shared, r->shared_n);
    if (r->fd >= 0)
        (void)close(r->fd);
    wbi_free(r);
}

/* Asks to send for the first of the list; returns for how many. */
static unsigned ask(struct wbi_ring *r, struct wbi_conn *c, struct wbi_conn **batch)
{
    unsigned end = atomic_load_explicit(r->asks_end, memory_order_relaxed), n = 0;

    for (; c != NULL && n < WBI_HTTP_SEND_BATCH; c = c->next_out, n++) {
        const unsigned at = (end + n) & r->asks_mask;

        r->asks[at] = (struct io_uring_sqe){
            .opcode = IORING_OP_SEND,
            .fd = c->fd,
            .addr = (uintptr_t)(c->out.p + c->sent),
            .len = (uint32_t)WBI_MIN(c->out.n - c->sent, (size_t)INT32_MAX),
            .msg_flags = MSG_NOSIGNAL | MSG_DONTWAIT,
            .user_data = n,
        };
        r->order[at] = at;
        batch[n] = c;
    }
    atomic_store_explicit(r->asks_end, end + n, memory_order_release);
    return n;
}

/* Returns how many results there were. */
static unsigned take_results(struct wbi_ring *r, struct wbi_conn **batch)
{
    unsigned at = atomic_load_explicit(r->results_start, memory_order_relaxed), n = 0;
    const unsigned end = atomic_load_explicit(r->results_end, memory_order_acquire);

    for (; at != end; at++, n++) {
        const struct io_uring_cqe *result = &r->results[at & r->results_mask];

        batch[result->user_data]->flown = result->res;
    }
    atomic_store_explicit(r->results_start, at, memory_order_release);
    return n;
}

static long enter(struct wbi_ring *r, unsigned asked, unsigned awaited)
{
    const unsigned flags = awaited > 0 ? IORING_ENTER_GETEVENTS : 0;
    long n;

    do
        n = syscall(SYS_io_uring_enter, r->fd, asked, awaited, flags, NULL, 0);
    while (n < 0 && errno == EINTR);
    r->broken = r->broken || n < 0;
    return n;
}

struct wbi_conn *wbi_ring_send(struct wbi_ring *r, struct wbi_conn *first)
{
    struct wbi_conn *batch[WBI_HTTP_SEND_BATCH];

    while (first != NULL && !r->broken) {
        const unsigned asked = ask(r, first, batch);
        const long n = enter(r, asked, 0);
        const unsigned begun = n > 0 ? (unsigned)n : 0;
        unsigned told = 0;

        for (unsigned i = 0; i < begun; i++)
            batch[i]->flown = -EIO; /* unless it is told otherwise */
        /* Sends that do not wait are over by now; a kernel that is not done is waited for. */
        while ((told += take_results(r, batch)) < begun && enter(r, 0, begun - told) >= 0)
            ;
        r->broken = r->broken || begun < asked;
        first = begun < asked ? batch[begun] : batch[asked - 1]->next_out;
    }
    return first;
}
