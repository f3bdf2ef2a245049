/* SPDX-License-Identifier: Apache-2.0
 * text/preview_path.c: where the things that lines name belong to: the first two
 * parts of a path (/usr/lib) or of a dotted name (org.acme). In a flood of alike lines,
 * and in a long chain of frames, what belongs elsewhere than most is told first: most
 * is the library's. */
#include "text/preview_int.h"

#include "base/hash.h"

#define LOOK 400u /* bytes of a line */
#define NO_ROOT 1u
#define COMPLAINTS_MAX 2048u
#define COMPLAINTS_MIN 24u /* fewer are no flood */
#define ELSEWHERE 24u      /* at most one in so many */
#define MOSTLY 6u          /* of all of them, all such together */
#define FRAMES_LOOK 160u   /* lines below a failure in which its frames stand */
#define FRAMES_MIN 8u      /* shorter chains are shown from their start */
#define FRAMES_SHOWN 3u
#define OWN_LOOK 40u /* lines below a failure in which the program's own frame is looked for */
#define NAME_MIN 16u
#define NAME_LOOK 256u /* bytes of a line */

/* A letter, a digit, a byte beyond ASCII or one of $+-./@_~ */
static bool in_name(char c)
{
    static const uint64_t marks[2] = {0x03ffe81000000000u, 0x47fffffe87ffffffu};
    uint8_t b = (uint8_t)c;

    return b >= 128 || (marks[b >> 6] >> (b & 63) & 1);
}

/* The name around i, up to its second mark behind the first byte; empty when it has fewer
 * than `least`. */
static struct wbi_str root_at(struct wbi_str s, size_t i, char mark, size_t least)
{
    size_t from = i, marks = 0;

    while (from > 0 && in_name(s.p[from - 1]))
        from--;
    for (i = from + 1; i < s.n && in_name(s.p[i]) && marks < 2; i++)
        marks += s.p[i] == mark;
    return wbi_str_make(s.p + from, marks < least ? 0 : i - from);
}

static struct wbi_str first_root(struct wbi_str s, char mark, size_t least)
{
    struct wbi_str root = {NULL, 0};
    const char *at = memchr(s.p, mark, s.n), *end = s.p + s.n;

    while (at != NULL && root.n == 0) {
        root = root_at(s, (size_t)(at - s.p), mark, least);
        at = memchr(at + 1, mark, (size_t)(end - at - 1));
    }
    return root;
}

/* The first path counts, or else the first name of three parts and more. */
uint64_t wbi_path_root(struct wbi_str line)
{
    struct wbi_str s = wbi_str_head(line, line.n < LOOK ? line.n : LOOK);
    struct wbi_str root = first_root(s, '/', 1);

    if (root.n == 0)
        root = first_root(s, '.', 2);
    return root.n > 0 ? wbi_hash64(root.p, root.n, 13) | 2 : NO_ROOT;
}

/* Where the root is counted, or ROOTS when there are too many. */
static size_t root_slot(const struct roots *r, uint64_t root)
{
    size_t i = (size_t)(root >> 40) & (ROOTS - 1);

    for (size_t step = 0; step < ROOTS; step++, i = (i + 1) & (ROOTS - 1))
        if (r->n[i] == 0 || r->root[i] == root)
            return i;
    return ROOTS;
}

void wbi_roots_add(struct roots *r, uint64_t root)
{
    size_t i = root_slot(r, root);

    r->total++;
    if (i == ROOTS)
        return;
    r->root[i] = root;
    r->n[i]++;
}

bool wbi_roots_rare(const struct roots *r, uint64_t root, uint32_t one_in)
{
    size_t i = root_slot(r, root);

    return root != NO_ROOT && i < ROOTS && r->n[i] * one_in <= r->total;
}

/* ---- complaints ---- */

static bool complains(const struct pick *p)
{
    return p->rec->severity >= FAILURE && !(p->rec->flags & LINE_LONG);
}

static size_t count_complaints(const struct chooser *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n && n < COMPLAINTS_MAX; i++)
        n += complains(&c->picks[i]);
    return n;
}

/* They are only looked at: most of them are not shown, and need no price. */
static wb_rc count_roots(struct chooser *c, uint64_t *root, size_t n, struct roots *r)
{
    struct wbi_buf line;
    wb_rc rc = WB_OK;

    wbi_buf_init_arena(&line, c->arena, LOOK);
    for (size_t i = 0; r->total < n && rc == WB_OK; i++) {
        const struct record *rec = c->picks[i].rec;
        size_t bytes = rec->bytes - rec->start;

        if (!complains(&c->picks[i]))
            continue;
        wbi_buf_clear(&line);
        rc = c->source.read(c->source.arg, rec->offset + rec->start, bytes < LOOK ? bytes : LOOK,
                            &line);
        root[r->total] = wbi_path_root(wbi_buf_str(&line));
        wbi_roots_add(r, root[r->total]);
    }
    return rc;
}

wb_rc wbi_mark_elsewhere(struct chooser *c)
{
    size_t n = c->index->complaints < COMPLAINTS_MIN ? 0 : count_complaints(c), rare = 0;
    struct roots *r;
    uint64_t *root;
    wb_rc rc;

    if (n < COMPLAINTS_MIN)
        return WB_OK;
    r = wbi_arena_zalloc(c->arena, sizeof *r);
    root = wbi_arena_alloc(c->arena, n * sizeof *root);
    if (r == NULL || root == NULL)
        return WB_ENOMEM;
    rc = count_roots(c, root, n, r);
    if (rc != WB_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        rare += wbi_roots_rare(r, root[i], ELSEWHERE);
    if (rare * MOSTLY > n) /* they are all over the place */
        return WB_OK;
    for (size_t i = 0, k = 0; k < n && rare > 0; i++)
        if (complains(&c->picks[i]))
            c->picks[i].elsewhere = wbi_roots_rare(r, root[k++], ELSEWHERE);
    return WB_OK;
}

/* ---- frames ---- */

struct frames {
    size_t at[FRAMES_LOOK];
    size_t n;
};

/* The lines below that name a line of a file, up to where something else begins. */
static void find_frames(const struct chooser *c, size_t i, struct frames *f)
{
    size_t blank = 0;

    f->n = 0;
    for (size_t k = i + 1; k < c->n && k <= i + FRAMES_LOOK && blank < 2; k++) {
        const struct record *r = c->picks[k].rec;

        if (!wbi_neighbours(c, k - 1, k))
            break;
        blank = r->flags & LINE_BLANK ? blank + 1 + r->again : 0;
        if (r->flags & LINE_PLACE && r->indent > 0 && !c->picks[k].frame)
            f->at[f->n++] = k;
    }
}

static wb_rc frame_roots(struct chooser *c, const struct frames *f, uint64_t *root, struct roots *r)
{
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < f->n; i++) {
        struct pick *p = &c->picks[f->at[i]];

        p->frame = true;
        rc = wbi_pick_load(c, p);
        root[i] = wbi_path_root(wbi_str_from(p->text, p->rec->start));
        wbi_roots_add(r, root[i]);
    }
    return rc;
}

/* A frame, and the line above that names its function when it does not do that itself. */
static wb_rc show_frame(struct chooser *c, size_t k, uint64_t limit)
{
    const struct record *above = c->picks[k - 1].rec;
    bool pair = !(above->flags & (LINE_PLACE | LINE_BLANK)) && above->indent > 0 &&
                above->indent < c->picks[k].rec->indent;
    bool taken;

    return wbi_offer(c, pair ? k - 1 : k, k, limit, &taken);
}

wb_rc wbi_choose_frames(struct chooser *c, size_t i, uint64_t limit)
{
    struct frames f;
    uint64_t root[FRAMES_LOOK];
    struct roots *r;
    size_t told = 0;
    wb_rc rc;

    find_frames(c, i, &f);
    if (f.n < FRAMES_MIN)
        return WB_OK;
    r = wbi_arena_zalloc(c->arena, sizeof *r);
    if (r == NULL)
        return WB_ENOMEM;
    rc = frame_roots(c, &f, root, r);
    for (size_t k = 0; rc == WB_OK && k < f.n && told < FRAMES_SHOWN; k++) {
        if (!wbi_roots_rare(r, root[k], 4))
            continue;
        told++;
        rc = show_frame(c, f.at[k], limit);
    }
    return rc;
}

/* Where systems and package managers keep what a program did not bring along. */
static bool in_library(struct wbi_str line)
{
    static const struct wbi_str folders[] = {
        WBI_LIT_INIT("/usr/"),          WBI_LIT_INIT("/lib/"),          WBI_LIT_INIT("/libexec/"),
        WBI_LIT_INIT("node_modules/"),  WBI_LIT_INIT("site-packages/"), WBI_LIT_INIT("/pkg/mod/"),
        WBI_LIT_INIT("dist-packages/"), WBI_LIT_INIT("/registry/src/"), WBI_LIT_INIT("/rustc/"),
        WBI_LIT_INIT("node:internal"),  WBI_LIT_INIT("<frozen ")};

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (wbi_str_find(line, folders[i]) < line.n)
            return true;
    return false;
}

/* The function of a frame may stand on the line above it, not indented under the failure. */
static size_t function_above(const struct chooser *c, size_t failure, size_t k)
{
    const struct record *above = c->picks[k - 1].rec;
    bool named = k - 1 > failure && !(above->flags & LINE_BLANK) &&
                 above->indent < c->picks[k].rec->indent && above->severity < FAILURE;

    return named ? k - 1 : k;
}

wb_rc wbi_choose_own_frame(struct chooser *c, size_t i, uint64_t limit, bool *ret_found)
{
    size_t blank = 0, frames = 0;
    bool taken;

    *ret_found = false;
    for (size_t k = i + 1; k < c->n && k <= i + OWN_LOOK && blank < 2; k++) {
        struct pick *p = &c->picks[k];
        wb_rc rc;

        if (!wbi_neighbours(c, k - 1, k))
            break;
        blank += (p->rec->flags & LINE_BLANK) != 0;
        if (!(p->rec->flags & LINE_PLACE) || p->rec->indent == 0)
            continue;
        rc = wbi_pick_load(c, p);
        if (rc != WB_OK)
            return rc;
        if (in_library(p->text)) {
            frames++;
            continue;
        }
        if (frames == 0)
            return WB_OK;
        *ret_found = true;
        return wbi_offer(c, function_above(c, i, k), k, limit, &taken);
    }
    return WB_OK;
}

uint64_t wbi_longest_name(struct wbi_str line)
{
    struct wbi_str s = wbi_str_head(line, line.n < NAME_LOOK ? line.n : NAME_LOOK),
                   best = {NULL, 0};
    const char *p = s.p, *end = s.p + s.n;

    while (p < end) {
        const char *blank = memchr(p, ' ', (size_t)(end - p));
        size_t n = (size_t)((blank != NULL ? blank : end) - p);

        if (n > best.n)
            best = wbi_str_make(p, n);
        p += n + 1;
    }
    return best.n < NAME_MIN ? 0 : wbi_hash64(best.p, best.n, 7) | 1;
}
