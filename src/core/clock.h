/* SPDX-License-Identifier: Apache-2.0 */
/* All time is read through here, so that tests and `--clock-file` can set it. Wall time is counted
 * in ticks of 100 ns since 1970, the resolution of Azure's timestamps. */
#ifndef CORE_CLOCK_H
#define CORE_CLOCK_H

#include "core/err.h"
#include "core/str.h"

#define TICKS_PER_MS     10000LL
#define TICKS_PER_SECOND 10000000LL
#define TICKS_PER_DAY    (86400LL * TICKS_PER_SECOND)

struct clock {
    int64_t (*read)(const struct clock *);
    int64_t fixed_ticks; /* the manual clock's time */
    struct clock_control
        *control; /* set if tests move this clock while the server runs (clock_control.h) */
    struct clock_file *file; /* of the shifted clock; open as long as the clock exists */
};

static inline int64_t clock_now(const struct clock *c)
{
    return c->read(c);
}

/* The system's wall clock. */
void clock_init_system(struct clock *c);
/* Stands still until clock_advance. */
void clock_init_manual(struct clock *c, int64_t ticks);
void clock_advance(struct clock *c, int64_t ticks);
/* The system's clock plus the milliseconds in the file, so that writing the file moves the server's
 * time. The file has a decimal number as text, or 8 bytes, little-endian. It is read at every call;
 * anything else in it is ignored. Created if missing. ERR_IO, ERR_INVALID_INPUT with a sentence. */
struct err clock_init_file(struct clock *c, const char *path);

/* Parses the content of such a file. Returns false if it is empty; sets *sound to false if it is
 * invalid. */
bool clock_file_read(struct str bytes, int64_t *ms, bool *sound);
/* Ends a clock of any kind. */
void clock_release(struct clock *c);

/* Monotonic milliseconds, for timers and time-outs only. */
int64_t clock_mono_ms(void);
/* Monotonic microseconds, for the access log and measurements. */
int64_t clock_mono_us(void);
/* CPU time that the calling thread has used. A system call. */
int64_t clock_thread_us(void);

#endif
