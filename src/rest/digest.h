/* SPDX-License-Identifier: Apache-2.0 */
/* Sums up the small bodies that came in during one turn of an event loop together, because many
 * MD5s side by side cost a fraction of as many one after the other (core/md5_many.h). */
#ifndef REST_DIGEST_H
#define REST_DIGEST_H

#include "core/md5_many.h"
#include "net/loop.h"

/* In the memory of whoever waits for it. */
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
