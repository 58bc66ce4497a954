/* SPDX-License-Identifier: Apache-2.0 */
/* The table operations, one row each. docs/protocol/facts.md §5.3, §3.8. */
#include "rest/policy_xml.h"
#include "rest/service_properties.h"
#include "rest/table/rest.h"
#include "service/table/table.h"

// clang-format off
static const struct op ROWS[] = {
    /* the service */
    {.name = "SetTableServiceProperties", OP_SET_SERVICE_PROPERTIES},
    {.name = "GetTableServiceProperties", OP_GET_SERVICE_PROPERTIES},
    {.name = "GetTableServiceStats", OP_GET_SERVICE_STATS},

    /* tables */
    {.name = "QueryTables", .methods = M_GET, .resource = R_TABLES,
     .account_sas = "l", .account_sas_type = 'c', .conditions = COND_IGNORED,
     .mode = MODE_READ, .decode = rest_query_tables_decode, .run = table_query_tables,
     .encode = rest_query_tables_encode},
    {.name = "GetTable", .methods = M_GET, .resource = R_TABLE,
     .account_sas = "l", .account_sas_type = 'c', .conditions = COND_IGNORED,
     .mode = MODE_READ, .decode = rest_get_table_decode, .run = table_get_table, .encode = rest_get_table_encode},
    {.name = "CreateTable", .methods = M_POST, .resource = R_TABLES,
     .account_sas = "cw", .account_sas_type = 'c', .conditions = COND_IGNORED,
     .body = BODY_SMALL, .body_max = TABLE_BODY_MAX,
     .mode = MODE_WRITE, .decode = rest_create_table_decode, .run = table_create_table,
     .encode = rest_create_table_encode},
    {.name = "DeleteTable", .methods = M_DELETE, .resource = R_TABLE,
     .account_sas = "d", .account_sas_type = 'c', .conditions = COND_IGNORED,
     .mode = MODE_WRITE, .decode = rest_delete_table_decode, .run = table_delete_table,
     .encode = rest_delete_table_encode},
    /* Neither kind of SAS permits the ACL. */
    {.name = "GetTableACL", .methods = M_GET | M_HEAD, .resource = R_ENTITIES, .comp = "acl",
     .conditions = COND_IGNORED,
     .mode = MODE_READ, .decode = rest_get_table_acl_decode, .run = table_get_table_acl,
     .encode = rest_get_table_acl_encode},
    {.name = "SetTableACL", .methods = M_PUT, .resource = R_ENTITIES, .comp = "acl",
     .conditions = COND_IGNORED, .body = BODY_SMALL, .body_max = POLICY_BODY_MAX,
     .mode = MODE_WRITE, .decode = rest_set_table_acl_decode, .run = table_set_table_acl,
     .encode = rest_set_table_acl_encode},

    /* entities */
    {.name = "QueryEntities", .methods = M_GET, .resource = R_ENTITIES,
     .account_sas = "r", .account_sas_type = 'o', .service_sas = "r", .conditions = COND_IGNORED,
     .mode = MODE_READ, .decode = rest_query_entities_decode, .run = table_query_entities,
     .encode = rest_query_entities_encode},
    {.name = "QueryEntity", .methods = M_GET, .resource = R_ENTITY,
     .account_sas = "r", .account_sas_type = 'o', .service_sas = "r", .conditions = COND_IGNORED,
     .mode = MODE_READ, .decode = rest_query_entity_decode, .run = table_get_entity,
     .encode = rest_query_entity_encode},
    {.name = "InsertEntity", .methods = M_POST, .resource = R_ENTITIES,
     .account_sas = "a", .account_sas_type = 'o', .service_sas = "a", .conditions = COND_IGNORED,
     .body = BODY_SMALL, .body_max = TABLE_BODY_MAX,
     .mode = MODE_WRITE, .decode = rest_insert_entity_decode, .run = table_insert_entity,
     .encode = rest_insert_entity_encode},
    {.name = "UpdateEntity", .methods = M_PUT, .resource = R_ENTITY, .header = "If-Match",
     .account_sas = "u", .account_sas_type = 'o', .service_sas = "u", .conditions = COND_IGNORED,
     .body = BODY_SMALL, .body_max = TABLE_BODY_MAX,
     .mode = MODE_WRITE, .decode = rest_update_entity_decode, .run = table_update_entity,
     .encode = rest_change_entity_encode},
    {.name = "InsertOrReplaceEntity", .methods = M_PUT, .resource = R_ENTITY,
     .account_sas = "a+u", .account_sas_type = 'o', .service_sas = "a+u", .conditions = COND_IGNORED,
     .body = BODY_SMALL, .body_max = TABLE_BODY_MAX,
     .mode = MODE_WRITE, .decode = rest_insert_or_replace_entity_decode, .run = table_insert_or_replace_entity,
     .encode = rest_change_entity_encode},
    {.name = "MergeEntity", .methods = M_MERGE | M_PATCH, .resource = R_ENTITY, .header = "If-Match",
     .account_sas = "u", .account_sas_type = 'o', .service_sas = "u", .conditions = COND_IGNORED,
     .body = BODY_SMALL, .body_max = TABLE_BODY_MAX,
     .mode = MODE_WRITE, .decode = rest_merge_entity_decode, .run = table_merge_entity,
     .encode = rest_change_entity_encode},
    {.name = "InsertOrMergeEntity", .methods = M_MERGE | M_PATCH, .resource = R_ENTITY,
     .account_sas = "a+u", .account_sas_type = 'o', .service_sas = "a+u", .conditions = COND_IGNORED,
     .body = BODY_SMALL, .body_max = TABLE_BODY_MAX,
     .mode = MODE_WRITE, .decode = rest_insert_or_merge_entity_decode, .run = table_insert_or_merge_entity,
     .encode = rest_change_entity_encode},
    {.name = "DeleteEntity", .methods = M_DELETE, .resource = R_ENTITY,
     .account_sas = "d", .account_sas_type = 'o', .service_sas = "d", .conditions = COND_IGNORED,
     .mode = MODE_WRITE, .decode = rest_delete_entity_decode, .run = table_delete_entity,
     .encode = rest_delete_entity_encode},
    /* Each part requires its own letters. */
    {.name = "EntityGroupTransaction", .methods = M_POST, .resource = R_BATCH,
     .account_sas = "raud", .account_sas_type = 'o', .service_sas = "raud", .conditions = COND_IGNORED,
     .body = BODY_SMALL, .body_max = TABLE_BODY_MAX,
     .mode = MODE_START, .decode = rest_entity_group_transaction_decode,
     .start = rest_entity_group_transaction_start, .encode = rest_entity_group_transaction_encode},
};
// clang-format on

const struct op_table OPS_TABLE = {ROWS, sizeof ROWS / sizeof ROWS[0]};
