/* SPDX-License-Identifier: Apache-2.0 */
/* Azurite's tables: one collection of tables, and one of entities for each, named ACCOUNT$TABLE. */
#include "core/guid.h"
#include "core/text/base64.h"
#include "import/azurite_internal.h"
#include "rest/table/json.h"

struct table_name {
    struct str account, table;
};

static struct err make_table(struct import *im, const struct table_name *name, struct str acl)
{
    struct table_create create = {.name = name->table};
    struct str tables = tables_partition(&im->arena, name->account);
    TRY(table_name_check(name->table));
    TRY(import_update(im, tables, table_create_table, &create));
    if (!str_given(acl))
        return OK;
    struct table_set_acl set = {.name = name->table, .acl = acl};
    return import_update(im, tables, table_set_table_acl, &set);
}

static void note_table(struct import *im, const struct table_name *name, struct err error)
{
    if (!err_is(error))
        report_count(im->report, IMPORT_TABLES, FATE_TAKEN);
    else if (error.code == ERR_TABLE_ALREADY_EXISTS)
        report_count(im->report, IMPORT_TABLES, FATE_THERE);
    else
        report_error(im->report, IMPORT_TABLES,
                     import_name(im, name->account, name->table, STR_NONE), error);
}

static void import_table(struct import *im, struct loki_span span)
{
    const struct node *node = import_document(im, span, IMPORT_TABLES);
    if (node == NULL)
        return;
    struct table_name name = {document_text(node, "account"), document_text(node, "table")};
    struct err error = account_name_ok(name.account)
                           ? OK
                           : err_detail(ERR_INVALID_INPUT, "its account has no valid name");
    if (!err_is(error))
        error = make_table(im, &name, import_policies(im, document_member(node, "tableAcl")));
    note_table(im, &name, error);
}

/* Azurite stores a Guid as the base64 of its text. */
static void put_guid(struct import *im, struct json_writer *w, struct str text)
{
    struct guid guid;
    struct str decoded;
    bool plain = guid_parse(text, &guid);
    if (!plain && base64_decode(&im->arena, text, &decoded) && guid_parse(decoded, &guid))
        json_string(w, decoded);
    else
        json_string(w, text);
}

static bool is_guid(struct import *im, const struct node *properties, struct str name)
{
    struct str annotation = arena_printf(&im->arena, "%.*s@odata.type", STR_ARG(name));
    for (const struct node *n = document_first(properties); n != NULL; n = n->next)
        if (str_eq(n->name, annotation))
            return str_eq(n->value.text, STR("Edm.Guid"));
    return false;
}

/* The properties as a client would send them. */
static struct str properties_json(struct import *im, const struct node *properties)
{
    struct str source = properties->source;
    if (str_find_str(source, STR("Edm.Guid")) == source.n)
        return source;
    struct buf out = buf_in(&im->arena);
    struct json_writer w = json_writer_of(&out);
    json_open(&w, '{');
    for (const struct node *n = document_first(properties); n != NULL; n = n->next) {
        json_name(&w, n->name);
        if (n->value.kind == JSON_STRING && is_guid(im, properties, n->name))
            put_guid(im, &w, n->value.text);
        else
            json_raw(&w, n->source);
    }
    json_close(&w, '}');
    return buf_str(&out);
}

static struct err insert_entity(struct import *im, const struct table_name *name,
                                const struct node *node, const struct entity_body *body)
{
    struct entity_change change = {
        .kind = CHANGE_INSERT,
        .ref = {name->account, table_name_lower(&im->arena, name->table)},
        .pk = document_text(node, "PartitionKey"),
        .rk = document_text(node, "RowKey"),
        .record = body->entity.record.p,
        .record_n = body->entity.record.n,
    };
    if (!str_given(change.pk) || !str_given(change.rk))
        return err_detail(ERR_CORRUPT, "it has no keys");
    TRY(key_check(change.pk));
    TRY(key_check(change.rk));
    TRY(entity_check_size(buf_str(&body->entity.record), change.pk, change.rk));
    struct str partition = table_entities_partition(&im->arena, &change.ref, change.pk);
    struct err error = import_update(im, partition, table_insert_entity, &change);
    if (error.code != ERR_TABLE_NOT_FOUND)
        return error;
    /* Its table's document is lost. */
    TRY(make_table(im, name, STR_NONE));
    report_count(im->report, IMPORT_TABLES, FATE_TAKEN);
    return import_update(im, partition, table_insert_entity, &change);
}

static void import_entity(struct import *im, const struct table_name *name, struct loki_span span)
{
    struct entity_body body;
    const struct node *node = import_document(im, span, IMPORT_ENTITIES);
    if (node == NULL)
        return;
    const struct node *properties = document_member(node, "properties");
    struct err error =
        properties == NULL || properties->value.kind != JSON_OBJECT
            ? err_detail(ERR_CORRUPT, "it has no properties")
            : rest_entity_from_json(&im->arena, properties_json(im, properties), &body);
    if (!err_is(error))
        error = insert_entity(im, name, node, &body);
    struct str keys = arena_printf(&im->arena, "%.*s(%.*s,%.*s)", STR_ARG(name->table),
                                   STR_ARG(document_text(node, "PartitionKey")),
                                   STR_ARG(document_text(node, "RowKey")));
    if (!err_is(error))
        report_count(im->report, IMPORT_ENTITIES, FATE_TAKEN);
    else if (error.code == ERR_ENTITY_ALREADY_EXISTS)
        report_count(im->report, IMPORT_ENTITIES, FATE_THERE);
    else
        report_error(im->report, IMPORT_ENTITIES, keys, error);
}

bool import_table_document(void *import, struct str collection, struct loki_span span)
{
    struct import *im = import;
    struct str rest = collection;
    arena_reset(&im->arena);
    if (str_eq(collection, STR("$TABLES_COLLECTION$"))) {
        import_table(im, span);
    } else if (str_eq(collection, STR("$SERVICES_COLLECTION$"))) {
        report_count(im->report, IMPORT_PROPERTIES, FATE_LEFT_OUT);
    } else {
        struct table_name name = {str_cut(&rest, '$'), rest};
        if (account_name_ok(name.account) && str_given(name.table))
            import_entity(im, &name, span);
    }
    return import_goes_on(im, "tables", span.offset, im->db_bytes);
}
