/* SPDX-License-Identifier: Apache-2.0 */
/* Several gateways on one store: two engines in this process. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/cluster/cluster.h"
#include "engine/wait.h"
#include "subject.h"

enum { GATEWAYS = 2, THREADS = 4, EACH = 40 };

struct gateways {
    struct subject s[GATEWAYS];
};

static void gateways_open(struct gateways *g)
{
    for (int i = 0; i < GATEWAYS; i++) {
        g->s[i] = (struct subject){.kind = &SUBJECT_CLUSTER};
        clock_init_system(&g->s[i].clock);
        arena_init(&g->s[i].arena, SIZE_MAX);
        g->s[i].engine = g->s[i].kind->open(&g->s[i]);
    }
}

static void gateways_close(struct gateways *g)
{
    for (int i = 0; i < GATEWAYS; i++) {
        engine_close(g->s[i].engine);
        arena_release(&g->s[i].arena);
        clock_release(&g->s[i].clock);
    }
    SUBJECT_CLUSTER.end();
}

/* Each gateway caches rows that the other one changes. */
void test_on_cluster_a_write_by_one_gateway_is_seen_by_the_other(void)
{
    struct gateways g;
    char text[16];
    gateways_open(&g);
    for (uint32_t i = 0; i < 60; i++) {
        struct subject *writer = &g.s[i / 3 % GATEWAYS];
        struct subject *reader = &g.s[(i / 3 + 1) % GATEWAYS];
        struct str value = number_key(text, i);
        put_row(writer, STR("p"), STR("k"), value);
        CHECK_STR(get_row(reader, STR("p"), STR("k")), value);
        CHECK_STR(get_row(writer, STR("p"), STR("k")), value);
    }
    gateways_close(&g);
}

struct counting {
    struct subject *s;
    int64_t stamps[EACH];
    int64_t last;
};

static struct err count_up(struct txn *t, void *arg)
{
    struct counting *c = arg;
    struct str value;
    int64_t number = 0;
    char line[24];
    TRY(txn_get(t, STR("count"), &value));
    if (str_given(value))
        CHECK(str_to_i64(value, &number));
    int n = snprintf(line, sizeof line, "%lld", (long long)number + 1);
    c->last = txn_stamp(t);
    return txn_put(t, STR("count"), (struct str){line, (size_t)n});
}

static void *count_thread(void *arg)
{
    struct counting *c = arg;
    for (int i = 0; i < EACH; i++) {
        CHECK_OK(engine_update_wait(c->s->engine, STR("p"), count_up, c));
        c->stamps[i] = c->last;
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* No update is lost, and no stamp is used twice. */
void test_on_cluster_gateways_count_together(void)
{
    struct gateways g;
    static struct counting counting[THREADS];
    static int64_t all[THREADS * EACH];
    pthread_t threads[THREADS];
    char want[16];
    gateways_open(&g);
    for (int i = 0; i < THREADS; i++) {
        counting[i].s = &g.s[i % GATEWAYS];
        CHECK_INT(pthread_create(&threads[i], NULL, count_thread, &counting[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    (void)snprintf(want, sizeof want, "%d", THREADS * EACH);
    CHECK_STR(get_row(&g.s[0], STR("p"), STR("count")), str_of(want));
    for (int i = 0; i < THREADS; i++) {
        for (int k = 0; k < EACH; k++) {
            CHECK(k == 0 || counting[i].stamps[k] > counting[i].stamps[k - 1]);
            all[i * EACH + k] = counting[i].stamps[k];
        }
    }
    qsort(all, THREADS * EACH, sizeof all[0], by_value);
    for (int i = 1; i < THREADS * EACH; i++)
        CHECK(all[i] > all[i - 1]);
    gateways_close(&g);
}

static struct err fails_unless_absent(struct txn *t, void *arg)
{
    struct str value;
    (void)arg;
    TRY(txn_get(t, STR("k"), &value));
    return str_given(value) ? err_new(ERR_CONDITION_NOT_MET) : OK;
}

/* A refusal based on cached rows is confirmed before it is returned. */
void test_on_cluster_a_refusal_knows_of_the_other_gateway(void)
{
    struct gateways g;
    gateways_open(&g);
    for (int i = 0; i < 6; i++) {
        put_row(&g.s[0], STR("p"), STR("k"), STR("there"));
        CHECK_ERR(engine_update_wait(g.s[0].engine, STR("p"), fails_unless_absent, NULL),
                  ERR_CONDITION_NOT_MET);
        del_row(&g.s[1], STR("p"), STR("k"));
        CHECK_OK(engine_update_wait(g.s[0].engine, STR("p"), fails_unless_absent, NULL));
    }
    gateways_close(&g);
}

/* An extent dropped by one gateway stays as long as the other may be sending it. */
void test_on_cluster_a_pin_holds_across_gateways(void)
{
    struct gateways g;
    gateways_open(&g);
    struct extent x = write_extent(g.s[0].engine, 100000, 6);
    adopt_extent(&g.s[0], &x);
    struct engine_pin *pin = engine_pin(g.s[1].engine);
    drop_extent(&g.s[0], &x);
    for (int i = 0; i < 30; i++) { /* beats of both pass */
        put_row(&g.s[i % GATEWAYS], STR("p"), STR("k"), STR("more"));
        test_nap(__FILE__, __LINE__, "beats", 0);
        test_nap(__FILE__, __LINE__, "beats", 0);
        test_nap(__FILE__, __LINE__, "beats", 0);
        test_nap(__FILE__, __LINE__, "beats", 0);
    }
    struct engine_usage usage;
    engine_usage(g.s[0].engine, &usage);
    CHECK(usage.segment_bytes >= 100000);
    check_extent(g.s[1].engine, &x, 6);
    engine_unpin(g.s[1].engine, pin);
    wait_for_bytes(g.s[0].engine, 0);
    gateways_close(&g);
}
