/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/memory.h"

#include <assert.h>
#include <stdlib.h>

#include "core/hash/fnv.h"
#include "core/mem.h"

/* A change writes the row again with its body, so the body is read at once unless it is large. */
enum { BODY_MAX = 16 << 10 };

void memories_init(struct memories *m)
{
    *m = (struct memories){0};
    pthread_mutex_init(&m->lock, NULL);
}

static struct part_memory **bucket_of(struct memories *m, struct str partition)
{
    return &m->buckets[fnv_of(partition) % MEMORY_BUCKETS];
}

static struct str name_of(const struct part_memory *p)
{
    return (struct str){p->name, p->name_n};
}

/* The lock is held. */
static void unlink_memory(struct memories *m, struct part_memory *p)
{
    assert(m->count > 0 && m->bytes >= p->bytes);
    struct part_memory **link = bucket_of(m, name_of(p));
    while (*link != p)
        link = &(*link)->bucket_next;
    *link = p->bucket_next;
    if (p->older != NULL)
        p->older->newer = p->newer;
    else
        m->oldest = p->newer;
    if (p->newer != NULL)
        p->newer->older = p->older;
    else
        m->newest = p->older;
    p->older = p->newer = NULL;
    m->count--;
    m->bytes -= p->bytes;
}

static void memory_free(struct part_memory *p)
{
    rowset_release(&p->set);
    free(p);
}

static struct part_memory *memory_new(struct str partition)
{
    struct part_memory *p = mem_calloc(1, sizeof *p + partition.n);
    p->name_n = partition.n;
    if (partition.n > 0)
        memcpy(p->name, partition.p, partition.n);
    p->stamp = -1;
    rowset_init(&p->set, name_of(p), BODY_MAX);
    return p;
}

struct part_memory *memory_take(struct memories *m, struct str partition)
{
    pthread_mutex_lock(&m->lock);
    struct part_memory *p = *bucket_of(m, partition);
    while (p != NULL && !str_eq(name_of(p), partition))
        p = p->bucket_next;
    if (p != NULL)
        unlink_memory(m, p);
    pthread_mutex_unlock(&m->lock);
    return p != NULL ? p : memory_new(partition);
}

void memory_give(struct memories *m, struct part_memory *p)
{
    assert(p->older == NULL && p->newer == NULL);
    struct part_memory *gone = NULL;
    bool large = p->set.known_bytes > MEMORY_EACH_BYTES || p->set.arena.used > MEMORY_EACH_BYTES ||
                 p->set.range_count > MEMORY_RANGES_MAX;
    if (p->stamp < 0 || large) {
        rowset_reset(&p->set);
        p->stamp = -1;
    }
    rowset_settle(&p->set);
    p->bytes = p->set.known_bytes + sizeof *p + p->name_n;
    pthread_mutex_lock(&m->lock);
    struct part_memory **bucket = bucket_of(m, name_of(p));
    p->bucket_next = *bucket;
    *bucket = p;
    p->older = m->newest;
    if (m->newest != NULL)
        m->newest->newer = p;
    else
        m->oldest = p;
    m->newest = p;
    m->count++;
    m->bytes += p->bytes;
    while (m->oldest != p && (m->count > MEMORY_PARTITIONS_MAX || m->bytes > MEMORY_BYTES_MAX)) {
        struct part_memory *old = m->oldest;
        unlink_memory(m, old);
        old->bucket_next = gone;
        gone = old;
    }
    pthread_mutex_unlock(&m->lock);
    for (struct part_memory *next; gone != NULL; gone = next) {
        next = gone->bucket_next;
        memory_free(gone);
    }
}

void memories_release(struct memories *m)
{
    while (m->oldest != NULL) {
        struct part_memory *p = m->oldest;
        unlink_memory(m, p);
        memory_free(p);
    }
    assert(m->count == 0 && m->bytes == 0);
    pthread_mutex_destroy(&m->lock);
}
