/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which ready connections are served when many are ready at once: one of each group,
 * in turn. A group is a client's connections for one container, queue, table or share. So a
 * thousand connections of one client do not keep the four of another waiting for all of them. */
#ifndef HTTP_CROWD_H
#define HTTP_CROWD_H

#include <stddef.h>
#include <stdint.h>

enum {
    CROWD_GROUPS = 64, /* groups are distinguished by this many hash values */
    CROWD_MIN = 32, /* up to this many ready connections are served in the order of their events */
    CROWD_TURN_MAX = 32, /* connections served before the loop looks for new events: some 0.3 ms */
};

/* Embedded in what waits. */
struct crowd_item {
    struct crowd_item *next;
};

struct crowd {
    struct crowd_item *first[CROWD_GROUPS];
    struct crowd_item **last[CROWD_GROUPS]; /* where the next is linked; valid if first is set */
    uint64_t waiting;                       /* bit i: group i has one */
    unsigned turn; /* the group that is served next, if one of its connections waits */
};

void crowd_add(struct crowd *c, struct crowd_item *item, unsigned group);
/* NULL: none waits. */
struct crowd_item *crowd_take(struct crowd *c);

#endif
