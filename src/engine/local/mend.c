/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery from a failed flush of the journal, after which the content of the disk is unknown.
 * RocksDB stores everything that views have seen, and the journal continues in a new file. */
#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/local/local_internal.h"

/* Saves a large value or body that was visible and may not be on the disk: if the row still has
 * it, RocksDB stores it inline. */
static struct err save_large(struct local_engine *e, const struct record_entry *entry)
{
    struct buf stored = buf_heap();
    struct value_ref now;
    bool found;
    uint64_t hash = row_cache_hash(entry->key);
    row_cache_renew(e->cache, entry->key, hash, STR_NONE);
    row_index_drop(e->row_index, hash);
    struct err error = state_read_small(e->published, entry->key, &stored, &found);
    if (!err_is(error) && found && value_is_elsewhere(buf_str(&stored), &now) &&
        now.file == entry->ref.file && now.offset == entry->ref.offset) {
        size_t n = value_gathered_bytes(buf_str(&stored), &now);
        char *bytes = mem_alloc(n);
        error = value_gather(&e->journal, buf_str(&stored), ENGINE_WAIT, bytes);
        if (!err_is(error))
            fold_put_stored(e->write, entry->key, (struct str){bytes, n});
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
        if (record_entry_in_journal(&entry))
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
    /* Nothing that is read before the next commit may be cached: the old file may be collected
     * while a cached row still refers to it. */
    publish_announce(e, e->commit + 1);
    struct err error = OK;
    while (!err_is(error) && w.next < j->end.offset)
        error = journal_walk_next(&w) ? save_record(e, &w) : err_new(ERR_CORRUPT);
    journal_walk_release(&w, j);
    return error;
}

/* Writes everything visible to RocksDB's tables and continues the journal in a new file. The
 * bytes behind the last good record of the old file are never read again. */
struct err mend_journal(struct local_engine *e)
{
    if (!e->journal.broken)
        return OK;
    TRY(commit_sync_extents(e));
    TRY(fold_rows(e));
    struct journal_position position = journal_mend_position(&e->journal);
    rocksdb_writebatch_clear(e->write);
    TRY(save_visible(e));
    fold_put_position(e->write, &position);
    TRY(rows_write(&e->rows, e->write));
    TRY(rows_flush(&e->rows));
    journal_mended(&e->journal);
    e->applied = e->folded = position;
    publish_state(e, state_new(&e->rows, e->commit, &e->readers));
    return OK;
}

/* The record may be on the disk all the same, and replay would apply it. So its updates are
 * refused only once it is certain that replay will not. */
struct err mend_refuse(struct local_engine *e, struct err why)
{
    assert(err_is(why));
    if (!e->journal.broken || !err_is(mend_journal(e)))
        return why;
    return err_cause(ERR_UNKNOWN_OUTCOME, why.cause);
}
