/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of tables and entities, and the rules for their names.
 *
 * The tables of an account are rows of one partition, "t/account", so that listing them is one
 * scan: "n" + the name in lower case → the table; "g" + id + name → a deleted table whose entities
 * have to be removed; "x" + the name in lower case → until when the name of a deleted table is
 * blocked.
 *
 * The entities of one PartitionKey are one partition, "e/account/table/PartitionKey", with the
 * table's name in lower case. Account and table have no '/', so the parts are unambiguous, and all
 * partitions of a table start with "e/account/table/". In it, a row's key is the table's id (8
 * bytes) and the RowKey. The id is new for each created table, so a table that reuses the name of a
 * deleted one begins empty; it is in the key rather than in the partition, so that a write knows
 * its partition from the request alone.
 *
 * Keys are in the order of their UTF-16 units: see name_to_key. */
#ifndef SERVICE_TABLE_NAMES_H
#define SERVICE_TABLE_NAMES_H

#include "core/arena.h"
#include "core/err.h"
#include "core/str.h"

enum {
    TABLE_NAME_BYTES_MIN = 3,
    TABLE_NAME_BYTES_MAX = 63,
    TABLE_ID_BYTES = 8,
    KEY_UNITS_MAX = 1024, /* of a PartitionKey or RowKey */
};

/* A table named by a request. */
struct table_ref {
    struct str account;
    struct str table; /* in lower case */
};

/* 3 to 63 letters and digits, a letter first, not "tables". ERR_INVALID_RESOURCE_NAME,
 * ERR_RESOURCE_NAME_LENGTH for the length, ERR_INVALID_INPUT for "tables". */
struct err table_name_check(struct str name);
/* In the arena. */
struct str table_name_lower(struct arena *a, struct str name);

/* PartitionKey or RowKey: any text of at most 1024 characters without '/', '\', '#', '?' and
 * control characters. ERR_OUT_OF_RANGE_INPUT, ERR_PROPERTY_VALUE_TOO_LARGE for the length. */
struct err key_check(struct str key);

struct str tables_partition(struct arena *a, struct str account);
/* Keys in that partition. */
struct str table_row_key(struct arena *a, struct str table);
struct str table_blocked_key(struct arena *a, struct str table);
struct str table_garbage_key(struct arena *a, uint64_t id, struct str table);

/* The prefix of all partitions of the table. */
struct str table_entities_prefix(struct arena *a, const struct table_ref *ref);
/* pk as in the request. */
struct str table_entities_partition(struct arena *a, const struct table_ref *ref, struct str pk);
/* rk in key form. */
struct str table_entity_key(struct arena *a, uint64_t id, struct str rk);

#endif
