/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/path/path_across.h"

#include <assert.h>
#include <time.h>

#include "service/blob/path/path_carry.h"
#include "service/blob/path/path_move.h"
#include "service/common/rows.h"

enum {
    GIVEN_UP_SECONDS = 30, /* a move without progress for so long counts as abandoned */
    FORGET_SECONDS = 60,   /* the row of a move is kept at least so long */
    TRIES_MAX = 60,        /* retries while other moves conflict */
    PAUSE_MS_MAX = 100,
};

static const struct blob_at BASE = {.item = BLOB_BASE};

/* ---- rows ---- */

/* The source container's record of the path that moves. */
struct mark {
    uint64_t move;   /* the stamp of the update that began it */
    int64_t since;   /* ticks */
    struct str from; /* the partition of that container */
    struct str to;   /* the destination's */
    struct str name; /* of the path, as keys have it */
};

static void mark_encode(struct buf *b, const struct mark *m)
{
    buf_put_be64(b, m->move);
    buf_put_be64(b, (uint64_t)m->since);
    buf_put_bytes(b, m->from);
    buf_put_bytes(b, m->to);
    buf_put_bytes(b, m->name);
}

static struct err mark_decode(struct str bytes, struct mark *out)
{
    struct reader r = reader_of(bytes);
    out->move = read_be64(&r);
    out->since = (int64_t)read_be64(&r);
    out->from = read_bytes(&r);
    out->to = read_bytes(&r);
    out->name = read_bytes(&r);
    return reader_done(&r) ? OK : err_new(ERR_CORRUPT);
}

enum move_state {
    MOVE_UNKNOWN, /* there is no row: nothing was written to the destination */
    MOVE_ON_ITS_WAY,
    MOVE_DONE,
    MOVE_GIVEN_UP,
};

/* The row of a move, in the destination's partition. */
struct move_row {
    enum move_state state;
    int64_t at; /* ticks when it was written */
};

static struct str move_key(struct arena *a, uint64_t move, struct str from)
{
    struct buf b = buf_in(a);
    buf_putc(&b, 'M');
    buf_put_be64(&b, move);
    buf_put(&b, from);
    return buf_str(&b);
}

static bool move_key_parse(struct str key, uint64_t *move, struct str *from)
{
    struct reader r = reader_of(str_from(key, 1));
    *move = read_be64(&r);
    *from = (struct str){r.p, r.n};
    return reader_ok(&r) && r.n > 0;
}

static struct err move_decode(struct str row, struct move_row *out)
{
    struct reader r = reader_of(row);
    *out = (struct move_row){0};
    if (!str_given(row))
        return OK;
    out->state = (enum move_state)read_u8(&r);
    out->at = (int64_t)read_be64(&r);
    return reader_done(&r) ? OK : err_new(ERR_CORRUPT);
}

/* The number of moves into a container so far. */
static struct str incoming_key(struct arena *a, uint64_t incarnation)
{
    struct buf b = buf_in(a);
    buf_putc(&b, 'n');
    buf_put_be64(&b, incarnation);
    return buf_str(&b);
}

/* `in`: the destination's partition; absent: the transaction's. */
static struct err move_load(struct txn *t, struct str in, struct str key, struct move_row *out)
{
    struct engine_read read = {.partition = in, .key = key};
    TRY(txn_get_many(t, &read, 1));
    return move_decode(read.value, out);
}

static struct err move_save(struct txn *t, struct str key, enum move_state state)
{
    struct buf row = buf_in(txn_arena(t));
    buf_put_u8(&row, (uint8_t)state);
    buf_put_be64(&row, (uint64_t)txn_now(t));
    return txn_put(t, key, buf_str(&row));
}

static bool is_stale(int64_t at, int64_t now, int64_t alone_since)
{
    return at < alone_since || now - at > GIVEN_UP_SECONDS * TICKS_PER_SECOND;
}

/* Returns true if it is undecided and abandoned. */
static bool move_is_stale(const struct mark *mark, const struct move_row *move, int64_t now,
                          int64_t alone_since)
{
    if (move->state == MOVE_DONE || move->state == MOVE_GIVEN_UP)
        return false;
    return is_stale(move->state == MOVE_UNKNOWN ? mark->since : move->at, now, alone_since);
}

/* ---- the source's container ---- */

static struct err take_source_away(struct txn *t, const struct container *container,
                                   const struct mark *mark)
{
    struct blob blob = {.container = *container, .name = mark->name, .at = BASE};
    struct str row;
    blob.key = blob_key_head(txn_arena(t), container->incarnation, mark->name, &BASE);
    TRY(txn_get(t, blob.key, &row));
    if (!str_given(row))
        return err_new(ERR_CORRUPT);
    TRY(blob_take_row(&blob, row));
    return path_remove(t, &blob);
}

static struct err settle_update(struct txn *t, struct container *container, const struct mark *mark,
                                enum move_state state)
{
    if (state != MOVE_DONE && state != MOVE_GIVEN_UP)
        return err_new(ERR_PATH_BEING_MOVED);
    if (state == MOVE_DONE)
        TRY(take_source_away(t, container, mark));
    container->moving = STR_NONE;
    return container_save(t, container);
}

struct err path_across_settle(struct txn *t, struct container *container)
{
    assert(str_given(container->moving));
    struct arena *a = txn_arena(t);
    struct mark mark;
    struct move_row move;
    TRY(mark_decode(container->moving, &mark));
    TRY(move_load(t, mark.to, move_key(a, mark.move, mark.from), &move));
    if (txn_writable(t))
        return settle_update(t, container, &mark, move.state);
    if (move.state == MOVE_DONE)
        container->hidden =
            blob_key_to_name(blob_key_head(a, container->incarnation, mark.name, &BASE));
    return OK;
}

/* ---- one move ---- */

struct across {
    struct path_rename_args *args;
    struct str from, to; /* partitions */
    struct arena *arena; /* the request's */
    /* Step 1. */
    struct mark mark;
    uint64_t incarnation; /* of the source's container */
    /* Steps 2 and 3. */
    struct carry carry;
    uint32_t incoming; /* the move's number in the destination's container */
};

/* Step 1. */
static struct err begin_move(struct txn *t, void *arg)
{
    struct across *m = arg;
    struct blob source;
    struct container container;
    struct buf bytes = buf_in(txn_arena(t));
    TRY(container_load(t, &container));
    if (!container.hierarchical)
        return err_new(ERR_HIERARCHICAL_NAMESPACE_NOT_ENABLED);
    TRY(path_open_source(t, m->args, &source));
    m->mark = (struct mark){.move = (uint64_t)txn_stamp(t),
                            .since = txn_now(t),
                            .from = m->from,
                            .to = m->to,
                            .name = arena_copy(m->arena, source.name)};
    m->incarnation = container.incarnation;
    mark_encode(&bytes, &m->mark);
    container.moving = buf_str(&bytes);
    TRY(container_save(t, &container));
    struct sweep_item note = {SWEEP_MOVE, container.incarnation, m->mark.move};
    return blob_sweep_add(t, &note);
}

/* Registers the move in the destination, so that its rows are removed if it is given up. */
static struct err come_in(struct txn *t, struct across *m, const struct container *container,
                          struct str key)
{
    struct str row;
    struct buf count = buf_in(txn_arena(t));
    struct str counter = incoming_key(txn_arena(t), container->incarnation);
    TRY(txn_get(t, counter, &row));
    struct reader r = reader_of(row);
    uint64_t last = str_given(row) ? read_be64(&r) : 0;
    if (str_given(row) && !reader_done(&r))
        return err_new(ERR_CORRUPT);
    m->incoming = (uint32_t)(last + 1);
    buf_put_be64(&count, last + 1);
    TRY(txn_put(t, counter, buf_str(&count)));
    struct sweep_item note = {SWEEP_MOVE, container->incarnation,
                              carry_id(m->incoming, CARRY_HOLDER)};
    return blob_sweep_add_with(t, &note, key);
}

/* Step 3: renames it from the directory that no path leads to. */
static struct err place(struct txn *t, struct across *m, const struct container *container,
                        struct str key)
{
    struct arena *a = txn_arena(t);
    struct blob source = {.container = *container, .at = BASE};
    struct str row;
    source.name = path_tree_entry_name(a, carry_id(m->incoming, CARRY_HOLDER),
                                       path_tree_last_name(m->args->source.name));
    source.key = blob_key_head(a, container->incarnation, source.name, &BASE);
    TRY(txn_get(t, source.key, &row));
    TRY(blob_take_row(&source, row));
    if (!source.exists)
        return err_new(ERR_CORRUPT);
    TRY(path_put_in_place(t, m->args, &source));
    return move_save(t, key, MOVE_DONE);
}

/* Writes a page; the last page also commits the move. */
static struct err write_page(struct txn *t, void *arg)
{
    struct across *m = arg;
    struct container container;
    struct move_row move;
    struct str key = move_key(txn_arena(t), m->mark.move, m->from);
    bool first = !m->carry.at.begun;
    TRY(container_load(t, &container));
    if (!container.hierarchical)
        return err_new(ERR_HIERARCHICAL_NAMESPACE_NOT_ENABLED);
    TRY(move_load(t, STR_NONE, key, &move));
    if (move.state != (first ? MOVE_UNKNOWN : MOVE_ON_ITS_WAY))
        return err_new(ERR_PATH_BEING_MOVED);
    if (first)
        TRY(come_in(t, m, &container, key));
    TRY(carry_write(t, &m->carry, &container, m->incoming));
    return m->carry.last ? place(t, m, &container, key) : move_save(t, key, MOVE_ON_ITS_WAY);
}

/* Step 4: loading the container does it, as in every update of the source. */
static struct err end_move(struct txn *t, void *arg)
{
    struct container container;
    (void)arg;
    struct err e = container_load(t, &container);
    return e.code == ERR_CONTAINER_NOT_FOUND ? OK : e;
}

/* Leaves the rows written so far to the sweeper. */
static struct err drop_incoming(struct txn *t, const struct sweep_item *note)
{
    struct sweep_item tree = {SWEEP_TREE, note->incarnation, note->id};
    return blob_sweep_add(t, &tree);
}

struct giving_up {
    const struct mark *mark;
    int64_t alone_since; /* INT64_MAX: given up by the thread that runs it */
};

/* In the destination's partition. */
static struct err give_up(struct txn *t, void *arg)
{
    const struct giving_up *g = arg;
    struct str key = move_key(txn_arena(t), g->mark->move, g->mark->from);
    struct move_row move;
    TRY(move_load(t, STR_NONE, key, &move));
    if (!move_is_stale(g->mark, &move, txn_now(t), g->alone_since))
        return OK;
    if (move.state == MOVE_UNKNOWN) { /* the note only removes the row later */
        struct sweep_item note = {SWEEP_MOVE, 0, 0};
        TRY(blob_sweep_add_with(t, &note, key));
    }
    return move_save(t, key, MOVE_GIVEN_UP);
}

static struct err carry_all(struct store *store, struct across *m)
{
    do {
        TRY(store_read(store, m->from, ENGINE_WAIT, carry_read, &m->carry));
        TRY(store_write_wait(store, m->to, write_page, m));
        carry_next(&m->carry);
    } while (!m->carry.last);
    return OK;
}

/* One try. If its outcome is unknown, or the machine crashes, the sweeper finishes the move. */
static struct err try_move(struct store *store, struct across *m)
{
    TRY(store_write_wait(store, m->from, begin_move, m));
    carry_init(&m->carry, m->incarnation, m->mark.name);
    struct err outcome = carry_all(store, m);
    carry_release(&m->carry);
    if (outcome.code == ERR_UNKNOWN_OUTCOME)
        return outcome;
    struct giving_up up = {&m->mark, INT64_MAX};
    struct err ended = OK;
    if (err_is(outcome))
        ended = store_write_wait(store, m->to, give_up, &up);
    if (!err_is(ended))
        ended = store_write_wait(store, m->from, end_move, NULL);
    (void)ended.code; /* the next update or the sweeper retries */
    return outcome;
}

static void pause(unsigned tries)
{
    unsigned ms = tries * 2 < PAUSE_MS_MAX ? tries * 2 + 1 : PAUSE_MS_MAX;
    /* A random part keeps two conflicting moves from retrying at the same moment. */
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    t = (struct timespec){.tv_nsec = (long)(ms * 500000U + (unsigned)t.tv_nsec % (ms * 500000U))};
    (void)nanosleep(&t, NULL);
}

struct err path_rename_across(struct store *store, struct str destination,
                              struct path_rename_args *args)
{
    struct err outcome = OK;
    for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
        struct across m = {.args = args,
                           .from = args->source_partition,
                           .to = destination,
                           .arena = args->destination.arena};
        outcome = try_move(store, &m);
        if (outcome.code != ERR_PATH_BEING_MOVED)
            return outcome;
        pause(tries);
    }
    return err_new(ERR_SERVER_BUSY);
}

/* ---- the sweeper's ---- */

struct rescue {
    struct arena *arena;
    int64_t alone_since;
    struct mark mark;
    bool stale; /* no thread continues the move */
};

static struct err find_stale(struct txn *t, void *arg)
{
    struct rescue *r = arg;
    struct container container;
    struct move_row move;
    struct str row;
    bool live;
    r->stale = false;
    TRY(txn_get(t, BLOB_KEY_CONTAINER, &row));
    if (!str_given(row))
        return OK;
    TRY(container_decode(row, &container, &live));
    if (!str_given(container.moving))
        return OK;
    const struct mark *mark = &r->mark;
    TRY(mark_decode(arena_copy(r->arena, container.moving), &r->mark));
    TRY(move_load(t, mark->to, move_key(r->arena, mark->move, mark->from), &move));
    r->stale = move_is_stale(mark, &move, txn_now(t), r->alone_since);
    return OK;
}

struct err path_across_rescue(struct store *store, struct str partition)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct rescue r = {.arena = &arena, .alone_since = store->alone_since};
    struct err e = store_read(store, partition, ENGINE_WAIT, find_stale, &r);
    struct giving_up up = {&r.mark, store->alone_since};
    if (!err_is(e) && r.stale)
        e = store_write_wait(store, r.mark.to, give_up, &up);
    arena_release(&arena);
    return e;
}

/* A move out of this container: loading the container ends a decided move. */
static struct err pass_outgoing(struct txn *t, struct path_across_note *note)
{
    struct container container;
    struct err e = container_load(t, &container);
    note->done = !err_is(e) || e.code == ERR_CONTAINER_NOT_FOUND;
    return e.code == ERR_PATH_BEING_MOVED || note->done ? OK : e;
}

static struct err is_forgotten(struct txn *t, uint64_t move, struct str from, bool *out)
{
    struct container container;
    struct mark mark = {0};
    struct str row;
    bool live;
    *out = true;
    TRY(row_get_in(t, from, BLOB_KEY_CONTAINER, &row));
    if (!str_given(row))
        return OK;
    TRY(container_decode(row, &container, &live));
    if (str_given(container.moving))
        TRY(mark_decode(container.moving, &mark));
    *out = mark.move != move;
    return OK;
}

/* A move that comes into it. */
static struct err pass_incoming(struct txn *t, struct path_across_note *note)
{
    struct move_row move;
    struct str from;
    uint64_t number;
    if (!move_key_parse(note->value, &number, &from))
        return err_new(ERR_CORRUPT);
    TRY(move_load(t, STR_NONE, note->value, &move));
    if (move.state == MOVE_ON_ITS_WAY && is_stale(move.at, txn_now(t), note->alone_since))
        return move_save(t, note->value, MOVE_GIVEN_UP);
    if (move.state != MOVE_DONE && move.state != MOVE_GIVEN_UP)
        return OK;
    bool forgotten;
    TRY(is_forgotten(t, number, from, &forgotten));
    note->done = forgotten && txn_now(t) - move.at > FORGET_SECONDS * TICKS_PER_SECOND;
    if (!note->done)
        return OK;
    if (move.state == MOVE_GIVEN_UP && note->item.id != 0)
        TRY(drop_incoming(t, &note->item));
    return txn_del(t, note->value);
}

struct err path_across_pass(struct txn *t, struct path_across_note *note)
{
    note->done = false;
    return note->value.n == 0 ? pass_outgoing(t, note) : pass_incoming(t, note);
}
