/* SPDX-License-Identifier: Apache-2.0
 * control/control_int.h: the room's own parts. */
#ifndef WBI_CONTROL_CONTROL_INT_H
#define WBI_CONTROL_CONTROL_INT_H

#include <sys/un.h>

#include "control/control.h"

/* The address of run/<instance>.sock through the open directory: however long
 * its path is. false when the instance is no name of ours. */
bool wbi_control_address(int run_fd, const char *instance, struct sockaddr_un *ret);
/* The peer runs as our own user (or root). */
bool wbi_control_peer_ok(int fd);

#endif
