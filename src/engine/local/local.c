/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/local.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/mem.h"
#include "engine/local/folder.h"
#include "engine/local/local_internal.h"
#include "engine/partition_walk.h"

enum {
    FIRST_COMMIT = 1, /* the commit number of the first state of a run */
    CACHE_BYTES_DEFAULT = 64 << 20,
    CACHE_ROWS_PART = 3,
    CACHE_INDEX_PART = 1,
    INDEX_BYTES_MAX = 32 << 20, /* for four million rows */
    /* Large enough that most short-lived rows are gone before, small enough that searching them
     * is fast. */
    FOLD_ROWS = 1024,
};

static struct err view_of(struct local_txn *t, engine_fn *fn, void *arg)
{
    struct local_engine *e = t->engine;
    t->batch = e->read_only ? &e->batch : NULL; /* holds journal rows that a read-only store may
                                                 * not apply */
    struct err result = fn(&t->base, arg);
    local_txn_release(t);
    return result;
}

static struct err local_view(struct engine *engine, struct str partition, enum engine_wait wait,
                             engine_fn *fn, void *arg)
{
    struct local_engine *e = local_of(engine);
    struct state *state = local_state(e);
    struct local_txn t;
    local_txn_init(&t, e, state, partition, wait);
    struct err result = view_of(&t, fn, arg);
    state_put(state);
    return result;
}

static struct err local_view_state(struct engine *engine, struct engine_state *state,
                                   struct str partition, engine_fn *fn, void *arg)
{
    struct local_txn t;
    local_txn_init(&t, local_of(engine), (struct state *)(void *)state, partition, ENGINE_WAIT);
    return view_of(&t, fn, arg);
}

static void local_state_release(struct engine *engine, struct engine_state *state)
{
    (void)engine;
    state_put((struct state *)(void *)state);
}

static void local_submit(struct engine *engine, struct engine_update *u)
{
    struct local_engine *e = local_of(engine);
    if (!e->read_only) {
        if (!commit_here(e, u))
            update_queue_submit(&e->queue, u);
        return;
    }
    u->result = err_cause(ERR_IO, EROFS);
    u->done(u);
}

/* ---- partitions ---- */

struct local_source {
    struct walk_source base;
    struct state *state;
    struct journal *journal;
    struct walk walk;
    struct state_row row; /* the row read last */
    struct buf large;
};

static struct err local_source_seek(struct walk_source *s, struct str at, struct str *found)
{
    struct local_source *source = (struct local_source *)(void *)s;
    walk_seek(&source->walk, at);
    return walk_key(&source->walk, found);
}

static struct err local_source_get(struct walk_source *s, struct str key, struct str *value)
{
    struct local_source *source = (struct local_source *)(void *)s;
    state_row_release(&source->row);
    TRY(state_read(source->state, ENGINE_WAIT, key, &source->row));
    *value = STR_NONE;
    if (!str_given(source->row.stored))
        return OK;
    return value_load(source->journal, source->row.stored, ENGINE_WAIT, &source->large, value);
}

static struct err local_partitions(struct engine *engine, const struct partition_walk *walk)
{
    static const char first[] = {SPACE_ROWS};
    static const char past[] = {SPACE_ROWS + 1};
    struct local_source source = {.base = {local_source_seek, local_source_get},
                                  .state = local_state(local_of(engine)),
                                  .journal = &local_of(engine)->journal};
    walk_init(&source.walk, source.state, ENGINE_WAIT, (struct str){first, 1},
              (struct str){past, 1});
    struct err result = walk_partitions(&source.base, walk);
    state_row_release(&source.row);
    walk_release(&source.walk);
    buf_release(&source.large);
    state_put(source.state);
    return result;
}

/* ---- pins ---- */

static struct engine_pin *local_pin(struct engine *engine)
{
    return pins_take(&local_of(engine)->pins);
}

static void local_unpin(struct engine *engine, struct engine_pin *pin)
{
    struct local_engine *e = local_of(engine);
    if (pins_drop(&e->pins, pin))
        reclaim_unpinned(e);
}

/* ---- life ---- */

static void local_usage(struct engine *engine, struct engine_usage *out)
{
    struct local_engine *e = local_of(engine);
    segments_usage(&e->segments, &out->segments, &out->segment_bytes);
    out->updates = atomic_load(&e->updates);
    out->commits = atomic_load(&e->commits) - FIRST_COMMIT;
}

static uint64_t rows_property(const struct rows *rows, const char *name)
{
    uint64_t value = 0;
    return rocksdb_property_int(rows->db, name, &value) == 0 ? value : 0;
}

static void local_stats(struct engine *engine, struct engine_stats *out)
{
    struct local_engine *e = local_of(engine);
    struct disk_room room = {0};
    int64_t began_us = atomic_load_explicit(&e->turn_began_us, memory_order_relaxed);
    out->commit_updates = &e->commit_updates;
    out->commit_us = &e->commit_us;
    out->flush_us = &e->journal_flush_us;
    out->turn_us = &e->turn_us;
    out->turn_cpu_us = &e->turn_cpu_us;
    out->held_us = began_us == 0 ? 0 : clock_mono_us() - began_us;
    out->queued = update_queue_length(&e->queue);
    out->has_disk = true;
    out->journal_bytes = tally_read(&e->journal_written);
    segments_usage(&e->journal.files, &out->journal_files, &out->journal_file_bytes);
    out->segment_dead_ranges = segments_wasted(&e->segments);
    out->cache_bytes = atomic_load(&e->cache->bytes);
    out->cache_bytes_max = e->cache->bytes_max;
    row_cache_stats(e->cache, &out->cache_hits, &out->cache_misses);
    out->collected_files = tally_read(&e->collected_files);
    out->collected_bytes = tally_read(&e->collected_bytes);
    out->table_bytes = rows_property(&e->rows, "rocksdb.total-sst-files-size");
    out->pending_compaction_bytes =
        rows_property(&e->rows, "rocksdb.estimate-pending-compaction-bytes");
    out->compactions_running = rows_property(&e->rows, "rocksdb.num-running-compactions");
    if (!err_is(local_disk_room(e, &room))) {
        out->disk_free = room.free;
        out->disk_reserve = room.reserve;
    }
    out->room_short = atomic_load(&e->room_short);
    out->lost = atomic_load(&e->lost_seen);
}

static void local_free(struct local_engine *e)
{
    reclaim_release(&e->reclaimer);
    pins_release(&e->pins);
    pins_release(&e->readers);
    collect_release(&e->collector);
    warmup_release(&e->warmup);
    row_cache_free(e->cache);
    row_index_free(e->row_index);
    checksum_cache_free(e->checksums);
    update_queue_release(&e->queue);
    pthread_mutex_destroy(&e->publish_lock);
    if (e->lock_fd >= 0)
        (void)close(e->lock_fd);
    free(e->folder);
    free(e);
}

static void local_close(struct engine *engine)
{
    struct local_engine *e = local_of(engine);
    reclaim_stop(e);
    commit_stop(e);
    if (e->published != NULL)
        state_put(e->published);
    if (e->segments.folder_fd >= 0)
        segments_release(&e->segments);
    journal_release(&e->journal);
    rows_close(&e->rows);
    local_free(e);
}

static const struct engine_ops LOCAL_OPS = {
    .view = local_view,
    .view_state = local_view_state,
    .state_release = local_state_release,
    .submit = local_submit,
    .flush = local_flush,
    .partitions = local_partitions,
    .extent_begin = local_extent_begin,
    .extent_discard = local_extent_discard,
    .extent_locate = local_extent_locate,
    .extent_read = local_extent_read,
    .pin = local_pin,
    .unpin = local_unpin,
    .usage = local_usage,
    .stats = local_stats,
    .close = local_close,
    .records = true,
};

static uint64_t cache_share(uint64_t cache_bytes, uint64_t eighths)
{
    return (cache_bytes == 0 ? CACHE_BYTES_DEFAULT : cache_bytes) / 8 * eighths;
}

static uint64_t row_index_share(uint64_t cache_bytes)
{
    uint64_t share = cache_share(cache_bytes, CACHE_INDEX_PART);
    return share < INDEX_BYTES_MAX ? share : INDEX_BYTES_MAX;
}

/* The row cache gets CACHE_ROWS_PART eighths of the memory, the row index up to
 * CACHE_INDEX_PART, and RocksDB's block cache the rest. */
static uint64_t blocks_share(uint64_t cache_bytes)
{
    return cache_share(cache_bytes, 8 - CACHE_ROWS_PART) - row_index_share(cache_bytes);
}

static struct local_engine *local_new(const struct engine_local_options *options)
{
    struct local_engine *e = MEM_NEW(struct local_engine);
    e->base.ops = &LOCAL_OPS;
    e->clock = options->clock;
    e->relaxed = options->relaxed;
    e->read_only = options->read_only;
    e->folder = folder_path(options->folder, ".");
    e->lock_fd = -1;
    e->segments.folder_fd = -1;
    e->journal.files.folder_fd = -1;
    e->fold_rows = options->fold_rows == 0 ? FOLD_ROWS : options->fold_rows;
    e->commit = FIRST_COMMIT;
    atomic_init(&e->commits, FIRST_COMMIT);
    atomic_init(&e->durable_commit, FIRST_COMMIT);
    e->cache = row_cache_new(cache_share(options->cache_bytes, CACHE_ROWS_PART), FIRST_COMMIT);
    e->row_index = row_index_new(row_index_share(options->cache_bytes), FIRST_COMMIT);
    e->checksums = checksum_cache_new();
    pins_init(&e->pins);
    pins_advance(&e->pins, FIRST_COMMIT);
    pins_init(&e->readers);
    pins_advance(&e->readers, FIRST_COMMIT);
    reclaim_init(&e->reclaimer);
    collect_init(&e->collector);
    warmup_init(&e->warmup);
    update_queue_init(&e->queue);
    pthread_mutex_init(&e->publish_lock, NULL);
    return e;
}

static struct err read_number(struct state *s, struct str key, uint64_t *out)
{
    struct buf stored = buf_heap();
    struct str value;
    bool found = false;
    struct err e = state_read_small(s, key, &stored, &found);
    if (!err_is(e) && found) {
        struct reader r = reader_of(value_is_here(buf_str(&stored), &value) ? value : STR_NONE);
        *out = read_le64(&r);
        if (!reader_done(&r))
            e = err_new(ERR_CORRUPT);
    }
    buf_release(&stored);
    return e;
}

/* Raises *next past the newest segment that a row of the key space names. A garbage row may
 * outlive its segment and must never refer to a new one with the same number. */
static struct err pass_segments_named(struct state *s, char space, uint64_t *next)
{
    char first[] = {space};
    char past[] = {(char)(space + 1)};
    struct walk walk;
    struct str key;
    uint64_t segment;
    uint64_t offset;
    walk_init(&walk, s, ENGINE_WAIT, (struct str){first, 1}, (struct str){past, 1});
    walk_seek_before(&walk, walk.past);
    struct err e = walk_key(&walk, &key);
    if (!err_is(e) && str_given(key)) {
        if (!extent_key_read(key, &segment, &offset))
            e = err_new(ERR_CORRUPT);
        else if (segment >= *next)
            *next = segment + 1;
    }
    walk_release(&walk);
    return e;
}

static struct err init_segments(struct local_engine *e, struct segments_options options)
{
    char *path = folder_path(e->folder, "segments");
    options.folder = path;
    options.suffix = ".seg";
    options.read_only = e->read_only;
    struct err error = segments_init(&e->segments, &options);
    free(path);
    return error;
}

static struct err local_open_segments(struct local_engine *e, uint64_t segment_bytes)
{
    uint64_t stamp = 0;
    uint64_t next = 1;
    TRY(read_number(e->published, KEY_STAMP, &stamp));
    TRY(read_number(e->published, KEY_TAIL, &e->tail_written));
    TRY(pass_segments_named(e->published, SPACE_EXTENTS, &next));
    TRY(pass_segments_named(e->published, SPACE_GARBAGE, &next));
    /* Also past deleted segments: one before the tail would never be recovered. */
    if (next < e->tail_written)
        next = e->tail_written;
    e->last_stamp = (int64_t)stamp;
    struct segments_options options = {.first_open_id = e->tail_written,
                                       .next_id_min = next,
                                       .file_bytes =
                                           segment_bytes == 0 ? SEGMENT_BYTES_MAX : segment_bytes};
    return init_segments(e, options);
}

/* Replayed records may name extents. Only after replay is it known which segments are open and
 * which number is free. So the segments are scanned first and opened afterwards. */
static struct err replay(struct local_engine *e)
{
    TRY(init_segments(e, (struct segments_options){0}));
    struct err error = replay_journal(e);
    segments_release(&e->segments);
    checksum_cache_free(e->checksums);
    e->checksums = checksum_cache_new();
    return error;
}

/* Raise the format only after RocksDB has opened: an earlier start may fail, and the next one
 * must still know which format an older program left. */
static struct err open_rows(struct local_engine *e, const struct engine_local_options *o)
{
    uint64_t format = 0;
    enum folder_use use = o->read_only ? FOLDER_READ : o->existing ? FOLDER_WRITE : FOLDER_MAKE;
    TRY(folder_open(o->folder, use, &e->lock_fd, &format));
    char *path = folder_path(o->folder, "rows");
    struct rows_options options = {.path = path,
                                   .cache_bytes = blocks_share(o->cache_bytes),
                                   .read_only = o->read_only,
                                   .manifest_grew = folder_grew_manifests(format)};
    struct err error = rows_open(&e->rows, &options);
    free(path);
    TRY(error);
    return o->read_only ? OK : folder_raise_format(o->folder, format);
}

static struct err local_open_parts(struct local_engine *e, const struct engine_local_options *o)
{
    TRY(open_rows(e, o));
    char *path = folder_path(o->folder, "journal");
    struct err error = journal_init(&e->journal, path, o->journal_file_bytes, o->read_only);
    free(path);
    TRY(error);
    TRY(replay(e));
    if (!o->read_only)
        row_index_find_saved(e->row_index, e->folder, &e->journal.end);
    e->published = state_new(&e->rows, FIRST_COMMIT, &e->readers);
    TRY(local_open_segments(e, o->segment_bytes));
    if (o->read_only)
        return OK;
    collect_soon(e);
    TRY(commit_start(e));
    return reclaim_start(e, e->tail_written, e->segments.next_id);
}

struct err engine_local_open(const struct engine_local_options *options, struct engine **out)
{
    struct local_engine *e = local_new(options);
    struct err error = local_open_parts(e, options);
    if (err_is(error))
        local_close(&e->base);
    else
        *out = &e->base;
    return error;
}
