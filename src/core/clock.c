/* SPDX-License-Identifier: Apache-2.0 */
#include "core/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/wire.h"

/* At most a hundred years either way. A larger shift is a mistake, for example raw bytes read as a
 * number. */
#define CLOCK_SHIFT_MS_MAX (100LL * 366 * 86400 * 1000)
enum { CLOCK_TEXT_BYTES_MAX = 32, CLOCK_RAW_BYTES = 8 };

struct clock_file {
    int fd;
    _Atomic int64_t shift_ms; /* the last that was understood */
};

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

/* ---- the file that shifts it ---- */

static bool is_clock_text(struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i++)
        if (!ascii_digit(bytes.p[i]) &&
            (bytes.p[i] == '\0' || strchr("+- \t\r\n", bytes.p[i]) == NULL))
            return false;
    return true;
}

static struct str trim_lines(struct str s)
{
    while (s.n > 0 && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r'))
        s.n--;
    return str_trim(s);
}

/* No raw number within the limit has eight bytes that are all text. What follows the eight is what
 * a longer text has left behind. */
bool clock_file_read(struct str bytes, int64_t *ms, bool *sound)
{
    struct reader r = reader_of(bytes);
    *sound = true;
    if (bytes.n == 0)
        return false;
    if (bytes.n >= CLOCK_RAW_BYTES && !is_clock_text(str_head(bytes, CLOCK_RAW_BYTES))) {
        *ms = (int64_t)read_le64(&r);
    } else {
        struct str text = trim_lines(bytes);
        if (str_starts(text, STR("+")))
            text = str_from(text, 1);
        *sound = bytes.n < CLOCK_TEXT_BYTES_MAX && str_to_i64(text, ms);
    }
    *sound = *sound && *ms <= CLOCK_SHIFT_MS_MAX && *ms >= -CLOCK_SHIFT_MS_MAX;
    return *sound;
}

/* Read with read(), not mmap: a shell truncates the file before it writes, and access to a mapping
 * past the end of its file raises SIGBUS. */
static struct err clock_file_look(struct clock_file *file)
{
    char bytes[CLOCK_TEXT_BYTES_MAX];
    int64_t ms;
    bool sound;
    ssize_t n = pread(file->fd, bytes, sizeof bytes, 0);
    if (n < 0)
        return err_cause(ERR_IO, errno);
    if (clock_file_read((struct str){bytes, (size_t)n}, &ms, &sound))
        atomic_store_explicit(&file->shift_ms, ms, memory_order_relaxed);
    return sound ? OK
                 : err_detail(ERR_INVALID_INPUT,
                              "is neither a number of milliseconds in text nor 8 bytes of one");
}

static int64_t shifted_ticks(const struct clock *c)
{
    struct err ignored = clock_file_look(c->file);
    (void)ignored;
    return system_ticks(c) +
           atomic_load_explicit(&c->file->shift_ms, memory_order_relaxed) * TICKS_PER_MS;
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
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_cause(ERR_IO, errno);
    struct clock_file *file = MEM_NEW(struct clock_file);
    file->fd = fd;
    *c = (struct clock){.read = shifted_ticks, .file = file};
    struct err error = clock_file_look(file);
    if (err_is(error))
        clock_release(c);
    return error;
}

void clock_release(struct clock *c)
{
    if (c->file != NULL) {
        (void)close(c->file->fd);
        free(c->file);
    }
    *c = (struct clock){.read = system_ticks};
}

int64_t clock_mono_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

int64_t clock_thread_us(void)
{
    struct timespec used;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

int64_t clock_mono_ms(void)
{
    return clock_mono_us() / 1000;
}
