/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting updates, in a queue for each partition. A worker takes a partition with all its waiting
 * updates, so that they share a transaction; no other worker takes the partition meanwhile. */
#include <assert.h>
#include <stdlib.h>

#include "core/hash/fnv.h"
#include "core/mem.h"
#include "core/thread.h"
#include "engine/cluster/cluster_internal.h"

enum { EXPIRE_MS = 250 };

struct update_part {
    struct update_part *next; /* in the bucket */
    struct update_part *next_ready;
    struct update_node *head;
    struct update_node **tail;
    bool busy; /* a worker has it, or it is in the list of ready ones */
    size_t name_n;
    char name[];
};

static struct update_part **bucket_of(struct update_line *l, struct str partition)
{
    return &l->buckets[fnv_of(partition) % (sizeof l->buckets / sizeof l->buckets[0])];
}

/* The lock is held. */
static struct update_part *part_of(struct update_line *l, struct str partition)
{
    struct update_part **bucket = bucket_of(l, partition);
    for (struct update_part *p = *bucket; p != NULL; p = p->next)
        if (str_eq((struct str){p->name, p->name_n}, partition))
            return p;
    struct update_part *p = mem_calloc(1, sizeof *p + partition.n);
    p->tail = &p->head;
    p->name_n = partition.n;
    if (partition.n > 0)
        memcpy(p->name, partition.p, partition.n);
    p->next = *bucket;
    *bucket = p;
    return p;
}

/* The lock is held; nothing waits for it. */
static void part_free(struct update_line *l, struct update_part *p)
{
    struct update_part **link = bucket_of(l, (struct str){p->name, p->name_n});
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    free(p);
}

/* The lock is held. */
static void make_ready(struct update_line *l, struct update_part *p)
{
    p->busy = true;
    p->next_ready = NULL;
    *l->ready_end = p;
    l->ready_end = &p->next_ready;
    pthread_cond_signal(&l->work);
}

/* The lock is held. */
static void add_newest(struct update_line *l, struct update_node *node)
{
    node->older = l->newest;
    if (l->newest != NULL)
        l->newest->newer = node;
    else
        l->oldest = node;
    l->newest = node;
    l->queued++;
}

/* The lock is held. */
static void remove_node(struct update_line *l, struct update_node *node)
{
    if (node->older != NULL)
        node->older->newer = node->newer;
    else
        l->oldest = node->newer;
    if (node->newer != NULL)
        node->newer->older = node->older;
    else
        l->newest = node->older;
    l->queued--;
    pthread_cond_broadcast(&l->ended);
    buf_release(&node->adopts);
    free(node);
}

/* The lock is held. */
static void enqueue(struct update_line *l, struct update_node *node)
{
    struct update_part *p = part_of(l, node->update->partition);
    node->next = NULL;
    *p->tail = node;
    p->tail = &node->next;
    if (!p->busy)
        make_ready(l, p);
}

void cluster_submit(struct engine *engine, struct engine_update *u)
{
    struct update_line *l = &cluster_of(engine)->line;
    struct update_node *node = MEM_NEW(struct update_node);
    node->update = u;
    node->deadline = clock_mono_ms() + CLUSTER_UPDATE_MS;
    node->adopts = buf_heap();
    pthread_mutex_lock(&l->lock);
    bool open = !l->closed;
    if (open) {
        add_newest(l, node);
        enqueue(l, node);
    }
    pthread_mutex_unlock(&l->lock);
    if (open)
        return;
    free(node);
    u->result = err_new(ERR_STOPPING);
    u->done(u);
}

/* ---- updates that wait for RADOS ---- */

/* The lock is held. */
static void unpark_written(struct cluster_engine *e)
{
    struct update_line *l = &e->line;
    for (struct update_node **link = &l->parked; *link != NULL;) {
        struct update_node *node = *link;
        struct err error; /* the next run finds it again */
        if (extents_state(&e->extents, buf_str(&node->adopts), &error) == FLIGHT_UNDER_WAY) {
            link = &node->next;
            continue;
        }
        *link = node->next;
        node->parked = node->waits = node->taken = false;
        buf_clear(&node->adopts);
        enqueue(l, node);
    }
}

void line_unpark(void *engine)
{
    struct cluster_engine *e = engine;
    pthread_mutex_lock(&e->line.lock);
    unpark_written(e);
    pthread_mutex_unlock(&e->line.lock);
}

/* The lock is held. */
static void park(struct update_line *l, struct update_node *node)
{
    node->waits = true;
    node->next = l->parked;
    l->parked = node;
}

/* ---- workers ---- */

/* The lock is held. NULL if it is closed and empty. */
static struct update_part *next_part(struct update_line *l)
{
    while (l->ready == NULL && !(l->closed && l->oldest == NULL))
        pthread_cond_wait(&l->work, &l->lock);
    struct update_part *p = l->ready;
    if (p == NULL)
        return NULL;
    l->ready = p->next_ready;
    if (l->ready == NULL)
        l->ready_end = &l->ready;
    return p;
}

/* The lock is held. */
static size_t take_nodes(struct update_part *p, struct update_node **nodes)
{
    size_t count = 0;
    while (p->head != NULL && count < CLUSTER_BATCH) {
        struct update_node *node = p->head;
        p->head = node->next;
        node->taken = true;
        nodes[count++] = node;
    }
    if (p->head == NULL)
        p->tail = &p->head;
    return count;
}

static void finish_nodes(struct cluster_engine *e, struct update_node **nodes, size_t count)
{
    uint64_t good = 0;
    for (size_t i = 0; i < count; i++) {
        if (nodes[i]->parked)
            continue;
        struct engine_update *u = nodes[i]->update;
        u->result = nodes[i]->result;
        good += !err_is(u->result);
        u->done(u); /* may free u */
    }
    atomic_fetch_add(&e->update_count, good);
}

static void work_on(struct cluster_engine *e, struct update_part *p)
{
    struct update_line *l = &e->line;
    struct update_node *nodes[CLUSTER_BATCH];
    size_t count = take_nodes(p, nodes);
    pthread_mutex_unlock(&l->lock);
    int64_t began_us = clock_mono_us();
    if (count > 0) { /* they may have expired */
        cluster_run_batch(e, (struct str){p->name, p->name_n}, nodes, count);
        finish_nodes(e, nodes, count);
        histogram_add(&e->commit_updates, HISTOGRAM_COUNTS, count);
        histogram_add(&e->turn_us, HISTOGRAM_TIMES_US, (uint64_t)(clock_mono_us() - began_us));
    }
    pthread_mutex_lock(&l->lock);
    bool parks = false;
    for (size_t i = 0; i < count; i++) {
        parks |= nodes[i]->parked;
        if (nodes[i]->parked)
            park(l, nodes[i]);
        else
            remove_node(l, nodes[i]);
    }
    if (parks)
        unpark_written(e); /* some may be written by now */
    if (p->head != NULL)
        make_ready(l, p);
    else
        part_free(l, p);
    if (l->closed && l->oldest == NULL)
        pthread_cond_broadcast(&l->work);
}

static void *worker(void *arg)
{
    struct cluster_engine *e = arg;
    struct update_part *p;
    pthread_mutex_lock(&e->line.lock);
    while ((p = next_part(&e->line)) != NULL)
        work_on(e, p);
    pthread_mutex_unlock(&e->line.lock);
    return NULL;
}

/* ---- time limits ---- */

/* The lock is held. Removes the node from its partition's queue, or from the parked ones. */
static void unlink_waiting(struct update_line *l, struct update_node *node)
{
    struct update_part *p = node->waits ? NULL : part_of(l, node->update->partition);
    struct update_node **link = p == NULL ? &l->parked : &p->head;
    while (*link != node)
        link = &(*link)->next;
    *link = node->next;
    if (p != NULL && p->tail == &node->next)
        p->tail = link;
}

/* Not while they run: a worker has its own time limits. */
static void expire(struct update_line *l)
{
    int64_t now = clock_mono_ms();
    struct update_node *late = NULL;
    pthread_mutex_lock(&l->lock);
    for (struct update_node *node = l->oldest; node != NULL; node = node->newer) {
        if ((node->taken && !node->waits) || node->deadline > now)
            continue;
        unlink_waiting(l, node);
        node->taken = true;
        node->waits = false;
        node->next = late;
        late = node;
    }
    pthread_mutex_unlock(&l->lock);
    for (struct update_node *next; late != NULL; late = next) {
        next = late->next;
        late->update->result = err_new(ERR_SERVER_BUSY);
        late->update->done(late->update);
        pthread_mutex_lock(&l->lock);
        remove_node(l, late);
        if (l->closed && l->oldest == NULL)
            pthread_cond_broadcast(&l->work);
        pthread_mutex_unlock(&l->lock);
    }
}

static void *clerk(void *arg)
{
    struct update_line *l = arg;
    pthread_mutex_lock(&l->lock);
    while (!l->closed || l->oldest != NULL) {
        (void)thread_wait_until(&l->tick, &l->lock, clock_mono_ms() + EXPIRE_MS);
        pthread_mutex_unlock(&l->lock);
        expire(l);
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* ---- life ---- */

void line_init(struct cluster_engine *e)
{
    struct update_line *l = &e->line;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->ended, NULL);
    pthread_cond_init(&l->tick, NULL);
    l->ready_end = &l->ready;
}

struct err line_start(struct cluster_engine *e)
{
    struct update_line *l = &e->line;
    for (; l->worker_count < CLUSTER_WORKERS; l->worker_count++)
        if (pthread_create(&l->workers[l->worker_count], NULL, worker, e) != 0)
            return err_detail(ERR_IO, "a thread cannot be made");
    l->clerk_runs = pthread_create(&l->clerk, NULL, clerk, l) == 0;
    return l->clerk_runs ? OK : err_detail(ERR_IO, "a thread cannot be made");
}

void line_stop(struct cluster_engine *e)
{
    struct update_line *l = &e->line;
    pthread_mutex_lock(&l->lock);
    l->closed = true;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (unsigned i = 0; i < l->worker_count; i++)
        pthread_join(l->workers[i], NULL);
    pthread_mutex_lock(&l->lock);
    pthread_cond_signal(&l->tick);
    pthread_mutex_unlock(&l->lock);
    if (l->clerk_runs)
        pthread_join(l->clerk, NULL);
    assert(l->oldest == NULL && l->parked == NULL);
}

void line_release(struct cluster_engine *e)
{
    struct update_line *l = &e->line;
    pthread_cond_destroy(&l->tick);
    pthread_cond_destroy(&l->ended);
    pthread_cond_destroy(&l->work);
    pthread_mutex_destroy(&l->lock);
}

/* Waits for all updates submitted before: here a visible update is always durable. */
struct err cluster_flush(struct engine *engine)
{
    struct update_line *l = &cluster_of(engine)->line;
    pthread_mutex_lock(&l->lock);
    struct update_node mark = {.taken = true};
    if (l->oldest != NULL) {
        add_newest(l, &mark);
        while (mark.older != NULL)
            pthread_cond_wait(&l->ended, &l->lock);
        if (mark.newer != NULL)
            mark.newer->older = NULL;
        else
            l->newest = NULL;
        l->oldest = mark.newer;
        l->queued--;
        pthread_cond_broadcast(&l->ended);
        pthread_cond_broadcast(&l->work);
    }
    pthread_mutex_unlock(&l->lock);
    return OK;
}
