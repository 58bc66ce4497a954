/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/body/digest.h"

#include <stdio.h>

#include "core/test.h"

enum { BODIES = 75, WAVES = 3 };

struct waiter {
    struct digest digest; /* first */
    struct bodies *bodies;
    char text[16];
    size_t length;
    unsigned char md5[MD5_BYTES];
};

struct bodies {
    struct loop_task task; /* first */
    struct loop *loop;
    struct digests *digests;
    struct waiter waiters[BODIES * WAVES];
    size_t begun;
    size_t waves;
    size_t ready;
};

static void begin_wave(struct bodies *b);

/* The first ready digest starts another wave, as the answer to one request starts the next on its
 * connection. */
static void is_ready(struct digest *digest)
{
    struct waiter *w = (struct waiter *)(void *)digest;
    unsigned char want[MD5_BYTES];
    struct md5 state;
    md5_init(&state);
    md5_update(&state, (struct str){w->text, w->length});
    md5_final(&state, want);
    CHECK(memcmp(w->md5, want, MD5_BYTES) == 0);
    if (w->bodies->ready++ % BODIES == 0 && w->bodies->waves < WAVES)
        begin_wave(w->bodies);
    if (w->bodies->ready == BODIES * WAVES)
        loop_stop(w->bodies->loop);
}

static void begin_wave(struct bodies *b)
{
    b->waves++;
    for (size_t i = 0; i < BODIES; i++) {
        struct waiter *w = &b->waiters[b->begun++];
        w->bodies = b;
        w->length = (size_t)snprintf(w->text, sizeof w->text, "body %zu", b->begun);
        w->digest = (struct digest){{{w->text, w->length}, w->md5}, is_ready};
        digests_add(b->digests, b->loop, &w->digest);
    }
}

static void begin(struct loop_task *task)
{
    begin_wave((struct bodies *)(void *)task);
}

void test_digests_are_ready_in_the_same_turn(void)
{
    struct loop *loops[2];
    CHECK_OK(loop_new(&loops[0]));
    CHECK_OK(loop_new(&loops[1]));
    static struct bodies b;
    b.loop = loops[1];
    b.digests = digests_new(loops, 2);
    b.task.run = begin;
    loop_post(b.loop, &b.task);
    loop_run(b.loop);
    CHECK_INT(b.ready, BODIES * WAVES);
    digests_free(b.digests);
    loop_free(loops[0]);
    loop_free(loops[1]);
}
