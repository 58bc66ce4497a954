/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/fault.h"

#include <assert.h>
#include <stdatomic.h>

#include "core/mem.h"
#include "engine/wrap.h"

struct fault_engine {
    struct wrap_engine wrap;
    atomic_uint_fast64_t calls_left; /* until the fault; 0: none is armed */
    atomic_bool fired;
    struct err error; /* this and the next two are set only while no fault is armed */
    void (*meet)(void *arg);
    void *arg;
};

/* The armed error when this is the call that fails. */
static struct err fault_before(struct wrap_engine *w, enum wrap_call call)
{
    struct fault_engine *f = (struct fault_engine *)(void *)w;
    uint_fast64_t left = atomic_load(&f->calls_left);
    (void)call;
    while (left > 0 && !atomic_compare_exchange_weak(&f->calls_left, &left, left - 1)) {
    }
    if (left != 1)
        return OK;
    atomic_store(&f->fired, true);
    if (f->meet != NULL)
        f->meet(f->arg);
    return f->error;
}

struct engine *engine_fault_new(struct engine *inner)
{
    assert(inner != NULL);
    static const struct wrap_hooks hooks = {.before = fault_before};
    struct fault_engine *f = MEM_NEW(struct fault_engine);
    return wrap_engine_init(&f->wrap, inner, &hooks);
}

void engine_fault_arm(struct engine *fault, uint64_t n, struct err error)
{
    struct fault_engine *f = (struct fault_engine *)(void *)fault;
    atomic_store(&f->calls_left, 0);
    atomic_store(&f->fired, false);
    f->error = error;
    f->meet = NULL;
    atomic_store(&f->calls_left, n);
}

void engine_fault_meet(struct engine *fault, uint64_t n, void (*meet)(void *arg), void *arg)
{
    struct fault_engine *f = (struct fault_engine *)(void *)fault;
    engine_fault_arm(fault, 0, OK);
    f->meet = meet;
    f->arg = arg;
    atomic_store(&f->calls_left, n);
}

bool engine_fault_fired(const struct engine *fault)
{
    return atomic_load(&((const struct fault_engine *)(const void *)fault)->fired);
}
