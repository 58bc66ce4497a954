/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of several views in one statement. A view whose first exchange asks for rows alone needs no
 * transaction: one statement has one snapshot. While one such statement is under way, the reads of
 * other views wait and go out together with the next one, so that many views share a round trip. */
#ifndef ENGINE_CLUSTER_GATHER_H
#define ENGINE_CLUSTER_GATHER_H

#include <pthread.h>

#include "engine/cluster/pool.h"
#include "engine/cluster/rowset.h"

enum { GATHER_MAX = 32, GATHER_LANES = 1 };

struct gathered;

struct gather {
    pthread_mutex_t lock;
    struct gathered *first, **last;
    unsigned waiting;
    unsigned lanes; /* statements under way */
};

void gather_init(struct gather *g);
void gather_release(struct gather *g);
/* Reads what is wanted in the set, which is rows alone. *fault says why not. */
struct err gather_fetch(struct gather *g, struct conn_pool *pool, struct rowset *set,
                        int64_t deadline, enum conn_fault *fault);

#endif
