/* SPDX-License-Identifier: Apache-2.0 */
/* Two streams joined: what comes from the one goes to the other, both ways, until both have ended
 * or one has failed. All on one loop's thread. */
#ifndef NET_RELAY_H
#define NET_RELAY_H

#include "core/buf.h"
#include "net/loop.h"
#include "net/stream.h"

struct relay;

struct relay_ends {
    struct stream *near, *far; /* taken over, watched by nobody */
    struct str bytes;          /* for the far side, before all that comes; copied */
};

/* `ended` is called once, when both are closed and *r is about to go; not from within this call.
 */
struct relay *relay_new(struct loop *loop, const struct relay_ends *ends,
                        void (*ended)(void *arg, struct relay *r), void *arg);
/* Cuts both. `ended` is called. */
void relay_cut(struct relay *r);
/* The same when the loop has stopped, and nobody is told. */
void relay_free(struct relay *r);

#endif
