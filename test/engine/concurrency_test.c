/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: serialisable updates, views of one state, orderly shutdown. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/wait.h"
#include "subject.h"

enum { ACCOUNTS = 8, START_EACH = 1000, MOVERS = 4, MOVES_EACH = 300, WATCHERS = 2, LONG = 3000 };

static struct str account_key(char text[8], uint32_t number)
{
    return (struct str){text, (size_t)snprintf(text, 8, "a%u", number)};
}

static struct err read_balance(struct txn *t, uint32_t account, int64_t *balance)
{
    char text[8];
    struct str value;
    TRY(txn_get(t, account_key(text, account), &value));
    CHECK(str_to_i64(str_cut(&value, ' '), balance));
    return OK;
}

/* Every other account's row is long: an engine may keep such values elsewhere. */
static struct err write_balance(struct txn *t, uint32_t account, int64_t balance)
{
    char text[8];
    char number[LONG];
    int n = snprintf(number, sizeof number, "%lld%*s", (long long)balance,
                     account % 2 == 0 ? 0 : LONG / 2, "");
    return txn_put(t, account_key(text, account), (struct str){number, (size_t)n});
}

static struct err open_accounts(struct txn *t, void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < ACCOUNTS; i++)
        TRY(write_balance(t, i, START_EACH));
    return OK;
}

struct move {
    uint32_t from;
    uint32_t to;
    bool fail;
};

static struct err move_money(struct txn *t, void *arg)
{
    const struct move *m = arg;
    int64_t from;
    int64_t to;
    TRY(read_balance(t, m->from, &from));
    TRY(write_balance(t, m->from, from - 1));
    TRY(read_balance(t, m->to, &to));
    TRY(write_balance(t, m->to, to + 1));
    return m->fail ? err_new(ERR_CONDITION_NOT_MET) : OK;
}

static struct err sum_by_get(struct txn *t, void *arg)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < ACCOUNTS; i++) {
        int64_t balance;
        TRY(read_balance(t, i, &balance));
        sum += balance;
    }
    *(int64_t *)arg = sum;
    return OK;
}

static struct err sum_by_cursor(struct txn *t, void *arg)
{
    int64_t sum = 0;
    struct cursor *c;
    TRY(cursor_open(t, STR("a"), &c));
    while (c->valid) {
        int64_t balance;
        struct str value = c->value;
        CHECK(str_to_i64(str_cut(&value, ' '), &balance));
        sum += balance;
        TRY(cursor_next(c));
    }
    cursor_close(c);
    *(int64_t *)arg = sum;
    return OK;
}

struct bank {
    struct engine *engine;
    atomic_bool over;
    atomic_uint seed;
};

static void *mover(void *arg)
{
    struct bank *bank = arg;
    uint32_t random = atomic_fetch_add(&bank->seed, 1) * 7919;
    for (int i = 0; i < MOVES_EACH; i++) {
        random = random * 1664525 + 1013904223;
        struct move m = {(random >> 8) % ACCOUNTS, (random >> 16) % ACCOUNTS, (random >> 28) == 0};
        struct err e = engine_update_wait(bank->engine, STR("bank"), move_money, &m);
        CHECK_ERR(e, m.fail ? ERR_CONDITION_NOT_MET : ERR_OK);
    }
    return NULL;
}

static void *watcher(void *arg)
{
    struct bank *bank = arg;
    while (!atomic_load(&bank->over)) {
        int64_t by_get = 0;
        int64_t by_cursor = 0;
        CHECK_OK(engine_view(bank->engine, STR("bank"), ENGINE_WAIT, sum_by_get, &by_get));
        CHECK_OK(engine_view(bank->engine, STR("bank"), ENGINE_WAIT, sum_by_cursor, &by_cursor));
        CHECK_INT(by_get, ACCOUNTS * START_EACH);
        CHECK_INT(by_cursor, ACCOUNTS * START_EACH);
    }
    return NULL;
}

/* Rule F3: a view beside updates sees one committed state. */
ENGINE_CASE(rule_F3_views_see_one_state_beside_updates)
{
    struct bank bank = {.engine = s->engine};
    update_ok(s, STR("bank"), open_accounts, NULL);
    pthread_t movers[MOVERS];
    pthread_t watchers[WATCHERS];
    for (int i = 0; i < WATCHERS; i++)
        CHECK_INT(pthread_create(&watchers[i], NULL, watcher, &bank), 0);
    for (int i = 0; i < MOVERS; i++)
        CHECK_INT(pthread_create(&movers[i], NULL, mover, &bank), 0);
    for (int i = 0; i < MOVERS; i++)
        pthread_join(movers[i], NULL);
    atomic_store(&bank.over, true);
    for (int i = 0; i < WATCHERS; i++)
        pthread_join(watchers[i], NULL);
    subject_reopen(s);
    int64_t sum = 0;
    view_ok(s, STR("bank"), sum_by_get, &sum);
    CHECK_INT(sum, ACCOUNTS * START_EACH);
}

/* ---- a view is not disturbed, and disturbs nobody ---- */

struct held_view {
    struct subject *subject;
    int64_t before;
    int64_t after;
    int64_t runs; /* each run moves money, because an engine may run the function again */
};

static struct err read_around_an_update(struct txn *t, void *arg)
{
    struct held_view *v = arg;
    struct move m = {.from = 0, .to = 1};
    char text[24];
    TRY(read_balance(t, 0, &v->before));
    v->runs++;
    /* An update comes to its end while the view is open: neither waits for the other. */
    CHECK_OK(engine_update_wait(v->subject->engine, STR("bank"), move_money, &m));
    TRY(read_balance(t, 0, &v->after));
    CHECK_INT(v->before, v->after);
    int64_t other;
    TRY(read_balance(t, 1, &other));
    CHECK_INT(v->before + other, 2 * START_EACH);
    struct str hot;
    TRY(get_hot(t, STR("a0"), &hot));
    (void)snprintf(text, sizeof text, "%lld", (long long)v->before);
    CHECK_STR(hot, str_of(text));
    return OK;
}

ENGINE_CASE(rule_F3_views_neither_wait_nor_change)
{
    update_ok(s, STR("bank"), open_accounts, NULL);
    struct held_view v = {.subject = s};
    view_ok(s, STR("bank"), read_around_an_update, &v);
    char text[24];
    (void)snprintf(text, sizeof text, "%lld", (long long)(START_EACH - v.runs));
    CHECK_STR(get_row(s, STR("bank"), STR("a0")), str_of(text));
}

/* ---- many in flight, and stopping ---- */

enum { FLIGHT = 500 };

struct flight {
    struct engine_update update; /* first */
    atomic_uint *landed;
    struct str key;
    char text[8];
};

static struct err add_row(struct txn *t, void *arg)
{
    const struct flight *f = arg;
    return txn_put(t, f->key, STR("there"));
}

static void flight_done(struct engine_update *u)
{
    struct flight *f = (struct flight *)(void *)u;
    atomic_fetch_add(f->landed, 1);
}

static struct flight *launch(struct subject *s, atomic_uint *landed, enum engine_ack ack)
{
    struct flight *flights = mem_calloc(FLIGHT, sizeof *flights);
    for (uint32_t i = 0; i < FLIGHT; i++) {
        struct flight *f = &flights[i];
        f->key = account_key(f->text, i);
        f->landed = landed;
        f->update = (struct engine_update){
            .partition = STR("p"), .fn = add_row, .arg = f, .ack = ack, .done = flight_done};
        engine_submit(s->engine, &f->update);
    }
    return flights;
}

static void check_all_there(struct subject *s)
{
    char text[8];
    for (uint32_t i = 0; i < FLIGHT; i++)
        CHECK_STR(get_row(s, STR("p"), account_key(text, i)), STR("there"));
}

ENGINE_CASE(updates_in_flight_are_finished_by_close)
{
    atomic_uint landed = 0;
    struct flight *flights = launch(s, &landed, ENGINE_DURABLE);
    engine_close(s->engine);
    CHECK_INT(atomic_load(&landed), FLIGHT);
    for (uint32_t i = 0; i < FLIGHT; i++)
        CHECK_OK(flights[i].update.result);
    s->engine = s->kind->open(s);
    if (s->kind->persistent)
        check_all_there(s);
    free(flights);
}

/* Blocks the committer until it is opened. */
struct gate {
    struct engine_update update;
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool open;
};

static struct err wait_at_gate(struct txn *t, void *arg)
{
    (void)t;
    struct gate *g = arg;
    pthread_mutex_lock(&g->lock);
    while (!g->open)
        pthread_cond_wait(&g->opened, &g->lock);
    pthread_mutex_unlock(&g->lock);
    return OK;
}

static void gate_done(struct engine_update *u)
{
    (void)u;
}

static void gate_close(struct gate *g, struct engine *e)
{
    *g = (struct gate){.lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER};
    g->update = (struct engine_update){
        .partition = STR("p"), .fn = wait_at_gate, .arg = g, .done = gate_done};
    engine_submit(e, &g->update);
}

static void gate_open(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->open = true;
    pthread_cond_signal(&g->opened);
    pthread_mutex_unlock(&g->lock);
}

/* All updates queued behind the gate share a commit; the gate and the flush may have separate
 * ones. */
ENGINE_CASE(updates_share_commits)
{
    struct engine_usage before;
    struct engine_usage after;
    engine_usage(s->engine, &before);
    atomic_uint landed = 0;
    struct gate gate;
    gate_close(&gate, s->engine);
    struct flight *flights = launch(s, &landed, ENGINE_DURABLE);
    gate_open(&gate);
    CHECK_OK(engine_flush(s->engine));
    CHECK_INT(atomic_load(&landed), FLIGHT);
    engine_usage(s->engine, &after);
    CHECK(after.updates - before.updates >= FLIGHT);
    size_t most = s->kind->batch_max == 0 ? 1 : FLIGHT / s->kind->batch_max + 1;
    CHECK(after.commits - before.commits <= most + 2);
    check_all_there(s);
    free(flights);
}

enum { SCRIBBLE_KEYS = 6, SCRIBBLES = 60, SCRIBBLE_WRITES = 5 };

/* Writes rows, some of them twice, and fails or not. */
struct scribble {
    struct engine_update update; /* first */
    bool fails;
    struct {
        uint32_t key;
        bool deletes;
        char value;
    } writes[SCRIBBLE_WRITES];
    char wanted[SCRIBBLE_KEYS]; /* the expected rows before it: each row's value, or 0 */
    bool misled;                /* its last run has found other rows */
};

/* A run may find any state if it does not count because the function runs again. */
static struct err check_scribbles(struct txn *t, struct scribble *s)
{
    s->misled = false;
    for (uint32_t i = 0; i < SCRIBBLE_KEYS; i++) {
        char text[8];
        struct str value;
        TRY(txn_get(t, account_key(text, i), &value));
        char found = value.n == 0 ? 0 : value.p[0];
        s->misled |= found != s->wanted[i];
    }
    return OK;
}

static struct err do_scribble(struct txn *t, void *arg)
{
    struct scribble *s = arg;
    TRY(check_scribbles(t, s));
    for (size_t i = 0; i < SCRIBBLE_WRITES; i++) {
        char text[8];
        struct str key = account_key(text, s->writes[i].key);
        TRY(s->writes[i].deletes ? txn_del(t, key)
                                 : txn_put(t, key, (struct str){&s->writes[i].value, 1}));
    }
    return s->fails ? err_new(ERR_CONDITION_NOT_MET) : OK;
}

/* Draws the writes at random and updates `rows` to the state after them. */
static void plan_scribble(struct scribble *s, char rows[SCRIBBLE_KEYS], uint32_t *random)
{
    memcpy(s->wanted, rows, SCRIBBLE_KEYS);
    s->fails = (*random >> 16) % 2 == 0;
    for (size_t i = 0; i < SCRIBBLE_WRITES; i++) {
        *random = *random * 1664525 + 1013904223;
        s->writes[i].key = (*random >> 16) % SCRIBBLE_KEYS;
        s->writes[i].deletes = (*random >> 28) % 3 == 0;
        s->writes[i].value = (char)('a' + (*random >> 20) % 26);
        if (!s->fails)
            rows[s->writes[i].key] = s->writes[i].deletes ? 0 : s->writes[i].value;
    }
}

/* Each sees the effects of those before it, except failed ones. */
ENGINE_CASE(updates_that_fail_leave_nothing_to_those_of_their_commit)
{
    static struct scribble scribbles[SCRIBBLES];
    char rows[SCRIBBLE_KEYS] = {0};
    char text[8];
    uint32_t random = 99;
    struct gate gate;
    gate_close(&gate, s->engine);
    for (size_t i = 0; i < SCRIBBLES; i++) {
        plan_scribble(&scribbles[i], rows, &random);
        scribbles[i].update = (struct engine_update){
            .partition = STR("p"), .fn = do_scribble, .arg = &scribbles[i], .done = gate_done};
        engine_submit(s->engine, &scribbles[i].update);
    }
    gate_open(&gate);
    CHECK_OK(engine_flush(s->engine));
    for (size_t i = 0; i < SCRIBBLES; i++) {
        CHECK_INT(scribbles[i].update.result.code, scribbles[i].fails ? ERR_CONDITION_NOT_MET : 0);
        CHECK(!scribbles[i].misled);
    }
    for (uint32_t i = 0; i < SCRIBBLE_KEYS; i++) {
        struct str wanted = {&rows[i], rows[i] != 0};
        struct str value = get_row(s, STR("p"), account_key(text, i));
        CHECK_STR(value, wanted);
        CHECK(str_given(value) == (rows[i] != 0));
    }
}

ENGINE_CASE(updates_visible_then_flushed)
{
    atomic_uint landed = 0;
    struct flight *flights = launch(s, &landed, ENGINE_VISIBLE);
    CHECK_OK(engine_flush(s->engine));
    CHECK_INT(atomic_load(&landed), FLIGHT);
    check_all_there(s);
    subject_reopen(s);
    if (s->kind->persistent)
        check_all_there(s);
    free(flights);
}

/* The submitting thread sometimes acts as the committer while other threads submit updates. */
ENGINE_CASE(updates_submitted_alone)
{
    atomic_uint landed = 0;
    struct flight *flights = launch(s, &landed, ENGINE_DURABLE);
    struct flight *alone = mem_calloc(FLIGHT, sizeof *alone);
    for (uint32_t i = 0; i < FLIGHT; i++) {
        struct flight *f = &alone[i];
        f->key = account_key(f->text, FLIGHT + i);
        f->landed = &landed;
        f->update = (struct engine_update){.partition = STR("q"),
                                           .fn = add_row,
                                           .arg = f,
                                           .hints = HINT_ALONE,
                                           .done = flight_done};
        engine_submit(s->engine, &f->update);
    }
    CHECK_OK(engine_flush(s->engine));
    CHECK_INT(atomic_load(&landed), 2 * FLIGHT);
    subject_reopen(s);
    if (s->kind->persistent) {
        char text[8];
        check_all_there(s);
        for (uint32_t i = 0; i < FLIGHT; i++)
            CHECK_STR(get_row(s, STR("q"), account_key(text, FLIGHT + i)), STR("there"));
    }
    free(alone);
    free(flights);
}

struct chain {
    struct engine_update update; /* first */
    struct engine *engine;
    int left;
    atomic_bool ended;
};

static struct err count_up(struct txn *t, void *arg)
{
    (void)arg;
    struct str value;
    int64_t number = 0;
    TRY(txn_get(t, STR("count"), &value));
    if (str_given(value))
        CHECK(str_to_i64(value, &number));
    char text[24];
    int n = snprintf(text, sizeof text, "%lld", (long long)number + 1);
    return txn_put(t, STR("count"), (struct str){text, (size_t)n});
}

static void chain_done(struct engine_update *u)
{
    struct chain *c = (struct chain *)(void *)u;
    if (--c->left > 0)
        engine_submit(c->engine, u);
    else
        atomic_store(&c->ended, true);
}

ENGINE_CASE(updates_submitted_from_done)
{
    struct chain c = {.engine = s->engine, .left = 20};
    c.update = (struct engine_update){.partition = STR("p"), .fn = count_up, .done = chain_done};
    engine_submit(s->engine, &c.update);
    while (!atomic_load(&c.ended))
        CHECK_OK(engine_flush(s->engine));
    CHECK_STR(get_row(s, STR("p"), STR("count")), STR("20"));
}

static void *late_submitter(void *arg)
{
    struct chain *c = arg;
    engine_submit(c->engine, &c->update);
    return NULL;
}

static atomic_uint *stop_counter;

static struct err submit_while_closing(struct txn *t, void *arg)
{
    struct chain *c = arg;
    (void)t;
    /* Runs on the committer while the engine is being closed. */
    atomic_fetch_add(stop_counter, 1);
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, late_submitter, c), 0);
    pthread_join(thread, NULL);
    return OK;
}

static void late_done(struct engine_update *u)
{
    CHECK(u->result.code == ERR_STOPPING || u->result.code == ERR_OK);
    atomic_fetch_add(stop_counter, 1);
}

ENGINE_CASE(updates_submitted_while_closing_end_too)
{
    atomic_uint ended = 0;
    stop_counter = &ended;
    struct chain late = {.engine = s->engine};
    late.update = (struct engine_update){.partition = STR("p"), .fn = count_up, .done = late_done};
    struct engine_update first = {
        .partition = STR("p"), .fn = submit_while_closing, .arg = &late, .done = late_done};
    engine_submit(s->engine, &first);
    engine_close(s->engine);
    CHECK_INT(atomic_load(&ended), 3);
    s->engine = s->kind->open(s);
}
