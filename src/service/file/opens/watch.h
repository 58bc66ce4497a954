/* SPDX-License-Identifier: Apache-2.0 */
/* Which clients watch which directories, and what has happened there since they last asked.
 *
 * A watch belongs to an open directory and outlives the requests that ask for its news: changes
 * between two of them are kept, up to a limit; past it only "scan everything again" is kept. News
 * come after their commit, from every front end, in the order of the commits. */
#ifndef SERVICE_FILE_OPENS_WATCH_H
#define SERVICE_FILE_OPENS_WATCH_H

#include "core/str.h"
#include "service/file/opens/opens.h"

enum { WATCH_BYTES_MAX = 64 << 10, WATCHES_MAX = 1 << 16 };

/* As [MS-SMB2] 2.2.35 numbers them. */
enum change_what {
    CHANGE_FILE_NAME = 0x001,
    CHANGE_DIRECTORY_NAME = 0x002,
    CHANGE_ATTRIBUTES = 0x004,
    CHANGE_SIZE = 0x008,
    CHANGE_LAST_WRITE = 0x010,
    CHANGE_LAST_ACCESS = 0x020,
    CHANGE_CREATION = 0x040,
    CHANGE_EXTENDED_ATTRIBUTES = 0x080,
    CHANGE_SECURITY = 0x100,
};
/* As [MS-FSCC] 2.7.1 does. */
enum change_action {
    CHANGE_ADDED = 1,
    CHANGE_REMOVED = 2,
    CHANGE_MODIFIED = 3,
    CHANGE_RENAMED_FROM = 4,
    CHANGE_RENAMED_TO = 5,
};

/* Something that happened to an entry. */
struct file_change {
    struct file_change *next;
    enum change_action action;
    unsigned what;
    struct str path; /* from the share's root */
    /* The directories above it, the root first, and the offset in the path of the part below
     * each. */
    size_t depth;
    const uint64_t *directories;
    const size_t *starts;
};

struct watches;
struct watch;

struct watches *watches_new(void);
void watches_free(struct watches *all);

struct watch_request {
    struct opens_key directory;
    bool recursive;
    unsigned what; /* CHANGE_* that it is for */
    /* There are news. Called on any thread, without the lock; do not call back from within. `owner`
     * outlives the registry's use, as with opens_owner; id identifies the watcher to it. */
    void (*ready)(void *owner, uint64_t id);
    void *owner;
    uint64_t id;
};

/* NULL if there are too many. */
struct watch *watch_new(struct watches *all, const struct watch_request *request);
void watch_free(struct watches *all, struct watch *w);

enum watch_news {
    WATCH_NOTHING,
    WATCH_CHANGES,
    WATCH_LOOK_ANEW, /* more changes than were kept */
    WATCH_DOOMED,    /* the directory is going to be deleted */
};
/* Takes the news: each change with its action and its path from the directory, in order. The path
 * is borrowed for the call. */
enum watch_news watch_take(struct watches *all, struct watch *w,
                           void (*visit)(void *arg, enum change_action action, struct str path),
                           void *arg);

/* Returns true if anybody watches anything. Needs no lock. */
bool watches_any(const struct watches *all);
/* After the commit. */
void watches_tell(struct watches *all, uint64_t share, const struct file_change *first);
/* Something unknown happened in the share: all that watch it scan it again. */
void watches_tell_unknown(struct watches *all, uint64_t share);
/* The directory will be deleted when it is closed; ends its watches. */
void watches_doom(struct watches *all, struct opens_key directory);

#endif
