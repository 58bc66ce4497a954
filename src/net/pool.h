/* SPDX-License-Identifier: Apache-2.0 */
/* A few threads for work that waits for a disk or another server, so that a loop does not. */
#ifndef NET_POOL_H
#define NET_POOL_H

#include "net/loop.h"

struct pool;

struct err pool_new(unsigned threads, struct pool **out);
/* The same with threads that give way to others of this process (setpriority), for long work. */
struct err pool_new_nice(unsigned threads, int niceness, struct pool **out);
/* From any thread. The task's run is called on a pool thread; it hands its outcome to a loop with
 * loop_post. */
void pool_post(struct pool *p, struct loop_task *task);
/* How many tasks wait for a thread. */
size_t pool_waiting(struct pool *p);
/* Finishes what was posted, then stops the threads. */
void pool_free(struct pool *p);

#endif
