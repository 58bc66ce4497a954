/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the checksums of all small bodies that arrived during one turn of an event loop
 * together: many MD5s in parallel cost a fraction of the same number in sequence
 * (core/hash/md5_many.h).
 */
#ifndef REST_BODY_DIGEST_H
#define REST_BODY_DIGEST_H

#include "core/hash/md5_many.h"
#include "net/loop.h"

/* Embedded in the waiting request's memory. */
struct digest {
    struct md5_job job;
    void (*ready)(struct digest *d); /* on the same loop, before it sleeps again */
};

struct digests;

struct digests *digests_new(struct loop **loops, size_t loop_count);
void digests_free(struct digests *d);
/* On the loop's thread. */
void digests_add(struct digests *d, struct loop *loop, struct digest *digest);

#endif
