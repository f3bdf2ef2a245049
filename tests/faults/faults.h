/* SPDX-License-Identifier: Apache-2.0
 * tests/faults/faults.h: make the n-th system call or allocation fail.
 * Include it in exactly one source of a test program: it defines write, fsync,
 * open and their kin, and because they stand in the program itself, shared
 * libraries (SQLite, libuv) call them too. Nothing fails until a test says so.
 * Allocations are left alone under AddressSanitizer, which owns malloc. */
#ifndef WAYBILL_TESTS_FAULTS_H
#define WAYBILL_TESTS_FAULTS_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum fault_call {
    FAULT_WRITE,  /* write, pwrite */
    FAULT_READ,   /* read, pread, preadv2 */
    FAULT_SYNC,   /* fsync, fdatasync */
    FAULT_OPEN,   /* open, openat */
    FAULT_RENAME, /* rename, renameat, renameat2 */
    FAULT_LINK,   /* linkat, unlinkat */
    FAULT_LOCK,   /* flock, fcntl with a lock */
    FAULT_RESIZE, /* ftruncate */
    FAULT_ALLOC,  /* malloc, calloc, realloc */
    FAULT_THREAD, /* pthread_create */
    FAULT_CALLS
};

enum {
    FAULT_SHORT_WRITE = -1, /* as error: half of the bytes, and success */
    FAULT_SHORT_READ = FAULT_SHORT_WRITE,
    FAULT_DIE = -2,      /* the process is killed in front of the call */
    FAULT_MEANWHILE = -3 /* faults.meanwhile runs in front of the call, which then goes on */
};

static struct {
    atomic_int call; /* -1: none */
    atomic_long countdown;
    atomic_int error;
    atomic_bool sticky; /* all from the n-th on */
    atomic_long hits;
    const char *path; /* only files whose path holds this; NULL: all */
    void (*meanwhile)(void);
} faults = {.call = -1};

/* The n-th (from 1) of these calls from now on fails with error; with sticky, all after it too. */
static inline void faults_arm(enum fault_call call, long n, int error, bool sticky,
                              const char *path)
{
    atomic_store(&faults.hits, 0);
    atomic_store(&faults.countdown, n);
    atomic_store(&faults.error, error);
    atomic_store(&faults.sticky, sticky);
    faults.path = path;
    atomic_store(&faults.call, (int)call);
}

/* How many calls failed since. */
static inline long faults_disarm(void)
{
    atomic_store(&faults.call, -1);
    return atomic_load(&faults.hits);
}

static inline bool faults_allocations_work(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#else
    return true;
#endif
}

static inline bool faults_on_path(int fd, const char *name)
{
    char link[64], target[4096];
    ssize_t n;

    if (faults.path == NULL || (name != NULL && strstr(name, faults.path) != NULL))
        return true;
    if (fd < 0)
        return false;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, target, sizeof(target) - 1);
    if (n <= 0)
        return false;
    target[n] = '\0';
    return strstr(target, faults.path) != NULL;
}

/* True: fail now with errno set (or cut the write short). */
static inline bool faults_due(enum fault_call call, int fd, const char *name)
{
    long left;

    if (atomic_load_explicit(&faults.call, memory_order_relaxed) != (int)call)
        return false;
    if (call != FAULT_ALLOC && call != FAULT_THREAD && !faults_on_path(fd, name))
        return false;
    left = atomic_fetch_sub(&faults.countdown, 1) - 1;
    if (left > 0 || (left < 0 && !atomic_load(&faults.sticky)))
        return false;
    atomic_fetch_add(&faults.hits, 1);
    if (atomic_load(&faults.error) == FAULT_DIE)
        (void)kill(getpid(), SIGKILL);
    if (atomic_load(&faults.error) == FAULT_MEANWHILE) {
        faults.meanwhile();
        return false;
    }
    errno = atomic_load(&faults.error);
    return true;
}

#define FAULTS_REAL(name)                      \
    static __typeof__(&name) real;             \
    if (real == NULL) {                        \
        void *found = dlsym(RTLD_NEXT, #name); \
        memcpy(&real, &found, sizeof(real));   \
    }

__attribute__((visibility("default"))) ssize_t write(int fd, const void *p, size_t n)
{
    FAULTS_REAL(write)
    if (faults_due(FAULT_WRITE, fd, NULL)) {
        if (atomic_load(&faults.error) != FAULT_SHORT_WRITE)
            return -1;
        n = n > 1 ? n / 2 : n;
    }
    return real(fd, p, n);
}

#define FAULTS_PWRITE(name, type)                                                                 \
    __attribute__((visibility("default"))) ssize_t name(int fd, const void *p, size_t n, type at) \
    {                                                                                             \
        FAULTS_REAL(name)                                                                         \
        if (faults_due(FAULT_WRITE, fd, NULL)) {                                                  \
            if (atomic_load(&faults.error) != FAULT_SHORT_WRITE)                                  \
                return -1;                                                                        \
            n = n > 1 ? n / 2 : n;                                                                \
        }                                                                                         \
        return real(fd, p, n, at);                                                                \
    }
FAULTS_PWRITE(pwrite, off_t)
FAULTS_PWRITE(pwrite64, off64_t)

__attribute__((visibility("default"))) ssize_t read(int fd, void *p, size_t n)
{
    FAULTS_REAL(read)
    if (faults_due(FAULT_READ, fd, NULL)) {
        if (atomic_load(&faults.error) != FAULT_SHORT_READ)
            return -1;
        n = n > 1 ? n / 2 : n;
    }
    return real(fd, p, n);
}

#define FAULTS_PREAD(name, type)                                                            \
    __attribute__((visibility("default"))) ssize_t name(int fd, void *p, size_t n, type at) \
    {                                                                                       \
        FAULTS_REAL(name)                                                                   \
        if (faults_due(FAULT_READ, fd, NULL)) {                                             \
            if (atomic_load(&faults.error) != FAULT_SHORT_READ)                             \
                return -1;                                                                  \
            n = n > 1 ? n / 2 : n;                                                          \
        }                                                                                   \
        return real(fd, p, n, at);                                                          \
    }
FAULTS_PREAD(pread, off_t)
FAULTS_PREAD(pread64, off64_t)

/* No short one: who reads without waiting takes that for bytes that are not in memory. */
#define FAULTS_PREADV2(name, type)                                                            \
    __attribute__((visibility("default"))) ssize_t name(int fd, const struct iovec *v, int n, \
                                                        type at, int flags)                   \
    {                                                                                         \
        FAULTS_REAL(name)                                                                     \
        return faults_due(FAULT_READ, fd, NULL) ? -1 : real(fd, v, n, at, flags);             \
    }
FAULTS_PREADV2(preadv2, off_t)
FAULTS_PREADV2(preadv64v2, off64_t)

#define FAULTS_ON_FD(name, call)                            \
    __attribute__((visibility("default"))) int name(int fd) \
    {                                                       \
        FAULTS_REAL(name)                                   \
        return faults_due(call, fd, NULL) ? -1 : real(fd);  \
    }
FAULTS_ON_FD(fsync, FAULT_SYNC)
FAULTS_ON_FD(fdatasync, FAULT_SYNC)

#define FAULTS_RESIZE(name, type)                                     \
    __attribute__((visibility("default"))) int name(int fd, type n)   \
    {                                                                 \
        FAULTS_REAL(name)                                             \
        return faults_due(FAULT_RESIZE, fd, NULL) ? -1 : real(fd, n); \
    }
FAULTS_RESIZE(ftruncate, off_t)
FAULTS_RESIZE(ftruncate64, off64_t)

#define FAULTS_MODE(flags)                                            \
    mode_t mode = 0;                                                  \
    if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE) { \
        va_list args;                                                 \
        va_start(args, flags);                                        \
        mode = va_arg(args, mode_t);                                  \
        va_end(args);                                                 \
    }

#define FAULTS_OPEN(name)                                                             \
    __attribute__((visibility("default"))) int name(const char *path, int flags, ...) \
    {                                                                                 \
        FAULTS_REAL(name)                                                             \
        FAULTS_MODE(flags)                                                            \
        return faults_due(FAULT_OPEN, -1, path) ? -1 : real(path, flags, mode);       \
    }
FAULTS_OPEN(open)
FAULTS_OPEN(open64)

#define FAULTS_OPENAT(name)                                                                   \
    __attribute__((visibility("default"))) int name(int at, const char *path, int flags, ...) \
    {                                                                                         \
        FAULTS_REAL(name)                                                                     \
        FAULTS_MODE(flags)                                                                    \
        return faults_due(FAULT_OPEN, at, path) ? -1 : real(at, path, flags, mode);           \
    }
FAULTS_OPENAT(openat)
FAULTS_OPENAT(openat64)

__attribute__((visibility("default"))) int rename(const char *from, const char *to)
{
    FAULTS_REAL(rename)
    return faults_due(FAULT_RENAME, -1, to) ? -1 : real(from, to);
}

__attribute__((visibility("default"))) int renameat(int a, const char *from, int b, const char *to)
{
    FAULTS_REAL(renameat)
    return faults_due(FAULT_RENAME, b, to) ? -1 : real(a, from, b, to);
}

__attribute__((visibility("default"))) int renameat2(int a, const char *from, int b, const char *to,
                                                     unsigned flags)
{
    FAULTS_REAL(renameat2)
    return faults_due(FAULT_RENAME, b, to) ? -1 : real(a, from, b, to, flags);
}

__attribute__((visibility("default"))) int linkat(int a, const char *from, int b, const char *to,
                                                  int flags)
{
    FAULTS_REAL(linkat)
    return faults_due(FAULT_LINK, b, to) ? -1 : real(a, from, b, to, flags);
}

__attribute__((visibility("default"))) int unlinkat(int at, const char *path, int flags)
{
    FAULTS_REAL(unlinkat)
    return faults_due(FAULT_LINK, at, path) ? -1 : real(at, path, flags);
}

static inline bool faults_is_lock(int command)
{
    return command == F_SETLK || command == F_SETLKW || command == F_GETLK ||
           command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK;
}

#define FAULTS_FCNTL(name)                                                    \
    __attribute__((visibility("default"))) int name(int fd, int command, ...) \
    {                                                                         \
        void *arg;                                                            \
        va_list args;                                                         \
        FAULTS_REAL(name)                                                     \
        va_start(args, command);                                              \
        arg = va_arg(args, void *);                                           \
        va_end(args);                                                         \
        if (faults_is_lock(command) && faults_due(FAULT_LOCK, fd, NULL))      \
            return -1;                                                        \
        return real(fd, command, arg);                                        \
    }
FAULTS_FCNTL(fcntl)
FAULTS_FCNTL(fcntl64)

__attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    FAULTS_REAL(pthread_create)
    return faults_due(FAULT_THREAD, -1, NULL) ? EAGAIN : real(thread, attr, fn, arg);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t n);
void *__libc_realloc(void *p, size_t n);

__attribute__((visibility("default"))) void *malloc(size_t n)
{
    return faults_due(FAULT_ALLOC, -1, NULL) ? NULL : __libc_malloc(n);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t n)
{
    return faults_due(FAULT_ALLOC, -1, NULL) ? NULL : __libc_calloc(count, n);
}

__attribute__((visibility("default"))) void *realloc(void *p, size_t n)
{
    return faults_due(FAULT_ALLOC, -1, NULL) ? NULL : __libc_realloc(p, n);
}
#endif

#endif
