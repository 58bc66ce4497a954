/* SPDX-License-Identifier: Apache-2.0 */
/* State of the REST front end for each loop: http_handler's loop_memory. */
#ifndef REST_WATCH_LOOP_MEMORY_H
#define REST_WATCH_LOOP_MEMORY_H

#include "rest/watch/stats.h"

struct rest_loop {
    struct rest_stats stats;
};

#endif
