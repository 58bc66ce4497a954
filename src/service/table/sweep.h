/* SPDX-License-Identifier: Apache-2.0 */
/* Removing the entities of deleted tables, for the sweeper. */
#ifndef SERVICE_TABLE_SWEEP_H
#define SERVICE_TABLE_SWEEP_H

#include "service/account/account.h"
#include "service/common/sweeper.h"
#include "service/table/names.h"

/* The progress of the sweep of one deleted table; all zero: none was found yet. No write can reach
 * a deleted table, so one pass over its partitions finds all its rows; `reached` keeps the next
 * step from skipping the tombstones of this one again. */
struct table_sweep {
    bool found;
    size_t tables_n, garbage_n, reached_n;
    char tables[2 + ACCOUNT_NAME_MAX]; /* the partition of its account's tables */
    char garbage[1 + TABLE_ID_BYTES + TABLE_NAME_BYTES_MAX]; /* its row there */
    char reached[ENGINE_PARTITION_MAX];                      /* the partition to continue with */
};

/* A sweep_step; context is a struct table_sweep. */
struct err table_sweep(struct store *store, void *context, struct sweep_report *report);

#endif
