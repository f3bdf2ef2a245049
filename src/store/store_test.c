/* SPDX-License-Identifier: Apache-2.0
 * store/store_test.c: the state directory, its owners, its small tables, its
 * versions. "Row N" cites the attack list of the reliability research. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/checked.h"
#include "state_fixture.h"
#include "store/store_int.h"

static void path_in(const struct fixture *f, const char *name, char out[300])
{
    snprintf(out, 300, "%s/%s", f->dir, name);
}

static void assert_refused(struct fixture *f, const char *with)
{
    struct wbi_error err = WBI_ERROR_INIT;

    assert_int_equal(fixture_try(f, &err), WB_ESTATE);
    assert_int_equal(err.kind, WBI_KIND_STATE_UNAVAILABLE);
    if (strstr(err.text, with) == NULL)
        fail_msg("refused with: %s", err.text);
    /* every refusal says what to do next */
    if (strstr(err.text, "move") == NULL && strstr(err.text, "set HOME") == NULL)
        fail_msg("no next step: %s", err.text);
}

static unsigned mode_of(const struct fixture *f, const char *name)
{
    char path[300];
    struct stat st;

    path_in(f, name, path);
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 0777;
}

/* I1: "ledger.db, artifacts/, run/, a .gitignore of *; 0700/0600"; row 127: odd umask */
static void made_private_whatever_the_umask(void **state)
{
    static const mode_t masks[] = {0, 022, 0777};
    struct fixture f;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        mode_t before;
        char path[300], text[8] = "";
        FILE *file;
        fixture_init(&f);
        before = umask(masks[i]);
        fixture_open(&f);
        fixture_call(&f, 1);
        umask(before);
        assert_int_equal(mode_of(&f, "."), 0700);
        assert_int_equal(mode_of(&f, "run"), 0700);
        assert_int_equal(mode_of(&f, "artifacts"), 0700);
        assert_int_equal(mode_of(&f, "ledger.db"), 0600);
        assert_int_equal(mode_of(&f, "ledger.db-wal"), 0600);
        assert_int_equal(mode_of(&f, "instance"), 0600);
        path_in(&f, ".gitignore", path);
        file = fopen(path, "r");
        assert_non_null(file);
        assert_non_null(fgets(text, sizeof(text), file));
        fclose(file);
        assert_string_equal(text, "*\n");
        fixture_fini(&f);
    }
}

/* I1: "an instance id in it must match one in the user's state folder" */
static void directory_of_another_user_folder_is_refused(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    fixture_call(&f, 1);
    fixture_close(&f);
    snprintf(f.user, sizeof(f.user), "%s/elsewhere", f.base);
    assert_refused(&f, "not known to this user");
    fixture_fini(&f);
}

/* cp -r of a workspace: the copy is refused, and does not make the first one refused;
 * mv takes everything along. */
static void a_copy_is_refused_and_a_move_is_not(void **state)
{
    char first[sizeof(((struct fixture *)0)->dir)], command[900];
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    fixture_call(&f, 1);
    fixture_close(&f);
    snprintf(first, sizeof(first), "%s", f.dir);
    snprintf(command, sizeof(command), "cp -r %s %s/copy", first, f.base);
    assert_int_equal(system(command), 0);
    snprintf(f.dir, sizeof(f.dir), "%s/copy", f.base);
    assert_refused(&f, "is a copy of");
    snprintf(f.dir, sizeof(f.dir), "%s", first);
    fixture_open(&f);
    fixture_call(&f, 2);
    fixture_close(&f);

    for (int i = 0; i < 2; i++) { /* away, and back */
        char from[sizeof(f.dir)];

        snprintf(from, sizeof(from), "%s", f.dir);
        snprintf(f.dir, sizeof(f.dir), "%s/%s", f.base, i == 0 ? "moved" : "state");
        assert_int_equal(rename(from, f.dir), 0);
        fixture_open(&f);
        fixture_call(&f, 3 + i);
        fixture_close(&f);
    }
    fixture_fini(&f);
}

static void directory_with_files_but_no_id_is_refused(void **state)
{
    struct fixture f;
    char path[300];

    (void)state;
    fixture_init(&f);
    assert_int_equal(mkdir(f.dir, 0700), 0);
    path_in(&f, "ledger.db", path);
    fclose(fopen(path, "w"));
    assert_refused(&f, "no instance id");
    fixture_fini(&f);
}

/* I1: "the user's state folder if that is not writable": it holds other things already */
static void the_users_folder_may_be_the_state_directory(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f); /* leaves instances/ and a key there */
    fixture_call(&f, 1);
    fixture_close(&f);
    snprintf(f.dir, sizeof(f.dir), "%s", f.user);
    for (int i = 0; i < 2; i++) {
        fixture_open(&f);
        fixture_call(&f, 2 + i);
        fixture_close(&f);
    }
    assert_int_equal(mode_of(&f, "ledger.db"), 0600);
    fixture_fini(&f);
}

static void links_are_refused(void **state)
{
    static const char *const names[] = {"ledger.db", "ledger.db-wal", "ledger.lock",      "run",
                                        "artifacts", "instance",      "ledger.db-journal"};
    struct fixture f;
    char path[300], other[320];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        fixture_init(&f);
        fixture_open(&f);
        fixture_close(&f);
        path_in(&f, names[i], path);
        snprintf(other, sizeof(other), "%s.real", path);
        if (rename(path, other) != 0)
            fclose(fopen(other, "w"));
        assert_int_equal(symlink(other, path), 0);
        assert_refused(&f, "link");
        fixture_fini(&f);
    }
    fixture_init(&f); /* the directory itself */
    snprintf(path, sizeof(path), "%s/real", f.base);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(symlink(path, f.dir), 0);
    assert_refused(&f, "link");
    fixture_fini(&f);
}

static void second_names_of_the_database_are_refused(void **state)
{
    struct fixture f;
    char path[300], other[300];

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    fixture_close(&f);
    path_in(&f, "ledger.db", path);
    snprintf(other, sizeof(other), "%s/second", f.base);
    assert_int_equal(link(path, other), 0);
    assert_refused(&f, "hard link");
    fixture_fini(&f);
}

static void foreign_owner_and_open_modes_are_refused(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    fixture_close(&f);
    assert_int_equal(chmod(f.dir, 0777), 0);
    assert_refused(&f, "written by other users");
    assert_int_equal(chmod(f.dir, 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(f.dir, 65534, 65534), 0);
        assert_refused(&f, "belongs to another user");
    } else {
        print_message("skipped: foreign owner (not root)\n");
    }
    fixture_fini(&f);
}

/* row 127: HOME unset */
static void unknown_user_folder_is_refused_with_a_next_step(void **state)
{
    struct fixture f;
    struct wbi_store_options o = {.dir = f.dir, .ids = wbi_ids_system()};
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_store *store;

    (void)state;
    fixture_init(&f);
    assert_int_equal(wbi_store_open(&o, &store, &err), WB_ESTATE);
    assert_non_null(strstr(err.text, "set HOME"));
    fixture_fini(&f);
}

static void overwrite(const struct fixture *f, const char *name, long at, const char *bytes)
{
    char path[300];
    int fd;

    path_in(f, name, path);
    fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, strlen(bytes), at), strlen(bytes));
    close(fd);
}

static void copy_file(const struct fixture *f, const char *from, const char *to)
{
    char command[700];

    snprintf(command, sizeof(command), "cp %s/%s %s/%s", f->dir, from, f->dir, to);
    assert_int_equal(system(command), 0);
}

/* rows 115 and 116: the file deleted, replaced, an older copy restored, damaged */
static void missing_replaced_older_and_damaged_files_are_refused(void **state)
{
    struct fixture f, g;
    char path[300], wal[300], command[900];

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    fixture_call(&f, 1);
    fixture_close(&f);
    path_in(&f, "ledger.db", path);
    path_in(&f, "ledger.db-wal", wal);
    copy_file(&f, "ledger.db", "old.db");
    copy_file(&f, "ledger.db-wal", "old.db-wal");
    fixture_open(&f);
    fixture_call(&f, 2);
    fixture_close(&f);

    copy_file(&f, "ledger.db-wal", "new.db-wal"); /* an older copy */
    copy_file(&f, "old.db", "ledger.db");
    copy_file(&f, "old.db-wal", "ledger.db-wal");
    assert_refused(&f, "not the one seen before");
    copy_file(&f, "new.db-wal", "ledger.db-wal");
    fixture_open(&f);
    fixture_close(&f);

    fixture_init(&g); /* another directory's */
    fixture_open(&g);
    fixture_close(&g);
    snprintf(command, sizeof(command), "cp %s/ledger.db* %s/", g.dir, f.dir);
    assert_int_equal(system(command), 0);
    assert_refused(&f, "another state directory");
    fixture_fini(&g);

    assert_int_equal(unlink(path), 0); /* deleted */
    (void)unlink(wal);
    assert_refused(&f, "is gone");
    fclose(fopen(path, "w"));
    overwrite(&f, "ledger.db", 0, "this is no database at all, but long enough to be one .......");
    assert_refused(&f, "damaged");
    fixture_fini(&f);
}

static void replaced_while_in_use_stops_writing(void **state)
{
    struct wbi_error err = WBI_ERROR_INIT;
    struct wbi_store_health health;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    fixture_call(&f, 1);
    copy_file(&f, "ledger.db", "other.db");
    {
        char from[300], to[300];
        path_in(&f, "other.db", from);
        path_in(&f, "ledger.db", to);
        assert_int_equal(rename(from, to), 0);
    }
    assert_int_equal(fixture_append(&f, WBI_KIND_INTENT, 2, &err), WB_ESTATE);
    assert_int_equal(err.kind, WBI_KIND_STATE_UNAVAILABLE);
    assert_non_null(strstr(err.text, "replaced"));
    wbi_store_health(f.store, &health);
    assert_false(health.writable);
    fixture_fini(&f);
}

static struct wbi_str lit(const char *z)
{
    return wbi_str_z(z);
}

static void small_tables_keep_generations(void **state)
{
    struct wbi_str t = WBI_LIT("tasks");
    struct wbi_entry e, *list;
    struct fixture f;
    int64_t g1, g2;
    size_t n;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    assert_int_equal(wbi_store_get(f.store, f.arena, t, lit("a"), &e, NULL), WB_ENOTFOUND);
    assert_int_equal(
        wbi_store_put(f.store, t, lit("a"), lit("{\"n\":1}"), WBI_MUST_BE_NEW, &g1, NULL), WB_OK);
    assert_int_equal(wbi_store_put(f.store, t, lit("a"), lit("{}"), WBI_MUST_BE_NEW, NULL, NULL),
                     WB_EEXISTS);
    assert_int_equal(wbi_store_put(f.store, t, lit("a"), lit("{\"n\":2}"), g1, &g2, NULL), WB_OK);
    assert_true(g2 > g1);
    /* L6: a stale generation is refused */
    assert_int_equal(wbi_store_put(f.store, t, lit("a"), lit("{}"), g1, NULL, NULL), WB_EAGAIN);
    assert_int_equal(wbi_store_delete(f.store, t, lit("a"), g1, NULL), WB_EAGAIN);
    assert_int_equal(wbi_store_delete(f.store, t, lit("a"), g2, NULL), WB_OK);
    assert_int_equal(wbi_store_put(f.store, t, lit("a"), lit("1"), g2, NULL, NULL), WB_ENOTFOUND);
    /* a key made again never gets an old generation */
    assert_int_equal(wbi_store_put(f.store, t, lit("a"), lit("3"), WBI_ANY_GENERATION, &g1, NULL),
                     WB_OK);
    assert_true(g1 > g2);
    assert_int_equal(wbi_store_put(f.store, t, lit("ab"), lit("4"), 0, NULL, NULL), WB_OK);
    assert_int_equal(wbi_store_put(f.store, t, lit("b"), lit("5"), 0, NULL, NULL), WB_OK);
    assert_int_equal(wbi_store_put(f.store, lit("keys"), lit("a"), lit("6"), 0, NULL, NULL), WB_OK);
    fixture_close(&f);
    fixture_open(&f); /* it survives */
    assert_int_equal(wbi_store_list(f.store, f.arena, t, lit("a"), WBI_NONE, 10, &list, &n, NULL),
                     WB_OK);
    assert_int_equal(n, 2);
    assert_true(wbi_str_eqz(list[0].key, "a") && wbi_str_eqz(list[1].value, "4"));
    assert_int_equal(wbi_store_list(f.store, f.arena, t, WBI_NONE, lit("ab"), 10, &list, &n, NULL),
                     WB_OK);
    assert_int_equal(n, 1);
    assert_true(wbi_str_eqz(list[0].key, "b"));
    fixture_fini(&f);
}

static void changes_are_made_together_or_not_at_all(void **state)
{
    struct wbi_change both[] = {
        {WBI_LIT_INIT("t"), WBI_LIT_INIT("new"), WBI_LIT_INIT("1"), WBI_MUST_BE_NEW, 0},
        {WBI_LIT_INIT("t"), WBI_LIT_INIT("there"), WBI_LIT_INIT("1"), WBI_MUST_BE_NEW, 0}};
    struct wbi_entry e;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    assert_int_equal(wbi_store_put(f.store, lit("t"), lit("there"), lit("0"), 0, NULL, NULL),
                     WB_OK);
    assert_int_equal(wbi_store_change(f.store, both, 2, NULL), WB_EEXISTS);
    assert_int_equal(wbi_store_get(f.store, f.arena, lit("t"), lit("new"), &e, NULL), WB_ENOTFOUND);
    both[1].expected = WBI_ANY_GENERATION;
    assert_int_equal(wbi_store_change(f.store, both, 2, NULL), WB_OK);
    assert_true(both[1].generation > both[0].generation);
    both[0].key = wbi_str_make(NULL, 0);
    assert_int_equal(wbi_store_change(f.store, both, 1, NULL), WB_ELIMIT);
    fixture_fini(&f);
}

static void owners_live_as_long_as_their_process(void **state)
{
    struct fixture f;
    char owner[WBI_OWNER_SIZE];
    int ready[2], go[2], status;
    pid_t child;

    (void)state;
    fixture_init(&f);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    child = fork();
    if (child == 0) {
        struct wbi_error err = WBI_ERROR_INIT;
        if (fixture_try_store(&f, &err) != WB_OK || wbi_store_own(f.store, &err) != WB_OK)
            _exit(1);
        if (write(ready[1], wbi_store_owner(f.store), WBI_OWNER_SIZE) != WBI_OWNER_SIZE)
            _exit(2);
        _exit((int)read(go[0], owner, 1)); /* never comes: it lives until it is killed */
    }
    assert_int_equal(read(ready[0], owner, sizeof(owner)), sizeof(owner));
    fixture_open(&f);
    assert_true(wbi_store_owner_alive(f.store, lit(owner)));
    assert_int_equal(wbi_store_own(f.store, NULL), WB_OK);
    assert_true(wbi_store_owner_alive(f.store, lit(wbi_store_owner(f.store))));
    assert_false(wbi_store_owner_alive(f.store, lit("own_00000000000000000000:b:1:2")));
    assert_false(wbi_store_owner_alive(f.store, lit("../../etc/passwd")));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(wbi_store_owner_alive(f.store, lit(owner)));
    fixture_close(&f);
    fixture_open(&f); /* its lock is swept */
    {
        char path[300], instance[WBI_ID_SIZE];
        snprintf(instance, sizeof(instance), "%.*s", (int)strcspn(owner, ":"), owner);
        snprintf(path, sizeof(path), "%s/run/%s.lock", f.dir, instance);
        assert_int_equal(access(path, F_OK), -1);
    }
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(go[i]);
    }
    fixture_fini(&f);
}

/* row 127: "descriptors 0-2 closed at start" */
static void never_uses_the_standard_descriptors(void **state)
{
    struct fixture f;
    int status;
    pid_t child;

    (void)state;
    fixture_init(&f);
    child = fork();
    if (child == 0) {
        struct wbi_error err = WBI_ERROR_INIT;
        close(0);
        close(1);
        close(2);
        if (fixture_try(&f, &err) != WB_OK || fixture_append(&f, WBI_KIND_INTENT, 1, &err) != WB_OK)
            _exit(1);
        for (int fd = 0; fd < 3; fd++) { /* whatever stands there is no file of the store */
            char link[64], target[300] = "";
            snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
            if (readlink(link, target, sizeof(target) - 1) > 0 && strstr(target, f.base) != NULL)
                _exit(2 + fd);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    fixture_fini(&f);
}

static wb_rc stop_here(struct wbi_db *db, void *arg, struct wbi_error *err)
{
    (void)db;
    (void)err;
    if (arg != NULL)
        kill(getpid(), SIGKILL);
    return WB_OK;
}

/* row 130: "upgrade and downgrade of the store schema, kill in the middle" */
static void migration_leaves_the_old_version_or_the_new(void **state)
{
    struct wbi_step steps[] = {
        {"CREATE TABLE unused (a)", NULL}, /* versions 1 and 2 are the real ones */
        {"CREATE TABLE unused (a)", NULL},
        {"CREATE TABLE tasks2 (a); INSERT INTO tasks2 VALUES (1); ALTER TABLE kv ADD COLUMN note",
         stop_here},
        {"DROP TABLE tasks2; CREATE TABLE tasks3 (a)", NULL}};
    int64_t version, tables;
    struct wbi_db db;
    struct fixture f;
    int status;
    pid_t child;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    fixture_call(&f, 1);
    fixture_close(&f);
    fixture_open(&f);
    child = fork();
    if (child == 0) {
        struct wbi_error err = WBI_ERROR_INIT;
        if (wbi_db_open(wbi_store_dir(f.store), true, &db, &err) == WB_OK &&
            wbi_db_migrate(&db, steps, WBI_COUNT(steps), &f, &err) == WB_OK)
            _exit(1);
        _exit(2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(wbi_db_open(wbi_store_dir(f.store), true, &db, NULL), WB_OK);
    assert_int_equal(wbi_db_number(&db, "PRAGMA user_version", &version, NULL), WB_OK);
    assert_int_equal(version, wbi_steps_n); /* the old one, whole */
    assert_int_equal(wbi_db_number(&db,
                                   "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'tasks%'",
                                   &tables, NULL),
                     WB_OK);
    assert_int_equal(tables, 0);
    assert_int_equal(wbi_db_migrate(&db, steps, WBI_COUNT(steps), NULL, NULL), WB_OK);
    assert_int_equal(wbi_db_number(&db, "PRAGMA user_version", &version, NULL), WB_OK);
    assert_int_equal(version, WBI_COUNT(steps));
    assert_int_equal(wbi_db_number(&db, "SELECT count(*) FROM sqlite_schema WHERE name = 'tasks3'",
                                   &tables, NULL),
                     WB_OK);
    assert_int_equal(tables, 1);
    wbi_db_close(&db);
    fixture_close(&f);
    assert_refused(&f, "newer Waybill"); /* the downgrade */
    fixture_fini(&f);
}

static size_t rows_of_caller(struct fixture *f, const char *id)
{
    struct wbi_row_query q = {.provider_call_id = wbi_str_z(id), .max = 8};
    struct wbi_row *rows;
    size_t n;

    assert_int_equal(wbi_store_rows(f->store, f->arena, &q, &rows, &n, NULL), WB_OK);
    return n;
}

static void ids_of_callers_are_found_whether_they_name_or_count(void **state)
{
    static const char *const ids[] = {"toolu_7", "7", "12", "", "7\xc3\xa9", "-1"};
    struct fixture f;
    struct wbi_db db;
    int64_t indexed;
    char id[40];

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    for (size_t i = 0; i < WBI_COUNT(ids); i++) {
        struct wbi_row row = fixture_row(id, WBI_KIND_OUTCOME, i + 1);

        row.provider_call_id = wbi_str_z(ids[i]);
        assert_int_equal(wbi_ledger_append_wait(f.ledger, &row, NULL, NULL), WB_OK);
    }
    for (size_t i = 0; i < WBI_COUNT(ids); i++)
        assert_int_equal(rows_of_caller(&f, ids[i]), 1);
    assert_int_equal(rows_of_caller(&f, "toolu_8"), 0);
    assert_int_equal(rows_of_caller(&f, "8"), 0);
    assert_int_equal(wbi_db_open(wbi_store_dir(f.store), true, &db, NULL), WB_OK);
    assert_int_equal(wbi_db_number(&db,
                                   "SELECT count(*) FROM ledger INDEXED BY ledger_provider "
                                   "WHERE provider_call_id = 'toolu_7' AND " WBI_NAMED_ID,
                                   &indexed, NULL),
                     WB_OK);
    assert_int_equal(indexed, 1);
    wbi_db_close(&db);
    fixture_close(&f);
    fixture_fini(&f);
}

/* Its rows say everything twice and stay as they are; what comes now may be lean. */
static void a_file_of_version_1_becomes_one_of_version_2(void **state)
{
    struct fixture f;
    struct wbi_db db;
    int64_t version;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    fixture_call(&f, 1);
    assert_int_equal(wbi_db_open(wbi_store_dir(f.store), true, &db, NULL), WB_OK);
    assert_int_equal(wbi_db_exec(&db, "PRAGMA user_version=1", NULL), WB_OK);
    wbi_db_close(&db);
    fixture_close(&f);
    fixture_open(&f);
    fixture_call(&f, 2);
    assert_int_equal(wbi_db_open(wbi_store_dir(f.store), true, &db, NULL), WB_OK);
    assert_int_equal(wbi_db_number(&db, "PRAGMA user_version", &version, NULL), WB_OK);
    assert_int_equal(version, 2);
    wbi_db_close(&db);
    fixture_close(&f);
    fixture_fini(&f);
}

/* C12.2: "any number of processes share a state directory": they may also make it */
static void many_processes_may_make_one_directory(void **state)
{
    enum { N = 8 };
    struct fixture f;
    pid_t children[N];

    (void)state;
    fixture_init(&f);
    for (int i = 0; i < N; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct wbi_error err = WBI_ERROR_INIT;
            if (fixture_try(&f, &err) != WB_OK ||
                fixture_append(&f, WBI_KIND_OUTCOME, (unsigned long)i, &err) != WB_OK) {
                fprintf(stderr, "child %d: %s\n", i, err.text);
                _exit(1);
            }
            fixture_close(&f);
            _exit(0);
        }
    }
    for (int i = 0; i < N; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    fixture_open(&f);
    assert_int_equal(fixture_verify(&f).rows, N);
    fixture_fini(&f);
}

/* A lock that is being made is not taken for one that was left behind. */
static void only_old_locks_without_an_owner_are_swept(void **state)
{
    static const char *const fresh = ".own_00000000000000000001.new";
    static const char *const old = ".own_00000000000000000002.new";
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    struct fixture f;
    int run;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    run = wbi_store_dir(f.store)->run_fd;
    close(openat(run, fresh, O_WRONLY | O_CREAT, 0600));
    close(openat(run, old, O_WRONLY | O_CREAT, 0600));
    assert_int_equal(utimensat(run, old, long_ago, 0), 0);
    wbi_owner_sweep(run);
    assert_int_equal(faccessat(run, fresh, F_OK, 0), 0);
    assert_int_not_equal(faccessat(run, old, F_OK, 0), 0);
    fixture_fini(&f);
}

/* A stopped process that holds the commit lock stops nobody for ever. */
static void commit_lock_is_fair_and_excludes(void **state)
{
    struct wbi_commit_lock a, b;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_open(&f);
    assert_int_equal(wbi_commit_lock_open(wbi_store_dir(f.store), &a, NULL), WB_OK);
    assert_int_equal(wbi_commit_lock_open(wbi_store_dir(f.store), &b, NULL), WB_OK);
    assert_int_equal(wbi_commit_lock(&a, NULL), WB_OK);
    {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        assert_int_equal(fcntl(b.fd, F_OFD_SETLK, &l), -1);
    }
    wbi_commit_unlock(&a);
    assert_int_equal(wbi_commit_lock(&b, NULL), WB_OK);
    wbi_commit_unlock(&b);
    { /* removed: refused, not locked beside the others */
        char path[300];
        struct wbi_error err = WBI_ERROR_INIT;
        path_in(&f, "ledger.lock", path);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(wbi_commit_lock(&a, &err), WB_ESTATE);
        assert_int_equal(err.kind, WBI_KIND_STATE_UNAVAILABLE);
    }
    wbi_commit_lock_close(&a);
    wbi_commit_lock_close(&b);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_private_whatever_the_umask),
        cmocka_unit_test(directory_of_another_user_folder_is_refused),
        cmocka_unit_test(a_copy_is_refused_and_a_move_is_not),
        cmocka_unit_test(directory_with_files_but_no_id_is_refused),
        cmocka_unit_test(the_users_folder_may_be_the_state_directory),
        cmocka_unit_test(links_are_refused),
        cmocka_unit_test(second_names_of_the_database_are_refused),
        cmocka_unit_test(foreign_owner_and_open_modes_are_refused),
        cmocka_unit_test(unknown_user_folder_is_refused_with_a_next_step),
        cmocka_unit_test(missing_replaced_older_and_damaged_files_are_refused),
        cmocka_unit_test(replaced_while_in_use_stops_writing),
        cmocka_unit_test(small_tables_keep_generations),
        cmocka_unit_test(changes_are_made_together_or_not_at_all),
        cmocka_unit_test(owners_live_as_long_as_their_process),
        cmocka_unit_test(never_uses_the_standard_descriptors),
        cmocka_unit_test(migration_leaves_the_old_version_or_the_new),
        cmocka_unit_test(ids_of_callers_are_found_whether_they_name_or_count),
        cmocka_unit_test(a_file_of_version_1_becomes_one_of_version_2),
        cmocka_unit_test(many_processes_may_make_one_directory),
        cmocka_unit_test(only_old_locks_without_an_owner_are_swept),
        cmocka_unit_test(commit_lock_is_fair_and_excludes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
