/* SPDX-License-Identifier: Apache-2.0 */
/* A LokiJS database: {"collections":[{"name":…,"data":[document,…],…},…],…} as one line of JSON.
 * LokiJS keeps it in memory as a whole. Here the file is read once from the beginning, and only the
 * bounds of each document are found, so a file of any size needs a fixed buffer. After a crash such
 * a file may be empty, end early or contain garbage: documents before the damage are found, and the
 * search continues after it. */
#ifndef IMPORT_LOKI_H
#define IMPORT_LOKI_H

#include "core/arena.h"
#include "core/err.h"

enum {
    LOKI_DOCUMENT_BYTES_MAX = 256 << 20,
    LOKI_COLLECTION_BYTES_MAX = 255,
};

struct loki_span {
    uint64_t offset;
    uint64_t length;
};

struct loki_visit {
    /* A document's bounds. False ends the walk. */
    bool (*document)(void *arg, struct str collection, struct loki_span span);
    /* Bytes that belong to no document and no structure. */
    void (*damage)(void *arg, uint64_t offset, const char *what);
    void *arg;
};

struct loki_outcome {
    bool whole; /* read to its end, and nothing was damaged */
    uint64_t documents;
};

/* Walks the open file. ERR_IO. */
struct err loki_walk(int fd, const struct loki_visit *visit, struct loki_outcome *out);
/* Reads a document into the arena. ERR_IO, ERR_INVALID_INPUT for one that is too long. */
struct err loki_read(int fd, struct loki_span span, struct arena *a, struct str *out);

#endif
