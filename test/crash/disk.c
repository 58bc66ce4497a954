/* SPDX-License-Identifier: Apache-2.0 */
/* The calls are interposed: the program's own definitions of open, write and so on stand before the
 * C library's, for RocksDB too. They do the system call and record it. */
#include "disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/test.h"

enum { FDS_MAX = 4096, SECTOR = 512, BLOCK = 4096, PATH_BYTES = 512 };

enum happening {
    WRITTEN,
    CUT_OFF, /* to `offset` bytes */
    PUNCHED,
    FLUSHED,
    FLUSH_FAILED,
    CREATED,
    RENAMED,
    UNLINKED,
    NOTED,
};

/* A file or a folder, whatever its name is. */
struct thing {
    bool folder;
    char *path;   /* a folder's */
    char *before; /* what a file held when the watch began */
    size_t before_n;
};

struct event {
    enum happening what;
    struct thing *thing;
    uint64_t offset;
    uint64_t length;
    char *bytes;
    size_t covers; /* a flush: what had happened when it began */
    char *name;
    char *new_name;
};

struct name {
    char *path;
    struct thing *thing;
};

struct names {
    struct name *list;
    size_t count;
};

static struct disk {
    pthread_mutex_t lock;
    bool watching;
    char root[PATH_BYTES];
    struct thing *fds[FDS_MAX];
    struct names before; /* when the watch began */
    struct names now;
    struct event *events;
    size_t count;
    size_t capacity;
    const char *fail_part;
    unsigned fail_after; /* flushes of such a file */
    unsigned fail_count;
    bool failed;
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

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

static void names_remove(struct names *names, const char *path)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i].path, path) == 0)
            names->list[i--] = names->list[--names->count];
}

static void names_set(struct names *names, const char *path, struct thing *thing)
{
    names_remove(names, path);
    names->list = mem_realloc(names->list, (names->count + 1) * sizeof *names->list);
    names->list[names->count++] = (struct name){strdup(path), thing};
}

static struct thing *new_thing(bool folder, const char *path)
{
    struct thing *thing = MEM_NEW(struct thing);
    thing->folder = folder;
    if (folder)
        thing->path = strdup(path);
    return thing;
}

static struct thing *thing_of(int fd)
{
    return disk.watching && fd >= 0 && fd < FDS_MAX ? disk.fds[fd] : NULL;
}

static bool is_watched(const char *path)
{
    return disk.watching && strncmp(path, disk.root, strlen(disk.root)) == 0;
}

/* Takes out what changes nothing: a folder's own name for itself. */
static void tidy_path(char *path)
{
    for (char *dot; (dot = strstr(path, "/./")) != NULL;)
        memmove(dot, dot + 2, strlen(dot + 2) + 1);
}

/* The path within a folder that is open; false when it is none of the watched. */
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
    disk.fds[fd] = thing;
}

/* ---- opening and naming ---- */

static int open_at(int folder_fd, const char *name, int flags, mode_t mode)
{
    char path[PATH_BYTES];
    pthread_mutex_lock(&disk.lock);
    bool watched = path_at(folder_fd, name, path);
    bool existed = watched && access(path, F_OK) == 0;
    int fd = (int)syscall(SYS_openat, folder_fd, name, flags, mode);
    int error = errno;
    if (fd >= 0 && fd < FDS_MAX)
        disk.fds[fd] = NULL;
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
        disk.fds[fd] = NULL;
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

/* The write has been made, so that a flush that begins now covers it. */
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
    ssize_t done = syscall(SYS_write, fd, bytes, n);
    if (done > 0)
        note_write(fd, bytes, (size_t)done, (uint64_t)at);
    pthread_mutex_unlock(&disk.lock);
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t offset)
{
    pthread_mutex_lock(&disk.lock);
    ssize_t done = syscall(SYS_pwrite64, fd, bytes, n, offset);
    if (done > 0)
        note_write(fd, bytes, (size_t)done, (uint64_t)offset);
    pthread_mutex_unlock(&disk.lock);
    return done;
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    pthread_mutex_lock(&disk.lock);
    ssize_t done = syscall(SYS_pwritev, fd, parts, count, offset, 0);
    ssize_t left = done;
    for (int i = 0; i < count && left > 0; i++) {
        size_t n = (size_t)left < parts[i].iov_len ? (size_t)left : parts[i].iov_len;
        note_write(fd, parts[i].iov_base, n, (uint64_t)(offset + done - left));
        left -= (ssize_t)n;
    }
    pthread_mutex_unlock(&disk.lock);
    return done;
}

int ftruncate(int fd, off_t size)
{
    pthread_mutex_lock(&disk.lock);
    int result = (int)syscall(SYS_ftruncate, fd, size);
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

/* The lock is held. */
static bool flush_fails(const struct thing *thing)
{
    if (disk.fail_count == 0)
        return false;
    bool meant = false;
    for (size_t i = 0; i < disk.now.count && !meant; i++)
        meant = disk.now.list[i].thing == thing &&
                strstr(disk.now.list[i].path, disk.fail_part) != NULL;
    if (!meant || (disk.fail_after > 0 && --disk.fail_after > 0))
        return false;
    disk.fail_count--;
    disk.failed = true;
    return true;
}

/* The real disk is not asked: what a flush means is what the record says, and a test is not worth
 * the wear. */
static int flush(int fd)
{
    pthread_mutex_lock(&disk.lock);
    struct thing *thing = thing_of(fd);
    bool fails = thing != NULL && flush_fails(thing);
    if (thing != NULL) {
        size_t covers = disk.count;
        add_event(fails ? FLUSH_FAILED : FLUSHED, thing)->covers = covers;
    }
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
    disk.fail_count = 0;
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

void disk_fail_flushes(const char *part, unsigned n, unsigned count)
{
    pthread_mutex_lock(&disk.lock);
    disk.fail_part = part;
    disk.fail_after = n;
    disk.fail_count = count;
    pthread_mutex_unlock(&disk.lock);
}

bool disk_has_failed(void)
{
    pthread_mutex_lock(&disk.lock);
    bool failed = disk.failed;
    pthread_mutex_unlock(&disk.lock);
    return failed;
}

/* ---- a cut ---- */

struct cut {
    size_t now;
    enum cut_kind kind;
    uint32_t random;
    bool torn; /* from here on nothing that was not flushed */
};

static uint32_t draw(struct cut *c, uint32_t below)
{
    c->random = c->random * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)c->random * below) >> 32);
}

/* The first flush after it has succeeded. (One that fails forgets what it should have written, and
 * those after it have nothing to write.) */
static bool is_flushed(const struct cut *c, size_t at)
{
    for (size_t i = at + 1; i < c->now; i++) {
        const struct event *event = &disk.events[i];
        if (event->thing == disk.events[at].thing && event->covers > at &&
            (event->what == FLUSHED || event->what == FLUSH_FAILED))
            return event->what == FLUSHED;
    }
    return false;
}

/* What a file holds. */
struct content {
    char *bytes;
    size_t n;
};

static void content_resize(struct content *f, size_t n)
{
    f->bytes = mem_realloc(f->bytes, n + 1);
    if (n > f->n)
        memset(f->bytes + f->n, 0, n - f->n);
    f->n = n;
}

static void content_put(struct content *f, const struct event *event, size_t from, size_t to)
{
    if (f->n < event->offset + to)
        content_resize(f, event->offset + to);
    memcpy(f->bytes + event->offset + from, event->bytes + from, to - from);
}

/* A write that no flush has covered: sectors of it, wherever they begin in the file. */
static void put_some(struct cut *c, struct content *f, const struct event *event)
{
    for (size_t from = 0; from < event->length;) {
        size_t to = (event->offset + from) / SECTOR * SECTOR + SECTOR - event->offset;
        if (to > event->length)
            to = event->length;
        if (c->kind == CUT_TORN && draw(c, 16) == 0)
            c->torn = true;
        if (c->kind == CUT_TORN ? !c->torn : draw(c, 2) == 0)
            content_put(f, event, from, to);
        from = to;
    }
}

static bool comes_through(struct cut *c)
{
    switch (c->kind) {
    case CUT_ALL:
        return true;
    case CUT_TORN:
        return !c->torn;
    case CUT_SOME_WRITES:
    case CUT_SOME_SECTORS:
        return draw(c, 2) == 0;
    case CUT_NOTHING_LATE:
    case CUT_KINDS:
        break;
    }
    return false;
}

static void apply(struct cut *c, struct content *f, size_t at)
{
    const struct event *event = &disk.events[at];
    bool flushed = is_flushed(c, at);
    bool by_sector = c->kind == CUT_SOME_SECTORS || c->kind == CUT_TORN;
    if (event->what == WRITTEN && !flushed && by_sector)
        put_some(c, f, event);
    else if (!flushed && !comes_through(c))
        return;
    else if (event->what == WRITTEN)
        content_put(f, event, 0, event->length);
    else if (event->what == CUT_OFF)
        content_resize(f, event->offset);
    else if (event->what == PUNCHED && event->offset < f->n)
        memset(f->bytes + event->offset, 0,
               event->offset + event->length < f->n ? event->length : f->n - event->offset);
}

static struct content content_of(struct cut *c, const struct thing *thing)
{
    struct content f = {NULL, 0};
    content_resize(&f, thing->before_n);
    if (thing->before_n > 0)
        memcpy(f.bytes, thing->before, thing->before_n);
    c->torn = false;
    for (size_t i = 0; i < c->now; i++)
        if (disk.events[i].thing == thing)
            apply(c, &f, i);
    return f;
}

static bool is_naming(const struct event *event)
{
    return event->what == CREATED || event->what == RENAMED || event->what == UNLINKED;
}

static bool lies_in(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && path[n] == '/' && strchr(path + n + 1, '/') == NULL;
}

/* Names come and go in order, and those of a folder are there when it was flushed: up to which
 * event they certainly are. */
static size_t named_for_sure(const struct cut *c, const char *folder)
{
    size_t sure = 0;
    for (size_t i = 0; i < c->now; i++) {
        const struct event *event = &disk.events[i];
        if (event->what == FLUSHED && event->thing->folder &&
            strcmp(event->thing->path, folder) == 0 && event->covers > sure)
            sure = event->covers;
    }
    return sure;
}

static void name_folder(struct cut *c, const char *folder, struct names *names)
{
    size_t sure = named_for_sure(c, folder);
    size_t until = c->kind == CUT_ALL            ? c->now
                   : c->kind == CUT_NOTHING_LATE ? sure
                                                 : sure + draw(c, (uint32_t)(c->now - sure + 1));
    for (size_t i = 0; i < until; i++) {
        const struct event *event = &disk.events[i];
        if (!is_naming(event) || !lies_in(event->name, folder))
            continue;
        if (event->what != CREATED)
            names_remove(names, event->name);
        if (event->what != UNLINKED)
            names_set(names, event->what == RENAMED ? event->new_name : event->name, event->thing);
    }
}

/* Holes stay holes. */
static void write_content(const char *path, const struct content *f)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    static const char nothing[BLOCK];
    CHECK(fd >= 0 && ftruncate(fd, (off_t)f->n) == 0);
    for (size_t at = 0; at < f->n; at += BLOCK) {
        size_t n = f->n - at < BLOCK ? f->n - at : BLOCK;
        if (memcmp(f->bytes + at, nothing, n) != 0)
            CHECK(pwrite(fd, f->bytes + at, n, (off_t)at) == (ssize_t)n);
    }
    CHECK(close(fd) == 0);
}

static void new_path(const char *path, const char *folder, char out[PATH_BYTES])
{
    CHECK(snprintf(out, PATH_BYTES, "%s%s", folder, path + strlen(disk.root)) < PATH_BYTES);
}

void disk_cut(size_t now, enum cut_kind kind, uint32_t seed, const char *folder)
{
    struct cut c = {.now = now, .kind = kind, .random = seed * 2654435761U + 1};
    struct names names = {0};
    char path[PATH_BYTES];
    for (size_t i = 0; i < disk.before.count; i++)
        names_set(&names, disk.before.list[i].path, disk.before.list[i].thing);
    for (size_t i = 0; i < disk.before.count; i++) {
        if (!disk.before.list[i].thing->folder)
            continue;
        new_path(disk.before.list[i].path, folder, path);
        CHECK(mkdir(path, 0700) == 0);
        name_folder(&c, disk.before.list[i].path, &names);
    }
    for (size_t i = 0; i < names.count; i++) {
        if (names.list[i].thing->folder)
            continue;
        struct content f = content_of(&c, names.list[i].thing);
        new_path(names.list[i].path, folder, path);
        write_content(path, &f);
        free(f.bytes);
    }
    free(names.list);
}
