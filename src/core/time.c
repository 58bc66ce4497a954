/* SPDX-License-Identifier: Apache-2.0 */
#include "core/time.h"

#include "core/clock.h"

static const char DAYS[] = "SunMonTueWedThuFriSat";
static const char MONTHS[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

struct civil {
    int64_t year;
    unsigned month, day, hour, minute, second; /* month and day from 1 */
    unsigned fraction;                         /* ticks within the second */
    unsigned weekday;                          /* from Sunday, 0 */
};

/* Days since 1970-01-01 of a date of the proleptic Gregorian calendar, counted in eras of 400
 * years that begin in March, so that the leap day is a year's last. */
static int64_t days_of(int64_t year, unsigned month, unsigned day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * (int64_t)(month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

/* Uses 32 bits where the value fits: dividing by a constant is cheaper there, and nearly every
 * response contains times. */
static struct civil civil_of(int64_t ticks)
{
    int64_t days = floor_div(ticks, TICKS_PER_DAY);
    uint64_t rest = (uint64_t)(ticks - days * TICKS_PER_DAY);
    int64_t z = days + 719468;
    int64_t era = floor_div(z, 146097);
    uint32_t of_era = (uint32_t)(z - era * 146097);
    uint32_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint32_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint32_t month = (5 * of_year + 2) / 153;
    uint32_t seconds = (uint32_t)(rest / TICKS_PER_SECOND);
    return (struct civil){
        .year = year + era * 400 + (month >= 10 ? 1 : 0),
        .month = month < 10 ? month + 3 : month - 9,
        .day = of_year - (153 * month + 2) / 5 + 1,
        .hour = seconds / 3600,
        .minute = seconds / 60 % 60,
        .second = seconds % 60,
        .fraction = (unsigned)(rest - (uint64_t)seconds * TICKS_PER_SECOND),
        .weekday = (of_era + 3) % 7, /* an era is whole weeks and begins on a Wednesday */
    };
}

static void put_two(char *out, unsigned value)
{
    static const char TWO[] = "0001020304050607080910111213141516171819"
                              "2021222324252627282930313233343536373839"
                              "4041424344454647484950515253545556575859"
                              "6061626364656667686970717273747576777879"
                              "8081828384858687888990919293949596979899";
    memcpy(out, TWO + (size_t)value * 2, 2);
}

static void put_year(char *out, int64_t year)
{
    unsigned value = (unsigned)year % 10000;
    put_two(out, value / 100);
    put_two(out + 2, value % 100);
}

static void put_fraction(char *out, unsigned ticks)
{
    put_two(out, ticks / 100000);
    put_two(out + 2, ticks / 1000 % 100);
    put_two(out + 4, ticks / 10 % 100);
    out[6] = (char)('0' + ticks % 10);
}

void time_rfc1123(int64_t ticks, char out[TIME_RFC1123_BYTES])
{
    struct civil c = civil_of(ticks);
    memcpy(out, "Xxx, 00 Xxx 0000 00:00:00 GMT", TIME_RFC1123_BYTES);
    memcpy(out, DAYS + (size_t)c.weekday * 3, 3);
    put_two(out + 5, c.day);
    memcpy(out + 8, MONTHS + (size_t)(c.month - 1) * 3, 3);
    put_year(out + 12, c.year);
    put_two(out + 17, c.hour);
    put_two(out + 20, c.minute);
    put_two(out + 23, c.second);
}

void time_iso(int64_t ticks, char out[TIME_ISO_BYTES])
{
    struct civil c = civil_of(ticks);
    memcpy(out, "0000-00-00T00:00:00.0000000Z", TIME_ISO_BYTES);
    put_year(out, c.year);
    put_two(out + 5, c.month);
    put_two(out + 8, c.day);
    put_two(out + 11, c.hour);
    put_two(out + 14, c.minute);
    put_two(out + 17, c.second);
    put_fraction(out + 20, c.fraction);
}

void time_put_rfc1123(struct buf *b, int64_t ticks)
{
    time_rfc1123(ticks, buf_reserve(b, TIME_RFC1123_BYTES));
    b->n += TIME_RFC1123_BYTES;
}

void time_put_iso(struct buf *b, int64_t ticks)
{
    time_iso(ticks, buf_reserve(b, TIME_ISO_BYTES));
    b->n += TIME_ISO_BYTES;
}

/* ---- reading ---- */

static bool take_char(struct str *rest, char c)
{
    if (rest->n == 0 || rest->p[0] != c)
        return false;
    *rest = str_from(*rest, 1);
    return true;
}

static bool take_number(struct str *rest, size_t digits, unsigned *out)
{
    unsigned value = 0;
    if (rest->n < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        if (!ascii_digit(rest->p[i]))
            return false;
        value = value * 10 + (unsigned)(rest->p[i] - '0');
    }
    *out = value;
    *rest = str_from(*rest, digits);
    return true;
}

/* Three letters in lower case as one number. Setting that bit does not turn other bytes into
 * letters. */
#define THREE(a, b, c)                                                         \
    (((uint32_t)(unsigned char)(a) << 16 | (uint32_t)(unsigned char)(b) << 8 | \
      (unsigned char)(c)) |                                                    \
     0x202020U)
static const uint32_t MONTH_NAMES[] = {
    THREE('j', 'a', 'n'), THREE('f', 'e', 'b'), THREE('m', 'a', 'r'), THREE('a', 'p', 'r'),
    THREE('m', 'a', 'y'), THREE('j', 'u', 'n'), THREE('j', 'u', 'l'), THREE('a', 'u', 'g'),
    THREE('s', 'e', 'p'), THREE('o', 'c', 't'), THREE('n', 'o', 'v'), THREE('d', 'e', 'c'),
};

static bool take_month(struct str *rest, unsigned *out)
{
    uint32_t name = rest->n < 3 ? 0 : THREE(rest->p[0], rest->p[1], rest->p[2]);
    for (unsigned i = 0; i < 12; i++) {
        if (MONTH_NAMES[i] == name) {
            *out = i + 1;
            *rest = str_from(*rest, 3);
            return true;
        }
    }
    return false;
}

static bool take_clock(struct str *rest, struct civil *c)
{
    return take_number(rest, 2, &c->hour) && take_char(rest, ':') &&
           take_number(rest, 2, &c->minute) && take_char(rest, ':') &&
           take_number(rest, 2, &c->second);
}

static unsigned month_length(int64_t year, unsigned month)
{
    static const unsigned lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : lengths[month - 1];
}

static bool to_ticks(const struct civil *c, int64_t *ticks)
{
    if (c->year < 1 || c->year > 9999 || c->month < 1 || c->month > 12 || c->day < 1 ||
        c->day > month_length(c->year, c->month) || c->hour > 23 || c->minute > 59 ||
        c->second > 59)
        return false;
    int64_t seconds = (int64_t)c->hour * 3600 + (int64_t)c->minute * 60 + c->second;
    *ticks = days_of(c->year, c->month, c->day) * TICKS_PER_DAY + seconds * TICKS_PER_SECOND +
             c->fraction;
    return true;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" and "Sunday, 06-Nov-94 08:49:37 GMT", after the comma. */
static bool parse_after_comma(struct str rest, struct civil *c)
{
    unsigned year;
    if (!take_char(&rest, ' ') || !take_number(&rest, 2, &c->day))
        return false;
    bool long_form = take_char(&rest, ' ');
    if (!long_form && !take_char(&rest, '-'))
        return false;
    if (!take_month(&rest, &c->month) || !take_char(&rest, long_form ? ' ' : '-') ||
        !take_number(&rest, long_form ? 4 : 2, &year))
        return false;
    c->year = long_form ? (int64_t)year : (int64_t)(year < 70 ? 2000 + year : 1900 + year);
    return take_char(&rest, ' ') && take_clock(&rest, c) && str_eq(rest, STR(" GMT"));
}

/* "Sun Nov  6 08:49:37 1994", after the weekday. */
static bool parse_asctime(struct str rest, struct civil *c)
{
    unsigned year;
    if (!take_month(&rest, &c->month) || !take_char(&rest, ' '))
        return false;
    bool one_digit = take_char(&rest, ' ');
    if (!take_number(&rest, one_digit ? 1 : 2, &c->day) || !take_char(&rest, ' ') ||
        !take_clock(&rest, c) || !take_char(&rest, ' ') || !take_number(&rest, 4, &year))
        return false;
    c->year = year;
    return rest.n == 0;
}

bool time_parse_http(struct str text, int64_t *ticks)
{
    struct civil c = {0};
    size_t comma = str_find(text, ',', 0);
    bool read = comma < text.n
                    ? parse_after_comma(str_from(text, comma + 1), &c)
                    : text.n > 4 && text.p[3] == ' ' && parse_asctime(str_from(text, 4), &c);
    return read && to_ticks(&c, ticks);
}

static bool take_fraction(struct str *rest, unsigned *out)
{
    unsigned digits = 0;
    unsigned value = 0;
    while (rest->n > 0 && ascii_digit(rest->p[0]) && digits < 7) {
        value = value * 10 + (unsigned)(rest->p[0] - '0');
        *rest = str_from(*rest, 1);
        digits++;
    }
    for (unsigned i = digits; i < 7; i++)
        value *= 10;
    *out = value;
    return digits > 0;
}

static bool take_zone(struct str *rest, int64_t *minutes)
{
    unsigned h;
    unsigned m;
    *minutes = 0;
    if (take_char(rest, 'Z'))
        return true;
    bool west = rest->n > 0 && rest->p[0] == '-';
    if (!take_char(rest, west ? '-' : '+') || !take_number(rest, 2, &h) || !take_char(rest, ':') ||
        !take_number(rest, 2, &m) || h > 14 || m > 59)
        return false;
    *minutes = (west ? -1 : 1) * (int64_t)(h * 60 + m);
    return true;
}

bool time_parse_iso(struct str text, int64_t *ticks)
{
    struct civil c = {0};
    unsigned year;
    int64_t zone = 0;
    if (!take_number(&text, 4, &year) || !take_char(&text, '-') ||
        !take_number(&text, 2, &c.month) || !take_char(&text, '-') ||
        !take_number(&text, 2, &c.day))
        return false;
    c.year = year;
    if (text.n > 0) {
        if (!take_char(&text, 'T') || !take_number(&text, 2, &c.hour) || !take_char(&text, ':') ||
            !take_number(&text, 2, &c.minute))
            return false;
        if (take_char(&text, ':')) {
            if (!take_number(&text, 2, &c.second))
                return false;
            if (take_char(&text, '.') && !take_fraction(&text, &c.fraction))
                return false;
        }
        if (!take_zone(&text, &zone) || text.n > 0)
            return false;
    }
    if (!to_ticks(&c, ticks))
        return false;
    *ticks -= zone * 60 * TICKS_PER_SECOND;
    /* The zone must not move it out of the years that can be written. */
    return *ticks >= days_of(1, 1, 1) * TICKS_PER_DAY &&
           *ticks < days_of(10000, 1, 1) * TICKS_PER_DAY;
}

bool time_parse_day(struct str text, int *out)
{
    unsigned year, month, day;
    if (!take_number(&text, 4, &year) || !take_char(&text, '-') || !take_number(&text, 2, &month) ||
        !take_char(&text, '-') || !take_number(&text, 2, &day) || text.n > 0)
        return false;
    *out = (int)(year * 10000 + month * 100 + day);
    return true;
}
