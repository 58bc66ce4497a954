/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that nearly every request reads (HINT_SOON), as they were when they were last read. A view
 * goes on with one at once, reads it again together with what it asks for next, and is run again
 * should it have changed. */
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
/* With a reference; NULL: not there. */
struct row *hot_find(struct hot_rows *h, struct str name);
/* Takes a reference of its own. Rows that are large, have a body, or are not there, are left out.
 */
void hot_put(struct hot_rows *h, struct row *row);

#endif
