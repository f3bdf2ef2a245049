/* SPDX-License-Identifier: Apache-2.0
 * family/file/show.h: the complete output of the file tools and the families
 * that bound and show it (C7.3). Whatever does not fit its budget is read on
 * with a page token; a patch that does not is kept as an artifact. */
#ifndef WBI_FAMILY_FILE_SHOW_H
#define WBI_FAMILY_FILE_SHOW_H

#include "catalog/tool.h"
#include "family/file/file.h"
#include "family/file/patch.h"
#include "family/receipt.h"

struct wbi_read_output {
    struct wbi_read_result r;
    bool numbered;
    struct wbi_allowance budget;
};

struct wbi_list_output {
    struct wbi_list_result r;
    struct wbi_allowance budget;
};

struct wbi_search_output {
    struct wbi_search_result r;
    struct wbi_str pattern;
    enum wbi_search_mode mode;
    struct wbi_allowance budget;
};

struct wbi_write_output {
    struct wbi_write_result r;
    enum wbi_write_mode mode;
};

struct wbi_patch_output {
    struct wbi_patch_result r;
    struct wbi_str text; /* the patch as it was given */
    bool check;          /* nothing was written */
};

extern const struct wbi_family wbi_read_family; /* typed: struct wbi_read_output, … */
extern const struct wbi_family wbi_list_family;
extern const struct wbi_family wbi_search_family;
extern const struct wbi_family wbi_write_family;
extern const struct wbi_family wbi_patch_family;

/* A page token as callers see it: what an engine gave, with every byte that JSON could not
 * carry, or that who copies it might change, written as %XX; and back. Absent: out of
 * memory, or (by decode) not such a text. */
struct wbi_str wbi_token_encode(struct wbi_arena *arena, struct wbi_str raw);
struct wbi_str wbi_token_decode(struct wbi_arena *arena, struct wbi_str text);
/* A path as results and receipts have it: as it is when it is clean text, else
 * escaped. Absent: out of memory. */
struct wbi_str wbi_file_name(struct wbi_arena *arena, struct wbi_str path);
/* And back: the path that is shown so. Absent when none is, or out of memory. */
struct wbi_str wbi_file_named(struct wbi_arena *arena, struct wbi_str name);
/* The details of a patch that could not be applied, as a JSON object; absent
 * when there is nothing to tell or no memory. */
struct wbi_str wbi_patch_fault_details(struct wbi_arena *arena, const struct wbi_patch_fault *f);

#endif
