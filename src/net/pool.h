/* SPDX-License-Identifier: Apache-2.0 */
/* A few threads for work that waits for a disk or another server, so that a loop does not. */
#ifndef NET_POOL_H
#define NET_POOL_H

#include "net/loop.h"

struct pool;

struct err pool_new(unsigned threads, struct pool **out);
/* The same with threads of lower priority (setpriority), for long work. */
struct err pool_new_nice(unsigned threads, int niceness, struct pool **out);
/* From any thread. Calls the task's run on a pool thread; run passes its result to a loop with
 * loop_post. */
void pool_post(struct pool *p, struct loop_task *task);
/* The number of tasks that wait for a thread. */
size_t pool_waiting(struct pool *p);
/* Finishes all posted tasks, then stops the threads. */
void pool_free(struct pool *p);

#endif
