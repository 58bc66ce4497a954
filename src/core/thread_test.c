/* SPDX-License-Identifier: Apache-2.0 */
#include "core/thread.h"

#include <signal.h>

#include "core/clock.h"
#include "core/test.h"

static void *report_mask(void *arg)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, arg);
    return arg;
}

void test_thread_takes_no_signals(void)
{
    pthread_t thread;
    sigset_t inside, before, after;
    void *result;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    CHECK_INT(thread_start(&thread, report_mask, &inside), 0);
    CHECK_INT(pthread_join(thread, &result), 0);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    CHECK(result == &inside);
    CHECK(sigismember(&inside, SIGTERM) == 1 && sigismember(&inside, SIGHUP) == 1);
    CHECK_INT(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool set;
};

static void *set_it(void *arg)
{
    struct waiting *w = arg;
    (void)pthread_mutex_lock(&w->lock);
    w->set = true;
    (void)pthread_cond_signal(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}

void test_thread_wait_until_ends_by_signal_or_by_time(void)
{
    enum { SHORT_MS = 20, LONG_MS = 600000 };
    struct waiting w = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    (void)pthread_mutex_lock(&w.lock);
    int64_t until = clock_mono_ms() + SHORT_MS;
    while (thread_wait_until(&w.changed, &w.lock, until))
        ;
    CHECK(clock_mono_ms() >= until);
    until = clock_mono_ms() + LONG_MS;
    CHECK_INT(thread_start(&thread, set_it, &w), 0);
    while (!w.set)
        CHECK(thread_wait_until(&w.changed, &w.lock, until));
    (void)pthread_mutex_unlock(&w.lock);
    CHECK_INT(pthread_join(thread, NULL), 0);
}
