/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this folder. */
#ifndef SERVICE_TABLE_TABLE_INTERNAL_H
#define SERVICE_TABLE_TABLE_INTERNAL_H

#include "service/table/table.h"

/* The id of a table, from a transaction on any partition. ERR_TABLE_NOT_FOUND. */
struct err table_find(struct txn *t, const struct table_ref *ref, uint64_t *id);

#endif
