/* SPDX-License-Identifier: Apache-2.0 */
/* Page blobs: sparse contents of 512-byte pages, written anywhere
 * (service/common/content/interval.h). The pages of a blob and of its snapshots are one content
 * with versioned rows (vrow.h), so a snapshot copies nothing, and the changes since one are known.
 *
 *   p I content …                  the rows of the pages
 *   P I content (key) 00 through   their values when a snapshot was taken */
#ifndef SERVICE_BLOB_PAGE_PAGE_H
#define SERVICE_BLOB_PAGE_PAGE_H

#include "service/blob/blob.h"
#include "service/blob/sweep.h"
#include "service/common/content/interval.h"

#define BLOB_PAGE_SIZE_MAX (8ULL << 40)

enum { BLOB_PAGE_BYTES = 512, BLOB_PAGE_RANGES_MAX = 10000 };

struct blob_create_page_args {
    struct blob_request request;
    struct blob_properties properties;
    uint64_t size;
    uint64_t sequence;
    /* out */
    struct blob_head head;
};
/* Put Blob of a page blob. ERR_INVALID_BLOB_TYPE. */
engine_fn blob_create_page_blob;

/* x-ms-if-sequence-number-le, -lt and -eq. */
struct blob_sequence_conditions {
    bool has_le, has_lt, has_eq;
    uint64_t le, lt, eq;
};

struct blob_page_args {
    struct blob_request request;
    struct blob_sequence_conditions sequence;
    uint64_t offset, length;
    const struct pieces *pieces; /* as interval_upload.h cuts them; NULL: clear */
    /* out */
    struct blob_head head;
};
/* Put Page, update or clear. ERR_INVALID_BLOB_TYPE, ERR_SEQUENCE_NUMBER_CONDITION_NOT_MET,
 * ERR_INVALID_PAGE_RANGE past the blob's end. */
engine_fn blob_put_page;

struct blob_page_range {
    uint64_t start, end; /* past the last byte */
    bool cleared; /* differences only: was written then, or has been cleared since; is not written
                     now */
};

struct blob_page_ranges_args {
    struct blob_request request;
    bool has_range;
    uint64_t range_offset, range_length;
    bool differences; /* since the snapshot `previous` */
    int64_t previous;
    uint64_t marker; /* begin here */
    size_t max;
    /* out */
    struct blob_head head;
    struct blob_page_range *ranges;
    size_t count;
    bool more;
    uint64_t next; /* the marker to continue with */
};
/* Get Page Ranges. ERR_INVALID_BLOB_TYPE, ERR_PREVIOUS_SNAPSHOT_NOT_FOUND,
 * ERR_PREVIOUS_SNAPSHOT_CANNOT_BE_NEWER, ERR_BLOB_OVERWRITTEN. */
engine_fn blob_get_page_ranges;

enum blob_sequence_action {
    BLOB_SEQUENCE_KEEP,
    BLOB_SEQUENCE_MAX,
    BLOB_SEQUENCE_UPDATE,
    BLOB_SEQUENCE_INCREMENT,
};
/* Set Blob Properties of a page blob. */
struct blob_page_change {
    bool resize;
    uint64_t size;
    enum blob_sequence_action action;
    uint64_t number;
};
/* ERR_INVALID_BLOB_TYPE when the blob is none, ERR_SEQUENCE_NUMBER_INCREMENT_TOO_LARGE. */
struct err blob_page_apply(struct txn *t, const struct blob_request *request, struct blob *blob,
                           const struct blob_page_change *change);

/* The map of a page blob's content. In place: it points into itself. */
struct blob_pages {
    struct vrow_scope rows;
    struct interval_map map;
};
/* As of the blob's snapshot or version, or live. */
struct err blob_pages_open(struct txn *t, const struct blob_request *request,
                           const struct blob *blob, struct blob_pages *out);
/* Writes pieces, holes included, from an offset on; the head is yet to be saved. */
struct err blob_pages_write(struct txn *t, const struct blob_request *request, struct blob *blob,
                            uint64_t offset, const struct pieces *pieces, enum piece_claim claim);
/* Cuts the pages from `size` on; the caller then sets the head's size and saves it. */
struct err blob_pages_cut(struct txn *t, const struct blob_request *request, struct blob *blob,
                          uint64_t size);
/* Reads the pieces of a range, for Get Blob. ERR_SERVER_BUSY if they are too many for one
 * response. */
struct err blob_pages_read(struct txn *t, const struct blob_request *request,
                           const struct blob *blob, struct blob_get_args *args);

/* After a write to the map: updates the head, and leaves notes for the sweeper about pages to
 * remove or to fold (page_sweep.c). */
struct err blob_pages_keep(struct txn *t, const struct blob_request *request, struct blob *blob,
                           const struct interval_map *m);
/* For the sweeper: one bounded step of removing what was cut out of the blob. */
struct err blob_pages_sweep_voids(struct txn *t, const struct sweep_item *item, struct str name,
                                  bool *done);
/* For the sweeper: folds a chunk, and removes the note that requested it. */
struct blob_fold {
    struct sweep_item item;
    struct str name; /* of the blob */
    uint32_t chunk;
    struct str note; /* its key */
};
struct err blob_pages_fold(struct store *store, struct str partition, const struct blob_fold *what);

/* For rows of pages: recognizes one, releases what it names before it is deleted, lists its
 * extents. */
bool blob_key_is_pages(struct str key);
struct err blob_pages_drop_row(struct txn *t, struct str key, struct str value);
bool blob_pages_row_extents(struct str key, struct str value, content_named *named, void *sink);
/* Removes historic rows that no snapshot sees any more, within the budget; *next is the key to
 * continue from, absent at the end. */
struct blob_prune {
    uint64_t content;
    struct str name; /* of the blob whose snapshots count */
    struct str from; /* absent: from the beginning */
};
struct err blob_pages_prune(struct txn *t, uint64_t incarnation, const struct blob_prune *prune,
                            struct str *next, unsigned *budget);

#endif
