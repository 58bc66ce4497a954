/* SPDX-License-Identifier: Apache-2.0 */
/* Numbered files in a folder: the segments that extents lie in, one after the other, and the files
 * of the journal.
 *
 * Ranges are handed out from the end of the one active segment and never used twice, so a place
 * names the same extent for ever. A segment that is full, or older than this run of the program, is
 * sealed. Ranges start at multiples of SEGMENT_ALIGN, so that giving one back frees whole blocks
 * and touches no other. */
#ifndef ENGINE_LOCAL_SEGMENT_H
#define ENGINE_LOCAL_SEGMENT_H

#include <errno.h>
#include <pthread.h>

#include "engine/engine.h"

enum { SEGMENT_ALIGN = 4096, SEGMENTS_OPEN_MAX = 256 };
#define SEGMENT_BYTES_MAX (1ULL << 30)
/* How much room a segment that fills up takes on the disk before it is needed. */
#define SEGMENT_AHEAD_BYTES (8ULL << 20)

struct segment {
    uint64_t id;
    int fd; /* -1 until it is needed */
    uint32_t users;
    bool poisoned;      /* a flush failed: what was not durable before may be lost */
    bool unsynced;      /* rows name bytes in it that no flush has covered */
    bool named_durably; /* the folder was flushed since the file was made, or first seen */
    uint64_t end;       /* where the next range starts */
    uint64_t ahead;     /* how far room was taken on the disk, 0: not at all */
    uint64_t pending;   /* ranges neither adopted nor given back */
    uint64_t wasted;    /* ranges dropped or discarded, not yet punched out */
    uint64_t used_at;   /* the newest commit at which someone was told the descriptor */
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
    bool no_ahead;          /* the file system cannot take room ahead */
    uint64_t first_open_id; /* older ones have nothing pending */
    uint64_t next_id;
};

/* Finds the files that are there. New ones get ids from next_id_min on. Those from first_open_id on
 * may hold ranges that no row names: each counts as one pending until segments_recovered. */
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

/* A new file, in use until segment_put. ERR_IO, ERR_NO_SPACE. */
struct err segments_add(struct segments *s, struct segment **out);
/* A range of `bytes` in the active segment; it is pending until adopted or wasted. The segment is
 * in use until segment_put. ERR_IO, ERR_NO_SPACE. */
struct err segments_reserve(struct segments *s, uint32_t bytes, struct segment **out,
                            uint64_t *offset);
/* Takes room on the disk for the range at `offset`, the caller's, and a good deal of what will
 * follow it: a file system that is asked for each page by itself, as it is written, takes half as
 * long again for the writing. Nothing is lost when it cannot be had. What is left of it when the
 * segment is sealed is given back. `free`: how much may be taken at all. */
void segments_take_ahead(struct segments *s, struct segment *segment, uint64_t offset,
                         uint64_t free);
/* The end of a range that was not needed, when it is the newest. */
void segments_trim(struct segments *s, struct segment *segment, uint64_t range_end,
                   uint64_t used_end);

/* The segment, with its descriptor open and in use until segment_put. ERR_CORRUPT when there is
 * none; ERR_IO. `commit` is what SEGMENTS_OPEN_MAX goes by, see segments_close_idle. */
struct err segments_use(struct segments *s, uint64_t id, uint64_t commit, struct segment **out);
void segment_put(struct segments *s, struct segment *segment);

/* ERR_IO when the segment is poisoned, ERR_CORRUPT when nothing in it is pending. */
struct err segments_may_adopt(struct segments *s, uint64_t id);
/* A pending range has been adopted. */
void segments_adopted(struct segments *s, uint64_t id);
/* A live (or, with was_pending, a pending) range is to be punched out. */
void segments_add_waste(struct segments *s, uint64_t id);
void segments_punched(struct segments *s, uint64_t id, bool was_pending);

/* Rows name bytes in it that no flush has covered: until segment_sync its descriptor stays open,
 * for the kernel may tell no other one that it could not write them. */
void segments_note_unsynced(struct segments *s, uint64_t id);
/* Makes all that was written to it durable. ERR_IO or ERR_NO_SPACE, and the segment is poisoned. */
struct err segment_sync(struct segments *s, struct segment *segment);

/* Ends the file there, if it is longer. To be flushed; also when the file seems to end there: a
 * flush of the program before may have failed, and then it ends there in the kernel's memory alone,
 * which takes that for written. */
struct err segment_cut(struct segment *segment, uint64_t at);

/* Gives whole blocks back to the file system. False when it could not, which is logged: the space
 * then comes back when the whole segment goes. */
bool segment_punch(struct segment *segment, uint64_t offset, uint64_t bytes);
/* Comes back when the holes are durable. False when they may not be. A failure is this call's
 * alone: segment_sync still reports what it has to. */
bool segments_settle(struct segments *s, uint64_t id);

/* What decides whether a segment can be unlinked: `end` has to be the same when it is. */
struct segment_look {
    uint64_t id;
    uint64_t end;
    bool idle; /* nothing pending, nothing wasted */
};
struct segment_look segments_look(struct segments *s, uint64_t id);
/* Unlinks the segment if it is still as it was seen to be. The caller has found that no extent in
 * it is live. */
void segments_unlink(struct segments *s, const struct segment_look *look);

/* Closes descriptors nobody can be using when there are more than SEGMENTS_OPEN_MAX: those last
 * told at a commit older than `safe_commit`. */
void segments_close_idle(struct segments *s, uint64_t safe_commit);

/* The oldest segment that holds, or may come to hold, a range that no row names. */
uint64_t segments_oldest_open(struct segments *s);
/* No range is handed out from the active segment any more. Returns the same, then. */
uint64_t segments_seal(struct segments *s);
/* The oldest segment with an id >= from; false when there is none. */
bool segments_next(struct segments *s, uint64_t from, uint64_t *id);
/* The newest id, 0 when there is none. */
uint64_t segments_newest(struct segments *s);
/* What the files take of the disk, less what was taken ahead. */
void segments_usage(struct segments *s, uint64_t *count, uint64_t *bytes);
/* The file's name within its folder. */
enum { SEGMENT_NAME_BYTES = 24 };
void segments_name(const struct segments *s, char name[SEGMENT_NAME_BYTES], uint64_t id);

/* Is this errno of a read with RWF_NOWAIT a reason to read again from where waiting is allowed? Not
 * every file system knows the flag (tmpfs, FUSE and NFS do not): there all reads take that way. */
static inline bool segment_read_would_block(int error)
{
    return error == EAGAIN || error == EOPNOTSUPP;
}

static inline uint64_t segment_align(uint64_t bytes)
{
    return (bytes + SEGMENT_ALIGN - 1) / SEGMENT_ALIGN * SEGMENT_ALIGN;
}

#endif
