/* SPDX-License-Identifier: Apache-2.0 */
/* Delayed threads, as on a busy machine: a waiting thread resumes some time after it was woken.
 * Other threads run meanwhile, so rare overlaps occur: a flush of RocksDB and a compaction then
 * write their changes of its MANIFEST under one sync. */
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "disk.h"

enum { LATE_ONE_IN = 4, LATE_NS_MAX = 3000000 };

void disk_dawdle(uint32_t one_in, uint32_t ns_max)
{
    static _Atomic uint32_t turns;
    uint32_t random = (turns += 1) * 2654435761U;
    random ^= random >> 15;
    if (random % one_in == 0)
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)(random / one_in % ns_max)}, NULL);
}

typedef int cond_wait_fn(pthread_cond_t *condition, pthread_mutex_t *mutex);

static cond_wait_fn *real_cond_wait(void)
{
    void *found = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
    cond_wait_fn *real;
    static_assert(sizeof real == sizeof found, "a function's address is one of data");
    memcpy(&real, &found, sizeof real);
    return real;
}

/* The program's definition overrides the C library's. */
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    int result = real_cond_wait()(condition, mutex);
    if (result == 0 && disk_watching()) {
        (void)pthread_mutex_unlock(mutex);
        disk_dawdle(LATE_ONE_IN, LATE_NS_MAX);
        (void)pthread_mutex_lock(mutex);
    }
    return result;
}
