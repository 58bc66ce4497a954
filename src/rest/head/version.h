/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol version of a request. */
#ifndef REST_HEAD_VERSION_H
#define REST_HEAD_VERSION_H

#include "core/err.h"
#include "core/str.h"

enum { VERSION_NEWEST = 20261006 };
#define VERSION_NEWEST_TEXT "2026-10-06"

/* YYYY-MM-DD to yyyymmdd. A version newer than all known ones is served as the newest; one between
 * two known ones does not exist: false, unless `any` (--skipApiVersionCheck, --loose). */
bool version_parse(struct str text, bool any, int *out);

#endif
