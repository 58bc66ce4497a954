/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/warmup.h"

#include "engine/local/local_internal.h"

enum {
    MISSED_MIN = 32,
    MISSED_SHARE = 8, /* part of the rows of the last scan: misses needed before the next scan is
                       * worthwhile */
    TURN_ROWS = 1024, /* rows per step, each in a fresh state, so that a scan does not hold old
                       * states */
};

void warmup_init(struct warmup *l)
{
    atomic_init(&l->missed_max, MISSED_MIN);
}

void warmup_release(struct warmup *l)
{
    buf_release(&l->from);
    buf_release(&l->end);
}

void warmup_missed(struct local_engine *e, struct str partition)
{
    struct warmup *l = &e->warmup;
    int idle = WARMUP_IDLE;
    if (atomic_fetch_add_explicit(&l->missed, 1, memory_order_relaxed) <
            atomic_load_explicit(&l->missed_max, memory_order_relaxed) ||
        !atomic_compare_exchange_strong(&l->stage, &idle, WARMUP_ASKED))
        return;
    buf_clear(&l->from);
    buf_put(&l->from, partition);
    buf_clear(&l->end);
    buf_put(&l->end, partition);
    l->round = false;
    l->walked = 0;
    atomic_store(&l->stage, WARMUP_WALKING);
    reclaim_warmup(e);
}

static void end_walk(struct warmup *l)
{
    uint64_t worth = l->walked / MISSED_SHARE;
    atomic_store(&l->missed_max, worth < MISSED_MIN ? MISSED_MIN : worth);
    atomic_store(&l->missed, 0);
    atomic_store(&l->stage, WARMUP_IDLE);
}

static void warmup_row(struct local_engine *e, struct str key, struct str stored, uint64_t commit)
{
    struct row_location location;
    if (value_row_is_whole(key, stored, &location))
        row_index_offer_room(e->row_index, row_cache_hash(key), commit, &location);
}

/* Returns true if all rows up to the end were seen. Rows that a commit may have changed
 * meanwhile are left to the next step. */
static bool walk_turn(struct local_engine *e, struct walk *walk, uint64_t commit)
{
    struct warmup *l = &e->warmup;
    struct str key;
    walk_seek_first(walk);
    for (int n = 0;; n++, l->walked++, walk_next(walk)) {
        if (err_is(walk_key(walk, &key)) || !str_given(key))
            return true; /* logged; a later read reports it */
        if (n > 0 && (n == TURN_ROWS || !row_index_in_step(e->row_index, commit)))
            break;
        warmup_row(e, key, walk_value(walk), commit);
    }
    buf_clear(&l->from);
    buf_put(&l->from, key);
    return false;
}

void warmup_some(struct local_engine *e)
{
    static const char first[] = {SPACE_ROWS};
    static const char past[] = {SPACE_ROWS + 1};
    struct warmup *l = &e->warmup;
    if (row_index_fetch_saved(e->row_index)) {
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
    if (at_end || l->walked >= row_index_room(e->row_index))
        end_walk(l);
}
