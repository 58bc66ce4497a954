/* SPDX-License-Identifier: Apache-2.0 */
/* Inside rest/: decode and encode of the table operations, as ops_table.c names them, and what they
 * share. */
#ifndef REST_TABLE_REST_H
#define REST_TABLE_REST_H

#include "rest/call.h"
#include "rest/table/json.h"

enum {
    TABLE_BODY_MAX = 4 << 20,
    /* The number of rows that a query examines on the event loop before it moves to the pool: about
       half a millisecond. */
    TABLE_LOOP_ROWS = 1024,
};

/* The table that the request names. ERR_INVALID_RESOURCE_NAME and the like. */
struct err rest_table_ref(struct rest_call *call, struct table_ref *out);
/* $top, of a query of entities or tables; TABLE_PAGE_MAX if it is not given. 0 asks for none. */
struct err rest_table_read_top(struct rest_call *call, unsigned *out);
/* The form in which the request wants its entities, without a $select. */
struct err rest_table_view_of(struct rest_call *call, struct entity_view *out);
/* 403 unless the request's credentials permit the table and the keys. */
struct err rest_table_permit_keys(struct rest_call *call, struct str pk, struct str rk);
struct key_clip rest_table_clip_of(const struct rest_call *call);

typedef struct err rest_table_fn(struct rest_call *call);

/* table.c */
rest_table_fn rest_query_tables_decode, rest_query_tables_encode;
rest_table_fn rest_get_table_decode, rest_get_table_encode;
rest_table_fn rest_create_table_decode, rest_create_table_encode;
rest_table_fn rest_delete_table_decode, rest_delete_table_encode;
rest_table_fn rest_get_table_acl_decode, rest_get_table_acl_encode;
rest_table_fn rest_set_table_acl_decode, rest_set_table_acl_encode;

/* entity.c; the args of all that change an entity begin with its struct entity_change */
rest_table_fn rest_insert_entity_decode, rest_insert_entity_encode;
rest_table_fn rest_update_entity_decode, rest_merge_entity_decode, rest_delete_entity_decode;
rest_table_fn rest_insert_or_replace_entity_decode, rest_insert_or_merge_entity_decode;
rest_table_fn rest_change_entity_encode, rest_delete_entity_encode;

/* query.c */
rest_table_fn rest_query_entity_decode, rest_query_entity_encode;
rest_table_fn rest_query_entities_decode, rest_query_entities_encode;

/* batch.c */
rest_table_fn rest_entity_group_transaction_decode, rest_entity_group_transaction_start;
rest_table_fn rest_entity_group_transaction_encode;

#endif
