/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the unit tests of this folder: a store in memory with a table "People" of account
 * "acct", and entities written as short text. */
#ifndef SERVICE_TABLE_TABLE_FIXTURE_H
#define SERVICE_TABLE_TABLE_FIXTURE_H

#include "core/test.h"
#include "service/common/store.h"
#include "service/table/entity.h"
#include "service/table/table.h"

struct people {
    struct clock clock;
    struct engine *engine;
    struct store store;
    struct arena arena;
    struct table_ref people;
};

struct err people_update(struct people *f, struct str partition, engine_fn *fn, void *arg);
struct err people_make_table(struct people *f, const char *name);
void people_init(struct people *f);
void people_release(struct people *f);
/* "a=1 b=x" as a row of strings; a value of digits only becomes an Int32. */
void people_record(struct people *f, const char *pairs, struct entity_change *out);
struct entity_change people_change(struct people *f, const char *pk, const char *rk,
                                   const char *pairs);
/* Runs it in the entity's partition; sets the change's stamp on success. */
struct err people_apply(struct people *f, engine_fn *fn, struct entity_change *change);
int64_t people_insert(struct people *f, const char *pk, const char *rk, const char *pairs);
struct str people_pairs(struct people *f, struct str record);
/* The entity's properties; absent if there is none. */
struct str people_get(struct people *f, const char *pk, const char *rk, int64_t *stamp);

#endif
