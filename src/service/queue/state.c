/* SPDX-License-Identifier: Apache-2.0 */
#include "service/queue/state.h"

#include <assert.h>

#include "service/common/records.h"
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

/* A state row: a format byte, then little-endian words at fixed places, because every operation
 * reads them and nearly every one writes them, then dead_from if present. */
static const struct {
    const char *name;
    size_t at;
} WORDS[] = {
#define WORD(member)                                  \
    {                                                 \
#member, offsetof(struct queue_state, member) \
    }
    WORD(incarnation), /* 0 when the queue does not exist */
    WORD(head),        WORD(tail),  WORD(tail_since),   WORD(untouched),
    WORD(delayed),     WORD(count), WORD(visible_from), WORD(expires_from),
#undef WORD
};

enum {
    STATE_FORM = 0,
    STATE_WORDS = sizeof WORDS / sizeof WORDS[0],
    STATE_WORDS_BYTES = 1 + STATE_WORDS * 8,
    STATE_BYTES_MAX = STATE_WORDS_BYTES + QUEUE_KEY_BYTES_MAX,
};

static void state_take_words(struct queue_state *s, struct str row)
{
    for (size_t i = 0; i < STATE_WORDS; i++) {
        uint64_t word = queue_word_at(row.p + 1 + i * sizeof word);
        memcpy((char *)s + WORDS[i].at, &word, sizeof word);
    }
    s->exists = s->incarnation != 0;
    s->dead_from = row.n == STATE_WORDS_BYTES ? STR_NONE : str_from(row, STATE_WORDS_BYTES);
    s->blocked_until = 0;
}

/* The older format: a record (service/common/record.h), which has no field 0. It is read from
 * older stores and rewritten in the new format. A deleted queue whose name is blocked is still
 * written this way. */
#define STATE(number, member)          RECORD_MEMBER(struct queue_state, number, member)
#define STATE_PLUS_ONE(number, member) RECORD_MEMBER_PLUS_ONE(struct queue_state, number, member)
static const struct record_member MEMBERS[] = {
    STATE(1, incarnation),
    STATE(2, head),
    STATE(3, tail),
    STATE(4, tail_since),
    STATE(5, delayed),
    STATE(6, count),
    STATE_PLUS_ONE(7, visible_from),
    STATE_PLUS_ONE(8, expires_from),
    STATE(9, dead_from),
    STATE_PLUS_ONE(10, untouched),
    STATE(11, blocked_until),
};
#undef STATE
#undef STATE_PLUS_ONE
const struct record_type QUEUE_STATE_RECORD = RECORD_TYPE(struct queue_state, MEMBERS);

static bool state_take_record(struct queue_state *s, struct str row)
{
    *s = (struct queue_state){.visible_from = QUEUE_TIME_NEVER,
                              .expires_from = QUEUE_TIME_NEVER,
                              .untouched = UINT64_MAX};
    bool good = record_read(row, &QUEUE_STATE_RECORD, s);
    s->exists = s->incarnation != 0;
    if (s->untouched == UINT64_MAX) /* the row is older than the field */
        s->untouched = s->exists ? (s->tail >> PAGE_SHIFT) + 1 : 0;
    return good;
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
    for (size_t i = 0; i < STATE_WORDS; i++) {
        uint64_t word;
        memcpy(&word, (const char *)s + WORDS[i].at, sizeof word);
        queue_put_word_at(row + 1 + i * sizeof word, word);
    }
}

static struct err state_save_blocked(struct txn *t, const struct queue_state *s)
{
    struct buf b = buf_in(txn_arena(t));
    assert(s->incarnation == 0);
    record_write(&b, &QUEUE_STATE_RECORD, s);
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
