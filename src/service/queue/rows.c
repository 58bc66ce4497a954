/* SPDX-License-Identifier: Apache-2.0 */
#include "service/queue/rows.h"

#include <assert.h>

#include "service/common/record.h"

/* ---- keys ---- */

enum { KIND_MESSAGE = 'm', KIND_TEXT = 't', KIND_VISIBLE = 'v', KIND_EXPIRES = 'e' };
enum { KEY_HEAD_BYTES = 10, KEY_TIME_BYTES = KEY_HEAD_BYTES + 16 };

static void put_be64(char *p, uint64_t value)
{
    for (int i = 7; i >= 0; i--) {
        p[i] = (char)(value & 0xFF);
        value >>= 8;
    }
}

struct queue_key queue_key_incarnation(uint64_t incarnation)
{
    struct queue_key k = {.n = KEY_HEAD_BYTES - 1};
    k.bytes[0] = 'd';
    put_be64(k.bytes + 1, incarnation);
    return k;
}

static struct queue_key key_of(const struct queue_state *s, char kind, uint64_t first)
{
    struct queue_key k = queue_key_incarnation(s->incarnation);
    k.bytes[KEY_HEAD_BYTES - 1] = kind;
    put_be64(k.bytes + KEY_HEAD_BYTES, first);
    k.n = KEY_HEAD_BYTES + 8;
    return k;
}

struct queue_key queue_key_message(const struct queue_state *s, uint64_t number)
{
    return key_of(s, KIND_MESSAGE, number);
}

static struct queue_key key_text(const struct queue_state *s, uint64_t number)
{
    return key_of(s, KIND_TEXT, number);
}

static struct queue_key key_timed(const struct queue_state *s, char kind, int64_t time,
                                  uint64_t number)
{
    assert(time >= 0);
    struct queue_key k = key_of(s, kind, (uint64_t)time);
    put_be64(k.bytes + k.n, number);
    k.n = KEY_TIME_BYTES;
    return k;
}

struct queue_key queue_key_visible(const struct queue_state *s, int64_t time, uint64_t number)
{
    return key_timed(s, KIND_VISIBLE, time, number);
}

struct queue_key queue_key_expires(const struct queue_state *s, int64_t time, uint64_t number)
{
    return key_timed(s, KIND_EXPIRES, time, number);
}

struct err queue_key_time(struct str key, int64_t *time, uint64_t *number)
{
    if (key.n != KEY_TIME_BYTES)
        return err_new(ERR_CORRUPT);
    struct reader r = reader_of(str_from(key, KEY_HEAD_BYTES));
    *time = (int64_t)read_be64(&r);
    *number = read_be64(&r);
    return *time >= 0 ? OK : err_new(ERR_CORRUPT);
}

/* ---- the state ---- */

enum state_field {
    STATE_INCARNATION = 1, /* 0 when the queue does not exist */
    STATE_HEAD,
    STATE_TAIL,
    STATE_DELAYED,
    STATE_COUNT,
    STATE_VISIBLE_FROM, /* left out for QUEUE_TIME_NEVER, one more than it is */
    STATE_EXPIRES_FROM,
    STATE_DEAD_FROM,
};

static void state_take(struct queue_state *s, const struct record_field *f)
{
    switch (f->number) {
    case STATE_INCARNATION:
        s->incarnation = f->value;
        s->exists = f->value != 0;
        break;
    case STATE_HEAD:
        s->head = f->value;
        break;
    case STATE_TAIL:
        s->tail = f->value;
        break;
    case STATE_DELAYED:
        s->delayed = f->value;
        break;
    case STATE_COUNT:
        s->count = f->value;
        break;
    case STATE_VISIBLE_FROM:
        s->visible_from = (int64_t)(f->value - 1);
        break;
    case STATE_EXPIRES_FROM:
        s->expires_from = (int64_t)(f->value - 1);
        break;
    case STATE_DEAD_FROM:
        s->dead_from = f->bytes;
        break;
    default:
        break;
    }
}

struct err queue_state_decode(struct str value, struct queue_state *s)
{
    *s = (struct queue_state){.visible_from = QUEUE_TIME_NEVER, .expires_from = QUEUE_TIME_NEVER};
    struct reader r = reader_of(value);
    struct record_field f;
    while (record_next(&r, &f))
        state_take(s, &f);
    return reader_done(&r) && s->visible_from >= 0 && s->expires_from >= 0 ? OK
                                                                           : err_new(ERR_CORRUPT);
}

struct err queue_state_read(struct txn *t, struct queue_state *s)
{
    struct str value;
    TRY(txn_get_hot(t, QUEUE_KEY_STATE, &value));
    return queue_state_decode(value, s);
}

struct err queue_state_load(struct txn *t, struct queue_state *s)
{
    TRY(queue_state_read(t, s));
    return s->exists ? OK : err_new(ERR_QUEUE_NOT_FOUND);
}

static void state_put_time(struct buf *b, unsigned field, int64_t time)
{
    if (time != QUEUE_TIME_NEVER)
        record_put(b, field, (uint64_t)time + 1);
}

struct err queue_state_save(struct txn *t, const struct queue_state *s)
{
    if (!s->exists && !str_given(s->dead_from))
        return txn_del(t, QUEUE_KEY_STATE);
    assert(s->head <= s->tail);
    struct buf b = buf_in(txn_arena(t));
    if (s->exists) {
        record_put(&b, STATE_INCARNATION, s->incarnation);
        record_put(&b, STATE_HEAD, s->head);
        record_put(&b, STATE_TAIL, s->tail);
        record_put(&b, STATE_DELAYED, s->delayed);
        record_put(&b, STATE_COUNT, s->count);
        state_put_time(&b, STATE_VISIBLE_FROM, s->visible_from);
        state_put_time(&b, STATE_EXPIRES_FROM, s->expires_from);
    }
    record_put_bytes(&b, STATE_DEAD_FROM, s->dead_from);
    return txn_put(t, QUEUE_KEY_STATE, buf_str(&b));
}

void queue_state_bury(struct txn *t, struct queue_state *s)
{
    struct str dead_from = s->dead_from;
    if (s->count > 0 && !str_given(dead_from)) {
        struct queue_key first = queue_key_incarnation(s->incarnation);
        dead_from = arena_copy(txn_arena(t), queue_key_str(&first));
    }
    *s = (struct queue_state){
        .visible_from = QUEUE_TIME_NEVER,
        .expires_from = QUEUE_TIME_NEVER,
        .dead_from = dead_from,
    };
}

/* ---- messages ---- */

enum row_field {
    ROW_INSERTED = 1,
    ROW_EXPIRES,
    ROW_NEXT_VISIBLE,
    ROW_TIMED,
    ROW_RECEIPT,
    ROW_DEQUEUES,
    ROW_TEXT_APART,
    ROW_TEXT,
};

static void row_take(struct queue_row *row, const struct record_field *f)
{
    switch (f->number) {
    case ROW_INSERTED:
        row->inserted = (int64_t)f->value;
        break;
    case ROW_EXPIRES:
        row->expires = (int64_t)f->value;
        break;
    case ROW_NEXT_VISIBLE:
        row->next_visible = (int64_t)f->value;
        break;
    case ROW_TIMED:
        row->timed = f->value != 0;
        break;
    case ROW_RECEIPT:
        row->receipt = f->value;
        break;
    case ROW_DEQUEUES:
        row->dequeues = f->value;
        break;
    case ROW_TEXT_APART:
        row->text_apart = f->value != 0;
        break;
    case ROW_TEXT:
        row->text = f->bytes;
        break;
    default:
        break;
    }
}

struct err queue_row_load(struct txn *t, const struct queue_state *s, uint64_t number,
                          struct queue_row *row, bool *found)
{
    struct queue_key key = queue_key_message(s, number);
    struct str value;
    TRY(txn_get(t, queue_key_str(&key), &value));
    *found = str_given(value);
    *row = (struct queue_row){.number = number, .text = STR("")};
    struct reader r = reader_of(value);
    struct record_field f;
    while (record_next(&r, &f))
        row_take(row, &f);
    return reader_done(&r) && row->next_visible >= 0 && row->expires >= 0 ? OK
                                                                          : err_new(ERR_CORRUPT);
}

struct err queue_row_text(struct txn *t, const struct queue_state *s, const struct queue_row *row,
                          struct str *text)
{
    *text = row->text;
    if (!row->text_apart)
        return OK;
    struct queue_key key = key_text(s, row->number);
    TRY(txn_get(t, queue_key_str(&key), text));
    return str_given(*text) ? OK : err_new(ERR_CORRUPT);
}

struct err queue_row_save(struct txn *t, const struct queue_state *s, const struct queue_row *row)
{
    struct buf b = buf_in(txn_arena(t));
    (void)buf_reserve(&b, row->text.n + 80);
    record_put(&b, ROW_INSERTED, (uint64_t)row->inserted);
    record_put(&b, ROW_EXPIRES, (uint64_t)row->expires);
    record_put(&b, ROW_NEXT_VISIBLE, (uint64_t)row->next_visible);
    record_put(&b, ROW_TIMED, row->timed);
    record_put(&b, ROW_RECEIPT, row->receipt);
    record_put(&b, ROW_DEQUEUES, row->dequeues);
    record_put(&b, ROW_TEXT_APART, row->text_apart);
    if (!row->text_apart)
        record_put_bytes(&b, ROW_TEXT, row->text);
    struct queue_key key = queue_key_message(s, row->number);
    return txn_put(t, queue_key_str(&key), buf_str(&b));
}

struct err queue_row_set_text(struct txn *t, const struct queue_state *s, struct queue_row *row,
                              struct str text)
{
    struct queue_key key = key_text(s, row->number);
    bool was_apart = row->text_apart;
    row->text_apart = text.n > QUEUE_TEXT_INLINE_MAX;
    row->text = row->text_apart ? STR("") : text;
    if (row->text_apart)
        return txn_put(t, queue_key_str(&key), text);
    return was_apart ? txn_del(t, queue_key_str(&key)) : OK;
}

static struct err row_drop_visible(struct txn *t, const struct queue_state *s,
                                   const struct queue_row *row)
{
    if (!row->timed)
        return OK;
    struct queue_key key = queue_key_visible(s, row->next_visible, row->number);
    return txn_del(t, queue_key_str(&key));
}

struct err queue_row_show_at(struct txn *t, struct queue_state *s, struct queue_row *row,
                             int64_t time)
{
    TRY(row_drop_visible(t, s, row));
    row->timed = true;
    row->next_visible = time;
    if (time < s->visible_from)
        s->visible_from = time;
    struct queue_key key = queue_key_visible(s, time, row->number);
    return txn_put(t, queue_key_str(&key), STR(""));
}

struct err queue_row_remove(struct txn *t, struct queue_state *s, const struct queue_row *row)
{
    struct queue_key key = queue_key_message(s, row->number);
    TRY(txn_del(t, queue_key_str(&key)));
    TRY(row_drop_visible(t, s, row));
    if (row->text_apart) {
        key = key_text(s, row->number);
        TRY(txn_del(t, queue_key_str(&key)));
    }
    if (row->expires != QUEUE_EXPIRES_NEVER) {
        key = queue_key_expires(s, row->expires, row->number);
        TRY(txn_del(t, queue_key_str(&key)));
    }
    if (s->count == 0)
        return err_new(ERR_CORRUPT);
    s->count--;
    if (row->number == s->head && s->head < s->tail)
        s->head++;
    if (s->count == 0) {
        /* Nothing is left to be found, so the next search need not look. */
        s->head = s->tail;
        s->visible_from = QUEUE_TIME_NEVER;
        s->expires_from = QUEUE_TIME_NEVER;
    }
    return OK;
}

/* ---- ids and receipts ---- */

struct guid queue_id_make(const struct queue_state *s, uint64_t number)
{
    struct guid id;
    put_be64((char *)id.bytes, s->incarnation);
    put_be64((char *)id.bytes + 8, number);
    return id;
}

bool queue_id_number(const struct queue_state *s, const struct guid *id, uint64_t *number)
{
    struct reader r = reader_of((struct str){(const char *)id->bytes, sizeof id->bytes});
    uint64_t incarnation = read_be64(&r);
    *number = read_be64(&r);
    return incarnation == s->incarnation;
}

struct queue_receipt queue_receipt_make(const struct queue_row *row)
{
    struct queue_receipt receipt;
    char number[8];
    put_be64(number, row->number);
    put_be64((char *)receipt.bytes, row->receipt);
    memcpy(receipt.bytes + 8, number + 4, 4);
    return receipt;
}
