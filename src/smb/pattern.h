/* SPDX-License-Identifier: Apache-2.0 */
/* The wildcards of directory queries ([MS-FSCC] 2.1.4.4, [MS-FSA] 2.1.4.4). */
#ifndef SMB_PATTERN_H
#define SMB_PATTERN_H

#include "core/str.h"

/* Both case-folded by the caller. '*' any run, '?' any one character, '<' any run up to the last
 * dot,
 * '>' any one character or nothing at a dot or the end, '"' a dot or nothing at the end. Bounded
 * work: at most pattern × name steps. */
bool smb_pattern_matches(struct str pattern, struct str name);
/* Returns true if it has a wildcard: without one, a lookup of the name is enough. */
bool smb_pattern_is_literal(struct str pattern);

#endif
