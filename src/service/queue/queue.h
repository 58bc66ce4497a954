/* SPDX-License-Identifier: Apache-2.0 */
/* The queue service: what queues and messages mean. Each engine_fn is the transaction of the
 * operation of the same name. It runs in the queue's partition with its struct as arg.
 *
 * The article's rules for queues: Q1, a received message stays invisible until its visibility
 * timeout has passed, and only the holder of its latest receipt can delete it. Q2, nothing else
 * is checked: the last writer wins. */
#ifndef SERVICE_QUEUE_QUEUE_H
#define SERVICE_QUEUE_QUEUE_H

#include "core/guid.h"
#include "service/common/store.h"
#include "service/common/sweeper.h"

enum {
    QUEUE_TEXT_BYTES_MAX = 64 << 10,
    QUEUE_MESSAGES_MAX = 32, /* of one get or peek */
    QUEUE_VISIBILITY_DEFAULT_S = 30,
    QUEUE_VISIBILITY_MAX_S = 7 * 86400,
    QUEUE_TTL_DEFAULT_S = 7 * 86400,
    QUEUE_RECEIPT_BYTES = 12,
};

/* Time to live of a message that never expires; shown as the last second of the year 9999. */
#define QUEUE_TTL_NEVER     (-1)
#define QUEUE_EXPIRES_NEVER (253402300799LL * TICKS_PER_SECOND)

/* ---- queues ---- */

/* The partition that holds everything of a queue. Names contain no slash. */
struct str queue_partition(struct arena *a, struct str account, struct str queue);

/* Creates a queue. If it exists and has the same metadata, *existed is set. Metadata names are
 * compared without case and in any order, values exactly. Otherwise ERR_QUEUE_ALREADY_EXISTS.
 * ERR_QUEUE_BEING_DELETED: see queue_delete. */
struct queue_create {
    struct str metadata; /* in the form of service/common/pairs.h */
    bool existed;
};
engine_fn queue_create;

/* Deletes the queue and its messages. The cost does not depend on how many there are:
 * queue_sweep deletes the rows later. queue_create returns ERR_QUEUE_BEING_DELETED until
 * `blocked_ticks` have passed. A NULL arg frees the name at once. */
struct queue_delete {
    int64_t blocked_ticks;
};
engine_fn queue_delete;

struct queue_properties {
    struct arena *arena;
    struct str metadata; /* absent if there are none */
    uint64_t count;      /* of messages, visible or not */
};
engine_fn queue_get_metadata;

struct queue_set_metadata {
    struct str metadata;
};
engine_fn queue_set_metadata;

/* The stored access policies, as the bytes that the front end and auth agree on. */
struct queue_acl {
    struct arena *arena; /* of get */
    struct str policies; /* absent if there are none */
};
engine_fn queue_get_acl;
engine_fn queue_set_acl;

/* ---- messages ---- */

/* Proof that a client received a message, needed to update or delete it. Each delivery makes a
 * new one. */
struct queue_receipt {
    unsigned char bytes[QUEUE_RECEIPT_BYTES];
};

struct queue_message {
    struct guid id;
    struct str text;
    int64_t inserted; /* ticks */
    int64_t expires;
    int64_t next_visible;
    uint64_t dequeue_count;
    struct queue_receipt receipt;
};

struct queue_put_message {
    struct str text;
    uint32_t visibility_s;        /* less than ttl_s */
    int64_t ttl_s;                /* at least 1, or QUEUE_TTL_NEVER */
    struct queue_message message; /* output, except the text */
};
engine_fn queue_put_message;

/* For get and peek. The messages and their texts live in the arena. */
struct queue_get_messages {
    struct arena *arena;
    unsigned count_max;    /* 1 to QUEUE_MESSAGES_MAX */
    uint32_t visibility_s; /* of get: at least 1 */
    struct queue_message *messages;
    unsigned count;
    /* Output: the transaction reached its search limit (for example, many expired messages at
     * the head) before it found a message. It has saved its progress; run it again. */
    bool again;
    bool nothing; /* output of queue_poll_messages */
};
/* A read that checks if a get is worth a write: sets `nothing` if no message can be visible now. */
engine_fn queue_poll_messages;
engine_fn queue_get_messages;
engine_fn queue_peek_messages;

/* Update and delete. ERR_MESSAGE_NOT_FOUND: the message does not exist or has expired.
 * ERR_POP_RECEIPT_MISMATCH: another client has received or updated it since. */
struct queue_change_message {
    struct guid id;
    bool names_none; /* the request's id cannot be a message id */
    struct queue_receipt receipt;
    struct str text; /* of update; absent keeps the old text */
    uint32_t visibility_s;
    int64_t next_visible;             /* output of update */
    struct queue_receipt new_receipt; /* output of update */
};
engine_fn queue_update_message;
engine_fn queue_delete_message;

/* Deletes all messages, visible or not, at the same cost as queue_delete. No arg. */
engine_fn queue_clear_messages;

/* ---- across queues ---- */

struct queue_listed {
    struct str name;
    struct str metadata;
};
struct queue_list {
    struct arena *arena;
    struct str account;
    struct str prefix; /* may be empty */
    struct str from;   /* names before it are on earlier pages; absent for the first page */
    size_t count_max;
    struct queue_listed *queues;
    size_t count;
    struct str next; /* the next page's `from`; absent at the end */
};
/* A read over all queues of the account; runs in any partition. */
engine_fn queue_list;

/* Background job: deletes expired messages, and the rows that deleted queues and cleared
 * messages have left. The struct remembers where the next step continues; start with all zeros. */
struct queue_sweep {
    char after[128]; /* the last partition examined */
    size_t after_n;
    bool unfinished; /* at least one queue of this round has more work */
};
sweep_step queue_sweep;

/* Finds the messages that rows of a queue belong to. arg: an owner_search
 * (service/common/owner.h). */
engine_fn queue_row_owners;

#endif
