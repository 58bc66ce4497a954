/* SPDX-License-Identifier: Apache-2.0 */
/* Who may still be reading what. Commits are numbered; a pin notes the number of the newest commit
 * when it was taken, and what a later commit drops must stay until the pin is released. */
#ifndef ENGINE_PINS_H
#define ENGINE_PINS_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/engine.h"

/* All pins taken at one commit share one of these. */
struct engine_pin {
    uint64_t commit;
    uint64_t count;
    struct engine_pin *newer;
};

struct pins {
    pthread_mutex_t lock;
    _Atomic uint64_t commit; /* read without the lock too */
    struct engine_pin *oldest;
    struct engine_pin *newest;
};

void pins_init(struct pins *p);
void pins_release(struct pins *p);
/* From now on pins are taken at this commit. */
void pins_advance(struct pins *p, uint64_t commit);
struct engine_pin *pins_take(struct pins *p);
/* True when the oldest pin has changed, so that something may be free to go. */
bool pins_drop(struct pins *p, struct engine_pin *pin);
/* What commits up to this one have dropped is of no use to anyone: the commit of the oldest pin, or
 * the newest commit. */
uint64_t pins_safe_commit(struct pins *p);

#endif
