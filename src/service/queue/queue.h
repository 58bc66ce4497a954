/* SPDX-License-Identifier: Apache-2.0 */
/* The queue service: what queues and messages mean. Each function of type engine_fn is the
 * transaction of the operation of its name, run over the queue's partition with its struct as arg.
 *
 * The article's rules for queues: Q1, a message that was got is invisible until the time it was got
 * plus the visibility timeout, and deleted only by who shows its receipt; Q2, no other check: the
 * last writer wins. */
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

/* A message that lives until it is deleted; shown as the last second of the year 9999. */
#define QUEUE_TTL_NEVER     (-1)
#define QUEUE_EXPIRES_NEVER (253402300799LL * TICKS_PER_SECOND)

/* ---- queues ---- */

/* The partition of a queue; all that a queue is lies in it. Names hold no slash. */
struct str queue_partition(struct arena *a, struct str account, struct str queue);

/* Makes a queue. Where there is one already, *existed is set if its metadata are the same, as the
 * service compares them: names without regard to case and in any order, values exactly. Else
 * ERR_QUEUE_ALREADY_EXISTS. ERR_QUEUE_BEING_DELETED: see queue_delete. */
struct queue_create {
    struct str metadata; /* in the form of service/common/pairs.h */
    bool existed;
};
engine_fn queue_create;

/* Deletes the queue with all that is in it, in a transaction whose size does not depend on how much
 * that is: queue_sweep takes the rows away later. Until `blocked_ticks` have passed, queue_create
 * says ERR_QUEUE_BEING_DELETED. A NULL arg frees the name at once. */
struct queue_delete {
    int64_t blocked_ticks;
};
engine_fn queue_delete;

struct queue_properties {
    struct arena *arena;
    struct str metadata; /* absent when there are none */
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
    struct str policies; /* absent when there are none */
};
engine_fn queue_get_acl;
engine_fn queue_set_acl;

/* ---- messages ---- */

/* Shown by who wants to update or delete a message; a new one for each time it is handed out. */
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
    struct queue_message message; /* made: all but the text */
};
engine_fn queue_put_message;

/* For get and peek. The messages and their texts live in the arena. */
struct queue_get_messages {
    struct arena *arena;
    unsigned count_max;    /* 1 to QUEUE_MESSAGES_MAX */
    uint32_t visibility_s; /* of get: at least 1 */
    struct queue_message *messages;
    unsigned count;
    /* Nothing was found before the transaction had looked at as much as one should (many messages
     * at the head have expired, say): its progress is kept, and it is to be run again. */
    bool again;
    bool nothing; /* of queue_poll_messages */
};
/* A read that finds out whether a get is worth a write: `nothing` is set when no message can be
 * visible now. */
engine_fn queue_poll_messages;
engine_fn queue_get_messages;
engine_fn queue_peek_messages;

/* Update and delete. ERR_MESSAGE_NOT_FOUND: no such message, or it has expired.
 * ERR_POP_RECEIPT_MISMATCH: got or updated since by another. */
struct queue_change_message {
    struct guid id;
    bool names_none; /* the request's id has no form that a message's id has */
    struct queue_receipt receipt;
    struct str text; /* of update: absent keeps it */
    uint32_t visibility_s;
    int64_t next_visible;             /* of update: made */
    struct queue_receipt new_receipt; /* the same */
};
engine_fn queue_update_message;
engine_fn queue_delete_message;

/* Deletes all messages, visible or not, as cheaply as queue_delete does. No arg. */
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
/* A read; in whatever partition, it looks at all of the account's. */
engine_fn queue_list;

/* The background sweep's job: takes away messages that have expired, and what deleted queues and
 * cleared messages left. Its context keeps its place between steps; all zero is the start. */
struct queue_sweep {
    char after[128]; /* the partition that was looked at last */
    size_t after_n;
    bool unfinished; /* some queue of this round has more to do */
};
sweep_step queue_sweep;

/* The messages that rows of a queue belong to. arg: an owner_search (service/common/owner.h). */
engine_fn queue_row_owners;

#endif
