/* SPDX-License-Identifier: Apache-2.0 */
#include "core/clock_control.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/mem.h"

struct clock_control {
    struct clock base;
    pthread_mutex_t lock;   /* serialises changes */
    _Atomic int64_t shift;  /* ticks */
    _Atomic int64_t frozen; /* the time at which it stands; 0: it runs */
};

static int64_t controlled_ticks(const struct clock *clock)
{
    const struct clock_control *c = clock->control;
    int64_t frozen = atomic_load_explicit(&c->frozen, memory_order_relaxed);
    return frozen != 0
               ? frozen
               : clock_now(&c->base) + atomic_load_explicit(&c->shift, memory_order_relaxed);
}

struct clock_control *clock_control_new(struct clock *clock)
{
    struct clock_control *c = MEM_NEW(struct clock_control);
    c->base = *clock;
    (void)pthread_mutex_init(&c->lock, NULL);
    clock->read = controlled_ticks;
    clock->control = c;
    return c;
}

void clock_control_free(struct clock_control *c)
{
    if (c == NULL)
        return;
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
}

int64_t clock_control_real(const struct clock_control *c)
{
    return clock_now(&c->base);
}

/* Under the lock. */
static void shift_to(struct clock_control *c, int64_t shift, bool frozen)
{
    int64_t moved = shift - atomic_load(&c->shift);
    int64_t stands = atomic_load(&c->frozen);
    if (!frozen)
        stands = 0;
    else
        stands = stands != 0 ? stands + moved : clock_control_real(c) + shift;
    atomic_store(&c->shift, shift);
    atomic_store(&c->frozen, stands);
}

void clock_control_set(struct clock_control *c, int64_t shift_ms, bool frozen)
{
    (void)pthread_mutex_lock(&c->lock);
    shift_to(c, shift_ms * TICKS_PER_MS, frozen);
    (void)pthread_mutex_unlock(&c->lock);
}

void clock_control_advance(struct clock_control *c, int64_t ticks, bool frozen)
{
    (void)pthread_mutex_lock(&c->lock);
    shift_to(c, atomic_load(&c->shift) + ticks, frozen);
    (void)pthread_mutex_unlock(&c->lock);
}

void clock_control_set_to(struct clock_control *c, int64_t ticks, bool frozen)
{
    (void)pthread_mutex_lock(&c->lock);
    atomic_store(&c->shift, ticks - clock_control_real(c));
    atomic_store(&c->frozen, frozen ? ticks : 0);
    (void)pthread_mutex_unlock(&c->lock);
}

struct clock_state clock_control_state(struct clock_control *c)
{
    return (struct clock_state){atomic_load(&c->shift) / TICKS_PER_MS,
                                atomic_load(&c->frozen) != 0};
}
