/* SPDX-License-Identifier: Apache-2.0
 * run/holder.h: the runtime's side of the holder process.
 * One holder per runner, started with the first command. It must be started and
 * freed by threads that exist as long as it does not matter which: nothing here
 * is tied to a thread. */
#ifndef WBI_RUN_HOLDER_H
#define WBI_RUN_HOLDER_H

#include "base/error.h"
#include "run/launch.h"

struct wbi_holder;

/* Copies this process once (milliseconds in a parent of a gigabyte); later
 * starts of commands do not depend on its size. */
WB_MUST_CHECK wb_rc wbi_holder_new(struct wbi_holder **ret, struct wbi_error *err);
/* Ends the holder; keepers of running commands end them first. NULL is fine. */
void wbi_holder_free(struct wbi_holder *h);
pid_t wbi_holder_pid(const struct wbi_holder *h);

/* Have the command started. *ret_socket (not blocking, the caller's) then carries
 * struct wbi_keeper_msg both ways; closing it ends the command. WB_EAGAIN: the
 * holder is dead, start another. Wakes a holder that was stopped. One that takes no
 * request all the same is waited for, a second at first, then next to nothing:
 * command_spawn_failed. */
WB_MUST_CHECK wb_rc wbi_holder_launch(struct wbi_holder *h, const struct wbi_launch *l,
                                      int *ret_socket, struct wbi_error *err);

#endif
