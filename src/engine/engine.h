/* SPDX-License-Identifier: Apache-2.0 */
/* The seam between services and storage: ordered rows in partitions, transactions, extents.
 *
 * Nothing here knows an Azure word. A partition is any byte string; a key is any byte string within
 * it; keys are ordered by memcmp. Data that must change atomically are in one partition; updates to
 * one partition are serialisable; a view sees one committed, durable state and never waits for a
 * writer. All functions may be called from any thread unless they say otherwise.
 *
 * The rows may be on another machine. An operation then costs its sequential round trips, by these
 * rules (engine/count.h counts by them; test/engine/budget_table_test.c has the budget of every
 * operation):
 * - A view or an update begins together with its first read.
 * - txn_get_many is one round trip for any number of rows and partitions. A row that the
 *   transaction has read or written before costs none.
 * - A row that is read with HINT_SOON may come from the engine's memory. The engine confirms it
 *   together with the next read, or with the commit, and runs the function again if it has changed.
 * - A cursor costs a round trip when it is opened, and when it is moved beyond its read-ahead.
 * - All writes of an update and its extent changes go out with the commit: one round trip.
 * - An extent costs one round trip to write and one to read: extents are streams, which the engine
 *   prefetches. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "core/arena.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/str.h"
#include "core/wire.h"
#include "engine/extent.h"

struct engine;
struct txn; /* valid inside the function it is handed to, on its thread */

enum { ENGINE_PARTITION_MAX = 4096, ENGINE_KEY_MAX = 16384, ENGINE_VALUE_MAX = 8 << 20 };

/* Knowledge of the caller that the engine does not have. An engine may ignore all hints: no hint
 * changes what a call means. The conformance suite also runs with every hint removed. */
enum engine_hint {
    /* On a read: nearly every request to the partition reads this row (a container's own row).
     * On a write: the row is read again soon (a new message). The engine caches it. */
    HINT_SOON = 1,
    /* The rows that cursors read are not needed again (a page in the middle of a long listing). The
     * engine does not cache them, so that they do not evict others. */
    HINT_ONCE = 2,
    /* The update writes little, and deletes follow from it (a received message is deleted next).
     * An engine that refuses new rows on a nearly full disk admits it. */
    HINT_SMALL = 4,
    /* The extent belongs to an update with ENGINE_VISIBLE: write-back need not start early, unless
     * other updates wait for flushes. */
    HINT_LATER = 8,
    /* An update whose thread has nothing else to do until it is done (an event loop with one
     * busy client). The engine may commit it on that thread, if it expects a short flush. */
    HINT_ALONE = 16,
};

/* ---- transactions ---- */

/* A transaction function. It may run more than once, each time with arg as the last run left it,
 * so it must not consume its inputs. It reads and writes rows through t, and touches nothing but t
 * and arg. There is one exception, the table of open files (service/file/opens): a function may
 * query that table and register with it, because the table's calls are idempotent. An error rolls
 * back everything that the function wrote. */
typedef struct err engine_fn(struct txn *t, void *arg);

enum engine_wait {
    ENGINE_NOWAIT, /* for event loops: returns ERR_WOULD_BLOCK instead of waiting for a disk or a
                      network; the caller retries on another thread with ENGINE_WAIT */
    ENGINE_WAIT,
};

/* Runs fn against one consistent snapshot. Writes are a programming error (assert). */
struct err engine_view(struct engine *e, struct str partition, enum engine_wait wait, engine_fn *fn,
                       void *arg);

/* A view for an event loop, whose rows may have to be fetched over a network. The caller owns the
 * memory, which must stay valid until the view has ended. */
struct engine_view_job {
    struct str partition;
    engine_fn *fn;
    void *arg;
    /* Called once for each run that was suspended, when the missing rows have arrived: on an engine
     * thread, or before that run returns. Must be short: pass the job to its loop. */
    void (*ready)(struct engine_view_job *job);
    bool waits; /* out: the run was suspended */
    void *held; /* the engine's; NULL at first */
};
/* Like engine_view with ENGINE_NOWAIT. But if rows are missing, the engine may fetch them, together
 * with those of other jobs: then it sets `waits`, and the result means nothing. After the call of
 * `ready`, the caller runs the job again, or drops it. */
struct err engine_view_run(struct engine *e, struct engine_view_job *job);
/* Ends a job that is ready, instead of running it again. */
void engine_view_drop(struct engine *e, struct engine_view_job *job);
/* Call when no job will be run again: ends the remaining jobs. `ready` is not called after this. */
void engine_views_end(struct engine *e);

/* A committed state that is kept for later views, for a response that is too long for one view. It
 * keeps replaced rows and extents from being reclaimed, so the caller releases it soon. To read the
 * extents that it names, take a pin before the first view, as for any other view. */
struct engine_state;
/* In a view: keeps the state that the view sees in *kept. Releases a state that *kept has already
 * (from an earlier run of the function). */
void txn_keep_state(struct txn *t, struct engine_state **kept);
/* As engine_view, against that state. */
struct err engine_view_state(struct engine *e, struct engine_state *state, struct str partition,
                             engine_fn *fn, void *arg);
void engine_state_release(struct engine *e, struct engine_state *state);

enum engine_ack {
    ENGINE_DURABLE, /* done is called when the outcome survives a crash */
    ENGINE_VISIBLE, /* done is called when views see it; the next durable update or engine_flush
                       makes it durable */
};

/* An update in flight: the caller's memory until done is called. */
struct engine_update {
    struct str partition;
    engine_fn *fn;
    void *arg;
    enum engine_ack ack;
    unsigned hints; /* HINT_SMALL, HINT_ALONE */
    /* Called once; on an engine thread, or within engine_submit. Must be short: pass the result
     * on. */
    void (*done)(struct engine_update *u);
    struct err result;          /* fn's error, or the engine's; ERR_UNKNOWN_OUTCOME is
                                   neither success nor failure */
    struct engine_update *next; /* the engine's */
};

/* Queues the update. The engine always calls done, also when it is stopping. (engine/wait.h has
 * calls that wait for the outcome.) */
void engine_submit(struct engine *e, struct engine_update *u);
/* Makes everything durable that was visible before the call. */
struct err engine_flush(struct engine *e);

/* ---- rows ---- */

/* Memory of the engine that stays valid after a call has returned, so that the caller can send it
 * without a copy. All zero: nothing is lent. */
struct engine_loan {
    void (*end)(void *thing);
    void *thing;
};
void engine_loan_end(struct engine_loan *loan);

/* A row to be read. */
struct engine_read {
    struct str partition; /* absent: the transaction's own. Another partition (of a parent that must
                             exist) is read in the same snapshot. */
    struct str key;
    unsigned hints; /* HINT_SOON */
    bool with_body;
    /* Optional, with with_body and in a view: if it can, the engine lends the body until the loan
     * ends. Otherwise nothing is lent, and the caller copies the body. Ends a loan that is given
     * (from an earlier run of the function). */
    struct engine_loan *loan;
    /* Out, borrowed until the function returns. An absent row gives an absent slice (p == NULL) and
     * no error; a row without a body gives an absent or empty body. */
    struct str value;
    struct str body;
};
/* Reads all of them in one round trip. A caller that knows several keys reads them together. A key
 * that is longer than ENGINE_KEY_MAX, which a client may have invented, is that of an absent row.
 */
struct err txn_get_many(struct txn *t, struct engine_read *reads, size_t count);
/* One row's value. */
struct err txn_get(struct txn *t, struct str key, struct str *value);

/* A row to be written. It may have a body beside its value: bytes that are read only with
 * `with_body` (the content of a small blob, whose properties are the value). One search finds both,
 * and cursors do not read bodies. Value and body together have at most ENGINE_VALUE_MAX bytes. */
struct engine_row {
    struct str key;
    struct str value;
    struct str body; /* absent or empty: none */
    unsigned hints;  /* HINT_SOON */
    /* Only of txn_put_row: the row exists, and keeps the body that it has, if any; `body` is
     * absent. As if it were read and put again, but an engine need not. */
    bool keeps_body;
};
struct err txn_put_row(struct txn *t, const struct engine_row *row);
/* The same for a row without a body. */
struct err txn_put(struct txn *t, struct str key, struct str value);
/* The same, and the caller guarantees that the key is absent, so that a later delete needs no
 * tombstone. Inserting an existing key is a programming error. Every engine asserts this in test
 * builds (ENGINE_CHECKS) only, because the check may cost a search. */
struct err txn_insert(struct txn *t, const struct engine_row *row);
/* Appends to the value of a row that exists and has no body, as if it were read and put again. An
 * engine need not read it. */
struct err txn_append(struct txn *t, struct str key, struct str bytes, unsigned hints);
/* Deleting an absent row is no error. */
struct err txn_del(struct txn *t, struct str key);

/* The clock's time when this run of the function began. */
int64_t txn_now(const struct txn *t);
/* Updates only: a number that no other update of the partition ever gets, larger than all before it
 * also across restarts and clock steps; ticks since 1970 unless the clock went back. The same all
 * through one run. */
int64_t txn_stamp(const struct txn *t);
/* Memory that lives until the function returns. (Results that outlive it go to arg's own arena.) */
struct arena *txn_arena(struct txn *t);
bool txn_writable(const struct txn *t);
/* True if this run may take long; false with ENGINE_NOWAIT, on an event loop. There, a function
 * whose work would delay the loop returns ERR_LONG_WORK, and is run again with ENGINE_WAIT. */
bool txn_may_wait(const struct txn *t);
/* Sets the hints (HINT_ONCE) of cursors that are opened later. */
void txn_hint(struct txn *t, unsigned hints);

/* ---- cursors ---- */

/* The position of a cursor. Key and value are borrowed until it moves. A cursor is valid inside the
 * function that opened it, and is closed at the latest when that returns. */
struct cursor {
    bool valid;           /* false: past the last row; the other fields are not set */
    struct str partition; /* only of a cursor over several partitions */
    struct str key;
    struct str value;
    /* the engine's */
    const struct cursor_ops *ops;
    struct cursor *next_open;
    struct cursor **open_link;
};

/* Iterates over the keys of the partition that start with prefix, in order, from the first. It sees
 * the writes that the transaction made before the cursor was opened or moved. A prefix that is
 * longer than any key may be (clients choose it) finds none. */
struct err cursor_open(struct txn *t, struct str prefix, struct cursor **out);
/* The same over the keys from <= key < to; an absent `to` is the partition's end. The engine reads
 * nothing outside of the range, so tombstones past `to` cost nothing. */
struct err cursor_open_range(struct txn *t, struct str from, struct str to, struct cursor **out);
/* Views only. Iterates over the rows of all partitions that start with prefix, ordered by partition
 * and then by key, without a search for each partition. It starts where
 * cursor_seek_across(partition, key) would move it. */
struct err cursor_open_across(struct txn *t, struct str prefix, struct str partition,
                              struct str key, struct cursor **out);
/* Moves to the first key >= key (given with the prefix), but not before the cursor's first. */
struct err cursor_seek(struct cursor *c, struct str key);
/* Moves to the first row whose (partition, key) is not less, but not before the cursor's first. The
 * partition is given with the prefix, and need not exist. */
struct err cursor_seek_across(struct cursor *c, struct str partition, struct str key);
struct err cursor_next(struct cursor *c);
/* Moves to the first key after all that start with `skip`, as a listing with a delimiter does. */
struct err cursor_skip(struct cursor *c, struct str skip);
/* Moves to the last key < key, or to the cursor's last if key is absent. */
struct err cursor_seek_before(struct cursor *c, struct str key);
void cursor_close(struct cursor *c);

/* Calls visit for each partition that starts with prefix, comes after `after` (absent: from the
 * first) and has a row `key`, in order, until visit returns false. All are read in one snapshot.
 * partition and value are borrowed for the call. */
typedef bool partition_visit(struct str partition, struct str value, void *arg);
struct err engine_partitions(struct engine *e, struct str prefix, struct str after, struct str key,
                             partition_visit *visit, void *arg);

/* ---- extents: immutable runs of bytes, named by rows ---- */

/* Writing: begin, append any number of times, then finish or abandon. Not shared between threads.
 * The extent may become shorter than size_max, but holds at least one byte. Hints: HINT_LATER.
 * ERR_NO_SPACE, ERR_IO. */
struct extent_writer;
struct err extent_begin(struct engine *e, uint32_t size_max, unsigned hints,
                        struct extent_writer **out);
struct err extent_append(struct extent_writer *w, struct str bytes);
/* Frees the writer, with an error too. The extent belongs to the caller until an update adopts it;
 * it is durable no later than the update that does. */
struct err extent_finish(struct extent_writer *w, struct extent *out);
void extent_abandon(struct extent_writer *w);
/* Frees a finished extent that no update adopted. */
void extent_discard(struct engine *e, const struct extent *x);

/* In an update: changes an extent's reference count. The first row that names a finished extent
 * adopts it (count 1), each further row holds it (count + 1), and each row that no longer names it
 * drops it (count - 1). At zero the space is reclaimed, once all pins older than the commit are
 * released. The engine may detect an invalid change only at the commit (ERR_CORRUPT). */
enum extent_change { EXTENT_ADOPT, EXTENT_HOLD, EXTENT_DROP };
struct err txn_extent(struct txn *t, enum extent_change change, const struct extent *x);

/* A pin keeps every extent that is live now readable until it is released. Take it before the view
 * that finds the extents. */
struct engine_pin;
struct engine_pin *engine_pin(struct engine *e);
void engine_unpin(struct engine *e, struct engine_pin *pin);

/* A part of an extent, ready to be sent: bytes in memory (fd < 0), or a range of an open file for
 * sendfile. It is valid until the loan ends or the pin is released, whichever is first; if nothing
 * is lent, until the pin is released. An engine with its own files returns ranges of them. An
 * engine across a network returns memory: it fetches the part, lends the buffer, and prefetches the
 * next part, because the parts of an extent are read in order. */
struct extent_span {
    const char *memory;
    int fd;
    int64_t file_offset;
    size_t length;
    struct engine_loan loan; /* the caller ends it when the bytes are sent */
};
/* Verifies the checksums of the part and locates it. ERR_CORRUPT; ERR_WOULD_BLOCK with
 * ENGINE_NOWAIT if it is not in memory. */
struct err extent_locate(struct engine *e, const struct extent *x, uint32_t offset, uint32_t length,
                         enum engine_wait wait, struct extent_span *out);
/* Copies the verified part into to[0..length). The same errors. With `to` NULL it copies nothing
 * and never waits: an engine across a network begins to fetch the part, because it is read soon. */
struct err extent_read(struct engine *e, const struct extent *x, uint32_t offset, uint32_t length,
                       enum engine_wait wait, char *to);

/* ---- life ---- */

struct engine_usage {
    uint64_t segments;      /* files, or chunks of memory */
    uint64_t segment_bytes; /* really allocated */
    uint64_t updates;       /* committed so far */
    uint64_t commits;       /* group commits, so updates / commits is the batch size */
};
void engine_usage(struct engine *e, struct engine_usage *out);

/* Completes all submitted updates, flushes and frees. No pin, cursor or writer may be left. */
void engine_close(struct engine *e);

#endif
