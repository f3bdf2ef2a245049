/* SPDX-License-Identifier: Apache-2.0
 * support/dial.h: a client's socket on loopback. */
#ifndef WBI_TESTS_SUPPORT_DIAL_H
#define WBI_TESTS_SUPPORT_DIAL_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

/* Connected to that port of 127.0.0.1; -1 when it is not. */
static inline int dial_port(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && connect(fd, (struct sockaddr *)(void *)&to, sizeof(to)) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

#endif
