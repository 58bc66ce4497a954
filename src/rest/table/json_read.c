/* SPDX-License-Identifier: Apache-2.0 */
/* Entities from OData JSON. */
#include <assert.h>

#include "rest/table/json.h"

/* A property may come before or after its annotation ("name@odata.type"), so both are collected
 * first. */
struct member {
    struct str name;
    struct str type; /* absent: not annotated */
    struct json_value value;
    bool given;
};

/* Half of them may be annotations without a property, which are ignored. */
enum { MEMBERS_MAX = 2 * (ENTITY_PROPERTIES_MAX + 3) };

struct members {
    size_t count;
    struct member items[MEMBERS_MAX];
};

static struct err bad_json(void)
{
    return err_new(ERR_INVALID_INPUT);
}

/* Returns the one of that name, or a new one; NULL if there are too many. An annotation and its
 * property are usually adjacent. */
static struct member *member_named(struct members *m, struct str name)
{
    for (size_t i = m->count; i > 0; i--)
        if (str_eq(m->items[i - 1].name, name))
            return &m->items[i - 1];
    if (m->count == MEMBERS_MAX)
        return NULL;
    struct member *member = &m->items[m->count++];
    *member = (struct member){.name = name};
    return member;
}

/* Returns the part before "@odata." of an annotation; absent if it is none. */
static struct str annotated_name(struct str name, struct str *annotation)
{
    size_t at = str_find(name, '@', 0);
    if (at == name.n)
        return STR_NONE;
    *annotation = str_from(name, at + 1);
    return str_head(name, at);
}

static struct err read_annotation(struct json_reader *r, struct members *m, struct str name,
                                  struct str annotation)
{
    struct json_value value = json_value(r);
    if (!str_eq(annotation, STR("odata.type"))) {
        json_skip(r, value);
        return OK;
    }
    struct member *member = member_named(m, name);
    if (member == NULL)
        return err_new(ERR_TOO_MANY_PROPERTIES);
    if (value.kind != JSON_STRING)
        return bad_json();
    if (str_given(member->type))
        return err_new(ERR_DUPLICATE_PROPERTIES_SPECIFIED);
    member->type = value.text;
    return OK;
}

static struct err read_member(struct json_reader *r, struct members *m, struct str name)
{
    struct str annotation;
    struct str annotated = annotated_name(name, &annotation);
    if (str_given(annotated))
        return read_annotation(r, m, annotated, annotation);
    struct json_value value = json_value(r);
    /* Only the service sets odata.metadata, odata.etag and the like. */
    if (str_starts(name, STR("odata."))) {
        json_skip(r, value);
        return OK;
    }
    if (value.kind == JSON_OBJECT || value.kind == JSON_ARRAY || value.kind == JSON_NONE)
        return bad_json();
    struct member *member = member_named(m, name);
    if (member == NULL)
        return err_new(ERR_TOO_MANY_PROPERTIES);
    if (member->given)
        return err_new(ERR_DUPLICATE_PROPERTIES_SPECIFIED);
    member->given = true;
    member->value = value;
    return OK;
}

static struct err read_members(struct arena *a, struct str body, struct members *m)
{
    struct json_reader r = json_reader_of(a, body);
    struct str name;
    m->count = 0;
    if (json_value(&r).kind != JSON_OBJECT)
        return bad_json();
    while (json_member(&r, &name))
        TRY(read_member(&r, m, name));
    return json_done(&r) ? OK : bad_json();
}

/* ---- values ---- */

/* A number without a type is Int32 if it fits, else Double: the OData library that the service is
 * built on did so, and clients expect it. */
static struct err untyped_value(struct arena *a, const struct json_value *value,
                                struct edm_value *out)
{
    int64_t integer;
    switch (value->kind) {
    case JSON_STRING:
        *out = (struct edm_value){EDM_STRING, value->text};
        return OK;
    case JSON_BOOL:
        *out = edm_from_boolean(a, value->boolean);
        return OK;
    case JSON_INTEGER:
        if (str_to_i64(value->text, &integer) && integer >= INT32_MIN && integer <= INT32_MAX) {
            *out = edm_from_int32(a, (int32_t)integer);
            return OK;
        }
        return edm_parse(a, EDM_DOUBLE, value->text, out);
    case JSON_REAL:
        return edm_parse(a, EDM_DOUBLE, value->text, out);
    case JSON_NULL:
    case JSON_OBJECT:
    case JSON_ARRAY:
    case JSON_NONE:
        break;
    }
    return bad_json();
}

/* Every type may be written as a string, which the OData library accepts. */
static struct err typed_value(struct arena *a, enum edm_type type, const struct json_value *value,
                              struct edm_value *out)
{
    bool integer = value->kind == JSON_INTEGER;
    bool number = integer || value->kind == JSON_REAL;
    if (value->kind == JSON_STRING || (integer && (type == EDM_INT32 || type == EDM_INT64)) ||
        (number && type == EDM_DOUBLE))
        return edm_parse(a, type, value->text, out);
    if (value->kind != JSON_BOOL || type != EDM_BOOLEAN)
        return bad_json();
    *out = edm_from_boolean(a, value->boolean);
    return OK;
}

static struct err member_value(struct arena *a, const struct member *member, struct edm_value *out)
{
    enum edm_type type;
    if (!str_given(member->type))
        return untyped_value(a, &member->value, out);
    if (!edm_type_named(member->type, &type))
        return bad_json();
    return typed_value(a, type, &member->value, out);
}

static struct err take_key(const struct member *member, struct str *out)
{
    if (member->value.kind == JSON_NULL)
        return OK;
    bool other_type = str_given(member->type) && !str_eq(member->type, STR("Edm.String"));
    if (member->value.kind != JSON_STRING || other_type)
        return bad_json();
    *out = member->value.text;
    return OK;
}

static struct err take_member(struct arena *a, const struct member *member, struct entity_body *out)
{
    struct edm_value value;
    if (str_eq(member->name, STR("PartitionKey")))
        return take_key(member, &out->pk);
    if (str_eq(member->name, STR("RowKey")))
        return take_key(member, &out->rk);
    /* Only the service sets the Timestamp, and null means an absent property. */
    if (str_eq(member->name, STR("Timestamp")) || member->value.kind == JSON_NULL)
        return OK;
    TRY(member_value(a, member, &value));
    return entity_add(&out->entity, member->name, value);
}

struct err rest_entity_from_json(struct arena *a, struct str body, struct entity_body *out)
{
    assert(out != NULL);
    struct members members;
    *out = (struct entity_body){.pk = STR_NONE};
    entity_begin(&out->entity, a);
    if (body.n == 0)
        return OK;
    TRY(read_members(a, body, &members));
    for (size_t i = 0; i < members.count; i++)
        if (members.items[i].given)
            TRY(take_member(a, &members.items[i], out));
    return OK;
}

struct err rest_table_name_from_json(struct arena *a, struct str body, struct str *out)
{
    assert(out != NULL);
    struct members members;
    *out = STR_NONE;
    TRY(read_members(a, body, &members));
    for (size_t i = 0; i < members.count; i++)
        if (members.items[i].given && str_eq(members.items[i].name, STR("TableName")))
            TRY(take_key(&members.items[i], out));
    return OK;
}
