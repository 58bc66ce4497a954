/* SPDX-License-Identifier: Apache-2.0 */
#include "net/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/mem.h"

enum {
    LOOP_EVENTS_MAX = 256,
    LOOP_HEAP_FIRST = 64,
    LOOP_ONE_US = 20000, /* see loop_serves_one */
};

struct task_list {
    struct loop_task *first;
    struct loop_task **last; /* where the next is linked */
};

struct loop {
    int epoll_fd;
    int wake_fd;
    atomic_bool stopping;
    /* Set by the loop just before it sleeps, cleared by the thread that wakes it: so many posts
     * cost one wake-up, and none while the loop is awake. */
    atomic_bool asleep;
    _Atomic(struct loop_task *) mailbox; /* a stack: the last posted is on top */
    struct task_list seen;               /* run after all events of the turn */
    struct task_list ending;             /* run at the end of this turn */
    int64_t now_us;
    int64_t now_ms; /* the same */
    struct histogram turns_us;
    _Atomic int64_t turn_began_us; /* 0: it waits */
    /* A binary heap by due_ms, from index 1 on: index 0 means "not set", so a zeroed timer is not
     * set. */
    struct loop_timer **heap;
    size_t heap_count;
    size_t heap_capacity;
    const struct loop_watch *last_ready; /* only compared: it may be freed */
    int64_t one_since_us;                /* no other watch has been ready since then */
    struct epoll_event events[LOOP_EVENTS_MAX];
    int event_at;
    int event_count;
};

static void list_clear(struct task_list *list)
{
    list->first = NULL;
    list->last = &list->first;
}

static void list_add(struct task_list *list, struct loop_task *task)
{
    assert(task->run != NULL);
    task->next = NULL;
    *list->last = task;
    list->last = &task->next;
}

static void loop_read_clock(struct loop *l)
{
    l->now_us = clock_mono_us();
    l->now_ms = l->now_us / 1000;
}

struct err loop_new(struct loop **out)
{
    assert(out != NULL);
    struct loop *l = MEM_NEW(struct loop);
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* Edge-triggered: each write is an edge, so the counter never needs to be read back. */
    struct epoll_event wake = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};
    if (l->epoll_fd < 0 || l->wake_fd < 0 ||
        epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->wake_fd, &wake) != 0) {
        struct err error = err_cause(ERR_IO, errno);
        loop_free(l);
        return error;
    }
    l->heap_capacity = LOOP_HEAP_FIRST;
    l->heap = mem_alloc(sizeof(struct loop_timer *) * l->heap_capacity);
    loop_read_clock(l);
    l->one_since_us = l->now_us;
    list_clear(&l->seen);
    list_clear(&l->ending);
    *out = l;
    return OK;
}

void loop_free(struct loop *l)
{
    if (l == NULL)
        return;
    if (l->epoll_fd >= 0)
        (void)close(l->epoll_fd);
    if (l->wake_fd >= 0)
        (void)close(l->wake_fd);
    free(l->heap);
    free(l);
}

/* Writing to the counter could only fail if it were full, and it has 64 bits. */
static void loop_wake(struct loop *l)
{
    uint64_t one = 1;
    ssize_t written = write(l->wake_fd, &one, sizeof one);
    (void)written;
}

void loop_stop(struct loop *l)
{
    atomic_store(&l->stopping, true);
    loop_wake(l);
}

void loop_post(struct loop *l, struct loop_task *task)
{
    assert(task->run != NULL);
    struct loop_task *top = atomic_load_explicit(&l->mailbox, memory_order_relaxed);
    do
        task->next = top;
    while (!atomic_compare_exchange_weak(&l->mailbox, &top, task));
    /* The first post into an empty mailbox wakes the loop. */
    if (top == NULL && atomic_load(&l->asleep) && atomic_exchange(&l->asleep, false))
        loop_wake(l);
}

void loop_at_end_of_turn(struct loop *l, struct loop_task *task)
{
    list_add(&l->ending, task);
}

void loop_after_events(struct loop *l, struct loop_task *task)
{
    list_add(&l->seen, task);
}

int64_t loop_now_ms(const struct loop *l)
{
    return l->now_ms;
}

int64_t loop_now_us(const struct loop *l)
{
    return l->now_us;
}

bool loop_serves_one(const struct loop *l)
{
    return l->now_us - l->one_since_us >= LOOP_ONE_US && l->event_count <= 2;
}

size_t loop_ready_count(const struct loop *l)
{
    return l->event_count > 0 ? (size_t)l->event_count : 0;
}

/* ---- timers ---- */

static void heap_place(struct loop *l, size_t at, struct loop_timer *timer)
{
    assert(at >= 1 && at < l->heap_capacity);
    l->heap[at] = timer;
    timer->heap_index = at;
}

static void heap_sift_up(struct loop *l, size_t at, struct loop_timer *timer)
{
    for (; at > 1 && l->heap[at / 2]->due_ms > timer->due_ms; at /= 2)
        heap_place(l, at, l->heap[at / 2]);
    heap_place(l, at, timer);
}

static void heap_sift_down(struct loop *l, size_t at, struct loop_timer *timer)
{
    for (;;) {
        size_t child = at * 2;
        if (child > l->heap_count)
            break;
        if (child < l->heap_count && l->heap[child + 1]->due_ms < l->heap[child]->due_ms)
            child++;
        if (l->heap[child]->due_ms >= timer->due_ms)
            break;
        heap_place(l, at, l->heap[child]);
        at = child;
    }
    heap_place(l, at, timer);
}

static void heap_settle(struct loop *l, size_t at, struct loop_timer *timer)
{
    if (at > 1 && l->heap[at / 2]->due_ms > timer->due_ms)
        heap_sift_up(l, at, timer);
    else
        heap_sift_down(l, at, timer);
}

void loop_timer_set(struct loop *l, struct loop_timer *timer, int64_t after_ms)
{
    assert(timer->fire != NULL && timer->heap_index <= l->heap_count);
    timer->due_ms = l->now_ms + (after_ms > 0 ? after_ms : 0);
    if (timer->heap_index != 0) {
        heap_settle(l, timer->heap_index, timer);
        return;
    }
    if (l->heap_count + 1 == l->heap_capacity) {
        l->heap_capacity *= 2;
        l->heap = mem_realloc(l->heap, sizeof(struct loop_timer *) * l->heap_capacity);
    }
    heap_sift_up(l, ++l->heap_count, timer);
}

void loop_timer_cancel(struct loop *l, struct loop_timer *timer)
{
    size_t at = timer->heap_index;
    if (at == 0)
        return;
    assert(l->heap[at] == timer);
    timer->heap_index = 0;
    struct loop_timer *last = l->heap[l->heap_count--];
    if (last != timer)
        heap_settle(l, at, last);
}

/* A timer set while this runs waits for the next turn, so that a timer that sets itself without
 * delay does not block the loop. */
static void loop_run_timers(struct loop *l)
{
    for (size_t most = l->heap_count; most > 0 && l->heap_count > 0; most--) {
        struct loop_timer *timer = l->heap[1];
        if (timer->due_ms > l->now_ms)
            return;
        loop_timer_cancel(l, timer);
        timer->fire(timer);
    }
}

/* ---- descriptors ---- */

static struct err loop_control(struct loop *l, int op, struct loop_watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (epoll_ctl(l->epoll_fd, op, watch->fd, &event) != 0)
        return err_cause(ERR_IO, errno);
    return OK;
}

struct err loop_watch_add(struct loop *l, struct loop_watch *watch, uint32_t events)
{
    assert(watch->fd >= 0 && watch->ready != NULL);
    return loop_control(l, EPOLL_CTL_ADD, watch, events);
}

struct err loop_watch_change(struct loop *l, struct loop_watch *watch, uint32_t events)
{
    return loop_control(l, EPOLL_CTL_MOD, watch, events);
}

void loop_watch_remove(struct loop *l, struct loop_watch *watch)
{
    (void)epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    for (int i = l->event_at; i < l->event_count; i++)
        if (l->events[i].data.ptr == watch)
            l->events[i].data.ptr = NULL;
}

/* ---- turns ---- */

static void run_in_order(struct loop_task *tasks)
{
    while (tasks != NULL) {
        struct loop_task *task = tasks;
        tasks = task->next; /* read first: the task may be freed when it runs */
        task->run(task);
    }
}

static void loop_run_tasks(struct loop *l)
{
    struct loop_task *stack = atomic_exchange(&l->mailbox, NULL);
    struct loop_task *in_order = NULL;
    while (stack != NULL) {
        struct loop_task *task = stack;
        stack = task->next;
        task->next = in_order;
        in_order = task;
    }
    run_in_order(in_order);
}

/* Tasks added while this runs wait for the next turn, before which the loop does not sleep. */
static void run_list(struct task_list *list)
{
    struct loop_task *tasks = list->first;
    list_clear(list);
    run_in_order(tasks);
}

/* Returns how long the loop may sleep until its next timer; -1 if there is none. */
static int loop_patience_ms(const struct loop *l, int64_t now_ms)
{
    if (l->ending.first != NULL || l->seen.first != NULL)
        return 0;
    if (l->heap_count == 0)
        return -1;
    int64_t wait = l->heap[1]->due_ms - now_ms;
    if (wait <= 0)
        return 0;
    return wait > 60000 ? 60000 : (int)wait;
}

static void loop_collect(struct loop *l)
{
    int64_t ended_us = clock_mono_us();
    int wait = loop_patience_ms(l, ended_us / 1000);
    histogram_add(&l->turns_us, HISTOGRAM_TIMES_US, (uint64_t)(ended_us - l->now_us));
    atomic_store_explicit(&l->turn_began_us, 0, memory_order_relaxed);
    atomic_store(&l->asleep, true);
    if (wait == 0 || atomic_load(&l->mailbox) != NULL || atomic_load(&l->stopping)) {
        atomic_store(&l->asleep, false);
        wait = 0;
    }
    l->event_at = 0;
    l->event_count = epoll_wait(l->epoll_fd, l->events, LOOP_EVENTS_MAX, wait);
    assert(l->event_count >= 0 || errno == EINTR);
    atomic_store(&l->asleep, false);
    loop_read_clock(l);
    atomic_store_explicit(&l->turn_began_us, l->now_us, memory_order_relaxed);
}

struct loop_health loop_health(const struct loop *l)
{
    int64_t began_us = atomic_load_explicit(&l->turn_began_us, memory_order_relaxed);
    return (struct loop_health){&l->turns_us, began_us == 0 ? 0 : clock_mono_us() - began_us};
}

static void loop_run_events(struct loop *l)
{
    while (l->event_at < l->event_count) {
        struct epoll_event event = l->events[l->event_at++];
        struct loop_watch *watch = event.data.ptr;
        if (watch == NULL)
            continue;
        if (watch != l->last_ready)
            l->one_since_us = l->now_us;
        l->last_ready = watch;
        watch->ready(watch, event.events);
    }
}

void loop_run(struct loop *l)
{
    loop_read_clock(l);
    while (!atomic_load(&l->stopping)) {
        loop_collect(l);
        loop_run_events(l);
        run_list(&l->seen);
        loop_run_tasks(l);
        loop_run_timers(l);
        run_list(&l->ending);
    }
    loop_run_tasks(l); /* run tasks posted before the stop */
    run_list(&l->ending);
}
