/* SPDX-License-Identifier: Apache-2.0 */
/* The index that Find Blobs by Tags reads: a row for each tag of each blob, in the container's
 * partition, so that it changes in the same transaction as the blob's head.
 *
 *   t I tag 00 value 00 name           of the blob itself; nothing in it, the name as keys have it
 *   v I tag 00 value 00 name 00 id     of a previous version of it
 *
 * Tags and values hold no NUL (blob_tags_check), so rows sort by tag, then value, then name.
 * Previous versions are apart, so that a search for blobs does not read them. Snapshots and
 * soft-deleted items are not indexed. */
#ifndef SERVICE_BLOB_TAGS_TAG_INDEX_H
#define SERVICE_BLOB_TAGS_TAG_INDEX_H

#include "engine/engine.h"

enum tag_index_kind { TAG_INDEX_BLOBS = 't', TAG_INDEX_VERSIONS = 'v' };

/* Replaces the tags `old` of the blob in the index by `new`; both as pairs.h encodes them, either
 * may be absent. The name is in key form. */
struct tag_change {
    uint64_t incarnation;
    struct str name;
    int64_t version; /* the id of a previous one; 0: the blob itself */
    struct str old;
    struct str new;
};
struct err tag_index_change(struct txn *t, const struct tag_change *change);

/* The position of a tag's rows: one index of one container. */
struct tag_index_id {
    enum tag_index_kind kind;
    uint64_t incarnation;
};

/* The prefix of all rows of one tag; "value 00 item" follows, where the item is a name, or a name
 * and a version's id. */
void tag_index_put_prefix(struct buf *b, struct tag_index_id place, struct str tag);
struct str tag_index_prefix(struct arena *a, struct tag_index_id place, struct str tag);
/* Parses what follows the prefix; false if it is not of that form. Both are borrowed. */
bool tag_index_split(struct str rest, struct str *value, struct str *item);
/* The same for an item of a version. */
bool tag_index_split_version(struct str item, struct str *name, int64_t *version);

#endif
