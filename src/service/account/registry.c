/* SPDX-License-Identifier: Apache-2.0 */
#include "service/account/registry.h"

#include <assert.h>
#include <openssl/crypto.h>

#include "core/guid.h"
#include "core/text/base64.h"
#include "engine/wait.h"
#include "service/common/records.h"

#define PARTITION STR("accounts")
enum { NEW_KEY_BYTES = 64, SCRATCH_BYTES = 4096 };

struct row {
    struct str name; /* the key */
    struct str keys[ACCOUNT_KEYS];
    bool hierarchical;
    bool deleted; /* only for the well-known account: do not serve it by default */
};

#define ROW(number, member) RECORD_MEMBER(struct row, number, member)
static const struct record_member MEMBERS[] = {
    ROW(1, keys[0]),
    ROW(2, keys[1]),
    ROW(3, deleted),
    ROW(4, hierarchical),
};
#undef ROW
const struct record_type ACCOUNT_RECORD = RECORD_TYPE(struct row, MEMBERS);

static struct str encode(struct arena *arena, const struct row *row)
{
    assert(row->deleted || str_given(row->keys[0]));
    struct buf b = buf_in(arena);
    record_write(&b, &ACCOUNT_RECORD, row);
    return buf_str(&b);
}

static struct err decode(struct str name, struct str value, struct row *out)
{
    *out = (struct row){.name = name};
    return record_read(value, &ACCOUNT_RECORD, out) ? OK : err_new(ERR_CORRUPT);
}

/* ---- loading ---- */

static struct err serve_row(struct registry *registry, const struct row *row)
{
    TRY(accounts_put(registry->accounts, row->name, row->keys[0], row->keys[1]));
    return row->hierarchical ? accounts_make_hierarchical(registry->accounts, row->name) : OK;
}

struct load {
    struct registry *registry;
    bool *well_known_deleted;
};

static struct err load_row(struct load *load, struct str name, struct str value)
{
    struct row row;
    TRY(decode(name, value, &row));
    if (row.deleted) {
        *load->well_known_deleted = true;
        return OK;
    }
    return serve_row(load->registry, &row);
}

static struct err load_all(struct txn *t, void *arg)
{
    struct cursor *c;
    TRY(cursor_open(t, STR(""), &c));
    struct err error = cursor_seek(c, STR(""));
    while (!err_is(error) && c->valid) {
        error = load_row(arg, c->key, c->value);
        if (!err_is(error))
            error = cursor_next(c);
    }
    cursor_close(c);
    return error;
}

struct err registry_load(struct registry *registry, bool *well_known_deleted)
{
    struct load load = {registry, well_known_deleted};
    *well_known_deleted = false;
    return store_read(registry->store, PARTITION, ENGINE_WAIT, load_all, &load);
}

/* ---- changing ---- */

struct change {
    struct row row;
    bool exists;       /* out: there was a row, not marked as deleted */
    bool must_exist;   /* ERR_RESOURCE_NOT_FOUND otherwise */
    bool must_not;     /* ERR_RESOURCE_ALREADY_EXISTS otherwise */
    bool remove;       /* take the row away */
    unsigned only_key; /* 1 or 2: the other key stays as it is */
};

static struct err apply(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct change *change = arg;
    struct row row = change->row, old = {0};
    struct str value;
    TRY(txn_get(t, row.name, &value));
    if (str_given(value))
        TRY(decode(row.name, value, &old));
    change->exists = str_given(value) && !old.deleted;
    if (change->must_exist && !change->exists)
        return err_new(ERR_RESOURCE_NOT_FOUND);
    if (change->must_not && change->exists)
        return err_new(ERR_RESOURCE_ALREADY_EXISTS);
    if (change->remove)
        return txn_del(t, row.name);
    if (change->only_key != 0 && change->exists)
        row.keys[2 - change->only_key] = old.keys[2 - change->only_key];
    row.hierarchical = row.hierarchical || (change->exists && old.hierarchical);
    return txn_put(t, row.name, encode(txn_arena(t), &row));
}

static struct err commit(struct registry *registry, struct change *change)
{
    return engine_update_wait(registry->store->engine, PARTITION, apply, change);
}

static struct str new_key(struct arena *arena)
{
    unsigned char bytes[NEW_KEY_BYTES];
    random_bytes(bytes, sizeof bytes);
    struct str text = base64_encode(arena, (struct str){(const char *)bytes, sizeof bytes});
    OPENSSL_cleanse(bytes, sizeof bytes);
    return text;
}

static bool is_well_known(struct str name)
{
    return str_eq(name, STR(ACCOUNT_WELL_KNOWN_NAME));
}

/* Checks the keys before anything is stored. */
static struct err check_new(const struct registry *registry, const struct row *row)
{
    struct accounts *trial = accounts_new();
    struct err error = accounts_put(trial, row->name, row->keys[0], row->keys[1]);
    accounts_free(trial);
    if (err_is(error))
        return error;
    if (registry->refuse_well_known_key && (str_eq(row->keys[0], STR(ACCOUNT_WELL_KNOWN_KEY)) ||
                                            str_eq(row->keys[1], STR(ACCOUNT_WELL_KNOWN_KEY))))
        return err_detail(ERR_INVALID_INPUT,
                          "Reason\tThe well-known key is served on loopback only.");
    struct account *served = accounts_get(registry->accounts, row->name);
    account_put(served);
    return served == NULL ? OK : err_new(ERR_RESOURCE_ALREADY_EXISTS);
}

struct err registry_add(struct registry *registry, const struct registry_new *account)
{
    struct arena scratch;
    arena_init(&scratch, SCRATCH_BYTES);
    struct change change = {.row = {.name = account->name,
                                    .keys = {account->key1, account->key2},
                                    .hierarchical = account->hierarchical},
                            .must_not = true};
    if (!str_given(account->key1)) {
        change.row.keys[0] = new_key(&scratch);
        change.row.keys[1] = new_key(&scratch);
    }
    struct err error = check_new(registry, &change.row);
    if (!err_is(error))
        error = commit(registry, &change);
    if (!err_is(error))
        error = serve_row(registry, &change.row);
    arena_release(&scratch);
    return error;
}

static struct err not_ours(void)
{
    return err_detail(ERR_INVALID_INPUT, "Reason\tThe account comes from AZURITE_ACCOUNTS or "
                                         "--accounts: change it there.");
}

/* The other key of an account that is served, for its first row. */
static struct err rotate(struct registry *registry, struct arena *scratch, struct str name,
                         unsigned which)
{
    struct account *served = accounts_get(registry->accounts, name);
    if (served == NULL)
        return err_new(ERR_RESOURCE_NOT_FOUND);
    unsigned other = 2 - which;
    struct change change = {.row = {.name = name}, .only_key = which};
    change.must_exist = !is_well_known(name);
    change.row.keys[which - 1] = new_key(scratch);
    if (served->key_count > other)
        change.row.keys[other] = arena_copy(scratch, served->keys_base64[other]);
    account_put(served);
    /* The first key cannot be absent. */
    if (!str_given(change.row.keys[0]))
        change.row.keys[0] = new_key(scratch);
    struct err error = commit(registry, &change);
    if (error.code == ERR_RESOURCE_NOT_FOUND)
        return not_ours();
    TRY(error);
    return accounts_put(registry->accounts, name, change.row.keys[0], change.row.keys[1]);
}

struct err registry_rotate_key(struct registry *registry, struct str name, unsigned which)
{
    struct arena scratch;
    if (which != 1 && which != 2)
        return err_detail(ERR_INVALID_INPUT, "Reason\tThe key is 1 or 2.");
    arena_init(&scratch, SCRATCH_BYTES);
    struct err error = rotate(registry, &scratch, name, which);
    arena_release(&scratch);
    return error;
}

struct err registry_delete(struct registry *registry, struct str name)
{
    struct account *served = accounts_get(registry->accounts, name);
    bool known = served != NULL;
    account_put(served);
    if (!known)
        return err_new(ERR_RESOURCE_NOT_FOUND);
    bool mark = is_well_known(name);
    struct change change = {
        .row = {.name = name, .deleted = mark}, .remove = !mark, .must_exist = !mark};
    struct err error = commit(registry, &change);
    if (error.code == ERR_RESOURCE_NOT_FOUND)
        return not_ours();
    TRY(error);
    return accounts_remove(registry->accounts, name);
}

/* ---- what other servers change ---- */

static struct err copy_rows(struct txn *t, void *arg)
{
    struct buf *rows = arg;
    struct cursor *c;
    buf_clear(rows);
    TRY(cursor_open(t, STR(""), &c));
    struct err error = OK;
    while (!err_is(error) && c->valid) {
        buf_put_bytes(rows, c->key);
        buf_put_bytes(rows, c->value);
        error = cursor_next(c);
    }
    cursor_close(c);
    return error;
}

static void buf_erase(struct buf *b)
{
    if (b->p != NULL)
        OPENSSL_cleanse(b->p, b->capacity);
    buf_release(b);
}

struct err registry_follower_init(struct registry_follower *f, struct registry *registry)
{
    *f = (struct registry_follower){.registry = registry, .seen = buf_heap()};
    return store_read(registry->store, PARTITION, ENGINE_WAIT, copy_rows, &f->seen);
}

void registry_follower_release(struct registry_follower *f)
{
    buf_erase(&f->seen);
}

/* The value of the row of that name; absent if there is none. */
static struct str find_row(struct str rows, struct str name)
{
    struct reader r = reader_of(rows);
    while (r.n > 0 && reader_ok(&r)) {
        struct str key = read_bytes(&r);
        struct str value = read_bytes(&r);
        if (str_eq(key, name))
            return value;
    }
    return STR_NONE;
}

static struct err stop_serving(struct registry *registry, struct str name)
{
    struct err error = accounts_remove(registry->accounts, name);
    return error.code == ERR_RESOURCE_NOT_FOUND ? OK : error;
}

/* Returns true if the account is already served exactly like this: then this server made the
 * change. */
static bool is_served(struct registry *registry, const struct row *row)
{
    struct account *served = accounts_get(registry->accounts, row->name);
    bool same = served != NULL && str_eq(served->keys_base64[0], row->keys[0]) &&
                served->key_count == (str_given(row->keys[1]) && row->keys[1].n > 0 ? 2U : 1U) &&
                (served->key_count == 1 || str_eq(served->keys_base64[1], row->keys[1])) &&
                served->hierarchical == row->hierarchical;
    account_put(served);
    return same;
}

static struct err follow_row(struct registry *registry, struct str name, struct str value)
{
    struct row row;
    TRY(decode(name, value, &row));
    if (row.deleted)
        return stop_serving(registry, name);
    if (registry->refuse_well_known_key && (str_eq(row.keys[0], STR(ACCOUNT_WELL_KNOWN_KEY)) ||
                                            str_eq(row.keys[1], STR(ACCOUNT_WELL_KNOWN_KEY))))
        return stop_serving(registry, name);
    return is_served(registry, &row) ? OK : serve_row(registry, &row);
}

static struct err follow_changes(struct registry *registry, struct str old, struct str new)
{
    struct reader r = reader_of(new);
    while (r.n > 0 && reader_ok(&r)) {
        struct str name = read_bytes(&r);
        struct str value = read_bytes(&r);
        struct str before = find_row(old, name);
        if (!str_given(before) || !str_eq(before, value))
            TRY(follow_row(registry, name, value));
    }
    r = reader_of(old);
    while (r.n > 0 && reader_ok(&r)) {
        struct str name = read_bytes(&r);
        (void)read_bytes(&r);
        if (!str_given(find_row(new, name)))
            TRY(stop_serving(registry, name));
    }
    return OK;
}

struct err registry_follow(struct store *store, void *context, struct sweep_report *report)
{
    struct registry_follower *f = context;
    struct buf rows = buf_heap();
    (void)report;
    struct err error = store_read(store, PARTITION, ENGINE_WAIT, copy_rows, &rows);
    if (err_is(error) || str_eq(buf_str(&rows), buf_str(&f->seen))) {
        buf_erase(&rows);
        return error;
    }
    error = follow_changes(f->registry, buf_str(&f->seen), buf_str(&rows));
    buf_erase(&f->seen);
    f->seen = rows;
    return error;
}
