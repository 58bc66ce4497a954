/* SPDX-License-Identifier: Apache-2.0 */
#include "core/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int64_t system_ticks(const struct clock *c)
{
    (void)c;
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * TICKS_PER_SECOND + now.tv_nsec / 100;
}

static int64_t manual_ticks(const struct clock *c)
{
    return c->fixed_ticks;
}

static int64_t shifted_ticks(const struct clock *c)
{
    return system_ticks(c) + *c->shift_ms * TICKS_PER_MS;
}

void clock_init_system(struct clock *c)
{
    *c = (struct clock){.read = system_ticks};
}

void clock_init_manual(struct clock *c, int64_t ticks)
{
    *c = (struct clock){.read = manual_ticks, .fixed_ticks = ticks};
}

void clock_advance(struct clock *c, int64_t ticks)
{
    assert(c->read == manual_ticks);
    c->fixed_ticks += ticks;
}

struct err clock_init_file(struct clock *c, const char *path)
{
    struct err error = err_new(ERR_IO);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_cause(ERR_IO, errno);
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < (off_t)sizeof(int64_t) && ftruncate(fd, sizeof(int64_t)) != 0)
        goto out;
    void *map = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        goto out;
    *c = (struct clock){.read = shifted_ticks, .shift_ms = map};
    error = OK;
out:
    error.cause = err_is(error) ? errno : 0;
    (void)close(fd);
    return error;
}

int64_t clock_mono_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

int64_t clock_mono_ms(void)
{
    return clock_mono_us() / 1000;
}
