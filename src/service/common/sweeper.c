/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/sweeper.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"
#include "core/thread.h"

enum { SWEEPER_PAUSE_S = 1, SWEEPER_RETRY_ROUNDS = 60 };

struct sweeper {
    struct store *store;
    struct sweep_job *jobs;
    size_t count;
    unsigned *skip_rounds; /* per job: rounds to skip after an error */
    uint64_t *removed;     /* per job: since the last log line */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping;
};

static void tell(struct sweeper *s, size_t i)
{
    if (s->removed[i] == 0)
        return;
    log_line(LOG_INFO, "sweep %s: %llu removed", s->jobs[i].name,
             (unsigned long long)s->removed[i]);
    s->removed[i] = 0;
}

/* Returns true if the job has more to do now. A job that fails is skipped for a minute, so that
 * a full disk does not fill the log as well. */
static bool step(struct sweeper *s, size_t i)
{
    struct sweep_report report = {0};
    if (s->skip_rounds[i] > 0) {
        s->skip_rounds[i]--;
        return false;
    }
    struct err error = s->jobs[i].step(s->store, s->jobs[i].context, &report);
    s->removed[i] += report.removed;
    tally_add(&s->jobs[i].steps, 1);
    tally_add(&s->jobs[i].removed, report.removed);
    tally_set(&s->jobs[i].last_step, (uint64_t)time(NULL));
    if (err_is(error)) {
        tally_add(&s->jobs[i].failures, 1);
        s->skip_rounds[i] = SWEEPER_RETRY_ROUNDS;
        log_line(LOG_WARN, "sweep %s failed: error %d, cause %d", s->jobs[i].name, error.code,
                 error.cause);
        return false;
    }
    if (!report.more)
        tell(s, i);
    return report.more;
}

static bool pause_or_stop(struct sweeper *s, bool more)
{
    int64_t until = clock_mono_ms() + SWEEPER_PAUSE_S * 1000LL;
    (void)pthread_mutex_lock(&s->lock);
    if (!s->stopping && !more)
        (void)thread_wait_until(&s->wake, &s->lock, until);
    bool stop = s->stopping;
    (void)pthread_mutex_unlock(&s->lock);
    return stop;
}

static void *sweep(void *arg)
{
    struct sweeper *s = arg;
    bool more = false;
    while (!pause_or_stop(s, more)) {
        more = false;
        for (size_t i = 0; i < s->count; i++)
            more = step(s, i) || more;
    }
    return NULL;
}

static void release(struct sweeper *s)
{
    (void)pthread_cond_destroy(&s->wake);
    (void)pthread_mutex_destroy(&s->lock);
    free(s->skip_rounds);
    free(s->removed);
    free(s);
}

struct err sweeper_start(struct store *store, struct sweep_job *jobs, size_t count,
                         struct sweeper **out)
{
    assert(count > 0);
    struct sweeper *s = MEM_NEW(struct sweeper);
    s->store = store;
    s->jobs = jobs;
    s->count = count;
    s->skip_rounds = mem_calloc(count, sizeof *s->skip_rounds);
    s->removed = mem_calloc(count, sizeof *s->removed);
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->wake, NULL);
    int failed = pthread_create(&s->thread, NULL, sweep, s);
    if (failed != 0) {
        release(s);
        return err_cause(ERR_IO, failed);
    }
    *out = s;
    return OK;
}

void sweeper_stop(struct sweeper *s)
{
    if (s == NULL)
        return;
    (void)pthread_mutex_lock(&s->lock);
    s->stopping = true;
    (void)pthread_cond_signal(&s->wake);
    (void)pthread_mutex_unlock(&s->lock);
    (void)pthread_join(s->thread, NULL);
    release(s);
}
