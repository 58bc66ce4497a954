/* SPDX-License-Identifier: Apache-2.0 */
/* Numbered files in a folder: the segments that hold extents one after the other, and the files
 * of the journal.
 *
 * Ranges are allocated at the end of the one active segment and never reused, so an offset names
 * the same extent for ever. A segment that is full, or older than this run of the program, is
 * sealed. Ranges start at multiples of SEGMENT_ALIGN, so that freeing one frees whole blocks and
 * touches no other. */
#ifndef ENGINE_LOCAL_SEGMENT_H
#define ENGINE_LOCAL_SEGMENT_H

#include <errno.h>
#include <pthread.h>

#include "engine/engine.h"

enum { SEGMENT_ALIGN = 4096, SEGMENTS_OPEN_MAX = 256 };
#define SEGMENT_BYTES_MAX (1ULL << 30)
/* How much disk space an active segment preallocates. */
#define SEGMENT_PREALLOCATED_BYTES (8ULL << 20)

struct segment {
    uint64_t id;
    int fd; /* -1 until it is needed */
    uint32_t users;
    bool poisoned;         /* a flush failed: bytes that were not durable before may be lost */
    bool unsynced;         /* rows refer to bytes that no flush has covered */
    bool named_durably;    /* the folder was flushed since the file was created or first seen */
    uint64_t end;          /* where the next range starts */
    uint64_t preallocated; /* disk space is preallocated up to here; 0: none */
    uint64_t pending;      /* ranges neither adopted nor freed */
    uint64_t wasted;       /* ranges dropped or discarded and not yet punched */
    uint64_t used_at;      /* the newest commit at which someone got the descriptor */
};

struct segments {
    pthread_mutex_t lock;
    int folder_fd;
    const char *suffix; /* of the files' names */
    bool read_only;
    uint64_t file_bytes;   /* a segment that would become larger is sealed */
    struct segment **list; /* by id */
    size_t count;
    size_t capacity;
    size_t open_count;
    struct segment *active;
    bool no_preallocation;  /* the file system cannot preallocate */
    uint64_t first_open_id; /* older ones have no pending ranges */
    uint64_t next_id;
};

/* Finds the existing files. New ones get ids from next_id_min on. Segments from first_open_id on
 * may hold ranges that no row names: each counts as one pending range until segments_recovered. */
struct segments_options {
    const char *folder;
    const char *suffix;
    uint64_t first_open_id;
    uint64_t next_id_min;
    uint64_t file_bytes;
    bool read_only;
};
struct err segments_init(struct segments *s, const struct segments_options *o);
void segments_recovered(struct segments *s, uint64_t id);
void segments_release(struct segments *s);

/* Creates a file, in use until segment_put. ERR_IO, ERR_NO_SPACE. */
struct err segments_add(struct segments *s, struct segment **out);
/* Allocates a range in the active segment. It is pending until adopted or wasted, and the
 * segment is in use until segment_put. ERR_IO, ERR_NO_SPACE. */
struct err segments_reserve(struct segments *s, uint32_t bytes, struct segment **out,
                            uint64_t *offset);
/* Preallocates disk space for the caller's range at `offset` and for much of what will follow:
 * allocating page by page while writing takes the file system half as long again. Failure does
 * no harm. Sealing the segment frees the rest. `free`: how much may be allocated at all. */
void segments_preallocate(struct segments *s, struct segment *segment, uint64_t offset,
                          uint64_t free);
/* Returns the unused end of a range if it is the newest. */
void segments_trim(struct segments *s, struct segment *segment, uint64_t range_end,
                   uint64_t used_end);

/* Opens the segment, in use until segment_put. ERR_CORRUPT if it does not exist; ERR_IO.
 * `commit` decides when segments_close_idle may close it. */
struct err segments_use(struct segments *s, uint64_t id, uint64_t commit, struct segment **out);
void segment_put(struct segments *s, struct segment *segment);

/* ERR_IO if the segment is poisoned, ERR_CORRUPT if it has no pending range. */
struct err segments_may_adopt(struct segments *s, uint64_t id);
/* Counts a pending range as adopted. */
void segments_adopted(struct segments *s, uint64_t id);
/* Counts a live (or, with was_pending, a pending) range as waste. */
void segments_add_waste(struct segments *s, uint64_t id);
void segments_punched(struct segments *s, uint64_t id, bool was_pending);

/* Rows refer to bytes that no flush has covered. Its descriptor stays open until segment_sync,
 * because the kernel may report a failed write to no other descriptor. */
void segments_note_unsynced(struct segments *s, uint64_t id);
/* Makes all written bytes durable. ERR_IO or ERR_NO_SPACE; then the segment is poisoned. */
struct err segment_sync(struct segments *s, struct segment *segment);

/* Truncates the file at this offset; the caller flushes it. It acts even if the file seems to
 * end there: after a failed flush of an earlier run, that length may exist in the kernel's
 * memory only. */
struct err segment_cut(struct segment *segment, uint64_t at);

/* Frees whole blocks. False if that failed, which is logged; then the space is freed with the
 * whole segment. */
bool segment_punch(struct segment *segment, uint64_t offset, uint64_t bytes);
/* Returns when the holes are durable; false if they may not be. A failure here does not hide an
 * error from segment_sync. */
bool segments_settle(struct segments *s, uint64_t id);

/* What decides whether a segment can be unlinked; `end` must not change until then. */
struct segment_look {
    uint64_t id;
    uint64_t end;
    bool idle; /* nothing pending, nothing wasted */
};
struct segment_look segments_look(struct segments *s, uint64_t id);
/* Unlinks the segment if it has not changed since the look. The caller has found that no extent
 * in it is live. */
void segments_unlink(struct segments *s, const struct segment_look *look);

/* Closes descriptors that nobody can be using if more than SEGMENTS_OPEN_MAX are open: those
 * handed out at a commit older than `safe_commit`. */
void segments_close_idle(struct segments *s, uint64_t safe_commit);

/* Returns the oldest segment that holds, or may get, a range that no row names. */
uint64_t segments_oldest_open(struct segments *s);
/* Stops allocating from the active segment. Returns the same as segments_oldest_open. */
uint64_t segments_seal(struct segments *s);
/* Finds the oldest segment with an id >= from. False if there is none. */
bool segments_next(struct segments *s, uint64_t from, uint64_t *id);
/* The newest id, 0 when there is none. */
uint64_t segments_newest(struct segments *s);
/* Disk usage of the files without preallocated space. */
void segments_usage(struct segments *s, uint64_t *count, uint64_t *bytes);
/* Ranges that no row names any more and whose space was not freed yet. */
uint64_t segments_wasted(struct segments *s);
/* The file's name within its folder. */
enum { SEGMENT_NAME_BYTES = 24 };
void segments_name(const struct segments *s, char name[SEGMENT_NAME_BYTES], uint64_t id);

/* True if a read with RWF_NOWAIT that failed with this errno should be repeated where waiting is
 * allowed. Some file systems (tmpfs, FUSE, NFS) do not support the flag; there all reads take
 * that path. */
static inline bool segment_read_would_block(int error)
{
    return error == EAGAIN || error == EOPNOTSUPP;
}

static inline uint64_t segment_align(uint64_t bytes)
{
    return (bytes + SEGMENT_ALIGN - 1) / SEGMENT_ALIGN * SEGMENT_ALIGN;
}

#endif
