/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/rows.h"

#include <assert.h>
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/log.h"
#include "core/mem.h"
#include "engine/local/manifest.h"

enum {
    /* Bounds what replay has to apply after a crash, and what an idle server keeps in memory. */
    FRESH_BYTES_MAX = 8 << 20,
    /* More than is ever in memory, even after a batch of the smallest rows, because RocksDB must
     * not start a table by itself (see rows_switch). It is also the free space that RocksDB
     * requires on a disk that was full before it tries again. */
    WRITE_BUFFER_BYTES = 64 << 20,
    LEVEL0_FILES = 6,
    LEVEL1_BYTES = 64 << 20,
    TABLE_BYTES = 16 << 20,
    MANIFEST_AHEAD_BYTES = 64 << 10, /* disk space that a MANIFEST allocates before it is written */
    OPEN_FILES_MAX = 512,
    BLOOM_BITS = 10,
    BLOCK_BYTES = 4 << 10,
    LEVELS = 7,
    UNPACKED_LEVELS = 3,
    BACKGROUND_JOBS = 2,
    LOG_LEVEL_NONE = 6, /* above the highest level */
    READ_TIER_MEMORY = 1,
    READ_TIER_PERSISTED = 2,
    GONE_MAX = 16, /* tombstones that a brief iterator skips before it gives up */
};

/* Size of the filter over the memtable, as a part of it. */
#define FRESH_FILTER_SHARE 0.05

/* RocksDB reports errors only as text. */
static enum err_code rows_error_code(const char *text)
{
    static const struct {
        const char *part;
        enum err_code code;
    } known[] = {
        {"Result incomplete", ERR_WOULD_BLOCK},
        {"No space", ERR_NO_SPACE},
        {"Space limit", ERR_NO_SPACE},
        {"lock ", ERR_STORE_IN_USE},
        {"Corruption", ERR_CORRUPT},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strstr(text, known[i].part) != NULL)
            return known[i].code;
    }
    return ERR_IO;
}

static struct err take_error(const char *doing, char *text, bool logged)
{
    if (text == NULL)
        return OK;
    enum err_code code = rows_error_code(text);
    if (code != ERR_WOULD_BLOCK && logged)
        log_line(LOG_ERROR, "rows: %s: %s", doing, text);
    rocksdb_free(text);
    return err_new(code);
}

struct err rows_error(const char *doing, char *text)
{
    return take_error(doing, text, true);
}

/* ---- opening ---- */

static void rows_tune_tables(rocksdb_options_t *o, rocksdb_cache_t *cache)
{
    rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_cache(t, cache);
    rocksdb_block_based_options_set_block_size(t, BLOCK_BYTES);
    rocksdb_block_based_options_set_filter_policy(t, rocksdb_filterpolicy_create_bloom(BLOOM_BITS));
    rocksdb_block_based_options_set_whole_key_filtering(t, 1);
    rocksdb_block_based_options_set_format_version(t, 5);
    rocksdb_block_based_options_set_data_block_index_type(
        t, rocksdb_block_based_table_data_block_index_type_binary_search_and_hash);
    rocksdb_options_set_block_based_table_factory(o, t);
    rocksdb_block_based_options_destroy(t);
}

/* Young levels are rewritten and read often, so compression starts below them. */
static void rows_tune_packing(rocksdb_options_t *o)
{
    int packing[LEVELS];
    for (int i = 0; i < LEVELS; i++)
        packing[i] = i < UNPACKED_LEVELS ? rocksdb_no_compression : rocksdb_lz4_compression;
    rocksdb_options_set_compression_per_level(o, packing, LEVELS);
}

static void rows_tune_writes(rocksdb_options_t *o)
{
    rocksdb_options_set_write_buffer_size(o, WRITE_BUFFER_BYTES);
    rocksdb_options_set_max_write_buffer_number(o, 3);
    rocksdb_options_set_max_background_jobs(o, BACKGROUND_JOBS);
    /* One thread writes, so concurrent memtable inserts gain nothing. */
    rocksdb_options_set_allow_concurrent_memtable_write(o, 0);
    rocksdb_options_set_memtable_prefix_bloom_size_ratio(o, FRESH_FILTER_SHARE * FRESH_BYTES_MAX /
                                                                WRITE_BUFFER_BYTES);
    rocksdb_options_set_memtable_whole_key_filtering(o, 1);
    rocksdb_options_set_bytes_per_sync(o, 1 << 20);
    /* Level 1 is merged on every compaction, so it is kept at a few times the size of what
     * arrives. */
    rocksdb_options_set_level0_file_num_compaction_trigger(o, LEVEL0_FILES);
    rocksdb_options_set_max_bytes_for_level_base(o, LEVEL1_BYTES);
    rocksdb_options_set_target_file_size_base(o, TABLE_BYTES);
}

static void rows_tune_files(rocksdb_options_t *o, bool read_only)
{
    rocksdb_options_set_create_if_missing(o, !read_only);
    rocksdb_options_set_max_open_files(o, OPEN_FILES_MAX);
    rocksdb_options_set_skip_stats_update_on_db_open(o, 1);
    rocksdb_options_set_skip_checking_sst_file_sizes_on_db_open(o, 1);
    rocksdb_options_set_stats_dump_period_sec(o, 0);
    rocksdb_options_set_stats_persist_period_sec(o, 0);
    rocksdb_options_set_keep_log_file_num(o, 1);
    /* Any size exceeds this limit, so each change of the set of tables writes a new MANIFEST:
     * complete and flushed before CURRENT names it. Nothing is ever appended to the current one,
     * so a power cut cannot tear it. */
    rocksdb_options_set_max_manifest_file_size(o, 1);
    rocksdb_options_set_manifest_preallocation_size(o, MANIFEST_AHEAD_BYTES);
    /* RocksDB's text log stays off: on a full disk a truncated line makes the next one abort the
     * process by an assertion. Failed calls return the same information. */
    rocksdb_options_set_info_log_level(o, LOG_LEVEL_NONE);
    /* An unwritable path keeps RocksDB from creating a log file in a read-only store. */
    if (read_only)
        rocksdb_options_set_db_log_dir(o, "/dev/null");
}

/* Keeps the memtable unflushed when RocksDB is closed: only the committer knows whether all of
 * it is durable. The C API has no call for this option. */
static struct err rows_keep_from_flushing(struct rows *r)
{
    rocksdb_options_t *tuned = rocksdb_options_create();
    char *text = NULL;
    rocksdb_get_options_from_string(r->options, "avoid_flush_during_shutdown=true", tuned, &text);
    rocksdb_options_destroy(r->options);
    r->options = tuned;
    return rows_error("options", text);
}

static struct err rows_set_options(struct rows *r, uint64_t cache_bytes, bool read_only)
{
    r->cache = rocksdb_cache_create_lru(cache_bytes);
    r->options = rocksdb_options_create();
    rows_tune_writes(r->options);
    rows_tune_packing(r->options);
    rows_tune_files(r->options, read_only);
    rows_tune_tables(r->options, r->cache);
    r->write = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(r->write, 1);
    return rows_keep_from_flushing(r);
}

static struct err open_db(struct rows *r, const char *path, bool read_only)
{
    char *text = NULL;
    r->db = read_only ? rocksdb_open_for_read_only(r->options, path, 0, &text)
                      : rocksdb_open(r->options, path, &text);
    return rows_error("open", text);
}

/* RocksDB writes its options to a file at each start. It leaves a temporary file behind because
 * it cannot parse the log level of a disabled log (LOG_LEVEL_NONE). */
static void remove_leftovers(const char *path)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return; /* they are small, and the next start tries again */
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct str name = str_of(entry->d_name);
        if (str_starts(name, STR("OPTIONS-")) && str_ends(name, STR(".dbtmp")))
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    (void)closedir(dir);
}

struct err rows_open(struct rows *r, const struct rows_options *o)
{
    assert(o->path != NULL);
    *r = (struct rows){0};
    struct err e = rows_set_options(r, o->cache_bytes, o->read_only);
    if (!err_is(e))
        e = open_db(r, o->path, o->read_only);
    if (e.code == ERR_CORRUPT && o->manifest_grew && manifest_cut_torn_end(o->path))
        e = open_db(r, o->path, o->read_only);
    if (err_is(e))
        rows_close(r);
    else if (!o->read_only)
        remove_leftovers(o->path);
    return e;
}

void rows_close(struct rows *r)
{
    if (r->db != NULL)
        rocksdb_close(r->db);
    if (r->write != NULL)
        rocksdb_writeoptions_destroy(r->write);
    if (r->options != NULL)
        rocksdb_options_destroy(r->options);
    if (r->cache != NULL)
        rocksdb_cache_destroy(r->cache);
    *r = (struct rows){0};
}

static struct err flush_memory(struct rows *r, bool wait)
{
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    rocksdb_flushoptions_set_wait(options, wait);
    char *text = NULL;
    atomic_store(&r->fresh_bytes, 0);
    rocksdb_flush(r->db, options, &text);
    rocksdb_flushoptions_destroy(options);
    return rows_error("flush", text);
}

struct err rows_flush(struct rows *r)
{
    assert(r->db != NULL);
    return flush_memory(r, true);
}

bool rows_many_fresh(const struct rows *r)
{
    return atomic_load(&r->fresh_bytes) >= FRESH_BYTES_MAX;
}

struct err rows_switch(struct rows *r)
{
    return flush_memory(r, false);
}

bool rows_switched(struct rows *r)
{
    uint64_t tables_to_come = 0;
    return rocksdb_property_int(r->db, "rocksdb.num-immutable-mem-table", &tables_to_come) != 0 ||
           tables_to_come == 0;
}

uint64_t rows_about(const struct rows *r)
{
    uint64_t count = 0;
    (void)rocksdb_property_int(r->db, "rocksdb.estimate-num-keys", &count);
    return count;
}

static uint64_t memory_for(rocksdb_writebatch_t *batch)
{
    size_t bytes;
    (void)rocksdb_writebatch_data(batch, &bytes);
    return bytes + (uint64_t)rocksdb_writebatch_count(batch) * FRESH_ROW_BYTES;
}

void rows_count(struct rows *r, uint64_t bytes)
{
    atomic_fetch_add(&r->fresh_bytes, bytes);
}

struct err rows_write(struct rows *r, rocksdb_writebatch_t *batch)
{
    assert(r->db != NULL);
    TRY(rows_write_counted(r, batch));
    rows_count(r, memory_for(batch));
    return OK;
}

struct err rows_write_counted(struct rows *r, rocksdb_writebatch_t *batch)
{
    char *text = NULL;
    rocksdb_write(r->db, r->write, batch, &text);
    if (text == NULL)
        return OK;
    /* A full disk fails every write, so it is logged only when it begins. */
    int64_t now_ms = clock_mono_ms();
    bool logged = now_ms - atomic_exchange(&r->write_failed_ms, now_ms) >= 1000;
    return take_error("write", text, logged);
}

static void take_slice(rocksdb_pinnableslice_t *slice, struct buf *stored, bool *found)
{
    *found = slice != NULL;
    if (slice == NULL)
        return;
    struct str bytes;
    bytes.p = rocksdb_pinnableslice_value(slice, &bytes.n);
    buf_put(stored, bytes);
    rocksdb_pinnableslice_destroy(slice);
}

struct err rows_read_persisted(struct rows *r, struct str key, struct buf *stored, bool *found)
{
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_read_tier(options, READ_TIER_PERSISTED);
    char *text = NULL;
    take_slice(rocksdb_get_pinned(r->db, options, key.p, key.n, &text), stored, found);
    rocksdb_readoptions_destroy(options);
    return rows_error("read", text);
}

/* ---- states ---- */

static struct snapshot *snapshot_new(struct rows *r)
{
    struct snapshot *s = MEM_NEW(struct snapshot);
    atomic_init(&s->refs, 1);
    s->rows = r;
    s->of = rocksdb_create_snapshot(r->db);
    s->wait = rocksdb_readoptions_create();
    s->nowait = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(s->wait, s->of);
    rocksdb_readoptions_set_snapshot(s->nowait, s->of);
    rocksdb_readoptions_set_read_tier(s->nowait, READ_TIER_MEMORY);
    return s;
}

static void snapshot_put(struct snapshot *s)
{
    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    rocksdb_readoptions_destroy(s->wait);
    rocksdb_readoptions_destroy(s->nowait);
    rocksdb_release_snapshot(s->rows->db, s->of);
    free(s);
}

static struct state *state_over(struct snapshot *below, struct pins *readers, uint64_t commit)
{
    struct state *s = MEM_NEW(struct state);
    atomic_init(&s->refs, 1);
    s->commit = commit;
    s->readers = readers;
    s->pin = readers == NULL ? NULL : pins_take(readers);
    s->below = below;
    return s;
}

struct state *state_new(struct rows *r, uint64_t commit, struct pins *readers)
{
    return state_over(snapshot_new(r), readers, commit);
}

struct state *state_after(const struct state *before, struct tree filling, uint64_t commit)
{
    assert(commit >= before->commit);
    atomic_fetch_add_explicit(&before->below->refs, 1, memory_order_relaxed);
    struct state *s = state_over(before->below, before->readers, commit);
    s->filling = filling;
    s->draining = tree_get(&before->draining);
    return s;
}

struct state *state_switch(const struct state *before)
{
    assert(before->draining.root == NULL);
    struct state *s = state_after(before, (struct tree){0}, before->commit);
    s->draining = tree_get(&before->filling);
    return s;
}

void state_renew_pin(struct state *s)
{
    struct engine_pin *old = s->pin;
    s->pin = pins_take(s->readers);
    (void)pins_drop(s->readers, old);
}

void state_put(struct state *s)
{
    assert(atomic_load_explicit(&s->refs, memory_order_relaxed) > 0);
    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    snapshot_put(s->below);
    tree_put(&s->filling);
    tree_put(&s->draining);
    if (s->pin != NULL)
        (void)pins_drop(s->readers, s->pin);
    free(s);
}

/* ---- both generations as one ---- */

static struct row *fresh_find(const struct state *s, struct str key)
{
    struct row *row = tree_find(&s->filling, key);
    return row != NULL ? row : tree_find(&s->draining, key);
}

/* Returns the row that comes first, or the newer one if both have the same key. Either may be
 * NULL. `sign`: -1 if smaller keys come first, 1 if greater keys do. */
static struct row *fresh_first(struct row *newer, struct row *older, int sign)
{
    if (newer == NULL || older == NULL)
        return newer != NULL ? newer : older;
    return str_cmp(row_key(older), row_key(newer)) * sign > 0 ? older : newer;
}

static struct row *fresh_at_or_after(const struct state *s, struct str key)
{
    return fresh_first(tree_at_or_after(&s->filling, key), tree_at_or_after(&s->draining, key), -1);
}

static struct row *fresh_after(const struct state *s, struct str key)
{
    return fresh_first(tree_after(&s->filling, key), tree_after(&s->draining, key), -1);
}

static struct row *fresh_before(const struct state *s, struct str key)
{
    return fresh_first(tree_before(&s->filling, key), tree_before(&s->draining, key), 1);
}

/* ---- reading ---- */

struct err state_read(struct state *s, enum engine_wait wait, struct str key, struct state_row *out)
{
    assert(out != NULL);
    *out = (struct state_row){STR_NONE, NULL};
    const struct row *row = fresh_find(s, key);
    if (row != NULL) {
        out->stored = row->deleted ? STR_NONE : row_value(row);
        return OK;
    }
    char *text = NULL;
    const struct snapshot *below = s->below;
    out->slice = rocksdb_get_pinned(
        below->rows->db, wait == ENGINE_WAIT ? below->wait : below->nowait, key.p, key.n, &text);
    if (text != NULL)
        return rows_error("read", text);
    if (out->slice != NULL)
        out->stored.p = rocksdb_pinnableslice_value(out->slice, &out->stored.n);
    return OK;
}

void state_row_release(struct state_row *row)
{
    if (row->slice != NULL)
        rocksdb_pinnableslice_destroy(row->slice);
    *row = (struct state_row){STR_NONE, NULL};
}

struct err state_read_small(struct state *s, struct str key, struct buf *stored, bool *found)
{
    assert(found != NULL);
    struct state_row row;
    TRY(state_read(s, ENGINE_WAIT, key, &row));
    *found = str_given(row.stored);
    buf_put(stored, row.stored);
    state_row_release(&row);
    return OK;
}

struct err state_none_between(struct state *s, struct str from, struct str past, bool *none)
{
    assert(none != NULL);
    char *text = NULL;
    const struct row *row = fresh_at_or_after(s, from);
    *none = row == NULL || str_cmp(row_key(row), past) >= 0;
    if (!*none)
        return OK; /* or a tombstone; this is only a quick check */
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(options, s->below->of);
    rocksdb_readoptions_set_iterate_upper_bound(options, past.p, past.n);
    rocksdb_readoptions_set_max_skippable_internal_keys(options, GONE_MAX);
    rocksdb_iterator_t *iterator = rocksdb_create_iterator(s->below->rows->db, options);
    rocksdb_iter_seek(iterator, from.p, from.n);
    *none = !rocksdb_iter_valid(iterator);
    rocksdb_iter_get_error(iterator, &text);
    rocksdb_iter_destroy(iterator);
    rocksdb_readoptions_destroy(options);
    struct err e = rows_error("look", text);
    if (e.code != ERR_WOULD_BLOCK)
        return e;
    *none = false; /* it skipped too many tombstones */
    return OK;
}

/* ---- walks ---- */

static void walk_set_options(struct walk *w, struct state *s, struct str from, struct str past)
{
    *w = (struct walk){.state = s, .from = from, .past = past};
    w->options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(w->options, s->below->of);
    rocksdb_readoptions_set_iterate_lower_bound(w->options, from.p, from.n);
    rocksdb_readoptions_set_iterate_upper_bound(w->options, past.p, past.n);
}

void walk_init(struct walk *w, struct state *s, enum engine_wait wait, struct str from,
               struct str past)
{
    walk_set_options(w, s, from, past);
    if (wait == ENGINE_NOWAIT)
        rocksdb_readoptions_set_read_tier(w->options, READ_TIER_MEMORY);
    w->iterator = rocksdb_create_iterator(s->below->rows->db, w->options);
}

void walk_init_passing(struct walk *w, struct state *s, struct str from, struct str past)
{
    walk_set_options(w, s, from, past);
    rocksdb_readoptions_set_fill_cache(w->options, 0);
    w->iterator = rocksdb_create_iterator(s->below->rows->db, w->options);
}

void walk_init_brief(struct walk *w, struct state *s, struct str from, struct str past)
{
    walk_set_options(w, s, from, past);
    rocksdb_readoptions_set_max_skippable_internal_keys(w->options, GONE_MAX);
    w->iterator = rocksdb_create_iterator(s->below->rows->db, w->options);
}

void walk_release(struct walk *w)
{
    if (w->iterator != NULL)
        rocksdb_iter_destroy(w->iterator);
    if (w->options != NULL)
        rocksdb_readoptions_destroy(w->options);
    *w = (struct walk){0};
}

/* True if the iterator has ended with an error. Then its next key is unknown, and a fresh row
 * must not be taken for the next. */
static bool walk_failed(const struct walk *w)
{
    char *text = NULL;
    if (rocksdb_iter_valid(w->iterator))
        return false;
    rocksdb_iter_get_error(w->iterator, &text);
    rocksdb_free(text);
    return text != NULL;
}

/* Compares the fresh row's key with the iterator's; returns `alone` if there is only the row. */
static int walk_order(const struct walk *w, int alone)
{
    struct str key;
    if (!rocksdb_iter_valid(w->iterator))
        return alone;
    key.p = rocksdb_iter_key(w->iterator, &key.n);
    return str_cmp(row_key(w->row), key);
}

/* Chooses the smaller of the two keys; a fresh row hides the iterator's row of the same key. */
static void walk_settle(struct walk *w)
{
    w->on_row = false;
    while (w->row != NULL && str_cmp(row_key(w->row), w->past) < 0 && !walk_failed(w)) {
        int order = walk_order(w, -1);
        if (order > 0)
            return;
        w->both = order == 0;
        w->on_row = !w->row->deleted;
        if (w->on_row)
            return;
        if (w->both)
            rocksdb_iter_next(w->iterator);
        w->row = fresh_after(w->state, row_key(w->row));
    }
    w->row = NULL;
}

/* The same in reverse order. */
static void walk_settle_before(struct walk *w)
{
    w->on_row = false;
    while (w->row != NULL && str_cmp(row_key(w->row), w->from) >= 0 && !walk_failed(w)) {
        int order = walk_order(w, 1);
        if (order < 0)
            return;
        w->both = order == 0;
        w->on_row = !w->row->deleted;
        if (w->on_row)
            return;
        if (w->both)
            rocksdb_iter_prev(w->iterator);
        w->row = fresh_before(w->state, row_key(w->row));
    }
    w->row = NULL;
}

void walk_seek_first(struct walk *w)
{
    rocksdb_iter_seek_to_first(w->iterator);
    w->row = fresh_at_or_after(w->state, w->from);
    walk_settle(w);
}

void walk_seek(struct walk *w, struct str key)
{
    assert(w->iterator != NULL);
    rocksdb_iter_seek(w->iterator, key.p, key.n);
    w->row = fresh_at_or_after(w->state, str_cmp(key, w->from) < 0 ? w->from : key);
    walk_settle(w);
}

void walk_seek_before(struct walk *w, struct str key)
{
    assert(w->iterator != NULL);
    struct str found;
    rocksdb_iter_seek_for_prev(w->iterator, key.p, key.n);
    if (rocksdb_iter_valid(w->iterator)) {
        found.p = rocksdb_iter_key(w->iterator, &found.n);
        if (str_eq(found, key))
            rocksdb_iter_prev(w->iterator);
    }
    w->row = fresh_before(w->state, key);
    walk_settle_before(w);
}

void walk_before(struct walk *w)
{
    assert(w->iterator != NULL);
    if (!w->on_row || w->both)
        rocksdb_iter_prev(w->iterator);
    if (w->on_row)
        w->row = fresh_before(w->state, row_key(w->row));
    walk_settle_before(w);
}

static void stop_filling(struct walk *w)
{
    struct str key;
    if (!rocksdb_iter_valid(w->iterator))
        return;
    rocksdb_readoptions_set_fill_cache(w->options, 0);
    rocksdb_iterator_t *onward = rocksdb_create_iterator(w->state->below->rows->db, w->options);
    key.p = rocksdb_iter_key(w->iterator, &key.n);
    rocksdb_iter_seek(onward, key.p, key.n);
    rocksdb_iter_destroy(w->iterator);
    w->iterator = onward;
}

void walk_next(struct walk *w)
{
    assert(w->iterator != NULL);
    if (!w->on_row || w->both)
        rocksdb_iter_next(w->iterator);
    if (++w->steps == WALK_FILL_ROWS)
        stop_filling(w);
    if (w->on_row)
        w->row = fresh_after(w->state, row_key(w->row));
    walk_settle(w);
}

struct err walk_key(const struct walk *w, struct str *key)
{
    if (w->on_row) {
        *key = row_key(w->row);
        return OK;
    }
    if (rocksdb_iter_valid(w->iterator)) {
        key->p = rocksdb_iter_key(w->iterator, &key->n);
        return OK;
    }
    *key = STR_NONE;
    char *text = NULL;
    rocksdb_iter_get_error(w->iterator, &text);
    return rows_error("walk", text);
}

struct str walk_value(const struct walk *w)
{
    if (w->on_row)
        return row_value(w->row);
    struct str value;
    value.p = rocksdb_iter_value(w->iterator, &value.n);
    return value;
}
