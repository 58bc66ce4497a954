/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/head/version.h"

#include "core/test.h"

void test_version_known_and_newer(void)
{
    int version = 0;
    CHECK(version_parse(STR("2018-03-28"), false, &version) && version == 20180328);
    CHECK(version_parse(STR("2026-10-06"), false, &version) && version == VERSION_NEWEST);
    CHECK(version_parse(STR("2027-03-07"), false, &version) && version == VERSION_NEWEST);
}

void test_version_refuses(void)
{
    int version = 0;
    CHECK(!version_parse(STR("2018-03-29"), false, &version));
    CHECK(version_parse(STR("2018-03-29"), true, &version) && version == 20180329);
    CHECK(!version_parse(STR("2018-13-01"), true, &version));
    CHECK(!version_parse(STR("yesterday!"), true, &version));
    CHECK(!version_parse(STR(""), true, &version));
}
