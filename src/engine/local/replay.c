/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery: applies the journal's records that RocksDB lacks.
 *
 * Each record states up to which record the journal was known to be durable when it was written.
 * Records up to the newest such mark were acknowledged and must be complete. Records after it
 * may be in any state after a crash; replay ends at the first incomplete one.
 *
 * Records without such a mark are rewritten before they are flushed. If a flush of the previous
 * run failed, the kernel may hold the bytes only in memory and consider them written, so
 * flushing them again would do nothing. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/log.h"
#include "core/mem.h"
#include "engine/local/local_internal.h"

struct replay {
    struct local_engine *engine;
    struct journal *journal;
    struct journal_position position; /* applied up to here */
    uint64_t extents_durable;         /* the newest record whose extents were flushed */
    uint64_t durable;                 /* the newest record that was known to be durable */
    uint64_t applied;
    bool ended; /* past the last complete record of a file */
    struct cut *cuts;
    size_t cut_count;
    struct extent *extents; /* applied extents that no flush covers */
    size_t extent_count;
    size_t extent_capacity;
};

/* Where the last complete record of a file ends. What follows is truncated, so that no later
 * start takes it for a record, but only after it is clear that no durable record is missing. */
struct cut {
    uint64_t file;
    uint64_t offset;
    uint64_t unsure; /* no flush covers the bytes between here and `offset` */
};

/* ---- where RocksDB is ---- */

static struct err read_position(struct local_engine *e, struct journal_position *position)
{
    struct buf stored = buf_heap();
    struct str value = STR_NONE;
    bool found = false;
    struct state *s = state_new(&e->rows, 0, NULL);
    struct err error = state_read_small(s, KEY_JOURNAL, &stored, &found);
    state_put(s);
    if (!err_is(error) && found) {
        if (!value_is_here(buf_str(&stored), &value) || !journal_position_read(value, position))
            error = err_new(ERR_CORRUPT);
    }
    buf_release(&stored);
    return error;
}

/* ---- files ---- */

/* Sets *there to false if the file holds nothing. */
static struct err open_file(struct replay *r, uint64_t file, struct journal_walk *w, bool *there)
{
    bool blank;
    TRY(journal_file_blank(r->journal, file, &blank));
    *there = !blank;
    if (blank)
        return OK;
    uint64_t offset = file == r->position.file ? r->position.offset : 0;
    return journal_walk_init(w, r->journal, file, offset);
}

/* ---- first: what must be there ---- */

static struct err find_durable(struct replay *r, uint64_t file)
{
    struct journal_walk w;
    bool there;
    TRY(open_file(r, file, &w, &there));
    if (!there)
        return OK;
    while (journal_walk_next(&w) || journal_walk_find(&w)) {
        if (w.head.durable_sequence > r->durable)
            r->durable = w.head.durable_sequence;
        if (w.head.extents_durable && w.head.sequence > r->extents_durable)
            r->extents_durable = w.head.sequence;
    }
    journal_walk_release(&w, r->journal);
    return OK;
}

/* ---- then: applying ---- */

static void stage_rocksdb(rocksdb_writebatch_t *batch, const struct record_entry *entry)
{
    if (entry->kind == ENTRY_DELETE) {
        rocksdb_writebatch_delete(batch, entry->key.p, entry->key.n);
    } else if (record_entry_in_journal(entry)) {
        fold_put_ref(batch, entry->key, &entry->ref, entry->value);
    } else if (entry->kind == ENTRY_STORED) {
        fold_put_stored(batch, entry->key, entry->value);
    } else {
        struct row *row = value_row(entry->key, entry->value);
        fold_put_stored(batch, entry->key, row_value(row));
        row_put(row);
    }
}

static void stage_overlay(struct tree *overlay, const struct record_entry *entry)
{
    if (entry->kind == ENTRY_DELETE)
        tree_insert(overlay, row_new(entry->key, STR_NONE));
    else if (record_entry_in_journal(entry))
        tree_insert(overlay, value_row_in_journal(entry->key, &entry->ref, entry->value));
    else if (entry->kind == ENTRY_STORED)
        tree_insert(overlay, row_new(entry->key, entry->value));
    else
        tree_insert(overlay, value_row(entry->key, entry->value));
}

static struct err apply_record(struct replay *r, struct journal_walk *w)
{
    struct local_engine *e = r->engine;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    struct record_entry entry;
    uint32_t count = 0;
    for (; journal_walk_entry(w, &entry); count++) {
        if (e->read_only)
            stage_overlay(&e->batch.overlay, &entry);
        else
            stage_rocksdb(batch, &entry);
    }
    r->position = (struct journal_position){w->file->id, w->next, w->head.sequence};
    fold_put_position(batch, &r->position);
    struct err error = count == w->head.entry_count ? OK : err_new(ERR_CORRUPT);
    if (!err_is(error) && !e->read_only)
        error = rows_write(&e->rows, batch);
    rocksdb_writebatch_destroy(batch);
    r->applied++;
    return error;
}

static bool value_whole(struct replay *r, const struct value_ref *ref, struct buf *scratch)
{
    buf_clear(scratch);
    char *to = buf_reserve(scratch, ref->length);
    return !err_is(journal_read_value(r->journal, ref, ENGINE_WAIT, to));
}

static void note_extent(struct replay *r, const struct extent *x)
{
    if (r->extent_count == r->extent_capacity) {
        r->extent_capacity = r->extent_capacity == 0 ? 64 : r->extent_capacity * 2;
        r->extents = mem_realloc(r->extents, r->extent_capacity * sizeof *r->extents);
    }
    r->extents[r->extent_count++] = *x;
    commit_note_unsynced(r->engine, x->segment);
}

/* The row of an extent says where it lies. A commit that was only visible did not wait for the
 * extent to be written. Other rows refer to nothing. */
static bool extent_whole(struct replay *r, const struct record_entry *entry)
{
    struct extent x = {0};
    struct extent_row row;
    if (entry->key.p[0] != SPACE_EXTENTS)
        return true;
    if (!extent_key_read(entry->key, &x.segment, &x.offset) || !extent_row_read(entry->value, &row))
        return false;
    x.length = row.length;
    x.check = row.check;
    struct extent_part all = {.length = x.length, .wait = ENGINE_WAIT};
    struct extent_span span;
    if (err_is(local_extent_locate(&r->engine->base, &x, &all, &span)))
        return false;
    note_extent(r, &x);
    return true;
}

static bool entry_whole(struct replay *r, uint64_t sequence, const struct record_entry *entry,
                        struct buf *scratch)
{
    switch (entry->kind) {
    case ENTRY_LARGE:
    case ENTRY_LARGE_BODY:
        return value_whole(r, &entry->ref, scratch);
    case ENTRY_SMALL:
        /* A flushed extent may have been dropped and punched since. */
        return sequence <= r->extents_durable || extent_whole(r, entry);
    case ENTRY_STORED:
    case ENTRY_DELETE:
        break;
    }
    return true;
}

/* True if the record can be applied: its entries are complete, and so is everything they refer
 * to that no flush covers. */
static bool record_whole(struct replay *r, struct journal_walk *w)
{
    if (!journal_walk_load(w))
        return false;
    if (w->head.sequence <= r->durable)
        return true;
    struct record_entry entry;
    struct buf scratch = buf_heap();
    bool whole = true;
    while (whole && journal_walk_entry(w, &entry))
        whole = entry_whole(r, w->head.sequence, &entry, &scratch);
    buf_release(&scratch);
    return whole && journal_walk_load(w); /* rewinds to the first entry */
}

/* Not for records that are not durable yet: there are few of them, and they are handled after all
 * files were read. */
static struct err keep_memory_small(struct replay *r)
{
    struct rows *rows = &r->engine->rows;
    bool durable = r->position.sequence <= r->durable;
    return durable && rows_many_fresh(rows) ? rows_switch(rows) : OK;
}

static void note_cut(struct replay *r, struct cut cut)
{
    r->cuts = mem_realloc(r->cuts, (r->cut_count + 1) * sizeof *r->cuts);
    r->cuts[r->cut_count++] = cut;
}

/* Includes the file's header if nothing else precedes the record. */
static uint64_t unsure_from(const struct journal_walk *w)
{
    return w->offset == JOURNAL_HEAD_BYTES ? 0 : w->offset;
}

static struct err apply_records(struct replay *r, struct journal_walk *w)
{
    struct cut cut = {w->file->id, w->next, UINT64_MAX};
    while (!r->ended) {
        r->ended = !journal_walk_next(w) || w->head.sequence != r->position.sequence + 1 ||
                   !record_whole(r, w);
        if (r->ended)
            break;
        TRY(apply_record(r, w));
        TRY(keep_memory_small(r));
        cut.offset = w->next;
        if (w->head.sequence > r->durable && cut.unsure == UINT64_MAX)
            cut.unsure = unsure_from(w);
    }
    note_cut(r, cut);
    return OK;
}

static struct err apply_file(struct replay *r, uint64_t file)
{
    struct journal_walk w;
    bool there;
    TRY(open_file(r, file, &w, &there));
    if (!there) {
        note_cut(r, (struct cut){file, 0, UINT64_MAX});
        return OK;
    }
    r->ended = false; /* a file ends where the next one continues, or where a crash has cut it
                       * off */
    struct err error = apply_records(r, &w);
    journal_walk_release(&w, r->journal);
    return error;
}

static struct err each_file(struct replay *r, uint64_t from,
                            struct err (*visit)(struct replay *r, uint64_t file))
{
    for (uint64_t id = from; segments_next(&r->journal->files, id, &id); id++)
        TRY(visit(r, id));
    return OK;
}

/* ---- last: what was applied is made durable ---- */

static struct err settle_error(const char *doing)
{
    struct err error = err_cause(errno == ENOSPC || errno == EDQUOT ? ERR_NO_SPACE : ERR_IO, errno);
    log_line(LOG_ERROR, "journal: %s: %s", doing, strerrorname_np(error.cause));
    return error;
}

/* Rewrites the bytes of [from, to) in place. */
static struct err write_again(int fd, uint64_t from, uint64_t to)
{
    enum { PIECE = 256 << 10 };
    char *bytes = mem_alloc(PIECE);
    struct err error = OK;
    while (from < to && !err_is(error)) {
        size_t want = to - from < PIECE ? (size_t)(to - from) : PIECE;
        ssize_t n = pread(fd, bytes, want, (off_t)from);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            break; /* the last record need not fill its space */
        error =
            n < 0 ? settle_error("read") : write_fully(fd, (struct str){bytes, (size_t)n}, from);
        from += (uint64_t)n;
    }
    free(bytes);
    return error;
}

static struct err settle_extents(struct replay *r)
{
    struct segments *segments = &r->engine->segments;
    for (size_t i = 0; i < r->extent_count; i++) {
        const struct extent *x = &r->extents[i];
        struct segment *segment;
        TRY(segments_use(segments, x->segment, 0, &segment));
        struct err error = write_again(segment->fd, x->offset, x->offset + extent_room(x->length));
        segment_put(segments, segment);
        TRY(error);
    }
    return commit_sync_extents(r->engine);
}

/* Truncates the file, and makes the applied part durable if it was not. */
static struct err settle_file(struct replay *r, const struct cut *cut)
{
    struct segment *file;
    TRY(segments_use(&r->journal->files, cut->file, 0, &file));
    struct err error = segment_cut(file, cut->offset);
    if (!err_is(error))
        error = write_again(file->fd, cut->unsure, cut->offset);
    if (!err_is(error))
        error = segment_sync(&r->journal->files, file);
    segment_put(&r->journal->files, file);
    return error;
}

/* The file that RocksDB has reached was flushed up to that position and is kept until RocksDB
 * has moved on. A position without an offset belongs to a file that was never created
 * (journal_mend_position). */
static struct err check_place(struct replay *r)
{
    uint64_t file;
    if (r->position.offset == 0 ||
        (segments_next(&r->journal->files, r->position.file, &file) && file == r->position.file))
        return OK;
    log_line(LOG_ERROR, "journal: file %016llx is missing", (unsigned long long)r->position.file);
    return err_new(ERR_CORRUPT);
}

static struct err replay_files(struct replay *r)
{
    uint64_t from = r->position.file;
    TRY(check_place(r));
    r->durable = r->position.sequence;
    TRY(each_file(r, from, find_durable));
    TRY(each_file(r, from, apply_file));
    if (r->position.sequence < r->durable) {
        log_line(LOG_ERROR, "journal: record %llu is broken, and was durable",
                 (unsigned long long)r->position.sequence + 1);
        return err_new(ERR_CORRUPT);
    }
    if (r->engine->read_only)
        return OK;
    TRY(settle_extents(r));
    for (size_t i = 0; i < r->cut_count; i++)
        TRY(settle_file(r, &r->cuts[i]));
    return OK;
}

struct err replay_journal(struct local_engine *e)
{
    struct replay r = {.engine = e, .journal = &e->journal};
    e->batch.overlay.random = 1;
    TRY(read_position(e, &r.position));
    struct err error = replay_files(&r);
    free(r.cuts);
    free(r.extents);
    TRY(error);
    if (r.applied > 0)
        log_line(LOG_INFO, "journal: %llu commits applied anew", (unsigned long long)r.applied);
    journal_resume(&e->journal, r.position);
    e->applied = e->folded = r.position;
    return OK;
}
