/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting updates, in a queue for each partition. A worker takes a partition with all its waiting
 * updates, so that they share a transaction; no other worker takes the partition meanwhile. */
#include <assert.h>
#include <stdlib.h>

#include "core/hash/fnv.h"
#include "core/mem.h"
#include "engine/cluster/cluster_internal.h"

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
    free(node);
}

void cluster_submit(struct engine *engine, struct engine_update *u)
{
    struct update_line *l = &cluster_of(engine)->line;
    struct update_node *node = MEM_NEW(struct update_node);
    node->update = u;
    node->deadline = clock_mono_ms() + CLUSTER_UPDATE_MS;
    pthread_mutex_lock(&l->lock);
    bool open = !l->closed;
    if (open) {
        struct update_part *p = part_of(l, u->partition);
        *p->tail = node;
        p->tail = &node->next;
        add_newest(l, node);
        if (!p->busy)
            make_ready(l, p);
    }
    pthread_mutex_unlock(&l->lock);
    if (open)
        return;
    free(node);
    u->result = err_new(ERR_STOPPING);
    u->done(u);
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
    for (size_t i = 0; i < count; i++)
        remove_node(l, nodes[i]);
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

struct err line_start(struct cluster_engine *e)
{
    struct update_line *l = &e->line;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->ended, NULL);
    l->ready_end = &l->ready;
    for (; l->worker_count < CLUSTER_WORKERS; l->worker_count++)
        if (pthread_create(&l->workers[l->worker_count], NULL, worker, e) != 0)
            return err_detail(ERR_IO, "a thread cannot be made");
    return OK;
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
    assert(l->oldest == NULL);
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

/* The lock is held. Removes the node from its partition's queue. */
static void unlink_waiting(struct update_line *l, struct update_node *node)
{
    struct update_part *p = part_of(l, node->update->partition);
    struct update_node **link = &p->head;
    while (*link != node)
        link = &(*link)->next;
    *link = node->next;
    if (p->tail == &node->next)
        p->tail = link;
}

void line_expire(struct cluster_engine *e)
{
    struct update_line *l = &e->line;
    int64_t now = clock_mono_ms();
    struct update_node *late = NULL;
    pthread_mutex_lock(&l->lock);
    for (struct update_node *node = l->oldest; node != NULL; node = node->newer) {
        if (node->taken || node->deadline > now)
            continue;
        unlink_waiting(l, node);
        node->taken = true;
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
