/* SPDX-License-Identifier: Apache-2.0
 * api/notice.c: what is missing though nothing failed, for people. */
#include <stdarg.h>
#include <stdio.h>

#include "api/api_int.h"
#include "config/config.h"

const char *wbi_api_trust_notice(const wb_runtime *runtime)
{
    const struct wbi_config *config = runtime->rt->config;
    const struct wbi_config_ignored *left_out;

    if (config == NULL || wbi_config_ignored(config, &left_out) == 0)
        return NULL;
    switch (wbi_config_trust_state(config)) {
    case WBI_CONFIG_UNTRUSTED:
        return "the workspace's files are not trusted: tools and servers of them are left out, the "
               "rest only tightens (`waybill config trust`)";
    case WBI_CONFIG_CHANGED:
        return "the workspace's files have changed since they were trusted: tools and servers of "
               "them are left out, the rest only tightens (`waybill config trust`)";
    default:
        return NULL;
    }
}

void wbi_api_notice(wb_runtime *runtime, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    if (runtime->on_notice == NULL)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap); /* what is too long is cut */
    va_end(ap);
    wbi_api_enter(runtime);
    runtime->on_notice(text, runtime->notice_arg);
    wbi_api_leave(runtime);
}

void wb_runtime_on_notice(wb_runtime *runtime, void (*on_notice)(const char *text, void *arg),
                          void *arg)
{
    const char *distrust;

    if (runtime == NULL)
        return;
    runtime->on_notice = on_notice;
    runtime->notice_arg = arg;
    distrust = wbi_api_trust_notice(runtime);
    if (distrust != NULL)
        wbi_api_notice(runtime, "%s", distrust);
}
