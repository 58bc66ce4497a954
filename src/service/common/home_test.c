/* SPDX-License-Identifier: Apache-2.0 */
/* The lease of the open files and its fence, with gateways in one process that share an engine and
 * each have a separate clock. */
#include "service/common/home.h"

#include "core/test.h"
#include "engine/fault.h"
#include "engine/mem/mem.h"
#include "engine/wait.h"

enum { GATEWAYS = 3 };

struct gateway {
    struct world *world;
    struct store store;
    int64_t now_ms;
    int64_t look_ms; /* how long the store takes to answer its next look */
    unsigned asked;  /* how often the time was, in this turn */
    bool full;       /* something is left in its memory */
    bool fails_to_move_in;
    unsigned moved_in, moved_out, moved;
};

struct world {
    struct clock clock;
    struct engine *engine;
    struct gateway gateways[GATEWAYS];
    struct str dead; /* the identity of a process that has ended */
};

/* A turn asks for the time before its look, and then after it. */
static int64_t now_of(void *arg)
{
    struct gateway *g = arg;
    if (++g->asked == 2) {
        g->now_ms += g->look_ms;
        g->look_ms = 0;
    }
    return g->now_ms;
}

static bool is_dead(void *arg, struct str identity)
{
    return str_eq(identity, ((const struct gateway *)arg)->world->dead);
}

static bool is_empty(void *arg)
{
    return !((const struct gateway *)arg)->full;
}

static struct err move_in(void *arg)
{
    struct gateway *g = arg;
    g->moved_in++;
    return g->fails_to_move_in ? err_new(ERR_IO) : OK;
}

static void move_out(void *arg)
{
    ((struct gateway *)arg)->moved_out++;
}

static void moved(void *arg)
{
    ((struct gateway *)arg)->moved++;
}

static void world_begin(struct world *w)
{
    static const char *const ADDRESSES[GATEWAYS] = {"10.0.0.1:1", "10.0.0.2:2", "10.0.0.3:3"};
    static const struct str NAMES[GATEWAYS] = {STR_INIT("one"), STR_INIT("two"), STR_INIT("three")};
    *w = (struct world){0};
    clock_init_system(&w->clock);
    w->engine = engine_fault_new(engine_mem_new(&w->clock));
    for (size_t i = 0; i < GATEWAYS; i++) {
        struct gateway *g = &w->gateways[i];
        *g = (struct gateway){.world = w, .now_ms = (int64_t)(1000000 * (i + 1))};
        g->store = (struct store){.engine = w->engine, .clock = &w->clock};
        struct home_options options = {.store = &g->store,
                                       .lease = STR("g/files"),
                                       .prefix = STR("f/"),
                                       .mark = STR("O"),
                                       .hot = STR("c"),
                                       .address = ADDRESSES[i],
                                       .identity = NAMES[i],
                                       .may_own = true,
                                       .mono_ms = now_of,
                                       .is_dead = is_dead,
                                       .is_empty = is_empty,
                                       .move_in = move_in,
                                       .move_out = move_out,
                                       .moved = moved,
                                       .arg = g};
        CHECK_OK(home_new(&options, &g->store.home));
    }
}

static void world_end(struct world *w)
{
    for (size_t i = 0; i < GATEWAYS; i++)
        home_free(w->gateways[i].store.home);
    engine_close(w->engine);
}

static void turn(struct gateway *g)
{
    g->asked = 0;
    home_turn(g->store.home);
}

/* Advances the time for all; the gateways of the bits run their turns. */
static void pass(struct world *w, int64_t ms, unsigned who)
{
    for (int64_t t = 0; t < ms; t += HOME_TURN_MS)
        for (size_t i = 0; i < GATEWAYS; i++) {
            w->gateways[i].now_ms += HOME_TURN_MS;
            if ((who & 1U << i) != 0)
                turn(&w->gateways[i]);
        }
}

static bool holds(const struct gateway *g)
{
    return home_holds(g->store.home);
}

static struct home_where where(const struct gateway *g)
{
    struct home_where out;
    home_where(g->store.home, &out);
    return out;
}

static const struct str SHARE = STR_INIT("f/a/share");

static struct err put_x(struct txn *t, void *arg)
{
    return txn_put(t, STR("x"), *(const struct str *)arg);
}

static struct err write_as(struct gateway *g, bool strict, struct str value)
{
    struct home_guarded guarded = {
        .home = g->store.home, .partition = SHARE, .fn = put_x, .arg = &value, .strict = strict};
    return engine_update_wait(g->world->engine, SHARE, home_guard, &guarded);
}

static struct err mark(struct gateway *g)
{
    return engine_update_wait(g->world->engine, SHARE, home_mark, g->store.home);
}

static struct err do_nothing(struct txn *t, void *arg)
{
    (void)t;
    (void)arg;
    return OK;
}

static struct err read_as(struct gateway *g, bool strict)
{
    struct home_guarded guarded = {
        .home = g->store.home, .partition = SHARE, .fn = do_nothing, .strict = strict};
    return home_read(&guarded, &g->store, ENGINE_WAIT);
}

void test_home_is_the_first_gateways_and_the_others_know_where(void)
{
    struct world w;
    world_begin(&w);
    for (size_t i = 0; i < GATEWAYS; i++)
        turn(&w.gateways[i]);
    CHECK(holds(&w.gateways[0]));
    CHECK_INT(where(&w.gateways[0]).location, HOME_HERE);
    for (size_t i = 1; i < GATEWAYS; i++) {
        CHECK(!holds(&w.gateways[i]));
        CHECK_INT(where(&w.gateways[i]).location, HOME_THERE);
        CHECK_STR(str_of(where(&w.gateways[i]).address), STR("10.0.0.1:1"));
        CHECK(memcmp(home_secret(w.gateways[i].store.home), home_secret(w.gateways[0].store.home),
                     HOME_SECRET_BYTES) == 0);
    }
    /* As long as it lives, nobody else takes it. */
    pass(&w, 10 * HOME_LEASE_MS, 7);
    CHECK(holds(&w.gateways[0]));
    CHECK_INT(w.gateways[0].moved_in, 1);
    CHECK_INT(w.gateways[1].moved_in + w.gateways[2].moved_in, 0);
    world_end(&w);
}

void test_home_of_one_that_is_silent_goes_to_another_in_time(void)
{
    struct world w;
    world_begin(&w);
    pass(&w, HOME_TURN_MS, 7);
    pass(&w, HOME_LEASE_MS - HOME_TURN_MS, 6);
    CHECK(!holds(&w.gateways[1]) && !holds(&w.gateways[2]));
    CHECK(!holds(&w.gateways[0])); /* it stops trusting itself before anybody else may begin */
    pass(&w, 2 * HOME_TURN_MS, 6);
    CHECK(holds(&w.gateways[1]) != holds(&w.gateways[2]));
    CHECK(HOME_LEASE_MS + 2 * HOME_TURN_MS <= 15000);
    /* It comes back, and finds it gone. */
    turn(&w.gateways[0]);
    CHECK(!holds(&w.gateways[0]));
    CHECK_INT(w.gateways[0].moved_out, 1);
    turn(&w.gateways[0]);
    CHECK_INT(where(&w.gateways[0]).location, HOME_THERE);
    CHECK_INT(where(&w.gateways[0]).epoch, 2);
    world_end(&w);
}

void test_home_is_taken_at_once_when_it_was_given_back_or_its_process_has_ended(void)
{
    struct world w;
    world_begin(&w);
    pass(&w, HOME_TURN_MS, 7);
    home_stop(w.gateways[0].store.home);
    CHECK(!holds(&w.gateways[0]));
    turn(&w.gateways[1]);
    CHECK(holds(&w.gateways[1]));
    turn(&w.gateways[2]);
    CHECK(!holds(&w.gateways[2]));
    w.dead = STR("two");
    turn(&w.gateways[2]);
    CHECK(holds(&w.gateways[2]));
    CHECK_INT(where(&w.gateways[2]).epoch, 3);
    world_end(&w);
}

void test_home_is_not_taken_by_who_has_something_left_or_cannot_move_in(void)
{
    struct world w;
    world_begin(&w);
    w.gateways[0].full = true;
    turn(&w.gateways[0]);
    CHECK(!holds(&w.gateways[0]));
    w.gateways[0].full = false;
    w.gateways[0].fails_to_move_in = true;
    turn(&w.gateways[0]);
    CHECK(!holds(&w.gateways[0]));
    CHECK_INT(w.gateways[0].moved_out, 1);
    w.gateways[0].fails_to_move_in = false;
    turn(&w.gateways[0]);
    CHECK(holds(&w.gateways[0]));
    world_end(&w);
}

void test_home_check_lets_everybody_into_what_has_no_mark(void)
{
    struct world w;
    world_begin(&w);
    pass(&w, HOME_TURN_MS, 7);
    for (size_t i = 0; i < GATEWAYS; i++) {
        CHECK_OK(write_as(&w.gateways[i], false, STR("rest")));
        CHECK_OK(read_as(&w.gateways[i], false));
        CHECK_ERR(write_as(&w.gateways[i], true, STR("smb")), ERR_HOME_ELSEWHERE);
        CHECK_ERR(read_as(&w.gateways[i], true), ERR_HOME_ELSEWHERE);
    }
    CHECK_ERR(mark(&w.gateways[1]), ERR_HOME_ELSEWHERE);
    CHECK_OK(mark(&w.gateways[0]));
    for (unsigned strict = 0; strict < 2; strict++) {
        CHECK_OK(write_as(&w.gateways[0], strict != 0, STR("home")));
        CHECK_OK(read_as(&w.gateways[0], strict != 0));
        CHECK_ERR(write_as(&w.gateways[1], strict != 0, STR("other")), ERR_HOME_ELSEWHERE);
        CHECK_ERR(read_as(&w.gateways[2], strict != 0), ERR_HOME_ELSEWHERE);
    }
    world_end(&w);
}

/* Its clock stands still, so it still believes that it has the lease: only the mark stops it. */
void test_home_fences_off_who_does_not_know_that_it_has_lost(void)
{
    struct world w;
    world_begin(&w);
    pass(&w, HOME_TURN_MS, 7);
    CHECK_OK(mark(&w.gateways[0]));
    CHECK_OK(write_as(&w.gateways[0], true, STR("old")));
    int64_t frozen = w.gateways[0].now_ms;
    pass(&w, 2 * HOME_LEASE_MS, 6);
    w.gateways[0].now_ms = frozen;
    CHECK(holds(&w.gateways[0]));
    struct gateway *next = holds(&w.gateways[1]) ? &w.gateways[1] : &w.gateways[2];
    CHECK(holds(next));
    for (unsigned strict = 0; strict < 2; strict++) {
        CHECK_ERR(write_as(&w.gateways[0], strict != 0, STR("stale")), ERR_HOME_ELSEWHERE);
        CHECK_ERR(read_as(&w.gateways[0], strict != 0), ERR_HOME_ELSEWHERE);
        CHECK_OK(write_as(next, strict != 0, STR("new")));
    }
    CHECK_ERR(mark(&w.gateways[0]), ERR_HOME_ELSEWHERE);
    CHECK_OK(mark(next));
    world_end(&w);
}

/* Only the time stops it, before another gateway has taken over. */
void test_home_trusts_itself_for_less_than_the_lease(void)
{
    struct world w;
    world_begin(&w);
    pass(&w, HOME_TURN_MS, 1);
    CHECK_OK(mark(&w.gateways[0]));
    w.gateways[0].now_ms += HOME_VALID_MS;
    CHECK(!holds(&w.gateways[0]));
    CHECK(home_is_ours(w.gateways[0].store.home));
    CHECK_ERR(mark(&w.gateways[0]), ERR_HOME_ELSEWHERE);
    CHECK_INT(where(&w.gateways[0]).location, HOME_UNKNOWN);
    /* A transaction knows better: the mark is there. */
    CHECK_OK(write_as(&w.gateways[0], false, STR("x")));
    CHECK_OK(read_as(&w.gateways[0], true));
    /* Nobody has: it goes on with what it knows. */
    turn(&w.gateways[0]);
    CHECK(holds(&w.gateways[0]));
    CHECK_OK(write_as(&w.gateways[0], true, STR("x")));
    CHECK_INT(w.gateways[0].moved_out, 0);
    CHECK(HOME_VALID_MS < HOME_LEASE_MS);
    world_end(&w);
}

/* The store was unavailable, also for the home: nobody takes the lease before it could be
 * renewed. */
void test_home_does_not_count_the_time_that_the_store_took(void)
{
    struct world w;
    world_begin(&w);
    pass(&w, 2 * HOME_TURN_MS, 3);
    struct gateway *other = &w.gateways[1];
    w.gateways[0].now_ms += 3 * HOME_LEASE_MS;
    other->look_ms = 3 * HOME_LEASE_MS;
    turn(other);
    CHECK(!home_is_ours(other->store.home));
    turn(&w.gateways[0]);
    CHECK(holds(&w.gateways[0]));
    /* A home that is silent while the store answers loses it as ever. */
    pass(&w, HOME_LEASE_MS + 2 * HOME_TURN_MS, 2);
    CHECK(holds(other));
    CHECK(!holds(&w.gateways[0]));
    turn(&w.gateways[0]);
    CHECK(!home_is_ours(w.gateways[0].store.home));
    world_end(&w);
}

void test_home_counts_anew_after_an_error_of_the_store(void)
{
    struct world w;
    world_begin(&w);
    pass(&w, 2 * HOME_TURN_MS, 3);
    struct gateway *other = &w.gateways[1];
    for (size_t i = 0; i < GATEWAYS; i++)
        w.gateways[i].now_ms += 3 * HOME_LEASE_MS;
    engine_fault_arm(w.engine, 1, err_new(ERR_SERVER_BUSY));
    turn(other);
    CHECK(engine_fault_fired(w.engine));
    turn(other);
    CHECK(!home_is_ours(other->store.home));
    turn(&w.gateways[0]);
    CHECK(holds(&w.gateways[0]));
    world_end(&w);
}

void test_home_of_a_store_that_is_not_shared_is_here(void)
{
    CHECK(home_holds(NULL));
    CHECK(home_is_ours(NULL));
    struct home_where out;
    home_where(NULL, &out);
    CHECK_INT(out.location, HOME_HERE);
    CHECK_OK(home_check(NULL, NULL, SHARE, true));
}
