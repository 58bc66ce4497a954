/* SPDX-License-Identifier: Apache-2.0 */
#include "core/thread.h"

#include <signal.h>

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
