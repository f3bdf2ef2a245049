/* SPDX-License-Identifier: Apache-2.0
 * tests/support/raw_http.c */
#include "support/raw_http.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

char raw_request[1 << 23];
int raw_client;

void raw_put(const char *text)
{
    size_t n = strlen(text);

    while (n > 0) {
        ssize_t wrote = send(raw_client, text, n, MSG_NOSIGNAL);

        if (wrote <= 0)
            exit(0);
        text += wrote;
        n -= (size_t)wrote;
    }
}

static void serve(void (*serve_one)(const char *body))
{
    size_t have = 0;

    for (;;) {
        char *end, *length;
        size_t whole;
        ssize_t n = recv(raw_client, raw_request + have, sizeof(raw_request) - 1 - have, 0);

        if (n <= 0)
            return;
        have += (size_t)n;
        raw_request[have] = '\0';
        end = strstr(raw_request, "\r\n\r\n");
        if (end == NULL)
            continue;
        length = strcasestr(raw_request, "\r\nContent-Length:");
        whole = (size_t)(end - raw_request) + 4;
        whole += length != NULL && length < end ? strtoul(length + 17, NULL, 10) : 0;
        if (have < whole)
            continue;
        serve_one(end + 4);
        have = 0;
    }
}

int raw_serve(void (*serve_one)(const char *body))
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)signal(SIGCHLD, SIG_IGN);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) != 0 || listen(fd, 64) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) != 0)
        return 1;
    printf("port %d\n", ntohs(a.sin_port));
    fflush(stdout);
    alarm(120); /* whatever happens to the test */
    for (;;) {
        raw_client = accept(fd, NULL, NULL);
        if (raw_client < 0)
            return 1;
        if (fork() == 0) {
            close(fd);
            alarm(60);
            serve(serve_one);
            exit(0);
        }
        close(raw_client);
    }
}
