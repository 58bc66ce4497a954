/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of one row with options. To read several known keys, call txn_get_many: together they
 * cost one round trip. */
#ifndef SERVICE_COMMON_ROWS_H
#define SERVICE_COMMON_ROWS_H

#include "engine/engine.h"

/* Reads a row that nearly every request to the partition reads. */
static inline struct err row_get_hot(struct txn *t, struct str key, struct str *value)
{
    struct engine_read read = {.key = key, .hints = HINT_SOON};
    struct err e = txn_get_many(t, &read, 1);
    *value = read.value;
    return e;
}

/* Reads a row of another partition that many requests read: a parent that must exist. */
static inline struct err row_get_in(struct txn *t, struct str partition, struct str key,
                                    struct str *value)
{
    struct engine_read read = {.partition = partition, .key = key, .hints = HINT_SOON};
    struct err e = txn_get_many(t, &read, 1);
    *value = read.value;
    return e;
}

static inline struct err row_get_with_body(struct txn *t, struct str key, struct str *value,
                                           struct str *body)
{
    struct engine_read read = {.key = key, .with_body = true};
    struct err e = txn_get_many(t, &read, 1);
    *value = read.value;
    *body = read.body;
    return e;
}

#endif
