/* SPDX-License-Identifier: Apache-2.0 */
/* `lazuli backup`: a consistent copy of a store that is being written to.
 *
 * First RocksDB's checkpoint, then the journal as far as it went then, then the segments: each
 * value and extent that the checkpoint names was in its file before. What the journal has beyond is
 * left out, for it is written while it is copied, over zeros that are there ahead of it: the copy
 * could get a record without its beginning, and a later one that says that it was durable. A pin
 * keeps the reaper, and a state in use the collector, from giving back what the copy needs. Files
 * are copied, or cloned where the file system can: a hard link would share what the live store goes
 * on punching out. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/mem.h"
#include "engine/local/folder.h"
#include "engine/local/local_internal.h"

static struct err backup_error(const char *doing)
{
    int cause = errno;
    log_line(LOG_ERROR, "backup: %s: %s", doing, strerrorname_np(cause));
    return err_cause(cause == ENOSPC || cause == EDQUOT ? ERR_NO_SPACE : ERR_IO, cause);
}

/* ---- files ---- */

static struct err copy_range(int from, int to, off_t at, off_t end)
{
    enum { PIECE = 1 << 20 };
    char *bytes = mem_alloc(PIECE);
    struct err e = OK;
    while (at < end && !err_is(e)) {
        size_t want = end - at < PIECE ? (size_t)(end - at) : PIECE;
        ssize_t n = pread(from, bytes, want, at);
        if (n < 0 && errno == EINTR)
            continue;
        struct str part = {bytes, n < 0 ? 0 : (size_t)n};
        if (n < 0 || err_is(write_fully(to, part, (uint64_t)at)))
            e = backup_error("copy");
        if (n <= 0)
            break; /* punched out, or cut off, meanwhile: nothing the copy needs */
        at += n;
    }
    free(bytes);
    return e;
}

/* Holes stay holes. */
static struct err copy_data(int from, int to, off_t size)
{
    off_t at = 0;
    while (at < size) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0 || data >= size)
            break;
        off_t hole = lseek(from, data, SEEK_HOLE);
        off_t end = hole < 0 || hole > size ? size : hole;
        TRY(copy_range(from, to, data, end));
        at = end;
    }
    return ftruncate(to, size) == 0 ? OK : backup_error("set the size");
}

static struct err copy_file(int from, uint64_t bytes_max, const char *path)
{
    struct stat stat;
    if (fstat(from, &stat) != 0)
        return backup_error("look at a file");
    off_t size = (uint64_t)stat.st_size < bytes_max ? stat.st_size : (off_t)bytes_max;
    int to = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0)
        return backup_error("make a file");
    struct err e = OK;
    if (ioctl(to, FICLONE, from) != 0)
        e = copy_data(from, to, size);
    else if (ftruncate(to, size) != 0)
        e = backup_error("set the size");
    if (!err_is(e) && fsync(to) != 0)
        e = backup_error("flush a file");
    (void)close(to);
    return e;
}

/* Where the last file to be copied ends. */
struct files_end {
    uint64_t file;
    uint64_t offset;
};

/* All files of the store's subfolder up to there. */
static struct err copy_files(struct segments *files, struct files_end end, const char *folder)
{
    if (mkdir(folder, 0700) != 0)
        return backup_error("make a folder");
    for (uint64_t id = 0; segments_next(files, id, &id) && id <= end.file; id++) {
        struct segment *file;
        char name[SEGMENT_NAME_BYTES];
        if (err_is(segments_use(files, id, 0, &file)))
            continue; /* gone since: nothing the copy needs */
        segments_name(files, name, id);
        char *path = folder_path(folder, name);
        struct err e = copy_file(file->fd, id == end.file ? end.offset : UINT64_MAX, path);
        free(path);
        segment_put(files, file);
        TRY(e);
    }
    return folder_sync(folder);
}

/* ---- the store ---- */

struct rows_copy {
    const char *folder;
    struct files_end journal; /* up to where the rows name what lies in it */
};

/* By the committer: a checkpoint puts all rows into tables, those that were only visible too. */
static struct err copy_rows(struct local_engine *e, void *arg)
{
    struct rows_copy *copy = arg;
    char *text = NULL;
    rocksdb_checkpoint_t *checkpoint = rocksdb_checkpoint_object_create(e->rows.db, &text);
    if (text == NULL)
        rocksdb_checkpoint_create(checkpoint, copy->folder, 0, &text);
    if (checkpoint != NULL)
        rocksdb_checkpoint_object_destroy(checkpoint);
    copy->journal = (struct files_end){e->journal.end.file, e->journal.end.offset};
    return rows_error("backup", text);
}

static struct err copy_subfolder(struct segments *files, struct files_end end, const char *folder,
                                 const char *name)
{
    char *path = folder_path(folder, name);
    struct err error = copy_files(files, end, path);
    free(path);
    return error;
}

static struct err copy_store(struct local_engine *e, const char *folder)
{
    char *path = folder_path(folder, "rows");
    struct rows_copy copy = {.folder = path};
    struct rest rest = {.run = copy_rows, .arg = &copy};
    struct err error = local_at_rest(e, &rest);
    free(path);
    TRY(error);
    TRY(copy_subfolder(&e->journal.files, copy.journal, folder, "journal"));
    struct files_end newest = {segments_newest(&e->segments), UINT64_MAX};
    TRY(copy_subfolder(&e->segments, newest, folder, "segments"));
    return folder_mark(folder); /* last: without it, it is no store */
}

struct err engine_local_backup(struct engine *engine, const char *folder)
{
    struct local_engine *e = local_of(engine);
    if (e->read_only)
        return err_cause(ERR_IO, EROFS);
    if (mkdir(folder, 0700) != 0)
        return backup_error("make the folder");
    struct engine_pin *pin = engine_pin(engine);
    struct state *state = local_state(e);
    struct err error = copy_store(e, folder);
    state_put(state);
    engine_unpin(engine, pin);
    return error;
}
