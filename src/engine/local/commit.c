/* SPDX-License-Identifier: Apache-2.0 */
/* The committer: runs updates one after the other over one overlay, makes their extents durable,
 * writes the overlay with one sync, publishes the state, and only then says so. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/mem.h"
#include "engine/local/local_internal.h"

enum {
    BATCH_BYTES_MAX = 16 << 20,
    GATHER_US_MAX = 2000,
    RETURN_US = 20, /* to send an answer and to read the request that follows it, on a slow core */
    /* Of what extents leave free: rows that come leave this part for rows that go. It is looked at
     * again whenever the journal has grown by that part of it. */
    ROOM_SHARE = 2,
    COMING_SMALL = 2048, /* taken until only half of that is left */
    ROOM_LOOK_SHARE = 16,
};

/* Changes nothing, and is done when all before it is durable. The argument, if there is one, is a
 * struct rest. */
static struct err nothing_to_do(struct txn *t, void *arg)
{
    (void)t;
    (void)arg;
    return OK;
}

/* ---- running ---- */

static void batch_clear(struct batch *b)
{
    publish_forget(b);
    tree_put(&b->overlay);
    b->overlay.random = TREE_SEED;
    memset(b->places, 0, sizeof b->places);
    b->bytes = 0;
    b->coming = 0;
    b->going = 0;
    b->adopted_count = 0;
    b->dropped_count = 0;
}

/* To write down that a row goes takes room as well. So a disk that is nearly full takes only
 * updates that bring no or small new rows, or that delete some or lead to that: messages can be got
 * and deleted then, what has filled the disk can go, and the collector goes on. */
static void look_for_room(struct local_engine *e)
{
    struct disk_room room;
    uint64_t written = atomic_load(&e->journal_bytes);
    if (!atomic_load(&e->room_short) && written < e->room_look_at)
        return;
    if (err_is(local_disk_room(e, &room)))
        return; /* whether there is room shows when it is written */
    atomic_store(&e->room_short, room.free < room.reserve / ROOM_SHARE);
    e->coming_max = room.free < room.reserve / ROOM_SHARE / 2 ? 0 : COMING_SMALL;
    e->room_look_at = written + room.reserve / ROOM_LOOK_SHARE;
}

static bool needs_room(const struct local_engine *e, size_t coming_before, size_t going_before)
{
    const struct batch *b = &e->batch;
    return b->coming - coming_before > e->coming_max && b->going == going_before;
}

/* The updates of one turn read and write a few rows over and over: their places in the overlay are
 * remembered, by some of the bytes in which keys mostly differ. */
static struct row ***place_of(struct batch *b, struct str key)
{
    enum { WORD = 8 };
    unsigned char last = key.n == 0 ? 0 : (unsigned char)key.p[key.n - 1];
    unsigned char before = key.n <= WORD ? 0 : (unsigned char)key.p[key.n - 1 - WORD];
    return &b->places[(last + 3U * before + key.n) % BATCH_PLACES];
}

static struct row **batch_place(struct batch *b, struct str key)
{
    struct row ***known = place_of(b, key);
    if (*known == NULL || !str_eq(row_key(**known), key)) {
        struct row **place = tree_place(&b->overlay, key);
        if (place == NULL)
            return NULL;
        *known = place;
    }
    return *known;
}

struct row *batch_find(struct batch *b, struct str key)
{
    struct row **place = b->overlay.root == NULL ? NULL : batch_place(b, key);
    return place == NULL ? NULL : *place;
}

static void note_overlaid(struct batch *b, struct overlaid o)
{
    if (b->overlaid_count == b->overlaid_capacity) {
        b->overlaid_capacity = b->overlaid_capacity == 0 ? 64 : b->overlaid_capacity * 2;
        b->overlaid = mem_realloc(b->overlaid, b->overlaid_capacity * sizeof *b->overlaid);
    }
    b->overlaid[b->overlaid_count++] = o;
}

/* What is replaced is kept until the update's outcome is known. (To keep the tree's old root
 * instead would cost every update a copy of the paths to its rows.) */
void batch_insert(struct batch *b, struct row *row)
{
    struct row **known = *place_of(b, row_key(row));
    struct row *before;
    if (known != NULL && str_eq(row_key(*known), row_key(row))) {
        before = *known;
        *known = row;
    } else {
        before = tree_exchange(&b->overlay, row);
    }
    if (before != NULL)
        row->born = before->born;
    note_overlaid(b, (struct overlaid){row, before, 0});
}

void batch_append(struct batch *b, struct row *row, struct str bytes)
{
    assert(bytes.n <= row->room && row->body_n == 0);
    note_overlaid(b, (struct overlaid){row, row, row->value_n});
    if (bytes.n > 0)
        memcpy(row->bytes + row->key_n + row->value_n, bytes.p, bytes.n);
    row->value_n += (uint32_t)bytes.n;
    row->room -= (uint32_t)bytes.n;
}

static void batch_keep(struct batch *b)
{
    for (size_t i = 0; i < b->overlaid_count; i++) {
        const struct overlaid *o = &b->overlaid[i];
        if (o->before != NULL && o->before != o->row)
            row_put(o->before);
    }
    b->overlaid_count = 0;
}

/* From the last to the first, so that a row written twice is what it was before both. */
static void batch_take_back(struct batch *b)
{
    for (size_t i = b->overlaid_count; i > 0; i--) {
        const struct overlaid *o = &b->overlaid[i - 1];
        struct row *row = row_get(o->row); /* its key is needed until it is out */
        if (o->before == row) {
            row->room += row->value_n - o->value_n;
            row->value_n = o->value_n;
        } else if (o->before != NULL) {
            tree_insert(&b->overlay, o->before);
        } else {
            tree_remove(&b->overlay, row_key(row));
        }
        row_put(row);
    }
    b->overlaid_count = 0;
    memset(b->places, 0, sizeof b->places);
}

/* An error leaves the batch as it was. */
static void run_update(struct local_engine *e, struct engine_update *u)
{
    struct batch *b = &e->batch;
    size_t adopted_before = b->adopted_count;
    size_t dropped_before = b->dropped_count;
    size_t coming_before = b->coming;
    size_t going_before = b->going;
    struct local_txn t;
    local_txn_init(&t, e, e->published, u->partition, ENGINE_WAIT);
    e->last_stamp = t.base.now > e->last_stamp ? t.base.now : e->last_stamp + 1;
    t.base.stamp = e->last_stamp;
    t.base.writable = true;
    t.batch = b;
    u->result = u->fn(&t.base, u->arg);
    local_txn_release(&t);
    if (!err_is(u->result) && (u->hints & HINT_SMALL) == 0 && atomic_load(&e->room_short) &&
        needs_room(e, coming_before, going_before))
        u->result = err_cause(ERR_NO_SPACE, ENOSPC);
    if (!err_is(u->result)) {
        batch_keep(b);
        return;
    }
    batch_take_back(b);
    b->adopted_count = adopted_before;
    b->dropped_count = dropped_before;
}

/* ---- making durable ---- */

static struct err sync_segment(struct local_engine *e, uint64_t id)
{
    struct segment *segment;
    TRY(segments_use(&e->segments, id, 0, &segment));
    struct err result = segment_sync(&e->segments, segment);
    segment_put(&e->segments, segment);
    return result;
}

void commit_note_unsynced(struct local_engine *e, uint64_t id)
{
    for (size_t i = 0; i < e->unsynced_count; i++) {
        if (e->unsynced[i] == id)
            return;
    }
    e->unsynced = mem_realloc(e->unsynced, (e->unsynced_count + 1) * sizeof *e->unsynced);
    e->unsynced[e->unsynced_count++] = id;
    segments_note_unsynced(&e->segments, id);
}

struct err commit_sync_extents(struct local_engine *e)
{
    struct err result = OK;
    for (size_t i = 0; i < e->unsynced_count && !err_is(result); i++)
        result = sync_segment(e, e->unsynced[i]);
    e->unsynced_count = 0;
    if (err_is(result) && e->visible_unsynced && !e->lost) {
        e->lost = true;
        atomic_store(&e->lost_seen, true);
        log_line(LOG_ERROR,
                 "bytes of visible updates could not be flushed: no update is taken until "
                 "the next start");
    }
    e->visible_unsynced = false;
    return result;
}

/* ---- the record ---- */

static void add_to_journal(void *arg, struct row *row)
{
    struct journal *j = arg;
    struct str value;
    struct str large;
    if (row->deleted)
        journal_add_delete(j, row_key(row));
    else if (!goes_to_journal(row, &value, &large) && str_given(value))
        journal_add_stored(j, row_key(row), row_value(row));
    else if (str_given(value))
        journal_add_large_body(j, row, value, large);
    else if (large.n >= VALUE_LARGE_MIN)
        journal_add_large(j, row, large);
    else
        journal_add_small(j, row_key(row), large);
}

/* One of the engine's own numbers. */
static void add_number(struct local_engine *e, struct str key, uint64_t number)
{
    char bytes[8];
    struct buf b = {.p = bytes, .capacity = sizeof bytes};
    buf_put_le64(&b, number);
    journal_add_small(&e->journal, key, buf_str(&b));
}

/* ---- after a failed flush of the journal ---- */

/* A large value or body that was visible and may not be on the disk: if the row still has it,
 * RocksDB takes it whole. */
static struct err save_large(struct local_engine *e, const struct record_entry *entry)
{
    struct buf stored = buf_heap();
    struct value_place now;
    bool found;
    uint64_t hash = row_cache_hash(entry->key);
    row_cache_renew(e->cache, entry->key, hash, STR_NONE);
    row_places_drop(e->places, hash);
    struct err error = state_read_small(e->published, entry->key, &stored, &found);
    if (!err_is(error) && found && value_is_elsewhere(buf_str(&stored), &now) &&
        now.file == entry->place.file && now.offset == entry->place.offset) {
        size_t n = value_gathered_bytes(buf_str(&stored), &now);
        char *bytes = mem_alloc(n);
        error = value_gather(&e->journal, buf_str(&stored), ENGINE_WAIT, bytes);
        if (!err_is(error))
            put_stored(e->write, entry->key, (struct str){bytes, n});
        free(bytes);
    }
    buf_release(&stored);
    return error;
}

static struct err save_record(struct local_engine *e, struct journal_walk *w)
{
    struct record_entry entry;
    if (!journal_walk_load(w))
        return err_new(ERR_CORRUPT);
    while (journal_walk_entry(w, &entry)) {
        if (record_entry_placed(&entry))
            TRY(save_large(e, &entry));
    }
    return OK;
}

static struct err save_visible(struct local_engine *e)
{
    struct journal *j = &e->journal;
    if (j->active == NULL || j->durable_sequence == j->end.sequence)
        return OK;
    struct journal_walk w;
    TRY(journal_walk_init(&w, j, j->active->id, j->durable_offset));
    /* Nothing read from now on until the next commit may be cached: the old file may be collected
     * while a cached row still names a place in it. */
    publish_announce(e, e->commit + 1);
    struct err error = OK;
    while (!err_is(error) && w.next < j->end.offset)
        error = journal_walk_next(&w) ? save_record(e, &w) : err_new(ERR_CORRUPT);
    journal_walk_release(&w, j);
    return error;
}

/* RocksDB's tables take over all that was visible, and the journal goes on in a new file: what the
 * flush left behind the last good record in the old one is never looked at again. */
static struct err mend_journal(struct local_engine *e)
{
    if (!e->journal.broken)
        return OK;
    TRY(commit_sync_extents(e));
    TRY(fold_rows(e));
    struct journal_place place = journal_mend_place(&e->journal);
    rocksdb_writebatch_clear(e->write);
    TRY(save_visible(e));
    put_journal_place(e->write, &place);
    TRY(rows_write(&e->rows, e->write));
    TRY(rows_flush(&e->rows));
    journal_mended(&e->journal);
    e->applied = e->folded = place;
    publish_state(e, state_new(&e->rows, e->commit, &e->readers));
    return OK;
}

/* The record may be on the disk all the same, and a start would apply it: the updates in it are
 * refused when it is sure that none will. */
static struct err refuse_record(struct local_engine *e, struct err why)
{
    if (!e->journal.broken || !err_is(mend_journal(e)))
        return why;
    return err_cause(ERR_UNKNOWN_OUTCOME, why.cause);
}

/* ---- both ---- */

/* Puts the record together. Says which tail it names. */
static struct err make_record(struct local_engine *e, uint64_t *tail)
{
    struct journal *j = &e->journal;
    TRY(journal_begin(j));
    tree_each(&e->batch.overlay, add_to_journal, j);
    add_number(e, KEY_STAMP, (uint64_t)e->last_stamp);
    *tail = segments_oldest_open(&e->segments);
    if (*tail != e->tail_written)
        add_number(e, KEY_TAIL, *tail);
    return OK;
}

/* The disk has the record, or says that it has not: then it is as if it had never been written. */
static struct err flush_record(struct local_engine *e)
{
    int64_t begun_us = clock_mono_us();
    struct err error = journal_flush(&e->journal);
    histogram_add(&e->journal_flush_us, HISTOGRAM_TIMES_US, (uint64_t)(clock_mono_us() - begun_us));
    if (!err_is(error))
        return OK;
    journal_leave_record(&e->journal);
    return refuse_record(e, error);
}

struct turn {
    struct engine_update *first;
    struct engine_update *past;          /* the first that is left for the next turn */
    struct engine_update *first_written; /* the first whose outcome hangs on the commit */
    bool flush;
    int64_t began_us;
};

/* While the disk takes the record, its rows are made ready for views, and RocksDB takes rows of the
 * commits before it when it is time for that: about half of what the committer would wait. When it
 * does not take them, they stay where they are, and the next commit waits until it does. */
static struct err write_rows(struct local_engine *e, bool flush)
{
    struct journal *j = &e->journal;
    uint64_t tail;
    TRY(mend_journal(e));
    if (e->fold_failed)
        TRY(fold_rows(e));
    if (journal_needs_file(j))
        TRY(commit_sync_extents(e)); /* records that are flushed vouch for their extents */
    TRY(make_record(e, &tail));
    struct journal_place before = j->end;
    struct journal_place after = journal_record_end(j);
    struct err error = journal_write(j, flush);
    if (err_is(error))
        return refuse_record(e, error);
    publish_prepare(e);
    (void)fold_when_due(e);
    if (flush)
        TRY(flush_record(e));
    e->applied = after;
    e->tail_written = tail;
    e->unvouched = !flush;
    rows_count(&e->rows, j->entries.n + (uint64_t)j->entry_count * FRESH_ROW_BYTES);
    atomic_fetch_add(&e->journal_bytes, after.offset - before.offset);
    tally_add(&e->journal_written, after.offset - before.offset);
    return OK;
}

/* Extents before the record that names them. An update that asks only to be visible waits for
 * neither: should a power cut come before the next flush, then the next start looks at the extents
 * of each record that no flush vouches for, and goes no further than the first that is not whole.
 * A flush without rows writes a record that vouches: what was visible may be dropped and punched
 * out next. When bytes that views see could not be flushed, nothing may become durable behind
 * them: the next start goes as far as all is whole. */
static struct err make_durable(struct local_engine *e, bool flush)
{
    if (e->lost)
        return err_cause(ERR_IO, EIO);
    for (size_t i = 0; i < e->batch.adopted_count; i++)
        commit_note_unsynced(e, e->batch.adopted[i]);
    if (flush)
        TRY(commit_sync_extents(e));
    if (e->batch.overlay.root != NULL || (flush && e->unvouched))
        return write_rows(e, flush);
    TRY(mend_journal(e));
    return journal_flush(&e->journal);
}

static struct err make_durable_timed(struct local_engine *e, const struct turn *turn)
{
    enum { OLD_WEIGHT = 3 };
    int64_t begun_us = clock_mono_us();
    struct err error = make_durable(e, turn->flush);
    int64_t took_us = clock_mono_us() - begun_us;
    histogram_add(&e->commit_us, HISTOGRAM_TIMES_US, (uint64_t)took_us);
    e->flush_us = turn->flush ? (OLD_WEIGHT * e->flush_us + took_us) / (OLD_WEIGHT + 1) : 0;
    return error;
}

/* ---- one commit ---- */

static void settle_extents(struct local_engine *e)
{
    for (size_t i = 0; i < e->batch.adopted_count; i++)
        segments_adopted(&e->segments, e->batch.adopted[i]);
    for (size_t i = 0; i < e->batch.dropped_count; i++) {
        segments_add_waste(&e->segments, e->batch.dropped[i].segment);
        reap_add(e, &e->batch.dropped[i]);
    }
}

/* Runs updates until the batch is large enough. */
static void run_updates(struct local_engine *e, struct turn *turn, struct engine_update *first)
{
    struct engine_update *u = first;
    for (; u != NULL && e->batch.bytes < BATCH_BYTES_MAX; u = u->next) {
        run_update(e, u);
        if (turn->first_written == NULL && e->batch.overlay.root != NULL)
            turn->first_written = u;
        if (u->fn == nothing_to_do || (u->ack == ENGINE_DURABLE && !e->relaxed))
            turn->flush = true;
    }
    turn->past = u;
}

static struct turn run_turn(struct local_engine *e, struct engine_update *first)
{
    struct turn turn = {.first = first, .began_us = clock_mono_us()};
    atomic_store_explicit(&e->turn_began_us, turn.began_us, memory_order_relaxed);
    look_for_room(e);
    run_updates(e, &turn, first);
    return turn;
}

/* Also those that failed by themselves: they have looked at rows that are not there now. And all
 * who asked for a flush. */
static void fail_turn(const struct turn *turn, struct err error)
{
    bool hangs_on_it = false;
    for (struct engine_update *u = turn->first; u != turn->past; u = u->next) {
        hangs_on_it = hangs_on_it || u == turn->first_written;
        if (hangs_on_it || u->fn == nothing_to_do)
            u->result = error;
    }
}

/* Says how many it was. */
static size_t end_turn(struct local_engine *e, const struct turn *turn)
{
    uint64_t done = 0;
    size_t count = 0;
    for (struct engine_update *u = turn->first; u != turn->past; u = u->next)
        done += err_is(u->result) ? 0 : 1;
    atomic_fetch_add(&e->updates, done); /* before anyone can ask */
    for (struct engine_update *u = turn->first, *next; u != turn->past; u = next) {
        next = u->next; /* done may free u */
        u->done(u);
        count++;
    }
    histogram_add(&e->commit_updates, HISTOGRAM_COUNTS, count);
    histogram_add(&e->turn_us, HISTOGRAM_TIMES_US, (uint64_t)(clock_mono_us() - turn->began_us));
    atomic_store_explicit(&e->turn_began_us, 0, memory_order_relaxed);
    return count;
}

static bool something_unsynced(struct local_engine *e)
{
    return e->unsynced_count > 0 || e->lost || e->journal.broken ||
           e->journal.durable_sequence < e->journal.end.sequence;
}

static void commit_turn(struct local_engine *e, struct turn *turn)
{
    bool wrote = e->batch.overlay.root != NULL;
    if (!wrote && !turn->flush)
        return;
    struct err error = wrote || something_unsynced(e) ? make_durable_timed(e, turn) : OK;
    if (err_is(error)) {
        fail_turn(turn, error);
        return;
    }
    if (wrote) {
        publish_batch(e);
        settle_extents(e);
        e->visible_unsynced = e->unsynced_count > 0;
    }
    if (turn->flush)
        atomic_store(&e->durable_commit, e->commit);
    reap_wake(e);
}

/* Clients that were answered come back with their next updates. To take the first few of them at
 * once would make two or three groups that flush by turns; to wait as long as one flush takes, and
 * as the answers and the next requests need to pass through one core, lets nearly all share the
 * next. Measured with 64 connections, queue messages and a core for the server: 55 updates a commit
 * and 17,500 messages a second; 26 and 13,500 when only the flush's time was waited, of which all
 * went by before the last answer was sent. Where the clients are slower than the server, it learns
 * not to wait for all of them (queue.c). */
static void gather(struct local_engine *e, size_t answered)
{
    if (e->flush_us <= 0 || answered <= 1)
        return;
    int64_t patience_us = e->flush_us + RETURN_US * (int64_t)answered;
    struct update_return back = update_queue_expect(
        &e->queue, answered, patience_us < GATHER_US_MAX ? patience_us : GATHER_US_MAX);
    update_queue_await(&e->queue, &back);
    update_queue_came(&back);
    update_queue_learn(&e->queue, &back);
}

/* Runs what waited for all to be durable. */
static void run_rests(struct local_engine *e, const struct turn *turn)
{
    for (struct engine_update *u = turn->first; u != turn->past; u = u->next) {
        const struct rest *rest = u->fn == nothing_to_do ? u->arg : NULL;
        if (rest != NULL && !err_is(u->result))
            u->result = fold_rows(e);
        if (rest != NULL && !err_is(u->result))
            u->result = rest->run(e, rest->arg);
    }
}

/* Only here, with nothing half durable, do rows go to tables while the store is open. */
static void fill_tables(struct local_engine *e)
{
    if (!rows_many_fresh(&e->rows))
        return;
    if (something_unsynced(e) && err_is(make_durable(e, true)))
        return; /* logged, and told to the next who flushes */
    if (err_is(fold_rows(e)))
        return;
    (void)rows_switch(
        &e->rows); /* logged; a table that cannot be written fails the writes to come */
}

static void *commit_loop(void *arg)
{
    struct local_engine *e = arg;
    struct engine_update *queued;
    /* RocksDB counts every comparison of keys otherwise, for each thread by itself, and nobody asks
     * for the numbers: about a tenth of what it takes to insert a row. */
    rocksdb_set_perf_level(rocksdb_disable);
    while ((queued = update_queue_take(&e->queue)) != NULL) {
        size_t answered = 0;
        while (queued != NULL) {
            struct turn turn = run_turn(e, queued);
            commit_turn(e, &turn);
            batch_clear(&e->batch);
            queued = turn.past;
            run_rests(e, &turn);
            answered += end_turn(e, &turn);
            fill_tables(e);
        }
        gather(e, answered);
    }
    return NULL;
}

/* An update that is only to be visible waits for no disk as a rule. When the committer is idle, the
 * thread that submits it takes the committer's place: to wake one thread and then the other costs
 * more than all of the commit. What would take longer is left to the committer. */
bool commit_here(struct local_engine *e, struct engine_update *u)
{
    if (u->ack != ENGINE_VISIBLE || !update_queue_step_in(&e->queue))
        return false;
    bool short_work =
        !e->journal.broken && !journal_needs_file(&e->journal) && !rows_many_fresh(&e->rows);
    if (short_work) {
        u->next = NULL;
        struct turn turn = run_turn(e, u);
        commit_turn(e, &turn);
        batch_clear(&e->batch);
        (void)end_turn(e, &turn);
    }
    update_queue_step_out(&e->queue);
    return short_work;
}

/* ---- life ---- */

struct err commit_start(struct local_engine *e)
{
    batch_clear(&e->batch);
    e->write = rocksdb_writebatch_create();
    int failed = pthread_create(&e->committer, NULL, commit_loop, e);
    if (failed != 0)
        return err_cause(ERR_IO, failed);
    e->committing = true;
    return OK;
}

/* On a disk that is nearly full, the room is for rows that go: the file would lie there until the
 * first commit of the next start, which then found none. */
static void save_places(struct local_engine *e)
{
    struct disk_room room;
    uint64_t bytes = row_places_room(e->places) * sizeof(uint64_t);
    (void)row_places_fetch_saved(e->places);
    if (!err_is(local_disk_room(e, &room)) && room.free >= room.reserve + bytes)
        row_places_save(e->places, e->folder, &e->journal.end);
}

/* What was only visible becomes durable, and the next start learns that nothing is left over. */
static void commit_last(struct local_engine *e)
{
    batch_clear(&e->batch);
    struct err error = something_unsynced(e) ? make_durable(e, true) : OK;
    uint64_t tail = segments_seal(&e->segments);
    if (!err_is(error) && tail != e->tail_written)
        error = write_rows(e, true);
    if (!err_is(error))
        error = fold_rows(e);
    if (!err_is(error))
        error = rows_flush(&e->rows);
    if (err_is(error)) {
        log_line(LOG_ERROR, "the store could not be closed cleanly");
        return;
    }
    save_places(e);
}

void commit_stop(struct local_engine *e)
{
    update_queue_close(&e->queue);
    if (e->committing) {
        pthread_join(e->committer, NULL);
        commit_last(e);
    }
    batch_clear(&e->batch);
    free(e->batch.overlaid);
    free(e->batch.adopted);
    free(e->batch.dropped);
    fold_release(e);
    free(e->batch.fresh);
    free(e->batch.prepared);
    free(e->unsynced);
    if (e->write != NULL)
        rocksdb_writebatch_destroy(e->write);
}

struct err local_flush(struct engine *e)
{
    return engine_update_wait(e, STR(""), nothing_to_do, NULL);
}

struct err local_at_rest(struct local_engine *e, struct rest *rest)
{
    return engine_update_wait(&e->base, STR(""), nothing_to_do, rest);
}
