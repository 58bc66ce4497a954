/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of files: reading, writing and clearing ranges, and listing the written ones. */
#ifndef SERVICE_FILE_RANGE_H
#define SERVICE_FILE_RANGE_H

#include "service/common/store.h"
#include "service/file/access.h"

enum { FILE_SECTOR_BYTES = 512, FILE_RANGES_MAX = 10000, FILE_RANGES_WHOLE_MAX = 1 << 20 };

/* ---- reading ---- */

struct file_read_args {
    struct file_request request; /* first */
    bool has_range;
    uint64_t range_offset;
    uint64_t range_length; /* at most this much */
    /* out */
    struct file_outcome outcome;
    uint64_t offset; /* the range, clipped to the file */
    uint64_t length;
    struct pieces pieces; /* from offset on, up to `until` */
    uint64_t until;
    struct engine_state **kept; /* in: where to keep the state if it does not reach the end */
};
/* ERR_INVALID_RANGE: outcome.node.size has the file's size. */
engine_fn file_get_file;

/* The next pieces of a read that was too long for one view, in a view of the state that the first
 * view kept: so the whole read is of one committed state, despite concurrent writes. */
struct file_read_more {
    struct arena *arena; /* where the pieces go */
    uint64_t incarnation;
    int64_t snapshot;
    uint64_t id, content;
    uint64_t from, to;
    /* out */
    struct pieces pieces;
    uint64_t until;
};
void file_read_more_init(struct file_read_more *more, const struct file_read_args *args,
                         uint64_t incarnation);
engine_fn file_get_file_more;

/* ---- writing ---- */

struct file_range_args {
    struct file_request request; /* first */
    uint64_t offset, length;
    const struct pieces *pieces; /* as interval_piece_length divides them; NULL: clear */
    struct file_time last_write;
    /* out */
    struct file_outcome outcome;
};
/* Put Range, update or clear. ERR_INVALID_RANGE past the file's end. */
engine_fn file_put_range;

/* Allocates a content for a file that had none. */
void file_give_content(struct file_scope *s, struct node *n);
/* Writes into a found file, from both front ends: the bytes only. */
struct err file_write_pieces(struct file_scope *s, struct file_found *found, uint64_t offset,
                             const struct pieces *pieces);
struct err file_clear(struct file_scope *s, struct file_found *found, uint64_t from, uint64_t to);
/* Everything from there to the end of the file, including a partial last sector: for clients that
 * query allocated ranges. */
struct err file_clear_rest(struct file_scope *s, struct file_found *found, uint64_t from);

/* ---- which ranges ---- */

struct file_range {
    uint64_t start, end; /* past the last byte */
    bool cleared;
};

struct file_ranges_args {
    struct file_request request; /* first */
    bool has_range;
    uint64_t range_offset, range_length;
    bool differences; /* since the snapshot `previous` */
    int64_t previous;
    bool follow_rename; /* also if the file had another name then */
    uint64_t marker;    /* begin here */
    size_t max;
    bool whole; /* all of them or none: ERR_OPERATION_TIMED_OUT past max */
    /* out */
    struct file_outcome outcome;
    struct file_range *ranges; /* in order */
    size_t count;
    uint64_t next; /* where to continue; 0: complete */
};
/* List Ranges, in sectors of 512 bytes. ERR_SHARE_SNAPSHOT_NOT_FOUND for the previous one,
 * ERR_RESOURCE_NOT_FOUND if the file did not exist then, ERR_PREVIOUS_SNAPSHOT_NOT_FOUND if it had
 * another name and renames are not followed. */
engine_fn file_list_ranges;

#endif
