/* SPDX-License-Identifier: Apache-2.0 */
/* The calls are interposed: the program's definitions of open, write and so on override the C
 * library's, for RocksDB too. They make the system call and record it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/test.h"
#include "disk_internal.h"

enum { SLOW_FLUSH_ONE_IN = 4, SLOW_FLUSH_NS_MAX = 2000000 };

struct disk disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the record; the lock is held ---- */

static struct event *add_event(enum happening what, struct thing *thing)
{
    if (disk.count == disk.capacity) {
        disk.capacity = disk.capacity == 0 ? 1024 : disk.capacity * 2;
        disk.events = mem_realloc(disk.events, disk.capacity * sizeof *disk.events);
    }
    disk.events[disk.count] = (struct event){.what = what, .thing = thing};
    return &disk.events[disk.count++];
}

static struct thing *names_find(const struct names *names, const char *path)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i].path, path) == 0)
            return names->list[i].thing;
    return NULL;
}

void names_remove(struct names *names, const char *path)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i].path, path) == 0)
            names->list[i--] = names->list[--names->count];
}

void names_set(struct names *names, const char *path, struct thing *thing)
{
    names_remove(names, path);
    names->list = mem_realloc(names->list, (names->count + 1) * sizeof *names->list);
    names->list[names->count++] = (struct name){strdup(path), thing};
}

static struct thing *new_thing(bool folder, const char *path)
{
    struct thing *thing = MEM_NEW(struct thing);
    thing->folder = folder;
    thing->path = strdup(path);
    return thing;
}

static struct thing *thing_of(int fd)
{
    return disk.watching && fd >= 0 && fd < FDS_MAX ? disk.fds[fd].thing : NULL;
}

static bool is_watched(const char *path)
{
    return disk.watching && strncmp(path, disk.root, strlen(disk.root)) == 0;
}

/* Removes path components without effect: ".", a folder's name for itself. */
static void tidy_path(char *path)
{
    for (char *dot; (dot = strstr(path, "/./")) != NULL;)
        memmove(dot, dot + 2, strlen(dot + 2) + 1);
    size_t n = strlen(path);
    if (n > 2 && strcmp(path + n - 2, "/.") == 0)
        path[n - 2] = '\0';
}

/* The path within an open folder; false if the folder is not watched. */
static bool path_at(int folder_fd, const char *name, char path[PATH_BYTES])
{
    const struct thing *folder = thing_of(folder_fd);
    int n = -1;
    if (name[0] == '/' || folder_fd == AT_FDCWD)
        n = snprintf(path, PATH_BYTES, "%s", name);
    else if (folder != NULL && folder->folder)
        n = snprintf(path, PATH_BYTES, "%s/%s", folder->path, name);
    if (n < 0 || n >= PATH_BYTES)
        return false;
    tidy_path(path);
    return is_watched(path);
}

static void note_open(int fd, const char *path, int flags, bool existed)
{
    struct stat stat;
    CHECK(fd < FDS_MAX && fstat(fd, &stat) == 0);
    struct thing *thing = names_find(&disk.now, path);
    if (thing == NULL) {
        thing = new_thing(S_ISDIR(stat.st_mode), path);
        names_set(&disk.now, path, thing);
        if (!thing->folder && !existed)
            add_event(CREATED, thing)->name = strdup(path);
    }
    if (existed && (flags & O_TRUNC) != 0)
        add_event(CUT_OFF, thing);
    disk.fds[fd] = (struct descriptor){thing, thing->failures};
}

/* ---- faults; the lock is held ---- */

/* True if this call must fail. */
static bool is_due(enum disk_call call, const char *path)
{
    struct disk_fault *f = &disk.fault;
    if (f->count == 0 || (f->calls & call) == 0 || strstr(path, f->part) == NULL)
        return false;
    if (f->first <= 1)
        return true;
    f->first--;
    return false;
}

static bool is_due_of(enum disk_call call, const struct thing *thing)
{
    for (size_t i = 0; i < disk.now.count; i++) {
        if (disk.now.list[i].thing == thing)
            return is_due(call, disk.now.list[i].path);
    }
    return false;
}

static void note_fault(void)
{
    disk.fault.count--;
    disk.failed = true;
    disk.half_written = false;
}

/* How many bytes of a write to make; -1 if it fails. */
static ssize_t writable(int fd, size_t n)
{
    const struct thing *thing = thing_of(fd);
    if (thing == NULL || n == 0 || !is_due_of(DISK_WRITE, thing))
        return (ssize_t)n;
    if (n > 1 && !disk.half_written) {
        disk.half_written = disk.fault.error != 0;
        return (ssize_t)(n / 2);
    }
    if (disk.fault.error == 0)
        return (ssize_t)n;
    note_fault();
    errno = disk.fault.error;
    return -1;
}

/* ---- opening and naming ---- */

static int open_at(int folder_fd, const char *name, int flags, mode_t mode)
{
    char path[PATH_BYTES];
    pthread_mutex_lock(&disk.lock);
    bool watched = path_at(folder_fd, name, path);
    bool existed = watched && access(path, F_OK) == 0;
    bool fails = watched && !existed && (flags & O_CREAT) != 0 && is_due(DISK_CREATE, path);
    int fd = fails ? -1 : (int)syscall(SYS_openat, folder_fd, name, flags, mode);
    int error = fails ? disk.fault.error : errno;
    if (fails)
        note_fault();
    if (fd >= 0 && fd < FDS_MAX)
        disk.fds[fd].thing = NULL;
    if (fd >= 0 && watched)
        note_open(fd, path, flags, existed);
    pthread_mutex_unlock(&disk.lock);
    errno = error;
    return fd;
}

int open(const char *name, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_at(AT_FDCWD, name, flags, mode);
}

int openat(int folder_fd, const char *name, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_at(folder_fd, name, flags, mode);
}

int __open_2(const char *name, int flags);
int __open_2(const char *name, int flags)
{
    return open_at(AT_FDCWD, name, flags, 0);
}

int __openat_2(int folder_fd, const char *name, int flags);
int __openat_2(int folder_fd, const char *name, int flags)
{
    return open_at(folder_fd, name, flags, 0);
}

int close(int fd)
{
    pthread_mutex_lock(&disk.lock);
    if (fd >= 0 && fd < FDS_MAX)
        disk.fds[fd].thing = NULL;
    int result = (int)syscall(SYS_close, fd);
    pthread_mutex_unlock(&disk.lock);
    return result;
}

int rename(const char *from, const char *to)
{
    pthread_mutex_lock(&disk.lock);
    int result = (int)syscall(SYS_rename, from, to);
    if (result == 0 && is_watched(to)) {
        struct thing *thing = names_find(&disk.now, from);
        CHECK(thing != NULL);
        struct event *event = add_event(RENAMED, thing);
        event->name = strdup(from);
        event->new_name = strdup(to);
        names_remove(&disk.now, from);
        names_set(&disk.now, to, thing);
    }
    pthread_mutex_unlock(&disk.lock);
    return result;
}

int unlinkat(int folder_fd, const char *name, int flags)
{
    char path[PATH_BYTES];
    pthread_mutex_lock(&disk.lock);
    bool watched = path_at(folder_fd, name, path);
    int result = (int)syscall(SYS_unlinkat, folder_fd, name, flags);
    if (result == 0 && watched) {
        add_event(UNLINKED, names_find(&disk.now, path))->name = strdup(path);
        names_remove(&disk.now, path);
    }
    pthread_mutex_unlock(&disk.lock);
    return result;
}

int unlink(const char *name)
{
    return unlinkat(AT_FDCWD, name, 0);
}

/* ---- bytes ---- */

/* The write has been made, so a flush that begins now covers it. */
static void note_write(int fd, const void *bytes, size_t n, uint64_t offset)
{
    struct thing *thing = thing_of(fd);
    if (thing == NULL || n == 0)
        return;
    struct event *event = add_event(WRITTEN, thing);
    event->offset = offset;
    event->length = n;
    event->bytes = mem_alloc(n);
    memcpy(event->bytes, bytes, n);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    if (thing_of(fd) == NULL)
        return syscall(SYS_write, fd, bytes, n);
    pthread_mutex_lock(&disk.lock);
    off_t at = lseek(fd, 0, SEEK_CUR);
    ssize_t done = writable(fd, n);
    if (done >= 0)
        done = syscall(SYS_write, fd, bytes, (size_t)done);
    if (done > 0)
        note_write(fd, bytes, (size_t)done, (uint64_t)at);
    pthread_mutex_unlock(&disk.lock);
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t offset)
{
    pthread_mutex_lock(&disk.lock);
    ssize_t done = writable(fd, n);
    if (done >= 0)
        done = syscall(SYS_pwrite64, fd, bytes, (size_t)done, offset);
    if (done > 0)
        note_write(fd, bytes, (size_t)done, (uint64_t)offset);
    pthread_mutex_unlock(&disk.lock);
    return done;
}

/* Puts the first `n` bytes of the parts into `head`. Returns the number of parts there. */
static int parts_head(const struct iovec *parts, int count, size_t n, struct iovec head[IOV_MAX])
{
    int taken = 0;
    for (; taken < count && n > 0; taken++) {
        head[taken] = parts[taken];
        if (head[taken].iov_len > n)
            head[taken].iov_len = n;
        n -= head[taken].iov_len;
    }
    return taken;
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    static struct iovec head[IOV_MAX]; /* the lock's */
    size_t all = 0;
    for (int i = 0; i < count; i++)
        all += parts[i].iov_len;
    pthread_mutex_lock(&disk.lock);
    ssize_t done = writable(fd, all);
    if (done >= 0) {
        count = parts_head(parts, count, (size_t)done, head);
        done = syscall(SYS_pwritev, fd, head, count, offset, 0);
    }
    ssize_t left = done;
    for (int i = 0; i < count && left > 0; i++) {
        size_t n = (size_t)left < head[i].iov_len ? (size_t)left : head[i].iov_len;
        note_write(fd, head[i].iov_base, n, (uint64_t)(offset + done - left));
        left -= (ssize_t)n;
    }
    pthread_mutex_unlock(&disk.lock);
    return done;
}

int ftruncate(int fd, off_t size)
{
    pthread_mutex_lock(&disk.lock);
    /* To make a file shorter takes no room. */
    bool fails = disk.fault.error != ENOSPC && writable(fd, 1) < 0;
    int result = fails ? -1 : (int)syscall(SYS_ftruncate, fd, size);
    if (result == 0 && thing_of(fd) != NULL)
        add_event(CUT_OFF, thing_of(fd))->offset = (uint64_t)size;
    pthread_mutex_unlock(&disk.lock);
    return result;
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
    pthread_mutex_lock(&disk.lock);
    int result = (int)syscall(SYS_fallocate, fd, mode, offset, length);
    if (result == 0 && thing_of(fd) != NULL && (mode & FALLOC_FL_PUNCH_HOLE) != 0) {
        struct event *event = add_event(PUNCHED, thing_of(fd));
        event->offset = (uint64_t)offset;
        event->length = (uint64_t)length;
    }
    pthread_mutex_unlock(&disk.lock);
    return result;
}

/* ---- flushing ---- */

/* True if this flush fails: by itself, or because another has failed and this descriptor has not
 * reported it. The lock is held. */
static bool flush_fails(struct descriptor *d)
{
    if (is_due_of(DISK_FLUSH, d->thing)) {
        note_fault();
        d->thing->failures++;
    }
    bool fails = d->failures_told != d->thing->failures;
    d->failures_told = d->thing->failures;
    return fails;
}

/* Does not flush the real disk: the record defines the effect of a flush, and a test is not worth
 * the wear. It takes time, so that other threads write data that it does not cover. */
static int flush(int fd)
{
    pthread_mutex_lock(&disk.lock);
    struct thing *thing = thing_of(fd);
    bool fails = thing != NULL && flush_fails(&disk.fds[fd]);
    size_t covers = disk.count;
    pthread_mutex_unlock(&disk.lock);
    if (thing == NULL)
        return 0;
    disk_dawdle(SLOW_FLUSH_ONE_IN, SLOW_FLUSH_NS_MAX);
    pthread_mutex_lock(&disk.lock);
    add_event(fails ? FLUSH_FAILED : FLUSHED, thing)->covers = covers;
    pthread_mutex_unlock(&disk.lock);
    if (fails)
        errno = EIO;
    return fails ? -1 : 0;
}

int fsync(int fd)
{
    return flush(fd);
}

int fdatasync(int fd)
{
    return flush(fd);
}

int sync_file_range(int fd, off_t offset, off_t length, unsigned flags)
{
    (void)fd;
    (void)offset;
    (void)length;
    (void)flags;
    return 0;
}

/* ---- from outside ---- */

static void read_before(struct thing *thing, const char *path, size_t n)
{
    FILE *f = fopen(path, "re");
    thing->before = mem_alloc(n);
    thing->before_n = n;
    CHECK(f != NULL && fread(thing->before, 1, n, f) == n && fclose(f) == 0);
}

static void look_around(const char *folder)
{
    DIR *dir = opendir(folder);
    CHECK(dir != NULL);
    names_set(&disk.now, folder, new_thing(true, folder));
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[PATH_BYTES];
        struct stat stat;
        if (entry->d_name[0] == '.')
            continue;
        CHECK(snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < PATH_BYTES);
        CHECK(lstat(path, &stat) == 0);
        if (S_ISDIR(stat.st_mode)) {
            look_around(path);
            continue;
        }
        struct thing *thing = new_thing(false, path);
        read_before(thing, path, (size_t)stat.st_size);
        names_set(&disk.now, path, thing);
    }
    (void)closedir(dir);
}

void disk_watch(const char *folder)
{
    pthread_mutex_lock(&disk.lock);
    CHECK((size_t)snprintf(disk.root, sizeof disk.root, "%s", folder) < sizeof disk.root);
    memset(disk.fds, 0, sizeof disk.fds);
    disk.now = (struct names){0};
    disk.before = (struct names){0};
    disk.count = 0;
    disk.failed = false;
    disk.fault = (struct disk_fault){0};
    look_around(folder);
    for (size_t i = 0; i < disk.now.count; i++)
        names_set(&disk.before, disk.now.list[i].path, disk.now.list[i].thing);
    disk.watching = true;
    pthread_mutex_unlock(&disk.lock);
}

void disk_unwatch(void)
{
    pthread_mutex_lock(&disk.lock);
    disk.watching = false;
    pthread_mutex_unlock(&disk.lock);
}

bool disk_watching(void)
{
    pthread_mutex_lock(&disk.lock);
    bool watching = disk.watching;
    pthread_mutex_unlock(&disk.lock);
    return watching;
}

size_t disk_now(void)
{
    pthread_mutex_lock(&disk.lock);
    size_t now = disk.count;
    pthread_mutex_unlock(&disk.lock);
    return now;
}

size_t disk_note(void)
{
    pthread_mutex_lock(&disk.lock);
    (void)add_event(NOTED, NULL);
    size_t now = disk.count;
    pthread_mutex_unlock(&disk.lock);
    return now;
}

size_t disk_before_flush(size_t now, size_t end, const char *part)
{
    for (size_t i = now; i < end && i < disk.count; i++) {
        const struct event *event = &disk.events[i];
        if (event->what == FLUSHED && strstr(event->thing->path, part) != NULL)
            return i;
    }
    return now;
}

void disk_fail(const struct disk_fault *fault)
{
    pthread_mutex_lock(&disk.lock);
    disk.fault = *fault;
    disk.half_written = false;
    pthread_mutex_unlock(&disk.lock);
}

bool disk_has_failed(void)
{
    pthread_mutex_lock(&disk.lock);
    bool failed = disk.failed;
    pthread_mutex_unlock(&disk.lock);
    return failed;
}
