/* SPDX-License-Identifier: Apache-2.0 */
/* Queues as an operator sees them: how many messages wait in total, and the state of each message
 * of a queue. These functions only read: no message is delivered and no dequeue is counted. */
#ifndef SERVICE_QUEUE_INSPECT_H
#define SERVICE_QUEUE_INSPECT_H

#include "service/queue/queue.h"

enum {
    QUEUE_USAGE_QUEUES_MAX = 10000,   /* queues examined by one call */
    QUEUE_USAGE_AGES_MAX = 100,       /* in how many of them the oldest message is looked up */
    QUEUE_INSPECT_MAX = 1000,         /* messages of one answer */
    QUEUE_INSPECT_TEXT_MAX = 2 << 20, /* total bytes of their texts; later messages come without
                                       * text */
};

struct queue_usage {
    uint64_t queues;
    uint64_t messages; /* visible or not */
    int64_t oldest;    /* insertion time of the oldest message found; 0: none */
    bool cut;          /* there are more queues than were examined */
};
/* Covers all accounts. Waits for the disk. */
struct err queue_usage(struct store *store, struct queue_usage *out);

/* One message and its state. */
struct queue_seen {
    struct guid id;
    int64_t inserted, expires;
    int64_t next_visible; /* 0: it was never delivered */
    int64_t handed_out;   /* when it was last delivered, updated or put */
    uint64_t dequeues;
    struct str text; /* absent unless texts were requested and fit */
};
struct queue_inspect {
    struct arena *arena;
    bool timed_only; /* only messages that have a next-visible time */
    bool texts;      /* include the texts */
    bool whole;      /* return fewer messages rather than one without its text */
    uint64_t from;   /* the number of the message to begin with; see next */
    struct queue_seen *messages;
    size_t count;
    size_t text_bytes;
    uint64_t total; /* messages of the queue */
    bool cut;       /* there are more than QUEUE_INSPECT_MAX */
    uint64_t next;  /* if so: `from` of those */
};
engine_fn queue_inspect;

#endif
