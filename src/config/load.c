/* SPDX-License-Identifier: Apache-2.0
 * config/load.c: finding and reading the files. A workspace's are opened
 * beneath the root's descriptor and must be plain files, so that a repository
 * cannot point elsewhere. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/limits.h"
#include "config/layers_int.h"

#define WORKSPACE_FILE "waybill.json"
#define TOOLS_FOLDER "tools.d"

struct loading {
    struct wbi_config *config;
    struct wbi_error *err;
    int root; /* -1 when it cannot be opened */
};

static wb_rc load(struct loading *l, int folder, const char *path, struct wbi_config_file *file)
{
    struct wbi_arena *arena = l->config->arena;
    wb_rc rc = wbi_config_file_read(arena, folder, path, file, l->err);

    if (rc == WB_OK)
        rc = wbi_config_file_parse(arena, file, l->err);
    if (rc == WB_OK)
        rc = wbi_config_check(file, l->err);
    return rc;
}

static void keep(struct wbi_config *c, const struct wbi_config_file *file)
{
    c->files[c->files_n++] = *file;
}

static wb_rc load_users(struct loading *l, const struct wbi_places *places)
{
    struct wbi_config_file file = {.workspace = false};
    wb_rc rc;

    if (places->config_file.p == NULL)
        return WB_OK;
    file.name = wbi_arena_str(l->config->arena, places->config_file);
    if (file.name.p == NULL)
        return wbi_fail_nomem(l->err);
    rc = load(l, AT_FDCWD, file.name.p, &file);
    if (rc == WB_ENOTFOUND && places->config_given)
        return wbi_config_fail(l->err, &file, NULL, WB_ESTATE, "does not exist");
    if (rc == WB_ENOTFOUND)
        return WB_OK;
    if (rc == WB_OK)
        keep(l->config, &file);
    return rc;
}

/* The user may have named the workspace's file as their own. */
static bool is_users_file(const struct wbi_config *c, const struct wbi_config_file *file)
{
    return c->files_n > 0 && !c->files[0].workspace && c->files[0].device == file->device &&
           c->files[0].inode == file->inode;
}

static wb_rc load_workspaces(struct loading *l)
{
    struct wbi_config_file file = {.workspace = true, .name = WBI_LIT(WORKSPACE_FILE)};
    wb_rc rc = load(l, l->root, WORKSPACE_FILE, &file);

    if (rc == WB_OK && !is_users_file(l->config, &file))
        keep(l->config, &file);
    return rc == WB_ENOTFOUND ? WB_OK : rc;
}

struct names {
    struct wbi_str list[WBI_LIMIT_CONFIG_TOOL_FILES];
    size_t n;
};

/* In byte order, by insertion: folders are small. */
static void insert_name(struct names *names, struct wbi_str name)
{
    size_t at = names->n++;

    for (; at > 0 && wbi_str_cmp(name, names->list[at - 1]) < 0; at--)
        names->list[at] = names->list[at - 1];
    names->list[at] = name;
}

static wb_rc list_folder(struct loading *l, DIR *dir, struct names *names)
{
    struct dirent *e;

    while ((e = readdir(dir)) != NULL) {
        struct wbi_str name = wbi_str_z(e->d_name);

        if (e->d_name[0] == '.' || !wbi_str_ends(name, WBI_LIT(".json")))
            continue;
        if (names->n == WBI_LIMIT_CONFIG_TOOL_FILES)
            return wbi_fail(l->err, WB_ELIMIT, TOOLS_FOLDER " holds more than %u files",
                            WBI_LIMIT_CONFIG_TOOL_FILES);
        name = wbi_arena_str(l->config->arena, name);
        if (name.p == NULL)
            return wbi_fail_nomem(l->err);
        insert_name(names, name);
    }
    return WB_OK;
}

static wb_rc load_tool_files(struct loading *l, int folder, const struct names *names)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < names->n && rc == WB_OK; i++) {
        struct wbi_config_file file = {.workspace = true, .tool = true};

        file.name = wbi_arena_fmt(l->config->arena, TOOLS_FOLDER "/%s", names->list[i].p);
        if (file.name.p == NULL)
            return wbi_fail_nomem(l->err);
        rc = load(l, folder, names->list[i].p, &file);
        if (rc == WB_OK)
            keep(l->config, &file);
        else if (rc == WB_ENOTFOUND)
            rc = WB_OK; /* removed since it was listed */
    }
    return rc;
}

static wb_rc make_room(struct wbi_config *c, size_t files)
{
    c->files = wbi_arena_array(c->arena, files, sizeof(*c->files));
    return c->files ? WB_OK : WB_ENOMEM;
}

static wb_rc open_tools_folder(struct loading *l, DIR **ret)
{
    int fd = openat(l->root, TOOLS_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *dir;

    *ret = NULL;
    if (fd < 0 && errno == ENOENT)
        return WB_OK;
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return wbi_fail(l->err, WB_ESTATE, TOOLS_FOLDER " must be a directory and no link");
    if (fd < 0)
        return wbi_fail(l->err, WB_ESTATE, TOOLS_FOLDER " cannot be opened: %s",
                        strerrordesc_np(errno));
    dir = fdopendir(fd);
    if (dir == NULL) {
        (void)close(fd); /* nothing was done with it */
        return wbi_fail_nomem(l->err);
    }
    *ret = dir;
    return WB_OK;
}

/* waybill.json sorts after tools.d/…: trust lists files by name. */
static wb_rc load_root(struct loading *l, const struct wbi_places *places)
{
    struct names *names = wbi_arena_zalloc(l->config->arena, sizeof(*names));
    DIR *dir = NULL;
    wb_rc rc = names ? WB_OK : wbi_fail_nomem(l->err);

    if (rc == WB_OK)
        rc = open_tools_folder(l, &dir);
    if (rc == WB_OK && dir != NULL)
        rc = list_folder(l, dir, names);
    if (rc == WB_OK && make_room(l->config, names->n + 2) != WB_OK)
        rc = wbi_fail_nomem(l->err);
    if (rc == WB_OK)
        rc = load_users(l, places);
    if (rc == WB_OK && dir != NULL)
        rc = load_tool_files(l, dirfd(dir), names);
    if (rc == WB_OK)
        rc = load_workspaces(l);
    if (dir != NULL)
        (void)closedir(dir); /* read only */
    return rc;
}

wb_rc wbi_config_read_files(struct wbi_config *config, const struct wbi_places *places,
                            struct wbi_error *err)
{
    struct loading l = {.config = config, .err = err};
    wb_rc rc;

    l.root = open(places->root.p, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (l.root < 0)
        return wbi_fail(err, WB_ESTATE, "the root cannot be opened: %s", strerrordesc_np(errno));
    rc = load_root(&l, places);
    (void)close(l.root); /* a handle only */
    return rc;
}
