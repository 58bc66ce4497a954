/* SPDX-License-Identifier: Apache-2.0 */
/* A queue service over the memory engine, with a clock that tests move. For tests only. */
#ifndef SERVICE_QUEUE_QUEUE_FIXTURE_H
#define SERVICE_QUEUE_QUEUE_FIXTURE_H

#include "core/test.h"
#include "service/queue/queue.h"

struct fixture {
    struct clock clock;
    struct store store;
    struct arena arena;
    struct str partition;
};

/* 2024-05-06T07:08:09Z */
#define FIXTURE_NOW (1714979289LL * TICKS_PER_SECOND)

/* With a queue q of the account a. */
void fixture_init(struct fixture *f);
/* Over an engine that fails on cue. */
void fixture_init_fault(struct fixture *f);
void fixture_release(struct fixture *f);
void fixture_seconds(struct fixture *f, int64_t seconds);

struct err fixture_update(struct fixture *f, engine_fn *fn, void *arg);
struct err fixture_view(struct fixture *f, engine_fn *fn, void *arg);

/* These check that the operation succeeds. */
struct queue_message fixture_put(struct fixture *f, const char *text);
struct queue_message fixture_put_for(struct fixture *f, const char *text, uint32_t visibility_s,
                                     int64_t ttl_s);
/* The result lives in the fixture's arena. */
struct queue_get_messages *fixture_get(struct fixture *f, unsigned count, uint32_t visibility_s);
struct queue_get_messages *fixture_peek(struct fixture *f, unsigned count);
uint64_t fixture_count(struct fixture *f);
struct err fixture_delete(struct fixture *f, const struct queue_message *m);
/* Sweeps until there is nothing left to do. */
void fixture_sweep(struct fixture *f);
/* How many rows the queue's partition has. */
size_t fixture_rows(struct fixture *f);

/* The texts of a result, each followed by a blank. */
struct str fixture_texts(struct fixture *f, const struct queue_get_messages *get);

#endif
