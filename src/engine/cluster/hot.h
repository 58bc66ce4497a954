/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of rows that nearly every request reads (HINT_SOON), as they were at the last read. A
 * view uses such a row at once, confirms it together with its next read, and is run again if the
 * row has changed. */
#ifndef ENGINE_CLUSTER_HOT_H
#define ENGINE_CLUSTER_HOT_H

#include <pthread.h>

#include "engine/tree.h"

enum { HOT_SLOTS = 4096, HOT_VALUE_MAX = 4096 };

struct hot_rows {
    pthread_mutex_t lock;
    struct row *slots[HOT_SLOTS]; /* by a hash of the name; the newer row replaces the older */
};

void hot_init(struct hot_rows *h);
void hot_release(struct hot_rows *h);
/* Returned with a reference; NULL if it is not cached. */
struct row *hot_find(struct hot_rows *h, struct str name);
/* Takes its own reference. Does not cache rows that are large, absent, or have a body. */
void hot_put(struct hot_rows *h, struct row *row);

#endif
