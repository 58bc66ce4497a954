/* SPDX-License-Identifier: Apache-2.0 */
#include "core/tally.h"

const uint64_t HISTOGRAM_TIMES_US[HISTOGRAM_BOUNDS] = {100,    250,    500,     1000,    2500,
                                                       5000,   10000,  25000,   50000,   100000,
                                                       250000, 500000, 1000000, 2500000, 10000000};

const uint64_t HISTOGRAM_COUNTS[HISTOGRAM_BOUNDS] = {1,   2,   4,    8,    16,   32,   64,   128,
                                                     256, 512, 1024, 2048, 4096, 8192, 16384};

void histogram_merge(struct histogram *to, const struct histogram *from)
{
    for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++)
        tally_add(&to->buckets[i], tally_read(&from->buckets[i]));
    tally_add(&to->sum, tally_read(&from->sum));
}
