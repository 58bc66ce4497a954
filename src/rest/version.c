/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/version.h"

static const int VERSIONS[] = {
    20090414, 20090717, 20090919, 20110818, 20120212, 20120919, 20130815,       20140214, 20150221,
    20150405, 20150708, 20151211, 20160531, 20170417, 20170729, 20171109,       20180328, 20180617,
    20181109, 20190202, 20190707, 20191010, 20191212, 20200210, 20200408,       20200612, 20200804,
    20201002, 20201206, 20210212, 20210410, 20210608, 20210806, 20211004,       20211202, 20221102,
    20230103, 20230503, 20230803, 20231103, 20240204, 20240504, 20240804,       20241104, 20250105,
    20250505, 20250705, 20251105, 20260206, 20260406, 20260606, VERSION_NEWEST,
};

static bool version_shape(struct str text, int *out)
{
    struct str year = str_head(text, 4);
    uint64_t y;
    uint64_t m;
    uint64_t d;
    if (text.n != 10 || text.p[4] != '-' || text.p[7] != '-' || !str_to_u64(year, &y) ||
        !str_to_u64((struct str){text.p + 5, 2}, &m) ||
        !str_to_u64((struct str){text.p + 8, 2}, &d))
        return false;
    if (m < 1 || m > 12 || d < 1 || d > 31)
        return false;
    *out = (int)(y * 10000 + m * 100 + d);
    return true;
}

bool version_parse(struct str text, bool any, int *out)
{
    int version;
    if (!version_shape(text, &version))
        return false;
    *out = version > VERSION_NEWEST ? VERSION_NEWEST : version;
    if (any || version >= VERSION_NEWEST)
        return true;
    for (size_t i = 0; i < sizeof VERSIONS / sizeof VERSIONS[0]; i++)
        if (VERSIONS[i] == version)
            return true;
    return false;
}
