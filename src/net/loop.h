/* SPDX-License-Identifier: Apache-2.0 */
/* An event loop: one thread, one epoll, its descriptors, timers and a mailbox. Call everything
 * except loop_post and loop_stop on the loop's thread (or before it runs). */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <stddef.h>

#include "core/err.h"
#include "core/tally.h"

struct loop;

struct err loop_new(struct loop **out);
/* Runs until loop_stop. */
void loop_run(struct loop *l);
/* From any thread, and from a signal handler. */
void loop_stop(struct loop *l);
void loop_free(struct loop *l);

/* A task embedded in the caller's object; it may be posted again once it has run. */
struct loop_task {
    void (*run)(struct loop_task *task);
    struct loop_task *next; /* the loop's */
};
/* From any thread: calls run on the loop's thread, in the order of posting. Many posts between two
 * turns of the loop cost one wake-up. */
void loop_post(struct loop *l, struct loop_task *task);

/* From a watch's ready, on the loop's thread: runs the task after all events of this turn and
 * before the posted tasks. */
void loop_after_events(struct loop *l, struct loop_task *task);

/* On the loop's thread: calls run at the end of this turn, after all ready events were
 * processed. */
void loop_at_end_of_turn(struct loop *l, struct loop_task *task);

/* A timer embedded in the caller's object. */
struct loop_timer {
    void (*fire)(struct loop_timer *timer);
    int64_t due_ms; /* private to the loop, like the rest */
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

/* True if one watch has had all events for a while, so that blocking the loop delays no other. */
bool loop_serves_one(const struct loop *l);

/* How many watches were ready in this turn. */
size_t loop_ready_count(const struct loop *l);

/* Load of the loop. From any thread. */
struct loop_health {
    const struct histogram *turns_us; /* duration of turns, without the waits between them */
    int64_t held_us; /* duration of the current turn so far; 0 while it waits for events */
};
struct loop_health loop_health(const struct loop *l);

/* A watched descriptor, embedded. `events` are EPOLLIN, EPOLLOUT, …; edge-triggered with
 * EPOLLET. */
struct loop_watch {
    void (*ready)(struct loop_watch *watch, uint32_t events);
    int fd;
};
struct err loop_watch_add(struct loop *l, struct loop_watch *watch, uint32_t events);
struct err loop_watch_change(struct loop *l, struct loop_watch *watch, uint32_t events);
/* After this, ready is not called again, not even for events already collected this turn. */
void loop_watch_remove(struct loop *l, struct loop_watch *watch);

#endif
