/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/vrow.h"

#include <assert.h>

static int64_t stamp_of(struct str value)
{
    struct reader r = reader_of(value);
    return (int64_t)read_le64(&r);
}

bool vrow_split(struct str value, struct vrow *out)
{
    assert(out != NULL);
    *out = (struct vrow){.raw = value};
    if (!str_given(value))
        return true;
    if (value.n < VROW_STAMP_BYTES)
        return false;
    out->stamp = stamp_of(value);
    out->payload = str_from(value, VROW_STAMP_BYTES);
    return true;
}

static struct err split(struct str value, struct vrow *out)
{
    return vrow_split(value, out) ? OK : err_new(ERR_CORRUPT);
}

void vrow_begin(const struct vrow_scope *s, struct buf *value)
{
    assert(s->at == VROW_LIVE && value->n == 0);
    buf_put_le64(value, (uint64_t)txn_stamp(s->txn));
}

/* HISTORY + key + 00, and the stamp. */
static struct str past_key_in(struct buf *b, const struct vrow_scope *s, struct str key,
                              int64_t through)
{
    buf_clear(b);
    (void)buf_reserve(b, s->history.n + key.n + VROW_PAST_BYTES);
    buf_put(b, s->history);
    buf_put(b, key);
    buf_put_u8(b, 0);
    buf_put_be64(b, (uint64_t)through);
    return buf_str(b);
}

static struct str past_key(const struct vrow_scope *s, struct str key, int64_t through)
{
    struct buf b = buf_in(txn_arena(s->txn));
    return past_key_in(&b, s, key, through);
}

/* ---- reading ---- */

/* Finds the historic value of the key at the scope's snapshot. */
static struct err get_past(const struct vrow_scope *s, struct str key, struct vrow *out)
{
    struct str wanted = past_key(s, key, s->at);
    struct cursor *c;
    *out = (struct vrow){0};
    TRY(cursor_open(s->txn, str_head(wanted, wanted.n - VROW_STAMP_BYTES), &c));
    struct err e = cursor_seek(c, wanted);
    if (!err_is(e) && c->valid)
        e = split(arena_copy(txn_arena(s->txn), c->value), out);
    cursor_close(c);
    if (out->stamp > s->at)
        *out = (struct vrow){0};
    return e;
}

static struct err get(const struct vrow_scope *s, struct str key, unsigned hints, struct vrow *out)
{
    struct engine_read read = {.key = key, .hints = hints};
    TRY(txn_get_many(s->txn, &read, 1));
    TRY(split(read.value, out));
    if (s->at == VROW_LIVE || (vrow_given(out) && out->stamp <= s->at))
        return OK;
    return get_past(s, key, out);
}

struct err vrow_get(const struct vrow_scope *s, struct str key, struct vrow *out)
{
    return get(s, key, 0, out);
}

struct err vrow_get_hot(const struct vrow_scope *s, struct str key, struct vrow *out)
{
    return get(s, key, HINT_SOON, out);
}

/* ---- writing ---- */

static struct err keep_old(const struct vrow_scope *s, struct str key, const struct vrow *old,
                           bool *past)
{
    int64_t youngest = vrow_youngest(s);
    assert(s->at == VROW_LIVE);
    *past = vrow_given(old) && old->stamp <= youngest;
    return *past ? txn_put(s->txn, past_key(s, key, youngest), old->raw) : OK;
}

struct err vrow_put(const struct vrow_scope *s, struct str key, const struct vrow *old,
                    struct str value, bool *past)
{
    assert(s->at == VROW_LIVE);
    assert(value.n >= VROW_STAMP_BYTES);
    TRY(keep_old(s, key, old, past));
    return txn_put(s->txn, key, value);
}

struct err vrow_del(const struct vrow_scope *s, struct str key, const struct vrow *old, bool *past)
{
    assert(s->at == VROW_LIVE);
    TRY(keep_old(s, key, old, past));
    return vrow_given(old) ? txn_del(s->txn, key) : OK;
}

/* ---- cursors ---- */

/* A snapshot's cursor walks over the current and the historic rows in parallel: both are ordered
 * by the same keys, and at most one value of each key belongs to the snapshot. */
struct vrow_cursor {
    const struct vrow_scope *scope;
    struct cursor *live; /* NULL if only changed rows are wanted */
    int64_t until;       /* in that case: changed before this snapshot */
    struct cursor *past; /* NULL for VROW_LIVE */
    bool on_past;        /* which of the two has the row */
    bool valid;
    struct str key;
    struct vrow row;
    /* Reused for each row, so that a long walk needs no more memory than a short one. */
    struct buf past_name; /* the key of the historic cursor */
    struct buf wanted;    /* the key to seek */
};

/* A key usually has few historic rows: step over this many before seeking. */
enum { PAST_STEPS = 4 };

static bool live_valid(const struct vrow_cursor *c)
{
    return c->live != NULL && c->live->valid;
}

/* Returns the key of the historic cursor's row; absent if the cursor is not valid. */
static struct str past_at(const struct vrow_cursor *c)
{
    return c->past->valid ? vrow_past_key(c->scope, c->past->key) : STR_NONE;
}

static bool is_past_of(const struct vrow_cursor *c, struct str key)
{
    return c->past->valid && str_eq(past_at(c), key);
}

static int64_t through_of(struct str key)
{
    struct reader r = reader_of(str_from(key, key.n - VROW_STAMP_BYTES));
    return (int64_t)read_be64(&r);
}

/* Moves past the historic rows of `key`, which may be the cursor's own. */
static struct err pass_past(struct vrow_cursor *c, struct str key)
{
    for (unsigned i = 0; i < PAST_STEPS; i++) {
        if (!is_past_of(c, key))
            return OK;
        TRY(cursor_next(c->past));
    }
    struct str all = past_key_in(&c->wanted, c->scope, key, 0);
    return cursor_skip(c->past, str_head(all, all.n - VROW_STAMP_BYTES));
}

/* Moves to the first historic row of the key that the snapshot, or a later one, saw. The cursor is
 * at the key's first row. */
static struct err seek_past(struct vrow_cursor *c, struct str key)
{
    for (unsigned i = 0; i < PAST_STEPS; i++) {
        if (!is_past_of(c, key) || through_of(c->past->key) >= c->scope->at)
            return OK;
        TRY(cursor_next(c->past));
    }
    return cursor_seek(c->past, past_key_in(&c->wanted, c->scope, key, c->scope->at));
}

static struct err stand_live(struct vrow_cursor *c)
{
    c->on_past = false;
    c->valid = true;
    c->key = c->live->key;
    return split(c->live->value, &c->row);
}

/* Examines one key, the smaller of the two. Sets *found if the snapshot has a value of it; the
 * cursors then stand on that key's rows, otherwise past them. */
static struct err look(struct vrow_cursor *c, bool *found)
{
    struct str live = live_valid(c) ? c->live->key : STR_NONE;
    struct str past = past_at(c);
    bool live_first = str_given(live) && (!str_given(past) || str_cmp(live, past) <= 0);
    *found = false;
    if (live_first) {
        TRY(stand_live(c));
        if (c->row.stamp <= c->scope->at) {
            *found = true;
            return OK;
        }
        bool same = str_given(past) && str_eq(live, past);
        TRY(cursor_next(c->live));
        if (!same)
            return OK;
    }
    buf_clear(&c->past_name);
    buf_put(&c->past_name, past_at(c));
    struct str key = buf_str(&c->past_name);
    TRY(seek_past(c, key));
    if (!is_past_of(c, key))
        return OK;
    c->on_past = true;
    c->key = key;
    TRY(split(c->past->value, &c->row));
    *found = c->row.stamp <= c->scope->at && through_of(c->past->key) < c->until;
    return *found ? OK : pass_past(c, key);
}

static struct err settle(struct vrow_cursor *c)
{
    c->valid = false;
    if (c->past == NULL)
        return live_valid(c) ? stand_live(c) : OK;
    while (live_valid(c) || c->past->valid) {
        bool found;
        TRY(look(c, &found));
        c->valid = found;
        if (found)
            return OK;
    }
    return OK;
}

static struct err open_past(struct vrow_cursor *c, struct str prefix)
{
    struct str all = past_key_in(&c->wanted, c->scope, prefix, 0);
    return cursor_open(c->scope->txn, str_head(all, all.n - VROW_PAST_BYTES), &c->past);
}

static struct err open_cursor(struct vrow_cursor *c, struct str prefix, bool with_live)
{
    struct err e = OK;
    if (with_live)
        TRY(cursor_open(c->scope->txn, prefix, &c->live));
    if (c->scope->at != VROW_LIVE)
        e = open_past(c, prefix);
    if (!err_is(e))
        e = settle(c);
    if (err_is(e))
        vrow_cursor_close(c);
    return e;
}

static struct vrow_cursor *new_cursor(const struct vrow_scope *s, int64_t until)
{
    struct arena *a = txn_arena(s->txn);
    struct vrow_cursor *c = ARENA_NEW(a, struct vrow_cursor);
    c->scope = s;
    c->until = until;
    c->past_name = buf_in(a);
    c->wanted = buf_in(a);
    return c;
}

struct err vrow_cursor_open(const struct vrow_scope *s, struct str prefix, struct vrow_cursor **out)
{
    assert(out != NULL);
    *out = new_cursor(s, VROW_LIVE);
    return open_cursor(*out, prefix, true);
}

struct err vrow_cursor_open_changed(const struct vrow_scope *s, struct str prefix, int64_t until,
                                    struct vrow_cursor **out)
{
    assert(s->at != VROW_LIVE);
    *out = new_cursor(s, until);
    return open_cursor(*out, prefix, false);
}

struct err vrow_cursor_seek(struct vrow_cursor *c, struct str key)
{
    if (c->live != NULL)
        TRY(cursor_seek(c->live, key));
    if (c->past != NULL) {
        struct str from = past_key_in(&c->wanted, c->scope, key, 0);
        TRY(cursor_seek(c->past, str_head(from, from.n - VROW_PAST_BYTES)));
    }
    return settle(c);
}

struct err vrow_cursor_next(struct vrow_cursor *c)
{
    assert(c->valid);
    if (c->past != NULL && is_past_of(c, c->key))
        TRY(pass_past(c, c->key));
    if (!c->on_past)
        TRY(cursor_next(c->live));
    return settle(c);
}

bool vrow_cursor_valid(const struct vrow_cursor *c)
{
    return c->valid;
}

struct str vrow_cursor_key(const struct vrow_cursor *c)
{
    return c->key;
}

struct str vrow_cursor_stored_key(const struct vrow_cursor *c)
{
    return (c->on_past ? c->past : c->live)->key;
}

const struct vrow *vrow_cursor_row(const struct vrow_cursor *c)
{
    assert(vrow_cursor_valid(c));
    return &c->row;
}

void vrow_cursor_close(struct vrow_cursor *c)
{
    if (c->live != NULL)
        cursor_close(c->live);
    if (c->past != NULL)
        cursor_close(c->past);
    c->live = NULL;
    c->past = NULL;
}

/* ---- the past's end ---- */

struct str vrow_past_key(const struct vrow_scope *s, struct str key)
{
    assert(key.n >= s->history.n + VROW_PAST_BYTES);
    return str_head(str_from(key, s->history.n), key.n - s->history.n - VROW_PAST_BYTES);
}

bool vrow_past_unseen(const struct vrow_scope *s, struct str key, const struct vrow *row)
{
    int64_t through = through_of(key);
    for (size_t i = 0; i < s->kept_count; i++)
        if (s->kept[i] >= row->stamp && s->kept[i] <= through)
            return false;
    return true;
}
