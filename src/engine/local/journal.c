/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/crc/crc32c.h"
#include "core/log.h"
#include "core/mem.h"
#include "engine/local/journal_format.h"

/* See write_ahead. */
enum {
    AHEAD_PART_BYTES = 16 << 10,
    AHEAD_PARTS_MAX = 64,
    AHEAD_SHARE = 4,        /* of a file, at most */
    AHEAD_RECORD_SHARE = 8, /* a record followed by preallocated zeros is at most this part of
                             * them */
};

struct err journal_init(struct journal *j, const char *folder, uint64_t file_bytes, bool read_only)
{
    assert(folder != NULL);
    *j = (struct journal){0};
    struct segments_options options = {.folder = folder,
                                       .suffix = ".log",
                                       .first_open_id = UINT64_MAX,
                                       .next_id_min = 1,
                                       .file_bytes =
                                           file_bytes == 0 ? JOURNAL_FILE_BYTES : file_bytes,
                                       .read_only = read_only};
    return segments_init(&j->files, &options);
}

static void close_active(struct journal *j)
{
    if (j->active != NULL)
        segment_put(&j->files, j->active);
    j->active = NULL;
}

void journal_release(struct journal *j)
{
    if (j->files.folder_fd < 0)
        return;
    if (j->active != NULL && !j->broken && j->filled > j->end.offset &&
        ftruncate(j->active->fd, (off_t)j->end.offset) != 0)
        log_line(LOG_WARN, "journal: the zeros at its end could not be cut off");
    close_active(j);
    segments_release(&j->files);
    buf_release(&j->head);
    buf_release(&j->entries);
    buf_release(&j->leads);
    free(j->values);
    free(j->refs);
}

void journal_resume(struct journal *j, struct journal_position position)
{
    assert(j->active == NULL);
    j->end = position;
    j->durable_sequence = position.sequence;
    if (j->files.next_id <= position.file)
        j->files.next_id = position.file + 1;
}

bool journal_position_read(struct str from, struct journal_position *position)
{
    struct reader r = reader_of(from);
    position->file = read_le64(&r);
    position->offset = read_le64(&r);
    position->sequence = read_le64(&r);
    return reader_done(&r);
}

uint32_t journal_sum(struct str bytes, uint32_t seed)
{
    return crc32c(seed, bytes);
}

/* ---- files ---- */

static struct err write_error(void)
{
    return err_cause(errno == ENOSPC || errno == EDQUOT ? ERR_NO_SPACE : ERR_IO, errno);
}

/* Advances the iovec past the bytes that were written. */
static void iov_advance(struct iovec **iov, size_t *count, size_t n)
{
    while (*count > 0 && n >= (*iov)->iov_len) {
        n -= (*iov)->iov_len;
        *iov += 1;
        *count -= 1;
    }
    if (*count > 0) {
        (*iov)->iov_base = (char *)(*iov)->iov_base + n;
        (*iov)->iov_len -= n;
    }
}

static struct err write_parts(int fd, struct iovec *iov, size_t count, uint64_t offset)
{
    while (count > 0) {
        ssize_t n = pwritev(fd, iov, (int)(count < IOV_MAX ? count : IOV_MAX), (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return write_error();
        offset += (uint64_t)n;
        iov_advance(&iov, &count, (size_t)n);
    }
    return OK;
}

static struct err write_file_head(struct journal *j, struct segment *file)
{
    if (getrandom(&j->salt, sizeof j->salt, 0) != sizeof j->salt)
        return err_cause(ERR_IO, errno);
    struct buf *b = &j->head;
    buf_clear(b);
    buf_put(b, STR(JOURNAL_MAGIC));
    buf_put_le64(b, file->id);
    buf_put_le64(b, j->salt);
    buf_put_le32(b, journal_sum(buf_str(b), 0));
    memset(buf_reserve(b, JOURNAL_HEAD_BYTES - b->n), 0, JOURNAL_HEAD_BYTES - b->n);
    struct iovec head = {b->p, JOURNAL_HEAD_BYTES};
    return write_parts(file->fd, &head, 1, 0);
}

static struct err start_file(struct journal *j)
{
    struct segment *file;
    close_active(j);
    TRY(segments_add(&j->files, &file));
    struct err e = write_file_head(j, file);
    if (err_is(e)) {
        uint64_t id = file->id;
        segment_put(&j->files, file);
        struct segment_look look = segments_look(&j->files, id);
        segments_unlink(&j->files, &look);
        return e;
    }
    j->active = file;
    j->end.file = file->id;
    j->end.offset = JOURNAL_HEAD_BYTES;
    j->durable_offset = JOURNAL_HEAD_BYTES;
    j->filled = 0;
    return OK;
}

/* ---- a record ---- */

bool journal_needs_file(const struct journal *j)
{
    return j->active == NULL || j->end.offset >= j->files.file_bytes;
}

struct err journal_begin(struct journal *j)
{
    assert(!j->broken);
    if (journal_needs_file(j)) {
        /* A flush covers the active file only, so flush what is only visible before leaving the
         * file. */
        TRY(journal_flush(j));
        TRY(start_file(j));
    }
    buf_clear(&j->entries);
    buf_clear(&j->leads);
    j->value_count = 0;
    j->value_bytes = 0;
    j->entry_count = 0;
    j->record_at = j->end;
    return OK;
}

static void add_key(struct journal *j, uint8_t kind, struct str key)
{
    assert(j->active != NULL);
    assert(key.n > 0 && key.n <= UINT32_MAX);
    j->entry_count++;
    buf_put_u8(&j->entries, kind);
    buf_put_bytes(&j->entries, key);
}

void journal_add_delete(struct journal *j, struct str key)
{
    add_key(j, ENTRY_DELETE, key);
}

void journal_add_small(struct journal *j, struct str key, struct str value)
{
    add_key(j, ENTRY_SMALL, key);
    buf_put_bytes(&j->entries, value);
}

void journal_add_stored(struct journal *j, struct str key, struct str stored)
{
    add_key(j, ENTRY_STORED, key);
    buf_put_bytes(&j->entries, stored);
}

static void grow_values(struct journal *j)
{
    j->value_capacity = j->value_capacity == 0 ? 64 : j->value_capacity * 2;
    j->values = mem_realloc(j->values, 2 * j->value_capacity * sizeof *j->values);
    j->refs = mem_realloc(j->refs, j->value_capacity * sizeof *j->refs);
}

static void add_lead(struct journal *j, const struct row *row, size_t before_n,
                     const struct value_ref *ref)
{
    size_t at = j->leads.n;
    buf_put_le32(&j->leads, 0); /* checksum of the rest of the lead and of the row up to the
                                 * value */
    buf_put_le32(&j->leads, ref->check);
    buf_put_le32(&j->leads, row->key_n);
    buf_put_le32(&j->leads, (uint32_t)before_n - row->key_n);
    buf_put_le32(&j->leads, ref->length);
    uint32_t check =
        journal_sum(str_from(buf_str(&j->leads), at + 4), lead_seed(j->record_at.file));
    struct buf first = {.p = j->leads.p + at, .n = 0, .capacity = 4};
    buf_put_le32(&first, journal_sum((struct str){row->bytes, before_n}, check));
}

/* Records the value's bytes and completes the entry with length and checksum. */
static void add_value(struct journal *j, const struct row *row, struct str value)
{
    if (j->value_count == j->value_capacity)
        grow_values(j);
    size_t row_n = (size_t)row->key_n + row->value_n;
    size_t before_n = row_n - value.n;
    assert(value.p == row->bytes + before_n);
    struct value_ref ref = {.offset = j->value_bytes + LEAD_BYTES + before_n,
                            .length = (uint32_t)value.n,
                            .check = journal_sum(value, 0),
                            .led = true};
    add_lead(j, row, before_n, &ref);
    j->values[2 * j->value_count + 1] = (struct iovec){(void *)(uintptr_t)row->bytes, row_n};
    j->refs[j->value_count++] = ref;
    j->value_bytes += LEAD_BYTES + row_n;
    buf_put_varint(&j->entries, value.n);
    buf_put_le32(&j->entries, ref.check);
}

void journal_add_large(struct journal *j, const struct row *row, struct str value)
{
    add_key(j, ENTRY_LARGE, row_key(row));
    add_value(j, row, value);
}

void journal_add_large_body(struct journal *j, const struct row *row, struct str value,
                            struct str body)
{
    add_key(j, ENTRY_LARGE_BODY, row_key(row));
    buf_put_bytes(&j->entries, value);
    add_value(j, row, body);
}

struct value_ref journal_value_ref(const struct journal *j, size_t n)
{
    assert(n < j->value_count);
    struct value_ref ref = j->refs[n];
    ref.file = j->record_at.file;
    ref.offset += j->record_at.offset + RECORD_HEAD_BYTES + j->entries.n;
    return ref;
}

static uint64_t record_bytes(const struct journal *j)
{
    return RECORD_HEAD_BYTES + j->entries.n + j->value_bytes;
}

struct journal_position journal_record_end(const struct journal *j)
{
    return (struct journal_position){j->record_at.file,
                                     journal_align(j->record_at.offset + record_bytes(j)),
                                     j->record_at.sequence + 1};
}

static void make_head(struct journal *j, bool flush)
{
    struct buf *b = &j->head;
    buf_clear(b);
    buf_put_le32(b, RECORD_MAGIC);
    buf_put_le32(b, 0); /* the header's checksum */
    buf_put_le32(b, journal_sum(buf_str(&j->entries), (uint32_t)j->salt));
    buf_put_le32(b, (uint32_t)j->entries.n);
    buf_put_le64(b, j->value_bytes);
    buf_put_le64(b, j->end.sequence + 1);
    buf_put_le64(b, j->durable_sequence);
    buf_put_le32(b, j->entry_count);
    buf_put_le32(b, flush);
    assert(b->n == RECORD_HEAD_BYTES);
    struct buf check = {.p = b->p + 4, .n = 0, .capacity = 4};
    buf_put_le32(&check, journal_sum(str_from(buf_str(b), 8), (uint32_t)(j->salt >> 32)));
}

/* The first write carries the header, the entries and as many values as fit. */
static struct err write_record(struct journal *j)
{
    enum { FIRST = 128 };
    struct iovec first[2 + FIRST];
    size_t count = 2 * j->value_count;
    size_t taken = count < FIRST ? count : FIRST;
    size_t bytes = j->head.n + j->entries.n;
    for (size_t i = 0; i < j->value_count; i++)
        j->values[2 * i] = (struct iovec){j->leads.p + i * LEAD_BYTES, LEAD_BYTES};
    first[0] = (struct iovec){j->head.p, j->head.n};
    first[1] = (struct iovec){j->entries.p, j->entries.n};
    for (size_t i = 0; i < taken; i++) {
        first[2 + i] = j->values[i];
        bytes += j->values[i].iov_len;
    }
    TRY(write_parts(j->active->fd, first, 2 + taken, j->end.offset));
    return write_parts(j->active->fd, j->values + taken, count - taken, j->end.offset + bytes);
}

/* Preallocates: writes zeros behind the record, so that the flushes of the next records change
 * no metadata. A flush that also has to write the file's new blocks and length costs two or
 * three more disk writes and twice the CPU. Large records need this less, and would use up the
 * zeros at once. If the zeros do not fit on the disk, the journal works without them. */
static void write_ahead(struct journal *j, uint64_t record_n)
{
    static const char zeros[AHEAD_PART_BYTES];
    struct iovec parts[AHEAD_PARTS_MAX];
    uint64_t room = j->files.file_bytes / AHEAD_SHARE / AHEAD_PART_BYTES;
    size_t count = room < AHEAD_PARTS_MAX ? (size_t)room : AHEAD_PARTS_MAX;
    uint64_t bytes = count * AHEAD_PART_BYTES;
    if (j->filled >= j->end.offset || record_n > bytes / AHEAD_RECORD_SHARE ||
        j->end.offset + bytes > j->files.file_bytes)
        return;
    for (size_t i = 0; i < count; i++)
        parts[i] = (struct iovec){(void *)(uintptr_t)zeros, sizeof zeros};
    if (!err_is(write_parts(j->active->fd, parts, count, j->end.offset)))
        j->filled = j->end.offset + bytes;
}

/* Removes the record just written. The next record starts at the same offset, and nothing of
 * this one may stay behind it: a torn record could otherwise be completed by the remains of an
 * older one of the same size. */
static struct err cut_back(struct journal *j)
{
    struct stat stat;
    j->filled = 0;
    if (fstat(j->active->fd, &stat) == 0 && ((uint64_t)stat.st_size <= j->end.offset ||
                                             ftruncate(j->active->fd, (off_t)j->end.offset) == 0))
        return OK;
    struct err e = write_error();
    log_line(LOG_ERROR, "journal: cut back: %s", strerrorname_np(e.cause));
    j->broken = true;
    return e;
}

static void log_failed_write(struct journal *j, struct err e)
{
    int64_t now_ms = clock_mono_ms();
    if (now_ms - j->write_failed_ms >= 1000)
        log_line(LOG_ERROR, "journal: write: %s", strerrorname_np(e.cause));
    j->write_failed_ms = now_ms;
}

struct err journal_write(struct journal *j, bool flush)
{
    assert(j->active != NULL);
    assert(!j->broken);
    struct journal_position end = journal_record_end(j);
    make_head(j, flush);
    struct err e = write_record(j);
    if (err_is(e)) {
        log_failed_write(j, e);
        (void)cut_back(j); /* if that fails, the journal is broken and is repaired as after a
                            * failed flush */
        return e;
    }
    uint64_t bytes = end.offset - j->end.offset;
    j->end = end;
    if (flush) {
        /* Only a hint: an error shows up when the journal is flushed. */
        (void)sync_file_range(j->active->fd, (off_t)j->record_at.offset, (off_t)bytes,
                              SYNC_FILE_RANGE_WRITE);
        write_ahead(j, bytes);
    }
    return OK;
}

struct err journal_flush(struct journal *j)
{
    if (j->active == NULL || j->durable_sequence == j->end.sequence)
        return OK;
    struct err e = segment_sync(&j->files, j->active);
    if (err_is(e)) {
        j->broken = true;
        return e;
    }
    j->durable_sequence = j->end.sequence;
    j->durable_offset = j->end.offset;
    return OK;
}

void journal_leave_record(struct journal *j)
{
    assert(j->record_at.sequence <= j->end.sequence);
    assert(j->broken);
    j->end = j->record_at;
}

struct journal_position journal_mend_position(const struct journal *j)
{
    return (struct journal_position){j->files.next_id, 0, j->end.sequence};
}

void journal_mended(struct journal *j)
{
    close_active(j);
    j->durable_sequence = j->end.sequence;
    j->broken = false;
}

/* ---- values ---- */

/* A flag in the length, which is always far smaller. Older references lack it. */
#define LENGTH_LED (UINT32_C(1) << 31)

void value_ref_write(char to[VALUE_REF_BYTES], const struct value_ref *ref)
{
    struct buf b = {.p = to, .capacity = VALUE_REF_BYTES};
    buf_put_le64(&b, ref->file);
    buf_put_le64(&b, ref->offset);
    buf_put_le32(&b, ref->length | (ref->led ? LENGTH_LED : 0));
    buf_put_le32(&b, ref->check);
}

bool value_ref_read(struct str from, struct value_ref *ref)
{
    struct reader r = reader_of(from);
    ref->file = read_le64(&r);
    ref->offset = read_le64(&r);
    uint32_t length = read_le32(&r);
    ref->length = length & ~LENGTH_LED;
    ref->led = (length & LENGTH_LED) != 0;
    ref->check = read_le32(&r);
    return reader_done(&r);
}

/* Reads up to n bytes, fewer at the end of the file. */
static struct err read_there(int fd, struct iovec to, uint64_t offset, enum engine_wait wait,
                             size_t *done)
{
    *done = 0;
    while (*done < to.iov_len) {
        struct iovec rest = {(char *)to.iov_base + *done, to.iov_len - *done};
        ssize_t n =
            preadv2(fd, &rest, 1, (off_t)(offset + *done), wait == ENGINE_NOWAIT ? RWF_NOWAIT : 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && segment_read_would_block(errno))
            return err_new(ERR_WOULD_BLOCK);
        if (n < 0)
            return err_cause(ERR_IO, errno);
        if (n == 0)
            break;
        *done += (size_t)n;
    }
    return OK;
}

/* Reads from a journal file. */
static struct err read_from(struct journal *j, const struct row_location *from,
                            enum engine_wait wait, char *to, size_t *done)
{
    struct segment *file;
    TRY(segments_use(&j->files, from->file, 0, &file));
    struct err e = read_there(file->fd, (struct iovec){to, from->bytes}, from->offset, wait, done);
    segment_put(&j->files, file);
    return e;
}

struct err journal_read_value(struct journal *j, const struct value_ref *ref, enum engine_wait wait,
                              char *to)
{
    struct row_location from = {ref->file, ref->offset, ref->length};
    size_t n;
    TRY(read_from(j, &from, wait, to, &n));
    return n == ref->length && journal_sum((struct str){to, n}, 0) == ref->check
               ? OK
               : err_new(ERR_CORRUPT);
}

struct row_location journal_row_location(const struct value_ref *ref, size_t key_n, size_t head_n)
{
    uint64_t before = LEAD_BYTES + key_n + head_n;
    return (struct row_location){ref->file, ref->offset - before, before + ref->length};
}

/* True if the bytes are the complete row of this key. */
static bool parse_row(struct str bytes, uint64_t file, struct str key, struct str *stored)
{
    struct reader r = reader_of(bytes);
    uint32_t check = read_le32(&r);
    const char *checked = r.p;
    uint32_t large_check = read_le32(&r);
    size_t key_n = read_le32(&r);
    size_t head_n = read_le32(&r);
    size_t large_n = read_le32(&r);
    struct str found = read_raw(&r, key_n);
    struct str head = read_raw(&r, head_n);
    struct str large = read_raw(&r, large_n);
    struct str summed = {checked, LEAD_BYTES - 4 + key_n + head_n};
    if (!reader_ok(&r) || !str_eq(found, key) || journal_sum(summed, lead_seed(file)) != check ||
        journal_sum(large, 0) != large_check)
        return false;
    *stored = (struct str){head.p, head_n + large_n};
    return true;
}

struct err journal_read_row(struct journal *j, const struct row_location *location,
                            enum engine_wait wait, struct str key, char *room, struct str *stored)
{
    size_t n;
    TRY(read_from(j, location, wait, room, &n));
    return parse_row((struct str){room, n}, location->file, key, stored) ? OK
                                                                         : err_new(ERR_CORRUPT);
}
