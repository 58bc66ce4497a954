/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: messages that were put in one burst lie together in one row, so that putting, getting and
 * deleting a thousand of them writes a few hundred rows and not thousands, and a queue with a
 * million messages waiting is small. Only code of this folder includes this.
 *
 * A page's own row holds what was put and is only ever appended to, while the page is the log's
 * last. What becomes of its messages (got, updated, deleted) stands in a second, small row, which
 * is made when the first of them changes; from then on the page is closed. When all are gone, both
 * rows go. */
#ifndef SERVICE_QUEUE_PAGE_H
#define SERVICE_QUEUE_PAGE_H

#include "service/queue/state.h"

/* v rows stand at times cut to this many bits, about 7 ms: what one burst of gets hands out is
 * found through few of them. Which of the messages comes first the pages say, see deliver.c. */
enum { VISIBLE_GRAIN_BITS = 16 };

/* As it stands in an s row, byte for byte, so that a page is read and written without a look at
 * each of its messages: most operations are about one. */
struct __attribute__((packed)) slot {
    bool gone : 1;
    bool timed : 1;   /* has a next-visible time, so it does not wait in the log */
    bool changed : 1; /* its text is in a t row */
    unsigned char unused : 5;
    int64_t expires;
    int64_t next_visible; /* when it is timed */
    uint64_t receipt;     /* the stamp of the update that last handed it out, or put it */
    uint64_t dequeues;
};
static_assert(sizeof(struct slot) == 33, "as it is stored");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "as it is stored");

struct page {
    uint64_t id;
    unsigned count;
    bool stored;        /* the s row is there */
    int64_t expires_at; /* where its e row stands; QUEUE_EXPIRES_NEVER: it has none */
    struct str put;     /* its own row, once it was read; as long as the transaction */
    struct slot slots[PAGE_SLOTS_MAX];
};

static inline uint64_t page_of(uint64_t number)
{
    return number >> PAGE_SHIFT;
}

static inline unsigned slot_of(uint64_t number)
{
    return (unsigned)(number & (PAGE_SLOTS_MAX - 1));
}

static inline uint64_t number_of(uint64_t page, unsigned slot)
{
    return page << PAGE_SHIFT | slot;
}

/* A message as it is put. */
struct page_entry {
    int64_t inserted;
    int64_t expires;
    uint64_t receipt;
    struct str text;
};

/* Puts the message at the log's end, or apart to be seen at a later time, and gives it its number.
 * The caller counts it. */
struct err page_append(struct txn *t, struct queue_state *s, const struct page_entry *entry,
                       uint64_t *number);
struct err page_put_delayed(struct txn *t, struct queue_state *s, const struct page_entry *entry,
                            int64_t visible, uint64_t *number);

/* *found is false when there is no such page. */
struct err page_load(struct txn *t, const struct queue_state *s, uint64_t id, struct page *page,
                     bool *found);
/* Several pages, read together with the texts of their messages. */
struct page_wanted {
    uint64_t id;
    struct page *page;
    bool *found;
};
struct err page_load_many(struct txn *t, const struct queue_state *s, struct page_wanted *wanted,
                          size_t count);
/* The rest of a message: what is needed to show it. The text is borrowed from the transaction. */
struct err page_show(struct txn *t, const struct queue_state *s, struct page *page, unsigned slot,
                     int64_t *inserted, struct str *text);

/* Changes of a message; page_finish is to follow, once for all changes of the page. */
struct err page_show_at(struct txn *t, struct queue_state *s, struct page *page, unsigned slot,
                        int64_t time);
struct err page_set_text(struct txn *t, const struct queue_state *s, struct page *page,
                         unsigned slot, struct str text);
/* Takes the message away, and counts it out. */
struct err page_remove(struct txn *t, struct queue_state *s, struct page *page, unsigned slot);
/* Writes what has changed, and takes the page away when all its messages are gone. */
struct err page_finish(struct txn *t, struct queue_state *s, struct page *page);
/* Sets where the e row stands, by the messages that are left. */
struct err page_set_expiry(struct txn *t, struct queue_state *s, struct page *page);

/* Message ids and receipts. An id holds incarnation and number; a receipt the stamp, and so much of
 * the number that another message's receipt does not pass. */
struct guid queue_id_make(const struct queue_state *s, uint64_t number);
/* False when the id is not of this incarnation. */
bool queue_id_number(const struct queue_state *s, const struct guid *id, uint64_t *number);
struct queue_receipt queue_receipt_make(uint64_t number, uint64_t stamp);

#endif
