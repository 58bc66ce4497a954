/* SPDX-License-Identifier: Apache-2.0 */
/* The journal: each commit is one record in it, written and flushed before RocksDB gets the
 * rows.
 *
 * It replaces RocksDB's own log. In addition, values of VALUE_LARGE_MIN bytes and more stay in
 * the record, and RocksDB stores a reference to them. So a payload is written once, and neither
 * flushes nor compactions touch it. (RocksDB's log and blob files wrote it three times, each
 * time with a checksum computed in software: 36 CPU µs for a 4 KiB row against 20 this way.)
 *
 * A file consists of a header and of records at multiples of RECORD_ALIGN. A record consists of
 * a header, the entries (keys, small values, lengths and checksums of large values), and the
 * large values. The header, the entries and each large value have checksums of their own.
 * Numbers are little-endian. A copy of the row precedes each large value, so that one read
 * returns the whole row (see row_index.h).
 *
 * RocksDB stores the journal position up to which it has all commits. After a crash it comes
 * back with a prefix of the commits, and replay applies the records behind that position. */
#ifndef ENGINE_LOCAL_JOURNAL_H
#define ENGINE_LOCAL_JOURNAL_H

#include <sys/uio.h>

#include "engine/local/segment.h"
#include "engine/tree.h"

enum {
    VALUE_LARGE_MIN = 1024,
    BODY_LARGE_MIN = 512,          /* of a body; smaller, because listings read the values beside
                                    * them */
    JOURNAL_FILE_BYTES = 64 << 20, /* default size; a file is full when it is larger */
    JOURNAL_HEAD_BYTES = 64,
    RECORD_ALIGN = 64,
    RECORD_HEAD_BYTES = 48,
    /* Header of a stored row whose value or body is inline (value.h). */
    VALUE_HERE_HEAD_BYTES = 1,
    BODY_HERE_HEAD_BYTES = 1 + 4,
};

/* The end of a record: file, offset, and the record's number. */
struct journal_position {
    uint64_t file;
    uint64_t offset;
    uint64_t sequence;
};

/* Refers to a large value. */
struct value_ref {
    uint64_t file;
    uint64_t offset;
    uint32_t length;
    uint32_t check;
    bool led; /* a copy of the rest of the row precedes it */
};

/* Where a complete row lies. `bytes` may be larger than the row. */
struct row_location {
    uint64_t file;
    uint64_t offset;
    uint64_t bytes;
};

struct journal {
    struct segments files;
    struct segment *active; /* counted as in use while it is set */
    uint64_t salt;          /* of the active file; prevents a value from being mistaken for a
                             * record */
    struct journal_position end;
    uint64_t durable_sequence;
    uint64_t durable_offset; /* in the active file: everything before it is durable */
    uint64_t filled;         /* in the active file: blocks are allocated up to here */
    bool broken;             /* a flush failed; no record may be appended to this file */
    int64_t write_failed_ms; /* time of the last failed write */

    /* The record that is being built, or was written last. */
    struct journal_position record_at; /* where it starts */
    struct buf head;
    struct buf entries;
    struct buf leads;
    struct iovec *values;   /* alternately a lead and a row */
    struct value_ref *refs; /* references to the values, in order */
    size_t value_count;
    size_t value_capacity;
    uint64_t value_bytes;
    uint32_t entry_count;
};

/* file_bytes 0 means the default. */
struct err journal_init(struct journal *j, const char *folder, uint64_t file_bytes, bool read_only);
void journal_release(struct journal *j);
/* Continues behind this position, in a new file. File numbers up to it are not used again. */
void journal_resume(struct journal *j, struct journal_position position);
bool journal_position_read(struct str from, struct journal_position *position);

/* ---- adding a record ---- */

/* True if the next record starts a new file, which flushes the current one. */
bool journal_needs_file(const struct journal *j);
/* Starts a record. ERR_NO_SPACE or ERR_IO if a new file is needed and cannot be created. */
struct err journal_begin(struct journal *j);
void journal_add_delete(struct journal *j, struct str key);
void journal_add_small(struct journal *j, struct str key, struct str value);
/* Adds a row in its stored form (value.h): a value with a small body. */
void journal_add_stored(struct journal *j, struct str key, struct str stored);
/* Adds a row with a large value. The row is borrowed until the record is written. */
void journal_add_large(struct journal *j, const struct row *row, struct str value);
/* Adds a row with a large body; the value beside it is copied. */
void journal_add_large_body(struct journal *j, const struct row *row, struct str value,
                            struct str body);
/* Returns a reference to the n-th large value. Valid from the last entry until the next record
 * starts. */
struct value_ref journal_value_ref(const struct journal *j, size_t n);
/* Where the record ends. */
struct journal_position journal_record_end(const struct journal *j);
/* Writes the record. With `flush`, starts write-back as well; the caller calls journal_flush
 * next. On an error the journal is unchanged. */
struct err journal_write(struct journal *j, bool flush);
/* Makes all records durable. */
struct err journal_flush(struct journal *j);
/* Discards the record just written, whose flush has failed, whether it reached the disk or not. */
void journal_leave_record(struct journal *j);
/* After a failed flush the next record goes to a new file, but only after RocksDB has stored and
 * flushed this position and everything before it. Bytes between durable_offset and `end` may be
 * readable without being on the disk, so RocksDB must take their large values as well. */
struct journal_position journal_mend_position(const struct journal *j);
void journal_mended(struct journal *j);

/* ---- values ---- */

enum { VALUE_REF_BYTES = 24 };
void value_ref_write(char to[VALUE_REF_BYTES], const struct value_ref *ref);
bool value_ref_read(struct str from, struct value_ref *ref);
/* Returns where the complete row of this key lies, given a reference to its value or body and
 * the number of bytes stored before it. */
struct row_location journal_row_location(const struct value_ref *ref, size_t key_n, size_t head_n);
/* Reads the complete row of that key in its stored form into `room` (location->bytes) and verifies
 * it. ERR_WOULD_BLOCK, ERR_IO; ERR_CORRUPT if something else is there. */
struct err journal_read_row(struct journal *j, const struct row_location *location,
                            enum engine_wait wait, struct str key, char *room, struct str *stored);
/* Reads and verifies a value. ERR_WOULD_BLOCK, ERR_CORRUPT, ERR_IO. */
struct err journal_read_value(struct journal *j, const struct value_ref *ref, enum engine_wait wait,
                              char *to);

/* ---- reading records ---- */

struct record_head {
    uint32_t entry_check;
    uint32_t entry_bytes;
    uint32_t entry_count;
    uint64_t value_bytes;
    uint64_t sequence;
    uint64_t durable_sequence; /* the records known to be durable when this one was written */
    bool extents_durable;      /* the extents of this record and of those before were flushed before
                                * it was written */
};

enum entry_kind {
    ENTRY_DELETE,
    ENTRY_SMALL,
    ENTRY_LARGE,
    ENTRY_STORED,    /* the stored form: a value with a small body, or with
                      * one that an earlier record has */
    ENTRY_LARGE_BODY /* a value, and a reference to its body */
};

struct record_entry {
    struct str key;
    enum entry_kind kind;
    struct str value; /* absent for a large value and for a delete */
    struct value_ref ref;
};

/* True if a row refers to bytes inside the record. */
static inline bool record_entry_in_journal(const struct record_entry *entry)
{
    return entry->kind == ENTRY_LARGE || entry->kind == ENTRY_LARGE_BODY;
}

/* Sets *blank if the file has no content, not even a header: the program ended while creating
 * it. A power cut may leave bytes after the header but zeros in its place; nothing in such a
 * file was durable. */
struct err journal_file_blank(struct journal *j, uint64_t file, bool *blank);

/* Iterates over the records of one file. */
struct journal_walk {
    struct segment *file;
    uint64_t salt;
    bool led;        /* leads precede the large values */
    uint64_t offset; /* of the current record */
    uint64_t next;
    struct record_head head;
    struct buf entries;
    struct reader reader; /* over the rest of the entries */
    uint64_t value_at;
};

/* Starts at the record at `offset`, or at the first if it is 0. ERR_CORRUPT if the file's header
 * is invalid. */
struct err journal_walk_init(struct journal_walk *w, struct journal *j, uint64_t file,
                             uint64_t offset);
void journal_walk_release(struct journal_walk *w, struct journal *j);
/* Moves to the next record. False at the end, or if no valid record header follows. */
bool journal_walk_next(struct journal_walk *w);
/* Searches for the next valid record header, skipping anything before it. False if there is
 * none. */
bool journal_walk_find(struct journal_walk *w);
/* Reads the entries of the current record. False if they do not match the header. */
bool journal_walk_load(struct journal_walk *w);
/* Returns the next entry of the loaded record. False after the last. */
bool journal_walk_entry(struct journal_walk *w, struct record_entry *entry);

#endif
