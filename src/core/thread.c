/* SPDX-License-Identifier: Apache-2.0 */
#include "core/thread.h"

#include <assert.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg)
{
    sigset_t all, before;
    assert(out != NULL && run != NULL);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(out, NULL, run, arg);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

bool thread_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t mono_ms)
{
    struct timespec until = {.tv_sec = mono_ms / 1000, .tv_nsec = mono_ms % 1000 * 1000000};
    assert(mono_ms >= 0);
    return pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, &until) == 0;
}
