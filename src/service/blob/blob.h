/* SPDX-License-Identifier: Apache-2.0 */
/* The transactions on a blob. All run in its container's partition. Blocks are in block.h, listing
 * in list.h. */
#ifndef SERVICE_BLOB_BLOB_H
#define SERVICE_BLOB_BLOB_H

#include "service/blob/access.h"
#include "service/blob/keep.h"
#include "service/common/content/content.h"
#include "service/common/store.h"

/* The properties that a client sends with a blob's content; Put Blob and Put Block List replace
 * them as a whole. */
struct blob_properties {
    struct blob_http http;
    struct str metadata; /* as pairs.h encodes them; absent when none */
    struct str tags;
    enum blob_tier tier; /* BLOB_TIER_NONE: keep the blob's, or none */
    struct blob_protection protection;
};

struct blob_source;

/* The origin of pieces: all zero is an upload. */
struct blob_claim {
    enum piece_claim how;
    const struct blob_source *source; /* their source, which must be unchanged */
};
/* ERR_SOURCE_CONDITION_NOT_MET. */
struct err blob_claim_check(struct txn *t, const struct blob_claim *claim);

struct blob_put_args {
    struct blob_request request;
    struct blob_properties properties;
    const struct pieces *pieces; /* of a finished upload, or of a source */
    struct blob_claim claim;
    uint64_t size;
    /* out */
    struct blob_head head;
};
/* The largest content that goes into the body of the head's row: every change of the head rewrites
 * it. */
enum { BLOB_BESIDE_MAX = 8 << 10 };
/* Put Blob of a block blob. ERR_INVALID_BLOB_TYPE, ERR_BLOB_ARCHIVED. */
engine_fn blob_put_blob;
/* Put Blob From URL: the same, but if only an If-Match fails, ERR_TARGET_CONDITION_NOT_MET. */
engine_fn blob_put_blob_from_url;

/* Replaces the head's content by the one that the caller has written: for all operations that
 * create a block blob (Put Blob, Put Block List). blob->head.content and related members describe
 * the new one. */
void blob_set_properties(struct txn *t, struct blob *blob, const struct blob_properties *p);
/* A blob of that type, or none, and not archived. */
struct err blob_check_type(const struct blob *blob, enum blob_type type);

enum { BLOB_RANGE_BYTES_MAX = 4 << 20 };

struct blob_get_args {
    struct blob_request request;
    struct store *store;
    bool wants_content;
    bool wants_bytes; /* also read the range into memory, for its checksum: ERR_OUT_OF_RANGE_INPUT
                         for one above BLOB_RANGE_BYTES_MAX */
    /* The requested range. */
    bool has_range;
    uint64_t range_offset;
    uint64_t range_length; /* at most this much */
    /* NULL, or a loan that the front end ends after sending the pieces: their bytes may be borrowed
     * from the engine. */
    struct engine_loan *loan;
    /* out */
    struct blob_head head;
    struct blob_at at; /* what was found: the base for the id of the current version */
    struct str name;   /* as keys have it */
    bool hierarchical; /* the container is */
    uint64_t offset;   /* the range, cut to the blob */
    uint64_t length;
    struct pieces pieces;
    struct str bytes;
};
/* Get Blob, Get Blob Properties and Get Blob Metadata. ERR_INVALID_RANGE, whose offset and size the
 * front end finds in the arguments; ERR_BLOB_ARCHIVED. */
engine_fn blob_get_blob;

struct blob_page_change;

struct blob_set_args {
    struct blob_request request;
    struct blob_http http;                /* SetProperties */
    bool keep_http;                       /* SetProperties of a page blob's size or number alone */
    const struct blob_page_change *pages; /* SetProperties; NULL: none */
    struct str metadata;                  /* SetMetadata, and Snapshot when it gives any */
    bool has_metadata;                    /* Snapshot */
    struct lease_request lease;
    /* out */
    struct blob_head head;
    int64_t snapshot; /* its time */
    int64_t version;  /* Snapshot: the blob's new version; 0 if it has none */
    int lease_left_seconds;
};
engine_fn blob_set_blob_properties;
engine_fn blob_set_blob_metadata;
engine_fn blob_lease_blob;
engine_fn blob_snapshot_blob;

enum blob_delete_snapshots { BLOB_SNAPSHOTS_KEEP, BLOB_SNAPSHOTS_INCLUDE, BLOB_SNAPSHOTS_ONLY };

struct blob_delete_args {
    struct blob_request request;
    enum blob_delete_snapshots snapshots;
    bool has_tier_modified_since, has_tier_unmodified_since;
    int64_t tier_modified_since, tier_unmodified_since;
    bool permanent; /* of what is soft-deleted already */
    /* out */
    bool kept;           /* it is soft-deleted, or a previous version now */
    int64_t deletion_id; /* see path_trash.h; 0 elsewhere */
};
/* ERR_SNAPSHOTS_PRESENT, ERR_OPERATION_NOT_ALLOWED_ON_ROOT_BLOB for the current version by its id,
 * ERR_PERMANENT_DELETE_NOT_ALLOWED, ERR_BLOB_SNAPSHOT_NOT_SOFT_DELETED. */
engine_fn blob_delete_blob;

struct blob_undelete_args {
    struct blob_request request;
    int64_t deletion_id; /* of a hierarchical container (path_trash.h) */
    /* out, of that */
    struct blob_head head;
};
/* Undelete Blob: restores the soft-deleted blob, its snapshots and its previous versions; at most
 * BLOB_UNDELETE_MAX of each, so that the transaction is short: a client with more repeats it. */
enum { BLOB_UNDELETE_MAX = 5000 };
engine_fn blob_undelete_blob;

#endif
