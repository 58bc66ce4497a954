/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the journal's records, for recovery, the collector, and `check`. */
#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "core/mem.h"
#include "engine/local/journal_format.h"

/* Returns how many bytes were read. */
static size_t read_some(int fd, char *to, size_t n, uint64_t offset)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = pread(fd, to + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

static bool read_whole(int fd, char *to, size_t n, uint64_t offset)
{
    return read_some(fd, to, n, offset) == n;
}

struct err journal_file_blank(struct journal *j, uint64_t file, bool *blank)
{
    static const char nothing[JOURNAL_HEAD_BYTES];
    char head[JOURNAL_HEAD_BYTES];
    struct segment *segment;
    TRY(segments_use(&j->files, file, 0, &segment));
    ssize_t n = pread(segment->fd, head, sizeof head, 0);
    struct err e = n < 0 ? err_cause(ERR_IO, errno) : OK;
    segment_put(&j->files, segment);
    *blank = n < (ssize_t)sizeof head || memcmp(head, nothing, sizeof head) == 0;
    return e;
}

static struct err read_file_head(struct journal_walk *w)
{
    char bytes[JOURNAL_HEAD_BYTES];
    if (!read_whole(w->file->fd, bytes, sizeof bytes, 0))
        return err_new(ERR_CORRUPT);
    struct reader r = reader_of((struct str){bytes, sizeof bytes});
    struct str magic = read_raw(&r, strlen(JOURNAL_MAGIC));
    uint64_t id = read_le64(&r);
    w->salt = read_le64(&r);
    struct str summed = {bytes, (size_t)(r.p - bytes)};
    w->led = str_eq(magic, STR(JOURNAL_MAGIC));
    if ((!w->led && !str_eq(magic, STR(JOURNAL_MAGIC_BARE))) || id != w->file->id ||
        read_le32(&r) != journal_sum(summed, 0))
        return err_new(ERR_CORRUPT);
    return OK;
}

struct err journal_walk_init(struct journal_walk *w, struct journal *j, uint64_t file,
                             uint64_t offset)
{
    *w = (struct journal_walk){.entries = buf_heap()};
    TRY(segments_use(&j->files, file, 0, &w->file));
    w->next = offset < JOURNAL_HEAD_BYTES ? JOURNAL_HEAD_BYTES : offset;
    struct err e = read_file_head(w);
    if (err_is(e))
        journal_walk_release(w, j);
    return e;
}

void journal_walk_release(struct journal_walk *w, struct journal *j)
{
    if (w->file != NULL)
        segment_put(&j->files, w->file);
    w->file = NULL;
    buf_release(&w->entries);
}

static bool parse_head(const struct journal_walk *w, struct str bytes, struct record_head *head)
{
    struct reader r = reader_of(bytes);
    if (read_le32(&r) != RECORD_MAGIC)
        return false;
    uint32_t check = read_le32(&r);
    if (check != journal_sum((struct str){r.p, r.n}, (uint32_t)(w->salt >> 32)))
        return false;
    head->entry_check = read_le32(&r);
    head->entry_bytes = read_le32(&r);
    head->value_bytes = read_le64(&r);
    head->sequence = read_le64(&r);
    head->durable_sequence = read_le64(&r);
    head->entry_count = read_le32(&r);
    head->extents_durable = read_le32(&r) != 0;
    return true;
}

bool journal_walk_next(struct journal_walk *w)
{
    assert(w->file != NULL);
    char bytes[RECORD_HEAD_BYTES];
    if (!read_whole(w->file->fd, bytes, sizeof bytes, w->next) ||
        !parse_head(w, (struct str){bytes, sizeof bytes}, &w->head))
        return false;
    w->offset = w->next;
    w->next =
        journal_align(w->offset + RECORD_HEAD_BYTES + w->head.entry_bytes + w->head.value_bytes);
    return true;
}

/* Searches in large pieces, because a file may end with half a megabyte of zeros. */
bool journal_walk_find(struct journal_walk *w)
{
    enum { PIECE_BYTES = 64 << 10 };
    buf_clear(&w->entries);
    char *piece = buf_reserve(&w->entries, PIECE_BYTES);
    for (;;) {
        size_t n = read_some(w->file->fd, piece, PIECE_BYTES, w->next);
        if (n < RECORD_HEAD_BYTES)
            return false;
        for (size_t at = 0; at + RECORD_HEAD_BYTES <= n;
             at += RECORD_ALIGN, w->next += RECORD_ALIGN) {
            if (parse_head(w, (struct str){piece + at, RECORD_HEAD_BYTES}, &w->head))
                return journal_walk_next(w);
        }
    }
}

bool journal_walk_load(struct journal_walk *w)
{
    assert(w->file != NULL);
    buf_clear(&w->entries);
    char *to = buf_reserve(&w->entries, w->head.entry_bytes);
    if (!read_whole(w->file->fd, to, w->head.entry_bytes, w->offset + RECORD_HEAD_BYTES))
        return false;
    w->entries.n = w->head.entry_bytes;
    w->reader = reader_of(buf_str(&w->entries));
    w->value_at = w->offset + RECORD_HEAD_BYTES + w->head.entry_bytes;
    return journal_sum(buf_str(&w->entries), (uint32_t)w->salt) == w->head.entry_check;
}

/* Returns how many bytes of the row precede its large part. */
static uint64_t lead_before(const struct record_entry *entry)
{
    size_t stored_n = entry->kind == ENTRY_LARGE ? (size_t)VALUE_HERE_HEAD_BYTES
                                                 : BODY_HERE_HEAD_BYTES + entry->value.n;
    return LEAD_BYTES + entry->key.n + stored_n;
}

bool journal_walk_entry(struct journal_walk *w, struct record_entry *entry)
{
    struct reader *r = &w->reader;
    if (r->n == 0)
        return false;
    uint8_t kind = read_u8(r);
    if (kind > ENTRY_LARGE_BODY)
        return false;
    entry->kind = (enum entry_kind)kind;
    entry->key = read_bytes(r);
    entry->value = STR_NONE;
    if (kind == ENTRY_SMALL || kind == ENTRY_STORED || kind == ENTRY_LARGE_BODY)
        entry->value = read_bytes(r);
    if (record_entry_in_journal(entry)) {
        uint64_t length = read_varint(r);
        w->value_at += w->led ? lead_before(entry) : 0;
        entry->ref =
            (struct value_ref){w->file->id, w->value_at, (uint32_t)length, read_le32(r), w->led};
        w->value_at += length;
    }
    return reader_ok(r);
}
