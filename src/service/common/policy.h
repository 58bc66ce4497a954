/* SPDX-License-Identifier: Apache-2.0 */
/* Stored access policies: a container, queue, table or share stores terms under an id, so that a
 * shared access signature can name the id instead of its terms. docs/protocol/facts.md §3.9. */
#ifndef SERVICE_COMMON_POLICY_H
#define SERVICE_COMMON_POLICY_H

#include "core/arena.h"
#include "core/err.h"

enum { POLICIES_MAX = 5, POLICY_ID_CHARACTERS_MAX = 64 };

/* Times are texts in the format of time_iso (core/time.h). Each part but the id may be absent;
 * then the signature must give it. */
struct policy {
    struct str id;
    struct str start;
    struct str expiry;
    struct str permission;
};

struct policies {
    struct policy items[POLICIES_MAX];
    size_t count;
};

/* The stored form, in the arena; absent if there are none. */
struct str policies_encode(struct arena *a, const struct policies *policies);
/* Borrowed from the encoded form, which may be absent. False if it is malformed. */
bool policies_decode(struct str encoded, struct policies *out);
/* The policy of that id; false if there is none. */
bool policies_find(struct str encoded, struct str id, struct policy *out);

#endif
