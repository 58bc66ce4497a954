/* SPDX-License-Identifier: Apache-2.0 */
/* Items in an archive: a JSON entry, whose label ends in "%.json", then its contents. */
#ifndef TRANSFER_ARCHIVE_H
#define TRANSFER_ARCHIVE_H

#include "import/document.h"
#include "transfer/tar.h"

/* The first entry of every archive. */
#define ARCHIVE_LABEL  "lazuli-archive.json"
#define ARCHIVE_HEADER "{\"format\":1}\n"

struct err archive_put_header(struct tar_writer *w, struct arena *a);
/* Writes the item; reads its contents piece by piece into `piece`, of ITEM_PIECE_BYTES. An error of
 * the item's reader ends it: then truncate the archive to where the item began. */
struct err archive_put_item(struct tar_writer *w, struct arena *a, const struct item *item,
                            char *piece, uint64_t *bytes);

struct archive_reader {
    struct tar_reader tar;
    uint64_t whole; /* the end of the last complete item */
    int spool;      /* contents of one item, where the archive comes from a pipe; -1: none yet */
};

/* ERR_INVALID_INPUT if it is not an archive of this program. */
struct err archive_open(struct archive_reader *r, int fd, struct arena *a);
void archive_close(struct archive_reader *r);
/* Reads the next item into the arena. *found is false at the end; *whole is true if the archive
 * ends properly. A truncated item is not found. */
struct err archive_next(struct archive_reader *r, struct arena *a, struct item *out, bool *found,
                        bool *whole);

/* The place of an item that JSON describes, and its account. */
struct err archive_place(struct arena *a, const struct item *item, struct position *position,
                         struct str *account);

#endif
