/* SPDX-License-Identifier: Apache-2.0 */
/* Random operations at random times, compared with a model that is a plain array: the messages
 * returned are those visible in the model, in its order; receipts, counts and sweeps agree. */
#include "service/queue/queue_fixture.h"

enum { MODEL_MAX = 400, MODEL_STEPS = TEST_TIMES(20000), GRAIN = 1 << 16 };

struct modelled {
    bool alive;
    struct queue_message m; /* as last handed out */
    int64_t visible;
};

struct model {
    struct fixture f;
    struct modelled items[MODEL_MAX];
    uint64_t seed;
};

/* Deterministic, so that a failure can be reproduced. */
static uint64_t draw(struct model *m, uint64_t below)
{
    m->seed = m->seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (m->seed >> 33) % below;
}

static struct modelled *model_find(struct model *m, const struct guid *id)
{
    for (int i = 0; i < MODEL_MAX; i++)
        if (m->items[i].alive && guid_eq(&m->items[i].m.id, id))
            return &m->items[i];
    return NULL;
}

static void model_expire(struct model *m)
{
    for (int i = 0; i < MODEL_MAX; i++)
        if (m->items[i].m.expires <= clock_now(&m->f.clock))
            m->items[i].alive = false;
}

static void step_put(struct model *m)
{
    struct modelled *item = &m->items[draw(m, MODEL_MAX)];
    if (item->alive)
        return;
    uint32_t visibility_s = draw(m, 3) == 0 ? (uint32_t)draw(m, 20) : 0;
    int64_t ttl_s = draw(m, 4) == 0 ? QUEUE_TTL_NEVER : visibility_s + 1 + (int64_t)draw(m, 200);
    item->m = fixture_put_for(&m->f, "text", visibility_s, ttl_s);
    item->visible = item->m.next_visible;
    item->alive = true;
}

/* The earliest time of a message that is visible and not yet returned in this get. */
static int64_t model_earliest(struct model *m, const bool *taken)
{
    int64_t earliest = INT64_MAX;
    for (int i = 0; i < MODEL_MAX; i++)
        if (m->items[i].alive && !taken[i] && m->items[i].visible < earliest)
            earliest = m->items[i].visible;
    return earliest <= clock_now(&m->f.clock) ? earliest : INT64_MAX;
}

static void step_look(struct model *m, bool get)
{
    bool taken[MODEL_MAX] = {false};
    unsigned count_max = 1 + (unsigned)draw(m, 32);
    uint32_t visibility_s = 1 + (uint32_t)draw(m, 40);
    struct queue_get_messages *found =
        get ? fixture_get(&m->f, count_max, visibility_s) : fixture_peek(&m->f, count_max);
    for (unsigned i = 0; i < found->count; i++) {
        struct queue_message *shown = &found->messages[i];
        struct modelled *item = model_find(m, &shown->id);
        CHECK(item != NULL && !taken[item - m->items]);
        CHECK(item->visible <= clock_now(&m->f.clock));
        /* In order, to within the grain of the v rows. */
        CHECK(item->visible <= model_earliest(m, taken) + GRAIN);
        taken[item - m->items] = true;
        CHECK_INT(shown->dequeue_count, item->m.dequeue_count + get);
        if (get)
            item->m = *shown;
    }
    if (found->count < count_max)
        CHECK_INT(model_earliest(m, taken), INT64_MAX);
    for (int i = 0; get && i < MODEL_MAX; i++)
        if (taken[i])
            m->items[i].visible = clock_now(&m->f.clock) + visibility_s * TICKS_PER_SECOND;
}

static void step_change(struct model *m, bool delete)
{
    struct modelled *item = &m->items[draw(m, MODEL_MAX)];
    bool stale = draw(m, 5) == 0;
    struct queue_change_message change = {
        .id = item->m.id, .receipt = item->m.receipt, .visibility_s = (uint32_t)draw(m, 30)};
    if (item->m.inserted == 0)
        return;
    if (stale)
        change.receipt.bytes[7] ^= 1;
    struct err error =
        fixture_update(&m->f, delete ? queue_delete_message : queue_update_message, &change);
    if (!item->alive) {
        CHECK_ERR(error, ERR_MESSAGE_NOT_FOUND);
        return;
    }
    CHECK_ERR(error, stale ? ERR_POP_RECEIPT_MISMATCH : ERR_OK);
    if (stale)
        return;
    item->alive = !delete;
    item->m.receipt = change.new_receipt;
    item->visible = change.next_visible;
}

static void step_check(struct model *m)
{
    uint64_t alive = 0;
    for (int i = 0; i < MODEL_MAX; i++)
        alive += m->items[i].alive;
    CHECK_INT(fixture_count(&m->f), alive);
    fixture_sweep(&m->f);
    CHECK_INT(fixture_count(&m->f), alive);
}

static void step(struct model *m)
{
    model_expire(m);
    switch (draw(m, 12)) {
    case 0:
    case 1:
    case 2:
    case 3:
        step_put(m);
        break;
    case 4:
    case 5:
        step_look(m, true);
        break;
    case 6:
        step_look(m, false);
        break;
    case 7:
        step_change(m, false);
        break;
    case 8:
    case 9:
        step_change(m, true);
        break;
    case 10:
        /* Often a little, so that messages share pages; now and then a lot. */
        clock_advance(&m->f.clock, (int64_t)draw(m, draw(m, 4) == 0 ? 9 * TICKS_PER_SECOND
                                                                    : TICKS_PER_SECOND / 50));
        break;
    default:
        if (draw(m, 10) == 0)
            step_check(m);
        break;
    }
}

static void run_model(uint64_t seed)
{
    static struct model m;
    memset(&m, 0, sizeof m);
    m.seed = seed;
    fixture_init(&m.f);
    for (int i = 0; i < MODEL_STEPS; i++) {
        step(&m);
        if (i % 4000 == 3999 && draw(&m, 2) == 0) {
            CHECK_OK(fixture_update(&m.f, queue_clear_messages, NULL));
            for (int k = 0; k < MODEL_MAX; k++)
                m.items[k].alive = false;
        }
    }
    fixture_seconds(&m.f, 1000);
    for (int i = 0; i < MODEL_MAX; i++)
        if (m.items[i].alive && m.items[i].m.expires == QUEUE_EXPIRES_NEVER)
            CHECK_OK(fixture_delete(&m.f, &m.items[i].m));
    fixture_sweep(&m.f);
    CHECK_INT(fixture_rows(&m.f), 2);
    fixture_release(&m.f);
}

void test_queue_model_1(void)
{
    run_model(1);
}

void test_queue_model_2(void)
{
    run_model(20240506);
}
