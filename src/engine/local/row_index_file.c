/* SPDX-License-Identifier: Apache-2.0 */
/* Saves the row index at a clean shutdown for the next start. The file is an optimisation: it is
 * not flushed, and errors are ignored. It names the journal record at which it was written and
 * is used only if the journal still ends there; after any commit it would point to outdated
 * rows. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/mem.h"
#include "core/wire.h"
#include "engine/local/folder.h"
#include "engine/local/journal_format.h"
#include "engine/local/row_index.h"

#define SAVED_NAME  "places"
#define SAVED_MAGIC "lazuli places 1 "

enum { SAVED_HEAD_BYTES = 64, PIECE_BYTES = 64 << 10 };

static void put_head(struct buf *b, const struct row_index *p, const struct journal_position *at)
{
    buf_put(b, STR(SAVED_MAGIC));
    buf_put_le64(b, p->bucket_count);
    buf_put_le64(b, atomic_load(&p->newest_file));
    buf_put_le64(b, at->file);
    buf_put_le64(b, at->offset);
    buf_put_le64(b, at->sequence);
    buf_put_le32(b, journal_sum(buf_str(b), 0));
}

/* ---- saving ---- */

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, bytes, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        n -= (size_t)written;
    }
    return true;
}

static bool write_saved(int fd, const struct row_index *p, const struct journal_position *at)
{
    char bytes[SAVED_HEAD_BYTES] = {0};
    struct buf head = {.p = bytes, .capacity = sizeof bytes};
    put_head(&head, p, at);
    return write_all(fd, bytes, sizeof bytes) &&
           write_all(fd, (const char *)p->buckets, p->bucket_count * sizeof *p->buckets);
}

void row_index_save(const struct row_index *p, const char *folder,
                    const struct journal_position *at)
{
    if (atomic_load(&p->noted) < ROW_INDEX_SAVED_MIN)
        return;
    char *path = folder_path(folder, SAVED_NAME);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool whole = fd >= 0 && write_saved(fd, p, at);
    if (fd >= 0)
        (void)close(fd);
    if (!whole)
        (void)unlink(path);
    free(path);
}

/* ---- finding it again ---- */

/* True if the file was written with the same number of buckets, at that record. */
static bool read_head(int fd, struct row_index *p, const struct journal_position *at)
{
    char bytes[SAVED_HEAD_BYTES];
    if (pread(fd, bytes, sizeof bytes, 0) != sizeof bytes)
        return false;
    struct reader r = reader_of((struct str){bytes, sizeof bytes});
    bool ours = str_eq(read_raw(&r, strlen(SAVED_MAGIC)), STR(SAVED_MAGIC));
    uint64_t buckets = read_le64(&r);
    uint64_t newest_file = read_le64(&r);
    struct journal_position written = {read_le64(&r), read_le64(&r), read_le64(&r)};
    struct str summed = {bytes, (size_t)(r.p - bytes)};
    if (!ours || read_le32(&r) != journal_sum(summed, 0) || buckets != p->bucket_count ||
        written.file != at->file || written.offset != at->offset ||
        written.sequence != at->sequence)
        return false;
    atomic_store(&p->newest_file, newest_file);
    return true;
}

void row_index_find_saved(struct row_index *p, const char *folder,
                          const struct journal_position *at)
{
    char *path = folder_path(folder, SAVED_NAME);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    (void)unlink(path); /* it would be outdated after the next commit */
    free(path);
    if (fd < 0)
        return;
    if (!read_head(fd, p, at)) {
        (void)close(fd);
        return;
    }
    p->saved_fd = fd;
    atomic_store(&p->saved, true);
}

/* Caller holds the lock. */
static void fetch(struct row_index *p)
{
    uint64_t(*piece)[ROW_INDEX_WAYS] = mem_alloc(PIECE_BYTES);
    uint64_t bucket = 0;
    ssize_t n;
    (void)lseek(p->saved_fd, SAVED_HEAD_BYTES, SEEK_SET);
    while ((n = read(p->saved_fd, piece, PIECE_BYTES)) > 0) {
        for (size_t i = 0; i < (size_t)n / sizeof *piece && bucket < p->bucket_count; i++)
            row_index_restore(p, bucket++, piece[i]);
    }
    free(piece);
    (void)close(p->saved_fd);
    p->saved_fd = -1;
}

bool row_index_fetch_saved(struct row_index *p)
{
    if (!atomic_load(&p->saved))
        return false;
    pthread_mutex_lock(&p->saved_lock);
    bool first = p->saved_fd >= 0;
    if (first)
        fetch(p);
    atomic_store(&p->saved, false);
    pthread_mutex_unlock(&p->saved_lock);
    return first;
}
