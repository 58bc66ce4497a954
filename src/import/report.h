/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome of everything that an import found. */
#ifndef IMPORT_REPORT_H
#define IMPORT_REPORT_H

#include "core/buf.h"
#include "core/err.h"

enum import_kind {
    IMPORT_CONTAINERS,
    IMPORT_BLOBS,
    IMPORT_SNAPSHOTS,
    IMPORT_BLOCKS, /* uncommitted */
    IMPORT_QUEUES,
    IMPORT_MESSAGES,
    IMPORT_TABLES,
    IMPORT_ENTITIES,
    IMPORT_PROPERTIES, /* of services */
    IMPORT_FILES,      /* databases */
    IMPORT_KIND_COUNT,
};

enum import_fate {
    FATE_TAKEN,
    FATE_THERE,    /* was in the store before */
    FATE_LEFT_OUT, /* readable, but the services do not allow it, or it has expired */
    FATE_DAMAGED,
    FATE_COUNT,
};

enum { REPORT_LINES_MAX = 1000, REPORT_NAME_BYTES_MAX = 200 };

struct report {
    uint64_t counts[IMPORT_KIND_COUNT][FATE_COUNT];
    uint64_t bytes; /* of contents */
    struct buf lines;
    uint64_t line_count; /* lines beyond REPORT_LINES_MAX are counted, not stored */
};

void report_init(struct report *report);
void report_release(struct report *report);

void report_count(struct report *report, enum import_kind kind, enum import_fate fate);
/* Counts it, and keeps a line "left out: blob a/b/c: why" for the end. */
void report_line(struct report *report, enum import_kind kind, enum import_fate fate,
                 struct str name, const char *why);
/* The same with an error's message. */
void report_error(struct report *report, enum import_kind kind, struct str name, struct err error);
/* The lines, then the table. */
void report_put(const struct report *report, struct buf *out);

#endif
