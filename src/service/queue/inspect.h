/* SPDX-License-Identifier: Apache-2.0 */
/* Queues as an operator sees them: how many messages wait in all, and what state each message of a
 * queue is in. Reads; nothing is handed out, and no dequeue is counted. */
#ifndef SERVICE_QUEUE_INSPECT_H
#define SERVICE_QUEUE_INSPECT_H

#include "service/queue/queue.h"

enum {
    QUEUE_USAGE_QUEUES_MAX = 10000,   /* looked at in one go */
    QUEUE_USAGE_AGES_MAX = 100,       /* of those the oldest message is looked for in so many */
    QUEUE_INSPECT_MAX = 1000,         /* messages of one answer */
    QUEUE_INSPECT_TEXT_MAX = 2 << 20, /* bytes of their texts; further ones come without theirs */
};

struct queue_usage {
    uint64_t queues;
    uint64_t messages; /* visible or not */
    int64_t oldest;    /* when the oldest that was found was put; 0: there is none */
    bool cut;          /* there are more queues than were looked at */
};
/* Of all accounts. Waits for the disk. */
struct err queue_usage(struct store *store, struct queue_usage *out);

/* A message as it is. */
struct queue_seen {
    struct guid id;
    int64_t inserted, expires;
    int64_t next_visible; /* 0: it waits to be got for the first time */
    int64_t handed_out;   /* when it was last got, updated or put */
    uint64_t dequeues;
    struct str text; /* none unless texts are asked for and there is room */
};
struct queue_inspect {
    struct arena *arena;
    bool timed_only; /* only those that were got, updated or put to be seen later */
    bool texts;      /* with what they say */
    struct queue_seen *messages;
    size_t count;
    size_t text_bytes;
    uint64_t total; /* messages of the queue */
    bool cut;       /* there are more than QUEUE_INSPECT_MAX */
};
engine_fn queue_inspect;

#endif
