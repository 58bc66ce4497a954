/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the blob service's rows. One partition is one container, so that a blob, its
 * blocks, snapshots and lease are atomic together, and a listing is one range of keys.
 *
 *   partition  b/account/container
 *   c                              the container itself (hot: nearly every request reads it)
 *   C I                            a deleted container of that name, until its retention ends
 *   s                              there is something to sweep
 *   S stamp kind id                one thing to sweep
 *   h I name 00 FF                 a blob's head: properties, metadata, lease; its body may be the
 *                                  blob's content. A soft-deleted blob is marked in it
 *   h I name 00 01 time            the head of a snapshot
 *   h I name 00 02 time            the head of a previous version; the time is its id
 *   h I name 00 F1 time            of a soft-deleted snapshot, F2: of a soft-deleted version; apart
 *                                  from the others, so that a scan of those does not read these
 *   x I time (head's key from name) when a soft-deleted item is purged
 *   d I content offset             a chunk of a content's map (service/common/content/content.h)
 *   p I content …                  a page blob's pages (page.h); P …: their past values
 *   r I content                    how many heads share the content, when more than one
 *   l I content row                the ids and sizes of the committed blocks of a content
 *   t I tag 00 value 00 name       a blob's tag (tag_index.h); v …: a previous version's
 *   i I until (head from name)     a blob that is protected until then (protect.h)
 *   e I time (head from name)      a blob that expires then
 *   D I path 00 deletion id        a path that is soft-deleted (path_trash.h)
 *   M move partition               a path that moves in from another container (path/path_across.h)
 *   n I                            the number of such moves so far
 *   u I blocks                     a set of uncommitted blocks
 *   u I blocks 01 id               one of them
 *
 * I is the container's incarnation (the stamp of its creation, big-endian): a container that was
 * deleted and created again shares no key with the old one, so deleting one is a small transaction
 * and the sweeper removes its rows later. Contents and block sets have separate ids (stamps), so
 * the cost of replacing or sharing them does not depend on their size.
 *
 * Names are ordered by UTF-16 units: see name_to_key. A name holds no NUL, so the NUL after it
 * sorts a blob before all blobs with longer names that begin with its name. */
#ifndef SERVICE_BLOB_KEYS_H
#define SERVICE_BLOB_KEYS_H

#include "core/buf.h"
#include "core/wire.h"

#define BLOB_KEY_CONTAINER STR("c")
#define BLOB_KEY_SWEEP     STR("s")

/* "b/account/container"; with an empty container, the prefix of all of the account's. */
struct str blob_partition(struct arena *a, struct str account, struct str container);
/* The container's name in a partition of ours. */
struct str blob_partition_container(struct str partition);

enum blob_item { BLOB_BASE = 0, BLOB_SNAPSHOT = 1, BLOB_VERSION = 2 };

/* Which row of a blob: the base, or that of a time. */
struct blob_at {
    enum blob_item item;
    int64_t time; /* of a snapshot, the id of a version; 0 for the base */
    bool deleted; /* the row of a soft-deleted snapshot or version; the base's row says it itself */
};

/* The prefix of all heads of the incarnation whose names begin with the prefix. */
struct str blob_key_heads(struct arena *a, uint64_t incarnation, struct str name_prefix);
/* The prefix of all heads of one blob: base, snapshots and versions. */
struct str blob_key_items(struct arena *a, uint64_t incarnation, struct str name);
struct str blob_key_head(struct arena *a, uint64_t incarnation, struct str name,
                         const struct blob_at *at);
/* Writes the key of a directory entry's base (path/tree.h) to a buffer. The buffer is empty, or has
 * such a key of the same incarnation, which is replaced. */
void blob_key_entry(struct buf *b, uint64_t incarnation, uint64_t directory, struct str last);
/* "<id>/<last name>", as such an entry is named. */
void blob_entry_name(struct buf *b, uint64_t directory, struct str last);
/* The same from a key that ends with the name, in key form. */
struct str blob_key_of_items(struct arena *a, struct str key_to_name, const struct blob_at *at);
/* The prefix of one blob's snapshots or previous versions, or of the soft-deleted ones. */
struct str blob_key_of_items_of(struct arena *a, struct str key_to_name, enum blob_item item,
                                bool deleted);
/* The part of a head's key up to the name, with which the two above begin. */
struct str blob_key_to_name(struct str head_key);
/* Parses a head's key; *name is in key form and borrowed. False if it is not a head's key. */
bool blob_key_parse_head(struct str key, struct str *name, struct blob_at *at);

struct str blob_key_content(struct arena *a, uint64_t incarnation, uint64_t content);
/* The pages of a page blob, and their past: see page.h. */
struct str blob_key_pages(struct arena *a, uint64_t incarnation, uint64_t content);
struct str blob_key_pages_past(struct arena *a, uint64_t incarnation, uint64_t content);
struct str blob_key_shares(struct arena *a, uint64_t incarnation, uint64_t content);
struct str blob_key_block_list(struct arena *a, uint64_t incarnation, uint64_t content);
/* The row that holds the committed blocks from row * BLOB_BLOCK_LIST_ROW on. */
enum { BLOB_BLOCK_LIST_ROW = 1024 };
struct str blob_key_block_list_row(struct arena *a, uint64_t incarnation, uint64_t content,
                                   uint32_t row);
struct str blob_key_blocks(struct arena *a, uint64_t incarnation, uint64_t blocks);
struct str blob_key_block(struct arena *a, uint64_t incarnation, uint64_t blocks, struct str id);
/* The index key for an event of the head at a time: the end of soft-delete retention, or a kind of
 * protect.h. The parser returns the time and the head's key, or false. All keys of a kind are in
 * time order. */
enum { BLOB_TIMED_DELETED = 'x', BLOB_TIMED_EXPIRY = 'e', BLOB_TIMED_PROTECTION = 'i' };
struct str blob_key_timed(struct arena *a, char kind, int64_t time, struct str head_key);
struct str blob_key_all_timed(struct arena *a, char kind, uint64_t incarnation);
bool blob_key_parse_timed(struct arena *a, struct str key, int64_t *time, struct str *head_key);
/* A deleted container's; with 0, the prefix of all. */
struct str blob_key_deleted_container(struct arena *a, uint64_t incarnation);
/* Returns true if the row is a list of pieces: a chunk of a content, or a block. */
bool blob_key_holds_pieces(struct str key);

#endif
