/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes a commit: updates the caches and the state that views see. */
#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/local/local_internal.h"

/* Up to this many rows are inserted into the state in place while views wait: a few microseconds
 * for two rows each of 64 updates. */
enum { IN_PLACE_ROWS = 128 };

struct state *local_state(struct local_engine *e)
{
    pthread_mutex_lock(&e->publish_lock);
    struct state *s = state_get(e->published);
    pthread_mutex_unlock(&e->publish_lock);
    return s;
}

void publish_state(struct local_engine *e, struct state *state)
{
    assert(state != NULL);
    pthread_mutex_lock(&e->publish_lock);
    struct state *old = e->published;
    e->published = state;
    pthread_mutex_unlock(&e->publish_lock);
    state_put(old);
}

void publish_announce(struct local_engine *e, uint64_t commit)
{
    (void)row_index_fetch_saved(e->row_index);
    row_cache_announce(e->cache, commit);
    row_index_announce(e->row_index, commit);
}

/* ---- the rows ---- */

bool goes_to_journal(const struct row *row, struct str *value, struct str *large)
{
    struct str stored = row_value(row);
    *value = STR_NONE;
    if (stored.p[0] == VALUE_HERE) {
        *large = str_from(stored, 1);
        return large->n >= VALUE_LARGE_MIN;
    }
    return value_and_body_here(stored, value, large) && large->n >= BODY_LARGE_MIN;
}

static void batch_add_fresh(struct batch *b, struct row *stored, struct prepared p)
{
    if (b->fresh_count == b->fresh_capacity) {
        b->fresh_capacity = b->fresh_capacity == 0 ? 64 : b->fresh_capacity * 2;
        b->fresh = mem_realloc(b->fresh, b->fresh_capacity * sizeof(struct row *));
        b->prepared = mem_realloc(b->prepared, b->fresh_capacity * sizeof *b->prepared);
    }
    b->fresh[b->fresh_count] = stored;
    b->prepared[b->fresh_count++] = p;
}

struct publisher {
    struct local_engine *engine;
    size_t large; /* large values before this row */
};

static void prepare_row(void *arg, struct row *row)
{
    struct publisher *p = arg;
    struct local_engine *e = p->engine;
    struct prepared prepared = {.row = row, .hash = row_cache_hash(row_key(row))};
    struct str value = STR_NONE;
    struct str large;
    struct row *stored;
    if (!row->deleted && goes_to_journal(row, &value, &large)) {
        struct value_ref ref = journal_value_ref(&e->journal, p->large++);
        prepared.whole = journal_row_location(&ref, row->key_n, row->value_n - large.n);
        stored = value_row_in_journal(row_key(row), &ref, value);
        stored->born = row->born;
    } else {
        stored = row_get(row);
    }
    /* What follows a write usually reads the value alone: a large body is not cached yet. */
    if (row->hot)
        prepared.cached =
            row_cache_make(str_given(value) ? stored : row, prepared.hash, e->commit + 1);
    batch_add_fresh(&e->batch, stored, prepared);
}

void publish_prepare(struct local_engine *e)
{
    struct publisher p = {.engine = e};
    assert(e->batch.fresh_count == 0);
    tree_each(&e->batch.overlay, prepare_row, &p);
}

void publish_forget(struct batch *b)
{
    for (size_t i = 0; i < b->fresh_count; i++) {
        row_put(b->fresh[i]);
        if (b->prepared[i].cached != NULL)
            cached_row_put(b->prepared[i].cached);
    }
    b->fresh_count = 0;
}

/* Updates the caches before views can see the commit. Cached rows are rarely in the CPU cache,
 * so each is prefetched while the rows before it are processed. */
static void announce_rows(struct local_engine *e)
{
    enum { AHEAD = 4 };
    const struct batch *b = &e->batch;
    for (size_t i = 0; i < b->fresh_count; i++) {
        const struct prepared *p = &b->prepared[i];
        if (i + AHEAD < b->fresh_count) {
            row_cache_prefetch(e->cache, p[AHEAD].hash);
            row_index_prefetch(e->row_index, p[AHEAD].hash);
        }
        const struct row *row = p->row;
        if (p->cached != NULL) {
            row_cache_keep(e->cache, p->cached, e->commit);
            cached_row_put(p->cached);
        } else {
            row_cache_renew(e->cache, row_key(row), p->hash,
                            row->deleted ? STR_NONE : row_value(row));
        }
        if (p->whole.bytes > 0)
            row_index_put(e->row_index, p->hash, &p->whole);
    }
}

static void add_rows(struct local_engine *e, struct tree *filling)
{
    struct batch *b = &e->batch;
    if (filling->root == NULL) {
        filling->random = TREE_SEED;
        filling_start(e, filling, b);
    } else {
        for (size_t i = 0; i < b->fresh_count; i++)
            filling_add(e, filling, b->fresh[i], b->prepared[i].hash);
    }
    b->fresh_count = 0;
}

/* If nobody reads the state, it is changed in place: copying the tree path to each row would
 * take as long again as inserting it. New views wait meanwhile. */
static bool publish_in_place(struct local_engine *e)
{
    struct state *s = e->published;
    if (e->batch.fresh_count > IN_PLACE_ROWS)
        return false;
    pthread_mutex_lock(&e->publish_lock);
    bool alone = atomic_load_explicit(&s->refs, memory_order_acquire) == 1;
    if (alone) {
        add_rows(e, &s->filling);
        s->commit = e->commit;
    }
    pthread_mutex_unlock(&e->publish_lock);
    if (alone)
        state_renew_pin(s);
    return alone;
}

void publish_batch(struct local_engine *e)
{
    assert(e->batch.fresh_count > 0);
    e->commit++;
    publish_announce(e, e->commit);
    announce_rows(e);
    pins_advance(&e->readers, e->commit);
    if (!publish_in_place(e)) {
        struct tree filling = tree_get(&e->published->filling);
        add_rows(e, &filling);
        publish_state(e, state_after(e->published, filling, e->commit));
    }
    /* The reclaimer deletes the garbage rows from RocksDB, so they must be there first. */
    if (e->batch.dropped_count > 0)
        (void)fold_rows(e);
    pins_advance(&e->pins, e->commit);
    atomic_fetch_add(&e->commits, 1);
}
