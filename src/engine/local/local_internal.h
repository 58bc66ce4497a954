/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the local engine and their owners. README.md gives the reading order. */
#ifndef ENGINE_LOCAL_LOCAL_INTERNAL_H
#define ENGINE_LOCAL_LOCAL_INTERNAL_H

#include "engine/engine_internal.h"
#include "engine/extent_row.h"
#include "engine/local/checksum_cache.h"
#include "engine/local/collect.h"
#include "engine/local/journal.h"
#include "engine/local/local.h"
#include "engine/local/reclaim.h"
#include "engine/local/row_cache.h"
#include "engine/local/row_index.h"
#include "engine/local/rows.h"
#include "engine/local/segment.h"
#include "engine/local/value.h"
#include "engine/local/warmup.h"
#include "engine/pins.h"
#include "engine/queue.h"
#include "engine/rowkey.h"
#include "engine/tree.h"

/* The engine's own rows. */
#define KEY_JOURNAL STR("ejournal") /* RocksDB has the journal up to this position */
#define KEY_STAMP   STR("estamp")   /* the last stamp handed out */
#define KEY_TAIL    STR("etail")    /* the oldest segment that may hold ranges that no row names */

/* A row that an update has written, and the row that it replaced in the overlay, if any. If the
 * row was only appended to, both are the same. */
struct overlaid {
    struct row *row; /* borrowed */
    struct row *before;
    uint32_t value_n; /* length before the append */
};

/* A row of the batch, prepared for publication; see publish_prepare. */
struct prepared {
    const struct row *row;     /* borrowed from the overlay */
    struct cached_row *cached; /* for the row cache, with a reference; NULL: renew the cached row */
    uint64_t hash;             /* of the key */
    struct row_location whole; /* where the complete row lies in the journal; 0 bytes: nowhere */
};

enum { BATCH_TOUCHED_WORDS = 8 };

/* The batch that the committer builds. Only its thread uses it. */
struct batch {
    struct tree overlay; /* rows written and not yet in RocksDB, with tombstones */
    uint64_t touched[BATCH_TOUCHED_WORDS]; /* filter: which rows may be in the overlay; see
                                            * batch_touched */
    struct overlaid *overlaid;             /* by the running update, for rollback */
    size_t overlaid_count;
    size_t overlaid_capacity;
    size_t bytes;
    size_t coming;     /* bytes of new rows, counted while the disk is nearly full */
    size_t going;      /* rows deleted by it, and values that the collector moves */
    uint64_t *adopted; /* the segments of adopted extents */
    size_t adopted_count;
    size_t adopted_capacity;
    struct prepared *prepared; /* used by publish.c */
    struct row **fresh;        /* the same rows in stored form, with references */
    size_t fresh_count;
    size_t fresh_capacity;
    struct waste *dropped;
    size_t dropped_count;
    size_t dropped_capacity;
};

struct local_engine {
    struct engine base;
    const struct clock *clock;
    char *folder;
    int lock_fd;
    bool relaxed;
    bool read_only;
    struct rows rows;
    struct journal journal;
    struct segments segments;
    struct row_cache *cache;
    struct row_index *row_index;
    struct checksum_cache *checksums;
    struct pins pins;
    struct pins readers; /* pins of the states in use */
    struct reclaimer reclaimer;
    struct collector collector; /* used by the reclaimer's thread */
    struct warmup warmup;       /* used by the reclaimer's thread */

    struct update_queue queue;
    pthread_t committer;
    bool committing; /* the thread was started */
    pthread_mutex_t publish_lock;
    struct state *published;
    _Atomic uint64_t updates;
    _Atomic uint64_t commits;
    _Atomic uint64_t durable_commit;
    _Atomic uint64_t journal_bytes; /* written so far */
    atomic_bool room_short;         /* the disk is nearly full; see batch.c */
    _Atomic int64_t flush_asked_us; /* when an update last waited for a flush */

    /* Statistics of the committer (or of the thread that acts for it), for engine_stats. */
    struct histogram commit_updates, commit_us, journal_flush_us, turn_us, turn_cpu_us;
    tally journal_written;
    _Atomic int64_t turn_began_us;          /* 0: waiting for updates */
    atomic_bool lost_seen;                  /* copy of `lost` for other threads */
    tally collected_files, collected_bytes; /* counted by the reclaimer */

    /* Used by the committer only: */
    struct batch batch;
    rocksdb_writebatch_t *write; /* used by fold_rows and mend_journal */
    int64_t last_stamp;
    uint64_t commit;
    int64_t flush_us; /* recent time to make a commit durable; 0 if the last commit was only
                       * visible */
    uint64_t tail_written;
    struct journal_position applied; /* the journal is in the published state up to here */
    struct journal_position folded;  /* and in RocksDB up to here */
    size_t fold_rows;                /* rows that fill a generation */
    size_t filling_rows;             /* rows of the newer generation */
    size_t filling_lasting;          /* those of them that are not marked as short-lived */
    size_t filling_bytes;            /* bytes written to it, including replaced rows */
    struct row *drained_to;          /* the last row that was drained; NULL: none yet */
    struct row **outlived;           /* drained rows that RocksDB did not get: see drain_row */
    size_t outlived_count;
    size_t outlived_capacity;
    bool fold_failed;      /* RocksDB refused the rows */
    size_t coming_max;     /* limit for an update that deletes nothing, while room_short */
    uint64_t room_look_at; /* check the free space again at this journal_bytes */
    bool visible_unsynced; /* views see rows that name unsynced segments */
    bool lost;             /* such a segment could not be flushed */
    bool unvouched;     /* the newest record was written before the extents it names were flushed */
    uint64_t *unsynced; /* segments with referenced bytes that no flush has covered */
    size_t unsynced_count;
};

static inline struct local_engine *local_of(struct engine *e)
{
    return (struct local_engine *)(void *)e;
}

/* Returns the newest published state, with a reference. */
struct state *local_state(struct local_engine *e);

/* ---- transactions (local_txn.c, local_cursor.c, local_scan.c) ---- */

enum { TXN_HOLDS = 12, TXN_ROOM_BYTES = 8192 };

/* Memory that a transaction has handed out and keeps until its function returns. */
struct txn_hold {
    void (*release)(void *thing);
    void *thing;
};

struct txn_holds {
    struct txn_hold some[TXN_HOLDS];
    size_t count;
    struct txn_holds *more;
};

struct local_txn {
    struct txn base;
    struct local_engine *engine;
    struct state *state;
    enum engine_wait wait;
    struct batch *batch; /* NULL in a view */
    struct arena arena;
    struct rowkey key;
    struct txn_holds holds;
    char room[TXN_ROOM_BYTES]; /* first block of the arena; most transactions need no more */
};

void local_txn_init(struct local_txn *t, struct local_engine *e, struct state *s,
                    struct str partition, enum engine_wait wait);
void local_txn_release(struct local_txn *t);
/* Registers a function to call after the transaction's function has returned. */
void local_hold(struct local_txn *t, void (*release)(void *thing), void *thing);
struct err local_cursor_open(struct txn *txn, struct str from, struct str to, struct cursor **out);
/* Opens a cursor over the whole key space, with RocksDB's keys. The bounds live in the
 * transaction's arena or longer. It can only move forward and be closed. If `body` is given,
 * bodies are read as well, and it is set to the current row's. */
struct err local_cursor_between(struct local_txn *t, struct str first, struct str past,
                                struct str *body, struct cursor **out);
struct err local_scan_open(struct txn *txn, struct str prefix, struct cursor **out);

/* In an update of the collector: rewrites a large value or body if the row still refers to it.
 * The key includes the partition. */
struct err local_move_value(struct txn *txn, struct str key, const struct value_ref *ref);

/* ---- the batch (batch.c) ---- */

void batch_clear(struct batch *b);
/* Checks whether the disk is nearly full and remembers it. */
void batch_look_for_room(struct local_engine *e);
/* Runs the update. On an error the batch is unchanged. */
void batch_run(struct local_engine *e, struct engine_update *u);
/* Writes a row for the running update. Takes over the reference. */
void batch_insert(struct batch *b, struct row *row);
/* Appends to a row of the batch in place, within the row's spare capacity. */
void batch_append(struct batch *b, struct row *row, struct str bytes);
/* Returns the batch's row of the key, or NULL. */
struct row *batch_find(struct batch *b, struct str key);

/* ---- what views see (publish.c) ---- */

/* Any number but 0; it only balances the tree. */
#define TREE_SEED 0x2545F4914F6CDD1DULL

/* True if the row has a large value, or a large body beside its value, which stays in the
 * journal's record. */
bool goes_to_journal(const struct row *row, struct str *value, struct str *large);
/* Tells the caches that this commit is about to be published. */
void publish_announce(struct local_engine *e, uint64_t commit);
/* Replaces the state that new views see. Takes over the reference. */
void publish_state(struct local_engine *e, struct state *state);
/* Prepares the batch's rows for publication after its record was built, without making them
 * visible. If the commit fails, publish_forget drops them. */
void publish_prepare(struct local_engine *e);
void publish_forget(struct batch *b);
/* Publishes the prepared rows as the next commit. */
void publish_batch(struct local_engine *e);

/* ---- from the journal to RocksDB (fold.c) ---- */

/* Adds a row in stored form to the newer generation, for the commit that is being published. Takes
 * over the reference. Removes an outdated entry from the row index. */
void filling_add(struct local_engine *e, struct tree *filling, struct row *row, uint64_t hash);
/* The same for all rows of the batch, in key order, when the generation is empty. */
void filling_start(struct local_engine *e, struct tree *filling, const struct batch *b);
/* Does what is due: starts to drain a full generation, drains a part, or folds all rows. Called by
 * the committer once per commit. */
void fold_when_due(struct local_engine *e);
/* Writes all rows of both generations to RocksDB's memory; the published state then has none.
 * Called by the committer. */
struct err fold_rows(struct local_engine *e);
void fold_release(struct local_engine *e);

/* Adds a row to a RocksDB write batch. */
void fold_put_stored(rocksdb_writebatch_t *batch, struct str key, struct str stored);
/* Adds a row whose value (or, with a value, whose body) lies in the journal. */
void fold_put_ref(rocksdb_writebatch_t *batch, struct str key, const struct value_ref *ref,
                  struct str value);
void fold_put_position(rocksdb_writebatch_t *batch, const struct journal_position *position);

/* ---- to the disk (durable.c, mend.c) ---- */

/* Writes the batch's rows to the journal, after everything they depend on. With `flush`, also
 * flushes. */
struct err durable_make(struct local_engine *e, bool flush);
/* The same for the rows alone. */
struct err durable_write_rows(struct local_engine *e, bool flush);
/* True if something is visible and not durable. */
bool durable_is_behind(struct local_engine *e);
/* Repairs the journal after a failed flush. Does nothing if none has failed. */
struct err mend_journal(struct local_engine *e);
/* Returns the error for the updates of a record that could not be written or flushed. */
struct err mend_refuse(struct local_engine *e, struct err why);

/* ---- the committer (commit.c, gather.c) ---- */

/* Waits for answered clients that are likely to send another update, but no longer than it pays
 * off. */
void gather_updates(struct local_engine *e, size_t answered);
struct err commit_start(struct local_engine *e);
/* Runs and commits the update on this thread if that is quick. False if the committer must do
 * it. */
bool commit_here(struct local_engine *e, struct engine_update *u);
/* Completes all submitted updates. */
void commit_stop(struct local_engine *e);
/* Notes that rows refer to unflushed bytes of a segment; commit_sync_extents flushes them. */
void commit_note_unsynced(struct local_engine *e, uint64_t segment);
struct err commit_sync_extents(struct local_engine *e);
struct err local_flush(struct engine *e);

/* A job that the committer runs when everything visible is durable. */
struct quiesced_job {
    struct err (*run)(struct local_engine *e, void *arg);
    void *arg;
};
struct err local_run_quiesced(struct local_engine *e, struct quiesced_job *rest);

/* ---- after a crash (replay.c) ---- */

/* Applies the records that RocksDB lacks; a read-only store puts them into the overlay.
 * ERR_CORRUPT if durable records are missing. */
struct err replay_journal(struct local_engine *e);

/* ---- extents (extent_write.c, extent_read.c) ---- */

/* Checksums cover chunks of this size. An extent of several chunks has their checksums at its
 * end. */
enum { CHUNK_BYTES = 64 << 10, CHUNKS_MAX = EXTENT_BYTES_MAX / CHUNK_BYTES };

static inline uint32_t extent_chunks(uint32_t length)
{
    return (length + CHUNK_BYTES - 1) / CHUNK_BYTES;
}

/* Size on disk: the bytes, plus the checksums if there are several chunks. */
static inline uint32_t extent_room(uint32_t length)
{
    uint32_t chunks = extent_chunks(length);
    return length + (chunks > 1 ? chunks * (uint32_t)sizeof(uint32_t) : 0);
}

/* Decodes an extent's reference count from its stored form. */
static inline bool extent_stored_read(struct str stored, struct extent_row *row)
{
    struct str value;
    return value_is_here(stored, &value) && extent_row_read(value, row);
}

/* Writes all bytes. ERR_NO_SPACE, ERR_IO. */
struct err write_fully(int fd, struct str bytes, uint64_t offset);
/* Free space on the disk, and the part of it that is reserved for rows. */
struct disk_room {
    uint64_t free;
    uint64_t reserve;
};
struct err local_disk_room(struct local_engine *e, struct disk_room *room);

struct err local_extent_begin(struct engine *e, uint32_t size_max, unsigned hints,
                              struct extent_writer **out);
void local_extent_discard(struct engine *e, const struct extent *x);
struct err local_extent_locate(struct engine *e, const struct extent *x,
                               const struct extent_part *part, struct extent_span *out);
struct err local_extent_read(struct engine *e, const struct extent *x,
                             const struct extent_part *part, char *to);

#endif
