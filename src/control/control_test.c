/* SPDX-License-Identifier: Apache-2.0
 * control/control_test.c: a runtime on its loop in a child process, asked from
 * the test; and what a rude peer gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/id.h"
#include "base/limits.h"
#include "control/control_int.h"
#include "json/write.h"

struct server {
    struct wbi_loop *loop;
    struct wbi_control *control;
    struct wbi_control_request *kept; /* answered by a later call */
    bool done;
};

static void echo(void *arg, struct wbi_control_request *request, const wbi_json *params)
{
    struct wbi_buf b;

    (void)arg;
    wbi_buf_init(&b, 1 << 20);
    wbi_json_write(&b, params);
    wbi_control_answer(request, wbi_buf_str(&b));
    wbi_buf_fini(&b);
}

static void refuse(void *arg, struct wbi_control_request *request, const wbi_json *params)
{
    struct wbi_error err = WBI_ERROR_INIT;

    (void)arg;
    (void)params;
    (void)wbi_fail_kind(&err, WB_ENOTFOUND, WBI_KIND_TASK_NOT_FOUND, "no such task: task_9");
    wbi_control_refuse(request, &err);
}

static void keep(void *arg, struct wbi_control_request *request, const wbi_json *params)
{
    (void)params;
    ((struct server *)arg)->kept = request;
}

static void end(void *arg, struct wbi_control_request *request, const wbi_json *params)
{
    struct server *s = arg;

    (void)params;
    wbi_control_answer(request, WBI_LIT("true"));
    if (s->kept != NULL)
        wbi_control_answer(s->kept, WBI_LIT("\"late\"")); /* its peer may be gone */
    s->done = true;
}

static void serve(int run_fd, const char *instance, int ready)
{
    struct server s = {.done = false};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no server behind */
    if (wbi_loop_new(NULL, &s.loop, NULL) != WB_OK ||
        wbi_control_open(s.loop, run_fd, instance, &s.control, NULL) != WB_OK ||
        wbi_control_method(s.control, "echo", echo, &s) != WB_OK ||
        wbi_control_method(s.control, "refuse", refuse, &s) != WB_OK ||
        wbi_control_method(s.control, "keep", keep, &s) != WB_OK ||
        wbi_control_method(s.control, "end", end, &s) != WB_OK ||
        wbi_control_method(s.control, "end", end, &s) != WB_EEXISTS)
        _exit(1);
    if (write(ready, "r", 1) != 1)
        _exit(2);
    wbi_loop_run(s.loop, &s.done);
    wbi_control_close(s.control);
    wbi_loop_free(s.loop);
    exit(0);
}

struct place {
    char path[64];
    int run_fd, ready[2];
};

static void place_init(struct place *p)
{
    snprintf(p->path, sizeof(p->path), "/tmp/waybill-control-XXXXXX");
    assert_non_null(mkdtemp(p->path));
    p->run_fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(p->run_fd >= 0);
    assert_int_equal(pipe(p->ready), 0);
}

static void place_fini(struct place *p)
{
    assert_int_equal(rmdir(p->path), 0); /* the sockets are gone */
    close(p->run_fd);
    close(p->ready[0]);
    close(p->ready[1]);
}

static pid_t start(struct place *p, const char *instance)
{
    char byte;
    pid_t pid = fork();

    if (pid == 0)
        serve(p->run_fd, instance, p->ready[1]);
    assert_int_equal(read(p->ready[0], &byte, 1), 1);
    return pid;
}

static void wait_end(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

struct got {
    int n;
    wb_rc rc;
    enum wbi_kind kind;
    char text[400];
};

static bool take(void *arg, const char *instance, wb_rc rc, const wbi_json *result,
                 const struct wbi_error *err)
{
    struct got *g = arg;
    struct wbi_buf b;

    assert_int_equal(strncmp(instance, "own_", 4), 0);
    g->n++;
    g->rc = rc;
    g->kind = err->kind;
    if (rc == WB_OK) {
        wbi_buf_init(&b, 300);
        wbi_json_write(&b, result);
        snprintf(g->text, sizeof(g->text), "%.*s", (int)b.n, b.p);
        wbi_buf_fini(&b);
    } else {
        snprintf(g->text, sizeof(g->text), "%.399s", err->text);
    }
    return true;
}

static wb_rc ask(struct place *p, const char *instance, const char *method, const char *params,
                 int timeout_ms, struct got *ret)
{
    memset(ret, 0, sizeof(*ret));
    return wbi_control_call(p->run_fd, instance, method, wbi_str_z(params), timeout_ms, take, ret,
                            NULL);
}

static void a_live_runtime_answers(void **state)
{
    struct place p;
    struct got g;
    struct stat st;
    pid_t pid;

    (void)state;
    place_init(&p);
    pid = start(&p, "own_1");
    assert_int_equal(fstatat(p.run_fd, "own_1.sock", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(ask(&p, "own_1", "echo", "{\"a\":[1,\"\\n\"]}", 5000, &g), WB_OK);
    assert_int_equal(g.rc, WB_OK);
    assert_string_equal(g.text, "{\"a\":[1,\"\\n\"]}");
    assert_int_equal(ask(&p, "own_1", "refuse", NULL, 5000, &g), WB_OK);
    assert_int_equal(g.rc, WB_EDENIED);
    assert_int_equal(g.kind, WBI_KIND_TASK_NOT_FOUND);
    assert_string_equal(g.text, "no such task: task_9");
    assert_int_equal(ask(&p, "own_1", "nothing", NULL, 5000, &g), WB_OK);
    assert_int_equal(g.rc, WB_EDENIED);
    assert_int_equal(ask(&p, "own_1", "keep", NULL, 50, &g), WB_OK); /* no answer in time */
    assert_int_equal(g.rc, WB_EAGAIN);
    assert_int_equal(g.kind, WBI_KIND_OUTCOME_UNKNOWN); /* it may come yet */
    assert_int_equal(ask(&p, "own_1", "end", NULL, 5000, &g), WB_OK);
    assert_string_equal(g.text, "true");
    wait_end(pid);
    assert_int_equal(ask(&p, "own_1", "echo", NULL, 5000, &g), WB_ENOTFOUND);
    assert_int_equal(ask(&p, "../own_1", "echo", NULL, 5000, &g), WB_EINPUT);
    place_fini(&p);
}

static void all_are_asked_and_stale_sockets_removed(void **state)
{
    struct place p;
    struct got g;
    int status;
    pid_t a, b, dead;

    (void)state;
    place_init(&p);
    assert_int_equal(ask(&p, NULL, "echo", "1", 5000, &g), WB_ENOTFOUND);
    a = start(&p, "own_a");
    b = start(&p, "own_b");
    dead = start(&p, "own_dead");
    kill(dead, SIGKILL);
    assert_int_equal(waitpid(dead, &status, 0), dead);
    assert_int_equal(faccessat(p.run_fd, "own_dead.sock", F_OK, 0), 0);
    assert_int_equal(ask(&p, NULL, "echo", "1", 5000, &g), WB_OK);
    assert_int_equal(g.n, 2);
    assert_int_equal(faccessat(p.run_fd, "own_dead.sock", F_OK, 0), -1);
    assert_int_equal(ask(&p, NULL, "end", NULL, 5000, &g), WB_OK);
    wait_end(a);
    wait_end(b);
    place_fini(&p);
}

static int connect_raw(struct place *p, const char *instance)
{
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(wbi_control_address(p->run_fd, instance, &address));
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Reads until `lines` lines have come or the peer has closed. */
static size_t hear(int fd, char *out, size_t size, int lines)
{
    size_t n = 0;

    while (n + 1 < size && lines > 0) {
        ssize_t got = read(fd, out + n, 1);
        if (got <= 0)
            break;
        if (out[n++] == '\n')
            lines--;
    }
    out[n] = '\0';
    return n;
}

static void rude_peers_harm_only_themselves(void **state)
{
    static char flood[70000];
    struct place p;
    struct got g;
    char text[2000];
    size_t sent = 0;
    int fd, others[WBI_LIMIT_CONTROL_PEERS + 4];
    pid_t pid;

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    place_init(&p);
    pid = start(&p, "own_1");

    fd = connect_raw(&p, "own_1"); /* several requests at once, a notification, odd ids */
    say(fd, "\n{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"echo\",\"params\":[1]}\n"
            "{\"jsonrpc\":\"2.0\",\"method\":\"echo\"}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"echo\",\"params\":2}\n{\"id\":3}\n");
    (void)hear(fd, text, sizeof(text), 3);
    assert_non_null(strstr(text, "\"id\":\"x\",\"result\":[1]"));
    assert_non_null(strstr(text, "\"id\":null,\"result\":2"));
    assert_non_null(strstr(text, "-32600"));
    say(fd, "not json\n"); /* told, then dropped */
    (void)hear(fd, text, sizeof(text), 9);
    assert_non_null(strstr(text, "-32700"));
    close(fd);

    fd = connect_raw(&p, "own_1"); /* a line without end */
    memset(flood, 'x', sizeof(flood));
    while (sent < 2u * WBI_LIMIT_CONTROL_LINE) {
        ssize_t n = send(fd, flood, sizeof(flood), MSG_NOSIGNAL);
        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    assert_true(sent < 2u * WBI_LIMIT_CONTROL_LINE); /* cut off */
    close(fd);

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        others[i] = connect_raw(&p, "own_1"); /* more than may be, all silent */
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        close(others[i]);
    fd = connect_raw(&p, "own_1"); /* gone before its answer */
    say(fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"keep\"}\n");
    close(fd);
    assert_int_equal(ask(&p, "own_1", "echo", "5", 5000, &g), WB_OK);
    assert_string_equal(g.text, "5");
    assert_int_equal(ask(&p, "own_1", "end", NULL, 5000, &g), WB_OK);
    wait_end(pid);
    place_fini(&p);
}

/* Only the same user (and root) is heard: the kernel says who it is. */
static void another_user_is_not_heard(void **state)
{
    struct place p;
    struct got g;
    pid_t pid, other;
    int status;

    (void)state;
    place_init(&p);
    if (geteuid() != 0) {
        print_message("skipped: a peer of another user (not root)\n");
        place_fini(&p);
        return;
    }
    pid = start(&p, "own_1");
    assert_int_equal(chmod(p.path, 0777), 0);
    assert_int_equal(fchmodat(p.run_fd, "own_1.sock", 0777, 0), 0);
    other = fork();
    if (other == 0) {
        char text[10];
        char path[100];
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        snprintf(path, sizeof(path), "%s/own_1.sock", p.path);
        memcpy(address.sun_path, path, strlen(path) + 1);
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(3);
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
            _exit(2);
        (void)!write(fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}\n", 42);
        _exit(read(fd, text, 1) > 0 ? 1 : 0);
    }
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    assert_int_equal(ask(&p, "own_1", "end", NULL, 5000, &g), WB_OK);
    wait_end(pid);
    place_fini(&p);
}

struct asker {
    struct place *place;
    atomic_bool stop;
    unsigned long asked;
};

static bool take_any(void *arg, const char *instance, wb_rc rc, const wbi_json *result,
                     const struct wbi_error *err)
{
    (void)arg;
    (void)instance;
    (void)rc;
    (void)result;
    (void)err;
    return true;
}

static void *ask_all_the_time(void *arg)
{
    struct asker *a = arg;

    while (!atomic_load(&a->stop)) {
        wb_rc rc = wbi_control_call(a->place->run_fd, NULL, "health", WBI_LIT("{}"), 1, take_any,
                                    NULL, NULL);
        a->asked += rc != WB_EINPUT; /* there may be none to ask */
    }
    return NULL;
}

/* Whoever asks while a runtime begins to listen does not take it for a dead one. */
static void a_starting_runtime_keeps_its_socket(void **state)
{
    struct place p;
    struct asker a = {.place = &p};
    struct wbi_loop *loop;
    pthread_t thread;

    (void)state;
    place_init(&p);
    assert_int_equal(wbi_loop_new(NULL, &loop, NULL), WB_OK);
    assert_int_equal(pthread_create(&thread, NULL, ask_all_the_time, &a), 0);
    for (unsigned i = 0; i < 2000; i++) {
        char instance[WBI_ID_SIZE], name[WBI_ID_SIZE + 8];
        struct wbi_control *control;

        (void)snprintf(instance, sizeof(instance), "own_%u", i);
        (void)snprintf(name, sizeof(name), "%s.sock", instance);
        assert_int_equal(wbi_control_open(loop, p.run_fd, instance, &control, NULL), WB_OK);
        assert_int_equal(faccessat(p.run_fd, name, F_OK, 0), 0);
        wbi_control_close(control);
        (void)wbi_loop_turn(loop, false);
    }
    atomic_store(&a.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    print_message("asked %lu times\n", a.asked);
    wbi_loop_free(loop);
    place_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_live_runtime_answers),
        cmocka_unit_test(all_are_asked_and_stale_sockets_removed),
        cmocka_unit_test(rude_peers_harm_only_themselves),
        cmocka_unit_test(another_user_is_not_heard),
        cmocka_unit_test(a_starting_runtime_keeps_its_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
