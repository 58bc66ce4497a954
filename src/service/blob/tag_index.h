/* SPDX-License-Identifier: Apache-2.0 */
/* The index that Find Blobs by Tags reads: a row for each tag of each blob, in the container's
 * partition, so that it changes in the same transaction as the blob's head.
 *
 *   t I tag 00 value 00 name       nothing in it; the name in the form that keys have
 *
 * Tags and values hold no NUL (blob_tags_check), so rows sort by tag, then value, then name. Only
 * the blob itself is indexed, not its snapshots. */
#ifndef SERVICE_BLOB_TAG_INDEX_H
#define SERVICE_BLOB_TAG_INDEX_H

#include "engine/engine.h"

/* The index had the tags `old` of the blob, and has `new` from now on; both as pairs.h encodes
 * them, either may be absent. The name is in key form. */
struct tag_change {
    uint64_t incarnation;
    struct str name;
    struct str old;
    struct str new;
};
struct err tag_index_change(struct txn *t, const struct tag_change *change);

/* The start of all rows of one tag; what follows is "value 00 name". */
void tag_index_put_prefix(struct buf *b, uint64_t incarnation, struct str tag);
struct str tag_index_prefix(struct arena *a, uint64_t incarnation, struct str tag);
/* Takes that apart; false when it is not of that form. Both are borrowed. */
bool tag_index_split(struct str rest, struct str *value, struct str *name);

#endif
