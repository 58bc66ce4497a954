/* SPDX-License-Identifier: Apache-2.0 */
/* Rename and delete of the Data Lake API in a flat container, where directories are only common
 * prefixes: blob by blob, in batches, so not atomic. The client repeats the call with the
 * continuation until there is none. */
#ifndef SERVICE_BLOB_PATH_PATH_FLAT_H
#define SERVICE_BLOB_PATH_PATH_FLAT_H

#include "service/blob/path/path.h"

enum { PATH_FLAT_BLOBS_MAX = 1000 }; /* of one call */

struct err path_rename_flat(struct txn *t, struct path_rename_args *args);
struct err path_delete_flat(struct txn *t, struct path_delete_args *args);

#endif
