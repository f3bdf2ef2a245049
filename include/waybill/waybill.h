/* SPDX-License-Identifier: Apache-2.0
 * waybill/waybill.h: all of the library. What is not declared in these headers
 * is not part of it. Numbers such as C4.1 are clauses of the contract that tests cite. */
#ifndef WAYBILL_WAYBILL_H
#define WAYBILL_WAYBILL_H

#include "waybill/artifact.h"
#include "waybill/call.h"
#include "waybill/compact.h"
#include "waybill/config.h"
#include "waybill/dispatch.h"
#include "waybill/error.h"
#include "waybill/ledger.h"
#include "waybill/patch.h"
#include "waybill/policy.h"
#include "waybill/rc.h"
#include "waybill/runtime.h"
#include "waybill/schema.h"
#include "waybill/serve.h"
#include "waybill/task.h"
#include "waybill/text.h"
#include "waybill/tool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0". Static storage. Any thread. */
WB_API const char *wb_version(void);

#ifdef __cplusplus
}
#endif
#endif
