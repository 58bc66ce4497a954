/* SPDX-License-Identifier: Apache-2.0 */
#include "load/histogram.h"

/* Below 64 ns a bucket each; above, the six bits after the leading one. */
static unsigned bucket_of(uint64_t ns)
{
    if (ns < HISTOGRAM_STEPS)
        return (unsigned)ns;
    unsigned shift = 63U - (unsigned)__builtin_clzll(ns) - 6U;
    unsigned bucket = (shift + 1) * HISTOGRAM_STEPS + (unsigned)(ns >> shift) - HISTOGRAM_STEPS;
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

static uint64_t bucket_ns(unsigned bucket)
{
    if (bucket < HISTOGRAM_STEPS)
        return bucket;
    unsigned shift = bucket / HISTOGRAM_STEPS - 1;
    return (uint64_t)(bucket % HISTOGRAM_STEPS + HISTOGRAM_STEPS) << shift;
}

void histogram_add(struct histogram *h, uint64_t ns)
{
    h->count++;
    h->longest = ns > h->longest ? ns : h->longest;
    h->buckets[bucket_of(ns)]++;
}

uint64_t histogram_at(const struct histogram *h, double percent)
{
    uint64_t wanted = (uint64_t)((double)h->count * percent / 100.0);
    uint64_t seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen > wanted)
            return bucket_ns(i);
    }
    return 0;
}
