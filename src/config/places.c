/* SPDX-License-Identifier: Apache-2.0
 * config/places.c: the order in which root, state and the user's folders are
 * looked for. Reads the file system, changes nothing. */
#include "config/places.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/id.h"
#include "base/limits.h"
#include "path/path.h"

struct search {
    struct wbi_arena *arena;
    const struct wbi_env *env;
    struct wbi_str workdir;
    struct wbi_error *err;
};

/* Of the user database: whoever starts a program with an empty environment has a
 * home all the same. */
static const char *home_on_record(void)
{
    static _Thread_local char home[WBI_LIMIT_PATH + 1];
    char room[4096];
    struct passwd entry, *found = NULL;

    if (getpwuid_r(geteuid(), &entry, room, sizeof(room), &found) != 0 || found == NULL ||
        strlen(entry.pw_dir) > WBI_LIMIT_PATH)
        return NULL;
    return memcpy(home, entry.pw_dir, strlen(entry.pw_dir) + 1);
}

static const char *from_process(void *arg, const char *name)
{
    const char *value = getenv(name);

    (void)arg;
    if ((value == NULL || *value == '\0') && strcmp(name, "HOME") == 0)
        return home_on_record();
    return value;
}

struct wbi_env wbi_env_process(void)
{
    return (struct wbi_env){from_process, NULL};
}

/* Unset and empty are the same: absent. */
static struct wbi_str variable(const struct search *s, const char *name)
{
    struct wbi_str value = wbi_str_z(s->env->get(s->env->arg, name));

    return value.n > 0 ? value : WBI_NONE;
}

static wb_rc join(const struct search *s, struct wbi_str folder, const char *name,
                  struct wbi_str *ret)
{
    struct wbi_str path;

    if (folder.n + strlen(name) + 1 > WBI_LIMIT_PATH)
        return wbi_fail(s->err, WB_ELIMIT, "a path is longer than %u bytes", WBI_LIMIT_PATH);
    path = wbi_arena_fmt(s->arena, "%.*s%s%s", WBI_FMT(folder),
                         wbi_str_ends(folder, WBI_LIT("/")) ? "" : "/", name);
    if (path.p == NULL)
        return wbi_fail_nomem(s->err);
    *ret = path;
    return WB_OK;
}

/* path as it is seen from the working directory, ended by a NUL. */
static wb_rc absolute(const struct search *s, struct wbi_str path, struct wbi_str *ret)
{
    const char *z = wbi_arena_strz(s->arena, path);

    if (z == NULL)
        return wbi_fail_nomem(s->err);
    if (path.n == 0) /* not the working directory, into which a ledger would be put */
        return wbi_fail(s->err, WB_EINPUT, "a path is empty; name a file or directory");
    if (strlen(z) != path.n)
        return wbi_fail(s->err, WB_EINPUT, "a path holds a NUL byte");
    if (z[0] != '/')
        return join(s, s->workdir, z, ret);
    *ret = wbi_str_make(z, path.n);
    return WB_OK;
}

/* An existing directory with links resolved. */
static wb_rc real_directory(const struct search *s, struct wbi_str path, const char *what,
                            struct wbi_str *ret)
{
    char real[PATH_MAX];
    struct wbi_str wanted;
    wb_rc rc = absolute(s, path, &wanted);

    if (rc != WB_OK)
        return rc;
    if (realpath(wanted.p, real) == NULL)
        return wbi_fail(s->err, WB_ESTATE, "%s \"%.*s\" cannot be used: %s", what, WBI_FMT(path),
                        strerrordesc_np(errno));
    wanted = wbi_arena_str(s->arena, wbi_str_z(real));
    if (wanted.p == NULL)
        return wbi_fail_nomem(s->err);
    rc = join(s, wanted, ".", ret); /* only directories have one */
    if (rc == WB_OK && access(ret->p, F_OK) != 0)
        rc = wbi_fail(s->err, WB_ESTATE, "%s \"%.*s\" is no directory", what, WBI_FMT(path));
    if (rc == WB_OK)
        *ret = wanted;
    return rc;
}

static wb_rc find_workdir(struct search *s, struct wbi_str wish)
{
    char here[PATH_MAX];

    if (wish.p != NULL)
        return real_directory(s, wish, "the working directory", &s->workdir);
    if (getcwd(here, sizeof(here)) == NULL)
        return wbi_fail(s->err, WB_ESTATE, "the working directory cannot be used: %s",
                        strerrordesc_np(errno));
    s->workdir = wbi_arena_str(s->arena, wbi_str_z(here));
    return s->workdir.p ? WB_OK : wbi_fail_nomem(s->err);
}

static wb_rc is_marked(const struct search *s, struct wbi_str folder, bool *ret)
{
    static const char *const marks[] = {"waybill.json", ".waybill", ".git"};

    *ret = false;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && !*ret; i++) {
        struct wbi_str path = WBI_NONE;
        wb_rc rc = join(s, folder, marks[i], &path);

        if (rc != WB_OK)
            return rc;
        *ret = access(path.p, F_OK) == 0;
    }
    return WB_OK;
}

static wb_rc find_marked(const struct search *s, struct wbi_str *ret)
{
    struct wbi_str folder = s->workdir;
    bool marked = false;

    for (;;) {
        wb_rc rc = is_marked(s, folder, &marked);
        size_t cut = folder.n;

        if (rc != WB_OK)
            return rc;
        if (marked || folder.n <= 1)
            break;
        while (cut > 1 && folder.p[cut - 1] != '/')
            cut--;
        folder = wbi_str_head(folder, cut > 1 ? cut - 1 : 1);
    }
    *ret = marked ? wbi_arena_str(s->arena, folder) : s->workdir;
    return ret->p ? WB_OK : wbi_fail_nomem(s->err);
}

static wb_rc find_root(const struct search *s, struct wbi_str wish, struct wbi_str *ret)
{
    if (wish.p == NULL)
        wish = variable(s, "WAYBILL_ROOT");
    if (wish.p != NULL)
        return real_directory(s, wish, "the root", ret);
    return find_marked(s, ret);
}

/* XDG: a variable that is no absolute path is ignored. */
static wb_rc user_folder(const struct search *s, const char *name, const char *below_home,
                         struct wbi_str *ret)
{
    struct wbi_str base = variable(s, name), home = variable(s, "HOME");

    if (base.p != NULL && base.p[0] == '/')
        return join(s, base, "waybill", ret);
    if (home.p != NULL && home.p[0] == '/')
        return join(s, home, below_home, ret);
    *ret = WBI_NONE;
    return WB_OK;
}

static bool can_be_written(struct wbi_str state, struct wbi_str root)
{
    if (access(state.p, F_OK) == 0)
        return access(state.p, W_OK | X_OK) == 0;
    return access(root.p, W_OK | X_OK) == 0;
}

/* Whether the user's folder remembers the directory by the id in it. Then what was done is
 * written down there, and another ledger would know nothing of it: an effect could happen
 * twice. It is read where it cannot be written. */
static wb_rc is_remembered(const struct search *s, const struct wbi_places *p, bool *ret)
{
    char name[sizeof("instances/") + WBI_ID_SIZE] = "instances/";
    size_t at = strlen(name);
    struct wbi_str path;
    ssize_t n;
    int fd;
    wb_rc rc = join(s, p->state, "instance", &path);

    *ret = false;
    if (rc != WB_OK || p->user_state.p == NULL)
        return rc;
    fd = open(path.p, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    n = fd >= 0 ? read(fd, name + at, sizeof(name) - at - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    if (n <= 0)
        return WB_OK;
    name[at + (size_t)n] = '\0';
    name[at + strcspn(name + at, "\n/")] = '\0';
    rc = join(s, p->user_state, name, &path);
    *ret = rc == WB_OK && name[at] != '\0' && access(path.p, F_OK) == 0;
    return rc;
}

static wb_rc find_state(const struct search *s, struct wbi_str wish, struct wbi_places *p)
{
    bool remembered = false;
    wb_rc rc;

    if (wish.p == NULL)
        wish = variable(s, "WAYBILL_STATE");
    if (wish.p != NULL)
        return absolute(s, wish, &p->state);
    rc = join(s, p->root, ".waybill", &p->state);
    if (rc != WB_OK || can_be_written(p->state, p->root))
        return rc;
    if (access(p->state.p, W_OK) != 0 && errno == EROFS) /* others may never write there (I1) */
        rc = is_remembered(s, p, &remembered);
    if (rc != WB_OK || remembered)
        return rc;
    if (p->user_state.p == NULL)
        return wbi_fail(s->err, WB_ESTATE,
                        "\"%.*s\" cannot be written and there is no user's state folder; set "
                        "WAYBILL_STATE, XDG_STATE_HOME or HOME",
                        WBI_FMT(p->state));
    p->state = p->user_state;
    return WB_OK;
}

static wb_rc find_config_file(const struct search *s, struct wbi_str wish, struct wbi_places *p)
{
    p->config_given = wish.p != NULL;
    if (p->config_given)
        return absolute(s, wish, &p->config_file);
    if (p->user_config.p == NULL)
        return WB_OK;
    return join(s, p->user_config, "config.json", &p->config_file);
}

wb_rc wbi_places_find(struct wbi_arena *arena, const struct wbi_places_wish *wish,
                      const struct wbi_env *env, struct wbi_places *ret, struct wbi_error *err)
{
    struct search s = {.arena = arena, .env = env, .err = err};
    struct wbi_places p = {.config_given = false};
    wb_rc rc = find_workdir(&s, wish->workdir);

    if (rc == WB_OK)
        rc = find_root(&s, wish->root, &p.root);
    if (rc == WB_OK)
        rc = user_folder(&s, "XDG_CONFIG_HOME", ".config/waybill", &p.user_config);
    if (rc == WB_OK)
        rc = user_folder(&s, "XDG_STATE_HOME", ".local/state/waybill", &p.user_state);
    if (rc == WB_OK)
        rc = find_state(&s, wish->state, &p);
    if (rc == WB_OK)
        rc = find_config_file(&s, wish->config, &p);
    if (rc == WB_OK)
        *ret = p;
    return rc;
}

wb_rc wbi_places_guard(const struct wbi_places *p, struct wbi_root *root, struct wbi_error *err)
{
    const struct wbi_str places[] = {p->state, p->user_state, p->user_config, p->config_file};
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < WBI_COUNT(places); i++)
        rc = wbi_root_guard(root, places[i], err);
    return rc;
}

int wbi_places_why_not(struct wbi_str path)
{
    char at[WBI_LIMIT_PATH + 1];
    size_t n = path.n;

    if (n >= sizeof(at))
        return ENAMETOOLONG;
    memcpy(at, path.p, n);
    at[n] = '\0';
    while (n > 1 && access(at, F_OK) != 0 && errno == ENOENT) {
        while (n > 1 && at[n - 1] != '/')
            n--;
        while (n > 1 && at[n - 1] == '/')
            n--;
        at[n] = '\0';
    }
    return access(at, W_OK | X_OK) == 0 ? 0 : errno;
}
