/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a blob's last read (--track-last-access). A read must not become a durable write, so
 * it only leaves a note in memory, at most one a day for each blob, and the sweeper writes the
 * notes, many in one update. As in the cloud the time is accurate to a day: if a note finds no
 * room, or a crash loses it, the next read makes it again. */
#ifndef SERVICE_BLOB_TOUCH_H
#define SERVICE_BLOB_TOUCH_H

#include "service/blob/head.h"
#include "service/common/sweeper.h"

enum { BLOB_TOUCHES_MAX = 1024 };
#define BLOB_TOUCH_TICKS TICKS_PER_DAY

struct blob_touches;

struct blob_touches *blob_touches_new(void);
/* NULL is fine. */
void blob_touches_free(struct blob_touches *touches);

struct blob_touch {
    struct str partition;
    struct str name;
    int64_t at; /* ticks */
};
/* Records that the base blob was read, unless the head has a recent enough time. From any thread;
 * touches may be NULL. */
void blob_touch(struct blob_touches *touches, const struct blob_touch *touch,
                const struct blob_head *head);

/* A job for the sweeper, which stores the notes of store->touches. */
struct err blob_touch_sweep(struct store *store, void *context, struct sweep_report *report);

#endif
