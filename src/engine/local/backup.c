/* SPDX-License-Identifier: Apache-2.0 */
/* `lazuli backup`: a consistent copy of a live store.
 *
 * The order is: a RocksDB checkpoint, then the journal up to the checkpoint's position, then the
 * segments. Every value and extent that the checkpoint names was in its file before. The journal
 * beyond that position is left out because it changes during the copy: it is written over
 * preallocated zeros, so the copy could contain a record without its beginning and a later record
 * that claims it durable. A pin keeps the reclaimer, and a held state keeps the collector, from
 * freeing what the copy needs. Files are copied, or cloned where the file system supports it. A
 * hard link would share the file, and the live store continues to punch holes into it. */
#include <dirent.h>
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

struct copying {
    struct local_engine *engine;
    struct engine_backup *backup;
    uint64_t bytes_about; /* bytes to copy, estimated */
};

static void tell_copied(struct copying *c, uint64_t bytes)
{
    struct engine_backup *b = c->backup;
    b->bytes += bytes;
    if (b->progress != NULL)
        b->progress(b->arg, "files", b->bytes < c->bytes_about ? b->bytes : c->bytes_about,
                    c->bytes_about);
}

static struct err copy_range(struct copying *c, int from, int to, off_t at, off_t end)
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
            break; /* punched or truncated meanwhile; the copy does not need it */
        at += n;
        tell_copied(c, (uint64_t)n);
    }
    free(bytes);
    return e;
}

/* Copies the data ranges only, so holes stay holes. */
static struct err copy_data(struct copying *c, int from, int to, off_t size)
{
    off_t at = 0;
    while (at < size) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0 || data >= size)
            break;
        off_t hole = lseek(from, data, SEEK_HOLE);
        off_t end = hole < 0 || hole > size ? size : hole;
        TRY(copy_range(c, from, to, data, end));
        at = end;
    }
    return ftruncate(to, size) == 0 ? OK : backup_error("set the size");
}

static uint64_t data_bytes(const struct stat *stat, off_t size)
{
    uint64_t held = (uint64_t)stat->st_blocks * 512;
    return held < (uint64_t)size ? held : (uint64_t)size;
}

static struct err copy_file(struct copying *c, int from, uint64_t bytes_max, const char *path)
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
        e = copy_data(c, from, to, size);
    else if (ftruncate(to, size) != 0)
        e = backup_error("set the size");
    else
        tell_copied(c, data_bytes(&stat, size));
    if (!err_is(e) && fsync(to) != 0)
        e = backup_error("flush a file");
    (void)close(to);
    return e;
}

/* Where the last file to copy ends. */
struct files_end {
    uint64_t file;
    uint64_t offset;
};

/* Copies all files of the subfolder up to `end`. */
static struct err copy_files(struct copying *c, struct segments *files, struct files_end end,
                             const char *folder)
{
    if (mkdir(folder, 0700) != 0)
        return backup_error("make a folder");
    for (uint64_t id = 0; segments_next(files, id, &id) && id <= end.file; id++) {
        struct segment *file;
        char name[SEGMENT_NAME_BYTES];
        if (err_is(segments_use(files, id, 0, &file)))
            continue; /* deleted meanwhile; the copy does not need it */
        segments_name(files, name, id);
        char *path = folder_path(folder, name);
        struct err e = copy_file(c, file->fd, id == end.file ? end.offset : UINT64_MAX, path);
        free(path);
        segment_put(files, file);
        TRY(e);
    }
    return folder_sync(folder);
}

/* Estimates how many bytes copy_files will copy. */
static uint64_t files_bytes(struct segments *files)
{
    uint64_t bytes = 0;
    for (uint64_t id = 0; segments_next(files, id, &id); id++) {
        struct segment *file;
        struct stat stat;
        if (err_is(segments_use(files, id, 0, &file)))
            continue;
        if (fstat(file->fd, &stat) == 0)
            bytes += data_bytes(&stat, stat.st_size);
        segment_put(files, file);
    }
    return bytes;
}

/* ---- rows ---- */

struct rows_copy {
    const char *folder;
    struct files_end journal; /* the rows refer to the journal up to here */
    struct state *state;      /* the same rows, with a reference */
};

/* Runs on the committer: a checkpoint writes all rows to tables, including those that are only
 * visible. */
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
    copy->state = local_state(e);
    return rows_error("backup", text);
}

/* Counts the rows of a key space. Reading all of them makes an unreadable table fail the backup
 * now instead of a later restore. */
static struct err count_rows(struct copying *c, struct state *s, char space, uint64_t *count)
{
    enum { STEP = 4096 };
    char first[] = {space};
    char past[] = {(char)(space + 1)};
    struct engine_backup *b = c->backup;
    uint64_t about = rows_about(&c->engine->rows);
    struct walk walk;
    struct err e = OK;
    walk_init_passing(&walk, s, (struct str){first, 1}, (struct str){past, 1});
    for (walk_seek_first(&walk);; walk_next(&walk)) {
        struct str key;
        e = walk_key(&walk, &key);
        if (err_is(e) || !str_given(key))
            break;
        *count += 1;
        if (b->progress != NULL && *count % STEP == 0)
            b->progress(b->arg, "rows", *count < about ? *count : about, about);
    }
    walk_release(&walk);
    return e;
}

static struct err add_file_bytes(struct engine_backup *b, const char *folder)
{
    DIR *dir = opendir(folder);
    struct stat stat;
    if (dir == NULL)
        return backup_error("open a folder");
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (fstatat(dirfd(dir), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(stat.st_mode))
            b->bytes += (uint64_t)stat.st_size;
    }
    (void)closedir(dir);
    return OK;
}

static struct err copy_all_rows(struct copying *c, struct rows_copy *copy)
{
    struct engine_backup *b = c->backup;
    char *path = folder_path(b->folder, "rows");
    struct quiesced_job rest = {.run = copy_rows, .arg = copy};
    copy->folder = path;
    struct err e = local_run_quiesced(c->engine, &rest);
    if (!err_is(e))
        e = count_rows(c, copy->state, SPACE_ROWS, &b->rows);
    if (!err_is(e))
        e = count_rows(c, copy->state, SPACE_EXTENTS, &b->extents);
    if (!err_is(e))
        e = add_file_bytes(b, path);
    free(path);
    return e;
}

/* ---- the store ---- */

static struct err copy_subfolder(struct copying *c, struct segments *files, struct files_end end,
                                 const char *name)
{
    char *path = folder_path(c->backup->folder, name);
    struct err error = copy_files(c, files, end, path);
    free(path);
    return error;
}

static struct err copy_store(struct copying *c)
{
    struct local_engine *e = c->engine;
    struct rows_copy copy = {0};
    struct err error = copy_all_rows(c, &copy);
    if (copy.state != NULL)
        state_put(copy.state);
    TRY(error);
    c->bytes_about = c->backup->bytes + files_bytes(&e->journal.files) + files_bytes(&e->segments);
    TRY(copy_subfolder(c, &e->journal.files, copy.journal, "journal"));
    struct files_end newest = {segments_newest(&e->segments), UINT64_MAX};
    TRY(copy_subfolder(c, &e->segments, newest, "segments"));
    c->bytes_about = c->backup->bytes; /* the exact number is known now */
    tell_copied(c, 0);
    TRY(folder_mark(c->backup->folder)); /* last, because a folder without the marker is no store */
    char *parent = folder_path(c->backup->folder, "..");
    error = folder_sync(parent);
    free(parent);
    return error;
}

struct err engine_local_backup(struct engine *engine, struct engine_backup *backup)
{
    struct local_engine *e = local_of(engine);
    struct copying c = {.engine = e, .backup = backup};
    backup->rows = backup->extents = backup->bytes = 0;
    if (e->read_only)
        return err_cause(ERR_IO, EROFS);
    if (mkdir(backup->folder, 0700) != 0)
        return err_cause(ERR_IO, errno);
    struct engine_pin *pin = engine_pin(engine);
    struct state *state = local_state(e);
    struct err error = copy_store(&c);
    state_put(state);
    engine_unpin(engine, pin);
    return error;
}
