/* SPDX-License-Identifier: Apache-2.0 */
/* Does the head of a queue stay cheap? CPU per put, get and delete of the service over the local
 * engine, 64 in flight: on a queue after many cycles, and with many messages waiting, each
 * alternating with a fresh queue in a separate store, because the machine's speed varies more than
 * the results.
 *
 *     bench_queue_head [CYCLES [WAITING]]      (default 200000 and 100000) */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/test.h"
#include "engine/local/local.h"
#include "engine/wait.h"
#include "service/queue/queue.h"

enum { IN_FLIGHT = 64, MEASURED = 51200, TURN = 6400 };

struct slot {
    struct engine_update update;
    struct bench *bench;
    struct arena arena;
    struct queue_put_message put;
    struct queue_get_messages get;
    struct queue_change_message change;
};

struct bench {
    struct clock clock;
    struct store store;
    struct str partition;
    struct arena arena;
    struct slot slots[IN_FLIGHT];
    pthread_mutex_t lock;
    pthread_cond_t ended;
    int running;
};

static void stop(const char *what, struct err error)
{
    (void)fprintf(stderr, "%s: error %d, cause %d\n", what, error.code, error.cause);
    exit(1);
}

static void slot_done(struct engine_update *u)
{
    struct slot *slot = (struct slot *)(void *)u;
    struct bench *b = slot->bench;
    (void)pthread_mutex_lock(&b->lock);
    if (--b->running == 0)
        (void)pthread_cond_signal(&b->ended);
    (void)pthread_mutex_unlock(&b->lock);
}

enum kind { PUT, GET, DELETE };

static void submit(struct bench *b, struct slot *slot, enum kind kind)
{
    slot->update =
        (struct engine_update){.partition = b->partition, .ack = ENGINE_DURABLE, .done = slot_done};
    if (kind == PUT) {
        static char text[1000];
        memset(text, 'x', sizeof text);
        slot->put =
            (struct queue_put_message){.text = {text, sizeof text}, .ttl_s = QUEUE_TTL_DEFAULT_S};
        slot->update.fn = queue_put_message;
        slot->update.arg = &slot->put;
    } else if (kind == GET) {
        arena_reset(&slot->arena);
        slot->get = (struct queue_get_messages){
            .arena = &slot->arena, .count_max = 1, .visibility_s = QUEUE_VISIBILITY_DEFAULT_S};
        slot->update.fn = queue_get_messages;
        slot->update.arg = &slot->get;
    } else {
        slot->change = (struct queue_change_message){.id = slot->get.messages[0].id,
                                                     .receipt = slot->get.messages[0].receipt};
        slot->update.fn = queue_delete_message;
        slot->update.arg = &slot->change;
    }
    engine_submit(b->store.engine, &slot->update);
}

/* Starts one operation in each slot and waits for all. */
static void round_of(struct bench *b, enum kind kind)
{
    b->running = IN_FLIGHT;
    for (int i = 0; i < IN_FLIGHT; i++)
        submit(b, &b->slots[i], kind);
    (void)pthread_mutex_lock(&b->lock);
    while (b->running > 0)
        (void)pthread_cond_wait(&b->ended, &b->lock);
    (void)pthread_mutex_unlock(&b->lock);
    for (int i = 0; i < IN_FLIGHT; i++) {
        if (err_is(b->slots[i].update.result))
            stop("operation", b->slots[i].update.result);
        if (kind == GET && b->slots[i].get.count != 1)
            stop("get found nothing", OK);
    }
}

static double cpu_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

struct cost {
    double us[3];
    int messages;
};

static void run_cycles(struct bench *b, int count, struct cost *cost)
{
    for (int done = 0; done < count; done += IN_FLIGHT) {
        for (int kind = PUT; kind <= DELETE; kind++) {
            double before = cpu_us();
            round_of(b, (enum kind)kind);
            cost->us[kind] += cpu_us() - before;
        }
    }
    cost->messages += count;
}

static void tell(const char *title, const struct cost *c)
{
    printf("%-34s put %5.2f  get %5.2f  delete %5.2f us of CPU\n", title, c->us[PUT] / c->messages,
           c->us[GET] / c->messages, c->us[DELETE] / c->messages);
}

static void measure(struct bench *fresh, struct bench *worn, const char *title)
{
    struct cost of_fresh = {.messages = 0};
    struct cost of_worn = {.messages = 0};
    for (int done = 0; done < MEASURED; done += TURN) {
        run_cycles(fresh, TURN, &of_fresh);
        run_cycles(worn, TURN, &of_worn);
    }
    tell("fresh queue", &of_fresh);
    tell(title, &of_worn);
    printf("%-34s put %5.2f  get %5.2f  delete %5.2f\n", "times as much",
           of_worn.us[PUT] / of_fresh.us[PUT], of_worn.us[GET] / of_fresh.us[GET],
           of_worn.us[DELETE] / of_fresh.us[DELETE]);
    (void)fflush(stdout);
}

static void begin(struct bench *b, const char *name)
{
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s/%s", test_folder(), name);
    clock_init_system(&b->clock);
    arena_init(&b->arena, SIZE_MAX);
    struct engine_local_options options = {.folder = folder, .clock = &b->clock};
    struct err error = engine_local_open(&options, &b->store.engine);
    if (err_is(error))
        stop(folder, error);
    b->store.clock = &b->clock;
    b->partition = queue_partition(&b->arena, STR("account"), STR("queue"));
    (void)pthread_mutex_init(&b->lock, NULL);
    (void)pthread_cond_init(&b->ended, NULL);
    for (int i = 0; i < IN_FLIGHT; i++) {
        b->slots[i].bench = b;
        arena_init(&b->slots[i].arena, SIZE_MAX);
    }
    struct queue_create create = {STR_NONE, false};
    error = engine_update_wait(b->store.engine, b->partition, queue_create, &create);
    if (err_is(error))
        stop("create", error);
}

int main(int argc, char **argv)
{
    uint64_t cycles = 200000;
    uint64_t waiting = 100000;
    char title[64];
    static struct bench fresh;
    static struct bench worn;
    if ((argc > 1 && !str_to_u64(str_of(argv[1]), &cycles)) ||
        (argc > 2 && !str_to_u64(str_of(argv[2]), &waiting))) {
        (void)fprintf(stderr, "usage: bench_queue_head [CYCLES [WAITING]]\n");
        return 2;
    }
    begin(&fresh, "fresh");
    begin(&worn, "worn");
    measure(&fresh, &worn, "another");
    for (uint64_t done = 0; done < cycles; done += IN_FLIGHT)
        for (int kind = PUT; kind <= DELETE; kind++)
            round_of(&worn, (enum kind)kind);
    (void)snprintf(title, sizeof title, "after %llu cycles", (unsigned long long)cycles);
    measure(&fresh, &worn, title);
    for (uint64_t done = 0; done < waiting; done += IN_FLIGHT)
        round_of(&worn, PUT);
    (void)snprintf(title, sizeof title, "and with %llu waiting", (unsigned long long)waiting);
    for (int i = 0; i < 3; i++)
        measure(&fresh, &worn, title);
    engine_close(worn.store.engine);
    engine_close(fresh.store.engine);
    return 0;
}
