/* SPDX-License-Identifier: Apache-2.0 */
/* Put, update, delete and clear. How messages are found to be handed out is in deliver.c. */
#include <assert.h>

#include "service/queue/rows.h"

static int64_t time_after(int64_t now, int64_t seconds)
{
    return now + seconds * TICKS_PER_SECOND;
}

static int64_t expiry(int64_t now, int64_t ttl_s)
{
    /* A time to live that reaches past the last date that can be shown is one without end. */
    if (ttl_s == QUEUE_TTL_NEVER || ttl_s >= (QUEUE_EXPIRES_NEVER - now) / TICKS_PER_SECOND)
        return QUEUE_EXPIRES_NEVER;
    return time_after(now, ttl_s);
}

static struct err put_indexes(struct txn *t, struct queue_state *s, struct queue_row *row,
                              uint32_t visibility_s)
{
    if (visibility_s > 0)
        TRY(queue_row_show_at(t, s, row, time_after(row->inserted, visibility_s)));
    if (row->expires == QUEUE_EXPIRES_NEVER)
        return OK;
    if (row->expires < s->expires_from)
        s->expires_from = row->expires;
    struct queue_key key = queue_key_expires(s, row->expires, row->number);
    return txn_put(t, queue_key_str(&key), STR(""));
}

struct err queue_put_message(struct txn *t, void *arg)
{
    struct queue_put_message *put = arg;
    assert(put->text.n <= QUEUE_TEXT_BYTES_MAX);
    struct queue_state s;
    TRY(queue_state_load(t, &s));
    int64_t now = txn_now(t);
    struct queue_row row = {
        .number = put->visibility_s == 0 ? s.tail++ : QUEUE_NUMBER_DELAYED | s.delayed++,
        .inserted = now,
        .expires = expiry(now, put->ttl_s),
        .next_visible = now,
        .receipt = (uint64_t)txn_stamp(t),
    };
    s.count++;
    TRY(queue_row_set_text(t, &s, &row, put->text));
    TRY(put_indexes(t, &s, &row, put->visibility_s));
    TRY(queue_row_save(t, &s, &row));
    put->message = (struct queue_message){
        .id = queue_id_make(&s, row.number),
        .inserted = row.inserted,
        .expires = row.expires,
        .next_visible = row.next_visible,
        .receipt = queue_receipt_make(&row),
    };
    return queue_state_save(t, &s);
}

/* The message that the change names, if its receipt is the latest. */
static struct err load_held(struct txn *t, const struct queue_state *s,
                            const struct queue_change_message *change, struct queue_row *row)
{
    uint64_t number;
    bool found;
    if (!queue_id_number(s, &change->id, &number))
        return err_new(ERR_MESSAGE_NOT_FOUND);
    TRY(queue_row_load(t, s, number, row, &found));
    if (!found || queue_row_expired(row, txn_now(t)))
        return err_new(ERR_MESSAGE_NOT_FOUND);
    struct queue_receipt latest = queue_receipt_make(row);
    if (memcmp(latest.bytes, change->receipt.bytes, sizeof latest.bytes) != 0)
        return err_new(ERR_POP_RECEIPT_MISMATCH);
    return OK;
}

/* The documentation forbids a visibility past the expiry, the service is known not to (and the
 * newer documentation says so): the message is then never seen again. */
struct err queue_update_message(struct txn *t, void *arg)
{
    struct queue_change_message *change = arg;
    struct queue_state s;
    struct queue_row row;
    TRY(queue_state_load(t, &s));
    TRY(load_held(t, &s, change, &row));
    if (str_given(change->text))
        TRY(queue_row_set_text(t, &s, &row, change->text));
    TRY(queue_row_show_at(t, &s, &row, time_after(txn_now(t), change->visibility_s)));
    row.receipt = (uint64_t)txn_stamp(t);
    TRY(queue_row_save(t, &s, &row));
    change->next_visible = row.next_visible;
    change->new_receipt = queue_receipt_make(&row);
    return queue_state_save(t, &s);
}

struct err queue_delete_message(struct txn *t, void *arg)
{
    const struct queue_change_message *change = arg;
    struct queue_state s;
    struct queue_row row;
    TRY(queue_state_load(t, &s));
    TRY(load_held(t, &s, change, &row));
    TRY(queue_row_remove(t, &s, &row));
    return queue_state_save(t, &s);
}

struct err queue_clear_messages(struct txn *t, void *arg)
{
    (void)arg;
    struct queue_state s;
    TRY(queue_state_load(t, &s));
    queue_state_bury(t, &s);
    s.exists = true;
    s.incarnation = (uint64_t)txn_stamp(t);
    return queue_state_save(t, &s);
}
