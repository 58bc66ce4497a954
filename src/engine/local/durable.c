/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a batch durable: flushes the extents that its rows name, then writes one journal record and
 * flushes it. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/mem.h"
#include "engine/local/local_internal.h"

/* ---- extents ---- */

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
    else if (!goes_to_journal(row, &value, &large) && row_value(row).p[0] != VALUE_HERE)
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

/* Builds the record. *tail is set to the tail that it names. */
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

/* Flushes the record. If the flush fails, the record is discarded, as if it had never been
 * written. */
static struct err flush_record(struct local_engine *e)
{
    int64_t begun_us = clock_mono_us();
    struct err error = journal_flush(&e->journal);
    histogram_add(&e->journal_flush_us, HISTOGRAM_TIMES_US, (uint64_t)(clock_mono_us() - begun_us));
    if (!err_is(error))
        return OK;
    journal_leave_record(&e->journal);
    return mend_refuse(e, error);
}

/* While the disk writes the record, the committer prepares its rows for views and, when it is due,
 * folds rows of earlier commits into RocksDB; it would wait for about twice that time anyway. If
 * RocksDB refuses the rows, they stay in the generations, and the next commit waits until it
 * accepts them. */
struct err durable_write_rows(struct local_engine *e, bool flush)
{
    assert(!flush || e->unsynced_count == 0);
    struct journal *j = &e->journal;
    uint64_t tail;
    TRY(mend_journal(e));
    if (e->fold_failed)
        TRY(fold_rows(e));
    if (journal_needs_file(j))
        TRY(commit_sync_extents(e)); /* a flushed record vouches for all extents before it */
    TRY(make_record(e, &tail));
    struct journal_position before = j->end;
    struct journal_position after = journal_record_end(j);
    struct err error = journal_write(j, flush);
    if (err_is(error))
        return mend_refuse(e, error);
    publish_prepare(e);
    fold_when_due(e);
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

/* Flushes extents before the record that names them is written. An update that is only visible
 * waits for neither. If a power cut comes before the next flush, the next start checks the extents
 * of each record that no flush covers, and stops at the first record with an incomplete extent. A
 * flush without rows writes a record that claims the earlier extents: they may be dropped and
 * punched out next. If bytes that views have seen could not be flushed, nothing may become durable
 * after them, because the next start stops there. */
struct err durable_make(struct local_engine *e, bool flush)
{
    if (e->lost)
        return err_cause(ERR_IO, EIO);
    for (size_t i = 0; i < e->batch.adopted_count; i++)
        commit_note_unsynced(e, e->batch.adopted[i]);
    if (flush)
        TRY(commit_sync_extents(e));
    if (e->batch.overlay.root != NULL || (flush && e->unvouched))
        return durable_write_rows(e, flush);
    TRY(mend_journal(e));
    return journal_flush(&e->journal);
}

bool durable_is_behind(struct local_engine *e)
{
    return e->unsynced_count > 0 || e->lost || e->journal.broken ||
           e->journal.durable_sequence < e->journal.end.sequence;
}
