/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/count.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/wrap.h"

/* A row by partition and key. */
struct known_row {
    struct str partition;
    struct str key;
    struct known_row *next;
};

struct count_engine {
    struct wrap_engine wrap;
    bool remembers;
    _Atomic uint64_t trips;
    _Atomic uint64_t lent;
    pthread_mutex_t lock;
    struct arena arena;          /* of the rows below */
    struct known_row *in_memory; /* rows read or written with HINT_SOON */
};

/* The round trips of a transaction so far. */
struct count_txn {
    struct known_row *known; /* read or written */
    bool begun;              /* a message was sent to the rows' server */
};

static struct count_engine *count_of(struct wrap_engine *w)
{
    return (struct count_engine *)(void *)w;
}

static bool is_among(const struct known_row *rows, struct str partition, struct str key)
{
    for (; rows != NULL; rows = rows->next)
        if (str_eq(rows->key, key) && str_eq(rows->partition, partition))
            return true;
    return false;
}

static void add_row(struct known_row **rows, struct arena *a, struct str partition, struct str key)
{
    if (is_among(*rows, partition, key))
        return;
    struct known_row *row = ARENA_NEW(a, struct known_row);
    *row = (struct known_row){arena_copy(a, partition), arena_copy(a, key), *rows};
    *rows = row;
}

/* True if the engine has the row in memory. Notes that it has it from now on. */
static bool remembered(struct count_engine *c, struct str partition, struct str key, unsigned hints)
{
    if (!c->remembers || (hints & HINT_SOON) == 0)
        return false;
    pthread_mutex_lock(&c->lock);
    bool was = is_among(c->in_memory, partition, key);
    add_row(&c->in_memory, &c->arena, partition, key);
    pthread_mutex_unlock(&c->lock);
    return was;
}

static struct count_txn *count_txn_of(struct wrap_txn *t)
{
    if (t->own == NULL)
        t->own = ARENA_NEW(t->base.arena, struct count_txn);
    return t->own;
}

static void add_trip(struct wrap_txn *t)
{
    atomic_fetch_add(&count_of(t->engine)->trips, 1);
    count_txn_of(t)->begun = true;
}

static void count_read(struct wrap_txn *t, const struct engine_read *reads, size_t count)
{
    struct count_txn *own = count_txn_of(t);
    bool sent = false;
    for (size_t i = 0; i < count; i++) {
        const struct engine_read *r = &reads[i];
        struct str partition = str_given(r->partition) ? r->partition : t->partition;
        bool here = remembered(count_of(t->engine), partition, r->key, r->hints);
        sent |= !here && !is_among(own->known, partition, r->key);
        add_row(&own->known, t->base.arena, partition, r->key);
    }
    if (sent)
        add_trip(t);
}

static void count_wrote(struct wrap_txn *t, struct str key, unsigned hints)
{
    add_row(&count_txn_of(t)->known, t->base.arena, t->partition, key);
    (void)remembered(count_of(t->engine), t->partition, key, hints);
}

/* ---- cursors ---- */

static int compare(struct str partition_a, struct str key_a, struct str partition_b,
                   struct str key_b)
{
    int order = str_cmp(partition_a, partition_b);
    return order != 0 ? order : str_cmp(key_a, key_b);
}

static bool in_reach(const struct wrap_cursor *c)
{
    if (c->reach_end)
        return true;
    return c->base.valid && str_given(c->reach_key) &&
           compare(c->base.partition, c->base.key, c->reach_partition, c->reach_key) <= 0;
}

/* Computes how far a read-ahead reaches from the cursor's position. */
static void read_ahead(struct wrap_cursor *c)
{
    struct wrap_txn *t = c->txn;
    struct cursor *walk = NULL;
    c->reach_end = !c->base.valid;
    if (c->reach_end)
        return;
    struct err e = str_given(c->prefix) ? cursor_open_across(t->inner, c->prefix, c->base.partition,
                                                             c->base.key, &walk)
                                        : cursor_open_range(t->inner, c->base.key, c->to, &walk);
    for (unsigned i = 0; !err_is(e) && walk->valid && i < COUNT_CURSOR_ROWS; i++) {
        c->reach_partition = arena_copy(t->base.arena, walk->partition);
        c->reach_key = arena_copy(t->base.arena, walk->key);
        e = cursor_next(walk);
    }
    c->reach_end = !err_is(e) && !walk->valid;
    cursor_close(walk);
}

static void count_moved(struct wrap_cursor *c, bool backward)
{
    if (!backward && in_reach(c))
        return;
    add_trip(c->txn);
    c->reach_end = false;
    c->reach_key = STR_NONE;
    if (!backward)
        read_ahead(c);
}

/* ---- the rest ---- */

/* A row that came from memory alone must be confirmed. A commit confirms it without a further
 * round trip. */
static void count_ended(struct wrap_txn *t, struct err result)
{
    bool commits = t->wrote && !err_is(result);
    if (commits || !count_txn_of(t)->begun)
        add_trip(t);
}

static struct err count_before(struct wrap_engine *w, enum wrap_call call)
{
    if (call != WRAP_OTHER)
        atomic_fetch_add(&count_of(w)->trips, 1);
    return OK;
}

static void count_close(struct wrap_engine *w)
{
    struct count_engine *c = count_of(w);
    arena_release(&c->arena);
    pthread_mutex_destroy(&c->lock);
}

struct engine *engine_count_new(struct engine *inner, bool remembers)
{
    assert(inner != NULL);
    static const struct wrap_hooks hooks = {
        .before = count_before,
        .read = count_read,
        .wrote = count_wrote,
        .moved = count_moved,
        .ended = count_ended,
        .close = count_close,
        .remote = true,
    };
    struct count_engine *c = MEM_NEW(struct count_engine);
    c->remembers = remembers;
    pthread_mutex_init(&c->lock, NULL);
    arena_init(&c->arena, SIZE_MAX);
    c->wrap.lent = &c->lent;
    return wrap_engine_init(&c->wrap, inner, &hooks);
}

uint64_t engine_count_trips(struct engine *count)
{
    return atomic_load(&((struct count_engine *)(void *)count)->trips);
}

uint64_t engine_count_lent(struct engine *count)
{
    return atomic_load(&((struct count_engine *)(void *)count)->lent);
}
