/* SPDX-License-Identifier: Apache-2.0 */
#include "http/crowd.h"

#include <assert.h>

void crowd_add(struct crowd *c, struct crowd_item *item, unsigned group)
{
    assert(group < CROWD_GROUPS);
    item->next = NULL;
    if (c->first[group] == NULL)
        c->last[group] = &c->first[group];
    *c->last[group] = item;
    c->last[group] = &item->next;
    c->waiting |= UINT64_C(1) << group;
}

/* The first group that has one, from c->turn on. */
static unsigned next_group(const struct crowd *c)
{
    assert(c->waiting != 0 && c->turn < CROWD_GROUPS);
    uint64_t from_turn = c->waiting & (UINT64_MAX << c->turn);
    return (unsigned)__builtin_ctzll(from_turn != 0 ? from_turn : c->waiting);
}

struct crowd_item *crowd_take(struct crowd *c)
{
    if (c->waiting == 0)
        return NULL;
    unsigned group = next_group(c);
    struct crowd_item *item = c->first[group];
    assert(item != NULL);
    c->first[group] = item->next;
    if (item->next == NULL)
        c->waiting &= ~(UINT64_C(1) << group);
    c->turn = (group + 1) % CROWD_GROUPS;
    return item;
}
