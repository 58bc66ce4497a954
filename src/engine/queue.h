/* SPDX-License-Identifier: Apache-2.0 */
/* The line of updates before a committer: any thread pushes, one takes all there is. */
#ifndef ENGINE_QUEUE_H
#define ENGINE_QUEUE_H

#include <pthread.h>

#include "engine/engine.h"

struct update_queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct engine_update *head;
    struct engine_update **tail;
    bool taker_waits;
    bool closed;
};

void update_queue_init(struct update_queue *q);
void update_queue_release(struct update_queue *q);
/* False when the queue is closed: the update was not taken. */
bool update_queue_push(struct update_queue *q, struct engine_update *u);
/* All that is there, in order of arrival, linked by next; waits for at least one. NULL when the
 * queue is closed and empty. */
struct engine_update *update_queue_take(struct update_queue *q);
void update_queue_close(struct update_queue *q);

/* Pushes, or calls done with ERR_STOPPING on the calling thread. */
void update_queue_submit(struct update_queue *q, struct engine_update *u);

#endif
