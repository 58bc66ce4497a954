/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MIGRATE_MIGRATE_INTERNAL_H
#define MIGRATE_MIGRATE_INTERNAL_H

#include "migrate/migrate.h"

enum {
    PAGE_ROWS = 512,
    PAGE_BYTES = 16 << 20, /* of rows with their bodies, about */
    PAGE_EXTENTS = 1024,   /* about: a row may name 256 */
    PAGE_EXTENT_BYTES = 64 << 20,
    BODY_READS = 32,  /* rows whose bodies are read together */
    MAP_STEP = 64,    /* extents in one update of the map, or one read */
    COPY_THREADS = 8, /* extents in flight, to hide a network's latency */
};

/* ---- what the destination remembers ---- */

enum migrate_phase { PHASE_COPY = 1, PHASE_CLEAR = 2 };

struct migrate_state {
    enum migrate_phase phase;
    struct str source;
    /* The last row that was copied; absent before the first. */
    struct str partition, key;
    uint64_t copied_rows, copied_bytes;           /* up to that row */
    uint64_t total_rows, total_bytes, of_extents; /* of the source; of_extents: bytes named */
};
/* Into the arena. *found is false for a store without one. */
struct err migrate_state_load(struct engine *e, struct arena *a, struct migrate_state *out,
                              bool *found);
struct err migrate_state_save(struct engine *e, const struct migrate_state *state);

/* ---- pages: runs of rows of a store, in order ---- */

struct page_row {
    struct str partition, key, value, body;
    size_t extent_first, extent_count; /* in the page's list: what its value names */
};

struct page {
    struct arena arena;
    struct page_row *rows;
    size_t count;
    size_t room;
    struct extent *extents; /* in the order in which the rows name them; one may occur many times */
    size_t extent_count;
    size_t extent_room;
    uint64_t bytes; /* of rows and bodies */
    uint64_t extent_bytes;
    bool last;   /* there is nothing behind it */
    bool bodies; /* bodies are wanted */
};

void migrate_page_init(struct page *p, size_t rows, bool bodies);
void migrate_page_release(struct page *p);
/* The rows after (partition, key), which may be absent: from the first. */
struct err migrate_page_read(struct page *p, const struct migrate *m, struct engine *e,
                             struct str partition, struct str key);

/* ---- the map from old extents to new ones ---- */

struct extent_pair {
    struct extent old;
    struct extent new;
    bool known; /* the destination has it */
};

struct extent_map {
    struct extent_pair *pairs; /* sorted by the old one, each once */
    size_t count;
};

/* Returns the pairs of the extents that the page names; `known` are those that the destination has.
 * In the page's arena. */
struct err migrate_map_load(struct extent_map *map, const struct migrate *m, struct page *p);
/* Copies the remaining extents, and adopts them in the destination; reports the progress. */
struct err migrate_map_complete(struct extent_map *map, const struct migrate *m,
                                const struct migrate_state *state);
const struct extent *migrate_map_find(const struct extent_map *map, const struct extent *old);

/* Visits all pairs that the destination has, a few at a time. */
typedef struct err extent_pairs_visit(struct extent_pair *pairs, size_t count, void *arg);
struct err migrate_pairs_each(const struct migrate *m, extent_pairs_visit *visit, void *arg);
/* Removes the whole map, after the rows name the extents. */
struct err migrate_pairs_clear(const struct migrate *m);
/* Runs work(pair) for each of them, several at a time; returns the first error. */
typedef struct err extent_work(const struct migrate *m, struct extent_pair *pair, char *memory);
struct err migrate_extents_each(const struct migrate *m, struct extent_pair *pairs, size_t count,
                                extent_work *work);

/* ---- rows ---- */

/* Returns the row's value with the old names replaced by the new ones; in the page's arena.
 * ERR_CORRUPT if that is impossible. */
struct err migrate_row_rewrite(const struct migrate *m, struct page *p, const struct page_row *row,
                               const struct extent_map *map, struct str *out);

/* Compares the destination with the source. */
struct err migrate_verify(struct migrate *m, const struct migrate_state *state);

void migrate_tell(const struct migrate *m, const char *doing, uint64_t done, uint64_t of);
struct err migrate_failed(const char *sentence);

#endif
