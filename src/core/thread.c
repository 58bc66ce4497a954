/* SPDX-License-Identifier: Apache-2.0 */
#include "core/thread.h"

#include <assert.h>
#include <signal.h>
#include <stddef.h>

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
