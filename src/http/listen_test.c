/* SPDX-License-Identifier: Apache-2.0
 * http/listen_test.c: how many connections are taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/checked.h"
#include "http/http_int.h"
#include "support/dial.h"

/* Row 92: whoever connects needs no token; what the calls open must still find room. */
static void connections_leave_half_of_the_descriptors_to_others(void **state)
{
    static const struct wbi_http_ops ops = {.on_request = NULL}; /* nobody asks for anything */
    struct wbi_http_options o = {.address = WBI_LIT_INIT("127.0.0.1:0")};
    struct rlimit old, low;
    struct wbi_loop *loop;
    struct wbi_http *http;
    char refused[512] = "";
    int fds[20], late;

    (void)state;
    assert_int_equal(wbi_loop_new(NULL, &loop, NULL), WB_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = 2 * WBI_COUNT(fds);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_int_equal(wbi_http_listen(loop, &o, &ops, NULL, &http, NULL), WB_OK);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    for (size_t i = 0; i < WBI_COUNT(fds); i++)
        fds[i] = dial_port(wbi_http_port(http));
    late = dial_port(wbi_http_port(http));
    assert_true(late >= 0);
    for (int i = 0; i < 50; i++)
        (void)wbi_loop_turn(loop, false);
    assert_int_equal(wbi_http_connections(http), WBI_COUNT(fds));
    assert_true(recv(late, refused, sizeof(refused) - 1, 0) > 0);
    assert_non_null(strstr(refused, "HTTP/1.1 503"));
    for (size_t i = 0; i < WBI_COUNT(fds); i++)
        close(fds[i]);
    close(late);
    wbi_http_free(http);
    wbi_loop_free(loop);
}

static wb_rc listen_for(const char *host, struct wbi_error *err)
{
    static const struct wbi_http_ops ops = {.on_request = NULL};
    struct wbi_str name = wbi_str_z(host);
    struct wbi_http_options o = {
        .address = WBI_LIT_INIT("127.0.0.1:0"), .hosts = &name, .host_count = 1};
    struct wbi_http *http = NULL;
    struct wbi_loop *loop;
    wb_rc rc;

    assert_int_equal(wbi_loop_new(NULL, &loop, NULL), WB_OK);
    rc = wbi_http_listen(loop, &o, &ops, NULL, &http, err);
    wbi_http_free(http);
    wbi_loop_free(loop);
    return rc;
}

/* One that no Host ever equals would be allowed in vain, and without a word. */
static void a_host_to_allow_is_a_name_and_no_more(void **state)
{
    static const char *const good[] = {"Gate_1.example", "10.0.0.1", "[fd00::1]"};
    static const char *const bad[] = {
        "",        "gate.example:7717",    "[fd00::1]:80",     "fd00::1",
        "[fd00::", "https://gate.example", "gate.example/mcp", "*.example",
        "a, b"};
    struct wbi_error err = WBI_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < WBI_COUNT(good); i++)
        assert_int_equal(listen_for(good[i], &err), WB_OK);
    for (size_t i = 0; i < WBI_COUNT(bad); i++) {
        assert_int_equal(listen_for(bad[i], &err), WB_EINPUT);
        assert_non_null(strstr(err.text, "is no host that can be allowed"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_to_allow_is_a_name_and_no_more),
        cmocka_unit_test(connections_leave_half_of_the_descriptors_to_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
