/* SPDX-License-Identifier: Apache-2.0 */
/* The reference count of an extent, as a row. Its key is the extent's location, so that the
 * extents of a segment are adjacent and ordered. */
#ifndef ENGINE_EXTENT_ROW_H
#define ENGINE_EXTENT_ROW_H

#include "engine/engine.h"

enum { EXTENT_KEY_BYTES = 17, EXTENT_ROW_BYTES = 12 };

struct extent_row {
    uint32_t length;
    uint32_t check;
    uint32_t count;
};

/* space: SPACE_EXTENTS or SPACE_GARBAGE. */
void extent_key_write(char key[EXTENT_KEY_BYTES], char space, uint64_t segment, uint64_t offset);
bool extent_key_read(struct str key, uint64_t *segment, uint64_t *offset);
void extent_row_write(char value[EXTENT_ROW_BYTES], const struct extent_row *row);
bool extent_row_read(struct str value, struct extent_row *row);

/* Applies a change to the row found (absent: there is none). A resulting count of zero means
 * that the row is deleted. ERR_CORRUPT if the row and the descriptor do not match or the change
 * is impossible: then references and counts disagree, and the update must not continue. */
struct err extent_row_change(struct str found, const struct extent *x, enum extent_change change,
                             struct extent_row *out);

#endif
