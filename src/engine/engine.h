/* SPDX-License-Identifier: Apache-2.0 */
/* The seam between services and storage: ordered rows in partitions, transactions, extents.
 *
 * Nothing here knows an Azure word. A partition is any byte string; a key is any byte string within
 * it; keys are ordered by memcmp. What must be atomic together lives in one partition; updates to
 * one partition are serialisable; a view sees one committed, durable state and never waits for a
 * writer. All functions may be called from any thread unless they say otherwise.
 *
 * The rows may lie on another machine. Then sequential round trips are what an operation costs, and
 * these are the rules (engine/count.h counts by them, test/engine/budget_test.c holds the budget of
 * every operation):
 * - A view or an update begins together with its first read.
 * - txn_get_many is one round trip, whatever the number of its rows and partitions. A row that the
 *   transaction has read or written before costs none.
 * - A row that is read with HINT_SOON may come from the engine's memory. The engine confirms it
 *   together with the next read, or with the commit, and runs the function again if it has changed.
 * - A cursor costs a round trip when it is opened or moved to where its read-ahead does not reach.
 * - All writes of an update and its extent changes go out with the commit: one round trip.
 * - An extent is one round trip to write, and one to read: extents are streams, and the engine
 *   reads ahead. */
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

/* What the caller knows and the engine does not. An engine may ignore all of them: no hint changes
 * what a call means, and the conformance suite runs with every hint removed, too. */
enum engine_hint {
    /* Reading a row: nearly every request to the partition reads it (a container's own row).
     * Writing one: it is read again soon (a message just put). The engine keeps it in memory. */
    HINT_SOON = 1,
    /* What cursors read is not needed again (a page in the middle of a long listing). The engine
     * does not cache it, so that it does not push out what others need. */
    HINT_ONCE = 2,
    /* An update that brings little and leads to rows being deleted (a message is received, and
     * deleted next). An engine that refuses new rows on a nearly full disk takes it. */
    HINT_SMALL = 4,
    /* An extent of an update that asks only to be visible: it need not go to the disk while it
     * arrives. */
    HINT_LATER = 8,
};

/* ---- transactions ---- */

/* A transaction function. It may run more than once, each time with arg as the last run left it,
 * so it does not consume its inputs. It reads and writes rows through t, and touches nothing but t
 * and arg. There is one exception, the table of open files (service/file/opens): a function may ask
 * that table and may register with it, because the table's calls may be repeated with the same
 * effect as once. An error rolls back whatever the function wrote. */
typedef struct err engine_fn(struct txn *t, void *arg);

enum engine_wait {
    ENGINE_NOWAIT, /* ERR_WOULD_BLOCK instead of waiting for a disk or a network; the caller tries
                      again on another thread with ENGINE_WAIT. For event loops. */
    ENGINE_WAIT,
};

/* Runs fn against one consistent snapshot. Writes are a programming error (assert). */
struct err engine_view(struct engine *e, struct str partition, enum engine_wait wait, engine_fn *fn,
                       void *arg);

/* A committed state that is kept for later views, for an answer that is too long for one. It holds
 * back the space of what was replaced since, rows and extents, so it is released soon. Extents that
 * a kept state names stay readable under a pin as ever: taken before the first view. */
struct engine_state;
/* In a view: keeps the state that it sees in *kept, in place of one that is kept there already (a
 * function that is run again keeps the newer). */
void txn_keep_state(struct txn *t, struct engine_state **kept);
/* As engine_view, of that state. */
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
    unsigned hints; /* HINT_SMALL */
    /* Once; on an engine thread, or within engine_submit. Must be short: hand over. */
    void (*done)(struct engine_update *u);
    struct err result;          /* fn's error, or the engine's; ERR_UNKNOWN_OUTCOME is
                                   neither success nor failure */
    struct engine_update *next; /* the engine's */
};

/* Queues the update. Always ends in done, also when the engine is stopping. */
void engine_submit(struct engine *e, struct engine_update *u);
/* The same, waiting for the outcome on the calling thread: for start-up, sweepers and tests. */
struct err engine_update_wait(struct engine *e, struct str partition, engine_fn *fn, void *arg);
/* One of several updates that are waited for together. */
struct grouped_update {
    struct engine_update update; /* all but `done` is the caller's */
    struct update_group *group;  /* the engine's */
};
/* Submits them all, so that they share a commit or a few, and returns when the last is done. */
void engine_updates_wait(struct engine *e, struct grouped_update **updates, size_t count);
/* Returns when all that was visible before is durable. */
struct err engine_flush(struct engine *e);

/* ---- rows ---- */

/* Memory that stays in place after a call has returned, so that its bytes need not be copied in
 * order to be sent. All zero: nothing is lent. */
struct engine_loan {
    void (*end)(void *thing);
    void *thing;
};
void engine_loan_end(struct engine_loan *loan);

/* A row to be read. */
struct engine_read {
    struct str partition; /* absent: the transaction's own. Another one is read in the same snapshot
                             (a parent that must exist). */
    struct str key;
    unsigned hints; /* HINT_SOON */
    bool with_body;
    /* Optional, with a body and in a view: when the engine can, the body stays where it is until
     * the loan ends. Otherwise nothing is lent and the body has to be copied. A loan that is there
     * already (that of a run before) ends. */
    struct engine_loan *loan;
    /* What was found. Borrowed: it lives until the function returns. An absent row gives an absent
     * slice (p == NULL) and no error; a row without a body gives an absent or empty body. */
    struct str value;
    struct str body;
};
/* Reads all of them together: whoever knows several keys asks once. */
struct err txn_get_many(struct txn *t, struct engine_read *reads, size_t count);
/* One row's value. */
struct err txn_get(struct txn *t, struct str key, struct str *value);

/* A row to be written. It may have a body beside its value: bytes that belong to it and are read
 * only with `with_body` (a small content, beside all else that is known of it). So one search finds
 * both, and cursors do not pay for bodies. Value and body together are no larger than
 * ENGINE_VALUE_MAX. */
struct engine_row {
    struct str key;
    struct str value;
    struct str body; /* absent or empty: none */
    unsigned hints;  /* HINT_SOON */
};
struct err txn_put_row(struct txn *t, const struct engine_row *row);
/* The same of a row without a body. */
struct err txn_put(struct txn *t, struct str key, struct str value);
/* The same where the caller knows that there is no row of the key: then a row that is deleted soon
 * after leaves no tombstone. To insert a row that is there is a programming error. Every engine
 * asserts it where asserts are on for tests (ENGINE_CHECKS), as the answer may cost a search. */
struct err txn_insert(struct txn *t, const struct engine_row *row);
/* Adds to the end of the value of a row that is there and has no body, as if it were read and put
 * again. An engine need not read it. */
struct err txn_append(struct txn *t, struct str key, struct str bytes, unsigned hints);
/* Absent is no error. */
struct err txn_del(struct txn *t, struct str key);

/* The clock's time when this run of the function began. */
int64_t txn_now(const struct txn *t);
/* Updates only: a number that no other update of the partition ever gets, larger than all before it
 * also across restarts and clock steps; ticks since 1970 unless the clock went back. The same all
 * through one run. */
int64_t txn_stamp(const struct txn *t);
/* Memory that lives until the function returns. (What must outlive it goes to arg's own arena.) */
struct arena *txn_arena(struct txn *t);
bool txn_writable(const struct txn *t);
/* Whether this run may take long: false with ENGINE_NOWAIT, on an event loop. A function whose work
 * would hold up the loop ends with ERR_LONG_WORK there, and is run again with ENGINE_WAIT. */
bool txn_may_wait(const struct txn *t);
/* For the cursors that are opened from now on: HINT_ONCE. */
void txn_hint(struct txn *t, unsigned hints);

/* ---- cursors ---- */

/* Where a cursor stands: for callers to read. Key and value are borrowed until it moves. A cursor
 * is valid inside the function that opened it, and closed when that returns, if not before. */
struct cursor {
    bool valid;           /* false: past the last row, and there is none of the rest */
    struct str partition; /* only of a cursor over several */
    struct str key;
    struct str value;
    /* the engine's */
    const struct cursor_ops *ops;
    struct cursor *next_open;
    struct cursor **open_link;
};

/* Over the keys of the partition that start with prefix, in order; it sees the transaction's own
 * writes made before it was opened or moved. Opened at the first such key. A prefix may be longer
 * than any key (it is what a client asks for), and then finds none. */
struct err cursor_open(struct txn *t, struct str prefix, struct cursor **out);
/* The same over the keys from <= key < to; an absent `to` is the partition's end. An engine looks
 * at nothing outside, so a scan for what is due costs nothing for what was deleted past `to`. */
struct err cursor_open_range(struct txn *t, struct str from, struct str to, struct cursor **out);
/* Views only. Over the rows of all partitions that start with prefix, ordered by partition and then
 * by key: a query over many partitions reads on from one to the next without a search for each. It
 * stands where cursor_seek_across(partition, key) would go. */
struct err cursor_open_across(struct txn *t, struct str prefix, struct str partition,
                              struct str key, struct cursor **out);
/* To the first key >= key (given whole, with the prefix); never before the cursor's first. */
struct err cursor_seek(struct cursor *c, struct str key);
/* To the first row whose (partition, key) is not less; never before the cursor's first. The
 * partition is given whole, and need not exist. */
struct err cursor_seek_across(struct cursor *c, struct str partition, struct str key);
struct err cursor_next(struct cursor *c);
/* To the first key past all that start with `skip`: how a delimiter listing jumps. */
struct err cursor_skip(struct cursor *c, struct str skip);
/* To the last key < key, or the cursor's last when key is absent. */
struct err cursor_seek_before(struct cursor *c, struct str key);
void cursor_close(struct cursor *c);

/* Calls visit for each partition that starts with prefix, lies after `after` (absent: from the
 * first) and has a row `key`, in order, until visit returns false. Spans partitions, each read in
 * the same snapshot. partition and value are borrowed for the call. */
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
/* Gives back a finished extent that no update adopted. */
void extent_discard(struct engine *e, const struct extent *x);

/* In an update: the first row that names a finished extent adopts it (count 1), each further one
 * holds it (count + 1), each that stops naming it drops it. At zero the space is free again, once
 * no pin that is older than the commit is left. The engine may find only when it commits that a
 * change is not possible (ERR_CORRUPT). */
enum extent_change { EXTENT_ADOPT, EXTENT_HOLD, EXTENT_DROP };
struct err txn_extent(struct txn *t, enum extent_change change, const struct extent *x);

/* A pin keeps every extent that is live now readable until it is released. Take it before the view
 * that finds the extents. */
struct engine_pin;
struct engine_pin *engine_pin(struct engine *e);
void engine_unpin(struct engine *e, struct engine_pin *pin);

/* A part of an extent, ready to be sent: bytes in memory (fd < 0), or a range of an open file for
 * sendfile. It is valid until the loan ends or the pin is released, whichever is first; where
 * nothing is lent, as long as the pin. An engine with files of its own gives ranges of those. One
 * across a network gives memory: it fetches the part, lends the buffer, and reads on into the next
 * one, because the parts of an extent are asked for in order. */
struct extent_span {
    const char *memory;
    int fd;
    int64_t file_offset;
    size_t length;
    struct engine_loan loan; /* ended by the caller, when the bytes are sent */
};
/* Checks the checksums of the part and says where it is. ERR_CORRUPT; ERR_WOULD_BLOCK with
 * ENGINE_NOWAIT when it is not in memory. */
struct err extent_locate(struct engine *e, const struct extent *x, uint32_t offset, uint32_t length,
                         enum engine_wait wait, struct extent_span *out);
/* Copies (and checks) the part into to[0..length). The same errors. */
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

/* Finishes what was submitted, flushes, frees. No pin, cursor or writer may be left. */
void engine_close(struct engine *e);

#endif
