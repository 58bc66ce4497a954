/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/copy/copier.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"
#include "core/thread.h"
#include "rest/copy/copier_remote.h"
#include "service/file/copy/copy.h"
#include "service/file/copy/copy_foreign.h"
#include "service/file/keys.h"

enum {
    COPIER_THREADS = 4,
    COPIES_MAX = 10000, /* known at a time; others are searched for after some have ended */
    LOOK_JOBS = 256,    /* of one container at a time */
    RETRY_MS_MIN = 1000,
    RETRY_MS_MAX = 60000,
    PARTITION_MAX = 256,
};

struct copy {
    char partition[PARTITION_MAX];
    size_t partition_n;
    uint64_t incarnation, id;
    int64_t not_before_ms; /* after a failure */
    unsigned failures;
    bool busy;
};

struct copier {
    struct store *store;
    struct dialer *dialer;
    pthread_t threads[COPIER_THREADS];
    size_t thread_count;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    /* Under the lock. */
    struct copy *copies;
    size_t count, capacity, next;
    bool stopping;
    bool look; /* the store may have copies that are not in the list */
};

/* ---- the list ---- */

static bool known(const struct copier *c, struct str partition, uint64_t incarnation, uint64_t id)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct copy *copy = &c->copies[i];
        if (copy->id == id && copy->incarnation == incarnation &&
            str_eq((struct str){copy->partition, copy->partition_n}, partition))
            return true;
    }
    return false;
}

static void add_locked(struct copier *c, struct str partition, uint64_t incarnation, uint64_t id)
{
    if (partition.n > PARTITION_MAX || known(c, partition, incarnation, id))
        return;
    if (c->count == COPIES_MAX) {
        c->look = true;
        return;
    }
    if (c->count == c->capacity) {
        c->capacity = c->capacity == 0 ? 16 : c->capacity * 2;
        c->copies = mem_realloc(c->copies, c->capacity * sizeof *c->copies);
    }
    struct copy *copy = &c->copies[c->count++];
    *copy = (struct copy){.partition_n = partition.n, .incarnation = incarnation, .id = id};
    memcpy(copy->partition, partition.p, partition.n);
}

void copier_add(struct copier *c, struct str partition, uint64_t incarnation, uint64_t job)
{
    (void)pthread_mutex_lock(&c->lock);
    add_locked(c, partition, incarnation, job);
    (void)pthread_cond_signal(&c->wake);
    (void)pthread_mutex_unlock(&c->lock);
}

/* Returns the next copy that is due, or NULL; then *wait_ms is the time until one is. */
static struct copy *take(struct copier *c, int64_t *wait_ms)
{
    int64_t now = clock_mono_ms();
    *wait_ms = RETRY_MS_MAX;
    for (size_t i = 0; i < c->count; i++) {
        size_t at = (c->next + i) % c->count;
        struct copy *copy = &c->copies[at];
        if (copy->busy)
            continue;
        if (copy->not_before_ms <= now) {
            c->next = at + 1;
            copy->busy = true;
            return copy;
        }
        if (copy->not_before_ms - now < *wait_ms)
            *wait_ms = copy->not_before_ms - now;
    }
    return NULL;
}

/* The list may have been reallocated meanwhile, so look it up again. */
static void put_back(struct copier *c, const struct copy *done, bool ended, bool failed)
{
    for (size_t i = 0; i < c->count; i++) {
        struct copy *copy = &c->copies[i];
        if (!copy->busy || copy->id != done->id || copy->incarnation != done->incarnation ||
            copy->partition_n != done->partition_n ||
            memcmp(copy->partition, done->partition, done->partition_n) != 0)
            continue;
        if (ended) {
            *copy = c->copies[--c->count];
            return;
        }
        copy->busy = false;
        copy->failures = failed ? copy->failures + 1 : 0;
        int64_t pause = RETRY_MS_MIN << (copy->failures < 6 ? copy->failures : 6);
        if (failed)
            copy->not_before_ms = clock_mono_ms() + (pause < RETRY_MS_MAX ? pause : RETRY_MS_MAX);
        return;
    }
}

/* ---- looking for copies that were left ---- */

struct look {
    struct arena arena;
    struct str partitions[LOOK_JOBS];
    size_t count;
};

static bool note_partition(struct str partition, struct str value, void *arg)
{
    struct look *look = arg;
    (void)value;
    look->partitions[look->count++] = arena_copy(&look->arena, partition);
    return look->count < LOOK_JOBS;
}

static void add_jobs(struct copier *c, struct arena *arena, struct str partition)
{
    struct copy_jobs_args args = {.arena = arena, .max = LOOK_JOBS};
    do {
        struct err error = store_read(c->store, partition, ENGINE_WAIT, copy_jobs_list, &args);
        if (err_is(error)) {
            log_line(LOG_WARN, "copies of %.*s: cannot be listed: error %d", STR_ARG(partition),
                     error.code);
            return;
        }
        for (size_t i = 0; i < args.count; i++) {
            copier_add(c, partition, args.jobs[i].incarnation, args.jobs[i].id);
            args.after_incarnation = args.jobs[i].incarnation;
            args.after = args.jobs[i].id;
        }
    } while (args.count == LOOK_JOBS);
}

static void look_through(struct copier *c, struct str space)
{
    struct str after = STR_NONE;
    struct look look;
    arena_init(&look.arena, SIZE_MAX);
    do {
        look.count = 0;
        struct err error =
            store_partitions(c->store, space, after, BLOB_KEY_COPIES, note_partition, &look);
        if (err_is(error)) {
            log_line(LOG_WARN, "copies: cannot look for those that were left: error %d",
                     error.code);
            break;
        }
        for (size_t i = 0; i < look.count; i++)
            add_jobs(c, &look.arena, look.partitions[i]);
        if (look.count > 0)
            after = look.partitions[look.count - 1];
    } while (look.count == LOOK_JOBS);
    arena_release(&look.arena);
}

/* ---- working ---- */

struct find {
    struct arena *arena;
    uint64_t incarnation, id;
    bool found;
    struct copy_job job;
};

static struct err find_job(struct txn *t, void *arg)
{
    struct find *find = arg;
    struct copy_job job;
    TRY(copy_job_load(t, find->incarnation, find->id, &job, &find->found));
    if (!find->found)
        return OK;
    find->job = job;
    find->job.name = arena_copy(find->arena, job.name);
    find->job.partition = arena_copy(find->arena, job.partition);
    find->job.source_name = arena_copy(find->arena, job.source_name);
    find->job.url = arena_copy(find->arena, job.url);
    find->job.url_etag = arena_copy(find->arena, job.url_etag);
    return OK;
}

static struct err step_of(struct copier *c, struct arena *arena, const struct copy *copy,
                          bool *ended)
{
    struct str partition = {copy->partition, copy->partition_n};
    struct find find = {.arena = arena, .incarnation = copy->incarnation, .id = copy->id};
    TRY(store_read(c->store, partition, ENGINE_WAIT, find_job, &find));
    *ended = !find.found;
    if (!find.found)
        return OK;
    bool of_file = str_starts(partition, FILE_SPACE);
    struct copy_job_ref place = {partition, copy->incarnation, copy->id,
                                 of_file ? file_step_copy : blob_step_copy};
    if (copy_job_is_local(&find.job)) {
        TRY(copy_job_advance(c->store, &place, ended));
    } else {
        struct remote_step step = {.store = c->store,
                                   .dialer = c->dialer,
                                   .arena = arena,
                                   .place = &place,
                                   .of_file = of_file,
                                   .job = &find.job,
                                   .failures = copy->failures};
        TRY(copier_remote_step(&step, ended));
    }
    if (*ended && of_file)
        file_copy_ended(c->store, copy->incarnation);
    if (*ended)
        log_line(LOG_INFO, "copy to %.*s/%.*s has ended, of %llu bytes", STR_ARG(partition),
                 STR_ARG(find.job.name), (unsigned long long)find.job.size);
    return OK;
}

static void work(struct copier *c, const struct copy *copy)
{
    struct arena arena;
    bool ended = false;
    arena_init(&arena, SIZE_MAX);
    struct err error = step_of(c, &arena, copy, &ended);
    arena_release(&arena);
    if (err_is(error))
        log_line(LOG_WARN, "copy %.*s %llx failed for now: %s, cause %d", (int)copy->partition_n,
                 copy->partition, (unsigned long long)copy->id, err_azure_code(error.code),
                 error.cause);
    (void)pthread_mutex_lock(&c->lock);
    put_back(c, copy, ended, err_is(error));
}

static void pause_for(struct copier *c, int64_t ms)
{
    (void)thread_wait_until(&c->wake, &c->lock, clock_mono_ms() + ms);
}

/* The lock is held except during the step. */
static void *run(void *arg)
{
    struct copier *c = arg;
    (void)pthread_mutex_lock(&c->lock);
    while (!c->stopping) {
        int64_t wait_ms;
        bool look = c->look && c->count < COPIES_MAX / 2;
        if (look) {
            c->look = false;
            (void)pthread_mutex_unlock(&c->lock);
            look_through(c, STR("b/"));
            look_through(c, FILE_SPACE);
            (void)pthread_mutex_lock(&c->lock);
            continue;
        }
        struct copy *found = take(c, &wait_ms);
        if (found == NULL) {
            pause_for(c, wait_ms);
            continue;
        }
        struct copy copy = *found;
        (void)pthread_mutex_unlock(&c->lock);
        work(c, &copy);
    }
    (void)pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- life ---- */

struct err copier_start(struct store *store, struct dialer *dialer, struct copier **out)
{
    assert(out != NULL);
    struct copier *c = MEM_NEW(struct copier);
    c->store = store;
    c->dialer = dialer;
    c->look = true;
    (void)pthread_mutex_init(&c->lock, NULL);
    (void)pthread_cond_init(&c->wake, NULL);
    for (size_t i = 0; i < COPIER_THREADS; i++) {
        int error = pthread_create(&c->threads[i], NULL, run, c);
        if (error != 0) {
            copier_stop(c);
            return err_cause(ERR_IO, error);
        }
        c->thread_count++;
    }
    *out = c;
    return OK;
}

void copier_stop(struct copier *c)
{
    if (c == NULL)
        return;
    (void)pthread_mutex_lock(&c->lock);
    c->stopping = true;
    (void)pthread_cond_broadcast(&c->wake);
    (void)pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < c->thread_count; i++)
        (void)pthread_join(c->threads[i], NULL);
    (void)pthread_cond_destroy(&c->wake);
    (void)pthread_mutex_destroy(&c->lock);
    free(c->copies);
    free(c);
}
