/* SPDX-License-Identifier: Apache-2.0 */
/* The committer: runs updates one after the other over one overlay, flushes the extents that they
 * adopt, writes the overlay as one journal record with one flush, publishes the state, and only
 * then reports the results. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/mem.h"
#include "engine/local/local_internal.h"
#include "engine/wait.h"

enum {
    BATCH_BYTES_MAX = 16 << 20,
    /* An event loop may wait for a flush if recent flushes took no longer than this. */
    FLUSH_HERE_US_MAX = 500,
};

/* The function of an update that changes nothing: it is done when everything before it is durable.
 * The argument is NULL or a struct quiesced_job. */
static struct err nothing_to_do(struct txn *t, void *arg)
{
    (void)t;
    (void)arg;
    return OK;
}

struct turn {
    struct engine_update *first;
    struct engine_update *past;          /* the first update that is left for the next turn */
    struct engine_update *first_written; /* the first update whose result depends on the commit */
    bool flush;
    int64_t began_us, began_cpu_us;
};

static struct err make_durable_timed(struct local_engine *e, const struct turn *turn)
{
    enum { OLD_WEIGHT = 3 };
    int64_t begun_us = clock_mono_us();
    struct err error = durable_make(e, turn->flush);
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
        reclaim_add(e, &e->batch.dropped[i]);
    }
}

/* Runs updates until the batch is large enough. */
static void run_updates(struct local_engine *e, struct turn *turn, struct engine_update *first)
{
    struct engine_update *u = first;
    for (; u != NULL && e->batch.bytes < BATCH_BYTES_MAX; u = u->next) {
        batch_run(e, u);
        if (turn->first_written == NULL && e->batch.overlay.root != NULL)
            turn->first_written = u;
        bool durable = u->ack == ENGINE_DURABLE && !e->relaxed;
        if (u->fn == nothing_to_do || durable)
            turn->flush = true;
        if (u->fn != nothing_to_do && durable)
            atomic_store_explicit(&e->flush_asked_us, turn->began_us, memory_order_relaxed);
    }
    turn->past = u;
}

static struct turn run_turn(struct local_engine *e, struct engine_update *first)
{
    assert(first != NULL);
    assert(e->batch.overlay.root == NULL && e->batch.fresh_count == 0);
    struct turn turn = {
        .first = first, .began_us = clock_mono_us(), .began_cpu_us = clock_thread_us()};
    atomic_store_explicit(&e->turn_began_us, turn.began_us, memory_order_relaxed);
    batch_look_for_room(e);
    run_updates(e, &turn, first);
    return turn;
}

/* Fails all updates from the first one that wrote a row. Updates after it that failed on their own
 * are included, because they may have seen rows that are rolled back now. Flushes fail, too. */
static void fail_turn(const struct turn *turn, struct err error)
{
    assert(err_is(error));
    bool hangs_on_it = false;
    for (struct engine_update *u = turn->first; u != turn->past; u = u->next) {
        hangs_on_it = hangs_on_it || u == turn->first_written;
        if (hangs_on_it || u->fn == nothing_to_do)
            u->result = error;
    }
}

/* Calls `done` for the updates of the turn. Returns how many they were. */
static size_t end_turn(struct local_engine *e, const struct turn *turn)
{
    uint64_t done = 0;
    size_t count = 0;
    for (struct engine_update *u = turn->first; u != turn->past; u = u->next)
        done += err_is(u->result) ? 0 : 1;
    /* First, so that an answered client finds its update counted. */
    atomic_fetch_add(&e->updates, done);
    for (struct engine_update *u = turn->first, *next; u != turn->past; u = next) {
        next = u->next; /* done may free u */
        u->done(u);
        count++;
    }
    histogram_add(&e->commit_updates, HISTOGRAM_COUNTS, count);
    return count;
}

/* Records how long the turn occupied the committer, and how much CPU time it used. */
static void count_turn(struct local_engine *e, const struct turn *turn)
{
    uint64_t took_us = (uint64_t)(clock_mono_us() - turn->began_us);
    uint64_t cpu_us = (uint64_t)(clock_thread_us() - turn->began_cpu_us);
    histogram_add(&e->turn_us, HISTOGRAM_TIMES_US, took_us);
    histogram_add(&e->turn_cpu_us, HISTOGRAM_TIMES_US, cpu_us);
    atomic_store_explicit(&e->turn_began_us, 0, memory_order_relaxed);
}

static void commit_turn(struct local_engine *e, struct turn *turn)
{
    bool wrote = e->batch.overlay.root != NULL;
    if (!wrote && !turn->flush)
        return;
    struct err error = wrote || durable_is_behind(e) ? make_durable_timed(e, turn) : OK;
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
    reclaim_wake(e);
}

/* Runs the jobs that waited until everything is durable. */
static void run_rests(struct local_engine *e, const struct turn *turn)
{
    for (struct engine_update *u = turn->first; u != turn->past; u = u->next) {
        const struct quiesced_job *rest = u->fn == nothing_to_do ? u->arg : NULL;
        if (rest != NULL && !err_is(u->result))
            u->result = fold_rows(e);
        if (rest != NULL && !err_is(u->result))
            u->result = rest->run(e, rest->arg);
    }
}

/* Starts RocksDB tables. While the store is open, only this function does, because everything is
 * durable here. */
static void fill_tables(struct local_engine *e)
{
    if (!rows_many_fresh(&e->rows))
        return;
    if (durable_is_behind(e) && err_is(durable_make(e, true)))
        return; /* logged; the next update that flushes reports the error */
    if (err_is(fold_rows(e)))
        return;
    (void)rows_switch(&e->rows); /* logged; if a table cannot be written, later writes fail */
}

static void *commit_loop(void *arg)
{
    struct local_engine *e = arg;
    struct engine_update *queued;
    /* By default RocksDB counts every key comparison of each thread. The numbers are not used, and
     * counting takes about a tenth of the time to insert a row. */
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
            count_turn(e, &turn);
        }
        gather_updates(e, answered);
    }
    return NULL;
}

/* True if committing this update alone takes little time. The caller acts as the committer. */
static bool is_short_work(const struct local_engine *e, const struct engine_update *u)
{
    bool flushes = u->ack != ENGINE_VISIBLE && !e->relaxed;
    return !e->journal.broken && !journal_needs_file(&e->journal) && !rows_many_fresh(&e->rows) &&
           (!flushes || (e->flush_us <= FLUSH_HERE_US_MAX && e->unsynced_count == 0));
}

/* If the committer is idle, the thread that submits an update may act as the committer. That saves
 * two thread wake-ups, which cost half as much again as the whole commit without its flush. It is
 * done for updates that are only visible, because they usually wait for no disk, and for updates
 * with HINT_ALONE, because their thread has nothing else to do. The committer handles updates that
 * may take longer. */
bool commit_here(struct local_engine *e, struct engine_update *u)
{
    bool waits_for_nobody = u->ack == ENGINE_VISIBLE || (u->hints & HINT_ALONE) != 0;
    if (!waits_for_nobody || !update_queue_step_in(&e->queue))
        return false;
    bool short_work = is_short_work(e, u);
    if (short_work) {
        u->next = NULL;
        struct turn turn = run_turn(e, u);
        commit_turn(e, &turn);
        batch_clear(&e->batch);
        (void)end_turn(e, &turn);
        count_turn(e, &turn);
    }
    update_queue_step_out(&e->queue);
    return short_work;
}

/* ---- life ---- */

struct err commit_start(struct local_engine *e)
{
    assert(!e->committing && !e->read_only);
    batch_clear(&e->batch);
    e->write = rocksdb_writebatch_create();
    int failed = pthread_create(&e->committer, NULL, commit_loop, e);
    if (failed != 0)
        return err_cause(ERR_IO, failed);
    e->committing = true;
    return OK;
}

/* Saves the row index for the next start, unless the disk is nearly full: then the space is
 * reserved for deletes, and the file would occupy it until the first commit of the next start. */
static void save_row_index(struct local_engine *e)
{
    struct disk_room room;
    uint64_t bytes = row_index_room(e->row_index) * sizeof(uint64_t);
    (void)row_index_fetch_saved(e->row_index);
    if (!err_is(local_disk_room(e, &room)) && room.free >= room.reserve + bytes)
        row_index_save(e->row_index, e->folder, &e->journal.end);
}

/* Makes visible updates durable, and flushes all rows to tables, so that the next start has nothing
 * to recover. */
static void commit_last(struct local_engine *e)
{
    batch_clear(&e->batch);
    struct err error = durable_is_behind(e) ? durable_make(e, true) : OK;
    uint64_t tail = segments_seal(&e->segments);
    if (!err_is(error) && tail != e->tail_written)
        error = durable_write_rows(e, true);
    if (!err_is(error))
        error = fold_rows(e);
    if (!err_is(error))
        error = rows_flush(&e->rows);
    if (err_is(error)) {
        log_line(LOG_ERROR, "the store could not be closed cleanly");
        return;
    }
    save_row_index(e);
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

struct err local_run_quiesced(struct local_engine *e, struct quiesced_job *rest)
{
    assert(rest->run != NULL);
    return engine_update_wait(&e->base, STR(""), nothing_to_do, rest);
}
