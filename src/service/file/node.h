/* SPDX-License-Identifier: Apache-2.0 */
/* The properties of a file or directory: the data of its entry in the tree. */
#ifndef SERVICE_FILE_NODE_H
#define SERVICE_FILE_NODE_H

#include "core/guid.h"
#include "service/common/content/interval.h"
#include "service/common/lease.h"

enum node_kind { NODE_FILE, NODE_DIRECTORY, NODE_SYMLINK };

/* With SMB's values. Directory and normal follow from the rest and are not stored. */
enum node_attribute {
    NODE_READ_ONLY = 0x1,
    NODE_HIDDEN = 0x2,
    NODE_SYSTEM = 0x4,
    NODE_DIRECTORY_BIT = 0x10,
    NODE_ARCHIVE = 0x20,
    NODE_NORMAL = 0x80,
    NODE_TEMPORARY = 0x100,
    NODE_SPARSE = 0x200, /* only SMB sets and sees it */
    NODE_OFFLINE = 0x1000,
    NODE_NOT_INDEXED = 0x2000,
    NODE_NO_SCRUB = 0x20000,
    NODE_STORED_ATTRIBUTES = 0x23127,
};

enum { PERMISSION_KEY_BYTES = 16, NODE_SIZE_MAX_SHIFT = 42 };
#define NODE_SIZE_MAX (1ULL << NODE_SIZE_MAX_SHIFT) /* 4 TiB */

/* The hash that a security descriptor is stored under. */
struct permission_key {
    unsigned char bytes[PERMISSION_KEY_BYTES];
};

/* The HTTP properties; absent where not set. An empty content type was removed by Set File
 * Properties: only a file that never had one gets the default. */
struct node_http {
    struct str content_type, content_encoding, content_language;
    struct str cache_control, content_disposition;
    struct str content_md5; /* as given: of 16 bytes if it is one */
};

enum copy_status { COPY_NONE, COPY_PENDING, COPY_SUCCESS, COPY_ABORTED, COPY_FAILED };

struct node_copy {
    enum copy_status status;
    struct guid id;
    struct str source; /* the URL */
    uint64_t done, total;
    int64_t completed; /* ticks */
    struct str description;
};

struct node {
    enum node_kind kind;
    uint32_t attributes;
    int64_t created, last_write, changed, accessed; /* ticks */
    int64_t etag, last_modified;
    struct permission_key permission;
    struct str metadata; /* as pairs.h encodes them */
    struct str eas;      /* extended attributes, a list of ea.h; absent: none */
    struct lease lease;
    /* Of files. */
    uint64_t size;
    uint64_t content; /* its id; 0: never written */
    bool has_chunks, has_blocks;
    struct str voids; /* as interval_voids_encode writes them */
    struct node_http http;
    struct node_copy copy;
    /* Of NFS shares. */
    uint32_t mode;
    uint32_t owner, group;
    uint64_t links;    /* names beyond the first */
    struct str target; /* of a symbolic link */
};

void node_encode(struct buf *b, const struct node *n);
/* Slices are borrowed. False if it is malformed. */
bool node_decode(struct str data, struct node *out);
/* Copies it, with the slices in the arena. */
struct node node_copy(struct arena *a, const struct node *n);

#endif
