/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the local engine and who owns what. README.md gives the order to read them in. */
#ifndef ENGINE_LOCAL_LOCAL_INTERNAL_H
#define ENGINE_LOCAL_LOCAL_INTERNAL_H

#include "engine/engine_internal.h"
#include "engine/extent_row.h"
#include "engine/local/collect.h"
#include "engine/local/journal.h"
#include "engine/local/learn.h"
#include "engine/local/local.h"
#include "engine/local/reap.h"
#include "engine/local/row_cache.h"
#include "engine/local/row_places.h"
#include "engine/local/rows.h"
#include "engine/local/segment.h"
#include "engine/local/value.h"
#include "engine/local/verified.h"
#include "engine/pins.h"
#include "engine/queue.h"
#include "engine/rowkey.h"
#include "engine/tree.h"

/* The engine's own rows. */
#define KEY_JOURNAL STR("ejournal") /* up to where the journal is in RocksDB */
#define KEY_STAMP   STR("estamp")   /* the last stamp given out */
#define KEY_TAIL    STR("etail")    /* the oldest segment that may hold ranges no row names */

/* A row that an update has written, and the one that it took the place of in the overlay, if there
 * was one: itself, when it was only appended to. */
struct overlaid {
    struct row *row; /* borrowed */
    struct row *before;
    uint32_t value_n; /* as it was, when it was appended to */
};

/* A row of the batch on its way to what views see; see publish_prepare. */
struct prepared {
    const struct row *row;     /* borrowed from the overlay */
    struct cached_row *cached; /* for the cache, with a reference; NULL: it renews what it has */
    uint64_t hash;             /* of the key */
    struct row_place whole;    /* where it lies whole in the journal; no bytes: nowhere */
};

enum { BATCH_TOUCHED_WORDS = 8 };

/* What the committer is putting together; its thread's alone. */
struct batch {
    struct tree overlay; /* rows written and not yet in RocksDB, with marks for those deleted */
    uint64_t touched[BATCH_TOUCHED_WORDS]; /* which rows may be in the overlay; see batch_touched */
    struct overlaid *overlaid; /* by the update that is running, so that it can be taken back */
    size_t overlaid_count;
    size_t overlaid_capacity;
    size_t bytes;
    size_t coming;     /* bytes of rows that were not there, while the disk is nearly full */
    size_t going;      /* rows deleted in it, and values that the collector moves */
    uint64_t *adopted; /* the segment of each adopted extent */
    size_t adopted_count;
    size_t adopted_capacity;
    struct prepared *prepared; /* publish.c's */
    struct row **fresh;        /* the same rows as they are stored, with references */
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
    struct row_places *places;
    struct verified *verified;
    struct pins pins;
    struct pins readers; /* the states in use */
    struct reaper reaper;
    struct collector collector; /* the reaper's */
    struct learner learner;     /* the same */

    struct update_queue queue;
    pthread_t committer;
    bool committing; /* the thread was started */
    pthread_mutex_t publish_lock;
    struct state *published;
    _Atomic uint64_t updates;
    _Atomic uint64_t commits;
    _Atomic uint64_t durable_commit;
    _Atomic uint64_t journal_bytes; /* written so far */
    atomic_bool room_short;         /* rows may only go, see commit.c */

    /* What the committer, or who works in its stead, counts for engine_stats. */
    struct histogram commit_updates, commit_us, journal_flush_us, turn_us;
    tally journal_written;
    _Atomic int64_t turn_began_us;          /* 0: it waits for updates */
    atomic_bool lost_seen;                  /* `lost`, for others */
    tally collected_files, collected_bytes; /* the reaper's */

    /* the committer's */
    struct batch batch;
    rocksdb_writebatch_t *write; /* fold_rows' and mend_journal's */
    int64_t last_stamp;
    uint64_t commit;
    int64_t flush_us; /* what making a commit durable takes, of late; 0 when the last was not */
    uint64_t tail_written;
    struct journal_place applied; /* up to where the journal is in the published state, */
    struct journal_place folded;  /* and in RocksDB */
    size_t fold_rows;             /* how many may come until rows go to RocksDB */
    size_t fresh_rows;            /* in the published state, and not in RocksDB */
    size_t fresh_kept;            /* how many it was when rows last went there */
    size_t fresh_lasting;         /* those that RocksDB has, or that were not said to be new */
    size_t fresh_bytes;           /* of all that were, since rows last went there */
    struct row *fold_after;       /* the last of those that went; NULL when all have that should */
    bool fold_failed;             /* RocksDB did not take them */
    size_t coming_max;            /* in an update that deletes nothing, while room_short */
    uint64_t room_look_at;        /* by how many journal_bytes to look at the disk's room again */
    bool visible_unsynced;        /* views see rows that name some of them */
    bool lost;                    /* such a segment could not be flushed */
    bool unvouched;     /* the newest record was written without a flush of the extents before it */
    uint64_t *unsynced; /* segments with bytes that rows name and no flush has covered */
    size_t unsynced_count;
};

static inline struct local_engine *local_of(struct engine *e)
{
    return (struct local_engine *)(void *)e;
}

/* The newest published state, with a reference. */
struct state *local_state(struct local_engine *e);

/* ---- transactions (local_txn.c, local_cursor.c, local_scan.c) ---- */

enum { TXN_HOLDS = 12, TXN_ROOM_BYTES = 8192 };

/* What a transaction has handed out and must keep until its function returns. */
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
    char room[TXN_ROOM_BYTES]; /* what the arena begins with: most need no more */
};

void local_txn_init(struct local_txn *t, struct local_engine *e, struct state *s,
                    struct str partition, enum engine_wait wait);
void local_txn_release(struct local_txn *t);
/* Calls release when the transaction's function has returned. */
void local_hold(struct local_txn *t, void (*release)(void *thing), void *thing);
struct err local_cursor_open(struct txn *txn, struct str from, struct str to, struct cursor **out);
/* Over the whole key space: keys as RocksDB has them, the bounds in the transaction's arena or
 * longer-lived. It can only be moved on, and closed. Where there is a `body`, bodies are read, too,
 * and it is that of the row where the cursor stands. */
struct err local_cursor_between(struct local_txn *t, struct str first, struct str past,
                                struct str *body, struct cursor **out);
struct err local_scan_open(struct txn *txn, struct str prefix, struct cursor **out);

/* In an update of the collector's: writes a large value or body anew if the row still names this
 * place. The key is with its partition. */
struct err local_move_value(struct txn *txn, struct str key, const struct value_place *place);

/* ---- the batch (batch.c) ---- */

void batch_clear(struct batch *b);
/* Whether the disk is nearly full, from now on. */
void batch_look_for_room(struct local_engine *e);
/* Runs the update. An error leaves the batch as it was. */
void batch_run(struct local_engine *e, struct engine_update *u);
/* A row that the running update writes. Takes over the reference. */
void batch_insert(struct batch *b, struct row *row);
/* The same in place: a row of the batch's own gets longer by what there is room for in it. */
void batch_append(struct batch *b, struct row *row, struct str bytes);
/* What the batch holds of the key; NULL when nothing. */
struct row *batch_find(struct batch *b, struct str key);

/* ---- what views see (publish.c) ---- */

/* Any number but 0: it only balances the tree. */
#define TREE_SEED 0x2545F4914F6CDD1DULL

/* What stays where the record has it: a large value, or a large body, and then the value beside it.
 */
bool goes_to_journal(const struct row *row, struct str *value, struct str *large);
/* To those who remember rows, or where they are. */
void publish_announce(struct local_engine *e, uint64_t commit);
/* From now on this is what views see. Takes over the reference. */
void publish_state(struct local_engine *e, struct state *state);
/* The batch's record is made: gets all ready that the next commit has to make visible, and lets
 * nobody see any of it yet. When the commit fails, publish_forget drops it. */
void publish_prepare(struct local_engine *e);
void publish_forget(struct batch *b);
/* What was prepared, as the next commit. */
void publish_batch(struct local_engine *e);

/* ---- from the journal to RocksDB (fold.c) ---- */

/* A row as stored, of the commit that is to be published. Takes over the reference. What is known
 * of where the row lies in the journal, and is no longer so, is forgotten. */
void fresh_add(struct local_engine *e, struct tree *fresh, struct row *row, uint64_t hash);
/* The same of all that the batch has, in the order of keys, into a tree that is empty. */
void fresh_fill(struct local_engine *e, struct tree *fresh, const struct batch *b);
/* Gives RocksDB rows when it is time for that: all, or those that have waited for long and are
 * likely to stay. False when it was not, or there were none. The committer only, as the next. */
bool fold_when_due(struct local_engine *e);
/* RocksDB gets what is fresh in the published state, in memory, and the state becomes one with
 * nothing fresh. */
struct err fold_rows(struct local_engine *e);
void fold_release(struct local_engine *e);

/* Adds a row to a batch of RocksDB's. */
void put_stored(rocksdb_writebatch_t *batch, struct str key, struct str stored);
/* The value lies at that place; with a value, the body does. */
void put_place(rocksdb_writebatch_t *batch, struct str key, const struct value_place *place,
               struct str value);
void put_journal_place(rocksdb_writebatch_t *batch, const struct journal_place *place);

/* ---- to the disk (durable.c, mend.c) ---- */

/* The batch's rows to the journal, with what they need before them; `flush`: and to the disk. */
struct err durable_make(struct local_engine *e, bool flush);
/* The same of rows alone. */
struct err durable_write_rows(struct local_engine *e, bool flush);
/* Whether something is visible and not durable. */
bool durable_is_behind(struct local_engine *e);
/* Brings the journal back after a flush that failed; nothing to do when none has. */
struct err mend_journal(struct local_engine *e);
/* What to say to the updates of a record that could not be written, or flushed. */
struct err mend_refuse(struct local_engine *e, struct err why);

/* ---- the committer (commit.c, gather.c) ---- */

/* Waits for those of the answered who are likely to come back, no longer than it pays. */
void gather_updates(struct local_engine *e, size_t answered);
struct err commit_start(struct local_engine *e);
/* Runs and commits the update on this thread, when that is soon done. */
bool commit_here(struct local_engine *e, struct engine_update *u);
/* Finishes what was submitted. */
void commit_stop(struct local_engine *e);
/* A segment has bytes that rows name and no flush has covered; flushes all such. */
void commit_note_unsynced(struct local_engine *e, uint64_t segment);
struct err commit_sync_extents(struct local_engine *e);
struct err local_flush(struct engine *e);

/* Something to be done by the committer, when all that is visible is durable. */
struct rest {
    struct err (*run)(struct local_engine *e, void *arg);
    void *arg;
};
struct err local_at_rest(struct local_engine *e, struct rest *rest);

/* ---- after a crash (replay.c) ---- */

/* Applies what the journal has and RocksDB has not; into the overlay when nothing may be written.
 * ERR_CORRUPT when records that were durable are not there. */
struct err replay_journal(struct local_engine *e);

/* ---- extents (extent_write.c, extent_read.c) ---- */

/* Checksums are of chunks of this size; an extent of more than one has them at its end. */
enum { CHUNK_BYTES = 64 << 10, CHUNKS_MAX = EXTENT_BYTES_MAX / CHUNK_BYTES };

static inline uint32_t extent_chunks(uint32_t length)
{
    return (length + CHUNK_BYTES - 1) / CHUNK_BYTES;
}

/* How much room an extent takes: its bytes, and the checksums of its chunks if there are several.
 */
static inline uint32_t extent_room(uint32_t length)
{
    uint32_t chunks = extent_chunks(length);
    return length + (chunks > 1 ? chunks * (uint32_t)sizeof(uint32_t) : 0);
}

/* The count as RocksDB holds it. */
static inline bool extent_stored_read(struct str stored, struct extent_row *row)
{
    struct str value;
    return value_is_here(stored, &value) && extent_row_read(value, row);
}

/* Writes all of it. ERR_NO_SPACE, ERR_IO. */
struct err write_fully(int fd, struct str bytes, uint64_t offset);
/* What is free on the disk, and of that what is kept for rows. */
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
