/* SPDX-License-Identifier: Apache-2.0
 * mcp/curl.c: the few functions and numbers of libcurl's stable interface that
 * are needed, and its multi interface on our loop.
 * (1) libcurl forbids calls into it from its own callbacks: those only fill
 *     buffers; events run afterwards. (2) A transfer freed from inside an event
 *     is unlinked then and destroyed when libcurl is left. */
#include "mcp/curl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/limits.h"
#include "loop/loop.h"

enum {
    OPT_WRITEDATA = 10001,
    OPT_URL = 10002,
    OPT_READDATA = 10009,
    OPT_HTTPHEADER = 10023,
    OPT_HEADERDATA = 10029,
    OPT_CUSTOMREQUEST = 10036,
    OPT_NOPROXY = 10177,
    OPT_PRIVATE = 10103,
    OPT_WRITEFUNCTION = 20011,
    OPT_READFUNCTION = 20012,
    OPT_HEADERFUNCTION = 20079,
    OPT_POSTFIELDSIZE_LARGE = 30120,
    OPT_POST = 47,
    OPT_HTTP_VERSION = 84,
    OPT_NOSIGNAL = 99,
    OPT_TIMEOUT_MS = 155,
    OPT_CONNECTTIMEOUT_MS = 156,
    OPT_PROTOCOLS = 181,
    MOPT_SOCKETFUNCTION = 20001,
    MOPT_SOCKETDATA = 10002,
    MOPT_TIMERFUNCTION = 20004,
    MOPT_TIMERDATA = 10005,
    INFO_RESPONSE_CODE = 0x200002,
    INFO_REQUEST_SIZE = 0x20000c,
    INFO_PRIVATE = 0x100015,
    POLL_IN = 1,
    POLL_OUT = 2,
    POLL_REMOVE = 4,
    SELECT_IN = 1,
    SELECT_OUT = 2,
    SOCKET_TIMEOUT = -1,
    MESSAGE_DONE = 1,
    HTTP_1_1 = 2,
    HTTP_AND_HTTPS = 3,
    RESULT_SEND_FAIL_REWIND = 65,
    GLOBAL_DEFAULT = 3
};

struct message {
    int kind;
    void *easy;
    union {
        void *whatever;
        int result;
    } data;
};

struct functions {
    int (*global_init)(long flags);
    void *(*multi_init)(void);
    int (*multi_cleanup)(void *multi);
    int (*multi_setopt)(void *multi, int option, ...);
    int (*multi_add_handle)(void *multi, void *easy);
    int (*multi_remove_handle)(void *multi, void *easy);
    int (*multi_socket_action)(void *multi, int fd, int mask, int *running);
    int (*multi_assign)(void *multi, int fd, void *p);
    struct message *(*multi_info_read)(void *multi, int *left);
    void *(*easy_init)(void);
    void (*easy_cleanup)(void *easy);
    int (*easy_setopt)(void *easy, int option, ...);
    int (*easy_getinfo)(void *easy, int info, ...);
    const char *(*easy_strerror)(int code);
    void *(*slist_append)(void *list, const char *line);
    void (*slist_free_all)(void *list);
    time_t (*getdate)(const char *text, const time_t *unused);
};

struct socket {
    struct socket *next;
    struct wbi_curl *curl;
    int fd;
    struct wbi_watch *watch;
};

struct wbi_transfer {
    struct wbi_transfer *next, **prev;
    struct wbi_curl *curl;
    void *easy, *headers;
    void (*on_event)(void *, struct wbi_transfer *, const struct wbi_transfer_view *);
    void *arg;
    struct wbi_buf in;
    char *body;
    struct wbi_str unsent; /* of the body */
    char *session;
    int64_t retry_after_ms;
    bool event_stream, done, told, dead;
    int result;
};

struct wbi_curl {
    struct wbi_loop *loop;
    void *library, *multi;
    struct functions f;
    struct wbi_timer *timer;
    struct wbi_transfer *transfers;
    struct socket *sockets;
    bool inside;
};

static void drive(struct wbi_curl *c, int fd, int mask);

static bool load(struct wbi_curl *c)
{
    static const char *const files[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    const struct {
        const char *name;
        void *at;
    } rows[] = {{"curl_global_init", &c->f.global_init},
                {"curl_multi_init", &c->f.multi_init},
                {"curl_multi_cleanup", &c->f.multi_cleanup},
                {"curl_multi_setopt", &c->f.multi_setopt},
                {"curl_multi_add_handle", &c->f.multi_add_handle},
                {"curl_multi_remove_handle", &c->f.multi_remove_handle},
                {"curl_multi_socket_action", &c->f.multi_socket_action},
                {"curl_multi_assign", &c->f.multi_assign},
                {"curl_multi_info_read", &c->f.multi_info_read},
                {"curl_easy_init", &c->f.easy_init},
                {"curl_easy_cleanup", &c->f.easy_cleanup},
                {"curl_easy_setopt", &c->f.easy_setopt},
                {"curl_easy_getinfo", &c->f.easy_getinfo},
                {"curl_easy_strerror", &c->f.easy_strerror},
                {"curl_slist_append", &c->f.slist_append},
                {"curl_slist_free_all", &c->f.slist_free_all},
                {"curl_getdate", &c->f.getdate}};

    for (size_t i = 0; c->library == NULL && i < sizeof(files) / sizeof(files[0]); i++)
        c->library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; c->library != NULL && i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *at = dlsym(c->library, rows[i].name);

        if (at == NULL)
            return false;
        memcpy(rows[i].at, &at, sizeof(at)); /* data pointer to function pointer */
    }
    return c->library != NULL;
}

static void on_ready(void *arg, int events)
{
    struct socket *s = arg;
    int mask = events & WBI_WATCH_READ ? SELECT_IN : 0;

    mask |= events & WBI_WATCH_WRITE ? SELECT_OUT : 0;
    drive(s->curl, s->fd, mask);
}

static void drop_socket(struct wbi_curl *c, struct socket *s)
{
    struct socket **at = &c->sockets;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    wbi_watch_free(s->watch);
    wbi_free(s);
}

/* libcurl says which sockets it waits for. */
static int on_socket(void *easy, int fd, int what, void *arg, void *assigned)
{
    struct wbi_curl *c = arg;
    struct socket *s = assigned;

    (void)easy;
    if (what == POLL_REMOVE) {
        if (s != NULL)
            drop_socket(c, s);
        return 0;
    }
    if (s == NULL) {
        s = wbi_zalloc(sizeof(*s));
        if (s == NULL)
            return -1;
        s->curl = c;
        s->fd = fd;
        if (wbi_watch_new(c->loop, fd, on_ready, s, &s->watch, NULL) != WB_OK) {
            wbi_free(s);
            return -1;
        }
        s->next = c->sockets;
        c->sockets = s;
        (void)c->f.multi_assign(c->multi, fd, s);
    }
    return wbi_watch_set(s->watch, (what & POLL_IN ? WBI_WATCH_READ : 0) |
                                       (what & POLL_OUT ? WBI_WATCH_WRITE : 0)) == WB_OK
               ? 0
               : -1;
}

static int on_timeout(void *multi, long ms, void *arg)
{
    struct wbi_curl *c = arg;

    (void)multi;
    if (ms < 0)
        wbi_timer_stop(c->timer);
    else
        wbi_timer_start(c->timer, ms);
    return 0;
}

static void on_timer(void *arg)
{
    drive(arg, SOCKET_TIMEOUT, 0);
}

static void destroy(struct wbi_transfer *t)
{
    struct wbi_curl *c = t->curl;

    *t->prev = t->next;
    if (t->next != NULL)
        t->next->prev = t->prev;
    (void)c->f.multi_remove_handle(c->multi, t->easy);
    c->f.easy_cleanup(t->easy);
    c->f.slist_free_all(t->headers);
    wbi_buf_fini(&t->in);
    wbi_free(t->body);
    wbi_free(t->session);
    wbi_free(t);
}

static const char *failure(const struct wbi_transfer *t, bool too_large)
{
    if (too_large)
        return "the answer is too large";
    if (t->result == RESULT_SEND_FAIL_REWIND)
        return "the connection was closed before an answer came";
    return t->curl->f.easy_strerror(t->result);
}

static void tell(struct wbi_transfer *t)
{
    struct wbi_curl *c = t->curl;
    struct wbi_transfer_view v = {
        .event_stream = t->event_stream, .retry_after_ms = t->retry_after_ms, .done = t->done};
    struct wbi_buf in = t->in;
    long sent = -1;

    v.session = wbi_str_z(t->session);
    (void)c->f.easy_getinfo(t->easy, INFO_RESPONSE_CODE, &v.status);
    (void)c->f.easy_getinfo(t->easy, INFO_REQUEST_SIZE, &sent);
    v.unsent = t->done && t->result != 0 && sent == 0;
    v.too_large = t->done && wbi_buf_rc(&in) == WB_ELIMIT;
    if (t->done && (t->result != 0 || wbi_buf_rc(&in) != WB_OK))
        v.failure = failure(t, v.too_large);
    if (!t->event_stream && !t->done)
        return; /* whole answers are told whole */
    t->told = t->done;
    v.bytes = wbi_buf_str(&in);
    wbi_buf_init(&t->in, in.max); /* on_event may let more come */
    t->on_event(t->arg, t, &v);
    wbi_buf_fini(&in);
}

/* Events run here, with libcurl left; whatever they do to the list, it is gone
 * through from the start until nobody has news. */
static void tell_all(struct wbi_curl *c)
{
    struct wbi_transfer *t = c->transfers;

    while (t != NULL) {
        bool news = !t->dead && !t->told && (t->done || (t->event_stream && t->in.n > 0));

        if (news)
            tell(t);
        t = news ? c->transfers : t->next;
    }
    for (t = c->transfers; t != NULL;) {
        struct wbi_transfer *next = t->next;

        if (t->dead)
            destroy(t);
        t = next;
    }
}

static void drive(struct wbi_curl *c, int fd, int mask)
{
    struct message *m;
    int running, left;

    c->inside = true;
    (void)c->f.multi_socket_action(c->multi, fd, mask, &running);
    while ((m = c->f.multi_info_read(c->multi, &left)) != NULL) {
        struct wbi_transfer *t = NULL;

        if (m->kind != MESSAGE_DONE)
            continue;
        (void)c->f.easy_getinfo(m->easy, INFO_PRIVATE, (char **)(void *)&t);
        if (t != NULL) {
            t->done = true;
            t->result = m->data.result;
        }
    }
    tell_all(c);
    c->inside = false;
}

static size_t on_bytes(char *p, size_t size, size_t n, void *arg)
{
    struct wbi_transfer *t = arg;

    if (t->dead)
        return 0; /* aborts it */
    wbi_buf_add(&t->in, p, size * n);
    return wbi_buf_rc(&t->in) == WB_OK ? size * n : 0;
}

/* The body is read once. libcurl sends a request again when a connection that was kept
 * closes before an answer, though the server may have acted on it: it cannot, because
 * there is no way to have the body from its start again. */
static size_t on_read(char *p, size_t size, size_t n, void *arg)
{
    struct wbi_transfer *t = arg;
    struct wbi_str part = wbi_str_head(t->unsent, size * n);

    memcpy(p, part.p, part.n);
    t->unsent = wbi_str_from(t->unsent, part.n);
    return part.n;
}

#define RETRY_AFTER_MAX_S (24 * 3600)

/* Seconds, or the date when they are over; 0: neither, or in the past. */
static int64_t retry_after_ms(const struct functions *f, struct wbi_str value)
{
    struct wbi_clock clock = wbi_clock_system();
    uint64_t seconds;
    char date[64];
    int64_t ms;

    if (wbi_parse_u64(value, &seconds))
        return (int64_t)WBI_MIN(seconds, (uint64_t)RETRY_AFTER_MAX_S) * 1000;
    (void)snprintf(date, sizeof(date), "%.*s", WBI_FMT(value));
    ms = (int64_t)f->getdate(date, NULL); /* -1: it is none */
    ms = WBI_MIN(ms, INT64_MAX / 1000) * 1000 - wbi_wall_ms(&clock);
    return WBI_MAX(WBI_MIN(ms, (int64_t)RETRY_AFTER_MAX_S * 1000), 0);
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
    struct wbi_transfer *t = arg;
    struct wbi_str line = wbi_str_make(p, size * n);
    size_t colon = wbi_str_index(line, ':');
    struct wbi_str name = wbi_str_head(line, colon);
    struct wbi_str value = wbi_str_trim(wbi_str_from(line, colon + 1));

    if (wbi_str_ieq(name, WBI_LIT("content-type"))) {
        value = wbi_str_trim(wbi_str_head(value, wbi_str_index(value, ';')));
        t->event_stream = wbi_str_ieq(value, WBI_LIT("text/event-stream"));
    } else if (wbi_str_ieq(name, WBI_LIT("mcp-session-id")) && value.n > 0 &&
               value.n <= WBI_LIMIT_MCP_SESSION_ID) {
        wbi_free(t->session);
        t->session = wbi_strdup(value);
        if (t->session == NULL)
            return 0; /* aborts it: without its session the server is of no use */
    } else if (wbi_str_ieq(name, WBI_LIT("retry-after"))) {
        t->retry_after_ms = retry_after_ms(&t->curl->f, value);
    }
    return size * n;
}

wb_rc wbi_curl_new(struct wbi_loop *loop, struct wbi_curl **ret, struct wbi_error *err)
{
    struct wbi_curl *c = wbi_zalloc(sizeof(*c));

    if (c == NULL)
        return wbi_fail_nomem(err);
    c->loop = loop;
    if (!load(c) || c->f.global_init(GLOBAL_DEFAULT) != 0) {
        wbi_free(c);
        return wbi_fail(err, WB_EUNSUPPORTED, "libcurl cannot be loaded; install it (libcurl4)");
    }
    c->multi = c->f.multi_init();
    if (c->multi == NULL || wbi_timer_new(loop, on_timer, c, &c->timer) != WB_OK) {
        wbi_curl_free(c);
        return wbi_fail_nomem(err);
    }
    (void)c->f.multi_setopt(c->multi, MOPT_SOCKETFUNCTION, on_socket);
    (void)c->f.multi_setopt(c->multi, MOPT_SOCKETDATA, c);
    (void)c->f.multi_setopt(c->multi, MOPT_TIMERFUNCTION, on_timeout);
    (void)c->f.multi_setopt(c->multi, MOPT_TIMERDATA, c);
    *ret = c;
    return WB_OK;
}

void wbi_curl_free(struct wbi_curl *c)
{
    if (c == NULL)
        return;
    while (c->transfers != NULL)
        destroy(c->transfers);
    if (c->multi != NULL)
        (void)c->f.multi_cleanup(c->multi);
    while (c->sockets != NULL)
        drop_socket(c, c->sockets);
    wbi_timer_free(c->timer);
    wbi_free(c); /* the library stays loaded: others may use it */
}

bool wbi_curl_busy(const struct wbi_curl *c)
{
    return c->transfers != NULL;
}

/* What is on this machine is reached directly, and what the user excepts (which curl itself
 * would look at only where it is told nothing). */
static void set_no_proxy(struct wbi_transfer *t)
{
    const char *lower = getenv("no_proxy"), *upper = getenv("NO_PROXY");
    const char *user = lower != NULL ? lower : upper;
    struct wbi_buf all;

    wbi_buf_init(&all, WBI_LIMIT_MCP_MESSAGE);
    if (user == NULL || strcmp(user, "*") != 0) /* which means everything when alone */
        wbi_buf_addz(&all, "localhost,127.0.0.1,::1");
    if (user != NULL)
        wbi_buf_addz(&all, all.n > 0 ? "," : ""), wbi_buf_addz(&all, user);
    wbi_buf_addc(&all, '\0');
    (void)t->curl->f.easy_setopt(t->easy, OPT_NOPROXY,
                                 wbi_buf_rc(&all) == WB_OK ? wbi_buf_str(&all).p : "*");
    wbi_buf_fini(&all);
}

static void set_options(struct wbi_transfer *t, const struct wbi_transfer_spec *spec)
{
    const struct functions *f = &t->curl->f;

    set_no_proxy(t);
    (void)f->easy_setopt(t->easy, OPT_URL, spec->url);
    (void)f->easy_setopt(t->easy, OPT_PRIVATE, t);
    (void)f->easy_setopt(t->easy, OPT_NOSIGNAL, 1L);
    (void)f->easy_setopt(t->easy, OPT_PROTOCOLS, (long)HTTP_AND_HTTPS);
    (void)f->easy_setopt(t->easy, OPT_HTTP_VERSION, (long)HTTP_1_1);
    (void)f->easy_setopt(t->easy, OPT_CONNECTTIMEOUT_MS, 10000L);
    (void)f->easy_setopt(t->easy, OPT_TIMEOUT_MS, spec->most_ms);
    (void)f->easy_setopt(t->easy, OPT_HTTPHEADER, t->headers);
    (void)f->easy_setopt(t->easy, OPT_WRITEFUNCTION, on_bytes);
    (void)f->easy_setopt(t->easy, OPT_WRITEDATA, t);
    (void)f->easy_setopt(t->easy, OPT_HEADERFUNCTION, on_header);
    (void)f->easy_setopt(t->easy, OPT_HEADERDATA, t);
    if (t->body != NULL) {
        (void)f->easy_setopt(t->easy, OPT_POST, 1L);
        (void)f->easy_setopt(t->easy, OPT_POSTFIELDSIZE_LARGE, (int64_t)t->unsent.n);
        (void)f->easy_setopt(t->easy, OPT_READFUNCTION, on_read);
        (void)f->easy_setopt(t->easy, OPT_READDATA, t);
    }
    (void)f->easy_setopt(t->easy, OPT_CUSTOMREQUEST, spec->method);
}

static wb_rc copy_body(struct wbi_transfer *t, struct wbi_str body)
{
    if (body.p == NULL)
        return WB_OK;
    t->body = wbi_strdup(body);
    t->unsent = wbi_str_make(t->body, body.n);
    return t->body != NULL ? WB_OK : WB_ENOMEM;
}

static wb_rc add_headers(struct wbi_transfer *t, const struct wbi_transfer_spec *spec)
{
    for (size_t i = 0; i < spec->header_count; i++) {
        char *line = wbi_strdup(spec->headers[i]);
        void *longer = line != NULL ? t->curl->f.slist_append(t->headers, line) : NULL;

        wbi_free(line);
        if (longer == NULL)
            return WB_ENOMEM;
        t->headers = longer;
    }
    return WB_OK;
}

wb_rc wbi_transfer_start(struct wbi_curl *curl, const struct wbi_transfer_spec *spec,
                         void (*on_event)(void *, struct wbi_transfer *,
                                          const struct wbi_transfer_view *),
                         void *arg, struct wbi_transfer **ret)
{
    struct wbi_transfer *t = wbi_zalloc(sizeof(*t));

    if (t == NULL)
        return WB_ENOMEM;
    t->curl = curl;
    t->on_event = on_event;
    t->arg = arg;
    wbi_buf_init(&t->in, spec->max);
    t->easy = curl->f.easy_init();
    if (t->easy == NULL || add_headers(t, spec) != WB_OK || copy_body(t, spec->body) != WB_OK) {
        if (t->easy != NULL)
            curl->f.easy_cleanup(t->easy);
        curl->f.slist_free_all(t->headers);
        wbi_free(t);
        return WB_ENOMEM;
    }
    set_options(t, spec);
    t->next = curl->transfers;
    t->prev = &curl->transfers;
    if (t->next != NULL)
        t->next->prev = &t->next;
    curl->transfers = t;
    if (curl->f.multi_add_handle(curl->multi, t->easy) != 0) {
        destroy(t);
        return WB_EIO;
    }
    *ret = t;
    return WB_OK;
}

void wbi_transfer_free(struct wbi_transfer *t)
{
    if (t == NULL)
        return;
    t->dead = true;
    if (!t->curl->inside)
        destroy(t);
}
