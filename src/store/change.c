/* SPDX-License-Identifier: Apache-2.0
 * store/change.c: changes of the small tables as operations of the writer. */
#include "base/alloc.h"
#include "base/checked.h"
#include "store/store_int.h"

struct change_op {
    struct wbi_op op; /* first: the writer hands it back */
    struct wbi_change *changes;
    size_t n;
    wbi_changed_fn *done;
    void *arg;
    struct wbi_error err;
};

static wb_rc apply_changes(struct wbi_op *op, struct wbi_tx *tx, struct wbi_error *err)
{
    struct change_op *c = (struct change_op *)op;
    wb_rc rc = WB_OK;

    for (size_t i = 0; rc == WB_OK && i < c->n; i++)
        rc = wbi_tx_check(tx, &c->changes[i], err);
    for (size_t i = 0; rc == WB_OK && i < c->n; i++)
        rc = wbi_tx_change(tx, &c->changes[i], err);
    return rc;
}

wb_rc wbi_changes_size(const struct wbi_change *changes, size_t n, size_t *ret,
                       struct wbi_error *err)
{
    size_t total;

    if (!wbi_mul(n, sizeof(*changes), &total))
        return wbi_fail(err, WB_ELIMIT, "store: too many changes at once");
    for (size_t i = 0; i < n; i++) {
        const struct wbi_change *c = &changes[i];
        if (c->table.n == 0 || c->table.n > WBI_LIMIT_STORE_KEY || c->key.p == NULL ||
            c->key.n > WBI_LIMIT_STORE_KEY || c->value.n > WBI_LIMIT_STORE_VALUE)
            return wbi_fail(err, WB_ELIMIT,
                            "store: a table and a key have 1 to %u bytes, a value at most %u",
                            WBI_LIMIT_STORE_KEY, WBI_LIMIT_STORE_VALUE);
        if (!wbi_add(total, c->table.n + c->key.n + c->value.n, &total) ||
            total > WBI_LIMIT_STORE_QUEUE)
            return wbi_fail(err, WB_ELIMIT, "store: too many changes at once");
    }
    *ret = total;
    return WB_OK;
}

char *wbi_changes_copy(char *to, const struct wbi_change *changes, size_t n)
{
    struct wbi_change *copy = (struct wbi_change *)(void *)to;
    char *at = (char *)(copy + n);

    for (size_t i = 0; i < n; i++) {
        copy[i] = changes[i];
        copy[i].table = wbi_text_move(&at, changes[i].table);
        copy[i].key = wbi_text_move(&at, changes[i].key);
        copy[i].value = wbi_text_move(&at, changes[i].value);
    }
    return at;
}

wb_rc wbi_store_change(struct wbi_store *store, struct wbi_change *changes, size_t n,
                       struct wbi_error *err)
{
    struct change_op c = {.op = {.apply = apply_changes}, .changes = changes, .n = n};
    wb_rc rc = wbi_changes_size(changes, n, &c.op.size, err);

    return rc == WB_OK ? wbi_store_run(store, &c.op, err) : rc;
}

static void end_change(struct wbi_op *op, wb_rc rc, const struct wbi_error *err)
{
    struct change_op *c = (struct change_op *)op;

    if (c->done != NULL)
        c->done(c->arg, rc, err, c->changes, c->n);
    wbi_free(c);
}

wb_rc wbi_store_change_later(struct wbi_store *store, const struct wbi_change *changes, size_t n,
                             wbi_changed_fn *done, void *arg, struct wbi_error *err)
{
    struct change_op *c;
    size_t total;
    wb_rc rc = wbi_changes_size(changes, n, &total, err);

    if (rc != WB_OK)
        return rc;
    c = wbi_alloc(sizeof(*c) + total);
    if (c == NULL)
        return wbi_fail_nomem(err);
    memset(c, 0, sizeof(*c));
    c->op.apply = apply_changes;
    c->op.done = end_change;
    c->op.err = &c->err;
    c->op.size = sizeof(*c) + total;
    c->changes = (struct wbi_change *)(c + 1);
    c->n = n;
    c->done = done;
    c->arg = arg;
    (void)wbi_changes_copy((char *)(c + 1), changes, n);
    rc = wbi_store_submit(store, &c->op, err);
    if (rc != WB_OK)
        wbi_free(c);
    return rc;
}

wb_rc wbi_store_put(struct wbi_store *store, struct wbi_str table, struct wbi_str key,
                    struct wbi_str value, int64_t expected, int64_t *ret_generation,
                    struct wbi_error *err)
{
    struct wbi_change change = {table, key, value, expected, 0};
    wb_rc rc;

    if (value.p == NULL)
        return wbi_fail(err, WB_EMISUSE, "store: put needs a value");
    rc = wbi_store_change(store, &change, 1, err);
    if (rc == WB_OK && ret_generation != NULL)
        *ret_generation = change.generation;
    return rc;
}

wb_rc wbi_store_delete(struct wbi_store *store, struct wbi_str table, struct wbi_str key,
                       int64_t expected, struct wbi_error *err)
{
    struct wbi_change change = {table, key, WBI_NONE, expected, 0};

    return wbi_store_change(store, &change, 1, err);
}
