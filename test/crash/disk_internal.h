/* SPDX-License-Identifier: Apache-2.0 */
/* The record that disk.c writes and disk_cut.c reads. */
#ifndef TEST_CRASH_DISK_INTERNAL_H
#define TEST_CRASH_DISK_INTERNAL_H

#include <pthread.h>

#include "disk.h"

enum { FDS_MAX = 4096, PATH_BYTES = 512 };

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

/* A file or a folder, independent of its name. */
struct thing {
    bool folder;
    char *path;   /* when it was first seen */
    char *before; /* what a file held when the watch began */
    size_t before_n;
    unsigned failures; /* flushes of it that failed */
};

struct event {
    enum happening what;
    struct thing *thing;
    uint64_t offset;
    uint64_t length;
    char *bytes;
    size_t covers; /* of a flush: the number of events when it began */
    bool gone;     /* a flush failed, and memory has forgotten it as well */
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

/* Each descriptor that was open when a flush failed reports the error once. Descriptors opened
 * later do not, because the kernel may have forgotten it by then. */
struct descriptor {
    struct thing *thing;
    unsigned failures_told;
};

struct disk {
    pthread_mutex_t lock;
    bool watching;
    char root[PATH_BYTES];
    struct descriptor fds[FDS_MAX];
    struct names before; /* when the watch began */
    struct names now;
    struct event *events;
    size_t count;
    size_t capacity;
    struct disk_fault fault;
    bool half_written; /* the rest of that write is what fails */
    bool failed;
};

extern struct disk disk;

void names_set(struct names *names, const char *path, struct thing *thing);
void names_remove(struct names *names, const char *path);

#endif
