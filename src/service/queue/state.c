/* SPDX-License-Identifier: Apache-2.0 */
#include "service/queue/state.h"

#include <assert.h>

#include "service/common/record.h"
#include "service/common/rows.h"

/* ---- keys ---- */

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

/* A state row: a format byte, then numbers at fixed offsets, because every operation reads them
 * and nearly every one writes them, then dead_from if present. Little-endian. */
enum {
    STATE_FORM = 0,
    STATE_AT_INCARNATION = 1, /* 0 when the queue does not exist */
    STATE_AT_HEAD = 9,
    STATE_AT_TAIL = 17,
    STATE_AT_TAIL_SINCE = 25,
    STATE_AT_UNTOUCHED = 33,
    STATE_AT_DELAYED = 41,
    STATE_AT_COUNT = 49,
    STATE_AT_VISIBLE_FROM = 57,
    STATE_AT_EXPIRES_FROM = 65,
    STATE_WORDS_BYTES = 73,
    STATE_BYTES_MAX = STATE_WORDS_BYTES + QUEUE_KEY_BYTES_MAX,
};

static void state_take_words(struct queue_state *s, struct str row)
{
    s->incarnation = queue_word_at(row.p + STATE_AT_INCARNATION);
    s->exists = s->incarnation != 0;
    s->head = queue_word_at(row.p + STATE_AT_HEAD);
    s->tail = queue_word_at(row.p + STATE_AT_TAIL);
    s->tail_since = (int64_t)queue_word_at(row.p + STATE_AT_TAIL_SINCE);
    s->untouched = queue_word_at(row.p + STATE_AT_UNTOUCHED);
    s->delayed = queue_word_at(row.p + STATE_AT_DELAYED);
    s->count = queue_word_at(row.p + STATE_AT_COUNT);
    s->visible_from = (int64_t)queue_word_at(row.p + STATE_AT_VISIBLE_FROM);
    s->expires_from = (int64_t)queue_word_at(row.p + STATE_AT_EXPIRES_FROM);
    s->dead_from = row.n == STATE_WORDS_BYTES ? STR_NONE : str_from(row, STATE_WORDS_BYTES);
    s->blocked_until = 0;
}

/* The older format: a record (service/common/record.h), which has no field 0. It is read from
 * older stores and rewritten in the new format. A deleted queue whose name is blocked is still
 * written this way. */
enum state_field {
    STATE_INCARNATION = 1, /* 0 when the queue does not exist */
    STATE_HEAD,
    STATE_TAIL,
    STATE_TAIL_SINCE,
    STATE_DELAYED,
    STATE_COUNT,
    STATE_VISIBLE_FROM, /* stored plus one; absent for QUEUE_TIME_NEVER */
    STATE_EXPIRES_FROM,
    STATE_DEAD_FROM,
    STATE_UNTOUCHED, /* stored plus one; queues older than the field lack it */
    STATE_BLOCKED_UNTIL,
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
    case STATE_BLOCKED_UNTIL:
        s->blocked_until = (int64_t)f->value;
        break;
    default:
        break;
    }
}

static bool state_take_record(struct queue_state *s, struct str row)
{
    *s = (struct queue_state){.visible_from = QUEUE_TIME_NEVER, .expires_from = QUEUE_TIME_NEVER};
    struct reader r = reader_of(row);
    struct record_field f;
    while (record_next(&r, &f))
        state_take(s, &f);
    if (s->untouched > 0)
        s->untouched--;
    else if (s->exists)
        s->untouched = (s->tail >> PAGE_SHIFT) + 1;
    return reader_done(&r);
}

struct err queue_state_decode(struct str value, struct queue_state *s)
{
    bool sound = true;
    if (value.n >= STATE_WORDS_BYTES && value.p[0] == STATE_FORM)
        state_take_words(s, value);
    else
        sound = state_take_record(s, value);
    sound = sound && s->visible_from >= 0 && s->expires_from >= 0 && s->head <= s->tail &&
            s->dead_from.n <= QUEUE_KEY_BYTES_MAX;
    return sound ? OK : err_new(ERR_CORRUPT);
}

struct err queue_state_read(struct txn *t, struct queue_state *s)
{
    struct str value;
    TRY(row_get_hot(t, QUEUE_KEY_STATE, &value));
    return queue_state_decode(value, s);
}

struct err queue_state_load(struct txn *t, struct queue_state *s)
{
    TRY(queue_state_read(t, s));
    return s->exists ? OK : err_new(ERR_QUEUE_NOT_FOUND);
}

/* The state of a missing queue has no field but dead_from. */
static void state_put_words(char *row, const struct queue_state *s)
{
    static const struct queue_state none = {.visible_from = QUEUE_TIME_NEVER,
                                            .expires_from = QUEUE_TIME_NEVER};
    if (!s->exists)
        s = &none;
    row[0] = STATE_FORM;
    queue_put_word_at(row + STATE_AT_INCARNATION, s->incarnation);
    queue_put_word_at(row + STATE_AT_HEAD, s->head);
    queue_put_word_at(row + STATE_AT_TAIL, s->tail);
    queue_put_word_at(row + STATE_AT_TAIL_SINCE, (uint64_t)s->tail_since);
    queue_put_word_at(row + STATE_AT_UNTOUCHED, s->untouched);
    queue_put_word_at(row + STATE_AT_DELAYED, s->delayed);
    queue_put_word_at(row + STATE_AT_COUNT, s->count);
    queue_put_word_at(row + STATE_AT_VISIBLE_FROM, (uint64_t)s->visible_from);
    queue_put_word_at(row + STATE_AT_EXPIRES_FROM, (uint64_t)s->expires_from);
}

static struct err state_save_blocked(struct txn *t, const struct queue_state *s)
{
    struct buf b = buf_in(txn_arena(t));
    record_put_bytes(&b, STATE_DEAD_FROM, s->dead_from);
    record_put(&b, STATE_BLOCKED_UNTIL, (uint64_t)s->blocked_until);
    return txn_put(t, QUEUE_KEY_STATE, buf_str(&b));
}

struct err queue_state_save(struct txn *t, const struct queue_state *s)
{
    if (!s->exists && s->blocked_until != 0)
        return state_save_blocked(t, s);
    if (!s->exists && !str_given(s->dead_from))
        return txn_del(t, QUEUE_KEY_STATE);
    assert(s->head <= s->tail && s->dead_from.n <= QUEUE_KEY_BYTES_MAX);
    char row[STATE_BYTES_MAX];
    state_put_words(row, s);
    if (str_given(s->dead_from))
        memcpy(row + STATE_WORDS_BYTES, s->dead_from.p, s->dead_from.n);
    return txn_put(t, QUEUE_KEY_STATE, (struct str){row, STATE_WORDS_BYTES + s->dead_from.n});
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
