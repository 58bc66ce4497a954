/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { BAR_CELLS = 40, DRAW_MS = 100 };

void progress_begin(struct progress *p)
{
    *p = (struct progress){.shown = isatty(STDERR_FILENO) == 1, .began_ms = clock_mono_ms()};
}

int64_t progress_ms(const struct progress *p)
{
    return clock_mono_ms() - p->began_ms;
}

/* Not for each step, because a terminal is slow; but the end of each task is always shown. */
static bool draw(struct progress *p, const char *doing, uint64_t done, uint64_t of)
{
    static const char cells[] = "########################################";
    int64_t now = clock_mono_ms();
    if (!p->shown || (done < of && now - p->drawn_ms < DRAW_MS))
        return false;
    int full = of == 0 ? BAR_CELLS : (int)((double)done / (double)of * BAR_CELLS);
    int percent = of == 0 ? 100 : (int)((double)done / (double)of * 100);
    static_assert(sizeof cells == BAR_CELLS + 1, "a full bar");
    (void)fprintf(stderr, "\r\033[K%-8s [%.*s%*s] %3d %%", doing, full, cells, BAR_CELLS - full, "",
                  percent);
    p->drawn = true;
    p->drawn_ms = now;
    return true;
}

void progress_show(void *arg, const char *doing, uint64_t done, uint64_t of)
{
    (void)draw(arg, doing, done, of);
}

void progress_show_rate(void *arg, const char *doing, uint64_t done, uint64_t of)
{
    struct progress *p = arg;
    int64_t now = clock_mono_ms();
    if (p->doing != doing) {
        p->doing = doing;
        p->doing_ms = now;
        p->doing_from = done;
    }
    if (!draw(p, doing, done, of) || now == p->doing_ms || done <= p->doing_from)
        return;
    double mb_per_s = (double)(done - p->doing_from) / (double)(now - p->doing_ms) / 1000;
    double left_s = (double)(of - done) / 1e6 / mb_per_s;
    (void)fprintf(stderr, " %.1f MB/s, %.0f s left", mb_per_s, left_s);
}

void progress_clear(struct progress *p)
{
    if (p->drawn)
        (void)fputs("\r\033[K", stderr);
    p->drawn = false;
}

void progress_put_backup(struct buf *b, const struct engine_backup *done, int64_t ms)
{
    buf_printf(b, "%" PRIu64 " rows, %" PRIu64 " extents, %" PRIu64 " bytes copied to %s in %.1f s",
               done->rows, done->extents, done->bytes, done->folder, (double)ms / 1000);
}
