/* SPDX-License-Identifier: Apache-2.0 */
/* Counters and histograms that one thread writes at a time and any thread may read: a plain add in
 * memory, no locked instruction. A reader sees each number whole, and several of them from slightly
 * different moments. */
#ifndef CORE_TALLY_H
#define CORE_TALLY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef _Atomic uint64_t tally;

static inline void tally_add(tally *t, uint64_t n)
{
    atomic_store_explicit(t, atomic_load_explicit(t, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

static inline void tally_set(tally *t, uint64_t value)
{
    atomic_store_explicit(t, value, memory_order_relaxed);
}

static inline uint64_t tally_read(const tally *t)
{
    return atomic_load_explicit(t, memory_order_relaxed);
}

enum { HISTOGRAM_BOUNDS = 15 };

/* Upper bounds, inclusive, of all buckets but the last, which has none. */
extern const uint64_t HISTOGRAM_TIMES_US[HISTOGRAM_BOUNDS]; /* 100 µs to 10 s */
extern const uint64_t HISTOGRAM_COUNTS[HISTOGRAM_BOUNDS];   /* 1 to 16384, by powers of two */

struct histogram {
    tally buckets[HISTOGRAM_BOUNDS + 1]; /* each for itself, not cumulated */
    tally sum;
};

/* Most values are small, so the search begins there. */
static inline void histogram_add(struct histogram *h, const uint64_t bounds[HISTOGRAM_BOUNDS],
                                 uint64_t value)
{
    size_t i = 0;
    while (i < HISTOGRAM_BOUNDS && value > bounds[i])
        i++;
    tally_add(&h->buckets[i], 1);
    tally_add(&h->sum, value);
}

/* Adds the current values of `from` to *to, which only the caller uses. */
void histogram_merge(struct histogram *to, const struct histogram *from);

#endif
