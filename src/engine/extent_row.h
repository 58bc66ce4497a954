/* SPDX-License-Identifier: Apache-2.0 */
/* The row that counts how many rows name an extent. Its key is the extent's place, so that the
 * extents of a segment lie together and in order. */
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

/* What a change makes of the row found (absent: there is none). A count of zero means that the row
 * is to go. ERR_CORRUPT when the row and the descriptor do not fit together or the change is not
 * possible: then rows and counts have parted, and the update must not go on. */
struct err extent_row_change(struct str found, const struct extent *x, enum extent_change change,
                             struct extent_row *out);

#endif
