/* SPDX-License-Identifier: Apache-2.0 */
#include "core/clock_control.h"

#include "core/test.h"

void test_clock_control_shifts_and_freezes(void)
{
    struct clock manual, clock;
    clock_init_manual(&manual, 1000 * TICKS_PER_SECOND);
    clock = manual;
    struct clock_control *c = clock_control_new(&clock);
    CHECK_INT(clock_now(&clock), 1000 * TICKS_PER_SECOND);
    clock_control_set(c, 60000, false);
    CHECK_INT(clock_now(&clock), 1060 * TICKS_PER_SECOND);
    clock_control_set(c, 60000, true);
    CHECK_INT(clock_now(&clock), 1060 * TICKS_PER_SECOND);
    CHECK(clock_control_state(c).frozen);
    /* A clock that stands still can be moved, too. */
    clock_control_set(c, 70000, true);
    CHECK_INT(clock_now(&clock), 1070 * TICKS_PER_SECOND);
    CHECK_INT(clock_control_real(c), 1000 * TICKS_PER_SECOND);
    clock_control_set(c, 0, false);
    CHECK_INT(clock_now(&clock), 1000 * TICKS_PER_SECOND);
    clock_control_free(c);
}
