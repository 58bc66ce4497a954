/* SPDX-License-Identifier: Apache-2.0 */
#include "http/crowd.h"

#include "core/test.h"

void test_crowd_few_do_not_wait_for_many(void)
{
    enum { MANY = 1000, FEW = 4, GROUP = 63 };
    static struct crowd_item many[MANY];
    struct crowd_item few[FEW];
    struct crowd c = {0};
    for (size_t i = 0; i < MANY; i++)
        crowd_add(&c, &many[i], GROUP);
    for (size_t i = 0; i < FEW; i++)
        crowd_add(&c, &few[i], 7);
    size_t taken_many = 0, taken_few = 0;
    for (const struct crowd_item *item; (item = crowd_take(&c)) != NULL;) {
        if (taken_few < FEW && item == &few[taken_few])
            taken_few++;
        else
            CHECK(item == &many[taken_many++]); /* each group in its order */
        if (taken_many == FEW + 1)
            CHECK_INT(taken_few, FEW);
    }
    CHECK_INT(taken_many, MANY);
    CHECK_INT(taken_few, FEW);
}

/* Later ones get their turn beside those that wait already. */
void test_crowd_added_while_others_wait(void)
{
    struct crowd_item old[8], fresh;
    struct crowd c = {0};
    for (size_t i = 0; i < 8; i++)
        crowd_add(&c, &old[i], 0);
    CHECK(crowd_take(&c) == &old[0]);
    crowd_add(&c, &fresh, 5);
    CHECK(crowd_take(&c) == &fresh);
    CHECK(crowd_take(&c) == &old[1]);
    crowd_add(&c, &fresh, 0);
    for (size_t i = 2; i < 8; i++)
        CHECK(crowd_take(&c) == &old[i]);
    CHECK(crowd_take(&c) == &fresh);
    CHECK(crowd_take(&c) == NULL);
}

void test_crowd_empty_then_used_again(void)
{
    struct crowd_item item;
    struct crowd c = {0};
    CHECK(crowd_take(&c) == NULL);
    for (unsigned group = 0; group < CROWD_GROUPS; group++) {
        crowd_add(&c, &item, group);
        CHECK(crowd_take(&c) == &item);
        CHECK(crowd_take(&c) == NULL);
    }
}
