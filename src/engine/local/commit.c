/* SPDX-License-Identifier: Apache-2.0 */
/* The committer: runs updates one after the other over one overlay, makes their extents durable,
 * writes the overlay with one sync, publishes the state, and only then says so. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/mem.h"
#include "engine/local/local_internal.h"
#include "engine/wait.h"

enum {
    BATCH_BYTES_MAX = 16 << 20,
    /* Flushes have lately taken no longer than this: an event loop may wait for one. */
    FLUSH_HERE_US_MAX = 500,
};

/* Changes nothing, and is done when all before it is durable. The argument, if there is one, is a
 * struct quiesced_job. */
static struct err nothing_to_do(struct txn *t, void *arg)
{
    (void)t;
    (void)arg;
    return OK;
}

struct turn {
    struct engine_update *first;
    struct engine_update *past;          /* the first that is left for the next turn */
    struct engine_update *first_written; /* the first whose outcome hangs on the commit */
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
        if (u->fn == nothing_to_do || (u->ack == ENGINE_DURABLE && !e->relaxed))
            turn->flush = true;
    }
    turn->past = u;
}

static struct turn run_turn(struct local_engine *e, struct engine_update *first)
{
    struct turn turn = {
        .first = first, .began_us = clock_mono_us(), .began_cpu_us = clock_thread_us()};
    atomic_store_explicit(&e->turn_began_us, turn.began_us, memory_order_relaxed);
    batch_look_for_room(e);
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
    return count;
}

/* How long others had to wait for it, and how much of that was work. */
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

/* Runs what waited for all to be durable. */
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

/* Only here, with nothing half durable, do rows go to tables while the store is open. */
static void fill_tables(struct local_engine *e)
{
    if (!rows_many_fresh(&e->rows))
        return;
    if (durable_is_behind(e) && err_is(durable_make(e, true)))
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
            count_turn(e, &turn);
        }
        gather_updates(e, answered);
    }
    return NULL;
}

/* Whether a commit of this update alone takes little time. The caller acts for the committer. */
static bool is_short_work(const struct local_engine *e, const struct engine_update *u)
{
    bool flushes = u->ack != ENGINE_VISIBLE && !e->relaxed;
    return !e->journal.broken && !journal_needs_file(&e->journal) && !rows_many_fresh(&e->rows) &&
           (!flushes || (e->flush_us <= FLUSH_HERE_US_MAX && e->unsynced_count == 0));
}

/* An update that is only to be visible waits for no disk as a rule, and one with HINT_ALONE keeps
 * nobody waiting. When the committer is idle, the thread that submits such an update takes the
 * committer's place: to wake one thread and then the other costs more than all of the commit but
 * its flush, and half as much as that. What would take longer is left to the committer. */
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
static void save_row_index(struct local_engine *e)
{
    struct disk_room room;
    uint64_t bytes = row_index_room(e->row_index) * sizeof(uint64_t);
    (void)row_index_fetch_saved(e->row_index);
    if (!err_is(local_disk_room(e, &room)) && room.free >= room.reserve + bytes)
        row_index_save(e->row_index, e->folder, &e->journal.end);
}

/* Makes visible updates durable, and records that the next start has nothing to recover. */
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
    return engine_update_wait(&e->base, STR(""), nothing_to_do, rest);
}
