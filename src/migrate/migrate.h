/* SPDX-License-Identifier: Apache-2.0 */
/* `lazuli migrate`: copies a store from one engine to another, over the seam.
 *
 * Rows keep their partitions, keys, values and bodies, so ETags, leases, receipts and times do not
 * change. Extents get new names, which replace the old ones in the rows.
 *
 * No server may use either store meanwhile. The destination must be empty at the start. While it is
 * being filled, it has a separate partition (MIGRATE_PARTITION) with the progress and the new name
 * of every extent copied. That partition holds the extents, so that they survive if the process is
 * killed; each row that is written holds them once more. At the end everything is compared, and the
 * partition is removed. Until then a server refuses the store (migrate_unfinished). Running the
 * same migration again continues it. */
#ifndef MIGRATE_MIGRATE_H
#define MIGRATE_MIGRATE_H

#include "engine/engine.h"

/* Services' partitions begin with a letter and a slash; this one cannot be theirs. */
#define MIGRATE_PARTITION STR("migrate")

typedef void migrate_named(void *sink, const struct extent *x);
/* Reports the extents that a row names, in the order of its value; false if the row cannot be
 * decoded. */
typedef bool migrate_refs(struct str partition, struct str key, struct str value,
                          migrate_named *named, void *sink);
/* Progress: the current task, the bytes done, and the total. */
typedef void migrate_progress(void *arg, const char *doing, uint64_t done, uint64_t of);

struct migrate {
    struct engine *from;
    struct engine *to;
    const char *source; /* a name of the source, so that two are not mixed in one destination */
    migrate_refs *refs;
    migrate_progress *progress; /* or NULL */
    void *arg;
    size_t page_rows; /* 0: the default; tests make pages small */
    /* Filled in: totals of the whole store, including what an earlier run copied. */
    uint64_t rows, extents, bytes;
    bool resumed;
};

/* Copies, verifies and finishes. ERR_MIGRATION with a sentence in `detail`: the destination is not
 * empty, is that of another migration, or differs from the source at the end. */
struct err migrate_run(struct migrate *m);

/* Returns true if a migration into the store has not ended: then it must not be served. */
struct err migrate_unfinished(struct engine *e, bool *unfinished);

#endif
