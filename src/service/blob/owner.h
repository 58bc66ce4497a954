/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVICE_BLOB_OWNER_H
#define SERVICE_BLOB_OWNER_H

#include "service/common/owner.h"

/* The blobs, snapshots and versions that rows of a container belong to. arg: an owner_search. */
engine_fn blob_row_owners;

#endif
