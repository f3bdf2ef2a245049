/* SPDX-License-Identifier: Apache-2.0
 * tests/ledger_crash_test.c: real processes, killed at random moments, and the
 * power cut. WAYBILL_SOAK: how many kills (50 unless told, 1000 for "1"); WAYBILL_SEED repeats
 * a run. (C12.3; L1, L7; rows 111, 112, 117 of the attack list) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "chance.h"
#include "state_fixture.h"

/* What a worker has been promised: one line of fixed size in a pipe. */
struct promise {
    char kind; /* 'I' intent, 'O' outcome, 'K' key, 'E' failed */
    unsigned long number;
    char why[64];
};

struct worker {
    pid_t pid;
    int pipe;
    unsigned long base; /* its calls are base + 1, base + 2 … */
};

struct pending {
    int pipe;
    unsigned long number;
};

static void promise(int pipe, char kind, unsigned long number, const char *why)
{
    struct promise p = {.kind = kind, .number = number};

    snprintf(p.why, sizeof(p.why), "%.63s", why);
    if (write(pipe, &p, sizeof(p)) != sizeof(p))
        _exit(0); /* the parent has gone */
}

static void on_outcome(void *arg, const struct wbi_ledger_ack *ack)
{
    struct pending *p = arg;

    promise(p->pipe, ack->rc == WB_OK ? 'O' : 'E', p->number,
            ack->rc == WB_OK ? "" : ack->err->text);
    free(p);
}

/* Mixed load: calls with effects, keys, and Pure calls behind the reply. */
static void work(struct fixture *f, int pipe, unsigned long base)
{
    struct wbi_error err = WBI_ERROR_INIT;

    signal(SIGPIPE, SIG_IGN);
    if (fixture_try(f, &err) != WB_OK) {
        promise(pipe, 'E', base, err.text);
        _exit(1);
    }
    for (unsigned long n = base + 1;; n++) {
        char id[40], key[40];
        struct wbi_row row = fixture_row(id, WBI_KIND_OUTCOME, n);
        struct pending *p = malloc(sizeof(*p));
        struct wbi_ledger_append a = {.row = &row, .done = on_outcome, .arg = p};
        if (p == NULL)
            _exit(1);
        *p = (struct pending){pipe, n};
        if (n % 3 != 0) {
            if (fixture_append(f, WBI_KIND_INTENT, n, &err) != WB_OK)
                promise(pipe, 'E', n, err.text);
            promise(pipe, 'I', n, "");
        }
        if (n % 5 == 0) {
            snprintf(key, sizeof(key), "%lu", n);
            if (wbi_store_put(f->store, WBI_LIT("keys"), wbi_str_z(key), WBI_LIT("{}"),
                              WBI_MUST_BE_NEW, NULL, &err) != WB_OK)
                promise(pipe, 'E', n, err.text);
            promise(pipe, 'K', n, "");
        }
        if (wbi_ledger_append(f->ledger, &a, &err) != WB_OK)
            promise(pipe, 'E', n, err.text);
        if (n % 7 == 0 && wbi_ledger_flush(f->ledger, &err) != WB_OK)
            promise(pipe, 'E', n, err.text);
    }
}

static struct worker start_worker(struct fixture *f, unsigned long base)
{
    struct worker w = {.base = base};
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    w.pid = fork();
    if (w.pid == 0) {
        close(ends[0]);
        work(f, ends[1], base);
    }
    assert_true(w.pid > 0);
    close(ends[1]);
    w.pipe = ends[0];
    assert_int_equal(fcntl(w.pipe, F_SETFL, O_NONBLOCK), 0);
    return w;
}

struct promises {
    struct promise *list;
    size_t n, cap;
};

/* All that stands in the pipe; until its end when the worker is dead. */
static void drain(struct worker *w, struct promises *all)
{
    struct promise p;
    ssize_t got;

    while ((got = read(w->pipe, &p, sizeof(p))) == sizeof(p)) {
        if (p.kind == 'E')
            fail_msg("worker: call %lu: %s", p.number, p.why);
        if (all->n == all->cap) {
            all->cap = all->cap ? 2 * all->cap : 1024;
            all->list = realloc(all->list, all->cap * sizeof(*all->list));
            assert_non_null(all->list);
        }
        all->list[all->n++] = p;
    }
}

static void wait_ms(int64_t ms)
{
    (void)poll(NULL, 0, (int)ms);
}

/* Until the worker has promised something, so that kills hit work, not starts. */
static void wait_first(struct worker *w)
{
    struct pollfd p = {.fd = w->pipe, .events = POLLIN};

    assert_int_equal(poll(&p, 1, 20000), 1);
}

static void kill_worker(struct worker *w, struct promises *all)
{
    int status;

    kill(w->pid, SIGKILL);
    assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
    drain(w, all);
    close(w->pipe);
    w->pid = 0;
}

static void check_promise(struct fixture *f, const struct promise *p)
{
    struct wbi_record record;
    struct wbi_entry e;
    char id[40];

    wbi_arena_reset(f->arena);
    if (p->kind == 'K') {
        snprintf(id, sizeof(id), "%lu", p->number);
        if (wbi_store_get(f->store, f->arena, WBI_LIT("keys"), wbi_str_z(id), &e, NULL) != WB_OK)
            fail_msg("key %lu was lost", p->number);
        return;
    }
    (void)fixture_row(id, WBI_KIND_INTENT, p->number);
    if (wbi_ledger_get(f->ledger, f->arena, wbi_str_z(id), &record, NULL) != WB_OK)
        fail_msg("call %lu was lost", p->number);
    if (p->kind == 'I' && !record.has_intent)
        fail_msg("the intent of call %lu was lost", p->number);
    if (p->kind == 'O' && (!record.has_outcome || !wbi_str_eqz(record.outcome.status, "success")))
        fail_msg("the outcome of call %lu was lost", p->number);
    if (!record.has_outcome)
        fail_msg("call %lu has no outcome after a start", p->number);
}

static void check_promises(struct fixture *f, struct promises *all)
{
    for (size_t i = 0; i < all->n; i++)
        check_promise(f, &all->list[i]);
    all->n = 0;
}

static void assert_sound(struct fixture *f)
{
    struct wbi_verify_report r = fixture_verify(f);

    if (!r.good)
        fail_msg("verify: %s", r.what);
}

static void nothing_promised_is_lost_by_kill_9(void **state)
{
    unsigned long rounds = soak(1000), calls = 0;
    struct promises all = {.n = 0};
    struct fixture f;

    (void)state;
    chance_start();
    fixture_init(&f);
    for (unsigned long round = 1; round <= rounds; round++) {
        struct worker w = start_worker(&f, round * 1000000);
        if (chance(8) != 0)
            wait_first(&w);
        wait_ms((int64_t)chance(9));
        kill_worker(&w, &all);
        calls += all.n;
        fixture_open(&f); /* needs no hand */
        check_promises(&f, &all);
        if (round % 10 == 0 || round == rounds)
            assert_sound(&f);
        fixture_close(&f);
    }
    print_message("%lu kills, %lu promises kept\n", rounds, calls);
    free(all.list);
    fixture_fini(&f);
}

/* row 117, C12.2: three processes; each kill closes only the dead one's calls */
static void three_processes_share_a_directory_through_kills(void **state)
{
    unsigned long rounds = soak(1000), next = 1, calls = 0;
    struct promises all[3] = {{.n = 0}};
    struct worker w[3];
    struct fixture f;

    (void)state;
    fixture_init(&f);
    for (int i = 0; i < 3; i++)
        w[i] = start_worker(&f, next++ * 1000000);
    for (unsigned long round = 1; round <= rounds; round++) {
        unsigned long victim = chance(3);
        wait_first(&w[victim]);
        wait_ms((int64_t)chance(9));
        kill_worker(&w[victim], &all[victim]);
        for (int i = 0; i < 3; i++) { /* a live call closed by others would show as 'E' */
            if (i != (int)victim)
                drain(&w[i], &all[i]);
        }
        fixture_open(&f);
        calls += all[victim].n;
        check_promises(&f, &all[victim]);
        if (round % 10 == 0)
            assert_sound(&f);
        fixture_close(&f);
        w[victim] = start_worker(&f, next++ * 1000000);
    }
    for (int i = 0; i < 3; i++) {
        kill_worker(&w[i], &all[i]);
        fixture_open(&f);
        calls += all[i].n;
        check_promises(&f, &all[i]);
        fixture_close(&f);
        free(all[i].list);
    }
    fixture_open(&f);
    assert_int_equal(f.closed, 0);
    assert_sound(&f);
    print_message("%lu kills among three, %lu promises kept\n", rounds, calls);
    fixture_fini(&f);
}

struct image {
    char file[200], copy[200], at[200], copy_at[200];
};

static bool mount_image(const struct fixture *f, struct image *im)
{
    snprintf(im->file, sizeof(im->file), "%s/disk.img", f->base);
    snprintf(im->copy, sizeof(im->copy), "%s/copy.img", f->base);
    snprintf(im->at, sizeof(im->at), "%s/at", f->base);
    snprintf(im->copy_at, sizeof(im->copy_at), "%s/copy_at", f->base);
    if (geteuid() != 0 || mkdir(im->at, 0700) != 0 || mkdir(im->copy_at, 0700) != 0)
        return false;
    if (fixture_shell("truncate -s 64M %s && mkfs.ext4 -q -F %s >/dev/null 2>&1", im->file,
                      im->file) != 0)
        return false;
    return fixture_shell("mount -o loop %s %s >/dev/null 2>&1", im->file, im->at) == 0;
}

/* What the disk holds at this moment, and nothing that only memory holds. */
static void check_cut(struct fixture *f, struct image *im, struct worker *w, struct promises *all)
{
    struct fixture cut = *f;
    int status;

    kill(w->pid, SIGSTOP);
    assert_int_equal(waitpid(w->pid, &status, WUNTRACED), w->pid);
    drain(w, all);
    assert_int_equal(fixture_shell("cp --sparse=always %s %s", im->file, im->copy), 0);
    assert_int_equal(fixture_shell("mount -o loop %s %s", im->copy, im->copy_at), 0);
    snprintf(cut.dir, sizeof(cut.dir), "%.150s/state", im->copy_at);
    snprintf(cut.user, sizeof(cut.user), "%.120s/user-of-copy", f->base);
    remove_tree(cut.user);
    assert_int_equal(fixture_shell("cp -r %s %s", f->user, cut.user), 0);
    /* after a power cut it is where it was */
    assert_int_equal(fixture_shell("printf %%s %s > %s/instances/$(cat %s/instance)", cut.dir,
                                   cut.user, cut.dir),
                     0);
    fixture_open(&cut);
    for (size_t i = 0; i < all->n; i++)
        check_promise(&cut, &all->list[i]);
    assert_sound(&cut);
    fixture_close(&cut);
    assert_int_equal(fixture_shell("umount %s", im->copy_at), 0);
    kill(w->pid, SIGCONT);
}

/* row 112: "power cut by loop image: acknowledged rows all there" */
static void nothing_promised_is_lost_by_a_power_cut(void **state)
{
    unsigned long cuts = soak(1000) > 200 ? 20 : soak(1000) / 10 + 1, calls;
    struct promises all = {.n = 0};
    struct image im;
    struct fixture f;
    struct worker w;

    (void)state;
    fixture_init(&f);
    if (!mount_image(&f, &im)) {
        print_message("skipped: power cut (no loop-mounted image here)\n");
        fixture_fini(&f);
        return;
    }
    snprintf(f.dir, sizeof(f.dir), "%.150s/state", im.at);
    w = start_worker(&f, 1000000);
    for (unsigned long i = 0; i < cuts; i++) {
        wait_first(&w);
        wait_ms((int64_t)chance(40));
        check_cut(&f, &im, &w, &all);
    }
    calls = all.n;
    kill_worker(&w, &all);
    assert_int_equal(fixture_shell("umount %s", im.at), 0);
    print_message("%lu power cuts, %lu promises kept\n", cuts, calls);
    assert_true(calls > 0);
    free(all.list);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_promised_is_lost_by_kill_9),
        cmocka_unit_test(three_processes_share_a_directory_through_kills),
        cmocka_unit_test(nothing_promised_is_lost_by_a_power_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
