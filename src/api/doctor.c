/* SPDX-License-Identifier: Apache-2.0
 * api/doctor.c: what this machine offers and what stands in the way. Each check
 * tries the thing itself instead of asking for versions. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/ledger_int.h"
#include "artifact/store.h"
#include "base/limits.h"
#include "base/sign.h"
#include "config/config.h"
#include "path/path.h"
#include "serve/upstreams.h"
#include "store/store.h"

/* More than a log that serves again may have room for. */
enum { TRIAL_SIZE = 64 * 1024 };

enum verdict { FINE, WARNING, BROKEN };

static void report(struct wbi_jw *w, const char *name, enum verdict v, const char *text,
                   const char *next)
{
    static const char *const words[] = {"ok", "warning", "broken"};

    wbi_jw_obj(w);
    wbi_jw_kstrz(w, "check", name);
    wbi_jw_kstrz(w, "status", words[v]);
    wbi_jw_kstrz(w, "text", text);
    if (next != NULL)
        wbi_jw_kstrz(w, "next", next);
    wbi_jw_obj_end(w);
}

static void check_crypto(struct wbi_jw *w)
{
    static const uint8_t secret[WBI_SIGN_KEY_SIZE] = {1};
    uint8_t public_key[WBI_SIGN_KEY_SIZE];

    if (wbi_sign_public(secret, public_key) == WB_OK)
        report(w, "libcrypto", FINE, "checkpoints of the ledger can be signed", NULL);
    else
        report(w, "libcrypto", BROKEN, "libcrypto.so.3 cannot be loaded",
               "install the package libssl3");
}

static void check_openat2(struct wbi_jw *w)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
    long fd = syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof(how));

    if (fd >= 0) {
        (void)close((int)fd);
        report(w, "openat2", FINE, "paths are resolved beneath their root by the kernel", NULL);
    } else {
        report(w, "openat2", WARNING,
               "the kernel does not offer openat2; paths are walked one component at a time", NULL);
    }
}

static void check_pidfd(struct wbi_jw *w)
{
    long fd = syscall(SYS_pidfd_open, getpid(), 0);

    if (fd >= 0) {
        (void)close((int)fd);
        report(w, "pidfd", FINE, "processes are reaped by descriptor", NULL);
    } else {
        report(w, "pidfd", BROKEN, "the kernel does not offer pidfd_open",
               "use Linux 5.3 or newer");
    }
}

static void check_config(struct wbi_jw *w, const wb_options *options)
{
    wb_runtime *runtime;
    wb_error *error = NULL;
    char text[700];

    if (wb_runtime_new(options, &runtime, &error) != WB_OK) {
        char place[32] = "";

        if (wb_error_line(error) > 0)
            (void)snprintf(place, sizeof(place), "%u:%u: ", wb_error_line(error),
                           wb_error_column(error));
        (void)snprintf(text, sizeof(text), "%s%s%s%s", wb_error_at(error),
                       *wb_error_at(error) ? ": " : "", place, wb_error_text(error));
        report(w, "configuration", BROKEN, text, "correct it, then `waybill config check`");
        wb_error_free(error);
        return;
    }
    (void)snprintf(text, sizeof(text), "root %.*s, state %.*s", WBI_FMT(runtime->rt->root),
                   WBI_FMT(runtime->rt->state));
    if (runtime->rt->config == NULL ||
        wbi_config_trust_state(runtime->rt->config) == WBI_CONFIG_TRUSTED)
        report(w, "configuration", FINE, text, NULL);
    else
        report(w, "configuration", WARNING,
               "the workspace's files are not trusted: its tools are left out",
               "read them, then `waybill config trust`");
    wb_runtime_free(runtime);
}

/* Of secrets that are named but cannot be redacted. */
static void check_secrets(struct wbi_jw *w, const wb_options *options)
{
    struct wbi_buf text;
    wb_runtime *runtime;

    if (wb_runtime_new(options, &runtime, NULL) != WB_OK)
        return; /* told already */
    wbi_buf_init(&text, WBI_LIMIT_CALL_ARENA);
    for (size_t i = 0; i < runtime->rt->unmasked_n; i++)
        wbi_buf_addf(&text, "%s%.*s", i == 0 ? "" : ", ", WBI_FMT(runtime->rt->unmasked[i]));
    wbi_buf_addf(&text, ": a value under %u or over %u bytes is not redacted",
                 WBI_LIMIT_SECRET_KNOWN_MIN, WBI_LIMIT_SECRET_KNOWN_MAX);
    if (runtime->rt->unmasked_n > 0 && wbi_buf_rc(&text) == WB_OK)
        report(w, "secrets", WARNING, text.p, "use a longer secret");
    wbi_buf_fini(&text);
    wb_runtime_free(runtime);
}

/* doctor makes no state directory where there is none. *ret_why: what keeps others from
 * making it, an errno. */
static bool has_state(const wb_options *options, int *ret_why)
{
    struct wbi_runtime_options o = wbi_api_options(options);
    struct wbi_places_wish wish = {.root = o.root, .state = o.state, .config = o.config_file};
    struct wbi_env env = wbi_env_process();
    struct wbi_places places;
    struct wbi_arena *arena;
    struct wbi_root *all;
    struct stat st;
    bool found;

    *ret_why = 0;
    if (wbi_arena_new(WBI_LIMIT_SMALL_ARENA, &arena) != WB_OK)
        return false;
    found = wbi_places_find(arena, &wish, &env, &places, NULL) == WB_OK &&
            wbi_root_open("/", 0, NULL, &all) == WB_OK;
    if (found) {
        found = wbi_path_lstat(all, places.state, &st);
        wbi_root_unref(all);
        if (!found)
            *ret_why = wbi_places_why_not(places.state);
    }
    wbi_arena_free(arena);
    return found;
}

/* A commit of something that is not there afterwards: only writing tells whether a file
 * system lets itself be written, and has room. */
static wb_rc try_writing(wb_ledger *l, struct wbi_error *err)
{
    static const char nothing[TRIAL_SIZE];
    const struct wbi_str table = WBI_LIT("~doctor"), key = WBI_LIT("trial");
    wb_rc rc = wbi_store_put(l->store, table, key, wbi_str_make(nothing, sizeof(nothing)),
                             WBI_ANY_GENERATION, NULL, err);

    if (rc == WB_OK)
        rc = wbi_store_delete(l->store, table, key, WBI_ANY_GENERATION, err);
    return rc == WB_ENOTFOUND ? WB_OK : rc; /* another doctor's took it along */
}

static const char *next_of_writing(enum wbi_kind kind)
{
    return kind == WBI_KIND_LOW_DISK_SPACE
               ? "make room on the file system of the state directory (`waybill artifact prune "
                 "--older-than-days N` lets older outputs go), or name another with --state"
               : "let the state directory be written, or name another with --state; until then "
                 "calls with effects are refused and others not recorded";
}

static void check_writing(struct wbi_jw *w, wb_ledger *ledger)
{
    struct wbi_error err = WBI_ERROR_INIT;

    if (try_writing(ledger, &err) == WB_OK)
        report(w, "ledger", FINE,
               "the state directory can be written and the newest rows of its ledger are sound",
               NULL);
    else
        report(w, "ledger", BROKEN, err.text, next_of_writing(err.kind));
}

static void check_no_ledger(struct wbi_jw *w, int why)
{
    struct wbi_error err = WBI_ERROR_INIT;

    if (why == 0) {
        report(w, "ledger", FINE, "no state directory yet; the first call makes one", NULL);
        return;
    }
    (void)wbi_fail_errno(&err, why, "no state directory yet, and none can be made");
    report(w, "ledger", BROKEN, err.text, next_of_writing(WBI_KIND_STATE_UNAVAILABLE));
}

static void check_ledger(struct wbi_jw *w, const wb_options *options)
{
    wb_ledger *ledger = NULL;
    wb_error *error = NULL;
    int why;

    if (!has_state(options, &why)) {
        check_no_ledger(w, why);
        return;
    }
    if (wb_ledger_open(options, WB_LEDGER_READ, &ledger, &error) == WB_OK)
        check_writing(w, ledger);
    else if (error != NULL && error->e.kind == WBI_KIND_LOW_DISK_SPACE)
        report(w, "ledger", BROKEN, wb_error_text(error), next_of_writing(error->e.kind));
    else
        report(w, "ledger", BROKEN, wb_error_text(error),
               "if this workspace was copied here (another user, machine or home), move its state "
               "directory away: a new ledger begins, and the old one can still be read where it "
               "was made; otherwise `waybill ledger verify`");
    wb_ledger_free(ledger);
    wb_error_free(error);
}

static void report_server(struct wbi_jw *w, const struct wbi_server *s)
{
    const char *why = wbi_server_failure(s);
    size_t left_out, waiting;
    const char *which = wbi_server_left_out(s, &left_out);
    const char *unseen = wbi_server_waiting(s, &waiting);
    char name[128], text[900];

    (void)snprintf(name, sizeof(name), "server %.*s", WBI_FMT(wbi_server_name(s)));
    (void)snprintf(text, sizeof(text), "it has told its tools; left out: %zu: %s", left_out, which);
    if (why != NULL)
        report(w, name, WARNING, why,
               "run its command, or ask its url, by hand, or correct it in mcpServers");
    else if (left_out > 0)
        report(w, name, WARNING, text, "whoever makes the server can correct its definitions");
    else if (waiting == 0)
        report(w, name, FINE, "it has told its tools", NULL);
    if (why != NULL || waiting == 0)
        return;
    (void)snprintf(text, sizeof(text), "tools that wait for approval: %zu: %s", waiting, unseen);
    report(w, name, WARNING, text, "look at them with `waybill pins`");
}

/* What would refuse the next command. A ledger that cannot be opened was told of. */
static void check_artifacts(struct wbi_jw *w, struct wbi_runtime *rt)
{
    struct wbi_error err = WBI_ERROR_INIT;

    if (wbi_runtime_ledger_exists(rt) && wbi_runtime_open_artifacts(rt, NULL) == WB_OK &&
        wbi_artifact_room(rt->artifacts, &err) != WB_OK)
        report(w, "artifacts", BROKEN, err.text, "make room; until then no command is started");
}

/* Each server is started and asked for its tools; a wrong configuration was told of. */
static void check_runtime(struct wbi_jw *w, const wb_options *options)
{
    wb_runtime *runtime = NULL;

    if (wb_runtime_new(options, &runtime, NULL) != WB_OK)
        return;
    check_artifacts(w, runtime->rt);
    wbi_api_fetch_upstreams(runtime);
    for (size_t i = 0; i < wbi_upstreams_count(runtime->ups); i++)
        report_server(w, wbi_upstreams_at(runtime->ups, i));
    wb_runtime_free(runtime);
}

wb_rc wb_doctor(const wb_options *options, char **ret, size_t *ret_size, wb_error **reterr)
{
    struct wbi_buf out;
    struct wbi_jw w = wbi_jw_to(&out);

    if (ret == NULL)
        return wbi_api_fail_text(reterr, WB_EMISUSE, "wb_doctor: ret is NULL");
    wbi_buf_init(&out, WBI_LIMIT_CALL_ARENA);
    wbi_jw_arr(&w);
    check_config(&w, options);
    check_secrets(&w, options);
    check_ledger(&w, options);
    check_crypto(&w);
    check_openat2(&w);
    check_pidfd(&w);
    check_runtime(&w, options);
    wbi_jw_arr_end(&w);
    return wbi_api_give(&out, ret, ret_size, reterr);
}
