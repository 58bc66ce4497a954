/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/opens/held.h"

#include <assert.h>

#include "core/log.h"
#include "service/file/keys.h"

enum { FORMAT = 1, KIND = 'o', KEY_BYTES = FILE_KEY_PREFIX_BYTES + 8, WALK_ARENA_MAX = 256 << 20 };

enum {
    FLAG_DELETE_ON_CLOSE = 1,
    FLAG_DELETE_PENDING = 2,
    FLAG_LEASE = 4,
    FLAG_LEASE_COUNTS = 8,
};

/* ---- a row ---- */

static uint64_t flags_of(const struct opens_kept *k)
{
    return (k->delete_on_close ? FLAG_DELETE_ON_CLOSE : 0U) |
           (k->delete_pending ? FLAG_DELETE_PENDING : 0U) | (k->lease ? FLAG_LEASE : 0U) |
           (k->lease_counts ? FLAG_LEASE_COUNTS : 0U);
}

struct err file_held_put(struct txn *t, const struct file_held *held)
{
    const struct opens_kept *k = &held->open;
    struct arena *a = txn_arena(t);
    struct buf b = buf_in(a);
    buf_put_u8(&b, FORMAT);
    buf_put_varint(&b, k->key.node);
    buf_put_varint(&b, k->access);
    buf_put_varint(&b, k->sharing);
    buf_put_varint(&b, k->access_mask);
    buf_put_varint(&b, flags_of(k));
    buf_put_varint(&b, k->cache);
    buf_put(&b, (struct str){(const char *)k->lease_key, sizeof k->lease_key});
    buf_put_le16(&b, k->lease_epoch);
    buf_put_le64(&b, k->session);
    buf_put_bytes(&b, k->client);
    buf_put_bytes(&b, k->client_name);
    buf_put_le64(&b, (uint64_t)k->opened_ticks);
    buf_put_varint(&b, k->lock_count);
    for (size_t i = 0; i < k->lock_count; i++) {
        buf_put_le64(&b, k->locks[i].offset);
        buf_put_le64(&b, k->locks[i].length);
        buf_put_u8(&b, k->locks[i].exclusive);
    }
    buf_put_bytes(&b, held->front);
    return txn_put(t, file_key_id(a, KIND, k->key.share, held->id), buf_str(&b));
}

static void read_flags(struct opens_kept *k, uint64_t flags)
{
    k->delete_on_close = (flags & FLAG_DELETE_ON_CLOSE) != 0;
    k->delete_pending = (flags & FLAG_DELETE_PENDING) != 0;
    k->lease = (flags & FLAG_LEASE) != 0;
    k->lease_counts = (flags & FLAG_LEASE_COUNTS) != 0;
}

static void read_locks(struct reader *r, struct arena *a, struct opens_kept *k)
{
    uint64_t count = read_varint(r);
    if (count > OPENS_LOCKS_PER_FILE_MAX) {
        r->bad = true;
        return;
    }
    k->locks = ARENA_ARRAY(a, struct opens_lock, count + 1);
    for (; k->lock_count < count && reader_ok(r); k->lock_count++) {
        struct opens_lock *lock = &k->locks[k->lock_count];
        lock->offset = read_le64(r);
        lock->length = read_le64(r);
        lock->exclusive = read_u8(r) != 0;
    }
}

struct err file_held_read(struct arena *a, struct str key, struct str value, struct file_held *out)
{
    assert(out != NULL);
    struct opens_kept *k = &out->open;
    struct reader in_key = reader_of(str_from(key, 1));
    struct reader r = reader_of(value);
    *out = (struct file_held){0};
    if (key.n != KEY_BYTES)
        return err_new(ERR_CORRUPT);
    k->key.share = read_be64(&in_key);
    out->id = read_be64(&in_key);
    if (read_u8(&r) != FORMAT)
        return err_new(ERR_CORRUPT);
    k->key.node = read_varint(&r);
    k->access = (unsigned)read_varint(&r);
    k->sharing = (unsigned)read_varint(&r);
    k->access_mask = (uint32_t)read_varint(&r);
    read_flags(k, read_varint(&r));
    k->cache = (unsigned)read_varint(&r);
    struct str lease_key = read_raw(&r, sizeof k->lease_key);
    if (lease_key.n == sizeof k->lease_key)
        memcpy(k->lease_key, lease_key.p, sizeof k->lease_key);
    k->lease_epoch = read_le16(&r);
    k->session = read_le64(&r);
    k->client = read_bytes(&r);
    k->client_name = read_bytes(&r);
    k->opened_ticks = (int64_t)read_le64(&r);
    read_locks(&r, a, k);
    out->front = read_bytes(&r);
    return reader_done(&r) ? OK : err_new(ERR_CORRUPT);
}

/* ---- transactions ---- */

struct err file_hold(struct txn *t, void *arg)
{
    struct file_hold_args *args = arg;
    struct file_scope s;
    struct opens_kept *open = &args->held.open;
    open->delete_pending = opens_is_doomed(args->opens, open->key);
    TRY(file_scope_open_incarnation(t, args->at.incarnation, 0, &s));
    return file_held_put(t, &args->held);
}

struct err file_let_go(struct txn *t, void *arg)
{
    const struct file_let_go_args *args = arg;
    return txn_del(t, file_key_id(txn_arena(t), KIND, args->incarnation, args->id));
}

struct err file_mark_held(struct txn *t, void *arg)
{
    const struct file_mark_args *args = arg;
    struct arena *a = txn_arena(t);
    struct opens_key file = {.share = args->at.incarnation, .node = args->at.id};
    bool doomed = opens_is_doomed(args->opens, file);
    struct cursor *c;
    TRY(cursor_open(t, file_key_kind(a, KIND, args->at.incarnation), &c));
    for (; c->valid;) {
        struct file_held held;
        struct str key = arena_copy(a, c->key);
        TRY(file_held_read(a, key, arena_copy(a, c->value), &held));
        TRY(cursor_next(c));
        if (held.open.key.node != file.node || held.open.delete_pending == doomed)
            continue;
        held.open.delete_pending = doomed;
        TRY(file_held_put(t, &held));
    }
    cursor_close(c);
    return OK;
}

/* ---- start-up ---- */

/* The rows of one share, with their files. */
struct share_walk {
    struct arena *arena;
    struct buf items; /* of struct held_item */
};
struct held_item {
    struct file_held held;
    struct file_seen seen;
};

static struct err see_one(struct txn *t, struct share_walk *w, struct str key, struct str value)
{
    struct held_item item = {0};
    if (err_is(file_held_read(w->arena, key, value, &item.held))) {
        log_line(LOG_WARN, "a row of a persistent handle cannot be read: it is left alone");
        return OK;
    }
    struct file_look_args look = {.at = {.arena = w->arena,
                                         .incarnation = item.held.open.key.share,
                                         .id = item.held.open.key.node}};
    struct err error = file_look(t, &look);
    if (err_is(error) && error.code != ERR_RESOURCE_NOT_FOUND && error.code != ERR_SHARE_NOT_FOUND)
        return error;
    if (!err_is(error))
        item.seen = look.seen;
    buf_put(&w->items, (struct str){(const char *)&item, sizeof item});
    return OK;
}

static struct err look_at_share(struct txn *t, void *arg)
{
    static const char kind[] = {KIND};
    struct share_walk *w = arg;
    struct cursor *c;
    buf_clear(&w->items);
    TRY(cursor_open(t, (struct str){kind, sizeof kind}, &c));
    for (; c->valid;) {
        struct str key = arena_copy(w->arena, c->key);
        TRY(see_one(t, w, key, arena_copy(w->arena, c->value)));
        TRY(cursor_next(c));
    }
    cursor_close(c);
    return OK;
}

struct names {
    struct arena arena;
    struct buf list; /* each with its length */
};

static bool note_name(struct str partition, struct str value, void *arg)
{
    struct names *n = arg;
    (void)value;
    buf_put_bytes(&n->list, partition);
    return true;
}

static struct err walk_share(struct store *store, struct str partition, struct arena *a,
                             file_held_visit *visit, void *arg)
{
    struct share_walk share = {a, buf_in(a)};
    TRY(engine_view(store->engine, partition, ENGINE_WAIT, look_at_share, &share));
    for (size_t at = 0; at < share.items.n; at += sizeof(struct held_item)) {
        struct held_item item;
        memcpy(&item, share.items.p + at, sizeof item);
        TRY(visit(arg, partition, &item.held, &item.seen));
    }
    return OK;
}

struct err file_held_walk(struct store *store, file_held_visit *visit, void *arg)
{
    struct names names;
    struct arena arena;
    arena_init(&names.arena, WALK_ARENA_MAX);
    arena_init(&arena, WALK_ARENA_MAX);
    names.list = buf_in(&names.arena);
    struct err error =
        engine_partitions(store->engine, FILE_SPACE, STR_NONE, FILE_KEY_SHARE, note_name, &names);
    struct reader r = reader_of(buf_str(&names.list));
    while (!err_is(error) && r.n > 0) {
        error = walk_share(store, read_bytes(&r), &arena, visit, arg);
        arena_reset(&arena);
    }
    arena_release(&arena);
    arena_release(&names.arena);
    return error;
}
