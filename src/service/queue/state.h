/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a queue's partition: their keys, and the state row. Only code of this folder includes
 * this.
 *
 *   P                          properties: metadata, policies; exists while the queue does, and is
 *                              first, so that a list finds them without a search
 *   S                          state: what every message operation reads and most write
 *   d incarnation p page       a page: up to 32 messages as they were put, see page.h
 *   d incarnation s page       their states, once the first was received or changed
 *   d incarnation t number     the text of a message that was updated with a new one
 *   d incarnation v time page  some message of the page becomes visible at about that time
 *   d incarnation e time page  some message of the page expires then or earlier
 *
 * An incarnation is the stamp of the update that created or cleared the queue. Rows of an older
 * one are ignored; they sort before those of the current one, and the sweep removes them. */
#ifndef SERVICE_QUEUE_STATE_H
#define SERVICE_QUEUE_STATE_H

#include <assert.h>
#include <endian.h>

#include "service/queue/queue.h"

/* A message's number consists of its page and its slot in the page. */
enum { PAGE_SHIFT = 5, PAGE_SLOTS_MAX = 1 << PAGE_SHIFT };
/* Numbers of delayed messages. They are not in the log; each has a separate page. */
#define QUEUE_NUMBER_DELAYED (1ULL << 63)
#define QUEUE_TIME_NEVER     INT64_MAX

struct queue_state {
    bool exists; /* false: only rows of old incarnations are left */
    uint64_t incarnation;
    /* The log holds the messages that were never received: head <= number < tail. No message
     * before head waits, so the head is found without a search. */
    uint64_t head;
    uint64_t tail;
    int64_t tail_since; /* when the first message of the log's last page was put */
    /* The log's pages from this one on have no s row. So the first get of a page does not search
     * for one; searching for a missing row is the most expensive read. */
    uint64_t untouched;
    uint64_t delayed; /* number of delayed messages ever put */
    uint64_t count;   /* of messages, visible or not */
    /* Lower bounds: no v row and no e row is earlier. QUEUE_TIME_NEVER if there are none. Scans
     * start here and so skip the tombstones before it. */
    int64_t visible_from;
    int64_t expires_from;
    /* If given: rows of old incarnations are left, none before this key. */
    struct str dead_from;
    int64_t blocked_until; /* of a deleted queue: the name is blocked until then; 0: it is free */
};

/* Decodes a state row. An absent row is a queue that does not exist. ERR_CORRUPT. */
struct err queue_state_decode(struct str value, struct queue_state *s);
struct err queue_state_read(struct txn *t, struct queue_state *s);
/* The same for a queue that must exist: ERR_QUEUE_NOT_FOUND. */
struct err queue_state_load(struct txn *t, struct queue_state *s);
/* Writes the state, or deletes the row if the state is empty. */
struct err queue_state_save(struct txn *t, const struct queue_state *s);
/* Ends the current incarnation: all of its messages are gone. */
void queue_state_bury(struct txn *t, struct queue_state *s);

/* ---- words of keys (big-endian: byte order is number order), and of rows (little-endian) ---- */

static inline void queue_put_be64(void *to, uint64_t value)
{
    uint64_t word = htobe64(value);
    memcpy(to, &word, sizeof word);
}

static inline uint64_t queue_word_at(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return le64toh(word);
}

static inline void queue_put_word_at(char *p, uint64_t value)
{
    uint64_t word = htole64(value);
    memcpy(p, &word, sizeof word);
}

/* ---- keys ---- */

#define QUEUE_KEY_PROPERTIES STR("P")
#define QUEUE_KEY_STATE      STR("S")
/* The first key past all of d. */
#define QUEUE_KEY_PAST_DATA STR("e")

enum { QUEUE_KEY_BYTES_MAX = 26 };

struct queue_key {
    char bytes[QUEUE_KEY_BYTES_MAX];
    size_t n;
};

static inline struct str queue_key_str(const struct queue_key *k)
{
    return (struct str){k->bytes, k->n};
}

enum queue_key_kind {
    KEY_PAGE = 'p',
    KEY_SLOTS = 's',
    KEY_TEXT = 't',
    KEY_VISIBLE = 'v',
    KEY_EXPIRES = 'e',
};

enum { KEY_HEAD_BYTES = 10, KEY_NUMBERED_BYTES = KEY_HEAD_BYTES + 8, KEY_TIMED_BYTES = 26 };

/* Every operation makes several keys. They are built in place: copying bytes that have just been
 * written would stall the processor.
 *
 * Returns where all rows of an incarnation begin. */
static inline struct queue_key queue_key_incarnation(uint64_t incarnation)
{
    struct queue_key k;
    k.n = KEY_HEAD_BYTES - 1;
    k.bytes[0] = 'd';
    queue_put_be64(k.bytes + 1, incarnation);
    return k;
}

/* p, s and t. */
static inline struct queue_key queue_key_of(const struct queue_state *s, enum queue_key_kind kind,
                                            uint64_t number)
{
    struct queue_key k;
    k.n = KEY_NUMBERED_BYTES;
    k.bytes[0] = 'd';
    queue_put_be64(k.bytes + 1, s->incarnation);
    k.bytes[KEY_HEAD_BYTES - 1] = (char)kind;
    queue_put_be64(k.bytes + KEY_HEAD_BYTES, number);
    return k;
}

/* v and e. */
static inline struct queue_key
queue_key_timed(const struct queue_state *s, enum queue_key_kind kind, int64_t time, uint64_t page)
{
    assert(time >= 0);
    struct queue_key k;
    k.n = KEY_TIMED_BYTES;
    k.bytes[0] = 'd';
    queue_put_be64(k.bytes + 1, s->incarnation);
    k.bytes[KEY_HEAD_BYTES - 1] = (char)kind;
    queue_put_be64(k.bytes + KEY_HEAD_BYTES, (uint64_t)time);
    queue_put_be64(k.bytes + KEY_NUMBERED_BYTES, page);
    return k;
}

/* Takes a v or e key apart. ERR_CORRUPT. */
struct err queue_key_read(struct str key, int64_t *time, uint64_t *page);

#endif
