/* SPDX-License-Identifier: Apache-2.0 */
/* The table service's transactions. Each is an engine_fn whose argument is the struct named beside
 * it; the results are in that struct's last part and in the arena it names. */
#ifndef SERVICE_TABLE_TABLE_H
#define SERVICE_TABLE_TABLE_H

#include "engine/engine.h"
#include "service/common/verdict.h"
#include "service/table/bounds.h"
#include "service/table/filter.h"
#include "service/table/names.h"

enum { TABLE_PAGE_MAX = 1000, TABLE_PAGE_BYTES_MAX = 4 << 20, TABLE_PAGE_MS_MAX = 5000 };

/* ---- tables: the partition is tables_partition(account) ---- */

/* A table's row. */
struct table {
    uint64_t id;     /* see names.h */
    struct str name; /* as it was made */
    struct str acl;  /* encoded access policies; absent if there are none */
};

/* Borrowed from the row. */
bool table_decode(struct str row, struct table *out);

struct table_create {
    struct str name; /* checked */
};
/* ERR_TABLE_ALREADY_EXISTS; ERR_TABLE_BEING_DELETED: see table_delete. */
struct err table_create_table(struct txn *t, void *arg);

struct table_delete {
    struct str name;
    int64_t blocked_ticks; /* how long the name cannot be reused; 0: it is free at once */
};
/* The table disappears at once; the sweeper removes its entities. ERR_RESOURCE_NOT_FOUND. */
struct err table_delete_table(struct txn *t, void *arg);

/* A page of the account's tables in the order of their names, or one table. */
struct table_list {
    struct arena *arena;
    const struct filter *filter; /* over TableName; NULL: all */
    struct str from;             /* a name in lower case to begin at; empty: from the first */
    unsigned top;

    struct str *names;
    size_t count;
    struct str next; /* absent: that was the last page */
};
struct err table_query_tables(struct txn *t, void *arg);

struct table_get {
    struct arena *arena;
    struct str name;

    struct table table; /* copied */
};
/* For GET Tables('name') and for the ACL. ERR_RESOURCE_NOT_FOUND. */
struct err table_get_table(struct txn *t, void *arg);
/* The same with ERR_TABLE_NOT_FOUND. */
struct err table_get_table_acl(struct txn *t, void *arg);

struct table_set_acl {
    struct str name;
    struct str acl; /* encoded; absent removes all policies */
};
/* ERR_TABLE_NOT_FOUND. */
struct err table_set_table_acl(struct txn *t, void *arg);

/* ---- one entity: the partition is table_entities_partition ---- */

/* The value of If-Match. Weak ETags are compared as a whole; only our own can be current. */
enum entity_match_kind {
    MATCH_NONE,  /* not sent: for operations without it */
    MATCH_ANY,   /* *: it must exist */
    MATCH_STAMP, /* it must be that one */
    MATCH_NEVER, /* an ETag that no entity has */
};

struct entity_match {
    enum entity_match_kind kind;
    int64_t stamp;
};

/* W/"datetime'2024-01-01T00%3A00%3A00.1234567Z'" */
enum { ENTITY_ETAG_BYTES = 46 };
void entity_etag(int64_t stamp, char out[ENTITY_ETAG_BYTES]);
/* ERR_INVALID_INPUT unless it is "*" or one weak ETag. */
struct err entity_match_parse(struct str text, struct entity_match *out);

enum entity_change_kind {
    CHANGE_INSERT,
    CHANGE_UPDATE,
    CHANGE_MERGE,
    CHANGE_DELETE,
    CHANGE_INSERT_OR_REPLACE,
    CHANGE_INSERT_OR_MERGE,
};

struct entity_change {
    enum entity_change_kind kind; /* of a group's changes */
    struct table_ref ref;
    struct str pk; /* as sent */
    struct str rk;
    /* The row, built with entity_add; the transaction writes the stamp into it. Absent for a
     * delete. */
    char *record;
    size_t record_n;
    struct entity_match match; /* update, merge, delete */

    int64_t stamp;           /* of the entity as it is now: its Timestamp and ETag */
    struct verdict *verdict; /* filled in by a refusal; may be NULL */
};

/* All: ERR_TABLE_NOT_FOUND. */
/* ERR_ENTITY_ALREADY_EXISTS. */
struct err table_insert_entity(struct txn *t, void *arg);
/* ERR_RESOURCE_NOT_FOUND, ERR_UPDATE_CONDITION_NOT_SATISFIED; for a merge also the errors of
 * entity_merge and entity_check_size. */
struct err table_update_entity(struct txn *t, void *arg);
struct err table_merge_entity(struct txn *t, void *arg);
struct err table_delete_entity(struct txn *t, void *arg);
/* Never checked (rule_T3). */
struct err table_insert_or_replace_entity(struct txn *t, void *arg);
struct err table_insert_or_merge_entity(struct txn *t, void *arg);

/* An entity group transaction: all changes or none, in order. */
struct entity_group {
    struct table_ref ref;
    struct entity_change **changes; /* of one table and PartitionKey, each RowKey once */
    size_t count;

    size_t failed; /* the change that failed */
};
struct err table_entity_group_transaction(struct txn *t, void *arg);

struct entity_get {
    struct arena *arena;
    struct table_ref ref;
    struct str rk;

    struct str record; /* copied */
};
/* ERR_TABLE_NOT_FOUND, ERR_RESOURCE_NOT_FOUND. */
struct err table_get_entity(struct txn *t, void *arg);

/* ---- queries: the partition is tables_partition(account) ---- */

/* An entity that passed; all borrowed for the call. Keys as they were sent. */
struct entity_found {
    struct str pk;
    struct str rk;
    struct str record;
};
typedef void entity_emit(void *context, const struct entity_found *entity);

/* The range that a SAS allows: from (start_pk, start_rk) to (end_pk, end_rk), both inclusive.
 * Absent: no limit. */
struct key_clip {
    struct str start_pk, start_rk;
    struct str end_pk, end_rk;
};
/* Of a key as sent. */
bool key_clip_holds(struct arena *a, const struct key_clip *clip, struct str pk, struct str rk);

struct entity_query {
    struct arena *arena;
    struct table_ref ref;
    const struct filter *filter; /* NULL: all */
    struct str from_pk, from_rk; /* where to continue, as sent; absent: from the first */
    struct key_clip clip;
    unsigned top; /* up to TABLE_PAGE_MAX; 0: no entities, and no continuation */
    /* How many rows (and at most 1 MiB of them) a first run on an event loop may examine. Beyond
     * that the run ends with ERR_LONG_WORK. 0: no limit. */
    unsigned budget;
    void (*begin)(
        void *context); /* called at the start of each run: discard what was emitted before */
    entity_emit *emit;
    void *context;

    uint64_t looked_at;
    bool more; /* there may be more, from (next_pk, next_rk) on */
    struct str next_pk, next_rk;
};
/* ERR_TABLE_NOT_FOUND. */
struct err table_query_entities(struct txn *t, void *arg);

/* Names the entities of rows of a PartitionKey. arg: an owner_search (service/common/owner.h). */
struct err table_row_owners(struct txn *t, void *arg);

#endif
