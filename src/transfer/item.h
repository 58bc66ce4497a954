/* SPDX-License-Identifier: Apache-2.0 */
/* An item is an object of a storage account (a container, a blob with its snapshots and versions, a
 * thousand entities): a JSON text that describes it, and the bytes of its contents. An export
 * writes items to an archive; an import and a copy create them at a server. So readers and writers
 * have to agree only on the JSON. docs/archive.md describes it. */
#ifndef TRANSFER_ITEM_H
#define TRANSFER_ITEM_H

#include "core/buf.h"
#include "core/err.h"
#include "core/text/json.h"

enum {
    ITEM_PIECE_BYTES = 4 << 20, /* the largest piece of content that is read at once: servers
                                   compute the MD5 of no more */
    ITEM_ARENA_BYTES_MAX = 256 << 20,
};

enum item_kind {
    ITEM_ACCOUNT,
    ITEM_SERVICE, /* properties of a service */
    ITEM_CONTAINER,
    ITEM_BLOB,
    ITEM_QUEUE,
    ITEM_MESSAGES,
    ITEM_TABLE,
    ITEM_ENTITIES,
    ITEM_SHARE,
    ITEM_FILE,
    ITEM_DIRECTORY,
    ITEM_KINDS,
};
/* "container", … as the JSON has it. */
extern const char *const ITEM_KIND_NAMES[ITEM_KINDS];

/* A range of existing bytes, in a content with holes. */
struct item_span {
    uint64_t offset, length;
};

struct item_content {
    struct str label; /* its path in an archive */
    uint64_t size;
    bool absent; /* this state of the item has none */
    bool sparse; /* only the spans have bytes: the rest is zeros */
    struct item_span *spans;
    size_t span_count;
};

struct item;
/* Reads n bytes, at most ITEM_PIECE_BYTES, at an offset within the size and within a span. */
typedef struct err item_read(const struct item *item, size_t content, uint64_t offset, size_t n,
                             char *into);

struct item {
    enum item_kind kind;
    struct str label; /* of the JSON in an archive */
    struct str json;
    struct item_content *contents;
    size_t content_count;
    item_read *read;
    void *reader;
};

/* ---- where an item is ---- */

/* The position of an item in a walk: an interrupted walk continues after it. */
struct position {
    enum item_kind kind;
    struct str container; /* of any service */
    struct str name;      /* of a blob or file; the number of a part of messages or entities */
};

/* Lengths of the prefixes of a name that are names of other blobs, shortest first: blobs "a" and
 * "a/b" may both exist, but no file system has a file and a folder of the same name. */
struct label_heads {
    size_t lengths[1024];
    size_t count;
};

/* "account/blob/container/name": unique; characters of the name that file systems refuse are
 * escaped. `heads` may be NULL. */
struct str item_label(struct arena *a, struct str account, const char *service,
                      struct str container, struct str name, const struct label_heads *heads);

/* ---- JSON ---- */

/* Writes nothing for an absent text. */
void item_put_text(struct json_writer *w, const char *name, struct str text);
void item_put_u64(struct json_writer *w, const char *name, uint64_t value);

#endif
