/* SPDX-License-Identifier: Apache-2.0
 * waybill/config.h: the configuration of a workspace, for people and editors.
 * Any thread; all but wb_config_schema block. `*ret` is freed by the caller with
 * wb_free. options as for wb_runtime_new. */
#ifndef WAYBILL_CONFIG_H
#define WAYBILL_CONFIG_H

#include "waybill/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Read and check all configuration files, the tools they declare included, whether they
 * are trusted or not.
 * *ret is a JSON object: root, state, files, trust, tools, servers, ignored (what a
 * workspace that is not trusted does not get, with the reason), tightening (values of
 * its policies that hold all the same), unmasked (variables whose secret is too short or long to be
 * redacted), unusedBudgets (names in settings.budgets that no built-in tool has), unusedGlobs (the
 * first 20 globs of policies and bindings that no tool here has; with MCP servers those of local
 * tools alone). */
WB_API WB_MUST_CHECK wb_rc wb_config_check(const wb_options *options, char **ret, size_t *ret_size,
                                           wb_error **reterr);
/* The workspace's root alone, as an absolute path; no file is read. */
WB_API WB_MUST_CHECK wb_rc wb_config_root(const wb_options *options, char **ret, size_t *ret_size,
                                          wb_error **reterr);
/* Record the workspace's files as they are now as trusted, if nothing is wrong with them. */
WB_API WB_MUST_CHECK wb_rc wb_config_trust(const wb_options *options, wb_error **reterr);
/* What this machine offers: a JSON array of {check, status: ok|warning|broken,
 * text, next?}. */
WB_API WB_MUST_CHECK wb_rc wb_doctor(const wb_options *options, char **ret, size_t *ret_size,
                                     wb_error **reterr);
/* The JSON Schema of a configuration file. Static storage. */
WB_API const char *wb_config_schema(size_t *ret_size);

#ifdef __cplusplus
}
#endif
#endif
