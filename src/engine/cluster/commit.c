/* SPDX-License-Identifier: Apache-2.0 */
/* The end of an update transaction: all writes, the counts of extents and COMMIT are sent in one
 * round trip.
 *
 * A connection may be lost during COMMIT. So each connection has its own row, the slot, and each
 * transaction starts by setting the slot to a new id, on condition that it still has the last one.
 * To find the outcome of a lost transaction, another connection sets the slot to an id that no
 * transaction expects. This waits until the lost transaction has ended, and finds its id if it was
 * committed. If it was not, it never will be, even if its statements are still in flight. */
#include <stdlib.h>
#include <time.h>

#include "engine/cluster/cluster_internal.h"

/* ---- rows ---- */

struct rows_out {
    struct batch *batch;
    struct array put_keys, values, bodies, del_keys, logged;
    size_t partition_n;
};

static void put_written(void *arg, struct row *row)
{
    struct rows_out *out = arg;
    struct str key = str_from(row_key(row), out->partition_n);
    if (out->batch->logged)
        array_bytes(&out->logged, key);
    if (row->deleted) {
        array_bytes(&out->del_keys, key);
        return;
    }
    array_bytes(&out->put_keys, key);
    array_bytes(&out->values, row_value(row));
    array_bytes(&out->bodies, row_body(row));
}

/* Logs for the mover of the bucket: the partition, whose stamp has changed, and the rows. */
static void log_rows(struct batch *b, struct rows_out *out)
{
    struct params p = params_in(&b->arena);
    param_number(&p, b->bucket);
    param_bytes(&p, b->partition);
    param_array(&p, &out->logged);
    conn_send(b->conn, STMT_LOG_ROWS, &p);
}

static void send_rows(struct batch *b)
{
    struct arena *arena = &b->arena;
    struct rowkey name;
    rowkey_init(&name, arena, b->partition);
    struct rows_out out = {.batch = b,
                           .put_keys = array_begin(arena, ARRAY_BYTES),
                           .values = array_begin(arena, ARRAY_BYTES),
                           .bodies = array_begin(arena, ARRAY_BYTES),
                           .del_keys = array_begin(arena, ARRAY_BYTES),
                           .logged = array_begin(arena, ARRAY_BYTES),
                           .partition_n = name.partition_n};
    tree_each(&b->written, put_written, &out);
    if (out.put_keys.count > 0) {
        struct params p = params_in(arena);
        param_bytes(&p, b->partition);
        param_array(&p, &out.put_keys);
        param_array(&p, &out.values);
        param_array(&p, &out.bodies);
        conn_send(b->conn, STMT_PUT, &p);
    }
    if (out.del_keys.count > 0) {
        struct params p = params_in(arena);
        param_bytes(&p, b->partition);
        param_array(&p, &out.del_keys);
        conn_send(b->conn, STMT_DEL, &p);
    }
    if (b->logged)
        log_rows(b, &out);
}

/* ---- extents ---- */

/* The sum of all changes of one extent in the batch. */
struct extent_sum {
    struct extent extent;
    bool adopted;
    int64_t change; /* with the one of the adoption */
    bool elsewhere; /* another shard names it */
};

static int by_extent(const void *a, const void *b)
{
    const struct extent_delta *x = a;
    const struct extent_delta *y = b;
    return extent_order(&x->extent, &y->extent);
}

static bool same_extent(const struct extent *a, const struct extent *b)
{
    return a->segment == b->segment && a->offset == b->offset && a->length == b->length &&
           a->check == b->check;
}

/* Sorted by position, so that two transactions lock counts in the same order. */
static struct err sum_extents(struct batch *b, struct extent_sum **sums, size_t *count)
{
    size_t n = b->deltas.n / sizeof(struct extent_delta);
    struct extent_delta *deltas = ARENA_ARRAY(&b->arena, struct extent_delta, n + 1);
    if (n > 0)
        memcpy(deltas, b->deltas.p, b->deltas.n);
    qsort(deltas, n, sizeof *deltas, by_extent);
    *sums = ARENA_ARRAY(&b->arena, struct extent_sum, n + 1);
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        struct extent_sum *last = *count == 0 ? NULL : &(*sums)[*count - 1];
        if (last == NULL || by_extent(&deltas[i - 1], &deltas[i]) != 0) {
            last = &(*sums)[(*count)++];
            last->extent = deltas[i].extent;
        }
        bool adopts = deltas[i].change == EXTENT_ADOPT;
        if (!same_extent(&last->extent, &deltas[i].extent) || (adopts && last->adopted))
            return err_new(ERR_CORRUPT);
        last->adopted |= adopts;
        last->change += deltas[i].change == EXTENT_DROP ? -1 : 1;
    }
    return OK;
}

struct extents_out {
    struct array segments, offsets, lengths, checks, counts;
};

static struct extents_out extents_out_begin(struct arena *arena)
{
    return (struct extents_out){
        array_begin(arena, ARRAY_NUMBERS), array_begin(arena, ARRAY_NUMBERS),
        array_begin(arena, ARRAY_NUMBERS), array_begin(arena, ARRAY_NUMBERS),
        array_begin(arena, ARRAY_NUMBERS)};
}

static void extents_out_put(struct extents_out *out, const struct extent_sum *sum)
{
    array_number(&out->segments, (int64_t)sum->extent.segment);
    array_number(&out->offsets, (int64_t)sum->extent.offset);
    array_number(&out->lengths, sum->extent.length);
    array_number(&out->checks, sum->extent.check);
    array_number(&out->counts, sum->change);
}

static void extents_out_params(struct extents_out *out, struct params *p)
{
    param_array(p, &out->segments);
    param_array(p, &out->offsets);
    param_array(p, &out->lengths);
    param_array(p, &out->checks);
    param_array(p, &out->counts);
}

/* Nearly always just one gateway: this one. */
static void send_adoptions(struct batch *b, const struct extent_sum *sums, size_t count)
{
    struct arena *arena = &b->arena;
    struct extents_out out = extents_out_begin(arena);
    struct array gateways = array_begin(arena, ARRAY_NUMBERS);
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        if (!sums[i].adopted)
            continue;
        extents_out_put(&out, &sums[i]);
        if (sums[i].extent.segment != last)
            array_number(&gateways, (int64_t)sums[i].extent.segment);
        last = sums[i].extent.segment;
    }
    if (out.segments.count == 0)
        return;
    struct params p = params_in(arena);
    extents_out_params(&out, &p);
    int64_t gateway_count = gateways.count;
    param_array(&p, &gateways);
    param_number(&p, gateway_count);
    param_number(&p, b->bucket);
    b->adoptions = conn_next(b->conn);
    conn_send(b->conn, STMT_EXTENT_ADD, &p);
}

static void log_extents(struct batch *b, const struct extent_sum *sums, size_t count)
{
    struct array segments = array_begin(&b->arena, ARRAY_NUMBERS);
    struct array offsets = array_begin(&b->arena, ARRAY_NUMBERS);
    for (size_t i = 0; i < count; i++) {
        array_number(&segments, (int64_t)sums[i].extent.segment);
        array_number(&offsets, (int64_t)sums[i].extent.offset);
    }
    struct params p = params_in(&b->arena);
    param_number(&p, b->bucket);
    param_array(&p, &segments);
    param_array(&p, &offsets);
    conn_send(b->conn, STMT_LOG_EXTENTS, &p);
}

/* ---- extents that other shards name ---- */

/* The extents that are held and not adopted, for a query to a shard. */
static struct params held_params(struct batch *b, const struct extent_sum *sums, size_t count,
                                 size_t *held)
{
    struct extents_out out = extents_out_begin(&b->arena);
    struct params p = params_in(&b->arena);
    for (size_t i = 0; i < count; i++)
        if (!sums[i].adopted && sums[i].change > 0)
            extents_out_put(&out, &sums[i]);
    *held = out.segments.count;
    param_array(&p, &out.segments);
    param_array(&p, &out.offsets);
    param_array(&p, &out.lengths);
    param_array(&p, &out.checks);
    return p;
}

struct held {
    struct extent_sum *sums;
    size_t count;
};

static void mark_elsewhere(const struct held *h, uint64_t segment, uint64_t offset)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->sums[i].extent.segment == segment && h->sums[i].extent.offset == offset)
            h->sums[i].elsewhere = true;
}

static struct err ask_lives(struct batch *b, struct shard *shard, const struct params *p,
                            const struct held *h)
{
    struct conn *c;
    TRY(conn_pool_take(&shard->views, b->deadline, &c));
    conn_send(c, STMT_EXTENT_LIVES, p);
    struct err error = conn_exchange(c);
    for (int i = 0; !err_is(error) && i < result_rows(c, 0); i++)
        mark_elsewhere(h, (uint64_t)result_number(c, 0, i, 0), (uint64_t)result_number(c, 0, i, 1));
    conn_pool_give(&shard->views, c);
    return error;
}

/* A copy between partitions holds what its source names, which may be in another shard; the
 * batch's pin keeps it until the commit. The query is made twice, because the bucket may be moving:
 * a query of the new shard and then of the old one may find it in neither. */
static struct err find_elsewhere(struct batch *b, struct extent_sum *sums, size_t count)
{
    size_t held;
    struct shards *shards = &b->engine->shards;
    struct params p = held_params(b, sums, count, &held);
    struct held h = {sums, count};
    if (held == 0 || shards->count == 1)
        return OK;
    for (unsigned i = 0; i < 2 * shards->count; i++) {
        struct shard *shard = &shards->all[i % shards->count];
        if (shard != b->shard)
            TRY(ask_lives(b, shard, &p, &h));
    }
    return OK;
}

static void send_counts(struct batch *b, const struct extent_sum *sums, size_t count)
{
    struct extents_out out = extents_out_begin(&b->arena);
    struct array elsewhere = array_begin(&b->arena, ARRAY_NUMBERS);
    for (size_t i = 0; i < count; i++) {
        if (sums[i].adopted || sums[i].change == 0)
            continue;
        extents_out_put(&out, &sums[i]);
        array_number(&elsewhere, sums[i].elsewhere);
    }
    if (out.segments.count == 0)
        return;
    struct params p = params_in(&b->arena);
    int64_t changed = out.segments.count;
    extents_out_params(&out, &p);
    param_number(&p, changed);
    param_number(&p, b->bucket);
    param_array(&p, &elsewhere);
    param_number(&p, atomic_load(&b->engine->gateway));
    conn_send(b->conn, STMT_EXTENT_CHANGE, &p);
}

/* ---- the commit ---- */

void batch_committed(struct batch *b)
{
    bool dropped = false;
    size_t count = b->deltas.n / sizeof(struct extent_delta);
    for (size_t i = 0; i < count; i++) {
        struct extent_delta delta;
        memcpy(&delta, b->deltas.p + i * sizeof delta, sizeof delta);
        if (delta.change == EXTENT_ADOPT) {
            extents_adopted(&b->engine->extents, &delta.extent);
            atomic_fetch_add(&b->engine->adopted_extents, 1);
            atomic_fetch_add(&b->engine->adopted_bytes, delta.extent.length);
        }
        dropped |= delta.change == EXTENT_DROP;
    }
    if (dropped)
        beat_soon(b->engine);
    atomic_fetch_add(&b->engine->commit_count, 1);
}

/* Returns the error of a failed commit. The adoptions fail if this gateway was taken for dead after
 * it had written the extents: the client sends them again. */
static struct err failed(struct batch *b, struct err error)
{
    b->failed = true;
    b->fault = b->conn->fault;
    bool dead = b->fault == FAULT_REQUIRE && b->adoptions != 0 && b->conn->failed == b->adoptions;
    return dead ? err_new(ERR_SERVER_BUSY) : error;
}

struct err batch_commit(struct batch *b)
{
    struct extent_sum *sums;
    size_t count;
    if (b->written.root == NULL && b->deltas.n == 0)
        return OK; /* rolls back the transaction, if there is one */
    TRY(sum_extents(b, &sums, &count));
    /* Not while the partition is locked: RADOS may take long. */
    struct err unwritten;
    if (extents_state(&b->engine->extents, buf_str(&b->deltas), &unwritten) != FLIGHT_DONE)
        return err_new(ERR_WOULD_BLOCK);
    TRY(find_elsewhere(b, sums, count));
    TRY(batch_conn(b));
    unsigned lock = b->begun ? 0 : 2;
    b->adoptions = 0;
    if (!b->begun)
        batch_send_begin(b, STMT_LOCK_AT);
    send_rows(b);
    send_adoptions(b, sums, count);
    send_counts(b, sums, count);
    if (b->logged && count > 0)
        log_extents(b, sums, count);
    conn_send(b->conn, STMT_COMMIT, NULL);
    b->in_commit = true;
    struct err error = conn_exchange(b->conn);
    if (err_is(error))
        return failed(b, error);
    if (lock != 0) {
        cluster_saw_xmin(b->engine, b->shard, result_number(b->conn, lock, 0, 2));
        if (result_number(b->conn, lock, 0, 1) != b->known_at)
            rowset_forget(b->set); /* nobody has used it */
    }
    b->conn->commit_id++;
    b->begun = false;
    b->committed = true;
    batch_committed(b);
    return OK;
}

struct err batch_resolve(struct batch *b, int64_t slot, int64_t commit_id, bool *done)
{
    struct conn_pool *pool = &b->shard->updates;
    char room[256];
    struct arena arena;
    bool known = false;
    arena_init_in(&arena, SIZE_MAX, room, sizeof room);
    while (!known && clock_mono_ms() < b->deadline) {
        struct conn *c;
        struct params p = params_in(&arena);
        param_number(&p, slot);
        if (err_is(conn_pool_take(pool, b->deadline, &c)))
            break;
        conn_send(c, STMT_SLOT_FENCE, &p);
        struct err error = conn_exchange(c);
        if (!err_is(error) && result_rows(c, 0) == 1) {
            *done = result_number(c, 0, 0, 0) == commit_id;
            known = true;
        }
        bool gone =
            !err_is(error) && !known; /* removed with the gateway, which was declared dead */
        conn_pool_give(pool, c);
        if (gone)
            break;
    }
    arena_release(&arena);
    return known ? OK : err_new(ERR_UNKNOWN_OUTCOME);
}
