/* SPDX-License-Identifier: Apache-2.0 */
/* Views on event loops, which are postponed while their rows are fetched. */
#include <pthread.h>

#include "core/container.h"
#include "service/common/store.h"
#include "subject.h"

struct waiter {
    struct engine_view_job job;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ready;
    int offs; /* how often it was put off */
};

static void set_ready(struct engine_view_job *job)
{
    struct waiter *w = CONTAINER_OF(job, struct waiter, job);
    pthread_mutex_lock(&w->lock);
    w->ready = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static void waiter_init(struct waiter *w, struct str partition, engine_fn *fn, void *arg)
{
    *w = (struct waiter){.job = {.partition = partition, .fn = fn, .arg = arg, .ready = set_ready}};
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
}

static void waiter_release(struct waiter *w)
{
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
}

static void wait_ready(struct waiter *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->ready)
        pthread_cond_wait(&w->changed, &w->lock);
    w->ready = false;
    pthread_mutex_unlock(&w->lock);
    w->offs++;
}

/* As on a loop: retried, and finally run on a thread that may wait. */
static struct err run_job(struct engine *e, struct str partition, engine_fn *fn, void *arg)
{
    struct waiter w;
    waiter_init(&w, partition, fn, arg);
    struct err error = engine_view_run(e, &w.job);
    while (w.job.waits) {
        wait_ready(&w);
        error = engine_view_run(e, &w.job);
    }
    CHECK(w.offs <= 5);
    waiter_release(&w);
    return store_wants_pool(error) ? engine_view(e, partition, ENGINE_WAIT, fn, arg) : error;
}

struct pair {
    struct subject *s;
    struct str first, second, body;
    int runs;
};

/* The second read needs the first one's result. */
static struct err follow(struct txn *t, void *arg)
{
    struct pair *p = arg;
    struct str value;
    TRY(get_hot(t, STR("name"), &value));
    p->first = arena_copy(&p->s->arena, value);
    if (!str_given(value))
        return err_new(ERR_RESOURCE_NOT_FOUND);
    struct str body;
    TRY(get_with_body(t, value, &value, &body));
    p->second = arena_copy(&p->s->arena, value);
    p->body = arena_copy(&p->s->arena, body);
    TRY(get_in(t, STR("other"), STR("k"), &value));
    return str_given(value) ? OK : err_new(ERR_CONDITION_NOT_MET);
}

static struct err put_pair(struct txn *t, void *arg)
{
    (void)arg;
    TRY(txn_put(t, STR("name"), STR("row")));
    return txn_put_row(
        t, &(struct engine_row){.key = STR("row"), .value = STR("v"), .body = STR("bytes")});
}

ENGINE_CASE(a_job_reads_what_a_view_reads)
{
    struct pair p = {.s = s};
    for (int i = 0; i < 2; i++)
        CHECK_ERR(run_job(s->engine, STR("p"), follow, &p), ERR_RESOURCE_NOT_FOUND);
    update_ok(s, STR("p"), put_pair, NULL);
    CHECK_ERR(run_job(s->engine, STR("p"), follow, &p), ERR_CONDITION_NOT_MET);
    put_row(s, STR("other"), STR("k"), STR("there"));
    for (int i = 0; i < 3; i++) {
        p.first = p.second = p.body = STR_NONE;
        CHECK_OK(run_job(s->engine, STR("p"), follow, &p));
        CHECK_STR(p.first, STR("row"));
        CHECK_STR(p.second, STR("v"));
        CHECK_STR(p.body, STR("bytes"));
    }
    put_row(s, STR("p"), STR("name"), STR("elsewhere"));
    CHECK_OK(run_job(s->engine, STR("p"), follow, &p));
    CHECK_STR(p.first, STR("elsewhere"));
    CHECK(!str_given(p.second));
}

static struct err count_rows(struct txn *t, void *arg)
{
    int *rows = arg;
    struct cursor *c;
    *rows = 0;
    TRY(cursor_open(t, STR(""), &c));
    while (c->valid) {
        ++*rows;
        TRY(cursor_next(c));
    }
    return OK;
}

ENGINE_CASE(a_job_with_a_cursor_ends)
{
    int rows = 0;
    put_row(s, STR("p"), STR("a"), STR("1"));
    put_row(s, STR("p"), STR("b"), STR("2"));
    CHECK_OK(run_job(s->engine, STR("p"), count_rows, &rows));
    CHECK_INT(rows, 2);
}

enum { WRITES = 60, READS = 200 };

static struct err put_both(struct txn *t, void *arg)
{
    char text[16];
    struct str value = number_key(text, *(const uint32_t *)arg);
    TRY(txn_put(t, STR("a"), value));
    return txn_put(t, STR("b"), value);
}

static void *write_both(void *arg)
{
    struct subject *s = arg;
    for (uint32_t i = 0; i < WRITES; i++)
        update_ok(s, STR("p"), put_both, &i);
    return NULL;
}

struct both {
    char a[16], b[16];
};

static struct err get_both(struct txn *t, void *arg)
{
    struct both *both = arg;
    struct str a;
    struct str b;
    TRY(get_hot(t, STR("a"), &a));
    TRY(txn_get(t, STR("b"), &b));
    CHECK(a.n < sizeof both->a && b.n < sizeof both->b);
    *both = (struct both){0};
    memcpy(both->a, a.p, a.n);
    memcpy(both->b, b.p, b.n);
    return OK;
}

ENGINE_CASE(a_job_sees_one_state)
{
    pthread_t writer;
    uint32_t first = 0;
    update_ok(s, STR("p"), put_both, &first);
    CHECK_INT(pthread_create(&writer, NULL, write_both, s), 0);
    for (int i = 0; i < READS; i++) {
        struct both both;
        CHECK_OK(run_job(s->engine, STR("p"), get_both, &both));
        CHECK_STR(str_of(both.a), str_of(both.b));
    }
    pthread_join(writer, NULL);
}

/* A read after an acknowledged write returns what was written. */
ENGINE_CASE(a_job_sees_what_was_acknowledged)
{
    for (uint32_t i = 0; i < WRITES; i++) {
        struct both both;
        char text[16];
        update_ok(s, STR("p"), put_both, &i);
        CHECK_OK(run_job(s->engine, STR("p"), get_both, &both));
        CHECK_STR(str_of(both.a), number_key(text, i));
    }
}

ENGINE_CASE(jobs_that_nobody_runs_any_more_end)
{
    struct waiter w[8];
    struct both both[8];
    uint32_t first = 0;
    update_ok(s, STR("p"), put_both, &first);
    for (int i = 0; i < 8; i++) {
        waiter_init(&w[i], STR("p"), get_both, &both[i]);
        (void)engine_view_run(s->engine, &w[i].job).code;
    }
    if (w[0].job.waits) {
        wait_ready(&w[0]);
        engine_view_drop(s->engine, &w[0].job);
        CHECK(!w[0].job.waits);
    }
    engine_views_end(s->engine);
    for (int i = 0; i < 8; i++)
        waiter_release(&w[i]);
}
