/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and writes entities and tables as OData JSON. docs/protocol/facts.md §5.1. */
#ifndef REST_TABLE_JSON_H
#define REST_TABLE_JSON_H

#include "core/text/json.h"
#include "rest/table/format.h"
#include "service/table/entity.h"
#include "service/table/table.h"

/* An entity in a request body. */
struct entity_body {
    struct str pk, rk; /* absent if the body has none */
    struct entity_builder entity;
};

/* An empty body is an entity without properties. ERR_INVALID_INPUT for malformed JSON, another
 * structure or a value that does not fit its type, ERR_OUT_OF_RANGE_INPUT for a date, and the
 * errors of entity_add. */
struct err rest_entity_from_json(struct arena *a, struct str body, struct entity_body *out);
/* The TableName of Create Table's body; absent if there is none. ERR_INVALID_INPUT. */
struct err rest_table_name_from_json(struct arena *a, struct str body, struct str *out);

enum { SELECT_MAX = 256 };

/* How entities are shown. */
struct entity_view {
    enum table_metadata metadata;
    struct str endpoint; /* "http://host:port/account/" */
    struct str account;
    struct str table;         /* as the request names it */
    const struct str *select; /* the requested properties; NULL: all */
    size_t select_count;
};

/* The address of an entity: endpoint, or empty for a relative one. */
void rest_entity_put_address(struct buf *out, struct str endpoint, struct str table, struct str pk,
                             struct str rk);
/* `alone`: the whole body, not one of a list. */
void rest_entity_put_json(struct buf *out, const struct entity_view *view,
                          const struct entity_found *entity, bool alone);
/* {"odata.metadata":…,"value":[ — the caller adds the entities with commas between them, and ]}. */
void rest_entity_list_begin(struct buf *out, const struct entity_view *view);

void rest_table_put_json(struct buf *out, const struct entity_view *view, struct str name,
                         bool alone);
void rest_table_list_begin(struct buf *out, const struct entity_view *view);

#endif
