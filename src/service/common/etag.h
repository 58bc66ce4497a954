/* SPDX-License-Identifier: Apache-2.0 */
/* ETags. An object's ETag is the stamp of the update that last changed it (txn_stamp). Stamps
 * are unique and growing, so the ETag differs after every write, even for two writes in the same
 * clock tick. As text it is "0x8D…", the stamp counted from the year 1 in upper-case hex. */
#ifndef SERVICE_COMMON_ETAG_H
#define SERVICE_COMMON_ETAG_H

#include "core/buf.h"

enum { ETAG_TEXT_MAX = 20 };

/* Writes the text without quotes; returns its length. Headers have the quotes, listings do not. */
size_t etag_text(int64_t stamp, char out[ETAG_TEXT_MAX]);
void etag_put(struct buf *b, int64_t stamp);
void etag_put_quoted(struct buf *b, int64_t stamp);

/* One entry of an If-Match or If-None-Match list. */
struct etag_entry {
    struct str text; /* without quotes and without W/ */
    bool weak;
    bool any; /* a bare * */
};

/* Removes the next entry from a comma-separated list of quoted, unquoted and weak ETags. False
 * if nothing is left. A quoted ETag may contain commas. */
bool etag_list_next(struct str *rest, struct etag_entry *out);
/* True if the entry names that stamp. In a strong comparison a weak entry never does. */
bool etag_entry_is(const struct etag_entry *entry, int64_t stamp, bool strong);

#endif
