/* SPDX-License-Identifier: Apache-2.0 */
/* Tables themselves: creating, deleting, listing, their access policies. */
#include <assert.h>

#include "service/common/records.h"
#include "service/common/rows.h"
#include "service/table/entity.h"
#include "service/table/table_internal.h"

enum { TABLE_UNBLOCKED_AT_ONCE_MAX = 8 }; /* rows that one table deletion removes */

#define TABLE(number, member) RECORD_MEMBER(struct table, number, member)
static const struct record_member TABLE_MEMBERS[] = {
    TABLE(1, id),
    TABLE(2, name),
    TABLE(3, acl),
};
#undef TABLE
const struct record_type TABLE_RECORD = RECORD_TYPE(struct table, TABLE_MEMBERS);

/* The row of a name that cannot be reused yet. */
struct blocked {
    int64_t until;
};
static const struct record_member BLOCKED_MEMBERS[] = {RECORD_MEMBER(struct blocked, 1, until)};
const struct record_type TABLE_BLOCKED_RECORD = RECORD_TYPE(struct blocked, BLOCKED_MEMBERS);

bool table_decode(struct str row, struct table *out)
{
    assert(out != NULL);
    *out = (struct table){0};
    return record_read(row, &TABLE_RECORD, out) && out->id != 0 && str_given(out->name);
}

static struct err put_table(struct txn *t, struct str key, const struct table *table)
{
    assert(table->id != 0 && str_given(table->name));
    struct buf row = buf_in(txn_arena(t));
    record_write(&row, &TABLE_RECORD, table);
    return txn_put(t, key, buf_str(&row));
}

static struct str table_key(struct txn *t, struct str name)
{
    return table_row_key(txn_arena(t), table_name_lower(txn_arena(t), name));
}

/* missing: the error if there is no such table. */
static struct err load_table(struct txn *t, struct str key, enum err_code missing,
                             struct table *out)
{
    struct str row;
    TRY(txn_get(t, key, &row));
    if (!str_given(row))
        return err_new(missing);
    return table_decode(row, out) ? OK : err_new(ERR_CORRUPT);
}

struct err table_find(struct txn *t, const struct table_ref *ref, uint64_t *id)
{
    struct str row;
    struct table table;
    struct arena *a = txn_arena(t);
    TRY(row_get_in(t, tables_partition(a, ref->account), table_row_key(a, ref->table), &row));
    if (!str_given(row))
        return err_new(ERR_TABLE_NOT_FOUND);
    if (!table_decode(row, &table))
        return err_new(ERR_CORRUPT);
    *id = table.id;
    return OK;
}

/* ---- names that stay taken for a while ---- */

static struct str blocked_key(struct txn *t, struct str name)
{
    return table_blocked_key(txn_arena(t), table_name_lower(txn_arena(t), name));
}

static struct err blocked_decode(struct str row, int64_t *until)
{
    struct blocked blocked = {0};
    if (!record_read(row, &TABLE_BLOCKED_RECORD, &blocked))
        return err_new(ERR_CORRUPT);
    *until = blocked.until;
    return OK;
}

/* ERR_TABLE_BEING_DELETED while the name is blocked; removes the row when the time is over. */
static struct err take_name(struct txn *t, struct str key, struct str row)
{
    int64_t until;
    if (!str_given(row))
        return OK;
    TRY(blocked_decode(row, &until));
    return until > txn_now(t) ? err_new(ERR_TABLE_BEING_DELETED) : txn_del(t, key);
}

/* Each deletion that adds a row removes some expired ones, so that they do not accumulate. */
static struct err unblock_some(struct txn *t, struct cursor *c)
{
    for (unsigned i = 0; i < TABLE_UNBLOCKED_AT_ONCE_MAX && c->valid; i++) {
        int64_t until;
        TRY(blocked_decode(c->value, &until));
        if (until <= txn_now(t))
            TRY(txn_del(t, arena_copy(txn_arena(t), c->key)));
        TRY(cursor_next(c));
    }
    return OK;
}

static struct err block_name(struct txn *t, struct str name, int64_t ticks)
{
    struct buf row = buf_in(txn_arena(t));
    struct cursor *c;
    if (ticks <= 0)
        return OK;
    TRY(cursor_open(t, table_blocked_key(txn_arena(t), STR("")), &c));
    struct err error = unblock_some(t, c);
    cursor_close(c);
    TRY(error);
    struct blocked blocked = {txn_now(t) + ticks};
    record_write(&row, &TABLE_BLOCKED_RECORD, &blocked);
    return txn_put(t, blocked_key(t, name), buf_str(&row));
}

/* ---- making and deleting ---- */

struct err table_create_table(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct table_create *create = arg;
    struct engine_read reads[] = {{.key = table_key(t, create->name)},
                                  {.key = blocked_key(t, create->name)}};
    TRY(txn_get_many(t, reads, 2));
    if (str_given(reads[0].value))
        return err_new(ERR_TABLE_ALREADY_EXISTS);
    TRY(take_name(t, reads[1].key, reads[1].value));
    struct table table = {.id = (uint64_t)txn_stamp(t), .name = create->name};
    return put_table(t, reads[0].key, &table);
}

struct err table_delete_table(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct table_delete *delete = arg;
    struct arena *a = txn_arena(t);
    struct str key = table_key(t, delete->name);
    struct table table;
    TRY(load_table(t, key, ERR_RESOURCE_NOT_FOUND, &table));
    struct str garbage = table_garbage_key(a, table.id, table_name_lower(a, delete->name));
    TRY(txn_put(t, garbage, STR("")));
    TRY(block_name(t, delete->name, delete->blocked_ticks));
    return txn_del(t, key);
}

static struct err get_table(struct txn *t, struct table_get *get, enum err_code missing)
{
    struct table table;
    TRY(load_table(t, table_key(t, get->name), missing, &table));
    get->table = (struct table){
        .id = table.id,
        .name = arena_copy(get->arena, table.name),
        .acl = arena_copy(get->arena, table.acl),
    };
    return OK;
}

struct err table_get_table(struct txn *t, void *arg)
{
    return get_table(t, arg, ERR_RESOURCE_NOT_FOUND);
}

struct err table_get_table_acl(struct txn *t, void *arg)
{
    return get_table(t, arg, ERR_TABLE_NOT_FOUND);
}

struct err table_set_table_acl(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct table_set_acl *set = arg;
    struct str key = table_key(t, set->name);
    struct table table;
    TRY(load_table(t, key, ERR_TABLE_NOT_FOUND, &table));
    table.acl = set->acl;
    return put_table(t, key, &table);
}

/* ---- listing ---- */

/* A table passes like an entity that has its name as a property. */
static struct err table_passes(struct arena *a, const struct filter *filter, struct str name,
                               bool *out)
{
    struct entity_builder b;
    *out = true;
    if (filter == NULL)
        return OK;
    entity_begin(&b, a);
    TRY(entity_add(&b, STR("TableName"), (struct edm_value){EDM_STRING, name}));
    struct filter_row row = {STR(""), STR(""), buf_str(&b.record)};
    return filter_match(filter, &row, out);
}

static struct err list_on(struct txn *t, struct table_list *list, struct cursor *c)
{
    for (; c->valid;) {
        struct table table;
        bool passes;
        if (!table_decode(c->value, &table))
            return err_new(ERR_CORRUPT);
        TRY(table_passes(txn_arena(t), list->filter, table.name, &passes));
        if (passes && list->count == list->top) {
            list->next = arena_copy(list->arena, str_from(c->key, 1));
            return OK;
        }
        if (passes)
            list->names[list->count++] = arena_copy(list->arena, table.name);
        TRY(cursor_next(c));
    }
    return OK;
}

struct err table_query_tables(struct txn *t, void *arg)
{
    struct table_list *list = arg;
    struct cursor *c;
    assert(list->top <= TABLE_PAGE_MAX);
    list->names = ARENA_ARRAY(list->arena, struct str, list->top);
    list->count = 0;
    list->next = STR_NONE;
    if (list->top == 0)
        return OK;
    TRY(cursor_open(t, table_row_key(txn_arena(t), STR("")), &c));
    struct err error = cursor_seek(c, table_row_key(txn_arena(t), list->from));
    if (!err_is(error))
        error = list_on(t, list, c);
    cursor_close(c);
    return error;
}
