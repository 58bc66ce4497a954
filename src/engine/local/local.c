/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/local.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/mem.h"
#include "engine/hop.h"
#include "engine/local/folder.h"
#include "engine/local/local_internal.h"

enum {
    FIRST_COMMIT = 1, /* the number of the state that a run begins with */
    CACHE_BYTES_DEFAULT = 64 << 20,
    CACHE_ROWS_PART = 3,
    CACHE_PLACES_PART = 1,
    PLACES_BYTES_MAX = 32 << 20, /* of four million rows */
    /* So many that most of what goes soon is gone, and so few that a search among them is short. */
    FOLD_ROWS = 1024,
};

static struct err view_of(struct local_txn *t, engine_fn *fn, void *arg)
{
    struct local_engine *e = t->engine;
    t->batch = e->read_only ? &e->batch : NULL; /* what a journal has that may not be applied */
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

struct local_hop {
    struct hop_source base;
    struct state *state;
    struct journal *journal;
    struct walk walk;
    struct state_row row; /* the one last asked for */
    struct buf large;
};

static struct err local_hop_seek(struct hop_source *s, struct str at, struct str *found)
{
    struct local_hop *hop = (struct local_hop *)(void *)s;
    walk_seek(&hop->walk, at);
    return walk_key(&hop->walk, found);
}

static struct err local_hop_get(struct hop_source *s, struct str key, struct str *value)
{
    struct local_hop *hop = (struct local_hop *)(void *)s;
    state_row_release(&hop->row);
    TRY(state_read(hop->state, ENGINE_WAIT, key, &hop->row));
    *value = STR_NONE;
    if (!str_given(hop->row.stored))
        return OK;
    return value_load(hop->journal, hop->row.stored, ENGINE_WAIT, &hop->large, value);
}

static struct err local_partitions(struct engine *engine, const struct partition_walk *walk)
{
    static const char first[] = {SPACE_ROWS};
    static const char past[] = {SPACE_ROWS + 1};
    struct local_hop hop = {.base = {local_hop_seek, local_hop_get},
                            .state = local_state(local_of(engine)),
                            .journal = &local_of(engine)->journal};
    walk_init(&hop.walk, hop.state, ENGINE_WAIT, (struct str){first, 1}, (struct str){past, 1});
    struct err result = hop_partitions(&hop.base, walk);
    state_row_release(&hop.row);
    walk_release(&hop.walk);
    buf_release(&hop.large);
    state_put(hop.state);
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
        reap_unpinned(e);
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
    out->held_us = began_us == 0 ? 0 : clock_mono_us() - began_us;
    out->queued = update_queue_length(&e->queue);
    out->has_disk = true;
    out->journal_bytes = tally_read(&e->journal_written);
    segments_usage(&e->journal.files, &out->journal_files, &out->journal_file_bytes);
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
    reap_release(&e->reaper);
    pins_release(&e->pins);
    pins_release(&e->readers);
    collect_release(&e->collector);
    learn_release(&e->learner);
    row_cache_free(e->cache);
    row_places_free(e->places);
    verified_free(e->verified);
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
    reap_stop(e);
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
};

static uint64_t cache_share(uint64_t cache_bytes, uint64_t eighths)
{
    return (cache_bytes == 0 ? CACHE_BYTES_DEFAULT : cache_bytes) / 8 * eighths;
}

static uint64_t places_share(uint64_t cache_bytes)
{
    uint64_t share = cache_share(cache_bytes, CACHE_PLACES_PART);
    return share < PLACES_BYTES_MAX ? share : PLACES_BYTES_MAX;
}

/* Rows get CACHE_ROWS_PART eighths of the memory, their places up to CACHE_PLACES_PART, RocksDB's
 * blocks the rest. */
static uint64_t blocks_share(uint64_t cache_bytes)
{
    return cache_share(cache_bytes, 8 - CACHE_ROWS_PART) - places_share(cache_bytes);
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
    e->places = row_places_new(places_share(options->cache_bytes), FIRST_COMMIT);
    e->verified = verified_new();
    pins_init(&e->pins);
    pins_advance(&e->pins, FIRST_COMMIT);
    pins_init(&e->readers);
    pins_advance(&e->readers, FIRST_COMMIT);
    reap_init(&e->reaper);
    collect_init(&e->collector);
    learn_init(&e->learner);
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

/* Raises *next past the newest segment that a row of the space names. A garbage row may outlive its
 * segment, and must never meet a new one of the same name. */
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
    /* Also past those that are gone: one that came before the tail would not be cleared up. */
    if (next < e->tail_written)
        next = e->tail_written;
    e->last_stamp = (int64_t)stamp;
    struct segments_options options = {.first_open_id = e->tail_written,
                                       .next_id_min = next,
                                       .file_bytes =
                                           segment_bytes == 0 ? SEGMENT_BYTES_MAX : segment_bytes};
    return init_segments(e, options);
}

/* What is replayed may name extents. Which segments are open, and which number is free, is known
 * when it has been: so they are looked at first, and opened after that. */
static struct err replay(struct local_engine *e)
{
    TRY(init_segments(e, (struct segments_options){0}));
    struct err error = replay_journal(e);
    segments_release(&e->segments);
    verified_free(e->verified);
    e->verified = verified_new();
    return error;
}

/* The format is raised when RocksDB is open: a start before that may fail, and the next one has to
 * know still what an older program may have left. */
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
        row_places_find_saved(e->places, e->folder, &e->journal.end);
    e->published = state_new(&e->rows, FIRST_COMMIT, &e->readers);
    TRY(local_open_segments(e, o->segment_bytes));
    if (o->read_only)
        return OK;
    collect_soon(e);
    TRY(commit_start(e));
    return reap_start(e, e->tail_written, e->segments.next_id);
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
