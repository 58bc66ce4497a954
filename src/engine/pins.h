/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps track of readers. Commits are numbered. A pin records the newest commit when it was
 * taken; what a later commit drops must stay until the pin is released. */
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
    _Atomic uint64_t commit; /* also read without the lock */
    struct engine_pin *oldest;
    struct engine_pin *newest;
};

void pins_init(struct pins *p);
void pins_release(struct pins *p);
/* New pins are taken at this commit from now on. */
void pins_advance(struct pins *p, uint64_t commit);
struct engine_pin *pins_take(struct pins *p);
/* Releases the pin. True if the oldest pin has changed, so that something may be freed. */
bool pins_drop(struct pins *p, struct engine_pin *pin);
/* Returns the newest commit whose drops no reader can see any more: that of the oldest pin, or the
 * newest commit. */
uint64_t pins_safe_commit(struct pins *p);

#endif
