/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes that a document of Azurite refers to: a part of an extent, which is a separate file. */
#ifndef IMPORT_CHUNK_H
#define IMPORT_CHUNK_H

#include "core/err.h"
#include "import/document.h"

enum { CHUNK_READ_BYTES = 256 << 10 };

struct chunk {
    struct str id; /* "*ZERO*": zeros, only in page blobs; empty: no bytes */
    uint64_t offset;
    uint64_t count;
};

/* Parses a "persistency" member. False if it is invalid. */
bool import_chunk_of(const struct node *owner, struct chunk *out);

/* The folder with the extents. One file is kept open, because adjacent chunks are in the same
 * file. */
struct extents {
    int folder;
    int file;
    char name[64];
    char *buffer; /* CHUNK_READ_BYTES */
};

/* A folder that is missing has no extents. */
void import_extents_open(struct extents *extents, int parent, const char *folder);
void import_extents_close(struct extents *extents);

typedef struct err chunk_take(void *arg, struct str bytes);
/* Passes the bytes on piece by piece. ERR_CORRUPT with a detail if the file is missing or too
 * short; ERR_IO; and the errors of `take`. */
struct err import_chunk_read(struct extents *extents, const struct chunk *chunk, chunk_take *take,
                             void *arg);

#endif
