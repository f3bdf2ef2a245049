/* SPDX-License-Identifier: Apache-2.0
 * base/fd.h: writing to descriptors, and when none is to be had. */
#ifndef WBI_BASE_FD_H
#define WBI_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* write() that reports EPIPE without the signal, and goes on after EINTR.
 * Returns -errno on failure. */
ssize_t wbi_write_quiet(int fd, const void *p, size_t n);
/* All of it to a file, also after EINTR. Returns 0, or the errno of what failed. */
int wbi_write_all(int fd, const void *p, size_t n);
/* What failed says nothing of the file: the process or the system has no descriptor, or no
 * memory, left for any. */
bool wbi_errno_is_shortage(int errno_value);

#endif
