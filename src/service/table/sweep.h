/* SPDX-License-Identifier: Apache-2.0 */
/* Removing the entities of deleted tables, for the sweeper. */
#ifndef SERVICE_TABLE_SWEEP_H
#define SERVICE_TABLE_SWEEP_H

#include "service/common/sweeper.h"

/* How far the sweep of one deleted table has come. */
struct table_sweep;

struct table_sweep *table_sweep_new(void);
void table_sweep_free(struct table_sweep *sweep);
/* A sweep_step; context is a struct table_sweep. */
struct err table_sweep_step(struct store *store, void *context, struct sweep_report *report);

#endif
