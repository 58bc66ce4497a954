/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/body/digest.h"

#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"

enum { GATHERED_MAX = 32 };

/* The bodies that wait for the end of one loop's turn. */
struct gathered {
    struct loop_task task;
    struct loop *loop;
    bool posted;
    size_t count;
    struct digest *waiting[GATHERED_MAX];
};

struct digests {
    size_t loop_count;
    struct gathered loops[];
};

/* Finished ones may start new waits, so detach the list first. */
static void sum_up(struct gathered *g)
{
    struct digest *waiting[GATHERED_MAX];
    struct md5_job jobs[GATHERED_MAX] = {{{NULL, 0}, NULL}};
    size_t count = g->count;
    g->count = 0;
    for (size_t i = 0; i < count; i++) {
        waiting[i] = g->waiting[i];
        jobs[i] = waiting[i]->job;
    }
    md5_many(jobs, count);
    for (size_t i = 0; i < count; i++)
        waiting[i]->ready(waiting[i]);
}

static void end_of_turn(struct loop_task *task)
{
    struct gathered *g = (struct gathered *)(void *)task;
    g->posted = false;
    sum_up(g);
}

struct digests *digests_new(struct loop **loops, size_t loop_count)
{
    struct digests *d = mem_calloc(1, sizeof *d + loop_count * sizeof d->loops[0]);
    d->loop_count = loop_count;
    for (size_t i = 0; i < loop_count; i++) {
        d->loops[i].loop = loops[i];
        d->loops[i].task.run = end_of_turn;
    }
    return d;
}

void digests_free(struct digests *d)
{
    free(d);
}

void digests_add(struct digests *d, struct loop *loop, struct digest *digest)
{
    struct gathered *g = d->loops;
    while (g->loop != loop)
        g++;
    assert(g < d->loops + d->loop_count);
    g->waiting[g->count++] = digest;
    if (g->count == GATHERED_MAX)
        sum_up(g);
    if (g->posted)
        return;
    g->posted = true;
    loop_post(loop, &g->task);
}
