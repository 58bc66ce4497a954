/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with a past. A snapshot of a whole tree of rows (a share, a page blob) is one stamp: taking
 * it copies nothing. Every row carries the stamp of the update that wrote it; the first change to a
 * row after a snapshot leaves the row's old value behind in the history, and a reader of the
 * snapshot finds for each key the value that was there at the stamp.
 *
 * A live row is KEY → stamp (8 bytes) + payload. A past one is HISTORY + KEY + 00 + through (8
 * bytes, big-endian) → the same value; `through` is the youngest snapshot that saw the value. So
 * the value of KEY at snapshot S is the live one when its stamp is <= S, else the first past one
 * with through >= S when its stamp is <= S, else there was none. No key may begin with another one
 * followed by 00: keys of a kind have one length or end in a name, and names hold no NUL. */
#ifndef SERVICE_COMMON_VROW_H
#define SERVICE_COMMON_VROW_H

#include "engine/engine.h"

#define VROW_LIVE INT64_MAX

/* What a transaction knows about the snapshots of the rows it works on. */
struct vrow_scope {
    struct txn *txn;
    int64_t at;          /* VROW_LIVE, or the snapshot that reads see (then nothing is written) */
    const int64_t *kept; /* stamps of the snapshots that exist, ascending */
    size_t kept_count;
    struct str history; /* what keys of past rows begin with */
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

/* The youngest snapshot; INT64_MIN when there is none. */
static inline int64_t vrow_youngest(const struct vrow_scope *s)
{
    return s->kept_count == 0 ? INT64_MIN : s->kept[s->kept_count - 1];
}

/* Splits a stored value; false when it is no versioned row. */
bool vrow_split(struct str value, struct vrow *out);
/* Starts a value with the transaction's stamp: the payload follows. */
void vrow_begin(const struct vrow_scope *s, struct buf *value);

/* The row as the scope sees it; borrowed like txn_get's. ERR_CORRUPT. */
struct err vrow_get(const struct vrow_scope *s, struct str key, struct vrow *out);
/* The same of a row that many requests read (a directory on the way to a file). */
struct err vrow_get_hot(const struct vrow_scope *s, struct str key, struct vrow *out);

/* Writes `value` (made with vrow_begin) where `old` is what vrow_get found (payload absent: nothing
 * there). *past tells whether the old value went into the history: then the extents it names stay
 * named, and those that the new value names as well are to be held once more. */
struct err vrow_put(const struct vrow_scope *s, struct str key, const struct vrow *old,
                    struct str value, bool *past);
struct err vrow_del(const struct vrow_scope *s, struct str key, const struct vrow *old, bool *past);

/* A cursor over the keys with the prefix, as the scope sees them. Live rows may be changed while it
 * stands on them. */
struct vrow_cursor;
struct err vrow_cursor_open(const struct vrow_scope *s, struct str prefix,
                            struct vrow_cursor **out);
/* The same, but only of the keys whose rows were changed or removed after the scope's snapshot and
 * before that of `until` (VROW_LIVE: at all): what there is of them then. */
struct err vrow_cursor_open_changed(const struct vrow_scope *s, struct str prefix, int64_t until,
                                    struct vrow_cursor **out);
/* To the first key >= key (given whole). */
struct err vrow_cursor_seek(struct vrow_cursor *c, struct str key);
struct err vrow_cursor_next(struct vrow_cursor *c);
bool vrow_cursor_valid(const struct vrow_cursor *c);
/* All borrowed until the cursor moves. */
struct str vrow_cursor_key(const struct vrow_cursor *c);
/* The key under which the row really lies: its own, or that of a past row. */
struct str vrow_cursor_place(const struct vrow_cursor *c);
const struct vrow *vrow_cursor_row(const struct vrow_cursor *c);
void vrow_cursor_close(struct vrow_cursor *c);

/* Whether a past row is seen by none of the snapshots that exist, so that it may go. `key` is that
 * of the past row. */
bool vrow_past_unseen(const struct vrow_scope *s, struct str key, const struct vrow *row);
/* The key that a past row is a value of. */
struct str vrow_past_key(const struct vrow_scope *s, struct str key);

#endif
