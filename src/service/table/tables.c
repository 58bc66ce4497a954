/* SPDX-License-Identifier: Apache-2.0 */
/* Tables themselves: making, deleting, listing, their access policies. */
#include <assert.h>

#include "service/common/record.h"
#include "service/table/entity.h"
#include "service/table/table_internal.h"

enum { FIELD_ID = 1, FIELD_NAME = 2, FIELD_ACL = 3 };

bool table_decode(struct str row, struct table *out)
{
    struct reader r = reader_of(row);
    struct record_field field;
    *out = (struct table){0};
    while (record_next(&r, &field)) {
        if (field.number == FIELD_ID)
            out->id = field.value;
        else if (field.number == FIELD_NAME)
            out->name = field.bytes;
        else if (field.number == FIELD_ACL)
            out->acl = field.bytes;
    }
    return reader_ok(&r) && out->id != 0 && str_given(out->name);
}

static struct err put_table(struct txn *t, struct str key, const struct table *table)
{
    struct buf row = buf_in(txn_arena(t));
    record_put(&row, FIELD_ID, table->id);
    record_put_bytes(&row, FIELD_NAME, table->name);
    record_put_bytes(&row, FIELD_ACL, table->acl);
    return txn_put(t, key, buf_str(&row));
}

static struct str table_key(struct txn *t, struct str name)
{
    return place_table_key(txn_arena(t), table_name_lower(txn_arena(t), name));
}

/* missing: the error when there is no such table. */
static struct err load_table(struct txn *t, struct str key, enum err_code missing,
                             struct table *out)
{
    struct str row;
    TRY(txn_get(t, key, &row));
    if (!str_given(row))
        return err_new(missing);
    return table_decode(row, out) ? OK : err_new(ERR_CORRUPT);
}

struct err table_find(struct txn *t, const struct table_place *place, uint64_t *id)
{
    struct str row;
    struct table table;
    struct arena *a = txn_arena(t);
    TRY(txn_peek(t, place_tables(a, place->account), place_table_key(a, place->table), &row));
    if (!str_given(row))
        return err_new(ERR_TABLE_NOT_FOUND);
    if (!table_decode(row, &table))
        return err_new(ERR_CORRUPT);
    *id = table.id;
    return OK;
}

struct err table_create_table(struct txn *t, void *arg)
{
    struct table_create *create = arg;
    struct str key = table_key(t, create->name);
    struct str row;
    TRY(txn_get(t, key, &row));
    if (str_given(row))
        return err_new(ERR_TABLE_ALREADY_EXISTS);
    struct table table = {.id = (uint64_t)txn_stamp(t), .name = create->name};
    return put_table(t, key, &table);
}

struct err table_delete_table(struct txn *t, void *arg)
{
    struct table_delete *delete = arg;
    struct arena *a = txn_arena(t);
    struct str key = table_key(t, delete->name);
    struct table table;
    TRY(load_table(t, key, ERR_RESOURCE_NOT_FOUND, &table));
    struct str garbage = place_garbage_key(a, table.id, table_name_lower(a, delete->name));
    TRY(txn_put(t, garbage, STR("")));
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
    struct table_set_acl *set = arg;
    struct str key = table_key(t, set->name);
    struct table table;
    TRY(load_table(t, key, ERR_TABLE_NOT_FOUND, &table));
    table.acl = set->acl;
    return put_table(t, key, &table);
}

/* ---- listing ---- */

/* A table passes as an entity would that has its name for a property. */
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
    for (; cursor_valid(c);) {
        struct table table;
        bool passes;
        if (!table_decode(cursor_value(c), &table))
            return err_new(ERR_CORRUPT);
        TRY(table_passes(txn_arena(t), list->filter, table.name, &passes));
        if (passes && list->count == list->top) {
            list->next = arena_copy(list->arena, str_from(cursor_key(c), 1));
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
    assert(list->top >= 1 && list->top <= TABLE_PAGE_MAX);
    list->names = ARENA_ARRAY(list->arena, struct str, list->top);
    list->count = 0;
    list->next = STR_NONE;
    TRY(cursor_open(t, place_table_key(txn_arena(t), STR("")), &c));
    struct err error = cursor_seek(c, place_table_key(txn_arena(t), list->from));
    if (!err_is(error))
        error = list_on(t, list, c);
    cursor_close(c);
    return error;
}
