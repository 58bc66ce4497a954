/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: messages that were put in one burst share one row. So putting, getting and deleting a
 * thousand messages writes a few hundred rows instead of thousands, and a backlog of a million
 * messages stays small. Only code of this folder includes this header.
 *
 * A page's own row holds the messages as they were put. It is only appended to, while the page
 * is the last one of the log. A second, small row (s) records what happened to the messages:
 * received, updated, deleted. It is created with the first change, which closes the page. When
 * all messages are gone, both rows are deleted. */
#ifndef SERVICE_QUEUE_PAGE_H
#define SERVICE_QUEUE_PAGE_H

#include "service/queue/state.h"

/* v rows use times cut to this grain, about 7 ms, so that few rows cover the messages of one
 * burst of gets. The pages tell the exact order; see deliver.c. */
enum { VISIBLE_GRAIN_BITS = 16 };

/* The layout equals the bytes of an s row, so a page is read and written without decoding each
 * message: most operations concern one message. */
struct __attribute__((packed)) slot {
    bool gone : 1;
    bool timed : 1;   /* has a next-visible time, so it is not in the log */
    bool changed : 1; /* its text is in a t row */
    unsigned char unused : 5;
    int64_t expires;
    int64_t next_visible; /* valid if timed */
    uint64_t receipt;     /* the stamp of the update that last delivered the message, or put it */
    uint64_t dequeues;
};
static_assert(sizeof(struct slot) == 33, "as it is stored");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "as it is stored");

struct page {
    uint64_t id;
    unsigned count;
    bool stored;        /* the s row exists */
    int64_t expires_at; /* time of its e row; QUEUE_EXPIRES_NEVER: it has none */
    struct str put;     /* its own row, if it was read; borrowed from the transaction */
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

/* A message to be put. */
struct page_entry {
    int64_t inserted;
    int64_t expires;
    uint64_t receipt;
    struct str text;
};

/* Appends the message to the log, or stores it apart if it is delayed, and assigns its number.
 * The caller updates the count. */
struct err queue_page_append(struct txn *t, struct queue_state *s, const struct page_entry *entry,
                             uint64_t *number);
struct err queue_page_put_delayed(struct txn *t, struct queue_state *s,
                                  const struct page_entry *entry, int64_t visible,
                                  uint64_t *number);

/* Sets *found to false if the page does not exist. */
struct err queue_page_load(struct txn *t, const struct queue_state *s, uint64_t id,
                           struct page *page, bool *found);
/* Several pages, read together with the texts of their messages. */
struct page_wanted {
    uint64_t id;
    struct page *page;
    bool *found;
};
struct err queue_page_load_many(struct txn *t, const struct queue_state *s,
                                struct page_wanted *wanted, size_t count);
/* Loads what is needed to show a message. The text is borrowed from the transaction. */
struct err queue_page_show(struct txn *t, const struct queue_state *s, struct page *page,
                           unsigned slot, int64_t *inserted, struct str *text);

/* Changes to a message. Call queue_page_finish once after all changes to a page. */
struct err queue_page_show_at(struct txn *t, struct queue_state *s, struct page *page,
                              unsigned slot, int64_t time);
struct err queue_page_set_text(struct txn *t, const struct queue_state *s, struct page *page,
                               unsigned slot, struct str text);
/* Removes the message and decrements the count. */
struct err queue_page_remove(struct txn *t, struct queue_state *s, struct page *page,
                             unsigned slot);
/* Writes the changes, or deletes the page if no message is left. */
struct err queue_page_finish(struct txn *t, struct queue_state *s, struct page *page);
/* Recomputes the e row's time from the messages that are left. */
struct err queue_page_set_expiry(struct txn *t, struct queue_state *s, struct page *page);

/* Message ids and receipts. An id contains the incarnation and the message's number. A receipt
 * contains the stamp and enough of the number that it does not fit another message. */
struct guid queue_id_make(const struct queue_state *s, uint64_t number);
/* False if the id belongs to another incarnation. */
bool queue_id_number(const struct queue_state *s, const struct guid *id, uint64_t *number);
struct queue_receipt queue_receipt_make(uint64_t number, uint64_t stamp);

#endif
