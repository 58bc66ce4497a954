/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that disconnect at every step of every REST operation. The test stops a request at each
 * of its engine calls (on the loop, in the pool, in the engine) and resets the connection there.
 * The request must end without leaving memory (the leak checker verifies it), pins (the engine
 * asserts that there are none when it closes) or loans. */
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/container.h"
#include "core/test.h"
#include "engine/count.h"
#include "engine/fault.h"
#include "engine/mem/mem.h"
#include "requests.h"

enum {
    STEPS_EACH = 8, /* the first calls of the engine one by one, then fewer and fewer */
    STEPS_MAX = 200,
};

/* As WAIT_UNTIL, with short naps first: there are thousands of waits, most of microseconds. */
#define SOON(condition)                               \
    do {                                              \
        for (int i = 0; i < 100 && !(condition); i++) \
            nap_briefly();                            \
        WAIT_UNTIL(condition);                        \
    } while (0)

static void nap_briefly(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

struct leaving {
    struct requests_fixture f;
    struct engine *counted;
    atomic_bool reached; /* the call where the request is stopped */
    bool on_loop;        /* the loop itself made it */
    sem_t gate;
    struct loop_task task;
    atomic_bool passed; /* the loop has run the task */
    unsigned left, served;
};

static void stop_here(void *arg)
{
    struct leaving *l = arg;
    l->on_loop = pthread_equal(pthread_self(), l->f.thread) != 0;
    atomic_store(&l->reached, true);
    CHECK(sem_wait(&l->gate) == 0);
}

static void note_passed(struct loop_task *task)
{
    atomic_store(&CONTAINER_OF(task, struct leaving, task)->passed, true);
}

/* Waits until the loop has processed earlier events. */
static void wait_for_loop(struct leaving *l)
{
    for (int turn = 0; turn < 2; turn++) {
        atomic_store(&l->passed, false);
        l->task.run = note_passed;
        loop_post(l->f.loop, &l->task);
        SOON(atomic_load(&l->passed));
    }
}

static bool answer_comes(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void reset(int fd)
{
    struct linger hard = {.l_onoff = 1};
    CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard) == 0);
    CHECK(close(fd) == 0);
}

/* Resets the connection, and waits until the request has released everything. */
static void leave(struct leaving *l, enum service_kind service)
{
    unsigned before = http_server_usage(l->f.http).connections;
    reset(l->f.fds[service]);
    if (!l->on_loop)
        wait_for_loop(l);
    CHECK(sem_post(&l->gate) == 0);
    SOON(http_server_usage(l->f.http).connections < before);
    SOON(engine_count_lent(l->counted) == 0);
    l->left++;
    /* Accepted now, so that it does not count as new while another client leaves. */
    unsigned others = http_server_usage(l->f.http).connections;
    requests_connect(&l->f, service);
    SOON(http_server_usage(l->f.http).connections > others);
}

/* Sends the request and disconnects at its n-th call of the engine. False if it ended before
 * that. */
static bool leave_at(struct leaving *l, const struct budget *b, uint64_t n)
{
    int fd = l->f.fds[b->service];
    atomic_store(&l->reached, false);
    engine_fault_meet(l->f.store.engine, n, stop_here, l);
    requests_send(&l->f, b);
    SOON(atomic_load(&l->reached) || answer_comes(fd));
    engine_fault_arm(l->f.store.engine, 0, OK);
    if (!atomic_load(&l->reached))
        return false;
    leave(l, b->service);
    return true;
}

/* The request of a client that left may have been committed; then the next one finds its effect. */
static void serve(struct leaving *l, const struct budget *b)
{
    struct str answer = requests_answer(&l->f, b);
    unsigned status = requests_status(answer);
    CHECK(status >= 200 && status < 500);
    l->served += status == b->status;
    if (status == b->status)
        (void)requests_capture(&l->f, b, answer);
}

void test_client_leaves_at_every_step_of_every_operation(void)
{
    struct leaving l = {.left = 0};
    CHECK(sem_init(&l.gate, 0, 0) == 0);
    requests_init(&l.f);
    l.counted = engine_count_new(engine_mem_new(&l.f.clock), false);
    requests_begin(&l.f, engine_fault_new(l.counted));
    for (size_t i = 0; i < BUDGETS_COUNT; i++) {
        uint64_t n = 1;
        while (n < STEPS_MAX && leave_at(&l, &BUDGETS[i], n))
            n += n < STEPS_EACH ? 1 : n / 2;
        if (n >= STEPS_MAX)
            requests_send(&l.f, &BUDGETS[i]);
        serve(&l, &BUDGETS[i]);
    }
    requests_end(&l.f);
    (void)sem_destroy(&l.gate);
    /* Many requests succeed as if no client had left; the others find effects of earlier requests.
     */
    CHECK(l.served > BUDGETS_COUNT / 4);
    CHECK(l.left > BUDGETS_COUNT * 3);
}
