/* SPDX-License-Identifier: Apache-2.0 */
/* A small file that says how far a transfer is. It is written now and then: what was done since is
 * done again, which changes nothing. */
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
/* What an earlier run has left; its length, 0 when there is none. */
size_t bookmark_read(const struct bookmark *s, char *out, size_t size);
void bookmark_set(struct bookmark *s, struct str text);
/* Writes what was set last. */
void bookmark_close(struct bookmark *s);
void bookmark_remove(struct bookmark *s);

#endif
