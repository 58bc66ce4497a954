/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_THREAD_H
#define CORE_THREAD_H

#include <pthread.h>

/* Starts a thread that takes no signals: they are for the main thread, which waits for them, and a
 * worker that took one would only delay it. Returns 0, or pthread_create's error number. */
int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg);

#endif
