/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/collate.h"

#include "core/test.h"

static void check_before(const char *a, const char *b)
{
    if (collate_header_names(str_of(a), str_of(b)) >= 0 ||
        collate_header_names(str_of(b), str_of(a)) <= 0)
        test_fail(__FILE__, __LINE__, "%s should come before %s", a, b);
}

void test_collate_header_names(void)
{
    CHECK_INT(collate_header_names(STR("x-ms-date"), STR("x-ms-date")), 0);
    check_before("x-ms-blob-type", "x-ms-date");
    check_before("x-ms-client", "x-ms-client-request-id");
    /* Byte order has these the other way round. */
    check_before("x-ms-meta-ab", "x-ms-meta-a-c");
    check_before("x-ms-meta-a_b", "x-ms-meta-a1");
    check_before("x-ms-meta-abc", "x-ms-meta-a-d");
    /* Marks before digits before letters. */
    check_before("x-ms-meta-.", "x-ms-meta-_");
    check_before("x-ms-meta-~", "x-ms-meta-+");
    check_before("x-ms-meta-+", "x-ms-meta-0");
    check_before("x-ms-meta-9", "x-ms-meta-a");
    /* Equal but for '-' and '\'': the one that has the mark comes later. */
    check_before("x-ms-meta-ab", "x-ms-meta-a-b");
    check_before("x-ms-meta-ab", "x-ms-meta-ab-");
    check_before("x-ms-meta-ab-c", "x-ms-meta-a-bc");
    check_before("x-ms-meta-a'b", "x-ms-meta-a-b");
}
