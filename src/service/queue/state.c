/* SPDX-License-Identifier: Apache-2.0 */
#include "service/queue/state.h"

#include <assert.h>

#include "service/common/record.h"

/* ---- keys ---- */

enum { KEY_HEAD_BYTES = 10, KEY_TIMED_BYTES = KEY_HEAD_BYTES + 16 };

void queue_put_be64(void *to, uint64_t value)
{
    unsigned char *p = to;
    for (int i = 7; i >= 0; i--) {
        p[i] = (unsigned char)(value & 0xFF);
        value >>= 8;
    }
}

struct queue_key queue_key_incarnation(uint64_t incarnation)
{
    struct queue_key k = {.n = KEY_HEAD_BYTES - 1};
    k.bytes[0] = 'd';
    queue_put_be64(k.bytes + 1, incarnation);
    return k;
}

struct queue_key queue_key_of(const struct queue_state *s, enum queue_key_kind kind,
                              uint64_t number)
{
    struct queue_key k = queue_key_incarnation(s->incarnation);
    k.bytes[KEY_HEAD_BYTES - 1] = (char)kind;
    queue_put_be64(k.bytes + KEY_HEAD_BYTES, number);
    k.n = KEY_HEAD_BYTES + 8;
    return k;
}

struct queue_key queue_key_timed(const struct queue_state *s, enum queue_key_kind kind,
                                 int64_t time, uint64_t page)
{
    assert(time >= 0);
    struct queue_key k = queue_key_of(s, kind, (uint64_t)time);
    queue_put_be64(k.bytes + k.n, page);
    k.n = KEY_TIMED_BYTES;
    return k;
}

struct err queue_key_read(struct str key, int64_t *time, uint64_t *page)
{
    if (key.n != KEY_TIMED_BYTES)
        return err_new(ERR_CORRUPT);
    struct reader r = reader_of(str_from(key, KEY_HEAD_BYTES));
    *time = (int64_t)read_be64(&r);
    *page = read_be64(&r);
    return *time >= 0 ? OK : err_new(ERR_CORRUPT);
}

/* ---- the state ---- */

enum state_field {
    STATE_INCARNATION = 1, /* 0 when the queue does not exist */
    STATE_HEAD,
    STATE_TAIL,
    STATE_TAIL_SINCE,
    STATE_DELAYED,
    STATE_COUNT,
    STATE_VISIBLE_FROM, /* left out for QUEUE_TIME_NEVER, one more than it is */
    STATE_EXPIRES_FROM,
    STATE_DEAD_FROM,
    STATE_UNTOUCHED, /* one more than it is: queues from before there was the field have none */
    /* Nine numbers of ten bytes at most, a key of one incarnation, and what heads each. */
    STATE_BYTES_MAX = 9 * 11 + QUEUE_KEY_BYTES_MAX + 2,
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
    case STATE_TAIL_SINCE:
        s->tail_since = (int64_t)f->value;
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
    case STATE_UNTOUCHED:
        s->untouched = f->value;
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
    if (s->untouched > 0)
        s->untouched--;
    else if (s->exists)
        s->untouched = (s->tail >> PAGE_SHIFT) + 1;
    bool sound = reader_done(&r) && s->visible_from >= 0 && s->expires_from >= 0 &&
                 s->head <= s->tail && s->dead_from.n <= QUEUE_KEY_BYTES_MAX;
    return sound ? OK : err_new(ERR_CORRUPT);
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
    char bytes[STATE_BYTES_MAX];
    struct buf b = {.p = bytes, .capacity = sizeof bytes};
    if (s->exists) {
        record_put(&b, STATE_INCARNATION, s->incarnation);
        record_put(&b, STATE_HEAD, s->head);
        record_put(&b, STATE_TAIL, s->tail);
        record_put(&b, STATE_TAIL_SINCE, (uint64_t)s->tail_since);
        record_put(&b, STATE_DELAYED, s->delayed);
        record_put(&b, STATE_COUNT, s->count);
        record_put(&b, STATE_UNTOUCHED, s->untouched + 1);
        state_put_time(&b, STATE_VISIBLE_FROM, s->visible_from);
        state_put_time(&b, STATE_EXPIRES_FROM, s->expires_from);
    }
    assert(s->dead_from.n <= QUEUE_KEY_BYTES_MAX);
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
