/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/learn.h"

#include "engine/local/local_internal.h"

enum {
    MISSED_MIN = 32,
    MISSED_SHARE = 8, /* of the rows walked over the last time: a walk is to be worth it */
    TURN_ROWS = 1024, /* in a state of their own: walks are not to keep old states */
};

void learn_init(struct learner *l)
{
    atomic_init(&l->missed_max, MISSED_MIN);
}

void learn_release(struct learner *l)
{
    buf_release(&l->from);
    buf_release(&l->end);
}

void learn_missed(struct local_engine *e, struct str partition)
{
    struct learner *l = &e->learner;
    int idle = LEARN_IDLE;
    if (atomic_fetch_add_explicit(&l->missed, 1, memory_order_relaxed) <
            atomic_load_explicit(&l->missed_max, memory_order_relaxed) ||
        !atomic_compare_exchange_strong(&l->stage, &idle, LEARN_ASKED))
        return;
    buf_clear(&l->from);
    buf_put(&l->from, partition);
    buf_clear(&l->end);
    buf_put(&l->end, partition);
    l->round = false;
    l->walked = 0;
    atomic_store(&l->stage, LEARN_WALKING);
    reap_learn(e);
}

static void end_walk(struct learner *l)
{
    uint64_t worth = l->walked / MISSED_SHARE;
    atomic_store(&l->missed_max, worth < MISSED_MIN ? MISSED_MIN : worth);
    atomic_store(&l->missed, 0);
    atomic_store(&l->stage, LEARN_IDLE);
}

static void learn_row(struct local_engine *e, struct str key, struct str stored, uint64_t commit)
{
    struct row_place place;
    if (value_row_is_whole(key, stored, &place))
        row_places_offer_room(e->places, row_cache_hash(key), commit, &place);
}

/* Says whether all rows up to the end were seen. What a commit may have changed meanwhile is left
 * to the next turn, in its state. */
static bool walk_turn(struct local_engine *e, struct walk *walk, uint64_t commit)
{
    struct learner *l = &e->learner;
    struct str key;
    walk_seek_first(walk);
    for (int n = 0;; n++, l->walked++, walk_next(walk)) {
        if (err_is(walk_key(walk, &key)) || !str_given(key))
            return true; /* logged, and told to whoever reads there */
        if (n > 0 && (n == TURN_ROWS || !row_places_in_step(e->places, commit)))
            break;
        learn_row(e, key, walk_value(walk), commit);
    }
    buf_clear(&l->from);
    buf_put(&l->from, key);
    return false;
}

void learn_some(struct local_engine *e)
{
    static const char first[] = {SPACE_ROWS};
    static const char past[] = {SPACE_ROWS + 1};
    struct learner *l = &e->learner;
    if (row_places_fetch_saved(e->places)) {
        end_walk(l);
        return;
    }
    struct state *state = local_state(e);
    struct walk walk;
    walk_init_passing(&walk, state, buf_str(&l->from),
                      l->round ? buf_str(&l->end) : (struct str){past, 1});
    bool at_end = walk_turn(e, &walk, state->commit);
    walk_release(&walk);
    state_put(state);
    if (at_end && !l->round) {
        l->round = true;
        buf_clear(&l->from);
        buf_put(&l->from, (struct str){first, 1});
        at_end = false;
    }
    if (at_end || l->walked >= row_places_room(e->places))
        end_walk(l);
}
