/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_THREAD_H
#define CORE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts a thread that receives no signals: the main thread waits for them, and a worker that
 * received one would only delay it. Returns 0, or pthread_create's error number. */
int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg);

/* Waits for a condition whose lock is held, at most until a time of clock_mono_ms. False: timed
 * out. May return early, as conditions do. */
bool thread_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t mono_ms);

#endif
