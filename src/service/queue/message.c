/* SPDX-License-Identifier: Apache-2.0 */
/* Put, update, delete and clear. The search for messages to deliver is in deliver.c. */
#include <assert.h>

#include "service/queue/page.h"

static int64_t time_after(int64_t now, int64_t seconds)
{
    return now + seconds * TICKS_PER_SECOND;
}

static int64_t expiry(int64_t now, int64_t ttl_s)
{
    /* A time to live that ends after the last date that can be shown counts as endless. */
    if (ttl_s == QUEUE_TTL_NEVER || ttl_s >= (QUEUE_EXPIRES_NEVER - now) / TICKS_PER_SECOND)
        return QUEUE_EXPIRES_NEVER;
    return time_after(now, ttl_s);
}

struct err queue_put_message(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct queue_put_message *put = arg;
    assert(put->text.n <= QUEUE_TEXT_BYTES_MAX);
    struct queue_state s;
    TRY(queue_state_load(t, &s));
    int64_t now = txn_now(t);
    int64_t visible = time_after(now, put->visibility_s);
    struct page_entry entry = {
        .inserted = now,
        .expires = expiry(now, put->ttl_s),
        .receipt = (uint64_t)txn_stamp(t),
        .text = put->text,
    };
    uint64_t number;
    s.count++;
    if (put->visibility_s == 0)
        TRY(queue_page_append(t, &s, &entry, &number));
    else
        TRY(queue_page_put_delayed(t, &s, &entry, visible, &number));
    put->message = (struct queue_message){
        .id = queue_id_make(&s, number),
        .inserted = entry.inserted,
        .expires = entry.expires,
        .next_visible = visible,
        .receipt = queue_receipt_make(number, entry.receipt),
    };
    return queue_state_save(t, &s);
}

/* Finds the message that the change names and checks that the receipt is the latest. */
static struct err load_held(struct txn *t, const struct queue_state *s,
                            const struct queue_change_message *change, struct page *page,
                            unsigned *slot)
{
    uint64_t number;
    bool found;
    if (change->names_none || !queue_id_number(s, &change->id, &number))
        return err_new(ERR_MESSAGE_NOT_FOUND);
    TRY(queue_page_load(t, s, page_of(number), page, &found));
    *slot = slot_of(number);
    if (!found || *slot >= page->count || page->slots[*slot].gone ||
        page->slots[*slot].expires <= txn_now(t))
        return err_new(ERR_MESSAGE_NOT_FOUND);
    struct queue_receipt latest = queue_receipt_make(number, page->slots[*slot].receipt);
    if (memcmp(latest.bytes, change->receipt.bytes, sizeof latest.bytes) != 0)
        return err_new(ERR_POP_RECEIPT_MISMATCH);
    return OK;
}

/* The older documentation forbids a visibility past the expiry; the service allows it, and the
 * newer documentation says so. Such a message is never seen again. */
struct err queue_update_message(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct queue_change_message *change = arg;
    struct queue_state s;
    struct page page;
    unsigned slot;
    TRY(queue_state_load(t, &s));
    TRY(load_held(t, &s, change, &page, &slot));
    if (str_given(change->text))
        TRY(queue_page_set_text(t, &s, &page, slot, change->text));
    change->next_visible = time_after(txn_now(t), change->visibility_s);
    TRY(queue_page_show_at(t, &s, &page, slot, change->next_visible));
    page.slots[slot].receipt = (uint64_t)txn_stamp(t);
    TRY(queue_page_finish(t, &s, &page));
    change->new_receipt = queue_receipt_make(number_of(page.id, slot), page.slots[slot].receipt);
    return queue_state_save(t, &s);
}

struct err queue_delete_message(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    const struct queue_change_message *change = arg;
    struct queue_state s;
    struct page page;
    unsigned slot;
    TRY(queue_state_load(t, &s));
    TRY(load_held(t, &s, change, &page, &slot));
    TRY(queue_page_remove(t, &s, &page, slot));
    TRY(queue_page_finish(t, &s, &page));
    return queue_state_save(t, &s);
}

struct err queue_clear_messages(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    (void)arg;
    struct queue_state s;
    TRY(queue_state_load(t, &s));
    queue_state_bury(t, &s);
    s.exists = true;
    s.incarnation = (uint64_t)txn_stamp(t);
    return queue_state_save(t, &s);
}
