/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/pins.h"

#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"

void pins_init(struct pins *p)
{
    *p = (struct pins){0};
    pthread_mutex_init(&p->lock, NULL);
}

void pins_release(struct pins *p)
{
    assert(p->oldest == NULL);
    pthread_mutex_destroy(&p->lock);
}

void pins_advance(struct pins *p, uint64_t commit)
{
    pthread_mutex_lock(&p->lock);
    assert(commit >= p->commit);
    p->commit = commit;
    pthread_mutex_unlock(&p->lock);
}

struct engine_pin *pins_take(struct pins *p)
{
    pthread_mutex_lock(&p->lock);
    struct engine_pin *pin = p->newest;
    if (pin == NULL || pin->commit != p->commit) {
        pin = MEM_NEW(struct engine_pin);
        pin->commit = p->commit;
        if (p->newest == NULL)
            p->oldest = pin;
        else
            p->newest->newer = pin;
        p->newest = pin;
    }
    pin->count++;
    pthread_mutex_unlock(&p->lock);
    return pin;
}

bool pins_drop(struct pins *p, struct engine_pin *pin)
{
    bool changed = false;
    pthread_mutex_lock(&p->lock);
    assert(pin->count > 0);
    pin->count--;
    while (p->oldest != NULL && p->oldest->count == 0) {
        struct engine_pin *gone = p->oldest;
        p->oldest = gone->newer;
        if (p->oldest == NULL)
            p->newest = NULL;
        free(gone);
        changed = true;
    }
    pthread_mutex_unlock(&p->lock);
    return changed;
}

uint64_t pins_safe_commit(struct pins *p)
{
    pthread_mutex_lock(&p->lock);
    uint64_t commit = p->oldest == NULL ? p->commit : p->oldest->commit;
    pthread_mutex_unlock(&p->lock);
    return commit;
}
