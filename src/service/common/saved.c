/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/saved.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/record.h"
#include "engine/wait.h"

enum { ARENA_BYTES_MAX = SAVED_BYTES_MAX };

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

/* "b/account/…", and "t/account", which is complete. */
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

/* ---- emptying a partition ---- */

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

/* The extents of a row. */
struct named_row {
    struct str partition; /* as the services call it */
    struct str key, value;
};

static struct err change_extents(struct txn *t, saved_refs *refs, enum extent_change change,
                                 const struct named_row *row)
{
    struct extent_sink sink = {t, change, OK};
    if (!refs(row->partition, row->key, row->value, change_extent, &sink))
        return err_new(ERR_CORRUPT);
    return sink.error;
}

struct emptying {
    struct str named; /* the original name of the partition */
    saved_refs *refs;
};

/* Collects the keys first, because a cursor is not stable over deletes. */
static struct err empty_rows(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    const struct emptying *e = arg;
    struct rows there = {.arena = txn_arena(t)};
    struct err error = read_rows(t, &there);
    for (size_t i = 0; i < there.count && !err_is(error); i++) {
        struct named_row row = {e->named, there.list[i].key, there.list[i].value};
        error = change_extents(t, e->refs, EXTENT_DROP, &row);
        if (!err_is(error))
            error = txn_del(t, there.list[i].key);
    }
    free(there.list);
    return error;
}

static struct err empty(const struct saved_scope *scope, struct str partition, struct str named)
{
    struct emptying e = {.named = named, .refs = scope->refs};
    return engine_update_wait(scope->store->engine, partition, empty_rows, &e);
}

/* ---- reset ---- */

struct err saved_reset(const struct saved_scope *scope)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES_MAX);
    struct names n = {.arena = &arena};
    struct err error = partitions_of(scope, &n);
    for (size_t i = 0; i < n.count && !err_is(error); i++)
        error = empty(scope, n.list[i], n.list[i]);
    arena_release(&arena);
    return error;
}

/* ---- the states, and what they record ---- */

struct state {
    char name[SAVED_NAME_MAX + 1];
    char account[ACCOUNT_NAME_MAX + 1]; /* empty: of all */
    char service;                       /* '*' or a digit */
};

struct saved {
    struct engine_recorder base;
    saved_refs *refs;
    pthread_rwlock_t lock;
    struct state states[SAVED_STATES_MAX];
    size_t count;
};

static struct str join_partition(struct arena *arena, struct str name, struct str mark,
                                 struct str partition)
{
    struct buf b = buf_in(arena);
    buf_put(&b, STR("s/"));
    buf_put(&b, name);
    buf_put(&b, mark);
    buf_put(&b, partition);
    return buf_str(&b);
}

static struct str saved_partition(struct arena *arena, struct str name, struct str partition)
{
    return join_partition(arena, name, STR("/"), partition);
}

static struct str absent_partition(struct arena *arena, struct str name, struct str partition)
{
    return join_partition(arena, name, STR("/-"), partition);
}

static bool covers(const struct state *state, struct str partition)
{
    struct str account = state->account[0] == '\0' ? STR_NONE : str_of(state->account);
    for (size_t i = 0; i < sizeof SPACES / sizeof SPACES[0]; i++) {
        bool service = state->service == '*' || state->service - '0' == (int)SPACES[i].service;
        if (str_starts(partition, str_of(SPACES[i].prefix)))
            return service && is_of(partition, 2, account);
    }
    return false;
}

/* Saves the current row, unless that was done since the state was saved. */
static struct err record_row(struct saved *s, struct txn *t, const struct state *state,
                             const struct named_row *at)
{
    struct str present = saved_partition(txn_arena(t), str_of(state->name), at->partition);
    struct str absent = absent_partition(txn_arena(t), str_of(state->name), at->partition);
    struct engine_read reads[] = {{.partition = present, .key = at->key},
                                  {.partition = absent, .key = at->key},
                                  {.key = at->key, .with_body = true}};
    TRY(txn_get_many(t, reads, 3));
    if (str_given(reads[0].value) || str_given(reads[1].value))
        return OK;
    struct engine_row row = {.key = at->key, .value = reads[2].value, .body = reads[2].body};
    if (!str_given(row.value)) {
        row.value = STR("");
        return txn_put_beside(t, absent, &row);
    }
    struct named_row now = {at->partition, at->key, row.value};
    TRY(change_extents(t, s->refs, EXTENT_HOLD, &now));
    return txn_put_beside(t, present, &row);
}

static struct err changing(struct engine_recorder *base, struct txn *t, struct str partition,
                           struct str key)
{
    struct saved *s = (struct saved *)(void *)base;
    struct named_row at = {partition, key, STR_NONE};
    struct err error = OK;
    (void)pthread_rwlock_rdlock(&s->lock);
    for (size_t i = 0; i < s->count && !err_is(error); i++)
        if (covers(&s->states[i], partition))
            error = record_row(s, t, &s->states[i], &at);
    (void)pthread_rwlock_unlock(&s->lock);
    return error;
}

static bool is_state(const struct saved *s, struct str name)
{
    for (size_t i = 0; i < s->count; i++)
        if (str_eq(str_of(s->states[i].name), name))
            return true;
    return false;
}

static struct err add_state(struct saved *s, const struct state *state)
{
    (void)pthread_rwlock_wrlock(&s->lock);
    bool room = s->count < SAVED_STATES_MAX;
    if (room)
        s->states[s->count++] = *state;
    (void)pthread_rwlock_unlock(&s->lock);
    return room ? OK : err_detail(ERR_INVALID_INPUT, "Reason\tat most 32 states are kept.");
}

static void remove_state(struct saved *s, struct str name)
{
    (void)pthread_rwlock_wrlock(&s->lock);
    for (size_t i = 0; i < s->count; i++)
        if (str_eq(str_of(s->states[i].name), name))
            s->states[i--] = s->states[--s->count];
    (void)pthread_rwlock_unlock(&s->lock);
}

/* The value of a state's main row: "1", the service, the account. */
static bool load_state(struct str partition, struct str value, void *arg)
{
    struct saved *s = arg;
    struct str name = str_from(partition, SPACE.n);
    struct state state = {.service = '*'};
    if (str_find(name, '/', 0) < name.n || name.n > SAVED_NAME_MAX || value.n < 2 ||
        value.n - 2 > ACCOUNT_NAME_MAX || value.p[0] != '1')
        return true;
    memcpy(state.name, name.p, name.n);
    state.service = value.p[1];
    memcpy(state.account, value.p + 2, value.n - 2);
    return !err_is(add_state(s, &state));
}

struct err saved_open(struct store *store, saved_refs *refs, bool wanted, struct saved **out)
{
    assert(out != NULL);
    struct saved *s = MEM_NEW(struct saved);
    *out = NULL;
    s->base.changing = changing;
    s->refs = refs;
    (void)pthread_rwlock_init(&s->lock, NULL);
    struct err error = engine_partitions(store->engine, SPACE, STR_NONE, KEY_INFO, load_state, s);
    bool useful = wanted || s->count > 0;
    if (!err_is(error) && useful)
        error = engine_record(store->engine, &s->base);
    if (err_is(error) || !useful)
        saved_close(s);
    else
        *out = s;
    return error.code == ERR_NOT_IMPLEMENTED ? OK : error;
}

void saved_close(struct saved *s)
{
    if (s == NULL)
        return;
    (void)pthread_rwlock_destroy(&s->lock);
    free(s);
}

/* ---- keeping ---- */

bool saved_name_ok(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!(name.p[i] >= 'a' && name.p[i] <= 'z') && !ascii_digit(name.p[i]) && name.p[i] != '-')
            return false;
    return name.n > 0 && name.n <= SAVED_NAME_MAX;
}

static struct str info_partition(struct arena *arena, struct str name)
{
    return arena_printf(arena, "s/%.*s", STR_ARG(name));
}

static struct err write_info(struct txn *t, void *arg)
{
    const struct state *state = arg;
    struct buf b = buf_in(txn_arena(t));
    buf_putc(&b, '1');
    buf_putc(&b, state->service);
    buf_put(&b, str_of(state->account));
    return txn_put(t, KEY_INFO, buf_str(&b));
}

static struct err delete_info(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    (void)arg;
    return txn_del(t, KEY_INFO);
}

/* The names that a state has recorded: one per partition, which may also exist with a '-' prefix.
 */
static struct err kept_partitions(const struct saved_scope *scope, struct names *n, struct str name)
{
    n->prefix = saved_partition(n->arena, name, STR(""));
    n->account = STR_NONE;
    return store_read(scope->store, n->prefix, ENGINE_WAIT, find_partitions, n);
}

/* The state must no longer record. */
static struct err drop_kept(const struct saved_scope *scope, struct arena *arena, struct str name)
{
    struct names n = {.arena = arena};
    TRY(engine_update_wait(scope->store->engine, info_partition(arena, name), delete_info, NULL));
    TRY(kept_partitions(scope, &n, name));
    for (size_t i = 0; i < n.count; i++)
        TRY(empty(scope, n.list[i], str_from(n.list[i], n.prefix.n)));
    return OK;
}

struct err saved_keep(const struct saved_scope *scope, struct str name)
{
    struct arena arena;
    struct state state = {.service = scope->has_service ? (char)('0' + (int)scope->service) : '*'};
    if (scope->saved == NULL)
        return err_new(ERR_NOT_IMPLEMENTED);
    memcpy(state.name, name.p, name.n);
    if (str_given(scope->account) && scope->account.n <= ACCOUNT_NAME_MAX)
        memcpy(state.account, scope->account.p, scope->account.n);
    arena_init(&arena, ARENA_BYTES_MAX);
    remove_state(scope->saved, name);
    struct err error = drop_kept(scope, &arena, name);
    /* It records before it is listed: so a listed state has missed nothing. */
    if (!err_is(error))
        error = add_state(scope->saved, &state);
    if (!err_is(error))
        error = engine_update_wait(scope->store->engine, info_partition(&arena, name), write_info,
                                   &state);
    if (err_is(error))
        remove_state(scope->saved, name);
    arena_release(&arena);
    return error;
}

/* ---- putting back ---- */

struct restoring {
    struct str present, absent; /* where the saved rows of the partition are */
    struct str partition;
    saved_refs *refs;
    struct rows *changed, *born; /* the keys */
};

static struct err read_keys(struct txn *t, void *arg)
{
    struct rows *r = arg;
    struct cursor *c;
    r->count = 0;
    TRY(cursor_open(t, STR(""), &c));
    for (; c->valid; r->count++) {
        if (r->count == r->capacity) {
            r->capacity = r->capacity == 0 ? 64 : r->capacity * 2;
            r->list = mem_realloc(r->list, r->capacity * sizeof *r->list);
        }
        r->list[r->count] = (struct engine_row){.key = arena_copy(r->arena, c->key)};
        TRY(cursor_next(c));
    }
    cursor_close(c);
    return OK;
}

/* Releases the extents that the row names now. */
static struct err let_go(struct txn *t, const struct restoring *r, struct str key)
{
    struct named_row now = {r->partition, key, STR_NONE};
    TRY(txn_get(t, key, &now.value));
    return str_given(now.value) ? change_extents(t, r->refs, EXTENT_DROP, &now) : OK;
}

/* Restores the saved row, with its holds. Other states record the value that it replaces. */
static struct err put_back(struct txn *t, const struct restoring *r, struct str key)
{
    struct engine_read kept = {.partition = r->present, .key = key, .with_body = true};
    TRY(txn_get_many(t, &kept, 1));
    if (!str_given(kept.value))
        return OK;
    TRY(let_go(t, r, key));
    TRY(txn_put_row(t, &(struct engine_row){.key = key, .value = kept.value, .body = kept.body}));
    return txn_del_beside(t, r->present, key);
}

static struct err take_away(struct txn *t, const struct restoring *r, struct str key)
{
    struct engine_read kept = {.partition = r->absent, .key = key};
    TRY(txn_get_many(t, &kept, 1));
    if (!str_given(kept.value))
        return OK;
    TRY(let_go(t, r, key));
    TRY(txn_del(t, key));
    return txn_del_beside(t, r->absent, key);
}

static struct err restore_rows(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    const struct restoring *r = arg;
    for (size_t i = 0; i < r->changed->count; i++)
        TRY(put_back(t, r, r->changed->list[i].key));
    for (size_t i = 0; i < r->born->count; i++)
        TRY(take_away(t, r, r->born->list[i].key));
    return OK;
}

static struct err restore_partition(const struct saved_scope *scope, struct arena *arena,
                                    struct str name, struct str partition)
{
    struct rows changed = {.arena = arena}, born = {.arena = arena};
    struct restoring r = {.present = saved_partition(arena, name, partition),
                          .absent = absent_partition(arena, name, partition),
                          .partition = partition,
                          .refs = scope->refs,
                          .changed = &changed,
                          .born = &born};
    struct err error = store_read(scope->store, r.present, ENGINE_WAIT, read_keys, &changed);
    if (!err_is(error))
        error = store_read(scope->store, r.absent, ENGINE_WAIT, read_keys, &born);
    if (!err_is(error) && changed.count + born.count > 0)
        error = engine_update_wait(scope->store->engine, partition, restore_rows, &r);
    free(changed.list);
    free(born.list);
    return error;
}

struct err saved_restore(const struct saved_scope *scope, struct str name)
{
    struct arena arena;
    struct err error = OK;
    if (scope->saved == NULL || !is_state(scope->saved, name))
        return err_new(ERR_RESOURCE_NOT_FOUND);
    arena_init(&arena, ARENA_BYTES_MAX);
    struct names n = {.arena = &arena};
    error = kept_partitions(scope, &n, name);
    for (size_t i = 0; i < n.count && !err_is(error); i++) {
        struct str partition = str_from(n.list[i], n.prefix.n);
        if (str_starts(partition, STR("-")))
            partition = str_from(partition, 1);
        error = restore_partition(scope, &arena, name, partition);
    }
    arena_release(&arena);
    return error;
}

/* ---- forgetting ---- */

struct err saved_forget(const struct saved_scope *scope, struct str name)
{
    struct arena arena;
    if (scope->saved == NULL || !is_state(scope->saved, name))
        return err_new(ERR_RESOURCE_NOT_FOUND);
    remove_state(scope->saved, name);
    arena_init(&arena, ARENA_BYTES_MAX);
    struct err error = drop_kept(scope, &arena, name);
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
    assert(out != NULL);
    struct buf names = buf_in(arena);
    TRY(engine_partitions(store->engine, SPACE, STR_NONE, KEY_INFO, add_kept_name, &names));
    *out = buf_str(&names);
    return OK;
}
