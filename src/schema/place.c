/* SPDX-License-Identifier: Apache-2.0
 * schema/place.c: from a value back to its JSON Pointer.
 * Values of a text lie in document order, so a container holds a value exactly
 * when its range of addresses does: no parent links are needed. */
#include "base/utf8.h"
#include "schema/schema_int.h"

#define LONGEST_TOKEN 256

static void add_token(struct wbi_buf *path, struct wbi_str token)
{
    bool cut = token.n > LONGEST_TOKEN;

    token.n = cut ? wbi_utf8_cut(token, LONGEST_TOKEN) : token.n;
    wbi_buf_addc(path, '/');
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] == '~')
            wbi_buf_addz(path, "~0");
        else if (token.p[i] == '/')
            wbi_buf_addz(path, "~1");
        else
            wbi_buf_addc(path, token.p[i]);
    }
    if (cut)
        wbi_buf_addz(path, "…");
}

static const wbi_json *child_of(const wbi_json *array, const wbi_json *value, struct wbi_buf *path)
{
    size_t i = 0;

    WBI_JSON_EACH (array, e) {
        if (value >= e && value < wbi_json_skip(e)) {
            wbi_buf_addc(path, '/');
            wbi_buf_addu(path, i);
            return e;
        }
        i++;
    }
    return NULL;
}

static const wbi_json *member_of(const wbi_json *object, const wbi_json *value,
                                 struct wbi_buf *path)
{
    WBI_JSON_EACH_MEMBER (object, k) {
        if (value == k)
            return value;
        if (value >= k_val && value < wbi_json_skip(k_val)) {
            add_token(path, wbi_json_text(k));
            return k_val;
        }
    }
    return NULL;
}

static bool is_key_of(const wbi_json *object, const wbi_json *value)
{
    WBI_JSON_EACH_MEMBER (object, k) {
        if (k == value)
            return true;
    }
    return false;
}

bool wbi_json_place(const wbi_json *root, const wbi_json *value, struct wbi_buf *path,
                    bool *ret_key)
{
    if (ret_key != NULL)
        *ret_key = false;
    if (value < root || value >= wbi_json_skip(root))
        return false;
    while (root != value) {
        if (ret_key != NULL && is_key_of(root, value))
            *ret_key = true;
        root = wbi_json_is(root, WBI_JSON_ARR) ? child_of(root, value, path)
                                               : member_of(root, value, path);
        if (root == NULL)
            return false;
    }
    return true;
}
