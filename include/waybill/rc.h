/* SPDX-License-Identifier: Apache-2.0
 * waybill/rc.h: return codes of the library. Values are stable. */
#ifndef WAYBILL_RC_H
#define WAYBILL_RC_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(WB_BUILDING_SHARED) && defined(__GNUC__)
#define WB_API __attribute__((visibility("default")))
#else
#define WB_API
#endif

#if defined(__GNUC__)
#define WB_MUST_CHECK __attribute__((warn_unused_result))
#else
#define WB_MUST_CHECK
#endif

typedef enum wb_rc {
    WB_OK = 0,
    WB_EMISUSE = 1,       /* the caller broke the function's contract */
    WB_ENOMEM = 2,        /* out of memory */
    WB_ELIMIT = 3,        /* a documented limit was reached */
    WB_EINPUT = 4,        /* text or value from outside is not acceptable */
    WB_ENOTFOUND = 5,     /* the named thing does not exist */
    WB_EEXISTS = 6,       /* the named thing exists already */
    WB_ESTATE = 7,        /* configuration or state directory unusable */
    WB_EIO = 8,           /* a system call failed */
    WB_ECANCELLED = 9,    /* stopped on request */
    WB_EDENIED = 10,      /* not allowed */
    WB_EUNSUPPORTED = 11, /* not offered by this build or system */
    WB_EAGAIN = 12,       /* cannot be done now, try again */
    WB_EINTERNAL = 13     /* a fault of Waybill itself */
} wb_rc;

/* Name of a code ("WB_EINPUT"), static storage; "WB_?" for an unknown value.
 * Any thread. Since 0.1. */
WB_API const char *wb_rc_name(wb_rc rc);

#ifdef __cplusplus
}
#endif
#endif
