/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/segment.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/mem.h"

static void log_errno(const char *doing, uint64_t id)
{
    log_line(LOG_ERROR, "segment %" PRIu64 ": %s: %s", id, doing, strerrorname_np(errno));
}

static struct err io_error(const char *doing, uint64_t id)
{
    int cause = errno;
    log_errno(doing, id);
    return err_cause(cause == ENOSPC || cause == EDQUOT || cause == EFBIG ? ERR_NO_SPACE : ERR_IO,
                     cause);
}

void segments_name(const struct segments *s, char name[SEGMENT_NAME_BYTES], uint64_t id)
{
    (void)snprintf(name, SEGMENT_NAME_BYTES, "%016" PRIx64 "%s", id, s->suffix);
}

static bool name_read(const struct segments *s, const char *name, uint64_t *id)
{
    if (strlen(name) != 16 + strlen(s->suffix) || strcmp(name + 16, s->suffix) != 0)
        return false;
    *id = 0;
    for (int i = 0; i < 16; i++) {
        int digit = ascii_hex(name[i]);
        if (digit < 0)
            return false;
        *id = *id << 4 | (uint64_t)digit;
    }
    return true;
}

/* ---- the list; the lock is held, or nobody else is there yet ---- */

/* Returns the index of the id, or where it would be inserted. */
static size_t list_index(const struct segments *s, uint64_t id)
{
    size_t low = 0;
    size_t high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->list[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct segment *list_find(const struct segments *s, uint64_t id)
{
    size_t at = list_index(s, id);
    return at < s->count && s->list[at]->id == id ? s->list[at] : NULL;
}

static struct segment *list_add(struct segments *s, uint64_t id)
{
    if (s->count == s->capacity) {
        s->capacity = s->capacity == 0 ? 64 : s->capacity * 2;
        s->list = mem_realloc(s->list, s->capacity * sizeof(struct segment *));
    }
    size_t at = list_index(s, id);
    memmove(s->list + at + 1, s->list + at, (s->count - at) * sizeof(struct segment *));
    struct segment *segment = MEM_NEW(struct segment);
    segment->id = id;
    segment->fd = -1;
    s->list[at] = segment;
    s->count++;
    if (id >= s->next_id)
        s->next_id = id + 1;
    return segment;
}

static void list_remove(struct segments *s, struct segment *segment)
{
    size_t at = list_index(s, segment->id);
    assert(at < s->count && s->list[at] == segment);
    s->count--;
    memmove(s->list + at, s->list + at + 1, (s->count - at) * sizeof(struct segment *));
    if (segment->fd >= 0) {
        (void)close(segment->fd);
        s->open_count--;
    }
    free(segment);
}

/* ---- life ---- */

static struct err segments_list_folder(struct segments *s)
{
    int fd = dup(s->folder_fd);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        struct err e = err_cause(ERR_IO, errno);
        if (fd >= 0)
            (void)close(fd);
        return e;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        uint64_t id;
        if (!name_read(s, entry->d_name, &id))
            continue;
        struct segment *segment = list_add(s, id);
        segment->pending = id >= s->first_open_id ? 1 : 0;
    }
    (void)closedir(dir);
    return OK;
}

struct err segments_init(struct segments *s, const struct segments_options *o)
{
    assert(o->folder != NULL);
    assert(o->suffix != NULL);
    *s = (struct segments){.suffix = o->suffix,
                           .read_only = o->read_only,
                           .file_bytes = o->file_bytes,
                           .first_open_id = o->first_open_id,
                           .next_id = o->next_id_min};
    pthread_mutex_init(&s->lock, NULL);
    s->folder_fd = open(o->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err e = s->folder_fd < 0 ? err_cause(ERR_IO, errno) : segments_list_folder(s);
    if (err_is(e))
        segments_release(s);
    return e;
}

void segments_release(struct segments *s)
{
    while (s->count > 0)
        list_remove(s, s->list[s->count - 1]);
    free(s->list);
    if (s->folder_fd >= 0)
        (void)close(s->folder_fd);
    pthread_mutex_destroy(&s->lock);
    *s = (struct segments){.folder_fd = -1};
}

/* ---- ranges ---- */

/* Caller holds the lock. */
static struct err make_file(struct segments *s, struct segment **out)
{
    uint64_t id = s->next_id;
    char name[SEGMENT_NAME_BYTES];
    segments_name(s, name, id);
    int fd = openat(s->folder_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return io_error("create", id);
    *out = list_add(s, id);
    (*out)->fd = fd;
    s->open_count++;
    return OK;
}

struct err segments_add(struct segments *s, struct segment **out)
{
    assert(!s->read_only);
    pthread_mutex_lock(&s->lock);
    struct err e = make_file(s, out);
    if (!err_is(e))
        (*out)->users++;
    pthread_mutex_unlock(&s->lock);
    return e;
}

/* Frees preallocated space that will not be used. Caller holds the lock. If nobody uses the
 * segment, nobody is about to write to it or to preallocate more. */
static void return_preallocated(struct segments *s, struct segment *segment)
{
    if (segment == s->active || segment->users > 0 || segment->preallocated <= segment->end)
        return;
    segment->preallocated = 0;
    if (ftruncate(segment->fd, (off_t)segment->end) != 0)
        log_errno("cut off", segment->id); /* the space is freed with the whole segment */
}

/* Caller holds the lock. */
static void seal_active(struct segments *s)
{
    struct segment *segment = s->active;
    s->active = NULL;
    if (segment != NULL)
        return_preallocated(s, segment);
}

struct err segments_reserve(struct segments *s, uint32_t bytes, struct segment **out,
                            uint64_t *offset)
{
    assert(bytes > 0);
    assert(!s->read_only);
    uint64_t need = segment_align(bytes);
    struct err e = OK;
    pthread_mutex_lock(&s->lock);
    if (s->active != NULL && (s->active->end + need > s->file_bytes || s->active->poisoned))
        seal_active(s);
    if (s->active == NULL)
        e = make_file(s, &s->active);
    if (!err_is(e)) {
        *out = s->active;
        *offset = s->active->end;
        s->active->end += need;
        s->active->pending++;
        s->active->users++;
    }
    pthread_mutex_unlock(&s->lock);
    return e;
}

/* Segments that stay small preallocate nothing. */
static uint64_t preallocation_bytes(const struct segments *s)
{
    enum { SHARE = 16 };
    uint64_t part = s->file_bytes / SHARE / SEGMENT_ALIGN * SEGMENT_ALIGN;
    return part < SEGMENT_PREALLOCATED_BYTES ? part : SEGMENT_PREALLOCATED_BYTES;
}

void segments_preallocate(struct segments *s, struct segment *segment, uint64_t offset,
                          uint64_t free)
{
    assert(offset % SEGMENT_ALIGN == 0);
    uint64_t step = preallocation_bytes(s);
    uint64_t from = 0;
    uint64_t to = 0;
    pthread_mutex_lock(&s->lock);
    if (segment == s->active && offset >= step && segment->end > segment->preallocated &&
        free >= 2 * step && !s->no_preallocation) {
        from = segment->preallocated > offset ? segment->preallocated : offset;
        to = segment->end + step < s->file_bytes ? segment->end + step : s->file_bytes;
        segment->preallocated = to > from ? to : segment->preallocated;
    }
    pthread_mutex_unlock(&s->lock);
    /* Extends the file's length, too. Otherwise truncating the file at the end of the segment
     * could lose bytes that are being written behind its current end. */
    if (to <= from || fallocate(segment->fd, 0, (off_t)from, (off_t)(to - from)) == 0)
        return;
    bool never = errno != ENOSPC && errno != EDQUOT && errno != EINTR;
    pthread_mutex_lock(&s->lock);
    s->no_preallocation = s->no_preallocation || never;
    pthread_mutex_unlock(&s->lock);
}

void segments_trim(struct segments *s, struct segment *segment, uint64_t range_end,
                   uint64_t used_end)
{
    assert(used_end <= range_end);
    pthread_mutex_lock(&s->lock);
    if (segment->end == segment_align(range_end))
        segment->end = segment_align(used_end);
    pthread_mutex_unlock(&s->lock);
}

/* ---- use ---- */

static struct err segment_open(struct segments *s, struct segment *segment)
{
    char name[SEGMENT_NAME_BYTES];
    segments_name(s, name, segment->id);
    segment->fd = openat(s->folder_fd, name, (s->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
    if (segment->fd < 0)
        return io_error("open", segment->id);
    s->open_count++;
    return OK;
}

struct err segments_use(struct segments *s, uint64_t id, uint64_t commit, struct segment **out)
{
    pthread_mutex_lock(&s->lock);
    struct segment *segment = list_find(s, id);
    struct err e = segment == NULL ? err_new(ERR_CORRUPT) : OK;
    if (segment != NULL && segment->fd < 0)
        e = segment_open(s, segment);
    if (!err_is(e)) {
        segment->users++;
        if (commit > segment->used_at)
            segment->used_at = commit;
        *out = segment;
    }
    pthread_mutex_unlock(&s->lock);
    return e;
}

void segment_put(struct segments *s, struct segment *segment)
{
    pthread_mutex_lock(&s->lock);
    assert(segment->users > 0);
    segment->users--;
    return_preallocated(s, segment);
    pthread_mutex_unlock(&s->lock);
}

struct err segments_may_adopt(struct segments *s, uint64_t id)
{
    pthread_mutex_lock(&s->lock);
    const struct segment *segment = list_find(s, id);
    struct err e = OK;
    if (segment == NULL || segment->pending == 0)
        e = err_detail(ERR_CORRUPT, "Reason\tno such extent waits to be adopted");
    else if (segment->poisoned)
        e = err_new(ERR_IO);
    pthread_mutex_unlock(&s->lock);
    return e;
}

void segments_adopted(struct segments *s, uint64_t id)
{
    pthread_mutex_lock(&s->lock);
    struct segment *segment = list_find(s, id);
    assert(segment != NULL && segment->pending > 0);
    segment->pending--;
    pthread_mutex_unlock(&s->lock);
}

void segments_recovered(struct segments *s, uint64_t id)
{
    segments_adopted(s, id);
}

void segments_add_waste(struct segments *s, uint64_t id)
{
    pthread_mutex_lock(&s->lock);
    struct segment *segment = list_find(s, id);
    if (segment != NULL)
        segment->wasted++;
    pthread_mutex_unlock(&s->lock);
}

void segments_punched(struct segments *s, uint64_t id, bool was_pending)
{
    pthread_mutex_lock(&s->lock);
    struct segment *segment = list_find(s, id);
    if (segment != NULL) {
        assert(segment->wasted > 0 && (!was_pending || segment->pending > 0));
        segment->wasted--;
        if (was_pending)
            segment->pending--;
    }
    pthread_mutex_unlock(&s->lock);
}

void segments_note_unsynced(struct segments *s, uint64_t id)
{
    pthread_mutex_lock(&s->lock);
    struct segment *segment = list_find(s, id);
    if (segment != NULL)
        segment->unsynced = true;
    pthread_mutex_unlock(&s->lock);
}

static struct err segment_flush_folder(struct segments *s, struct segment *segment)
{
    if (fsync(s->folder_fd) != 0)
        return io_error("flush the folder", segment->id);
    segment->named_durably = true;
    return OK;
}

/* Only the committer calls this, so named_durably needs no lock. */
struct err segment_sync(struct segments *s, struct segment *segment)
{
    struct err e = OK;
    if (fdatasync(segment->fd) != 0)
        e = io_error("flush", segment->id);
    if (!err_is(e) && !segment->named_durably)
        e = segment_flush_folder(s, segment);
    pthread_mutex_lock(&s->lock);
    segment->unsynced = false;
    /* The kernel has dropped the dirty pages: another flush would succeed without writing them. */
    if (err_is(e))
        segment->poisoned = true;
    pthread_mutex_unlock(&s->lock);
    return e;
}

struct err segment_cut(struct segment *segment, uint64_t at)
{
    assert(segment->fd >= 0);
    struct stat stat;
    if (fstat(segment->fd, &stat) != 0)
        return err_cause(ERR_IO, errno);
    off_t end = (uint64_t)stat.st_size < at ? stat.st_size : (off_t)at;
    /* Extend first, so that the second call changes something. */
    if (ftruncate(segment->fd, end + 1) == 0 && ftruncate(segment->fd, end) == 0)
        return OK;
    struct err error = err_cause(errno == ENOSPC || errno == EDQUOT ? ERR_NO_SPACE : ERR_IO, errno);
    log_errno("cut off", segment->id);
    return error;
}

bool segment_punch(struct segment *segment, uint64_t offset, uint64_t bytes)
{
    assert(offset % SEGMENT_ALIGN == 0);
    if (fallocate(segment->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                  (off_t)segment_align(bytes)) == 0)
        return true;
    log_errno("punch", segment->id);
    return false;
}

/* Uses its own descriptor: the kernel reports a failed write once per descriptor, and the
 * committer's must not miss it. A segment that was deleted may have had ranges that were not
 * punched out yet, so its name must not come back. */
bool segments_settle(struct segments *s, uint64_t id)
{
    char name[SEGMENT_NAME_BYTES];
    segments_name(s, name, id);
    int fd = openat(s->folder_fd, name, O_RDWR | O_CLOEXEC);
    bool gone = fd < 0 && errno == ENOENT;
    if (gone)
        fd = openat(s->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool settled = fd >= 0 && (gone ? fsync(fd) : fdatasync(fd)) == 0;
    if (!settled)
        log_errno("flush holes", id);
    if (fd >= 0)
        (void)close(fd);
    return settled;
}

/* ---- the end of a segment ---- */

struct segment_look segments_look(struct segments *s, uint64_t id)
{
    pthread_mutex_lock(&s->lock);
    const struct segment *segment = list_find(s, id);
    struct segment_look look = {.id = id};
    if (segment != NULL) {
        look.end = segment->end;
        look.idle = segment->pending == 0 && segment->wasted == 0 && segment->users == 0;
    }
    pthread_mutex_unlock(&s->lock);
    return look;
}

void segments_unlink(struct segments *s, const struct segment_look *look)
{
    assert(!s->read_only);
    pthread_mutex_lock(&s->lock);
    struct segment *segment = list_find(s, look->id);
    if (segment != NULL && look->idle && segment->end == look->end && segment->pending == 0 &&
        segment->wasted == 0 && segment->users == 0) {
        char name[SEGMENT_NAME_BYTES];
        segments_name(s, name, segment->id);
        if (unlinkat(s->folder_fd, name, 0) != 0)
            log_errno("unlink", segment->id);
        if (s->active == segment)
            s->active = NULL;
        list_remove(s, segment);
    }
    pthread_mutex_unlock(&s->lock);
}

void segments_close_idle(struct segments *s, uint64_t safe_commit)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->count && s->open_count > SEGMENTS_OPEN_MAX; i++) {
        struct segment *segment = s->list[i];
        if (segment->fd < 0 || segment == s->active || segment->users > 0 || segment->pending > 0 ||
            segment->unsynced || segment->used_at >= safe_commit)
            continue;
        (void)close(segment->fd);
        segment->fd = -1;
        s->open_count--;
    }
    pthread_mutex_unlock(&s->lock);
}

uint64_t segments_oldest_open(struct segments *s)
{
    pthread_mutex_lock(&s->lock);
    uint64_t oldest = s->next_id;
    for (size_t i = s->count; i > 0 && s->list[i - 1]->id >= s->first_open_id; i--) {
        if (s->list[i - 1]->pending > 0 || s->list[i - 1] == s->active)
            oldest = s->list[i - 1]->id;
    }
    pthread_mutex_unlock(&s->lock);
    return oldest;
}

uint64_t segments_seal(struct segments *s)
{
    pthread_mutex_lock(&s->lock);
    seal_active(s);
    pthread_mutex_unlock(&s->lock);
    return segments_oldest_open(s);
}

bool segments_next(struct segments *s, uint64_t from, uint64_t *id)
{
    pthread_mutex_lock(&s->lock);
    size_t at = list_index(s, from);
    bool found = at < s->count;
    if (found)
        *id = s->list[at]->id;
    pthread_mutex_unlock(&s->lock);
    return found;
}

uint64_t segments_newest(struct segments *s)
{
    pthread_mutex_lock(&s->lock);
    uint64_t id = s->count == 0 ? 0 : s->list[s->count - 1]->id;
    pthread_mutex_unlock(&s->lock);
    return id;
}

/* Preallocated bytes that hold nothing yet. */
static uint64_t preallocated_bytes(struct segments *s)
{
    pthread_mutex_lock(&s->lock);
    const struct segment *a = s->active;
    uint64_t bytes = a != NULL && a->preallocated > a->end ? a->preallocated - a->end : 0;
    pthread_mutex_unlock(&s->lock);
    return bytes;
}

uint64_t segments_wasted(struct segments *s)
{
    uint64_t sum = 0;
    (void)pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->count; i++)
        sum += s->list[i]->wasted;
    (void)pthread_mutex_unlock(&s->lock);
    return sum;
}

void segments_usage(struct segments *s, uint64_t *count, uint64_t *bytes)
{
    uint64_t preallocated = preallocated_bytes(s);
    *count = 0;
    *bytes = 0;
    for (uint64_t id = 0; segments_next(s, id, &id); id++) {
        char name[SEGMENT_NAME_BYTES];
        struct stat stat;
        segments_name(s, name, id);
        if (fstatat(s->folder_fd, name, &stat, 0) == 0) {
            *count += 1;
            *bytes += (uint64_t)stat.st_blocks * 512;
        }
    }
    *bytes -= preallocated < *bytes ? preallocated : *bytes;
}
