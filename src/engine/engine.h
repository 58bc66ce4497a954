/* SPDX-License-Identifier: Apache-2.0 */
/* The seam between services and storage: ordered rows in partitions, transactions, extents.
 *
 * Nothing here knows an Azure word. A partition is any byte string; a key is any byte string within
 * it; keys are ordered by memcmp. What must be atomic together lives in one partition; updates to
 * one partition are serialisable; a view sees one committed, durable state and never waits for a
 * writer. All functions may be called from any thread unless they say otherwise. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "core/arena.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/str.h"
#include "core/wire.h"

struct engine;
struct txn;    /* valid inside the function it is handed to, on its thread */
struct cursor; /* valid inside the same function; closed when it returns, if not before */
struct scan;   /* the same */

enum { ENGINE_PARTITION_MAX = 4096, ENGINE_KEY_MAX = 16384, ENGINE_VALUE_MAX = 8 << 20 };

/* ---- transactions ---- */

/* A transaction function. Reads and writes through t only, and touches nothing but t and arg: it
 * may run more than once (each time with arg as the caller left it, so it must not consume arg's
 * inputs). An error rolls back whatever it wrote. */
typedef struct err engine_fn(struct txn *t, void *arg);

enum engine_wait {
    ENGINE_NOWAIT, /* ERR_WOULD_BLOCK instead of a read from disk; the caller tries again on another
                      thread with ENGINE_WAIT. For event loops. */
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
    /* It brings little, and rows go because of it (a message is got, and deleted next): it is taken
     * on a disk that is nearly full, as an update that deletes rows is. */
    bool makes_way;
    /* Optional. When fn has run without an error and the engine is about to wait for the disk: time
     * to prepare what is said when it is done, on an engine thread. No more than that: done may
     * still bring an error. Must be short. An engine that does not wait need not call it. */
    void (*settled)(struct engine_update *u);
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

/* ---- inside a transaction ---- */

/* The value is borrowed: it lives until the function returns. An absent row gives an absent slice
 * (p == NULL) and no error. */
struct err txn_get(struct txn *t, struct str key, struct str *value);
/* The same, with the hint that nearly every request to the partition reads this row (a container's
 * own row), so that the engine keeps it at hand. */
struct err txn_get_hot(struct txn *t, struct str key, struct str *value);
/* In an update, a hint: the rows with from <= key < to are read next, one after the other, with
 * txn_get_hot and here or in later updates (a queue is drained). The engine may fetch the first of
 * them together, where a search for each would cost more. */
void txn_expect(struct txn *t, struct str from, struct str to);
/* Reads a row of another partition, in the same snapshot: a parent that must exist. */
struct err txn_peek(struct txn *t, struct str partition, struct str key, struct str *value);
/* Whether it is plain that no row has a key with from <= key < to: a cheap look for who is about to
 * ask for many keys of the range. When it says no there may be none all the same. */
struct err txn_none_between(struct txn *t, struct str from, struct str to, bool *none);
struct err txn_put(struct txn *t, struct str key, struct str value);
/* A row may have a body beside its value: bytes that belong to it and are read only by who asks for
 * them (a small content, beside all else that is known of it). So one search finds both, and who
 * goes through many rows does not pay for their bodies: txn_get, txn_peek, cursors and scans give
 * the value alone. txn_put makes a row without a body. Together they are no larger than a value may
 * be. */
struct err txn_get_with_body(struct txn *t, struct str key, struct str *value, struct str *body);
struct err txn_put_with_body(struct txn *t, struct str key, struct str value, struct str body);
/* What is known of a row that is put. */
enum put_hint {
    PUT_HOT = 1, /* it is read again soon (a message just put) */
    /* No row of the key is there now. When this one is gone soon, hardly a trace is left of it. */
    PUT_NEW = 2,
};
struct err txn_put_hinted(struct txn *t, struct str key, struct str value, unsigned hints);
/* Adds to the end of the value of a row that is there and has no body, as if it were read and put
 * anew: for one that grows bit by bit. */
struct err txn_append(struct txn *t, struct str key, struct str bytes, unsigned hints);
/* A loan keeps a body in place after the function has returned, so that it need not be copied in
 * order to be sent. All zero is none. */
struct engine_loan {
    void (*end)(void *thing);
    void *thing;
};
/* In a view: whether what txn_get_with_body gave as a body, or this part of it, stays where it is
 * until the loan ends; when it does not it has to be copied. A loan that is there already (that of
 * a function that is run again) ends. */
bool txn_lend(struct txn *t, struct str bytes, struct engine_loan *loan);
void engine_loan_end(struct engine_loan *loan);
/* Absent is no error. */
struct err txn_del(struct txn *t, struct str key);

/* The clock's time when this run of the function began. */
int64_t txn_now(const struct txn *t);
/* Updates only: a number that no other update ever gets, larger than all before it also across
 * restarts and clock steps; ticks since 1970 unless the clock went back. The same all through one
 * run. */
int64_t txn_stamp(const struct txn *t);
/* Memory that lives until the function returns. (What must outlive it goes to arg's own arena.) */
struct arena *txn_arena(struct txn *t);
bool txn_writable(const struct txn *t);

/* What cursors opened from now on read is not to be remembered: for a page of many rows whose next
 * time, if there is one, is far off. It would push out what others read again and again. */
void txn_pass_by(struct txn *t);

/* A cursor over the keys of the partition that start with prefix, in order; it sees the
 * transaction's own writes made before it was opened or moved. Opened at the first such key; with
 * none, or moved past the last, it is not valid. A prefix may be longer than any key (it is what a
 * client asks for), and then finds none. */
struct err cursor_open(struct txn *t, struct str prefix, struct cursor **out);
/* The same over the keys from <= key < to; an absent `to` is the partition's end. An engine looks
 * at nothing outside, so a scan for what is due costs nothing for what was deleted past `to`. */
struct err cursor_open_range(struct txn *t, struct str from, struct str to, struct cursor **out);
/* To the first key >= key (given whole, with the prefix); never before the cursor's first. */
struct err cursor_seek(struct cursor *c, struct str key);
struct err cursor_next(struct cursor *c);
/* To the first key past all that start with `skip`: how a delimiter listing jumps. */
struct err cursor_skip(struct cursor *c, struct str skip);
/* To the last key < key, or the cursor's last when key is absent. */
struct err cursor_seek_before(struct cursor *c, struct str key);
bool cursor_valid(const struct cursor *c);
/* Borrowed until the cursor moves. */
struct str cursor_key(const struct cursor *c);
struct str cursor_value(const struct cursor *c);
void cursor_close(struct cursor *c);

/* A scan walks the rows of all partitions that start with prefix, ordered by partition and then by
 * key, in the transaction's snapshot: a query over many partitions reads on from one to the next
 * without a search for each. Views only. Opened at the first such row; with none, or moved past the
 * last, it is not valid. The prefix may be longer than any partition's name. */
struct err scan_open(struct txn *t, struct str prefix, struct scan **out);
/* Opened where a scan_seek would go, at the cost of one search. */
struct err scan_open_at(struct txn *t, struct str prefix, struct str partition, struct str key,
                        struct scan **out);
/* To the first row whose (partition, key) is not less; never before the scan's first. The partition
 * is given whole, and need not exist. */
struct err scan_seek(struct scan *s, struct str partition, struct str key);
struct err scan_next(struct scan *s);
bool scan_valid(const struct scan *s);
/* Borrowed until the scan moves. */
struct str scan_partition(const struct scan *s);
struct str scan_key(const struct scan *s);
struct str scan_value(const struct scan *s);
void scan_close(struct scan *s);

/* Calls visit for each partition that starts with prefix, lies after `after` (absent: from the
 * first) and has a row `key`, in order, until visit returns false. Spans partitions, each read in
 * the same snapshot. partition and value are borrowed for the call. */
typedef bool engine_visit(struct str partition, struct str value, void *arg);
struct err engine_partitions(struct engine *e, struct str prefix, struct str after, struct str key,
                             engine_visit *visit, void *arg);

/* ---- extents: immutable runs of bytes, named by rows ---- */

enum { EXTENT_BYTES_MAX = 4 << 20, EXTENT_ENCODED_BYTES = 24 };

struct extent {
    uint64_t segment;
    uint64_t offset;
    uint32_t length;
    uint32_t check; /* the engine's checksum of the extent's checksums */
};

/* How rows hold one: EXTENT_ENCODED_BYTES. */
void extent_encode(struct buf *b, const struct extent *x);
struct extent extent_decode(struct reader *r);

/* Writing: begin, append any number of times, then finish or abandon. Not shared between threads.
 * The extent may become shorter than size_max, but holds at least one byte. ERR_NO_SPACE, ERR_IO.
 */
struct extent_writer;
struct err extent_begin(struct engine *e, uint32_t size_max, struct extent_writer **out);
/* What is to be only visible need not be on its way to the disk while it arrives. Only a hint. */
void extent_unhurried(struct extent_writer *w);
struct err extent_append(struct extent_writer *w, struct str bytes);
/* Frees the writer, with an error too. The extent belongs to the caller until an update adopts it;
 * it is durable no later than the update that does. */
struct err extent_finish(struct extent_writer *w, struct extent *out);
void extent_abandon(struct extent_writer *w);
/* Gives back a finished extent that no update adopted. */
void extent_discard(struct engine *e, const struct extent *x);

/* In an update: the first row that names a finished extent adopts it (count 1), each further one
 * holds it (count + 1), each that stops naming it drops it; at zero the space returns to the file
 * system, once no pin that is older than the commit is left. */
struct err txn_extent_adopt(struct txn *t, const struct extent *x);
struct err txn_extent_hold(struct txn *t, const struct extent *x);
struct err txn_extent_drop(struct txn *t, const struct extent *x);

/* A pin keeps every extent that is live now readable until it is released. Take it before the view
 * that finds the extents. */
struct engine_pin;
struct engine_pin *engine_pin(struct engine *e);
void engine_unpin(struct engine *e, struct engine_pin *pin);

/* Where a part of an extent lies: in memory (fd < 0) or at an offset of an open file. Valid as long
 * as the pin. */
struct extent_span {
    const char *memory;
    int fd;
    int64_t file_offset;
    size_t length;
};

/* Checks the checksums of the part and says where it is. ERR_CORRUPT; ERR_WOULD_BLOCK with
 * ENGINE_NOWAIT when it is not in the page cache. */
struct err extent_locate(struct engine *e, const struct extent *x, uint32_t offset, uint32_t length,
                         enum engine_wait wait, struct extent_span *out);
/* Copies (and checks) the part into to[0..length). Always waits. */
struct err extent_read(struct engine *e, const struct extent *x, uint32_t offset, uint32_t length,
                       char *to);
/* The same from the page cache, or ERR_WOULD_BLOCK: for event loops. What was checked a moment ago
 * is not checked again. */
struct err extent_read_now(struct engine *e, const struct extent *x, uint32_t offset,
                           uint32_t length, char *to);

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
