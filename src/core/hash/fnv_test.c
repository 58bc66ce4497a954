/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hash/fnv.h"

#include <stdio.h>

#include "core/hash/mix.h"
#include "core/test.h"

enum { KEYS = 64, SLOTS = 256 };

/* How many of the keys "key00" to "key63" have a slot of their own. */
static int slots_used(uint64_t (*slot_of)(struct str key))
{
    bool used[SLOTS] = {0};
    int count = 0;
    for (int i = 0; i < KEYS; i++) {
        char key[8];
        int n = snprintf(key, sizeof key, "key%02d", i);
        bool *slot = &used[slot_of((struct str){key, (size_t)n}) % SLOTS];
        count += !*slot;
        *slot = true;
    }
    return count;
}

static uint64_t by_fnv(struct str key)
{
    return fnv_of(key);
}

static uint64_t by_mix(struct str key)
{
    return mix_add(1, key);
}

/* By chance it is 57 of 64 on average. */
void test_hash_spreads_keys_that_differ_at_the_end(void)
{
    enum { FEWEST = 48 };
    CHECK(slots_used(by_fnv) >= FEWEST);
    CHECK(slots_used(by_mix) >= FEWEST);
}
