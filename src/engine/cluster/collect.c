/* SPDX-License-Identifier: Apache-2.0 */
/* The collector, which one gateway is at a time (a lease in the database): removes gateways that
 * are silent, extents that no row names and no pin protects, and objects that gateways which are
 * gone have written and never put to use. An object goes before its row, so that what is left after
 * a crash is found again. */
#include <stdlib.h>

#include "core/log.h"
#include "core/mem.h"
#include "engine/cluster/cluster_internal.h"

enum { GARBAGE_EACH = 256, GARBAGE_TURNS = 16, ORPHANS_EACH = 4 };

/* Silent for two minutes: longer than a machine is likely to hang, because the extents that such a
 * gateway is sending are no longer protected then. */
static bool bury_dead(struct conn *c)
{
    conn_send(c, STMT_DEAD, NULL);
    if (err_is(conn_exchange(c)))
        return false;
    int64_t dead = result_number(c, 0, 0, 0);
    if (dead > 0)
        log_line(LOG_WARN, "rows: %lld gateways were silent for too long and are taken for dead",
                 (long long)dead);
    return true;
}

struct names {
    uint64_t segments[EXTENT_NAMES_EACH];
    uint64_t places[EXTENT_NAMES_EACH];
    size_t count;
};

static bool forget_rows(struct conn *c, const struct names *n, struct arena *arena)
{
    struct array segments = array_begin(arena, ARRAY_NUMBERS);
    struct array places = array_begin(arena, ARRAY_NUMBERS);
    for (size_t i = 0; i < n->count; i++) {
        array_number(&segments, (int64_t)n->segments[i]);
        array_number(&places, (int64_t)n->places[i]);
    }
    struct params p = params_in(arena);
    param_array(&p, &segments);
    param_array(&p, &places);
    conn_send(c, STMT_GARBAGE_GONE, &p);
    return !err_is(conn_exchange(c));
}

static void report_removal(int result)
{
    if (result < 0)
        log_line(LOG_WARN, "extents: objects cannot be removed now, error %d", -result);
}

/* How many were removed. */
static size_t collect_some(struct cluster_engine *e, struct conn *c, struct arena *arena)
{
    struct names *n = ARENA_NEW(arena, struct names);
    struct params p = params_in(arena);
    param_number(&p, GARBAGE_EACH);
    conn_send(c, STMT_GARBAGE, &p);
    if (err_is(conn_exchange(c)))
        return 0;
    for (int i = 0; i < result_rows(c, 0); i++) {
        n->segments[n->count] = (uint64_t)result_number(c, 0, i, 0);
        n->places[n->count++] = (uint64_t)result_number(c, 0, i, 1);
    }
    if (n->count == 0)
        return 0;
    int result = extents_remove_all(&e->extents, n->segments, n->places, n->count);
    report_removal(result);
    return result == 0 && forget_rows(c, n, arena) ? n->count : 0;
}

/* ---- orphans ---- */

/* Those of the range that no row names. */
static bool orphans_of(struct conn *c, struct params *range, uint64_t gateway, uint64_t first,
                       struct names *out)
{
    bool named[EXTENT_NAMES_EACH] = {false};
    conn_send(c, STMT_ORPHAN_NAMES, range);
    if (err_is(conn_exchange(c)))
        return false;
    for (int i = 0; i < result_rows(c, 0); i++)
        named[((uint64_t)result_number(c, 0, i, 0) - first) % EXTENT_NAMES_EACH] = true;
    out->count = 0;
    for (uint64_t i = 0; i < EXTENT_NAMES_EACH; i++) {
        if (named[i])
            continue;
        out->segments[out->count] = gateway;
        out->places[out->count++] = first + i;
    }
    return true;
}

static bool collect_range(struct cluster_engine *e, struct conn *c, struct arena *arena,
                          const uint64_t range[2])
{
    struct names *n = ARENA_NEW(arena, struct names);
    struct params p = params_in(arena);
    struct params gone = params_in(arena);
    param_number(&p, (int64_t)range[0]);
    param_number(&p, (int64_t)range[1]);
    param_number(&p, EXTENT_NAMES_EACH);
    param_number(&gone, (int64_t)range[0]);
    param_number(&gone, (int64_t)range[1]);
    if (!orphans_of(c, &p, range[0], range[1], n))
        return false;
    int result = extents_remove_all(&e->extents, n->segments, n->places, n->count);
    report_removal(result);
    if (result < 0)
        return false;
    conn_send(c, STMT_INTENT_GONE, &gone);
    return !err_is(conn_exchange(c));
}

static void collect_orphans(struct cluster_engine *e, struct conn *c, struct arena *arena)
{
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
    for (int i = 0; i < count && collect_range(e, c, arena, ranges[i]); i++) {
    }
}

bool collect_turn(struct cluster_engine *e, struct conn *c)
{
    struct arena arena;
    size_t removed = 0;
    arena_init(&arena, SIZE_MAX);
    if (bury_dead(c)) {
        size_t some = GARBAGE_EACH;
        for (unsigned i = 0; i < GARBAGE_TURNS && some == GARBAGE_EACH; i++) {
            some = collect_some(e, c, &arena);
            removed += some;
            arena_reset(&arena);
        }
        if (c->fault == FAULT_NONE)
            collect_orphans(e, c, &arena);
    }
    arena_release(&arena);
    return removed > 0;
}
