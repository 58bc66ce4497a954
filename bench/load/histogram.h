/* SPDX-License-Identifier: Apache-2.0 */
/* Times in nanoseconds, kept to about 1.6 %: 64 steps for every doubling. */
#ifndef BENCH_LOAD_HISTOGRAM_H
#define BENCH_LOAD_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_STEPS = 64, HISTOGRAM_BUCKETS = 40 * HISTOGRAM_STEPS };

struct histogram {
    uint64_t count;
    uint64_t longest; /* exactly */
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, uint64_t ns);
/* The time that `percent` of all did not exceed. */
uint64_t histogram_at(const struct histogram *h, double percent);

#endif
