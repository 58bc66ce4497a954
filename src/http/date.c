/* SPDX-License-Identifier: Apache-2.0 */
#include "http/date.h"

#include <assert.h>

#include "core/clock.h"

static const char DAY_NAMES[] = "SunMonTueWedThuFriSat";
static const char MONTH_NAMES[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
static const char *const LONG_DAY_NAMES[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                             "Thursday", "Friday", "Saturday"};

enum { YEAR_MIN = 1601, YEAR_MAX = 9999 };

/* ---- the calendar ----
 * Counted from 1 March of year 0, so that a leap day is the last of its year: then the days before
 * a month follow from one product, and years repeat every 400 (146097 days). */

enum { DAYS_PER_400_YEARS = 146097, DAYS_TO_1970 = 719468 };

int64_t days_from_civil(int64_t year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t month_from_march = (month + 9) % 12;
    int64_t day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    int64_t leaps = year_of_era / 4 - year_of_era / 100;
    return era * DAYS_PER_400_YEARS + year_of_era * 365 + leaps + day_of_year - DAYS_TO_1970;
}

void civil_from_days(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t z = days + DAYS_TO_1970;
    int64_t era = (z >= 0 ? z : z - (DAYS_PER_400_YEARS - 1)) / DAYS_PER_400_YEARS;
    int64_t day_of_era = z - era * DAYS_PER_400_YEARS;
    /* Without the leap days gone by, the days of an era divide evenly into years. */
    int64_t leaps = day_of_era / 1460 - day_of_era / 36524 + day_of_era / 146096;
    int64_t year_of_era = (day_of_era - leaps) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    *day = (int)(day_of_year - (153 * month_from_march + 2) / 5 + 1);
    *month = (int)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    *year = year_of_era + era * 400 + (*month <= 2);
}

struct moment {
    int64_t year;
    int month;
    int day;
    int hour;
    int minute;
    int second;
    int fraction; /* in ticks */
};

static int days_in_month(int64_t year, int month)
{
    static const signed char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* False when there is no such moment. Leap seconds are not known here, nor to the clock. */
static bool moment_to_ticks(const struct moment *m, int64_t *ticks)
{
    if (m->year < YEAR_MIN || m->year > YEAR_MAX || m->month < 1 || m->month > 12 || m->day < 1 ||
        m->day > days_in_month(m->year, m->month) || m->hour > 23 || m->minute > 59 ||
        m->second > 59)
        return false;
    int64_t days = days_from_civil(m->year, m->month, m->day);
    int64_t seconds = days * 86400 + m->hour * 3600 + m->minute * 60 + m->second;
    *ticks = seconds * TICKS_PER_SECOND + m->fraction;
    return true;
}

static struct moment moment_of(int64_t ticks, int64_t *days)
{
    struct moment m;
    *days = ticks / TICKS_PER_DAY;
    int64_t rest = ticks % TICKS_PER_DAY;
    if (rest < 0) {
        rest += TICKS_PER_DAY;
        (*days)--;
    }
    civil_from_days(*days, &m.year, &m.month, &m.day);
    assert(m.year >= 0 && m.year <= YEAR_MAX);
    m.fraction = (int)(rest % TICKS_PER_SECOND);
    int second_of_day = (int)(rest / TICKS_PER_SECOND);
    m.hour = second_of_day / 3600;
    m.minute = second_of_day / 60 % 60;
    m.second = second_of_day % 60;
    return m;
}

/* ---- writing ---- */

static char *put_digits(char *at, int64_t value, int digits)
{
    for (int i = digits - 1; i >= 0; i--) {
        at[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return at + digits;
}

static char *put_time(char *at, const struct moment *m)
{
    at = put_digits(at, m->hour, 2);
    *at++ = ':';
    at = put_digits(at, m->minute, 2);
    *at++ = ':';
    return put_digits(at, m->second, 2);
}

void http_date_format(int64_t ticks, char *out)
{
    int64_t days;
    struct moment m = moment_of(ticks, &days);
    int64_t weekday = ((days + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
    char *at = out;
    memcpy(at, DAY_NAMES + 3 * weekday, 3);
    memcpy(at + 3, ", ", 2);
    at = put_digits(at + 5, m.day, 2);
    *at++ = ' ';
    memcpy(at, MONTH_NAMES + 3 * (m.month - 1), 3);
    at[3] = ' ';
    at = put_digits(at + 4, m.year, 4);
    *at++ = ' ';
    at = put_time(at, &m);
    memcpy(at, " GMT", 4);
}

size_t iso_date_format(int64_t ticks, int fraction_digits, char *out)
{
    static const int scale[] = {10000000, 1000000, 100000, 10000, 1000, 100, 10, 1};
    assert(fraction_digits >= 0 && fraction_digits <= 7);
    int64_t days;
    struct moment m = moment_of(ticks, &days);
    char *at = put_digits(out, m.year, 4);
    *at++ = '-';
    at = put_digits(at, m.month, 2);
    *at++ = '-';
    at = put_digits(at, m.day, 2);
    *at++ = 'T';
    at = put_time(at, &m);
    if (fraction_digits > 0) {
        *at++ = '.';
        at = put_digits(at, m.fraction / scale[fraction_digits], fraction_digits);
    }
    *at++ = 'Z';
    return (size_t)(at - out);
}

/* ---- reading: each takes from the front of *s what it found ---- */

static bool take(struct str *s, struct str what)
{
    if (!str_starts(*s, what))
        return false;
    *s = str_from(*s, what.n);
    return true;
}

static bool take_number(struct str *s, size_t digits, int *out)
{
    if (s->n < digits)
        return false;
    int value = 0;
    for (size_t i = 0; i < digits; i++) {
        if (!ascii_digit(s->p[i]))
            return false;
        value = value * 10 + (s->p[i] - '0');
    }
    *s = str_from(*s, digits);
    *out = value;
    return true;
}

/* One of the three-letter names; *out is its index. */
static bool take_name(struct str *s, const char *names, int *out)
{
    for (int i = 0; s->n >= 3 && names[3 * i] != '\0'; i++)
        if (memcmp(s->p, names + 3 * i, 3) == 0) {
            *s = str_from(*s, 3);
            *out = i;
            return true;
        }
    return false;
}

static bool take_month(struct str *s, struct moment *m)
{
    if (!take_name(s, MONTH_NAMES, &m->month))
        return false;
    m->month++;
    return true;
}

static bool take_year(struct str *s, struct moment *m)
{
    int year;
    bool found = take_number(s, 4, &year);
    if (found)
        m->year = year;
    return found;
}

static bool take_time(struct str *s, struct moment *m)
{
    return take_number(s, 2, &m->hour) && take(s, STR(":")) && take_number(s, 2, &m->minute) &&
           take(s, STR(":")) && take_number(s, 2, &m->second);
}

/* After "Sun, ": "06 Nov 1994 08:49:37 GMT". */
static bool parse_rfc1123(struct str s, struct moment *m)
{
    return take(&s, STR(", ")) && take_number(&s, 2, &m->day) && take(&s, STR(" ")) &&
           take_month(&s, m) && take(&s, STR(" ")) && take_year(&s, m) && take(&s, STR(" ")) &&
           take_time(&s, m) && str_eq(s, STR(" GMT"));
}

/* After "Sun": "day, 06-Nov-94 08:49:37 GMT". Of the years that end so, 1970 to 2069. */
static bool parse_rfc850(struct str s, struct moment *m)
{
    int year;
    if (!(take(&s, STR(", ")) && take_number(&s, 2, &m->day) && take(&s, STR("-")) &&
          take_month(&s, m) && take(&s, STR("-")) && take_number(&s, 2, &year) &&
          take(&s, STR(" ")) && take_time(&s, m) && str_eq(s, STR(" GMT"))))
        return false;
    m->year = year < 70 ? 2000 + year : 1900 + year;
    return true;
}

/* After "Sun": " Nov  6 08:49:37 1994". */
static bool parse_asctime(struct str s, struct moment *m)
{
    if (!(take(&s, STR(" ")) && take_month(&s, m) && take(&s, STR(" "))))
        return false;
    size_t digits = take(&s, STR(" ")) ? 1 : 2;
    return take_number(&s, digits, &m->day) && take(&s, STR(" ")) && take_time(&s, m) &&
           take(&s, STR(" ")) && take_year(&s, m) && s.n == 0;
}

/* The name of the day is read, but a wrong one does no harm: the date alone counts. */
bool http_date_parse(struct str text, int64_t *ticks)
{
    struct str s = text;
    struct moment m = {0};
    int weekday;
    if (!take_name(&s, DAY_NAMES, &weekday))
        return false;
    struct str rest_of_name = str_from(str_of(LONG_DAY_NAMES[weekday]), 3);
    bool read = parse_rfc1123(s, &m) || parse_asctime(s, &m) ||
                (take(&s, rest_of_name) && parse_rfc850(s, &m));
    return read && moment_to_ticks(&m, ticks);
}

static bool take_fraction(struct str *s, struct moment *m)
{
    size_t digits = 0;
    m->fraction = 0;
    while (digits < s->n && digits < 7 && ascii_digit(s->p[digits]))
        m->fraction = m->fraction * 10 + (s->p[digits++] - '0');
    for (size_t i = digits; i < 7; i++)
        m->fraction *= 10;
    *s = str_from(*s, digits);
    return digits > 0;
}

/* "Z", or "+01:00" or "-01:00", to the end. */
static bool parse_zone(struct str s, int64_t *offset_ticks)
{
    *offset_ticks = 0;
    if (str_eq(s, STR("Z")) || str_eq(s, STR("z")))
        return true;
    bool east = take(&s, STR("+"));
    int hours;
    int minutes;
    if (!((east || take(&s, STR("-"))) && take_number(&s, 2, &hours) && take(&s, STR(":")) &&
          take_number(&s, 2, &minutes) && s.n == 0 && hours <= 14 && minutes <= 59))
        return false;
    *offset_ticks = (hours * 60 + minutes) * 60 * TICKS_PER_SECOND * (east ? 1 : -1);
    return true;
}

bool iso_date_parse(struct str text, int64_t *ticks)
{
    struct str s = text;
    struct moment m = {0};
    int64_t offset = 0;
    if (!(take_year(&s, &m) && take(&s, STR("-")) && take_number(&s, 2, &m.month) &&
          take(&s, STR("-")) && take_number(&s, 2, &m.day)))
        return false;
    if (s.n > 0) {
        if (!(take(&s, STR("T")) && take_number(&s, 2, &m.hour) && take(&s, STR(":")) &&
              take_number(&s, 2, &m.minute)))
            return false;
        if (take(&s, STR(":")) && !take_number(&s, 2, &m.second))
            return false;
        if (take(&s, STR(".")) && !take_fraction(&s, &m))
            return false;
        if (!parse_zone(s, &offset))
            return false;
    }
    if (!moment_to_ticks(&m, ticks))
        return false;
    *ticks -= offset;
    /* An offset must not carry it out of the years that can be written. */
    return *ticks >= days_from_civil(YEAR_MIN, 1, 1) * TICKS_PER_DAY &&
           *ticks < days_from_civil(YEAR_MAX + 1, 1, 1) * TICKS_PER_DAY;
}
