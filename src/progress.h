/* SPDX-License-Identifier: Apache-2.0 */
/* What a command that takes long says of itself: a bar while it runs, when somebody looks at a
 * terminal, and what it has done at the end. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "engine/local/local.h"

struct progress {
    bool shown; /* stderr is a terminal */
    bool drawn; /* there is a bar to take away */
    int64_t began_ms;
    int64_t drawn_ms;
    /* For the rate: what is being done, since when, and how much of it was done before. */
    const char *doing;
    int64_t doing_ms;
    uint64_t doing_from;
};

void progress_begin(struct progress *p);
/* The bar: an engine_progress, whose arg is the progress. */
engine_progress progress_show;
/* The same for what is counted in bytes, with how many it does a second. */
engine_progress progress_show_rate;
/* Takes the bar away; before anything is printed. */
void progress_clear(struct progress *p);

/* "… rows, … extents, … bytes copied to FOLDER in … s". */
void progress_put_backup(struct buf *b, const struct engine_backup *done, int64_t ms);
int64_t progress_ms(const struct progress *p);

#endif
