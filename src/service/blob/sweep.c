/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/sweep.h"

#include <assert.h>

#include "engine/wait.h"
#include "service/blob/access.h"
#include "service/blob/block/block.h"
#include "service/blob/keep.h"
#include "service/blob/keys.h"
#include "service/blob/page/page.h"
#include "service/blob/path/path_across.h"
#include "service/blob/path/path_move.h"
#include "service/blob/protect.h"
#include "service/common/content/content.h"
#include "service/common/record.h"

enum {
    /* Rows and extents per step; other updates wait for a step, about 2 ms. */
    SWEEP_WORK_MAX = 500,
    EXPIRY_SETS_MAX = 200,     /* and heads that are expired or soft-deleted, together, per step */
    LOOK_PARTITIONS_MAX = 256, /* containers per step */
    STAGED_SECONDS_MAX = 900,  /* a content staged longer ago than this is abandoned */
    ROUND_REST_MS_MIN = 1000,
    ROUND_REST_FACTOR = 50, /* a round of a second is followed by a rest of fifty */
};

/* ---- notes ---- */

static struct str item_key(struct arena *a, int64_t stamp, const struct sweep_item *item)
{
    struct buf b = buf_in(a);
    buf_putc(&b, 'S');
    buf_put_be64(&b, (uint64_t)stamp);
    buf_put_u8(&b, (uint8_t)item->kind);
    buf_put_be64(&b, item->incarnation);
    buf_put_be64(&b, item->id);
    return buf_str(&b);
}

static bool item_of_key(struct str key, struct sweep_item *out)
{
    struct reader r = reader_of(str_from(key, 1 + 8));
    out->kind = (enum sweep_kind)read_u8(&r);
    out->incarnation = read_be64(&r);
    out->id = read_be64(&r);
    return reader_done(&r);
}

static struct err add_note(struct txn *t, const struct sweep_item *item, struct str value)
{
    TRY(txn_put(t, item_key(txn_arena(t), txn_stamp(t), item), value));
    return txn_put(t, BLOB_KEY_SWEEP, STR(""));
}

struct err blob_sweep_add(struct txn *t, const struct sweep_item *item)
{
    return add_note(t, item, STR(""));
}

struct err blob_sweep_add_with(struct txn *t, const struct sweep_item *item, struct str value)
{
    return add_note(t, item, value);
}

/* The note of a pruning: the blob's name, and the key to continue from if it was begun. */
static struct str prune_value(struct txn *t, struct str name, struct str from)
{
    struct buf value = buf_in(txn_arena(t));
    buf_put_bytes(&value, name);
    buf_put(&value, from);
    return buf_str(&value);
}

struct err blob_sweep_add_for(struct txn *t, const struct sweep_item *item, struct str name)
{
    return add_note(t, item, prune_value(t, name, STR("")));
}

/* The number is in the place of the stamp, which is always larger: so these sort first. */
struct err blob_sweep_add_once(struct txn *t, const struct sweep_item *item, uint32_t number,
                               struct str name)
{
    TRY(txn_put(t, item_key(txn_arena(t), number, item), prune_value(t, name, STR(""))));
    return txn_put(t, BLOB_KEY_SWEEP, STR(""));
}

struct err blob_sweep_note_is_there(struct txn *t, int64_t stamp, const struct sweep_item *item,
                                    bool *there)
{
    struct str row;
    TRY(txn_get(t, item_key(txn_arena(t), stamp, item), &row));
    *there = str_given(row);
    return OK;
}

struct err blob_sweep_remove(struct txn *t, int64_t stamp, const struct sweep_item *item)
{
    return txn_del(t, item_key(txn_arena(t), stamp, item));
}

struct err blob_sweep_begin_staged(struct txn *t, int64_t stamp, const struct sweep_item *item)
{
    struct sweep_item content = {SWEEP_CONTENT, item->incarnation, item->id};
    bool there;
    TRY(blob_sweep_note_is_there(t, stamp, item, &there));
    if (!there)
        return OK;
    TRY(blob_sweep_remove(t, stamp, item));
    return blob_sweep_add(t, &content);
}

/* ---- doing ---- */

/* Drops what a row holds, then the row. */
static struct err remove_row(struct txn *t, struct str key, struct str value, unsigned *budget)
{
    if (blob_key_is_pages(key))
        TRY(blob_pages_drop_row(t, key, value));
    struct reader r = reader_of(blob_key_holds_pieces(key) ? value : STR_NONE);
    struct piece piece;
    unsigned work = 1;
    while (piece_decode(&r, &piece)) {
        if (piece.kind != PIECE_EXTENT)
            continue;
        TRY(txn_extent(t, EXTENT_DROP, &piece.extent));
        work++;
    }
    *budget -= work < *budget ? work : *budget;
    return reader_ok(&r) ? txn_del(t, key) : err_new(ERR_CORRUPT);
}

/* The removal of rows under prefixes, one after the other. Each step begins where the last one
 * ended, because a cursor has to skip the tombstones of all rows deleted before. */
struct removal {
    struct txn *txn;
    unsigned *budget;
    struct str from; /* where the last step ended; absent: at the beginning */
    struct str next; /* where this step ended; absent: nothing is left */
};

static struct err remove_rows(struct removal *m, struct cursor *c)
{
    struct arena *a = txn_arena(m->txn);
    while (c->valid && *m->budget > 0) {
        TRY(remove_row(m->txn, arena_copy(a, c->key), arena_copy(a, c->value), m->budget));
        TRY(cursor_next(c));
    }
    if (*m->budget == 0)
        m->next = c->valid ? arena_copy(a, c->key) : STR_NONE;
    return OK;
}

/* The first key that is greater than all that start with the prefix, which begins with a letter. */
static struct str past_prefix(struct arena *a, struct str prefix)
{
    struct buf b = buf_in(a);
    while (prefix.p[prefix.n - 1] == '\xFF')
        prefix.n--;
    buf_put(&b, str_head(prefix, prefix.n - 1));
    buf_putc(&b, (char)(prefix.p[prefix.n - 1] + 1));
    return buf_str(&b);
}

/* Removes rows under the prefix within the budget. A cursor over the prefix would begin at its
 * first key, and so skip all the tombstones. */
static struct err remove_prefix(struct removal *m, struct str prefix)
{
    struct cursor *c;
    if (*m->budget == 0) { /* the last prefix has used it up */
        m->next = str_given(m->next) ? m->next : prefix;
        return OK;
    }
    if (str_given(m->from) && !str_starts(m->from, prefix))
        return OK; /* done before */
    struct str from = str_given(m->from) ? m->from : prefix;
    TRY(cursor_open_range(m->txn, from, past_prefix(txn_arena(m->txn), prefix), &c));
    m->from = STR_NONE;
    struct err e = remove_rows(m, c);
    cursor_close(c);
    return e;
}

static struct err sweep_incarnation(struct removal *m, uint64_t incarnation)
{
    static const char KINDS[] = {'h', 'd', 'r', 'l', 'u', 'p', 'P', 't',
                                 'v', 'x', 'i', 'e', 'Y', 'D', 'n'};
    for (size_t i = 0; i < sizeof KINDS; i++) {
        struct buf prefix = buf_in(txn_arena(m->txn));
        buf_putc(&prefix, KINDS[i]);
        buf_put_be64(&prefix, incarnation);
        TRY(remove_prefix(m, buf_str(&prefix)));
    }
    return OK;
}

static struct err remove_all(struct removal *m, const struct sweep_item *item)
{
    struct arena *a = txn_arena(m->txn);
    if (item->kind == SWEEP_INCARNATION)
        return sweep_incarnation(m, item->incarnation);
    if (item->kind == SWEEP_BLOCKS)
        return remove_prefix(m, blob_key_blocks(a, item->incarnation, item->id));
    if (item->kind == SWEEP_PAGES) {
        TRY(remove_prefix(m, blob_key_pages(a, item->incarnation, item->id)));
        return remove_prefix(m, blob_key_pages_past(a, item->incarnation, item->id));
    }
    TRY(remove_prefix(m, blob_key_content(a, item->incarnation, item->id)));
    return remove_prefix(m, blob_key_block_list(a, item->incarnation, item->id));
}

/* The note has the position; empty: the beginning. */
static struct err sweep_rows(struct txn *t, struct str key, struct str value,
                             const struct sweep_item *item, unsigned *budget)
{
    struct removal m = {.txn = t, .budget = budget, .from = value.n == 0 ? STR_NONE : value};
    TRY(remove_all(&m, item));
    if (!str_given(m.next))
        return OK;
    *budget = 0;
    return txn_put(t, key, m.next);
}

/* Continues at the note's position, and updates it when the budget is used up. */
static struct err prune_pages(struct txn *t, struct str key, struct str value,
                              const struct sweep_item *item, unsigned *budget)
{
    struct reader r = reader_of(value);
    struct blob_prune prune = {.content = item->id, .name = read_bytes(&r)};
    struct str next;
    if (!reader_ok(&r))
        return err_new(ERR_CORRUPT);
    prune.from = r.n == 0 ? STR_NONE : (struct str){r.p, r.n};
    TRY(blob_pages_prune(t, item->incarnation, &prune, &next, budget));
    if (!str_given(next))
        return OK;
    *budget = 0;
    return txn_put(t, key, prune_value(t, prune.name, next));
}

static struct err sweep_voids(struct txn *t, struct str value, const struct sweep_item *item,
                              unsigned *budget)
{
    struct reader r = reader_of(value);
    struct str name = read_bytes(&r);
    bool done;
    if (!reader_done(&r))
        return err_new(ERR_CORRUPT);
    TRY(blob_pages_sweep_voids(t, item, name, &done));
    if (!done)
        *budget = 0;
    return OK;
}

static struct err sweep_item(struct txn *t, struct str key, struct str value,
                             const struct sweep_item *item, unsigned *budget)
{
    switch (item->kind) {
    case SWEEP_INCARNATION:
    case SWEEP_CONTENT:
    case SWEEP_BLOCKS:
    case SWEEP_PAGES:
        return sweep_rows(t, key, value, item, budget);
    case SWEEP_PAGES_PAST:
        return prune_pages(t, key, value, item, budget);
    case SWEEP_PAGES_VOIDS:
        return sweep_voids(t, value, item, budget);
    case SWEEP_TREE:
        return path_sweep_tree(t, item->incarnation, item->id, budget);
    case SWEEP_STAGED: /* see sweep_notes */
    case SWEEP_MOVE:
        return OK;
    case SWEEP_PAGES_FOLD:
        *budget = 0; /* not within this transaction: sweep_work does it afterwards */
        return OK;
    }
    return err_new(ERR_CORRUPT);
}

/* A staged content is kept while its commit may still come. */
static struct err pass_staged(struct txn *t, const struct sweep_item *item, bool *left)
{
    int64_t age = txn_now(t) - (int64_t)item->id;
    bool over = age > STAGED_SECONDS_MAX * TICKS_PER_SECOND;
    *left = *left || !over;
    return over ? blob_sweep_begin_staged(t, (int64_t)item->id, item) : OK;
}

static struct err pass_move(struct txn *t, struct str key, struct path_across_note *note,
                            bool *left)
{
    TRY(path_across_pass(t, note));
    *left = *left || !note->done;
    return note->done ? txn_del(t, key) : OK;
}

struct sweep_step {
    int64_t alone_since;
    unsigned removed;
    bool more;
};

/* Works through the notes of one partition until the budget is used up. */
static struct err sweep_notes(struct txn *t, struct cursor *c, const struct sweep_step *step,
                              unsigned *budget)
{
    bool left = false;
    while (c->valid) {
        struct str key = arena_copy(txn_arena(t), c->key);
        struct str value = arena_copy(txn_arena(t), c->value);
        struct sweep_item item;
        if (!item_of_key(key, &item))
            return err_new(ERR_CORRUPT);
        if (item.kind == SWEEP_STAGED || item.kind == SWEEP_MOVE) {
            struct path_across_note note = {item, value, step->alone_since, false};
            TRY(item.kind == SWEEP_STAGED ? pass_staged(t, &item, &left)
                                          : pass_move(t, key, &note, &left));
            TRY(cursor_next(c));
            continue;
        }
        TRY(sweep_item(t, key, value, &item, budget));
        if (*budget == 0)
            return OK;
        TRY(txn_del(t, key));
        TRY(cursor_next(c));
    }
    return left ? OK : txn_del(t, BLOB_KEY_SWEEP);
}

static struct err sweep_partition(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct sweep_step *step = arg;
    unsigned budget = SWEEP_WORK_MAX;
    struct cursor *c;
    TRY(cursor_open(t, STR("S"), &c));
    struct err e = cursor_seek(c, STR("S"));
    if (!err_is(e))
        e = sweep_notes(t, c, step, &budget);
    cursor_close(c);
    step->removed = SWEEP_WORK_MAX - budget;
    step->more = budget == 0;
    return e;
}

/* ---- going round ---- */

/* A look at the next few containers. */
struct look {
    struct arena *arena;
    struct str after;
    struct str key;   /* the row to look for */
    struct str found; /* the first partition that has it; absent if none has */
    struct str last;  /* where the look ended */
    bool end;         /* there are no more containers */
};

static struct err look_at(struct look *look, struct cursor *s)
{
    for (unsigned i = 0; i < LOOK_PARTITIONS_MAX && s->valid; i++) {
        struct buf after = buf_in(look->arena);
        look->last = arena_copy(look->arena, s->partition);
        TRY(cursor_seek_across(s, look->last, look->key));
        if (s->valid && str_eq(s->partition, look->last) && str_eq(s->key, look->key)) {
            look->found = look->last;
            return OK;
        }
        buf_put(&after, look->last);
        buf_putc(&after, 0);
        TRY(cursor_seek_across(s, buf_str(&after), STR("")));
    }
    look->end = !s->valid;
    return OK;
}

static struct err look_around(struct txn *t, void *arg)
{
    struct look *look = arg;
    struct buf after = buf_in(look->arena);
    struct cursor *s;
    buf_put(&after, look->after);
    buf_putc(&after, 0);
    look->found = STR_NONE;
    look->end = false;
    TRY(cursor_open_across(t, STR("b/"), buf_str(&after), STR(""), &s));
    struct err e = look_at(look, s);
    cursor_close(s);
    return e;
}

/* The work on a container that has the row. *more: call it again for the same one. */
typedef struct err round_work(struct store *store, struct str partition,
                              struct sweep_report *report, bool *more);

static void remember(struct blob_round *round, const struct look *look, bool stay)
{
    int64_t now = clock_mono_ms();
    if (look->end) {
        round->after_n = 0;
        round->rest_until_ms = now + ROUND_REST_FACTOR * (now - round->started_ms);
        if (round->rest_until_ms < now + ROUND_REST_MS_MIN)
            round->rest_until_ms = now + ROUND_REST_MS_MIN;
        return;
    }
    if (stay)
        return;
    assert(look->last.n <= sizeof round->after);
    memcpy(round->after, look->last.p, look->last.n);
    round->after_n = look->last.n;
}

/* One step of a round: the next container that has the row, and the work on it. */
static struct err round_step(struct store *store, struct blob_round *round, struct str key,
                             round_work *work, struct sweep_report *report)
{
    int64_t now = clock_mono_ms();
    if (round->after_n == 0 && now < round->rest_until_ms)
        return OK;
    if (round->after_n == 0)
        round->started_ms = now;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct look look = {.arena = &arena, .after = {round->after, round->after_n}, .key = key};
    bool stay = false;
    struct err e = store_read(store, STR("b/"), ENGINE_WAIT, look_around, &look);
    if (!err_is(e) && str_given(look.found))
        e = work(store, look.found, report, &stay);
    if (!err_is(e)) {
        remember(round, &look, stay);
        report->more = !look.end;
    }
    arena_release(&arena);
    return e;
}

/* The fold to do, if that is the first note. */
struct find_fold {
    struct arena *arena;
    struct blob_fold fold;
    bool found;
};

static struct err take_fold(struct find_fold *find, struct str key, struct str value)
{
    struct reader r = reader_of(value);
    struct reader number = reader_of(str_from(key, 1));
    struct blob_fold *fold = &find->fold;
    if (!item_of_key(key, &fold->item))
        return err_new(ERR_CORRUPT);
    find->found = fold->item.kind == SWEEP_PAGES_FOLD;
    if (!find->found)
        return OK;
    fold->chunk = (uint32_t)read_be64(&number);
    fold->name = arena_copy(find->arena, read_bytes(&r));
    fold->note = arena_copy(find->arena, key);
    return reader_done(&r) ? OK : err_new(ERR_CORRUPT);
}

static struct err find_fold(struct txn *t, void *arg)
{
    struct find_fold *find = arg;
    struct cursor *c;
    find->found = false;
    TRY(cursor_open(t, STR("S"), &c));
    struct err e = cursor_seek(c, STR("S"));
    if (!err_is(e) && c->valid)
        e = take_fold(find, c->key, c->value);
    cursor_close(c);
    return e;
}

static struct err fold_first(struct store *store, struct str partition, bool *found)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct find_fold find = {.arena = &arena};
    struct err e = store_read(store, partition, ENGINE_WAIT, find_fold, &find);
    *found = !err_is(e) && find.found;
    if (*found)
        e = blob_pages_fold(store, partition, &find.fold);
    arena_release(&arena);
    return e;
}

static struct err sweep_work(struct store *store, struct str partition, struct sweep_report *report,
                             bool *more)
{
    struct sweep_step step = {.alone_since = store->alone_since};
    TRY(path_across_rescue(store, partition));
    TRY(fold_first(store, partition, more));
    if (*more)
        return OK;
    TRY(engine_update_wait(store->engine, partition, sweep_partition, &step));
    report->removed = step.removed;
    *more = step.more;
    return OK;
}

struct err blob_sweep(struct store *store, void *context, struct sweep_report *report)
{
    return round_step(store, context, BLOB_KEY_SWEEP, sweep_work, report);
}

/* ---- what expires ---- */

struct expiry_step {
    bool looking; /* only count */
    unsigned removed;
};

/* A set that was not touched for a week: removed from the blob, which is removed too if nothing
 * else is left of it. */
static struct err expire_set(struct txn *t, const struct container *container, uint64_t id,
                             struct str row)
{
    struct arena *a = txn_arena(t);
    struct block_set set;
    struct blob blob = {.container = *container};
    struct blob_at base = {.item = BLOB_BASE};
    TRY(block_set_decode(row, &set));
    blob.key = blob_key_head(a, container->incarnation, set.name, &base);
    struct str head;
    TRY(txn_get(t, blob.key, &head));
    if (str_given(head)) {
        TRY(blob_take_row(&blob, head));
        if (blob.head.blocks == id && !blob.head.committed)
            TRY(blob_forget(t, &blob));
        if (blob.head.blocks == id && blob.head.committed) {
            blob.head.blocks = 0;
            blob.head.blocks_appended = false;
            TRY(blob_save_unchanged(t, &blob));
        }
    }
    struct sweep_item item = {SWEEP_BLOCKS, container->incarnation, id};
    return blob_sweep_add(t, &item);
}

static struct err expire_sets(struct txn *t, const struct container *container, struct cursor *c,
                              struct expiry_step *step)
{
    while (step->removed < EXPIRY_SETS_MAX && c->valid) {
        struct str key = arena_copy(txn_arena(t), c->key);
        struct reader r = reader_of(str_from(key, 1 + 8));
        uint64_t id = read_be64(&r);
        struct block_set set;
        if (!reader_ok(&r))
            return err_new(ERR_CORRUPT);
        if (r.n > 0) { /* a block of a set that is being swept, whose row was removed first */
            TRY(cursor_skip(c, str_head(key, key.n - r.n)));
            continue;
        }
        /* Sets are in the order of their creation: none from here on can be old enough. */
        if ((int64_t)id + BLOCKS_LIFETIME_TICKS > txn_now(t))
            return OK;
        TRY(block_set_decode(c->value, &set));
        if (set.touched + BLOCKS_LIFETIME_TICKS <= txn_now(t)) {
            step->removed++;
            if (!step->looking)
                TRY(expire_set(t, container, id, arena_copy(txn_arena(t), c->value)));
        }
        TRY(cursor_skip(c, key));
    }
    return OK;
}

static struct err expire_partition(struct txn *t, void *arg)
{
    struct expiry_step *step = arg;
    struct container container;
    struct str row;
    bool live;
    step->removed = 0;
    TRY(txn_get(t, BLOB_KEY_CONTAINER, &row));
    if (!str_given(row))
        return OK;
    TRY(container_decode(arena_copy(txn_arena(t), row), &container, &live));
    TRY(container_purge_due(t, &container, EXPIRY_SETS_MAX, &step->removed));
    if (!live || str_given(container.moving)) /* what moves is read meanwhile */
        return OK;
    struct buf sets = buf_in(txn_arena(t));
    buf_putc(&sets, 'u');
    buf_put_be64(&sets, container.incarnation);
    struct cursor *c;
    TRY(cursor_open(t, buf_str(&sets), &c));
    struct err e = cursor_seek(c, buf_str(&sets));
    if (!err_is(e))
        e = expire_sets(t, &container, c, step);
    cursor_close(c);
    if (!err_is(e))
        e = blob_purge_due(t, &container, EXPIRY_SETS_MAX, &step->removed);
    if (!err_is(e))
        e = blob_remove_expired(t, &container, EXPIRY_SETS_MAX, &step->removed);
    return e;
}

/* A view checks for expired blobs: an update runs only if there are any. */
static struct err anything_expired(struct txn *t, void *arg)
{
    struct expiry_step *step = arg;
    step->looking = true;
    return expire_partition(t, arg);
}

static struct err expire_work(struct store *store, struct str partition,
                              struct sweep_report *report, bool *more)
{
    struct expiry_step step = {0};
    *more = false;
    TRY(store_read(store, partition, ENGINE_WAIT, anything_expired, &step));
    if (step.removed == 0)
        return OK;
    step = (struct expiry_step){0};
    TRY(engine_update_wait(store->engine, partition, expire_partition, &step));
    report->removed = step.removed;
    *more = step.removed >= EXPIRY_SETS_MAX;
    return OK;
}

struct err blob_expire(struct store *store, void *context, struct sweep_report *report)
{
    return round_step(store, context, BLOB_KEY_CONTAINER, expire_work, report);
}

/* Returns true if a row without extents can be decoded. */
static bool row_is_sound(struct arena *a, struct str key, struct str value)
{
    struct blob_head head;
    struct container container;
    struct block_set set;
    struct blob_at at;
    struct str name, head_key;
    int64_t time;
    bool live;
    switch (key.n == 0 ? 0 : key.p[0]) {
    case 'c':
    case 'C':
        return !err_is(container_decode(value, &container, &live));
    case 'h':
        return blob_key_parse_head(key, &name, &at) && !err_is(blob_head_decode(value, &head));
    case 'u':
        return !err_is(block_set_decode(value, &set));
    case BLOB_TIMED_DELETED:
    case BLOB_TIMED_EXPIRY:
    case BLOB_TIMED_PROTECTION:
        return blob_key_parse_timed(a, key, &time, &head_key) &&
               blob_key_parse_head(head_key, &name, &at);
    default:
        return true;
    }
}

bool blob_row_extents(struct str key, struct str value,
                      void (*named)(void *sink, const struct extent *x), void *sink)
{
    struct arena arena;
    if (blob_key_is_pages(key))
        return blob_pages_row_extents(key, value, named, sink);
    if (blob_key_holds_pieces(key))
        return content_extents(value, named, sink);
    arena_init(&arena, 1 << 20);
    bool sound = row_is_sound(&arena, key, value);
    arena_release(&arena);
    return sound;
}
