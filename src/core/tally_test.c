/* SPDX-License-Identifier: Apache-2.0 */
#include "core/tally.h"

#include "core/test.h"

void test_histogram_bounds_are_inclusive(void)
{
    struct histogram h = {0};
    histogram_add(&h, HISTOGRAM_TIMES_US, 0);
    histogram_add(&h, HISTOGRAM_TIMES_US, 100);
    histogram_add(&h, HISTOGRAM_TIMES_US, 101);
    histogram_add(&h, HISTOGRAM_TIMES_US, 10000000);
    histogram_add(&h, HISTOGRAM_TIMES_US, 10000001);
    CHECK_INT(tally_read(&h.buckets[0]), 2);
    CHECK_INT(tally_read(&h.buckets[1]), 1);
    CHECK_INT(tally_read(&h.buckets[HISTOGRAM_BOUNDS - 1]), 1);
    CHECK_INT(tally_read(&h.buckets[HISTOGRAM_BOUNDS]), 1);
    CHECK_INT(tally_read(&h.sum), 20000202);
}

void test_histogram_merge_adds(void)
{
    struct histogram a = {0}, b = {0}, sum = {0};
    histogram_add(&a, HISTOGRAM_COUNTS, 3);
    histogram_add(&b, HISTOGRAM_COUNTS, 4);
    histogram_merge(&sum, &a);
    histogram_merge(&sum, &b);
    CHECK_INT(tally_read(&sum.buckets[2]), 2);
    CHECK_INT(tally_read(&sum.sum), 7);
    for (size_t i = 1; i < HISTOGRAM_BOUNDS; i++)
        CHECK(HISTOGRAM_COUNTS[i] > HISTOGRAM_COUNTS[i - 1] &&
              HISTOGRAM_TIMES_US[i] > HISTOGRAM_TIMES_US[i - 1]);
}
