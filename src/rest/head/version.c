/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/head/version.h"

#include <assert.h>

#include "core/time.h"

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
    if (!time_parse_day(text, out))
        return false;
    int month = *out / 100 % 100, day = *out % 100;
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* They are in order: a binary search finds the last that is not newer. */
static bool is_served(int version)
{
    size_t from = 0, count = sizeof VERSIONS / sizeof VERSIONS[0];
    while (count > 1) {
        size_t half = count / 2;
        if (VERSIONS[from + half] <= version)
            from += half;
        count -= half;
    }
    return VERSIONS[from] == version;
}

bool version_parse(struct str text, bool any, int *out)
{
    assert(out != NULL);
    int version;
    if (!version_shape(text, &version))
        return false;
    *out = version > VERSION_NEWEST ? VERSION_NEWEST : version;
    return any || version >= VERSION_NEWEST || is_served(version);
}
