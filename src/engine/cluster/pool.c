/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/pool.h"

#include <assert.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/thread.h"

void conn_pool_init(struct conn_pool *p, const struct conn_target *target, unsigned max)
{
    assert(target != NULL && max > 0);
    *p = (struct conn_pool){.target = target, .max = max, .pause = CONN_PAUSE_MS};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
}

/* The lock is held; returns the connections to close, whose count is gone. */
static struct conn *take_idle(struct conn_pool *p)
{
    struct conn *all = p->idle;
    p->idle = NULL;
    for (const struct conn *c = all; c != NULL; c = c->next)
        p->open--;
    return all;
}

static void close_all(struct conn *c)
{
    for (struct conn *next; c != NULL; c = next) {
        next = c->next;
        conn_close(c);
    }
}

void conn_pool_release(struct conn_pool *p)
{
    close_all(take_idle(p));
    assert(p->open == 0);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
}

/* The lock is held. */
static void wait_until(struct conn_pool *p, int64_t when_ms)
{
    (void)thread_wait_until(&p->changed, &p->lock, when_ms);
}

/* The lock is held, and let go while the connection is opened. */
static struct err open_one(struct conn_pool *p, struct conn **out)
{
    assert(p->open < p->max);
    char room[512];
    struct arena arena;
    arena_init_in(&arena, SIZE_MAX, room, sizeof room);
    struct buf text = buf_in(&arena);
    p->open++;
    if (p->down_since != 0)
        p->next_try = clock_mono_ms() + p->pause + CONN_CONNECT_S * 1000LL;
    pthread_mutex_unlock(&p->lock);
    struct err error = conn_open(p->target, true, &text, out);
    pthread_mutex_lock(&p->lock);
    if (err_is(error)) {
        p->open--;
        if (p->down_since == 0) {
            p->down_since = clock_mono_ms();
            log_line(LOG_WARN, "rows: %.*s", STR_ARG(buf_str(&text)));
        }
        p->next_try = clock_mono_ms() + p->pause;
        p->pause = p->pause * 2 < CONN_PAUSE_MAX_MS ? p->pause * 2 : CONN_PAUSE_MAX_MS;
    } else if (p->down_since != 0) {
        log_line(LOG_INFO, "rows: PostgreSQL is back after %lld ms",
                 (long long)(clock_mono_ms() - p->down_since));
        p->down_since = 0;
        p->pause = CONN_PAUSE_MS;
    }
    pthread_cond_broadcast(&p->changed);
    arena_release(&arena);
    return error;
}

struct err conn_pool_take(struct conn_pool *p, int64_t deadline, struct conn **out)
{
    *out = NULL;
    pthread_mutex_lock(&p->lock);
    while (*out == NULL) {
        int64_t now = clock_mono_ms();
        bool down = p->down_since != 0;
        if (p->idle != NULL) {
            *out = p->idle;
            p->idle = (*out)->next;
        } else if (now >= deadline ||
                   (down && now - p->down_since > CONN_DOWN_MS && now < p->next_try)) {
            break;
        } else if (p->open < p->max && (!down || now >= p->next_try)) {
            struct err tried = open_one(p, out);
            (void)tried; /* asked again until the deadline */
        } else {
            wait_until(p, down && p->next_try < deadline ? p->next_try : deadline);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return *out == NULL ? err_new(ERR_SERVER_BUSY) : OK;
}

void conn_pool_give(struct conn_pool *p, struct conn *c)
{
    struct conn *gone = NULL;
    pthread_mutex_lock(&p->lock);
    assert(p->open > 0);
    if (c->fault == FAULT_LOST) {
        gone = take_idle(p);
        c->next = gone;
        gone = c;
        p->open--;
    } else {
        c->next = p->idle;
        p->idle = c;
    }
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
    close_all(gone);
}

void conn_pool_detach(struct conn_pool *p)
{
    pthread_mutex_lock(&p->lock);
    assert(p->open > 0);
    p->open--;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

bool conn_pool_down(struct conn_pool *p)
{
    pthread_mutex_lock(&p->lock);
    bool down = p->down_since != 0;
    pthread_mutex_unlock(&p->lock);
    return down;
}
