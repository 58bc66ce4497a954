/* SPDX-License-Identifier: Apache-2.0 */
/* The journal: every commit is one record in it, written and flushed before RocksDB hears of it.
 *
 * It does the work of RocksDB's own log, and more: values of VALUE_LARGE_MIN bytes and up stay
 * where the record has them, and RocksDB gets their place. So a payload is written once, and
 * neither flushes nor compactions touch it. (RocksDB's log and blob files wrote it three times,
 * each with a checksum computed in software: 36 CPU µs for a 4 KiB row against 20 this way.)
 *
 * A file: a header, then records at multiples of RECORD_ALIGN. A record: a header, the entries
 * (keys, small values, lengths and checksums of large values), the large values. Header, entries
 * and each large value have checksums of their own. Numbers are little-endian. Before a large value
 * its row is written once more, so that all of the row can be read at once (see row_places.h).
 *
 * RocksDB holds, written with every commit, the place up to which the journal is in it; after a
 * crash it comes back with a prefix of the commits, and what follows that place is applied anew. */
#ifndef ENGINE_LOCAL_JOURNAL_H
#define ENGINE_LOCAL_JOURNAL_H

#include <sys/uio.h>

#include "engine/local/segment.h"
#include "engine/tree.h"

enum {
    VALUE_LARGE_MIN = 1024,
    BODY_LARGE_MIN = 512,          /* of a body: listings go through the values beside them */
    JOURNAL_FILE_BYTES = 64 << 20, /* by default; a file is full when it is larger */
    JOURNAL_HEAD_BYTES = 64,
    RECORD_ALIGN = 64,
    RECORD_HEAD_BYTES = 48,
    /* What a row is stored as begins so, where its value or its body is there itself (value.h). */
    VALUE_HERE_HEAD_BYTES = 1,
    BODY_HERE_HEAD_BYTES = 1 + 4,
};

/* Where a record ends: all before it, and the record's number. */
struct journal_place {
    uint64_t file;
    uint64_t offset;
    uint64_t sequence;
};

/* Where a large value lies. */
struct value_place {
    uint64_t file;
    uint64_t offset;
    uint32_t length;
    uint32_t check;
    bool led; /* the rest of the row stands before it */
};

/* Where a row lies whole; `bytes` may be more than it takes. */
struct row_place {
    uint64_t file;
    uint64_t offset;
    uint64_t bytes;
};

struct journal {
    struct segments files;
    struct segment *active; /* in use while it is set */
    uint64_t salt;          /* the active file's: makes a value that looks like a record harmless */
    struct journal_place end;
    uint64_t durable_sequence;
    uint64_t durable_offset; /* in the active file: what lies before it is durable */
    uint64_t filled;         /* in the active file: up to where its blocks are in place */
    bool broken;             /* a flush failed: nothing may be added behind what it left */
    int64_t write_failed_ms; /* when a write last did */

    /* the record being put together, or written last */
    struct journal_place record_at; /* where it begins */
    struct buf head;
    struct buf entries;
    struct buf leads;
    struct iovec *values;       /* a lead and a row by turns */
    struct value_place *places; /* of the values, counted from the first */
    size_t value_count;
    size_t value_capacity;
    uint64_t value_bytes;
    uint32_t entry_count;
};

/* file_bytes 0: the default. */
struct err journal_init(struct journal *j, const char *folder, uint64_t file_bytes, bool read_only);
void journal_release(struct journal *j);
/* Goes on behind this place, in a new file; no file number up to it is used again. */
void journal_resume(struct journal *j, struct journal_place place);
bool journal_place_read(struct str from, struct journal_place *place);

/* ---- adding a record ---- */

/* Whether the next record begins a new file, and so flushes what is in this one. */
bool journal_needs_file(const struct journal *j);
/* A record begins. ERR_NO_SPACE, ERR_IO when a new file is needed and cannot be made. */
struct err journal_begin(struct journal *j);
void journal_add_delete(struct journal *j, struct str key);
void journal_add_small(struct journal *j, struct str key, struct str value);
/* As RocksDB will store it (value.h): a value with a small body. */
void journal_add_stored(struct journal *j, struct str key, struct str stored);
/* The value ends the row, which is borrowed until the record is written. */
void journal_add_large(struct journal *j, const struct row *row, struct str value);
/* The same for a body; the value beside it is copied. */
void journal_add_large_body(struct journal *j, const struct row *row, struct str value,
                            struct str body);
/* Where the n-th large value is: known from when the last entry has been added until the next
 * record begins. */
struct value_place journal_value_place(const struct journal *j, size_t n);
/* Where the record ends. */
struct journal_place journal_record_end(const struct journal *j);
/* Writes the record. With flush, journal_flush is to follow, and the record is on its way to the
 * disk already. With an error nothing was added. */
struct err journal_write(struct journal *j, bool flush);
/* All before is durable. */
struct err journal_flush(struct journal *j);
/* The flush of the record just written has failed: it does not count, whether it is on the disk or
 * not. */
void journal_leave_record(struct journal *j);
/* After a failed flush the next record goes to a new file, once RocksDB has noted this place, and
 * flushed it and all that came before. What lies between durable_offset and `end` may not be on the
 * disk although it can be read: RocksDB has to take its large values as well. */
struct journal_place journal_mend_place(const struct journal *j);
void journal_mended(struct journal *j);

/* ---- values ---- */

enum { VALUE_PLACE_BYTES = 24 };
void value_place_write(char to[VALUE_PLACE_BYTES], const struct value_place *place);
bool value_place_read(struct str from, struct value_place *place);
/* Where the row of this key lies whole, whose value or body is at that place, with so many bytes
 * stored before it. */
struct row_place journal_row_place(const struct value_place *place, size_t key_n, size_t head_n);
/* Reads the row of that key as it is stored with all of it here, into room for place->bytes, and
 * checks it. ERR_WOULD_BLOCK, ERR_IO; ERR_CORRUPT when there is something else. */
struct err journal_read_row(struct journal *j, const struct row_place *place, enum engine_wait wait,
                            struct str key, char *room, struct str *stored);
/* Reads and checks. ERR_WOULD_BLOCK, ERR_CORRUPT, ERR_IO. */
struct err journal_read_value(struct journal *j, const struct value_place *place,
                              enum engine_wait wait, char *to);

/* ---- reading records ---- */

struct record_head {
    uint32_t entry_check;
    uint32_t entry_bytes;
    uint32_t entry_count;
    uint64_t value_bytes;
    uint64_t sequence;
    uint64_t
        durable_sequence; /* of which records it was known, when this was written, to be safe */
    bool extents_durable; /* what it and those before it name was flushed before it was written */
};

enum entry_kind {
    ENTRY_DELETE,
    ENTRY_SMALL,
    ENTRY_LARGE,
    ENTRY_STORED,    /* the value is as RocksDB stores it: a value with a small body */
    ENTRY_LARGE_BODY /* a value, and the place of its body */
};

struct record_entry {
    struct str key;
    enum entry_kind kind;
    struct str value; /* absent for a large one, and one deleted */
    struct value_place place;
};

/* Whether there is something in the record itself that a row names. */
static inline bool record_entry_placed(const struct record_entry *entry)
{
    return entry->kind == ENTRY_LARGE || entry->kind == ENTRY_LARGE_BODY;
}

/* Whether there is nothing in the file, not even a header: the program ended as it made it. A power
 * cut may leave what comes after the header and not the header itself, where there are zeros then:
 * nothing in such a file was durable. */
struct err journal_file_blank(struct journal *j, uint64_t file, bool *blank);

/* Goes through the records of one file. */
struct journal_walk {
    struct segment *file;
    uint64_t salt;
    bool led;        /* rows stand before their large values */
    uint64_t offset; /* of the record at hand */
    uint64_t next;
    struct record_head head;
    struct buf entries;
    struct reader reader; /* over what is left of them */
    uint64_t value_at;
};

/* From the record at `offset` on, 0 for the first. ERR_CORRUPT when the file's header is not one.
 */
struct err journal_walk_init(struct journal_walk *w, struct journal *j, uint64_t file,
                             uint64_t offset);
void journal_walk_release(struct journal_walk *w, struct journal *j);
/* To the next record; false at the end, or when what is there is no record's header. */
bool journal_walk_next(struct journal_walk *w);
/* To the next thing that is a record's header, whatever lies before it; false when there is none.
 */
bool journal_walk_find(struct journal_walk *w);
/* Reads the entries of the record at hand. False when they are not what the header says. */
bool journal_walk_load(struct journal_walk *w);
/* The next entry of the record loaded; false after the last. */
bool journal_walk_entry(struct journal_walk *w, struct record_entry *entry);

#endif
