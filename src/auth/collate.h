/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which Azure sorts the names of x-ms-* headers before it signs them. */
#ifndef AUTH_COLLATE_H
#define AUTH_COLLATE_H

#include "core/str.h"

/* Not byte order: '-' and '\'' count only between names that are equal without them, and marks
 * come before digits before letters. Names are in lower case. Negative, zero or positive. */
int collate_header_names(struct str a, struct str b);

#endif
