/* SPDX-License-Identifier: Apache-2.0 */
/* A small file with the progress of a transfer. It is written now and then: later work is repeated,
 * which changes nothing. */
#ifndef TRANSFER_BOOKMARK_H
#define TRANSFER_BOOKMARK_H

#include "core/str.h"

enum { BOOKMARK_BYTES_MAX = 8192, BOOKMARK_EVERY_MS = 500 };

struct bookmark {
    char path[4096]; /* "": none is kept */
    char text[BOOKMARK_BYTES_MAX];
    size_t n;
    bool dirty;
    int64_t written_ms;
};

/* NULL: nothing is kept. */
void bookmark_open(struct bookmark *s, const char *path);
/* Reads what an earlier run left; returns its length, 0 if there is none. */
size_t bookmark_read(const struct bookmark *s, char *out, size_t size);
void bookmark_set(struct bookmark *s, struct str text);
/* Writes what was set last. */
void bookmark_close(struct bookmark *s);
void bookmark_remove(struct bookmark *s);

#endif
