/* SPDX-License-Identifier: Apache-2.0
 * waybill/patch.h: patches without a runtime: the Codex patch text and unified
 * diffs, applied beneath a directory to all files or to none. Any thread; blocks. */
#ifndef WAYBILL_PATCH_H
#define WAYBILL_PATCH_H

#include "waybill/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum wb_patch_flags {
    WB_PATCH_CHECK = 1, /* say what it would do, write nothing */
    /* guarded names (.git, agent and editor configuration) and places (where Waybill keeps its
     * state and the user's settings) may be written */
    WB_PATCH_GUARDED = 2
};

/* Applies text beneath dir. *ret is the canonical result of ApplyPatch (C4.1),
 * a success or an error; after an error every file is as it was. *ret_ok is 1
 * for a success. What a crash left half-done beneath dir is ended first. Returns
 * not WB_OK only when there is no result at all (WB_ESTATE: dir cannot be opened; no
 * memory). The caller frees *ret with wb_free. */
WB_API WB_MUST_CHECK wb_rc wb_patch_apply(const char *dir, const char *text, size_t size,
                                          unsigned flags, char **ret, size_t *ret_size, int *ret_ok,
                                          wb_error **reterr);

#ifdef __cplusplus
}
#endif
#endif
