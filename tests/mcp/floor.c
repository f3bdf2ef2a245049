/* SPDX-License-Identifier: Apache-2.0
 * tests/mcp/floor.c: the least that can be done, to measure against. No protocol,
 * no checks, one thread.
 *   mcp_floor --http PORT         answers every POST of a tools/call with its message
 *   mcp_floor --relay COMMAND…    copies bytes between stdio and a child, both ways */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROOM 65536
#define EVENTS 64

struct conn {
    int fd;
    size_t n;
    char in[ROOM + 1];
};

static int write_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t k = write(fd, text, n);
        if (k <= 0)
            return -1;
        text += k;
        n -= (size_t)k;
    }
    return 0;
}

/* ---- HTTP ---- */

static int answer(int fd, const char *body)
{
    static char text[ROOM + 1024], all[ROOM + 2048];
    const char *id = strstr(body, "\"id\":"), *message = strstr(body, "\"message\":\"");
    size_t id_n = id != NULL ? strcspn(id + 5, ",}") : 0;
    size_t message_n = message != NULL ? strcspn(message + 11, "\"") : 0;
    int n, k;

    if (id == NULL) {
        static const char accepted[] = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
        return write_all(fd, accepted, sizeof(accepted) - 1);
    }
    if (strstr(body, "\"initialize\"") != NULL)
        n = snprintf(text, sizeof(text),
                     "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"protocolVersion\":"
                     "\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{\"name\":\"floor\","
                     "\"version\":\"1\"}}}",
                     (int)id_n, id + 5);
    else
        n = snprintf(text, sizeof(text),
                     "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"content\":[{\"type\":\"text\","
                     "\"text\":\"%.*s\"}]}}",
                     (int)id_n, id + 5, (int)message_n, message != NULL ? message + 11 : "");
    k = snprintf(
        all, sizeof(all),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", n,
        text);
    return write_all(fd, all, (size_t)k);
}

/* Every whole request in the buffer. */
static int serve(struct conn *c)
{
    for (;;) {
        char *end, *length, kept;
        size_t head, body;

        c->in[c->n] = '\0';
        end = strstr(c->in, "\r\n\r\n");
        if (end == NULL)
            return 0;
        head = (size_t)(end - c->in) + 4;
        length = strcasestr(c->in, "content-length:");
        body = length != NULL && length < end ? strtoul(length + 15, NULL, 10) : 0;
        if (head + body > c->n)
            return head + body > ROOM ? -1 : 0;
        kept = c->in[head + body];
        c->in[head + body] = '\0';
        if (answer(c->fd, c->in + head) != 0)
            return -1;
        c->in[head + body] = kept;
        c->n -= head + body;
        memmove(c->in, c->in + head + body, c->n);
    }
}

static void take(int epoll, struct conn *c)
{
    ssize_t n = read(c->fd, c->in + c->n, ROOM - c->n);

    if (n > 0) {
        c->n += (size_t)n;
        if (serve(c) == 0)
            return;
    }
    (void)epoll_ctl(epoll, EPOLL_CTL_DEL, c->fd, NULL);
    close(c->fd);
    free(c);
}

static void greet(int epoll, int listener)
{
    struct conn *c = calloc(1, sizeof(*c));
    struct epoll_event event = {.events = EPOLLIN};
    int on = 1;

    if (c == NULL)
        exit(1);
    event.data.ptr = c;
    c->fd = accept(listener, NULL, NULL);
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (c->fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
        exit(1);
}

static int serve_http(unsigned short port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0), on = 1;
    struct epoll_event event = {.events = EPOLLIN}, events[EVENTS];
    socklen_t n = sizeof(at);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(listener, (struct sockaddr *)&at, n) != 0 || listen(listener, 256) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &n) != 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0)
        return 1;
    fprintf(stderr, "listening on http://127.0.0.1:%u/mcp\n", ntohs(at.sin_port));
    for (;;) {
        int ready = epoll_wait(epoll, events, EVENTS, -1);

        for (int i = 0; i < ready; i++) {
            if (events[i].data.ptr == NULL)
                greet(epoll, listener);
            else
                take(epoll, events[i].data.ptr);
        }
    }
}

/* ---- relay ---- */

/* What is there, from one side to the other; -1 at its end. */
static int copy(int from, int to)
{
    static char text[ROOM];
    ssize_t n = read(from, text, sizeof(text));

    return n > 0 ? write_all(to, text, (size_t)n) : -1;
}

static int relay(char **argv)
{
    int to[2], from[2];
    struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.events = POLLIN}};

    if (pipe(to) != 0 || pipe(from) != 0)
        return 1;
    if (fork() == 0) {
        if (dup2(to[0], STDIN_FILENO) < 0 || dup2(from[1], STDOUT_FILENO) < 0)
            _exit(126);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    fds[1].fd = from[0];
    while (poll(fds, 2, -1) > 0) {
        if (fds[0].revents != 0 && copy(STDIN_FILENO, to[1]) != 0) {
            close(to[1]);
            fds[0].fd = -1;
        }
        if (fds[1].revents != 0 && copy(from[0], STDOUT_FILENO) != 0)
            break;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--http") == 0)
        return serve_http((unsigned short)atoi(argv[2]));
    if (argc > 2 && strcmp(argv[1], "--relay") == 0)
        return relay(argv + 2);
    fprintf(stderr, "usage: mcp_floor --http PORT | --relay COMMAND...\n");
    return 2;
}
