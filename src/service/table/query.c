/* SPDX-License-Identifier: Apache-2.0 */
/* Query Entities: one scan over the partitions of a table, from position to position within the
 * filter's bounds, with the filter's program run over each row in them. */
#include <assert.h>

#include "service/common/name.h"
#include "service/table/entity.h"
#include "service/table/table_internal.h"

enum {
    /* A seek costs as much as a few steps, so a near row is reached by stepping. */
    QUERY_NEAR_STEPS = 8,
    QUERY_ROWS_PER_LOOK_AT_CLOCK = 256,
    QUERY_BUDGET_BYTES = 1 << 20, /* of rows, where there is a budget */
};

struct query_run {
    bool limited; /* by the query's budget */
    struct entity_query *query;
    struct arena *arena; /* the transaction's */
    struct cursor *scan;
    struct str prefix; /* of all the table's partitions */
    char id[TABLE_ID_BYTES];
    struct bounds bounds;
    const struct key_box *box; /* the current box of the scan, if any */
    struct key_position start; /* in key form */
    struct str end_pk, end_rk; /* the SAS's, in key form */
    struct buf partition;      /* where to go */
    struct buf key;
    struct buf scratch;
    unsigned count;
    size_t bytes; /* of the rows that passed */
    size_t looked_bytes;
    int64_t deadline_ms;
    bool done;
};

/* ---- moving ---- */

static bool is_behind(const struct query_run *run)
{
    int partition = str_cmp(run->scan->partition, buf_str(&run->partition));
    if (partition != 0)
        return partition < 0;
    return str_cmp(run->scan->key, buf_str(&run->key)) < 0;
}

static void set_target(struct query_run *run, const struct key_position *to)
{
    buf_clear(&run->partition);
    buf_put(&run->partition, run->prefix);
    buf_put(&run->partition, to->pk);
    buf_clear(&run->key);
    buf_put(&run->key, (struct str){run->id, sizeof run->id});
    buf_put(&run->key, to->rk);
}

/* Moves the scan forward to the first row at or past the position. */
static struct err go_to(struct query_run *run, const struct key_position *to)
{
    set_target(run, to);
    for (unsigned i = 0; i < QUERY_NEAR_STEPS; i++) {
        if (!run->scan->valid || !is_behind(run))
            return OK;
        TRY(cursor_next(run->scan));
    }
    if (run->scan->valid && is_behind(run))
        return cursor_seek_across(run->scan, buf_str(&run->partition), buf_str(&run->key));
    return OK;
}

/* Moves to the first position from `at` on that the bounds allow. */
static struct err go_on_from(struct query_run *run, const struct key_position *at)
{
    struct key_position next;
    if (!bounds_next(&run->bounds, &run->scratch, at, &next, &run->box)) {
        run->done = true;
        return OK;
    }
    return go_to(run, &next);
}

/* ---- looking ---- */

/* Past the end of the SAS's range. */
static bool past_clip(const struct query_run *run, const struct key_position *at)
{
    if (!str_given(run->end_pk))
        return false;
    int order = str_cmp(at->pk, run->end_pk);
    return order > 0 || (order == 0 && str_given(run->end_rk) && str_cmp(at->rk, run->end_rk) > 0);
}

static void stop_at(struct query_run *run, const struct key_position *at)
{
    struct entity_query *q = run->query;
    q->more = true;
    q->next_pk = arena_copy(q->arena, name_from_key(run->arena, at->pk));
    q->next_rk = arena_copy(q->arena, name_from_key(run->arena, at->rk));
    run->done = true;
}

static bool page_is_full(const struct query_run *run)
{
    return run->count == run->query->top || run->bytes >= TABLE_PAGE_BYTES_MAX;
}

static bool time_is_up(const struct query_run *run)
{
    return run->query->looked_at % QUERY_ROWS_PER_LOOK_AT_CLOCK == 0 &&
           clock_mono_ms() >= run->deadline_ms;
}

static struct err look_at(struct query_run *run, const struct key_position *at)
{
    struct entity_query *q = run->query;
    struct filter_row row = {at->pk, at->rk, run->scan->value};
    bool passes = true;
    if (row.record.n < ENTITY_HEAD_BYTES)
        return err_new(ERR_CORRUPT);
    if (q->filter != NULL)
        TRY(filter_match(q->filter, &row, &passes));
    if (!passes)
        return OK;
    struct entity_found found = {name_from_key(run->arena, at->pk),
                                 name_from_key(run->arena, at->rk), row.record};
    q->emit(q->context, &found);
    run->count++;
    run->bytes += row.record.n;
    return OK;
}

/* The row belongs to a deleted table of the same name, and was not removed yet. */
static struct err leave_other_table(struct query_run *run, struct str pk, int order)
{
    struct key_position at = {pk, STR("")};
    if (order < 0)
        return go_to(run, &at);
    at.pk = key_after(run->arena, pk);
    return go_on_from(run, &at);
}

static struct err visit(struct query_run *run, const struct key_position *at)
{
    if (past_clip(run, at)) {
        run->done = true;
        return OK;
    }
    if (!key_box_holds(run->box, at)) {
        struct key_position next;
        run->done = !bounds_next(&run->bounds, &run->scratch, at, &next, &run->box);
        if (run->done)
            return OK;
        if (key_position_cmp(&next, at) != 0)
            return go_to(run, &next);
    }
    if (page_is_full(run)) {
        stop_at(run, at);
        return OK;
    }
    TRY(look_at(run, at));
    return cursor_next(run->scan);
}

static struct err query_step(struct query_run *run)
{
    struct entity_query *q = run->query;
    struct str key = run->scan->key;
    struct str pk = str_from(run->scan->partition, run->prefix.n);
    int order = str_cmp(str_head(key, TABLE_ID_BYTES), (struct str){run->id, sizeof run->id});
    q->looked_at++;
    run->looked_bytes += run->scan->value.n;
    if (run->limited && (q->looked_at > q->budget || run->looked_bytes > QUERY_BUDGET_BYTES))
        return err_new(ERR_LONG_WORK);
    if (order != 0)
        return leave_other_table(run, pk, order);
    struct key_position at = {pk, str_from(key, TABLE_ID_BYTES)};
    if (time_is_up(run)) {
        stop_at(run, &at);
        return OK;
    }
    return visit(run, &at);
}

/* ---- beginning ---- */

static struct str clip_key(struct arena *a, struct str key)
{
    return str_given(key) ? name_to_key(a, key) : STR_NONE;
}

bool key_clip_holds(struct arena *a, const struct key_clip *clip, struct str pk, struct str rk)
{
    if (!str_given(clip->start_pk) && !str_given(clip->end_pk))
        return true;
    struct key_position at = {name_to_key(a, pk), name_to_key(a, rk)};
    struct key_position start = {clip_key(a, clip->start_pk), clip_key(a, clip->start_rk)};
    struct query_run end = {.end_pk = clip_key(a, clip->end_pk),
                            .end_rk = clip_key(a, clip->end_rk)};
    return (!str_given(start.pk) || key_position_cmp(&at, &start) >= 0) && !past_clip(&end, &at);
}

/* The later of where the client is and where its SAS begins. */
static void set_start(struct query_run *run)
{
    const struct entity_query *q = run->query;
    struct arena *a = run->arena;
    struct key_position clip = {clip_key(a, q->clip.start_pk), clip_key(a, q->clip.start_rk)};
    run->start = (struct key_position){clip_key(a, q->from_pk), clip_key(a, q->from_rk)};
    if (str_given(clip.pk) && key_position_cmp(&clip, &run->start) > 0)
        run->start = clip;
    run->end_pk = clip_key(a, q->clip.end_pk);
    run->end_rk = clip_key(a, q->clip.end_rk);
}

static struct err query_begin(struct query_run *run, struct txn *t)
{
    struct entity_query *q = run->query;
    struct arena *a = txn_arena(t);
    uint64_t id;
    TRY(table_find(t, &q->ref, &id));
    run->arena = a;
    run->prefix = table_entities_prefix(a, &q->ref);
    memcpy(run->id, table_entity_key(a, id, STR("")).p, TABLE_ID_BYTES);
    run->bounds = q->filter != NULL ? *filter_bounds(q->filter) : bounds_all(a);
    run->partition = buf_in(a);
    run->key = buf_in(a);
    run->scratch = buf_in(a);
    run->deadline_ms = clock_mono_ms() + TABLE_PAGE_MS_MAX;
    set_start(run);
    q->looked_at = 0;
    q->more = false;
    q->begin(q->context);
    return OK;
}

static struct err query_run(struct query_run *run, struct txn *t)
{
    struct key_position first;
    TRY(query_begin(run, t));
    if (run->query->top == 0)
        return OK;
    if (!bounds_next(&run->bounds, &run->scratch, &run->start, &first, &run->box))
        return OK;
    set_target(run, &first);
    TRY(cursor_open_across(t, run->prefix, buf_str(&run->partition), buf_str(&run->key),
                           &run->scan));
    while (!run->done && run->scan->valid)
        TRY(query_step(run));
    return OK;
}

struct err table_query_entities(struct txn *t, void *arg)
{
    struct entity_query *q = arg;
    struct query_run run = {.query = q, .limited = q->budget > 0 && !txn_may_wait(t)};
    assert(q->top <= TABLE_PAGE_MAX);
    struct err error = query_run(&run, t);
    cursor_close(run.scan);
    return error;
}
