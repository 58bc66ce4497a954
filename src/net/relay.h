/* SPDX-License-Identifier: Apache-2.0 */
/* Connects two streams: copies bytes in both directions until both have ended or one has failed.
 * All on one loop's thread. */
#ifndef NET_RELAY_H
#define NET_RELAY_H

#include "core/buf.h"
#include "net/loop.h"
#include "net/stream.h"

struct relay;

struct relay_ends {
    struct stream *near, *far; /* owned by the relay; not watched by others */
    struct str bytes;          /* sent to the far side first; copied */
};

/* Calls `ended` once, when both are closed and before *r is freed; never from within this call. */
struct relay *relay_new(struct loop *loop, const struct relay_ends *ends,
                        void (*ended)(void *arg, struct relay *r), void *arg);
/* Closes both. `ended` is called. */
void relay_cut(struct relay *r);
/* The same after the loop has stopped; `ended` is not called. */
void relay_free(struct relay *r);

#endif
