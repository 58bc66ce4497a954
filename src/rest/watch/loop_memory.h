/* SPDX-License-Identifier: Apache-2.0 */
/* What the REST front end keeps for each loop: http_handler's loop_memory. */
#ifndef REST_WATCH_LOOP_MEMORY_H
#define REST_WATCH_LOOP_MEMORY_H

#include "rest/watch/stats.h"

struct rest_loop {
    struct rest_stats stats;
};

#endif
