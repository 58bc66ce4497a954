/* SPDX-License-Identifier: Apache-2.0 */
#include "http/date.h"

#include <time.h>

#include "core/clock.h"
#include "core/test.h"

static struct str http_text(int64_t ticks)
{
    static char text[HTTP_DATE_BYTES];
    http_date_format(ticks, text);
    return (struct str){text, sizeof text};
}

static struct str iso_text(int64_t ticks, int digits)
{
    static char text[ISO_DATE_BYTES_MAX];
    return (struct str){text, iso_date_format(ticks, digits, text)};
}

void test_http_date_format(void)
{
    CHECK_STR(http_text(0), STR("Thu, 01 Jan 1970 00:00:00 GMT"));
    CHECK_STR(http_text(784111777 * TICKS_PER_SECOND), STR("Sun, 06 Nov 1994 08:49:37 GMT"));
    CHECK_STR(http_text(784111778 * TICKS_PER_SECOND - 1), STR("Sun, 06 Nov 1994 08:49:37 GMT"));
    CHECK_STR(http_text(-1), STR("Wed, 31 Dec 1969 23:59:59 GMT"));
    CHECK_STR(http_text(951782400 * TICKS_PER_SECOND), STR("Tue, 29 Feb 2000 00:00:00 GMT"));
}

void test_http_date_three_forms(void)
{
    static const struct str forms[] = {
        STR_INIT("Sun, 06 Nov 1994 08:49:37 GMT"),
        STR_INIT("Sunday, 06-Nov-94 08:49:37 GMT"),
        STR_INIT("Sun Nov  6 08:49:37 1994"),
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        int64_t ticks = 0;
        CHECK(http_date_parse(forms[i], &ticks));
        CHECK_INT(ticks, 784111777 * TICKS_PER_SECOND);
    }
    int64_t ticks;
    CHECK(http_date_parse(STR("Wed Nov 16 08:49:37 1994"), &ticks));
    CHECK(http_date_parse(STR("Wednesday, 01-Jan-69 00:00:00 GMT"), &ticks));
    CHECK_STR(http_text(ticks), STR("Tue, 01 Jan 2069 00:00:00 GMT"));
}

void test_http_date_refuses(void)
{
    static const struct str refused[] = {
        STR_INIT(""),
        STR_INIT("Sun"),
        STR_INIT("Sun, 06 Nov 1994 08:49:37"),
        STR_INIT("Sun, 06 Nov 1994 08:49:37 UTC"),
        STR_INIT("Sun, 06 Nov 1994 08:49:37 GMT "),
        STR_INIT("Sun, 6 Nov 1994 08:49:37 GMT"),
        STR_INIT("Sun, 30 Feb 2000 08:49:37 GMT"),
        STR_INIT("Sun, 29 Feb 1900 08:49:37 GMT"),
        STR_INIT("Sun, 06 Nov 1994 24:00:00 GMT"),
        STR_INIT("Sun, 06 Nov 1994 08:60:00 GMT"),
        STR_INIT("Sun, 06 nov 1994 08:49:37 GMT"),
        STR_INIT("Sun, 00 Nov 1994 08:49:37 GMT"),
        STR_INIT("Sun, 06 Nov 1500 08:49:37 GMT"),
        STR_INIT("Moonday, 06-Nov-94 08:49:37 GMT"),
        STR_INIT("1994-11-06T08:49:37Z"),
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        int64_t ticks;
        if (http_date_parse(refused[i], &ticks))
            test_fail(__FILE__, __LINE__, "taken: %.*s", STR_ARG(refused[i]));
    }
}

/* Against the C library's calendar, every day of five centuries. */
void test_date_calendar(void)
{
    for (int64_t days = days_from_civil(1601, 1, 1); days < days_from_civil(2101, 1, 1); days++) {
        time_t seconds = (time_t)(days * 86400);
        struct tm tm;
        CHECK(gmtime_r(&seconds, &tm) != NULL);
        int64_t year;
        int month;
        int day;
        civil_from_days(days, &year, &month, &day);
        CHECK_INT(year, tm.tm_year + 1900);
        CHECK_INT(month, tm.tm_mon + 1);
        CHECK_INT(day, tm.tm_mday);
        CHECK_INT(days_from_civil(year, month, day), days);
        int64_t ticks;
        CHECK(http_date_parse(http_text(days * TICKS_PER_DAY), &ticks));
        CHECK_INT(ticks, days * TICKS_PER_DAY);
    }
}

void test_iso_date_format(void)
{
    int64_t ticks = 784111777 * TICKS_PER_SECOND + 1234567;
    CHECK_STR(iso_text(ticks, 7), STR("1994-11-06T08:49:37.1234567Z"));
    CHECK_STR(iso_text(ticks, 3), STR("1994-11-06T08:49:37.123Z"));
    CHECK_STR(iso_text(ticks, 0), STR("1994-11-06T08:49:37Z"));
    CHECK_STR(iso_text(-11644473600 * TICKS_PER_SECOND, 7), STR("1601-01-01T00:00:00.0000000Z"));
}

void test_iso_date_parse(void)
{
    static const struct {
        struct str text;
        int64_t ticks;
    } good[] = {
        {STR_INIT("1994-11-06"), 784080000 * TICKS_PER_SECOND},
        {STR_INIT("1994-11-06T08:49Z"), 784111740 * TICKS_PER_SECOND},
        {STR_INIT("1994-11-06T08:49:37Z"), 784111777 * TICKS_PER_SECOND},
        {STR_INIT("1994-11-06T08:49:37.5Z"), 784111777 * TICKS_PER_SECOND + 5000000},
        {STR_INIT("1994-11-06T08:49:37.1234567Z"), 784111777 * TICKS_PER_SECOND + 1234567},
        {STR_INIT("1994-11-06T09:49:37+01:00"), 784111777 * TICKS_PER_SECOND},
        {STR_INIT("1994-11-06T03:19:37-05:30"), 784111777 * TICKS_PER_SECOND},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t ticks = 0;
        CHECK(iso_date_parse(good[i].text, &ticks));
        CHECK_INT(ticks, good[i].ticks);
    }
    static const struct str refused[] = {
        STR_INIT(""),
        STR_INIT("1994-11"),
        STR_INIT("1994-13-01"),
        STR_INIT("1994-11-31"),
        STR_INIT("1994-11-06T08:49:37"),
        STR_INIT("1994-11-06T08:49:37."),
        STR_INIT("1994-11-06T08:49:37.Z"),
        STR_INIT("1994-11-06T08:49:37.12345678Z"),
        STR_INIT("1994-11-06T8:49:37Z"),
        STR_INIT("1994-11-06 08:49:37Z"),
        STR_INIT("1994-11-06T08:49:37Zx"),
        STR_INIT("1994-11-06T25:00:00Z"),
        STR_INIT("1994-11-06T08:49:37+25:00"),
        STR_INIT("0001-01-01T00:00:00Z"),
        STR_INIT("9999-12-31T23:59:59-01:00"),
        STR_INIT("1601-01-01T00:00:00+01:00"),
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        int64_t ticks;
        if (iso_date_parse(refused[i], &ticks))
            test_fail(__FILE__, __LINE__, "taken: %.*s", STR_ARG(refused[i]));
    }
}
