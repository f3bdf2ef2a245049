/* SPDX-License-Identifier: Apache-2.0
 * control/address.c: what both ends of a control socket agree on. */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/id.h"
#include "control/control_int.h"

bool wbi_control_address(int run_fd, const char *instance, struct sockaddr_un *ret)
{
    size_t n = strlen(instance);

    if (n == 0 || n >= WBI_ID_SIZE || instance[0] == '.' || strchr(instance, '/') != NULL)
        return false;
    memset(ret, 0, sizeof(*ret));
    ret->sun_family = AF_UNIX;
    (void)snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s.sock", run_fd,
                   instance);
    return true;
}

bool wbi_control_peer_ok(int fd)
{
    struct ucred peer;
    socklen_t n = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}
