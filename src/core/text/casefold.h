/* SPDX-License-Identifier: Apache-2.0 */
/* Names that differ only in case are one name in the File service and over SMB: both look them up
 * by their folded form. Simple folding (one character for one) of the Unicode version named in
 * casefold_table.inc. The folding is part of the stored keys, so a new version needs a conversion
 * of the stores. */
#ifndef CORE_TEXT_CASEFOLD_H
#define CORE_TEXT_CASEFOLD_H

#include "core/arena.h"

/* One code point. */
uint32_t casefold_char(uint32_t c);

/* The folded name, to be compared byte by byte; the input itself if it is already folded, else in
 * the arena. Folding twice changes nothing. Malformed UTF-8 is kept as it is. */
struct str casefold_utf8(struct arena *a, struct str name);

#endif
