/* SPDX-License-Identifier: Apache-2.0 */
/* Archives in the pax format, which every tar reads: ustar headers, with extended ones where a name
 * is long or not ASCII, or a file is large; files with holes as GNU tar writes them (sparse 1.0).
 * Times, owners and modes are the same in all entries, so the same contents make the same bytes. */
#ifndef TRANSFER_TAR_H
#define TRANSFER_TAR_H

#include "core/err.h"
#include "transfer/item.h"

enum { TAR_BLOCK = 512, TAR_PAX_BYTES_MAX = 1 << 16, TAR_SPANS_MAX = 1 << 24 };

struct tar_writer {
    int fd;
    uint64_t offset; /* of what was written */
};

/* Writes the headers of an entry. Then write its bytes with tar_write (for a sparse entry only
 * those of the spans), and call tar_end. ERR_IO. */
struct err tar_begin(struct tar_writer *w, struct arena *a, const struct item_content *entry);
struct err tar_write(struct tar_writer *w, struct str bytes);
/* Fills the last block. */
struct err tar_end(struct tar_writer *w);
/* The two empty blocks at the end of an archive. */
struct err tar_finish(struct tar_writer *w);

struct tar_reader {
    int fd;
    bool seekable;
    uint64_t offset;   /* of the next header; of a stream: of what is read next */
    uint64_t position; /* of a stream: bytes read so far */
    char *spare;       /* for what a stream reads over */
};

struct tar_entry {
    struct item_content content; /* in the arena */
    uint64_t data;               /* where its bytes begin: after the map of a sparse one */
};

void tar_reader_init(struct tar_reader *r, int fd);
void tar_reader_release(struct tar_reader *r);
/* Moves to the next file. *found is false at the end of the archive; *whole is true if the archive
 * ends properly. ERR_INVALID_INPUT with a detail if it is not an archive, ERR_IO. */
struct err tar_next(struct tar_reader *r, struct arena *a, struct tar_entry *out, bool *found,
                    bool *whole);
/* Reads bytes of the archive. A stream can only be read forwards. */
struct err tar_read_at(struct tar_reader *r, uint64_t offset, char *into, size_t n);

#endif
