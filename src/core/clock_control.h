/* SPDX-License-Identifier: Apache-2.0 */
/* Controls a clock while the server runs, for tests: shifts it, and stops it. */
#ifndef CORE_CLOCK_CONTROL_H
#define CORE_CLOCK_CONTROL_H

#include "core/clock.h"

struct clock_control;

struct clock_state {
    int64_t shift_ms; /* relative to the original clock */
    bool frozen;
};

/* Makes *clock return the time that is set here. Call before other threads read it. */
struct clock_control *clock_control_new(struct clock *clock);
void clock_control_free(struct clock_control *c); /* NULL is fine */
/* Any thread. */
void clock_control_set(struct clock_control *c, int64_t shift_ms, bool frozen);
/* Moves it from where it is. */
void clock_control_advance(struct clock_control *c, int64_t ticks, bool frozen);
/* The same; sets the shift so that the time is now this. */
void clock_control_set_to(struct clock_control *c, int64_t ticks, bool frozen);
struct clock_state clock_control_state(struct clock_control *c);
/* The time that it would be without this. */
int64_t clock_control_real(const struct clock_control *c);

#endif
