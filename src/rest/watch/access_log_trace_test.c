/* SPDX-License-Identifier: Apache-2.0 */
#include "core/test.h"
#include "rest/watch/access_log.h"

void test_access_log_trace_is_strict(void)
{
    static const char *const GOOD[] = {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                       "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x"};
    static const char *const BAD[] = {"",
                                      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
                                      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
                                      "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                                      "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                                      "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                                      "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                      "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
                                      "00 4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                      "zz-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g"};
    struct str trace, span;
    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++) {
        CHECK(access_log_trace(str_of(GOOD[i]), &trace, &span));
        CHECK_STR(trace, STR("4bf92f3577b34da6a3ce929d0e0e4736"));
        CHECK_STR(span, STR("00f067aa0ba902b7"));
    }
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        if (access_log_trace(str_of(BAD[i]), &trace, &span))
            test_fail(__FILE__, __LINE__, "'%s' was taken", BAD[i]);
    CHECK(!access_log_trace(STR_NONE, &trace, &span));
}
