/* SPDX-License-Identifier: Apache-2.0 */
/* RocksDB behind a few calls: opening it tuned, writing batches, and states to read from. Nothing
 * outside of engine/local knows that it is there. */
#ifndef ENGINE_LOCAL_ROWS_H
#define ENGINE_LOCAL_ROWS_H

#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>

#include "engine/engine.h"
#include "engine/pins.h"
#include "engine/tree.h"

enum { FRESH_ROW_BYTES = 64 /* about what RocksDB's memory takes besides key and value */ };

struct rows {
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_cache_t *cache;
    rocksdb_writeoptions_t *write;
    _Atomic int64_t write_failed_ms; /* when a write last did */
    _Atomic uint64_t fresh_bytes;    /* about what was committed and is in no table */
};

struct rows_options {
    const char *path;
    uint64_t cache_bytes;
    bool read_only;
    bool manifest_grew; /* an older program added to its MANIFEST, and a power cut may have torn it
                         */
};
/* ERR_STORE_IN_USE, ERR_CORRUPT, ERR_NO_SPACE, ERR_IO. */
struct err rows_open(struct rows *r, const struct rows_options *o);
/* What was not put into tables before is not put there now. */
void rows_close(struct rows *r);

/* Frees RocksDB's text, logs it, and finds the code for it; OK for NULL. ERR_WOULD_BLOCK, which is
 * no fault, is not logged. */
struct err rows_error(const char *doing, char *text);

/* To memory: the journal makes it durable. */
struct err rows_write(struct rows *r, rocksdb_writebatch_t *batch);
/* The same of rows that were counted when they were committed: what comes to be of them in RocksDB
 * may be little, but a start after a crash would have to go through them all. */
struct err rows_write_counted(struct rows *r, rocksdb_writebatch_t *batch);
void rows_count(struct rows *r, uint64_t bytes);
/* Writes what is in memory to tables. As for rows_switch, all that was written before has to be
 * durable: a table that outlives a crash must not name values and extents that do not. */
struct err rows_flush(struct rows *r);
/* Whether there is enough in memory for a table; begins one, without waiting for it to be written;
 * whether all that were begun are. */
bool rows_many_fresh(const struct rows *r);
struct err rows_switch(struct rows *r);
bool rows_switched(struct rows *r);
/* About how many rows there are. */
uint64_t rows_about(const struct rows *r);
/* The row as it would be after a crash, by what is in tables alone. */
struct err rows_read_persisted(struct rows *r, struct str key, struct buf *stored, bool *found);

/* ---- states ---- */

/* What RocksDB held at one time; the states of several commits share it. */
struct snapshot {
    atomic_uint refs;
    struct rows *rows;
    const rocksdb_snapshot_t *of;
    rocksdb_readoptions_t *wait;
    rocksdb_readoptions_t *nowait; /* answers from memory only */
};

/* One committed state, counted by who reads from it: a snapshot of RocksDB, and over it the rows
 * that were written since and that RocksDB has not been given yet (see fold.c). */
struct state {
    atomic_uint refs;
    uint64_t commit;
    struct pins *readers; /* keeps the pin, if there is one */
    struct engine_pin *pin;
    struct snapshot *below;
    struct tree fresh; /* rows as RocksDB will store them, with marks for those deleted */
};

/* RocksDB as it is now, with one reference. As long as it is in use it holds a pin of `readers`
 * (NULL: none). */
struct state *state_new(struct rows *r, uint64_t commit, struct pins *readers);
/* The same snapshot as `before`, and over it these rows, which are taken over. */
struct state *state_after(const struct state *before, struct tree fresh, uint64_t commit);
/* A state that was changed into the next takes the pin of that. Its only holder. */
void state_renew_pin(struct state *s);
void state_put(struct state *s);

static inline struct state *state_get(struct state *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

/* A row as it is stored, absent when there is none: borrowed from the state or from the slice. */
struct state_row {
    struct str stored;
    rocksdb_pinnableslice_t *slice; /* NULL: borrowed from the state */
};
struct err state_read(struct state *s, enum engine_wait wait, struct str key,
                      struct state_row *out);
void state_row_release(struct state_row *row);
/* Copies the value; false in *found when there is no such row. */
struct err state_read_small(struct state *s, struct str key, struct buf *stored, bool *found);

/* Whether a short look finds no row with from <= key < past. It ends at the first row, or after a
 * few that are gone, and then says no. */
struct err state_none_between(struct state *s, struct str from, struct str past, bool *none);

/* Over from <= key < past of a state; all three must outlive it. It stands nowhere until it is
 * sent somewhere. Destroy it with walk_release. */
struct walk {
    rocksdb_iterator_t *iterator;
    rocksdb_readoptions_t *options;
    struct state *state;
    struct str from;
    struct str past;
    struct row *row; /* of the state's fresh ones: the next in the direction of the walk */
    bool on_row;     /* it stands there, and not where the iterator does */
    bool both;       /* the iterator stands on the same key */
    uint32_t steps;  /* taken with walk_next */
};
void walk_init(struct walk *w, struct state *s, enum engine_wait wait, struct str from,
               struct str past);
/* The same for who comes by once: what it reads is not kept in RocksDB's cache. */
void walk_init_passing(struct walk *w, struct state *s, struct str from, struct str past);
/* The same for a look at the next few rows: it ends, as if something had failed, rather than pass
 * over many that are gone. */
void walk_init_brief(struct walk *w, struct state *s, struct str from, struct str past);
void walk_release(struct walk *w);
/* To the first key; to the first that is not less. */
void walk_seek_first(struct walk *w);
void walk_seek(struct walk *w, struct str key);
/* To the next key, also for those who go on for long: after WALK_FILL_ROWS of them, what is read is
 * no longer kept in RocksDB's cache, for it would push out all else there and not be found there
 * the next time either. Not after walk_seek_before. */
enum { WALK_FILL_ROWS = 16384 };
void walk_next(struct walk *w);
/* To the last key that is less, and on to the one before: only after walk_seek_before. */
void walk_seek_before(struct walk *w, struct str key);
void walk_before(struct walk *w);
/* The key where it stands, absent at the end; borrowed until it moves. */
struct err walk_key(const struct walk *w, struct str *key);
struct str walk_value(const struct walk *w);

#endif
