/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of rows of partitions that this gateway has written to recently, each with the
 * partition's stamp at which they were valid. A transaction that finds the stamp unchanged under
 * the lock need not read them again. If it needs no other rows, it starts together with its commit:
 * one round trip. */
#ifndef ENGINE_CLUSTER_MEMORY_H
#define ENGINE_CLUSTER_MEMORY_H

#include <pthread.h>

#include "engine/cluster/rowset.h"

enum {
    MEMORY_BUCKETS = 1024,
    MEMORY_PARTITIONS_MAX = 4096,
    MEMORY_EACH_BYTES = 512 << 10,
    MEMORY_RANGES_MAX = 64,
    MEMORY_BYTES_MAX = 64 << 20,
    MEMORY_COOL = 8, /* after others have written: so many transactions start before their commit */
};

struct part_memory {
    struct rowset set;
    int64_t stamp; /* -1: nothing is known */
    unsigned cool;
    size_t bytes; /* as counted when it was given back */
    struct part_memory *bucket_next;
    struct part_memory *older, *newer;
    size_t name_n;
    char name[];
};

struct memories {
    pthread_mutex_t lock;
    struct part_memory *buckets[MEMORY_BUCKETS];
    struct part_memory *oldest, *newest;
    size_t count;
    size_t bytes;
};

void memories_init(struct memories *m);
void memories_release(struct memories *m);
/* Returns the cached rows of the partition. The caller owns them until it gives them back. */
struct part_memory *memory_take(struct memories *m, struct str partition);
void memory_give(struct memories *m, struct part_memory *p);

#endif
