/* SPDX-License-Identifier: Apache-2.0
 * guard/approvals.c: the list of pending approvals, oldest first. An entry
 * leaves the list before its callback runs, so that it can end only once. */
#include "guard/approvals.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"

struct entry {
    struct entry *next, *prev;
    struct wbi_approval approval;
    wbi_approval_fn *on_end;
    void *arg;
    char bytes[]; /* tool, principal, text */
};

struct wbi_approvals {
    struct wbi_ids ids;
    struct entry *first, *last;
    size_t n;
};

wb_rc wbi_approvals_new(const struct wbi_ids *ids, struct wbi_approvals **ret)
{
    struct wbi_approvals *a = wbi_zalloc(sizeof(*a));

    if (a == NULL)
        return WB_ENOMEM;
    a->ids = *ids;
    *ret = a;
    return WB_OK;
}

void wbi_approvals_free(struct wbi_approvals *a)
{
    if (a == NULL)
        return;
    while (a->first != NULL) {
        struct entry *e = a->first;
        a->first = e->next;
        wbi_free(e);
    }
    wbi_free(a);
}

static struct wbi_str keep(char **at, struct wbi_str s)
{
    char *start = *at;

    if (s.n > 0)
        memcpy(start, s.p, s.n);
    *at += s.n;
    return wbi_str_make(start, s.n);
}

wb_rc wbi_approvals_create(struct wbi_approvals *a, const struct wbi_approval *like,
                           wbi_approval_fn *on_end, void *arg, char ret_id[WBI_ID_SIZE])
{
    struct wbi_str text = like->text;
    struct entry *e;
    char *at;

    if (a->n >= WBI_LIMIT_APPROVALS || like->tool.n > WBI_LIMIT_TOOL_NAME ||
        like->principal.n > WBI_LIMIT_TOOL_NAME)
        return WB_ELIMIT;
    text.n = wbi_utf8_cut(text, WBI_LIMIT_APPROVAL_TEXT);
    e = wbi_zalloc(sizeof(*e) + like->tool.n + like->principal.n + text.n);
    if (e == NULL)
        return WB_ENOMEM;
    e->approval = *like;
    at = e->bytes;
    e->approval.tool = keep(&at, like->tool);
    e->approval.principal = keep(&at, like->principal);
    e->approval.text = keep(&at, text);
    e->approval.text_size = like->text.n;
    wbi_id_make(&a->ids, "approval_", e->approval.id);
    memcpy(ret_id, e->approval.id, WBI_ID_SIZE);
    e->on_end = on_end;
    e->arg = arg;
    e->prev = a->last;
    *(a->last ? &a->last->next : &a->first) = e;
    a->last = e;
    a->n++;
    return WB_OK;
}

static struct entry *find(const struct wbi_approvals *a, struct wbi_str id)
{
    for (struct entry *e = a->first; e != NULL; e = e->next) {
        if (wbi_str_eqz(id, e->approval.id))
            return e;
    }
    return NULL;
}

static void unlink_entry(struct wbi_approvals *a, struct entry *e)
{
    *(e->prev ? &e->prev->next : &a->first) = e->next;
    *(e->next ? &e->next->prev : &a->last) = e->prev;
    a->n--;
}

static void end(struct wbi_approvals *a, struct entry *e, enum wbi_approval_end how,
                struct wbi_str who)
{
    unlink_entry(a, e);
    e->on_end(e->arg, &e->approval, how, who);
    wbi_free(e);
}

wb_rc wbi_approvals_resolve(struct wbi_approvals *a, struct wbi_str id, bool granted,
                            struct wbi_str who)
{
    struct entry *e = find(a, id);

    if (e == NULL)
        return WB_ENOTFOUND;
    end(a, e, granted ? WBI_APPROVAL_GRANTED : WBI_APPROVAL_REFUSED, who);
    return WB_OK;
}

void wbi_approvals_withdraw(struct wbi_approvals *a, struct wbi_str id)
{
    struct entry *e = find(a, id);

    if (e == NULL)
        return;
    unlink_entry(a, e);
    wbi_free(e);
}

void wbi_approvals_tick(struct wbi_approvals *a, int64_t now_ns)
{
    struct entry *e = a->first;

    while (e != NULL) {
        if (e->approval.deadline_ns > now_ns) {
            e = e->next;
            continue;
        }
        end(a, e, WBI_APPROVAL_EXPIRED, WBI_NONE);
        e = a->first; /* the callback may have changed the list */
    }
}

int64_t wbi_approvals_next_wake(const struct wbi_approvals *a)
{
    int64_t wake = INT64_MAX;

    for (const struct entry *e = a->first; e != NULL; e = e->next)
        wake = WBI_MIN(wake, e->approval.deadline_ns);
    return wake;
}

const struct wbi_approval *wbi_approvals_at(const struct wbi_approvals *a, size_t i)
{
    const struct entry *e = a->first;

    while (e != NULL && i-- > 0)
        e = e->next;
    return e ? &e->approval : NULL;
}

size_t wbi_approvals_count(const struct wbi_approvals *a)
{
    return a->n;
}
