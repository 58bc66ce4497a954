/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of a long command: a bar on a terminal while it runs, and a summary at the end. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "engine/local/local.h"

struct progress {
    bool shown; /* stderr is a terminal */
    bool drawn; /* a bar is on the screen */
    int64_t began_ms;
    int64_t drawn_ms;
    /* For the rate: the current task, when it began, and the amount that was done before. */
    const char *doing;
    int64_t doing_ms;
    uint64_t doing_from;
};

void progress_begin(struct progress *p);
/* Draws the bar: an engine_progress, whose arg is the progress. */
engine_progress progress_show;
/* The same for an amount in bytes; also shows the rate. */
engine_progress progress_show_rate;
/* Removes the bar; call it before anything is printed. */
void progress_clear(struct progress *p);

/* "… rows, … extents, … bytes copied to FOLDER in … s". */
void progress_put_backup(struct buf *b, const struct engine_backup *done, int64_t ms);
int64_t progress_ms(const struct progress *p);

#endif
