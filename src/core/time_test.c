/* SPDX-License-Identifier: Apache-2.0 */
#include "core/time.h"

#include "core/clock.h"
#include "core/test.h"

static void check_http(struct str text, int64_t want_seconds)
{
    int64_t ticks = 0;
    CHECK(time_parse_http(text, &ticks));
    CHECK_INT(ticks, want_seconds * TICKS_PER_SECOND);
}

void test_time_http_forms(void)
{
    check_http(STR("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
    check_http(STR("Sunday, 06-Nov-94 08:49:37 GMT"), 784111777);
    check_http(STR("Sun Nov  6 08:49:37 1994"), 784111777);
    int64_t t;
    CHECK(!time_parse_http(STR("Sun, 31 Feb 1994 08:49:37 GMT"), &t));
    CHECK(!time_parse_http(STR("Sun, 06 Nov 1994 24:00:00 GMT"), &t));
    CHECK(!time_parse_http(STR("yesterday"), &t));
    check_http(STR("sun, 06 nOV 1994 08:49:37 GMT"), 784111777);
    CHECK(!time_parse_http(STR("Sun, 06 \x0Eov 1994 08:49:37 GMT"), &t));
    CHECK(!time_parse_http(STR("Sun, 06 Nob 1994 08:49:37 GMT"), &t));
    CHECK(!time_parse_http(STR("Sun, +6 Nov 1994 08:49:37 GMT"), &t));
    CHECK(!time_parse_http(STR("Sun, 06 Nov 199x 08:49:37 GMT"), &t));
    CHECK(!time_parse_http(STR("Sun, 06 Nov x994 08:49:37 GMT"), &t));
    CHECK(!time_parse_http(STR("Sun, 06 Nov 1994 08:4:037 GMT"), &t));
    CHECK(!time_parse_http(STR("Sun, 06 Nov 1994 08:49:60 GMT"), &t));
    CHECK(!time_parse_http(STR("Sun, 06 Nov 1994 08:60:37 GMT"), &t));
    CHECK(!time_parse_http(STR("Sun, 06 Nov 1994 08:49:3: GMT"), &t));
    CHECK(!time_parse_http(STR("Sun, 06 Nov 1994 08:49:37 UTC"), &t));
    CHECK(!time_parse_http(STR("Sun, 06 Nov 0000 08:49:37 GMT"), &t));
    CHECK(!time_parse_http(STR("Su,, 06 Nov 1994 08:49:37 GMT"), &t));
    CHECK(!time_parse_http(STR("Sun, 06 No"), &t));
    CHECK(!time_parse_http(STR("Sun, 06 Nov 1994 08:49:37 GMT "), &t));
}

void test_time_iso_forms(void)
{
    int64_t t = 0;
    CHECK(time_parse_iso(STR("2024-02-29"), &t));
    CHECK_INT(t, 1709164800LL * TICKS_PER_SECOND);
    CHECK(time_parse_iso(STR("2024-02-29T01:02Z"), &t));
    CHECK_INT(t, 1709168520LL * TICKS_PER_SECOND);
    CHECK(time_parse_iso(STR("2024-02-29T01:02:03.5+01:00"), &t));
    CHECK_INT(t, (1709168523LL - 3600) * TICKS_PER_SECOND + 5000000);
    CHECK(!time_parse_iso(STR("2023-02-29"), &t));
    CHECK(!time_parse_iso(STR("2024-02-29T01:02:03"), &t));
    CHECK(!time_parse_iso(STR("2024-02-29T01:02:03.12345678Z"), &t));
    CHECK(!time_parse_iso(STR("9999-12-31T23:59:59-01:00"), &t));
    CHECK(!time_parse_iso(STR("0001-01-01T00:00:00+01:00"), &t));
}

void test_time_parse_day(void)
{
    static const struct str REFUSED[] = {STR_INIT(""),           STR_INIT("2020-12-6"),
                                         STR_INIT("2020/12/06"), STR_INIT("2020-12-0x"),
                                         STR_INIT("-020-12-06"), STR_INIT("2020-12-061")};
    int day = 0;
    CHECK(time_parse_day(STR("2020-12-06"), &day) && day == 20201206);
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++)
        CHECK(!time_parse_day(REFUSED[i], &day));
}

void test_time_round_trip(void)
{
    for (int64_t ticks = -621355968000000000LL; ticks < 2534023007999999999LL;
         ticks += 86399LL * 999 * TICKS_PER_SECOND + 1234567) {
        char iso[TIME_ISO_BYTES];
        char http[TIME_RFC1123_BYTES];
        int64_t back = 0;
        time_iso(ticks, iso);
        CHECK(time_parse_iso((struct str){iso, sizeof iso}, &back));
        CHECK_INT(back, ticks);
        time_rfc1123(ticks, http);
        CHECK(time_parse_http((struct str){http, sizeof http}, &back));
        CHECK(ticks - back >= 0 && ticks - back < TICKS_PER_SECOND);
    }
}

void test_time_weekday(void)
{
    char http[TIME_RFC1123_BYTES];
    time_rfc1123(0, http);
    CHECK_STR(((struct str){http, sizeof http}), STR("Thu, 01 Jan 1970 00:00:00 GMT"));
    time_rfc1123(-TICKS_PER_DAY, http);
    CHECK_STR(((struct str){http, sizeof http}), STR("Wed, 31 Dec 1969 00:00:00 GMT"));
    /* The last second of a leap day that ends an era, the first of the next era, and a long way
     * before: each is known from another calendar. */
    time_rfc1123(951868799LL * TICKS_PER_SECOND, http);
    CHECK_STR(((struct str){http, sizeof http}), STR("Tue, 29 Feb 2000 23:59:59 GMT"));
    time_rfc1123(951868800LL * TICKS_PER_SECOND, http);
    CHECK_STR(((struct str){http, sizeof http}), STR("Wed, 01 Mar 2000 00:00:00 GMT"));
    time_rfc1123(-TIME_TICKS_YEAR_1, http);
    CHECK_STR(((struct str){http, sizeof http}), STR("Mon, 01 Jan 0001 00:00:00 GMT"));
}
