/* SPDX-License-Identifier: Apache-2.0
 * family/file/patch_recover.c: after a crash. A journal with its commit mark is
 * carried through, one without is undone; both may be repeated any number of
 * times, since inodes say how far each file had come. A target that someone
 * else has replaced since is left as it is. */
#include "family/file/patch_disk.h"

#include <errno.h>
#include <unistd.h>

#include "base/hash.h"

struct journal {
    struct wbi_journal_entry *entries;
    size_t n, inodes;
    uint64_t dev, ino;
    bool committed;
};

static bool next_word(struct wbi_str *line, struct wbi_str *ret)
{
    size_t n = wbi_str_index(*line, ' ');

    *ret = wbi_str_head(*line, n);
    *line = wbi_str_from(*line, n + 1);
    return ret->n > 0;
}

static bool next_number(struct wbi_str *line, uint64_t *ret)
{
    struct wbi_str w;

    return next_word(line, &w) && wbi_parse_u64(w, ret);
}

static bool parse_entry(struct journal *j, struct wbi_str line, struct wbi_arena *arena)
{
    struct wbi_journal_entry *e = &j->entries[j->n];
    struct wbi_str kind, temp, hex;
    uint64_t keep;
    char *path;

    if (!next_word(&line, &kind) || kind.n != 1 || !next_word(&line, &temp) ||
        temp.n >= sizeof(e->temp) || !wbi_str_starts(temp, WBI_LIT(".waybill-tmp-")) ||
        memchr(temp.p, '/', temp.n) != NULL || !next_number(&line, &keep) ||
        keep > WBI_LIMIT_PATH || !next_word(&line, &hex) || hex.n % 2 != 0 ||
        hex.n / 2 > WBI_LIMIT_PATH)
        return false;
    path = wbi_arena_alloc(arena, hex.n / 2);
    if (path == NULL || !wbi_unhex(hex, (uint8_t *)path))
        return false;
    e->kind = kind.p[0];
    memcpy(e->temp, temp.p, temp.n);
    e->keep = (uint32_t)keep;
    e->path = wbi_str_make(path, hex.n / 2);
    if (e->kind == 'm' && (keep >= e->path.n || path[keep] != '/'))
        return false;
    j->n++;
    return true;
}

static bool parse_commit(const struct journal *j, struct wbi_str text, size_t at,
                         struct wbi_str hex)
{
    uint64_t have = wbi_hash64(text.p, at, WBI_JOURNAL_SEED), want = 0;
    uint8_t bytes[8];

    if (hex.n != 16 || !wbi_unhex(hex, bytes) || j->inodes != j->n)
        return false;
    for (int i = 0; i < 8; i++)
        want = want << 8 | bytes[i];
    return have == want;
}

/* False when the text is no journal. A torn tail is no commit. */
static bool parse_journal(struct wbi_str text, struct wbi_arena *arena, struct journal *j)
{
    struct wbi_str rest = text, word;
    size_t lines = 0;

    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    j->entries = wbi_arena_array(arena, lines + 1, sizeof(*j->entries));
    if (j->entries == NULL)
        return false;
    for (bool first = true; rest.n > 0; first = false) {
        size_t n = wbi_str_index(rest, '\n');
        struct wbi_str line = wbi_str_head(rest, n);

        if (n == rest.n) /* torn */
            return !first;
        if (first) {
            if (!wbi_str_starts(line, WBI_LIT("waybill-patch 1 ")))
                return false;
            line = wbi_str_from(line, 16);
            if (!next_number(&line, &j->dev) || !next_number(&line, &j->ino))
                return false;
        } else if (wbi_str_starts(line, WBI_LIT("i ")) && j->inodes < j->n) {
            struct wbi_journal_entry *e = &j->entries[j->inodes++];
            next_word(&line, &word);
            if (!next_number(&line, &e->new_ino) || !next_number(&line, &e->old_ino))
                return true;
        } else if (wbi_str_starts(line, WBI_LIT("commit "))) {
            j->committed = parse_commit(j, text, (size_t)(rest.p - text.p), wbi_str_from(line, 7));
            return true;
        } else if (!parse_entry(j, line, arena)) {
            return true;
        }
        rest = wbi_str_from(rest, n + 1);
    }
    return true;
}

static struct wbi_str temp_path(const struct wbi_journal_entry *e, struct wbi_arena *arena)
{
    size_t n = e->path.n;

    while (n > 0 && e->path.p[n - 1] != '/')
        n--;
    return wbi_arena_fmt(arena, "%.*s%s", (int)n, e->path.p, e->temp);
}

static void remove_quietly(struct wbi_root *root, struct wbi_str path)
{
    wb_rc rc = wbi_path_unlink(root, path, WBI_WRITE_GRANT, NULL);

    (void)rc; /* not there is what was wanted */
}

static wb_rc finish_entry(struct wbi_root *root, const struct wbi_journal_entry *e,
                          struct wbi_str temp, struct wbi_error *err)
{
    struct stat at_temp = {0}, at_path = {0};
    bool has_temp = wbi_path_lstat(root, temp, &at_temp);
    bool has_path = wbi_path_lstat(root, e->path, &at_path);
    wb_rc rc = WB_OK;

    if (e->kind == 'd') {
        if (has_path && at_path.st_ino == e->new_ino)
            rc = wbi_path_unlink(root, e->path, WBI_WRITE_GRANT, err);
    } else if (e->kind == 'x') {
        if (has_temp && at_temp.st_ino == e->new_ino && has_path && at_path.st_ino == e->old_ino)
            rc = wbi_path_exchange(root, temp, e->path, WBI_WRITE_GRANT, err);
    } else if (has_temp && at_temp.st_ino == e->new_ino) {
        bool free_to = e->kind == 'c' ? !has_path : has_path && at_path.st_ino == e->old_ino;

        if (free_to)
            rc = wbi_path_rename(root, temp, e->path, WBI_WRITE_GRANT, err);
    }
    if (rc == WB_OK)
        remove_quietly(root, temp);
    return rc;
}

static wb_rc settle_journal(struct wbi_root *root, const struct journal *j, struct wbi_arena *arena,
                            struct wbi_error *err)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; i < j->n && rc == WB_OK; i++) {
        const struct wbi_journal_entry *e = &j->entries[i];
        struct wbi_str temp = temp_path(e, arena);

        if (temp.p == NULL)
            return wbi_fail_nomem(err);
        if (e->kind == 'm')
            continue;
        if (j->committed) {
            rc = finish_entry(root, e, temp, err);
        } else if (e->kind != 'd') {
            remove_quietly(root, temp);
            if (e->kind == 'c')
                wbi_journal_drop_dirs(root, e);
        }
    }
    /* Only now is what lies under a temporary name the one that goes. */
    for (size_t i = 0; i < j->n && rc == WB_OK; i++)
        if (j->entries[i].kind == 'm')
            wbi_nest_drop(root, &j->entries[i], arena);
    return rc;
}

static wb_rc recover_one(struct wbi_root *root, struct wbi_root *journal, struct wbi_str name,
                         struct wbi_arena *arena, struct wbi_error *err, unsigned *finished,
                         unsigned *undone)
{
    struct journal j = {0};
    struct wbi_str text;
    struct stat st;
    int fd;
    wb_rc rc = wbi_path_open_locked(journal, name, err, &fd);

    if (rc)
        return rc == WB_EAGAIN || rc == WB_ENOTFOUND ? WB_OK : rc;
    rc = wbi_path_read_all(journal, name, WBI_LIMIT_PATCH_TEXT, arena, err, &text, NULL);
    if (rc == WB_OK && fstat(wbi_root_fd(root), &st) < 0)
        rc = wbi_fail_errno(err, errno, "execution root");
    if (rc == WB_OK && parse_journal(text, arena, &j) && j.dev == st.st_dev && j.ino == st.st_ino) {
        rc = settle_journal(root, &j, arena, err);
        if (rc == WB_OK)
            rc = wbi_path_unlink(journal, name, WBI_WRITE_GRANT, err);
        if (rc == WB_OK)
            *(j.committed ? finished : undone) += 1;
    }
    close(fd);
    return rc;
}

/* Names first: recovering changes the directory that is read. */
static wb_rc list_journals(struct wbi_root *journal, struct wbi_arena *arena, struct wbi_error *err,
                           struct wbi_str **ret, size_t *ret_n)
{
    enum { MOST = 4096 };
    struct wbi_listing *d = wbi_arena_alloc(arena, sizeof(*d));
    struct wbi_str *names = wbi_arena_array(arena, MOST, sizeof(*names));
    struct wbi_listing_entry e;
    size_t n = 0;
    int fd;
    wb_rc rc;

    if (d == NULL || names == NULL)
        return wbi_fail_nomem(err);
    rc = wbi_path_open_dir(journal, WBI_LIT("."), err, &fd);
    if (rc)
        return rc;
    wbi_listing_init(d, fd);
    while (n < MOST && wbi_listing_next(d, &e))
        if (wbi_str_starts(e.name, WBI_LIT("patch_")) &&
            wbi_str_ends(e.name, WBI_LIT(".journal"))) {
            names[n] = wbi_arena_str(arena, e.name);
            n += names[n].p != NULL;
        }
    close(fd);
    *ret = names;
    *ret_n = n;
    return WB_OK;
}

wb_rc wbi_patch_recover(struct wbi_root *root, struct wbi_root *journal, struct wbi_arena *arena,
                        struct wbi_error *err, unsigned *ret_finished, unsigned *ret_undone)
{
    unsigned finished = 0, undone = 0;
    struct wbi_str *names = NULL;
    size_t n = 0;
    wb_rc rc = list_journals(journal, arena, err, &names, &n);

    for (size_t i = 0; rc == WB_OK && i < n; i++)
        rc = recover_one(root, journal, names[i], arena, err, &finished, &undone);
    if (ret_finished != NULL)
        *ret_finished = finished;
    if (ret_undone != NULL)
        *ret_undone = undone;
    return rc;
}
