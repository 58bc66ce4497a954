/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a blob, from Azurite's extents into a blob of ours. */
#ifndef IMPORT_AZURITE_CONTENT_H
#define IMPORT_AZURITE_CONTENT_H

#include "import/azurite_internal.h"
#include "service/blob/blob.h"

struct import_target {
    struct str partition;
    struct str name; /* checked */
};

/* Creates the blob, or replaces its content, from the document `node`. ERR_CORRUPT with a detail if
 * bytes are missing; a page or append blob may then exist in part. */
struct err import_content_put(struct import *im, const struct import_target *to,
                              const struct node *node, enum blob_type type,
                              const struct blob_properties *properties);
/* Stages the block of the document. */
struct err import_content_put_block(struct import *im, const struct import_target *to,
                                    const struct node *node);

#endif
