/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/saved.h"

#include <stdlib.h>

#include "core/mem.h"

enum { TRIES_MAX = 8, ARENA_BYTES_MAX = SAVED_BYTES_MAX };

#define SPACE    STR("s/")
#define KEY_INFO STR("i")

/* ---- which partitions ---- */

static const struct {
    enum service_kind service;
    const char *prefix;
} SPACES[] = {{SERVICE_BLOB, "b/"},
              {SERVICE_QUEUE, "q/"},
              {SERVICE_TABLE, "t/"},
              {SERVICE_TABLE, "e/"},
              {SERVICE_FILE, "f/"}};

struct names {
    struct arena *arena;
    struct str prefix;
    struct str account; /* absent: any */
    struct str *list;
    size_t count, capacity;
};

/* "b/account/…", and "t/account", which has nothing behind it. */
static bool is_of(struct str partition, size_t prefix_n, struct str account)
{
    struct str rest = str_from(partition, prefix_n);
    return !str_given(account) ||
           (str_starts(rest, account) && (rest.n == account.n || rest.p[account.n] == '/'));
}

static void add_name(struct names *n, struct str name)
{
    if (n->count == n->capacity) {
        struct str *old = n->list;
        n->capacity = n->capacity == 0 ? 64 : n->capacity * 2;
        n->list = ARENA_ARRAY(n->arena, struct str, n->capacity);
        if (n->count > 0)
            memcpy(n->list, old, n->count * sizeof *old);
    }
    n->list[n->count++] = arena_copy(n->arena, name);
}

static struct err find_partitions(struct txn *t, void *arg)
{
    struct names *n = arg;
    struct cursor *c;
    size_t before = n->count;
    n->count = before;
    TRY(cursor_open_across(t, n->prefix, n->prefix, STR(""), &c));
    while (c->valid) {
        struct buf past = buf_in(txn_arena(t));
        buf_put(&past, c->partition);
        buf_putc(&past, 0);
        if (is_of(c->partition, n->prefix.n, n->account))
            add_name(n, c->partition);
        TRY(cursor_seek_across(c, buf_str(&past), STR("")));
    }
    cursor_close(c);
    return OK;
}

static struct err partitions_of(const struct saved_scope *scope, struct names *n)
{
    n->account = scope->account;
    for (size_t i = 0; i < sizeof SPACES / sizeof SPACES[0]; i++) {
        n->prefix = str_of(SPACES[i].prefix);
        if (!scope->has_service || scope->service == SPACES[i].service)
            TRY(store_read(scope->store, n->prefix, ENGINE_WAIT, find_partitions, n));
    }
    return OK;
}

/* ---- rows of a partition ---- */

struct rows {
    struct arena *arena;
    struct engine_row *list;
    size_t count, capacity;
    size_t bytes;
};

static void add_row(struct rows *r, const struct engine_read *read)
{
    if (r->count == r->capacity) {
        r->capacity = r->capacity == 0 ? 64 : r->capacity * 2;
        r->list = mem_realloc(r->list, r->capacity * sizeof *r->list);
    }
    r->list[r->count++] = (struct engine_row){.key = arena_copy(r->arena, read->key),
                                              .value = arena_copy(r->arena, read->value),
                                              .body = arena_copy(r->arena, read->body)};
    r->bytes += read->key.n + read->value.n + read->body.n;
}

static struct err read_rows(struct txn *t, void *arg)
{
    struct rows *r = arg;
    struct cursor *c;
    r->count = r->bytes = 0;
    TRY(cursor_open(t, STR(""), &c));
    while (c->valid) {
        struct engine_read read = {.key = c->key, .with_body = true};
        TRY(txn_get_many(t, &read, 1));
        add_row(r, &read);
        if (r->count > SAVED_ROWS_MAX || r->bytes > SAVED_BYTES_MAX)
            return err_new(ERR_REQUEST_BODY_TOO_LARGE);
        TRY(cursor_next(c));
    }
    cursor_close(c);
    return OK;
}

/* ---- replacing a partition ---- */

struct replace {
    struct str named;    /* what the rows' partition is called, for refs */
    struct str existing; /* the same of the rows that are there */
    saved_refs *refs;
    const struct engine_row *rows;
    size_t count;
};

struct extent_sink {
    struct txn *txn;
    enum extent_change change;
    struct err error;
};

static void change_extent(void *arg, const struct extent *x)
{
    struct extent_sink *sink = arg;
    if (!err_is(sink->error))
        sink->error = txn_extent(sink->txn, sink->change, x);
}

static struct err count_extents(struct txn *t, const struct replace *r, enum extent_change change,
                                struct str key, struct str value)
{
    struct extent_sink sink = {t, change, OK};
    struct str partition = change == EXTENT_HOLD ? r->named : r->existing;
    if (!r->refs(partition, key, value, change_extent, &sink))
        return err_new(ERR_CORRUPT);
    return sink.error;
}

/* The rows that are there: names them first, since a cursor does not stand still over deletes. */
static struct err delete_rows(struct txn *t, const struct replace *r)
{
    struct rows there = {.arena = txn_arena(t)};
    struct err error = read_rows(t, &there);
    for (size_t i = 0; i < there.count && !err_is(error); i++) {
        error = count_extents(t, r, EXTENT_DROP, there.list[i].key, there.list[i].value);
        if (!err_is(error))
            error = txn_del(t, there.list[i].key);
    }
    free(there.list);
    return error;
}

/* What comes is held before what goes is dropped: an extent that both name stays. */
static struct err replace_rows(struct txn *t, void *arg)
{
    const struct replace *r = arg;
    for (size_t i = 0; i < r->count; i++)
        TRY(count_extents(t, r, EXTENT_HOLD, r->rows[i].key, r->rows[i].value));
    TRY(delete_rows(t, r));
    for (size_t i = 0; i < r->count; i++)
        TRY(txn_put_row(t, &r->rows[i]));
    return OK;
}

static struct err replace(const struct saved_scope *scope, struct str partition,
                          const struct replace *what)
{
    struct replace copy = *what;
    return engine_update_wait(scope->store->engine, partition, replace_rows, &copy);
}

/* ---- reset ---- */

struct err saved_reset(const struct saved_scope *scope)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES_MAX);
    struct names n = {.arena = &arena};
    struct err error = partitions_of(scope, &n);
    for (size_t i = 0; i < n.count && !err_is(error); i++) {
        struct replace nothing = {
            .named = n.list[i], .existing = n.list[i], .refs = scope->refs, .count = 0};
        error = replace(scope, n.list[i], &nothing);
    }
    arena_release(&arena);
    return error;
}

/* ---- keeping ---- */

bool saved_name_ok(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!(name.p[i] >= 'a' && name.p[i] <= 'z') && !ascii_digit(name.p[i]) && name.p[i] != '-')
            return false;
    return name.n > 0 && name.n <= SAVED_NAME_MAX;
}

static struct str place_of(struct arena *arena, struct str name, struct str partition)
{
    return arena_printf(arena, "s/%.*s/%.*s", STR_ARG(name), STR_ARG(partition));
}

static struct str info_place(struct arena *arena, struct str name)
{
    return arena_printf(arena, "s/%.*s", STR_ARG(name));
}

/* A row may name an extent that is dropped before it can be held: then it is read again. */
static struct err keep_partition(const struct saved_scope *scope, struct arena *arena,
                                 struct str name, struct str partition)
{
    struct rows r = {.arena = arena};
    struct str place = place_of(arena, name, partition);
    struct err error = OK;
    for (int i = 0; i < TRIES_MAX; i++) {
        error = store_read(scope->store, partition, ENGINE_WAIT, read_rows, &r);
        if (err_is(error))
            break;
        struct replace what = {.named = partition,
                               .existing = partition,
                               .refs = scope->refs,
                               .rows = r.list,
                               .count = r.count};
        error = replace(scope, place, &what);
        if (error.code != ERR_CORRUPT && error.code != ERR_RESOURCE_NOT_FOUND)
            break;
    }
    free(r.list);
    return error;
}

struct info {
    struct str account;
    char service; /* '*' or a digit */
};

static struct err write_info(struct txn *t, void *arg)
{
    const struct info *info = arg;
    struct buf b = buf_in(txn_arena(t));
    buf_putc(&b, info->service);
    buf_put(&b, info->account);
    return txn_put(t, KEY_INFO, buf_str(&b));
}

struct read_info {
    struct arena *arena;
    struct str value;
};

static struct err read_info(struct txn *t, void *arg)
{
    struct read_info *r = arg;
    struct str value;
    TRY(txn_get(t, KEY_INFO, &value));
    r->value = arena_copy(r->arena, value);
    return OK;
}

static struct err drop_kept(const struct saved_scope *scope, struct arena *arena, struct str name);

struct err saved_keep(const struct saved_scope *scope, struct str name)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES_MAX);
    struct names n = {.arena = &arena};
    struct info info = {.account = str_given(scope->account) ? scope->account : STR(""),
                        .service = scope->has_service ? (char)('0' + (int)scope->service) : '*'};
    struct err error = drop_kept(scope, &arena, name);
    if (!err_is(error))
        error = partitions_of(scope, &n);
    for (size_t i = 0; i < n.count && !err_is(error); i++)
        error = keep_partition(scope, &arena, name, n.list[i]);
    /* Last: a state that is not whole cannot be asked for. */
    if (!err_is(error))
        error =
            engine_update_wait(scope->store->engine, info_place(&arena, name), write_info, &info);
    arena_release(&arena);
    return error;
}

/* ---- putting back ---- */

static struct err find_kept(const struct saved_scope *scope, struct arena *arena, struct str name,
                            struct saved_scope *kept)
{
    struct read_info info = {.arena = arena};
    TRY(store_read(scope->store, info_place(arena, name), ENGINE_WAIT, read_info, &info));
    if (!str_given(info.value) || info.value.n == 0)
        return err_new(ERR_RESOURCE_NOT_FOUND);
    *kept = *scope;
    kept->account = info.value.n > 1 ? str_from(info.value, 1) : STR_NONE;
    kept->has_service = info.value.p[0] != '*';
    kept->service = kept->has_service ? (enum service_kind)(info.value.p[0] - '0') : SERVICE_BLOB;
    return OK;
}

static struct err kept_partitions(const struct saved_scope *scope, struct names *n, struct str name)
{
    n->prefix = place_of(n->arena, name, STR(""));
    n->account = STR_NONE;
    return store_read(scope->store, n->prefix, ENGINE_WAIT, find_partitions, n);
}

static bool is_listed(const struct names *n, struct str name)
{
    for (size_t i = 0; i < n->count; i++)
        if (str_eq(n->list[i], name))
            return true;
    return false;
}

static struct err put_back(const struct saved_scope *scope, struct arena *arena, struct str place,
                           struct str partition)
{
    struct rows r = {.arena = arena};
    struct err error = store_read(scope->store, place, ENGINE_WAIT, read_rows, &r);
    struct replace what = {.named = partition,
                           .existing = partition,
                           .refs = scope->refs,
                           .rows = r.list,
                           .count = r.count};
    if (!err_is(error))
        error = replace(scope, partition, &what);
    free(r.list);
    return error;
}

struct err saved_restore(const struct saved_scope *scope, struct str name)
{
    struct arena arena;
    struct saved_scope kept;
    arena_init(&arena, ARENA_BYTES_MAX);
    struct names now = {.arena = &arena}, then = {.arena = &arena};
    struct err error = find_kept(scope, &arena, name, &kept);
    if (!err_is(error))
        error = partitions_of(&kept, &now);
    if (!err_is(error))
        error = kept_partitions(scope, &then, name);
    size_t before = then.prefix.n;
    for (size_t i = 0; i < then.count && !err_is(error); i++) {
        struct str partition = str_from(then.list[i], before);
        error = put_back(scope, &arena, then.list[i], partition);
    }
    for (size_t i = 0; i < now.count && !err_is(error); i++) {
        struct replace nothing = {
            .named = now.list[i], .existing = now.list[i], .refs = scope->refs};
        if (!is_listed(&then, place_of(&arena, name, now.list[i])))
            error = replace(scope, now.list[i], &nothing);
    }
    arena_release(&arena);
    return error;
}

/* ---- forgetting ---- */

static struct err delete_info(struct txn *t, void *arg)
{
    (void)arg;
    return txn_del(t, KEY_INFO);
}

static struct err drop_kept(const struct saved_scope *scope, struct arena *arena, struct str name)
{
    struct names n = {.arena = arena};
    TRY(kept_partitions(scope, &n, name));
    size_t before = n.prefix.n;
    for (size_t i = 0; i < n.count; i++) {
        struct str partition = str_from(n.list[i], before);
        struct replace nothing = {.named = partition, .existing = partition, .refs = scope->refs};
        TRY(replace(scope, n.list[i], &nothing));
    }
    return engine_update_wait(scope->store->engine, info_place(arena, name), delete_info, NULL);
}

struct err saved_forget(const struct saved_scope *scope, struct str name)
{
    struct arena arena;
    struct saved_scope kept;
    arena_init(&arena, ARENA_BYTES_MAX);
    struct err error = find_kept(scope, &arena, name, &kept);
    if (!err_is(error))
        error = drop_kept(scope, &arena, name);
    arena_release(&arena);
    return error;
}

static bool add_kept_name(struct str partition, struct str value, void *arg)
{
    struct buf *out = arg;
    (void)value;
    struct str name = str_from(partition, SPACE.n);
    if (str_find(name, '/', 0) < name.n)
        return true;
    if (out->n > 0)
        buf_putc(out, ',');
    buf_put(out, name);
    return true;
}

struct err saved_names(struct store *store, struct arena *arena, struct str *out)
{
    struct buf names = buf_in(arena);
    TRY(engine_partitions(store->engine, SPACE, STR_NONE, KEY_INFO, add_kept_name, &names));
    *out = buf_str(&names);
    return OK;
}
