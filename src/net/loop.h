/* SPDX-License-Identifier: Apache-2.0 */
/* An event loop: one thread, one epoll, its descriptors, timers and a mailbox. Everything but
 * loop_post and loop_stop is called on the loop's own thread (or before it runs). */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <stddef.h>

#include "core/err.h"
#include "core/tally.h"

struct loop;

struct err loop_new(struct loop **out);
/* Runs until loop_stop; returns then. */
void loop_run(struct loop *l);
/* From any thread, and from a signal handler. */
void loop_stop(struct loop *l);
void loop_free(struct loop *l);

/* A task embedded in the caller's object; it may be posted again once it has run. */
struct loop_task {
    void (*run)(struct loop_task *task);
    struct loop_task *next; /* the loop's */
};
/* From any thread: run is called on the loop's thread, in the order of posting. Many posts between
 * two turns of the loop cost one wake-up. */
void loop_post(struct loop *l, struct loop_task *task);

/* From a watch's ready, on the loop's thread: runs the task after all events of this turn and
 * before the posted tasks. */
void loop_after_events(struct loop *l, struct loop_task *task);

/* On the loop's thread: run is called at the end of this turn, when all that was ready has been
 * looked at. */
void loop_at_end_of_turn(struct loop *l, struct loop_task *task);

/* A timer embedded in the caller's object. */
struct loop_timer {
    void (*fire)(struct loop_timer *timer);
    int64_t due_ms; /* the loop's, as the rest */
    size_t heap_index;
};
/* Sets or moves it. */
void loop_timer_set(struct loop *l, struct loop_timer *timer, int64_t after_ms);
/* No-op when it is not set. */
void loop_timer_cancel(struct loop *l, struct loop_timer *timer);
static inline bool loop_timer_is_set(const struct loop_timer *timer)
{
    return timer->heap_index != 0;
}
/* Monotonic time, read once per turn. */
int64_t loop_now_ms(const struct loop *l);
int64_t loop_now_us(const struct loop *l);

/* True if one watch has had all events for a while, so that nobody else is kept waiting when the
 * loop is. */
bool loop_serves_one(const struct loop *l);

/* Load of the loop. From any thread. */
struct loop_health {
    const struct histogram *turns_us; /* how long turns took, without the waits between them */
    int64_t held_us; /* for how long the turn under way has lasted; 0 while it waits for events */
};
struct loop_health loop_health(const struct loop *l);

/* A watched descriptor, embedded. `events` are EPOLLIN, EPOLLOUT, …, edge-triggered when EPOLLET is
 * among them. */
struct loop_watch {
    void (*ready)(struct loop_watch *watch, uint32_t events);
    int fd;
};
struct err loop_watch_add(struct loop *l, struct loop_watch *watch, uint32_t events);
struct err loop_watch_change(struct loop *l, struct loop_watch *watch, uint32_t events);
/* After this, ready is not called again, not even for events already collected this turn. */
void loop_watch_remove(struct loop *l, struct loop_watch *watch);

#endif
