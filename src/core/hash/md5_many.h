/* SPDX-License-Identifier: Apache-2.0 */
/* MD5 of many short texts in parallel. One MD5 is a chain of dependent steps, so a processor
 * computes sixteen of them in little more than the time of one. */
#ifndef CORE_HASH_MD5_MANY_H
#define CORE_HASH_MD5_MANY_H

#include "core/hash/md5.h"
#include "core/hash/md5_lanes.h"

struct md5_job {
    struct str bytes;
    unsigned char *out; /* MD5_BYTES */
};

void md5_many(const struct md5_job *jobs, size_t count);
/* The same in a way that this processor knows; for tests. */
void md5_many_by(enum md5_way way, const struct md5_job *jobs, size_t count);

/* The next bytes of a long text. */
struct md5_feed {
    struct md5 *state;
    struct str bytes;
};

/* md5_update of each, in parallel for states at the end of a block of 64 bytes. Fastest if the
 * texts are equally long. */
void md5_many_update(const struct md5_feed *feeds, size_t count);
void md5_many_update_by(enum md5_way way, const struct md5_feed *feeds, size_t count);

#endif
