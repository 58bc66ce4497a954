/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the state after a power cut from the record. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/test.h"
#include "disk_internal.h"

enum { SECTOR = 512, BLOCK = 4096 };

struct cut {
    size_t now;
    enum cut_kind kind;
    uint32_t random;
    bool torn; /* no unflushed data after this point is kept */
};

static uint32_t draw(struct cut *c, uint32_t below)
{
    c->random = c->random * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)c->random * below) >> 32);
}

/* The first flush that covers it, FLUSHED or FLUSH_FAILED; NOTED if there is none. (A failed flush
 * drops the dirty data, so later flushes have nothing to write.) */
static enum happening flush_of(size_t at, size_t now)
{
    for (size_t i = at + 1; i < now; i++) {
        const struct event *event = &disk.events[i];
        if (event->thing == disk.events[at].thing && event->covers > at &&
            (event->what == FLUSHED || event->what == FLUSH_FAILED))
            return event->what;
    }
    return NOTED;
}

/* The content of a file. */
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

/* A write that no flush has covered: any of its sectors, wherever they begin in the file. */
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
    bool flushed = flush_of(at, c->now) == FLUSHED;
    bool by_sector = c->kind == CUT_SOME_SECTORS || c->kind == CUT_TORN;
    if (event->gone)
        return;
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

/* Names are added and removed in order, and a flush of a folder makes its names durable. Returns
 * the event up to which they are certainly durable. */
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

static struct names make_image(struct cut *c, const char *folder)
{
    struct names names = {0};
    char path[PATH_BYTES];
    for (size_t i = 0; i < disk.before.count; i++)
        names_set(&names, disk.before.list[i].path, disk.before.list[i].thing);
    for (size_t i = 0; i < disk.before.count; i++) {
        if (!disk.before.list[i].thing->folder)
            continue;
        new_path(disk.before.list[i].path, folder, path);
        CHECK(mkdir(path, 0700) == 0);
        name_folder(c, disk.before.list[i].path, &names);
    }
    for (size_t i = 0; i < names.count; i++) {
        if (names.list[i].thing->folder)
            continue;
        struct content f = content_of(c, names.list[i].thing);
        new_path(names.list[i].path, folder, path);
        write_content(path, &f);
        free(f.bytes);
    }
    return names;
}

void disk_cut(size_t now, enum cut_kind kind, uint32_t seed, const char *folder)
{
    struct cut c = {.now = now, .kind = kind, .random = seed * 2654435761U + 1};
    struct names names = make_image(&c, folder);
    free(names.list);
}

void disk_restart(size_t now, uint32_t seed)
{
    struct cut c = {.now = now, .kind = CUT_ALL, .random = seed * 2654435761U + 1};
    disk_unwatch();
    for (size_t i = 0; i < now; i++) {
        struct event *event = &disk.events[i];
        if (event->what == WRITTEN && flush_of(i, now) == FLUSH_FAILED && draw(&c, 2) == 0)
            event->gone = true;
    }
    free(disk.now.list);
    disk.now = make_image(&c, disk.root);
    disk.count = now;
    disk.fault = (struct disk_fault){0};
    memset(disk.fds, 0, sizeof disk.fds);
    disk.watching = true;
}
