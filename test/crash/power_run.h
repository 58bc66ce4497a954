/* SPDX-License-Identifier: Apache-2.0 */
/* Updates determined by a seed and a number, and the state that a store must hold after them. */
#ifndef TEST_CRASH_POWER_RUN_H
#define TEST_CRASH_POWER_RUN_H

#include <pthread.h>
#include <stdatomic.h>

#include "disk.h"
#include "engine/local/local.h"

enum { UPDATES_MAX = 1000, CHANGES_MAX = 3 };

/* KEPT is only planned: a row with a body gets another mark and keeps its body. */
enum content { NO_ROW, IN_ROW, IN_BODY, IN_EXTENT, KEPT };

struct model_row {
    enum content content;
    uint32_t length;
    uint32_t seed;
    uint32_t mark; /* of a row with a body */
};

struct change {
    uint32_t key;
    struct model_row row;
};

struct plan {
    struct change changes[CHANGES_MAX];
    uint32_t count;
    enum engine_ack ack;
    unsigned hints;
};

enum outcome { UNDER_WAY, DONE, REFUSED, UNKNOWN };

struct call {
    struct engine_update update; /* first */
    struct run *run;
    uint32_t number;
    struct plan plan;
    struct extent extents[CHANGES_MAX];
    enum outcome outcome;
    bool wrote;  /* it was run, and its function returned no error */
    size_t ran;  /* when it was run */
    size_t told; /* when its outcome was reported */
    size_t sure; /* the event from which on it must survive; SIZE_MAX: it need not */
};

struct run {
    uint32_t seed;
    bool tree; /* updates are operations on paths (power_tree.h) */
    char *folder;
    struct engine *engine;
    struct clock clock;
    struct call calls[UPDATES_MAX + 1]; /* from 1 on */
    uint32_t submitted;
    _Atomic uint32_t ended;
    pthread_mutex_t lock;
    pthread_cond_t landed;
    bool may_fail;
    size_t made; /* before this event there is no readable store; 0: unknown */
};

/* Opens the store at `folder`. */
struct err run_open(struct run *run, const char *folder, bool read_only, struct engine **out);
void run_submit(struct run *run, uint32_t number);
/* Waits until this many updates have ended. */
void run_wait(struct run *run, uint32_t ended);

/* Checks that the open store holds exactly the first updates: all that had to survive a cut after
 * `now` events, none that had been refused by then. Returns the last one's number. */
uint32_t power_run_check(struct run *run, size_t now);
/* The same for a store that was never closed: exactly the completed updates are visible. */
void run_check_live(struct run *run);
/* Runs `lazuli check` on the store. */
void run_check_whole(struct run *run, const char *folder);

/* The program was killed after `now` events: outcomes reported later are unknown. */
void run_forget_told(struct run *run, size_t now);
/* A store was opened and contains the updates up to `held`, which must survive from the event
 * `sure` on. Updates that it does not contain are discarded, and their numbers are used again. */
void run_go_on(struct run *run, uint32_t held, size_t sure);

uint32_t draw(uint32_t *random, uint32_t below);

#endif
