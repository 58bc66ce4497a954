/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/crew.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"

enum { WAITING_PER_THREAD = 4, LINE_BYTES = 1200 };

struct job {
    struct entry entry;
    struct item item;
    struct position position;
    struct arena arena;
    uint64_t number;
    bool done;
    struct job *next;
};

struct worker {
    struct crew *crew;
    pthread_t thread;
    struct session source, target_session;
    struct target target;
};

struct crew {
    struct crew_options options;
    struct worker workers[CREW_MAX];
    unsigned count;
    pthread_mutex_t lock;
    pthread_cond_t work, space;
    struct job *first, *last; /* items that are not complete yet, by number */
    struct job *next;         /* the first item that no thread has taken */
    unsigned waiting, busy;
    bool ending;
    struct err fatal;
    struct crew_counts counts;
};

/* ---- one piece of work ---- */

/* Files and blobs are independent, and so are parts of tables. A directory's times come after its
 * files, messages have an order, and containers must exist before their contents. */
static bool is_alone(enum item_kind kind)
{
    return kind != ITEM_BLOB && kind != ITEM_FILE && kind != ITEM_ENTITIES;
}

static struct err do_once(struct worker *w, struct job *job, struct arena *a)
{
    struct item item = job->item;
    if (w->crew->options.source != NULL)
        TRY(source_describe(&w->source, a, &job->entry, &item));
    return target_put(&w->target, &item);
}

static bool may_pass(struct err error)
{
    return error.code == ERR_CONDITION_NOT_MET || error.code == ERR_MD5_MISMATCH ||
           (error.code == ERR_IO && error.cause != EPROTO);
}

static struct err do_job(struct worker *w, struct job *job)
{
    struct err error = OK;
    for (unsigned tries = 0; tries < CREW_TRIES_MAX; tries++) {
        struct arena a;
        arena_init(&a, ITEM_ARENA_BYTES_MAX);
        error = do_once(w, job, &a);
        arena_release(&a);
        if (!err_is(error) || !may_pass(error))
            break;
    }
    return error;
}

static void tell_failure(struct crew *c, const struct job *job, struct err error)
{
    char line[LINE_BYTES];
    const char *why = error.detail != NULL ? error.detail
                      : error.code == ERR_CONDITION_NOT_MET
                          ? "it changes faster than it can be read"
                          : err_message(error.code);
    int n = snprintf(line, sizeof line, "%s %.*s%s%.*s: %s", ITEM_KIND_NAMES[job->position.kind],
                     STR_ARG(job->position.container), job->position.name.n > 0 ? "/" : "",
                     STR_ARG(str_head(job->position.name, 300)), why);
    size_t length = n < 0 ? 0 : n < (int)sizeof line ? (size_t)n : sizeof line - 1;
    if (c->options.failed != NULL && c->counts.failed <= CREW_FAILURES_SHOWN_MAX)
        c->options.failed(c->options.arg, (struct str){line, length});
}

/* The server cannot be reached: nothing more can be done. */
static bool is_fatal(struct err error)
{
    return error.code == ERR_IO;
}

static void note_outcome(struct crew *c, struct worker *w, struct job *job, struct err error)
{
    c->counts.bytes += w->target.bytes;
    c->counts.versions += w->target.versions_left_out;
    w->target.bytes = 0;
    w->target.versions_left_out = 0;
    if (!err_is(error)) {
        c->counts.done[job->position.kind]++;
    } else if (error.code == ERR_BLOB_NOT_FOUND) {
        c->counts.gone++;
    } else if (is_fatal(error)) {
        if (!err_is(c->fatal)) {
            (void)snprintf(c->counts.fatal, sizeof c->counts.fatal, "%s",
                           error.detail != NULL ? error.detail : strerrordesc_np(error.cause));
            c->fatal = (struct err){error.code, error.cause, c->counts.fatal};
        }
        return;
    } else {
        c->counts.failed++;
        tell_failure(c, job, error);
    }
    job->done = true;
}

static void drop_done(struct crew *c)
{
    while (c->first != NULL && c->first->done) {
        struct job *job = c->first;
        c->first = job->next;
        if (c->first == NULL)
            c->last = NULL;
        if (c->options.reached != NULL && c->counts.failed == 0)
            c->options.reached(c->options.arg, &job->position, job->number);
        arena_release(&job->arena);
        free(job);
    }
}

/* ---- the threads ---- */

static struct job *take(struct crew *c)
{
    for (;;) {
        struct job *job = c->next;
        bool blocked = job != NULL && ((is_alone(job->position.kind) && job != c->first) ||
                                       (c->first != job && is_alone(c->first->position.kind)));
        if (job != NULL && !blocked && !err_is(c->fatal)) {
            c->next = job->next;
            c->waiting--;
            c->busy++;
            return job;
        }
        if ((c->ending && job == NULL) || err_is(c->fatal))
            return NULL;
        (void)pthread_cond_wait(&c->work, &c->lock);
    }
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct crew *c = w->crew;
    struct job *job;
    (void)pthread_mutex_lock(&c->lock);
    while ((job = take(c)) != NULL) {
        (void)pthread_mutex_unlock(&c->lock);
        struct err error = do_job(w, job);
        (void)pthread_mutex_lock(&c->lock);
        note_outcome(c, w, job, error);
        c->busy--;
        drop_done(c);
        (void)pthread_cond_broadcast(&c->work);
        (void)pthread_cond_broadcast(&c->space);
    }
    (void)pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void start(struct worker *w, struct crew *c)
{
    w->crew = c;
    if (c->options.source != NULL)
        session_init(&w->source, c->options.source);
    session_init(&w->target_session, c->options.target);
    target_init(&w->target, &w->target_session);
    if (pthread_create(&w->thread, NULL, work, w) != 0)
        abort();
}

struct crew *crew_new(const struct crew_options *options)
{
    struct crew *c = MEM_NEW(struct crew);
    c->options = *options;
    c->count = options->threads < 1 ? 1 : options->threads > CREW_MAX ? CREW_MAX : options->threads;
    (void)pthread_mutex_init(&c->lock, NULL);
    (void)pthread_cond_init(&c->work, NULL);
    (void)pthread_cond_init(&c->space, NULL);
    for (unsigned i = 0; i < c->count; i++)
        start(&c->workers[i], c);
    return c;
}

static struct entry copy_entry(struct arena *a, const struct entry *e)
{
    struct entry copy = *e;
    copy.labels = NULL;
    copy.json = arena_copy(a, e->json);
    copy.heads = ARENA_ARRAY(a, struct entry_head, e->head_count + 1);
    for (size_t i = 0; i < e->head_count; i++)
        copy.heads[i] =
            (struct entry_head){arena_copy(a, e->heads[i].snapshot),
                                arena_copy(a, e->heads[i].version), e->heads[i].current};
    return copy;
}

struct err crew_give(struct crew *c, const struct crew_work *given, struct arena *arena)
{
    struct job *job = MEM_NEW(struct job);
    const struct position *position = given->position;
    job->arena = *arena;
    arena_init(arena, ITEM_ARENA_BYTES_MAX);
    job->position = (struct position){position->kind, arena_copy(&job->arena, position->container),
                                      arena_copy(&job->arena, position->name)};
    if (given->entry != NULL) {
        job->entry = copy_entry(&job->arena, given->entry);
        job->entry.position = job->position;
    }
    if (given->item != NULL)
        job->item = *given->item;
    job->number = given->number;
    (void)pthread_mutex_lock(&c->lock);
    while (c->waiting >= c->count * WAITING_PER_THREAD && !err_is(c->fatal))
        (void)pthread_cond_wait(&c->space, &c->lock);
    if (c->last == NULL)
        c->first = job;
    else
        c->last->next = job;
    c->last = job;
    if (c->next == NULL)
        c->next = job;
    c->waiting++;
    struct err fatal = c->fatal;
    (void)pthread_cond_broadcast(&c->work);
    (void)pthread_mutex_unlock(&c->lock);
    return fatal;
}

void crew_look(struct crew *c, struct crew_counts *out)
{
    assert(out != NULL);
    (void)pthread_mutex_lock(&c->lock);
    *out = c->counts;
    (void)pthread_mutex_unlock(&c->lock);
}

static void release(struct crew *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        struct worker *w = &c->workers[i];
        if (c->options.source != NULL)
            session_end(&w->source);
        session_end(&w->target_session);
        target_release(&w->target);
    }
    while (c->first != NULL) {
        struct job *job = c->first;
        c->first = job->next;
        arena_release(&job->arena);
        free(job);
    }
}

struct err crew_end(struct crew *c, struct crew_counts *out)
{
    assert(out != NULL);
    (void)pthread_mutex_lock(&c->lock);
    c->ending = true;
    (void)pthread_cond_broadcast(&c->work);
    (void)pthread_mutex_unlock(&c->lock);
    for (unsigned i = 0; i < c->count; i++)
        (void)pthread_join(c->workers[i].thread, NULL);
    release(c);
    struct err fatal = c->fatal;
    *out = c->counts;
    if (err_is(fatal))
        fatal.detail = out->fatal;
    free(c);
    return fatal;
}
