/* SPDX-License-Identifier: Apache-2.0 */
/* The garbage collector. One gateway at a time runs it (a lease in the first shard). It removes
 * silent gateways, extents that no row names and no pin protects, and objects that dead gateways
 * have written and never used. It removes an object before its row, so that it finds the object
 * again after a crash. */
#include <stdlib.h>

#include "core/log.h"
#include "core/mem.h"
#include "engine/cluster/cluster_internal.h"

enum { GARBAGE_EACH = 256, GARBAGE_TURNS = 16, ORPHANS_EACH = 4 };

/* ---- the dead ---- */

static bool find_silent(struct cluster_engine *e, struct array *silent)
{
    for (unsigned i = 0; i < e->shards.count; i++) {
        struct conn *c = e->shards.all[i].beat_conn;
        conn_send(c, STMT_SILENT, NULL);
        if (err_is(conn_exchange(c)))
            return false;
        for (int row = 0; row < result_rows(c, 0); row++)
            array_number(silent, result_number(c, 0, row, 0));
    }
    return true;
}

/* Gateways that were silent for two minutes in any shard. That is longer than a machine is likely
 * to hang, because extents that such a gateway is writing are no longer protected afterwards. It is
 * declared dead in all shards before anything is removed, so that none of its transactions can hold
 * a removed extent. */
static bool bury_dead(struct cluster_engine *e, struct arena *arena)
{
    struct array silent = array_begin(arena, ARRAY_NUMBERS);
    struct params p = params_in(arena);
    int64_t dead = 0;
    if (!find_silent(e, &silent))
        return false;
    if (silent.count == 0)
        return true;
    param_array(&p, &silent);
    for (unsigned i = 0; i < e->shards.count; i++) {
        struct conn *c = e->shards.all[i].beat_conn;
        conn_send(c, STMT_DEAD, &p);
        if (err_is(conn_exchange(c)))
            return false;
        dead = result_number(c, 0, 0, 0) > dead ? result_number(c, 0, 0, 0) : dead;
    }
    if (dead > 0)
        log_line(LOG_WARN, "rows: %lld gateways were silent for too long and are taken for dead",
                 (long long)dead);
    return true;
}

/* ---- what no row names ---- */

struct names {
    uint64_t segments[EXTENT_NAMES_EACH];
    uint64_t places[EXTENT_NAMES_EACH];
    int64_t buckets[EXTENT_NAMES_EACH];
    /* Result of the other rows: another bucket names the object; not known yet. */
    bool named[EXTENT_NAMES_EACH], unclear[EXTENT_NAMES_EACH];
    size_t count;
};

static void put_names(const struct names *n, struct arena *arena, struct params *p)
{
    struct array segments = array_begin(arena, ARRAY_NUMBERS);
    struct array places = array_begin(arena, ARRAY_NUMBERS);
    for (size_t i = 0; i < n->count; i++) {
        array_number(&segments, (int64_t)n->segments[i]);
        array_number(&places, (int64_t)n->places[i]);
    }
    param_array(p, &segments);
    param_array(p, &places);
}

/* Looks for rows of other buckets. While a bucket moves, its rows are in two shards; extents that
 * depend on such a row are left for later. */
static bool look_in(const struct shard *shard, unsigned home, const struct params *p,
                    struct names *n)
{
    struct conn *c = shard->beat_conn;
    conn_send(c, STMT_GARBAGE_NAMED, p);
    if (err_is(conn_exchange(c)))
        return false;
    for (int i = 0; i < result_rows(c, 0); i++) {
        size_t at = (size_t)(result_number(c, 0, i, 0) - 1) % EXTENT_NAMES_EACH;
        bool own = result_number(c, 0, i, 1) == n->buckets[at];
        bool settled = result_number(c, 0, i, 2) == BUCKET_HERE;
        if (own && shard->number == home && settled)
            continue; /* the row itself */
        n->unclear[at] |= own || !settled;
        n->named[at] = true;
    }
    return true;
}

/* Makes two rounds. A moving row is in one shard or in the other, or in both, so a search of the
 * target, the source and the target again cannot miss it. */
static bool look_everywhere(struct cluster_engine *e, unsigned home, struct arena *arena,
                            struct names *n)
{
    struct params p = params_in(arena);
    put_names(n, arena, &p);
    for (unsigned i = 0; i < 2 * e->shards.count; i++)
        if (!look_in(&e->shards.all[i % e->shards.count], home, &p, n))
            return false;
    return true;
}

static void report_removal(int result)
{
    if (result < 0)
        log_line(LOG_WARN, "extents: objects cannot be removed now, error %d", -result);
}

/* Removes the objects that no other row names, and then the rows. */
static bool remove_clear(struct cluster_engine *e, struct conn *c, struct arena *arena,
                         struct names *n)
{
    struct names *objects = ARENA_NEW(arena, struct names);
    struct array segments = array_begin(arena, ARRAY_NUMBERS);
    struct array places = array_begin(arena, ARRAY_NUMBERS);
    struct array buckets = array_begin(arena, ARRAY_NUMBERS);
    objects->count = 0;
    for (size_t i = 0; i < n->count; i++) {
        if (n->unclear[i])
            continue;
        array_number(&segments, (int64_t)n->segments[i]);
        array_number(&places, (int64_t)n->places[i]);
        array_number(&buckets, n->buckets[i]);
        if (n->named[i])
            continue;
        objects->segments[objects->count] = n->segments[i];
        objects->places[objects->count++] = n->places[i];
    }
    int result =
        extents_remove_all(&e->extents, objects->segments, objects->places, objects->count);
    report_removal(result);
    struct params p = params_in(arena);
    param_array(&p, &segments);
    param_array(&p, &places);
    param_array(&p, &buckets);
    if (result != 0)
        return false;
    conn_send(c, STMT_GARBAGE_GONE, &p);
    return !err_is(conn_exchange(c));
}

/* How many rows were examined, and whether all could be removed. */
static size_t collect_some(struct cluster_engine *e, unsigned shard, struct arena *arena)
{
    struct conn *c = e->shards.all[shard].beat_conn;
    struct names *n = ARENA_NEW(arena, struct names);
    struct params p = params_in(arena);
    *n = (struct names){0};
    param_number(&p, GARBAGE_EACH);
    conn_send(c, STMT_GARBAGE, &p);
    if (err_is(conn_exchange(c)))
        return 0;
    for (int i = 0; i < result_rows(c, 0); i++) {
        n->segments[n->count] = (uint64_t)result_number(c, 0, i, 0);
        n->places[n->count] = (uint64_t)result_number(c, 0, i, 1);
        n->buckets[n->count++] = result_number(c, 0, i, 2);
    }
    if (n->count == 0 || !look_everywhere(e, shard, arena, n))
        return 0;
    return remove_clear(e, c, arena, n) ? n->count : 0;
}

/* ---- orphans ---- */

/* Finds the names of the range that no row of any shard uses; two rounds, as above. */
static bool orphans_of(struct cluster_engine *e, const struct params *range,
                       const uint64_t first[2], struct names *out)
{
    bool named[EXTENT_NAMES_EACH] = {false};
    for (unsigned k = 0; k < 2 * e->shards.count; k++) {
        struct conn *c = e->shards.all[k % e->shards.count].beat_conn;
        conn_send(c, STMT_ORPHAN_NAMES, range);
        if (err_is(conn_exchange(c)))
            return false;
        for (int i = 0; i < result_rows(c, 0); i++)
            named[((uint64_t)result_number(c, 0, i, 0) - first[1]) % EXTENT_NAMES_EACH] = true;
    }
    out->count = 0;
    for (uint64_t i = 0; i < EXTENT_NAMES_EACH; i++) {
        if (named[i])
            continue;
        out->segments[out->count] = first[0];
        out->places[out->count++] = first[1] + i;
    }
    return true;
}

static bool collect_range(struct cluster_engine *e, struct arena *arena, const uint64_t range[2])
{
    struct conn *c = e->shards.all[0].beat_conn;
    struct names *n = ARENA_NEW(arena, struct names);
    struct params p = params_in(arena);
    struct params gone = params_in(arena);
    param_number(&p, (int64_t)range[0]);
    param_number(&p, (int64_t)range[1]);
    param_number(&p, EXTENT_NAMES_EACH);
    param_number(&gone, (int64_t)range[0]);
    param_number(&gone, (int64_t)range[1]);
    if (!orphans_of(e, &p, range, n))
        return false;
    int result = extents_remove_all(&e->extents, n->segments, n->places, n->count);
    report_removal(result);
    if (result < 0)
        return false;
    conn_send(c, STMT_INTENT_GONE, &gone);
    return !err_is(conn_exchange(c));
}

static void collect_orphans(struct cluster_engine *e, struct arena *arena)
{
    struct conn *c = e->shards.all[0].beat_conn;
    uint64_t ranges[ORPHANS_EACH][2];
    struct params p = params_in(arena);
    param_number(&p, ORPHANS_EACH);
    conn_send(c, STMT_ORPHANS, &p);
    if (err_is(conn_exchange(c)))
        return;
    int count = result_rows(c, 0);
    for (int i = 0; i < count; i++) {
        ranges[i][0] = (uint64_t)result_number(c, 0, i, 0);
        ranges[i][1] = (uint64_t)result_number(c, 0, i, 1);
    }
    for (int i = 0; i < count && collect_range(e, arena, ranges[i]); i++) {
    }
}

bool collect_turn(struct cluster_engine *e)
{
    struct arena arena;
    size_t removed = 0;
    arena_init(&arena, SIZE_MAX);
    if (bury_dead(e, &arena)) {
        for (unsigned shard = 0; shard < e->shards.count; shard++) {
            size_t some = GARBAGE_EACH;
            for (unsigned i = 0; i < GARBAGE_TURNS && some == GARBAGE_EACH; i++) {
                some = collect_some(e, shard, &arena);
                removed += some;
                arena_reset(&arena);
            }
        }
        if (e->shards.all[0].beat_conn->fault == FAULT_NONE)
            collect_orphans(e, &arena);
    }
    arena_release(&arena);
    return removed > 0;
}
