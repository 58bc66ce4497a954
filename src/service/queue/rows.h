/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a queue's partition. Only code of this folder includes this.
 *
 *   P                              properties: metadata, policies; there while the queue exists,
 *                                  and first, so that a list finds them without a search
 *   S                              state: what every message operation reads and most write
 *   d incarnation m number         a message
 *   d incarnation t number         its text, when it is long
 *   d incarnation v time number    when a message becomes visible (no value)
 *   d incarnation e time number    when a message expires (no value)
 *
 * A message put to be seen at once gets the next number of a dense log, and waits there; the state
 * row knows the log's head and tail, so taking from the head is a get of a known key and never a
 * search among the keys of messages that are gone. Whatever is to be seen later (got, updated, or
 * put with a delay) has a v row. A message with a v row never goes back into the log.
 *
 * An incarnation is the stamp of the update that made the queue or cleared it. Rows of an older one
 * mean nothing; they sort before those of the present one, and the sweep takes them away. */
#ifndef SERVICE_QUEUE_ROWS_H
#define SERVICE_QUEUE_ROWS_H

#include "service/queue/queue.h"

/* Numbers of messages that never were in the log, so that those leave no holes in it. */
#define QUEUE_NUMBER_DELAYED (1ULL << 63)
#define QUEUE_TIME_NEVER     INT64_MAX

enum { QUEUE_TEXT_INLINE_MAX = 2048, QUEUE_KEY_BYTES_MAX = 26 };

struct queue_state {
    bool exists; /* false: only rows of old incarnations are left */
    uint64_t incarnation;
    uint64_t head; /* the log: a message that waits in it has head <= number < tail */
    uint64_t tail;
    uint64_t delayed; /* how many numbers past QUEUE_NUMBER_DELAYED were given out */
    uint64_t count;
    /* Lower bounds: no v row, no e row is earlier. QUEUE_TIME_NEVER when there are none. A scan
     * starts here, past all the keys that were deleted before. */
    int64_t visible_from;
    int64_t expires_from;
    /* Given: rows of old incarnations are left, none before this key. */
    struct str dead_from;
};

struct queue_row {
    uint64_t number;
    int64_t inserted;
    int64_t expires;
    int64_t next_visible;
    bool timed;       /* has a v row */
    uint64_t receipt; /* the stamp of the update that last handed it out */
    uint64_t dequeues;
    bool text_apart; /* in its t row */
    struct str text; /* empty when apart: see queue_row_text */
};

struct queue_key {
    char bytes[QUEUE_KEY_BYTES_MAX];
    size_t n;
};

static inline struct str queue_key_str(const struct queue_key *k)
{
    return (struct str){k->bytes, k->n};
}

/* Where all rows of an incarnation begin. */
struct queue_key queue_key_incarnation(uint64_t incarnation);
struct queue_key queue_key_message(const struct queue_state *s, uint64_t number);
struct queue_key queue_key_visible(const struct queue_state *s, int64_t time, uint64_t number);
struct queue_key queue_key_expires(const struct queue_state *s, int64_t time, uint64_t number);
/* Takes a v or e key apart. ERR_CORRUPT. */
struct err queue_key_time(struct str key, int64_t *time, uint64_t *number);

#define QUEUE_KEY_PROPERTIES STR("P")
#define QUEUE_KEY_STATE      STR("S")
/* The first key past all of d. */
#define QUEUE_KEY_PAST_DATA STR("e")

/* Decodes a state row; absent gives the state of a queue that does not exist. ERR_CORRUPT. */
struct err queue_state_decode(struct str value, struct queue_state *s);
struct err queue_state_read(struct txn *t, struct queue_state *s);
/* The same for a queue that must exist: ERR_QUEUE_NOT_FOUND. */
struct err queue_state_load(struct txn *t, struct queue_state *s);
/* Writes it, or takes the row away when it says nothing. */
struct err queue_state_save(struct txn *t, const struct queue_state *s);
/* Ends the present incarnation: all its messages are gone. */
void queue_state_bury(struct txn *t, struct queue_state *s);

/* *found is false when there is no such message. The text is borrowed from the transaction. */
struct err queue_row_load(struct txn *t, const struct queue_state *s, uint64_t number,
                          struct queue_row *row, bool *found);
struct err queue_row_text(struct txn *t, const struct queue_state *s, const struct queue_row *row,
                          struct str *text);
/* Writes the message's own row; not its t row. */
struct err queue_row_save(struct txn *t, const struct queue_state *s, const struct queue_row *row);
/* Sets the text: in the row, which is to be saved then, or in a t row. */
struct err queue_row_set_text(struct txn *t, const struct queue_state *s, struct queue_row *row,
                              struct str text);
/* Makes the message visible at that time by a v row, in place of the log or its old v row. The row
 * is to be saved then. */
struct err queue_row_show_at(struct txn *t, struct queue_state *s, struct queue_row *row,
                             int64_t time);
/* Takes the message away with all its rows, and counts it out. */
struct err queue_row_remove(struct txn *t, struct queue_state *s, const struct queue_row *row);

static inline bool queue_row_expired(const struct queue_row *row, int64_t now)
{
    return row->expires <= now;
}

/* Message ids and receipts. An id holds incarnation and number; a receipt the stamp, and so much of
 * the number that another message's receipt does not pass. */
struct guid queue_id_make(const struct queue_state *s, uint64_t number);
/* False when the id is not of this incarnation. */
bool queue_id_number(const struct queue_state *s, const struct guid *id, uint64_t *number);
struct queue_receipt queue_receipt_make(const struct queue_row *row);

#endif
