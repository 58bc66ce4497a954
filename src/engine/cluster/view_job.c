/* SPDX-License-Identifier: Apache-2.0 */
/* Views for event loops. A function runs over the known rows, which are none at first; the
 * gatherers of the shards fetch the rows that it misses, and then it runs again. All rows that a
 * run knows from one shard come from one statement, so from one snapshot: a function that misses
 * more rows gets the earlier ones read again with them. Rows of hot.h only help to predict which
 * rows will be missed. A function that needs a transaction, a cursor or too many runs is refused; a
 * thread that may wait runs it then. */
#include <assert.h>
#include <stdlib.h>

#include "core/container.h"
#include "core/mem.h"
#include "engine/cluster/cluster_internal.h"

enum { JOB_RUNS_MAX = 5 };

struct view_job {
    struct view view;
    struct engine_view_job *job;
    unsigned runs;
    atomic_uint fetches; /* fetches in progress, plus one until all were submitted */
    struct view_job *next, **link;
};

static struct view_job *job_new(struct cluster_engine *e, struct engine_view_job *job)
{
    struct view_job *j = mem_alloc(sizeof *j);
    view_init(&j->view, e, job->partition);
    j->view.puts_off = true;
    j->view.base.wait = ENGINE_NOWAIT;
    j->job = job;
    j->runs = 0;
    pthread_mutex_lock(&e->jobs_lock);
    j->next = e->jobs;
    j->link = &e->jobs;
    if (j->next != NULL)
        j->next->link = &j->next;
    e->jobs = j;
    pthread_mutex_unlock(&e->jobs_lock);
    job->held = j;
    return j;
}

static void job_end(struct view_job *j)
{
    assert(j->job->held == j);
    struct cluster_engine *e = j->view.engine;
    pthread_mutex_lock(&e->jobs_lock);
    *j->link = j->next;
    if (j->next != NULL)
        j->next->link = j->link;
    pthread_mutex_unlock(&e->jobs_lock);
    j->job->held = NULL;
    j->job->waits = false;
    view_release(&j->view);
    free(j);
}

/* ---- fetching ---- */

/* The fetch that ends last, or put_off itself, makes the job ready. */
static void one_came(struct view_job *j)
{
    assert(atomic_load(&j->fetches) > 0);
    if (atomic_fetch_sub(&j->fetches, 1) == 1)
        j->job->ready(j->job);
}

static void leg_came(struct gathered *one)
{
    one_came(one->arg);
}

static bool wants_more(const struct view *v)
{
    for (unsigned i = 0; i < v->engine->shards.count; i++)
        if (v->legs[i] != NULL && rowset_wants(&v->legs[i]->set))
            return true;
    return false;
}

/* Submits the fetches. Do not touch the job after this: it may be ready. */
static void put_off(struct view_job *j)
{
    struct view *v = &j->view;
    struct view_leg *legs[SHARDS_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < v->engine->shards.count; i++)
        if (v->legs[i] != NULL && rowset_wants(&v->legs[i]->set))
            legs[count++] = v->legs[i];
    j->job->waits = true;
    atomic_store(&j->fetches, count + 1);
    for (unsigned i = 0; i < count; i++) {
        rowset_renew(&legs[i]->set);
        legs[i]->fetch = (struct gathered){
            .set = &legs[i]->set, .deadline = v->deadline, .done = leg_came, .arg = j};
        gather_submit(&legs[i]->shard->gather, &legs[i]->fetch);
    }
    one_came(j);
}

/* Returns the error of the last fetches. After a lost connection, or if a bucket has moved, a
 * thread that may wait has to run the function. */
static struct err fetched(const struct view *v)
{
    struct err error = OK;
    for (unsigned i = 0; i < v->engine->shards.count; i++) {
        const struct view_leg *leg = v->legs[i];
        if (leg == NULL || !err_is(leg->fetch.error))
            continue;
        if (leg->fetch.fault == FAULT_LOST || leg->fetch.fault == FAULT_MOVED)
            return err_new(ERR_WOULD_BLOCK);
        error = leg->fetch.error;
    }
    return error;
}

/* ---- running ---- */

struct err cluster_view_run(struct engine *e, struct engine_view_job *job)
{
    struct view_job *j = job->held == NULL ? job_new(cluster_of(e), job) : job->held;
    struct view *v = &j->view;
    struct err error = fetched(v);
    if (!err_is(error)) {
        error = job->fn(&v->base, job->arg);
        txn_close_cursors(&v->base);
        bool more = wants_more(v) && error.code != ERR_LONG_WORK && !v->refused;
        if (more && ++j->runs < JOB_RUNS_MAX) {
            put_off(j);
            return err_new(ERR_WOULD_BLOCK);
        }
        if (more || v->refused)
            error = err_new(ERR_WOULD_BLOCK);
    }
    job_end(j);
    return error;
}

void cluster_view_drop(struct engine *e, struct engine_view_job *job)
{
    (void)e;
    job_end(job->held);
}

void cluster_views_end(struct engine *engine)
{
    struct cluster_engine *e = cluster_of(engine);
    for (unsigned i = 0; i < e->shards.count; i++)
        gather_drain(&e->shards.all[i].gather);
    while (e->jobs != NULL)
        job_end(e->jobs);
}
