/* SPDX-License-Identifier: Apache-2.0 */
/* The text of x-ms-properties: "name=base64,…", which is a path's metadata. */
#ifndef REST_DFS_PROPERTIES_H
#define REST_DFS_PROPERTIES_H

#include "core/buf.h"
#include "core/err.h"

/* As pairs.h encodes them. ERR_INVALID_HEADER_VALUE, ERR_INVALID_PROPERTY_NAME,
 * ERR_METADATA_TOO_LARGE. */
struct err dfs_parse_properties(struct arena *a, struct str text, struct str *out);
void dfs_write_properties(struct buf *out, struct str metadata);

#endif
