/* SPDX-License-Identifier: Apache-2.0 */
#include "net/loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/test.h"
#include "net/pool.h"

/* ---- tasks ---- */

enum { POSTERS = 4, POSTS = 20000 };

struct note {
    struct loop_task task;
    struct crowd *crowd;
    unsigned poster;
    unsigned number;
};

struct crowd {
    struct loop *loop;
    unsigned next[POSTERS];
    unsigned ran;
    struct note notes[POSTERS][POSTS];
};

struct poster {
    struct crowd *crowd;
    unsigned number;
};

static void note_run(struct loop_task *task)
{
    struct note *note = (struct note *)task;
    struct crowd *crowd = note->crowd;
    CHECK_INT(note->number, crowd->next[note->poster]++);
    if (++crowd->ran == POSTERS * POSTS)
        loop_stop(crowd->loop);
}

static void *post_all(void *arg)
{
    struct poster *poster = arg;
    struct crowd *crowd = poster->crowd;
    for (unsigned i = 0; i < POSTS; i++) {
        struct note *note = &crowd->notes[poster->number][i];
        *note = (struct note){{.run = note_run}, crowd, poster->number, i};
        loop_post(crowd->loop, &note->task);
    }
    return NULL;
}

/* No post is lost, and each thread's posts run in order, while the loop falls asleep and is
 * woken. */
void test_loop_posts_from_many_threads(void)
{
    struct crowd *crowd = calloc(1, sizeof *crowd);
    pthread_t threads[POSTERS];
    struct poster posters[POSTERS];
    CHECK_OK(loop_new(&crowd->loop));
    for (unsigned i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){crowd, i};
        CHECK(pthread_create(&threads[i], NULL, post_all, &posters[i]) == 0);
    }
    loop_run(crowd->loop);
    for (unsigned i = 0; i < POSTERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_INT(crowd->ran, POSTERS * POSTS);
    loop_free(crowd->loop);
    free(crowd);
}

/* One watch is ready repeatedly, then the other. */
struct lonely {
    struct loop_watch watch;
    struct loop *loop;
    int peer; /* the other end of its socket */
    struct loop_timer *then;
    bool served_one; /* its value when this was last ready */
};

static void lonely_ready(struct loop_watch *watch, uint32_t events)
{
    struct lonely *l = (struct lonely *)watch;
    char byte;
    CHECK(events & EPOLLIN);
    CHECK(read(watch->fd, &byte, 1) == 1);
    l->served_one = loop_serves_one(l->loop);
    if (l->served_one)
        loop_timer_set(l->loop, l->then, 0);
    else
        CHECK(write(l->peer, "x", 1) == 1);
}

static void other_ready(struct loop_watch *watch, uint32_t events)
{
    struct lonely *l = (struct lonely *)watch;
    CHECK(events & EPOLLIN);
    l->served_one = loop_serves_one(l->loop);
    loop_stop(l->loop);
}

struct wake_other {
    struct loop_timer timer;
    int peer;
};

static void wake_other(struct loop_timer *timer)
{
    CHECK(write(((struct wake_other *)timer)->peer, "x", 1) == 1);
}

void test_loop_serves_one(void)
{
    int a[2];
    int b[2];
    struct loop *loop;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, a) == 0 &&
          socketpair(AF_UNIX, SOCK_STREAM, 0, b) == 0);
    CHECK_OK(loop_new(&loop));
    struct wake_other wake = {{.fire = wake_other}, b[1]};
    struct lonely first = {{lonely_ready, a[0]}, loop, a[1], &wake.timer, false};
    struct lonely other = {{other_ready, b[0]}, loop, b[1], NULL, true};
    CHECK_OK(loop_watch_add(loop, &first.watch, EPOLLIN));
    CHECK_OK(loop_watch_add(loop, &other.watch, EPOLLIN));
    CHECK(!loop_serves_one(loop));
    CHECK(write(a[1], "x", 1) == 1);
    loop_run(loop);
    CHECK(first.served_one && !other.served_one);
    loop_free(loop);
    for (int i = 0; i < 2; i++)
        CHECK(close(a[i]) == 0 && close(b[i]) == 0);
}

/* Writes its letter, and adds another task for the end of the turn. */
struct ender {
    struct loop_task task;
    struct loop *loop;
    char *order;
    char letter;
    struct ender *more;
};

static void ender_note(struct ender *e)
{
    e->order[strlen(e->order)] = e->letter;
}

static void ender_stop(struct loop_task *task)
{
    struct ender *e = (struct ender *)task;
    ender_note(e);
    loop_stop(e->loop);
}

static void ender_run(struct loop_task *task)
{
    struct ender *e = (struct ender *)task;
    ender_note(e);
    if (e->more != NULL)
        loop_at_end_of_turn(e->loop, &e->more->task);
}

/* They run after all tasks of the turn, in order; tasks added meanwhile run a turn later, without a
 * sleep before it. */
void test_loop_ends_turns(void)
{
    struct loop *loop;
    char order[16] = "";
    CHECK_OK(loop_new(&loop));
    struct ender last = {{.run = ender_stop}, loop, order, 'z', NULL};
    struct ender ends[] = {{{.run = ender_run}, loop, order, 'x', NULL},
                           {{.run = ender_run}, loop, order, 'y', &last}};
    struct ender tasks[] = {{{.run = ender_run}, loop, order, 'a', &ends[0]},
                            {{.run = ender_run}, loop, order, 'b', &ends[1]},
                            {{.run = ender_run}, loop, order, 'c', NULL}};
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++)
        loop_post(loop, &tasks[i].task);
    loop_run(loop);
    CHECK_STR(str_of(order), STR("abcxyz"));
    loop_free(loop);
}

struct again {
    struct loop_task task;
    struct loop *loop;
    int left;
};

static void again_run(struct loop_task *task)
{
    struct again *again = (struct again *)task;
    if (--again->left == 0)
        loop_stop(again->loop);
    else
        loop_post(again->loop, task);
}

void test_loop_task_posts_itself(void)
{
    struct again again = {.task.run = again_run, .left = 1000};
    CHECK_OK(loop_new(&again.loop));
    loop_post(again.loop, &again.task);
    loop_run(again.loop);
    CHECK_INT(again.left, 0);
    loop_free(again.loop);
}

/* ---- timers ---- */

enum { TIMERS = 500 };

struct alarms {
    struct loop *loop;
    int64_t last_due;
    unsigned fired;
    struct alarm {
        struct loop_timer timer;
        struct alarms *all;
    } alarm[TIMERS];
};

static void alarm_fire(struct loop_timer *timer)
{
    struct alarms *all = ((struct alarm *)timer)->all;
    CHECK(timer->due_ms >= all->last_due);
    CHECK(timer->due_ms <= loop_now_ms(all->loop));
    CHECK(!loop_timer_is_set(timer));
    all->last_due = timer->due_ms;
    all->fired++;
}

static void alarms_end(struct loop_timer *timer)
{
    loop_stop(((struct alarm *)timer)->all->loop);
}

/* Timers that were set, moved and cancelled in any order fire in the order of their times. */
void test_loop_timers_fire_in_order(void)
{
    struct alarms *all = calloc(1, sizeof *all);
    CHECK_OK(loop_new(&all->loop));
    uint64_t random = 12345;
    unsigned cancelled = 0;
    for (int round = 0; round < 3; round++)
        for (unsigned i = 0; i < TIMERS; i++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            all->alarm[i].all = all;
            all->alarm[i].timer.fire = alarm_fire;
            loop_timer_set(all->loop, &all->alarm[i].timer, (int64_t)(random >> 33) % 20);
        }
    for (unsigned i = 0; i < TIMERS; i += 3, cancelled++) {
        loop_timer_cancel(all->loop, &all->alarm[i].timer);
        loop_timer_cancel(all->loop, &all->alarm[i].timer);
    }
    struct alarm end = {.timer.fire = alarms_end, .all = all};
    loop_timer_set(all->loop, &end.timer, 25);
    loop_run(all->loop);
    CHECK_INT(all->fired, TIMERS - cancelled);
    loop_free(all->loop);
    free(all);
}

/* ---- descriptors ---- */

struct pair {
    struct loop_watch a;
    struct loop_watch b;
    struct loop *loop;
    int calls;
};

static struct pair pair;

/* The first one called removes the other, whose event was already collected. */
static void pair_ready(struct loop_watch *watch, uint32_t events)
{
    CHECK(events & EPOLLIN);
    pair.calls++;
    loop_watch_remove(pair.loop, watch == &pair.a ? &pair.b : &pair.a);
    loop_watch_remove(pair.loop, watch);
    loop_stop(pair.loop);
}

void test_loop_removed_watch_is_silent(void)
{
    int a[2];
    int b[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, a) == 0 &&
          socketpair(AF_UNIX, SOCK_STREAM, 0, b) == 0);
    CHECK_OK(loop_new(&pair.loop));
    pair.a = (struct loop_watch){pair_ready, a[0]};
    pair.b = (struct loop_watch){pair_ready, b[0]};
    CHECK_OK(loop_watch_add(pair.loop, &pair.a, EPOLLIN));
    CHECK_OK(loop_watch_add(pair.loop, &pair.b, EPOLLIN));
    CHECK(write(a[1], "x", 1) == 1 && write(b[1], "x", 1) == 1);
    loop_run(pair.loop);
    CHECK_INT(pair.calls, 1);
    loop_free(pair.loop);
    for (int i = 0; i < 2; i++)
        CHECK(close(a[i]) == 0 && close(b[i]) == 0);
}

/* Writes its letter, and adds another task to run after the events. */
struct watcher {
    struct loop_watch watch;
    struct ender event, posted, seen;
};

static void watcher_ready(struct loop_watch *watch, uint32_t events)
{
    struct watcher *w = (struct watcher *)watch;
    CHECK(events & EPOLLIN);
    loop_watch_remove(w->event.loop, watch);
    ender_note(&w->event);
    loop_post(w->event.loop, &w->posted.task);
    loop_after_events(w->event.loop, &w->seen.task);
}

void test_loop_after_events(void)
{
    struct loop *loop;
    char order[16] = "";
    int fds[2][2];
    struct watcher watchers[2];
    CHECK_OK(loop_new(&loop));
    struct ender last = {{.run = ender_stop}, loop, order, '.', NULL};
    for (int i = 0; i < 2; i++) {
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds[i]) == 0 && write(fds[i][1], "x", 1) == 1);
        watchers[i] =
            (struct watcher){{watcher_ready, fds[i][0]},
                             {{.run = NULL}, loop, order, 'e', NULL},
                             {{.run = ender_run}, loop, order, 'p', i == 1 ? &last : NULL},
                             {{.run = ender_run}, loop, order, 's', NULL}};
        CHECK_OK(loop_watch_add(loop, &watchers[i].watch, EPOLLIN));
    }
    loop_run(loop);
    CHECK_STR(str_of(order), STR("eesspp."));
    loop_free(loop);
    for (int i = 0; i < 2; i++)
        CHECK(close(fds[i][0]) == 0 && close(fds[i][1]) == 0);
}

/* ---- the pool ---- */

struct job {
    struct loop_task task;
    atomic_int *done;
};

static void job_run(struct loop_task *task)
{
    (void)atomic_fetch_add(((struct job *)task)->done, 1);
}

void test_pool_finishes_what_was_posted(void)
{
    enum { JOBS = 1000 };
    struct pool *pool;
    static struct job jobs[JOBS];
    atomic_int done = 0;
    CHECK_OK(pool_new(3, &pool));
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct job){{.run = job_run}, &done};
        pool_post(pool, &jobs[i].task);
    }
    pool_free(pool);
    CHECK_INT(atomic_load(&done), JOBS);
}
