/* SPDX-License-Identifier: Apache-2.0 */
/* The MD5 of many short texts at once. One MD5 is a chain of steps that each wait for the one
 * before it, so a processor computes sixteen side by side in little more than the time of one. */
#ifndef CORE_MD5_MANY_H
#define CORE_MD5_MANY_H

#include "core/md5.h"

struct md5_job {
    struct str bytes;
    unsigned char *out; /* MD5_BYTES */
};

void md5_many(const struct md5_job *jobs, size_t count);

#endif
