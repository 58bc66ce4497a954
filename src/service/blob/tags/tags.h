/* SPDX-License-Identifier: Apache-2.0 */
/* A blob's tags: names and values, separate from its metadata, by which it can be found (find.h).
 * Setting them is not a write of the blob: its ETag and time do not change. */
#ifndef SERVICE_BLOB_TAGS_TAGS_H
#define SERVICE_BLOB_TAGS_TAGS_H

#include "service/blob/access.h"
#include "service/common/pairs.h"

enum { BLOB_TAGS_MAX = 10, BLOB_TAG_NAME_MAX = 128, BLOB_TAG_VALUE_MAX = 256 };

/* Letters, digits, space and + - . / : = _, which is all that names and values may hold. */
bool blob_tag_text(struct str text);
/* ERR_TAGS_TOO_LARGE, ERR_EMPTY_TAG_NAME, ERR_INVALID_TAG, ERR_DUPLICATE_TAG_NAMES. */
struct err blob_tags_check(const struct pairs *tags);

struct blob_tags_args {
    struct blob_request request;
    struct str tags; /* as pairs.h encodes them. Set replaces all with it; Get returns it */
};
engine_fn blob_set_blob_tags;
engine_fn blob_get_blob_tags;

#endif
