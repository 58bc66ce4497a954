/* SPDX-License-Identifier: Apache-2.0 */
/* A thin layer over RocksDB: opens it tuned, writes batches, and provides states to read from.
 * Nothing outside engine/local knows about RocksDB. */
#ifndef ENGINE_LOCAL_ROWS_H
#define ENGINE_LOCAL_ROWS_H

#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>

#include "engine/engine.h"
#include "engine/pins.h"
#include "engine/tree.h"

enum { FRESH_ROW_BYTES = 64 /* estimated overhead of a row in the memtable */ };

struct rows {
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_cache_t *cache;
    rocksdb_writeoptions_t *write;
    _Atomic int64_t write_failed_ms; /* time of the last failed write */
    _Atomic uint64_t fresh_bytes;    /* estimated bytes that were committed and are in no table */
};

struct rows_options {
    const char *path;
    uint64_t cache_bytes;
    bool read_only;
    bool manifest_grew; /* an older program appended to its MANIFEST, and a power cut may have
                         * torn it */
};
/* ERR_STORE_IN_USE, ERR_CORRUPT, ERR_NO_SPACE, ERR_IO. */
struct err rows_open(struct rows *r, const struct rows_options *o);
/* Does not flush the memtable. */
void rows_close(struct rows *r);

/* Frees RocksDB's error text, logs it, and returns the matching code; OK for NULL.
 * ERR_WOULD_BLOCK is no fault and is not logged. */
struct err rows_error(const char *doing, char *text);

/* Writes to memory only: the journal makes it durable. */
struct err rows_write(struct rows *r, rocksdb_writebatch_t *batch);
/* The same for rows that were counted when they were committed: RocksDB may store few of them,
 * but recovery would have to process them all. */
struct err rows_write_counted(struct rows *r, rocksdb_writebatch_t *batch);
void rows_count(struct rows *r, uint64_t bytes);
/* Writes the memtable to tables. As for rows_switch, everything written before must be durable:
 * a table that survives a crash must not refer to values and extents that do not. */
struct err rows_flush(struct rows *r);
/* rows_many_fresh: true if the memtable is large enough for a table. rows_switch: starts a table
 * without waiting for it. rows_switched: true if all started tables are written. */
bool rows_many_fresh(const struct rows *r);
struct err rows_switch(struct rows *r);
bool rows_switched(struct rows *r);
/* Returns the estimated number of rows. */
uint64_t rows_about(const struct rows *r);
/* Reads the row from tables only: as it would be after a crash. */
struct err rows_read_persisted(struct rows *r, struct str key, struct buf *stored, bool *found);

/* ---- states ---- */

/* A RocksDB snapshot, shared by the states of several commits. */
struct snapshot {
    atomic_uint refs;
    struct rows *rows;
    const rocksdb_snapshot_t *of;
    rocksdb_readoptions_t *wait;
    rocksdb_readoptions_t *nowait; /* reads from memory only */
};

/* One committed state, reference counted by its readers: a RocksDB snapshot, and over it two
 * generations of rows in stored form, with tombstones (see fold.c). The newer one hides rows of
 * the older one, and both hide RocksDB's. */
struct state {
    atomic_uint refs;
    uint64_t commit;
    struct pins *readers; /* keeps the pin, if there is one */
    struct engine_pin *pin;
    struct snapshot *below;
    struct tree filling;  /* the newer: commits add to it */
    struct tree draining; /* the older: its rows are on their way to RocksDB */
};

/* A state of RocksDB's current content, with one reference. While in use, it holds a pin of
 * `readers` (may be NULL). */
struct state *state_new(struct rows *r, uint64_t commit, struct pins *readers);
/* A state with the snapshot and the older generation of `before`, and this newer one, which it
 * takes over. */
struct state *state_after(const struct state *before, struct tree filling, uint64_t commit);
/* The same rows; the newer generation of `before` has become the older one, which must be empty
 * before. */
struct state *state_switch(const struct state *before);
/* Takes a new pin for a state that was changed in place. The caller is its only holder. */
void state_renew_pin(struct state *s);
void state_put(struct state *s);

static inline struct state *state_get(struct state *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

/* A row in stored form, absent if there is none: borrowed from the state or from the slice. */
struct state_row {
    struct str stored;
    rocksdb_pinnableslice_t *slice; /* NULL: borrowed from the state */
};
struct err state_read(struct state *s, enum engine_wait wait, struct str key,
                      struct state_row *out);
void state_row_release(struct state_row *row);
/* Copies the value; sets *found to false if there is no such row. */
struct err state_read_small(struct state *s, struct str key, struct buf *stored, bool *found);

/* True only if a brief look finds no row in [from, past). It stops at the first row or after a
 * few tombstones; false proves nothing. */
struct err state_none_between(struct state *s, struct str from, struct str past, bool *none);

/* An iterator over [from, past) of a state; all three must outlive it. It has no position until
 * it is moved. Destroy it with walk_release. */
struct walk {
    rocksdb_iterator_t *iterator;
    rocksdb_readoptions_t *options;
    struct state *state;
    struct str from;
    struct str past;
    struct row *row; /* the next fresh row of the state in the direction of the walk */
    bool on_row;     /* it stands on that row, not on the iterator's key */
    bool both;       /* both have the same key */
    uint32_t steps;  /* taken with walk_next */
};
void walk_init(struct walk *w, struct state *s, enum engine_wait wait, struct str from,
               struct str past);
/* For a single pass: what it reads is not kept in RocksDB's cache. */
void walk_init_passing(struct walk *w, struct state *s, struct str from, struct str past);
/* For a look at the next few rows: it ends with an error instead of skipping many tombstones. */
void walk_init_brief(struct walk *w, struct state *s, struct str from, struct str past);
void walk_release(struct walk *w);
/* Moves to the first key; to the first key that is not less. */
void walk_seek_first(struct walk *w);
void walk_seek(struct walk *w, struct str key);
/* Moves to the next key. After WALK_FILL_ROWS keys, what it reads is no longer kept in RocksDB's
 * cache: it would evict everything else, and would not be found there the next time either. Not
 * after walk_seek_before. */
enum { WALK_FILL_ROWS = 16384 };
void walk_next(struct walk *w);
/* Moves to the last key that is less, and then to the one before. walk_previous only after
 * walk_seek_before. */
void walk_seek_before(struct walk *w, struct str key);
void walk_before(struct walk *w);
/* Returns the current key, absent at the end; borrowed until the next move. */
struct err walk_key(const struct walk *w, struct str *key);
struct str walk_value(const struct walk *w);

#endif
