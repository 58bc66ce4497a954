/* SPDX-License-Identifier: Apache-2.0 */
/* Versioned rows. A snapshot of a whole tree of rows (a share, a page blob) is one stamp: taking
 * it copies nothing. Every row carries the stamp of the update that wrote it. The first change
 * to a row after a snapshot saves the old value in the history, and a reader of the snapshot
 * finds for each key the value at that stamp.
 *
 * A current row is KEY → stamp (8 bytes) + payload. A historic row is HISTORY + KEY + 00 +
 * through (8 bytes, big-endian) → the same value, where `through` is the latest snapshot that
 * saw the value. The value of KEY at snapshot S is the current one if its stamp is <= S; else
 * the first historic one with through >= S if its stamp is <= S; else there was none. No key may
 * begin with another key followed by 00: keys of a kind have one length or end in a name, and
 * names contain no NUL. */
#ifndef SERVICE_COMMON_VROW_H
#define SERVICE_COMMON_VROW_H

#include "engine/engine.h"

#define VROW_LIVE INT64_MAX

/* The snapshots of the rows that a transaction works on. */
struct vrow_scope {
    struct txn *txn;
    int64_t at;          /* VROW_LIVE, or the snapshot that reads see (then writing is not
                          * allowed) */
    const int64_t *kept; /* stamps of the existing snapshots, ascending */
    size_t kept_count;
    struct str history; /* key prefix of historic rows */
};

enum { VROW_STAMP_BYTES = 8, VROW_PAST_BYTES = 9 };

struct vrow {
    int64_t stamp;
    struct str payload; /* absent: there is no such row */
    struct str raw;     /* stamp and payload */
};

static inline bool vrow_given(const struct vrow *row)
{
    return str_given(row->payload);
}

/* The latest snapshot; INT64_MIN if there is none. */
static inline int64_t vrow_youngest(const struct vrow_scope *s)
{
    return s->kept_count == 0 ? INT64_MIN : s->kept[s->kept_count - 1];
}

/* Splits a stored value; false if it is no versioned row. */
bool vrow_split(struct str value, struct vrow *out);
/* Starts a value with the transaction's stamp; the payload follows. */
void vrow_begin(const struct vrow_scope *s, struct buf *value);

/* Reads the row as the scope sees it; borrowed like txn_get's. ERR_CORRUPT. */
struct err vrow_get(const struct vrow_scope *s, struct str key, struct vrow *out);
/* The same for a row that many requests read (a directory on the way to a file). */
struct err vrow_get_hot(const struct vrow_scope *s, struct str key, struct vrow *out);

/* Writes `value` (started with vrow_begin); `old` is what vrow_get found (payload absent:
 * nothing). Sets *past if the old value went into the history: then it still references its
 * extents, and those that the new value also names must be held once more. */
struct err vrow_put(const struct vrow_scope *s, struct str key, const struct vrow *old,
                    struct str value, bool *past);
struct err vrow_del(const struct vrow_scope *s, struct str key, const struct vrow *old, bool *past);

/* A cursor over the keys with the prefix, as the scope sees them. Current rows may be changed while
 * it is at them. */
struct vrow_cursor;
struct err vrow_cursor_open(const struct vrow_scope *s, struct str prefix,
                            struct vrow_cursor **out);
/* The same, but only over keys whose rows were changed or removed after the scope's snapshot and
 * before the snapshot `until` (VROW_LIVE: at all). */
struct err vrow_cursor_open_changed(const struct vrow_scope *s, struct str prefix, int64_t until,
                                    struct vrow_cursor **out);
/* To the first key >= key (given whole). */
struct err vrow_cursor_seek(struct vrow_cursor *c, struct str key);
struct err vrow_cursor_next(struct vrow_cursor *c);
bool vrow_cursor_valid(const struct vrow_cursor *c);
/* All borrowed until the cursor moves. */
struct str vrow_cursor_key(const struct vrow_cursor *c);
/* Returns the key under which the row is stored: its own, or that of a historic row. */
struct str vrow_cursor_stored_key(const struct vrow_cursor *c);
const struct vrow *vrow_cursor_row(const struct vrow_cursor *c);
void vrow_cursor_close(struct vrow_cursor *c);

/* True if no existing snapshot sees this historic row, so that it can be deleted. `key` is the
 * historic row's. */
bool vrow_past_unseen(const struct vrow_scope *s, struct str key, const struct vrow *row);
/* Returns the key whose value a historic row is. */
struct str vrow_past_key(const struct vrow_scope *s, struct str key);

#endif
