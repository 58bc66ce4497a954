/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as text, to and from ticks of 100 ns since 1970: the dates of HTTP headers and ISO
 * 8601. All in UTC, all English, no locale. Years 1601 to 9999. */
#ifndef HTTP_DATE_H
#define HTTP_DATE_H

#include "core/str.h"

enum { HTTP_DATE_BYTES = 29, ISO_DATE_BYTES_MAX = 28 };

/* "Sun, 06 Nov 1994 08:49:37 GMT", exactly HTTP_DATE_BYTES and no NUL; a fraction of a second is
 * cut off. */
void http_date_format(int64_t ticks, char *out);
/* The form above, or one of the two obsolete ones that HTTP still wants read: "Sunday, 06-Nov-94
 * 08:49:37 GMT" and "Sun Nov  6 08:49:37 1994". False when it is none of them, or no such day. */
bool http_date_parse(struct str text, int64_t *ticks);

/* "1994-11-06T08:49:37.1234567Z" with 0 to 7 digits of fraction (no point with 0), cut off, not
 * rounded. At most ISO_DATE_BYTES_MAX, no NUL; returns how many. */
size_t iso_date_format(int64_t ticks, int fraction_digits, char *out);
/* "1994-11-06", "1994-11-06T08:49Z", "1994-11-06T08:49:37Z" or the latter with 1 to 7 digits of
 * fraction; in place of Z an offset such as "+01:00". A date alone is its midnight, in UTC. */
bool iso_date_parse(struct str text, int64_t *ticks);

/* A day of the calendar as days since 1970-01-01, and back. */
int64_t days_from_civil(int64_t year, int month, int day);
void civil_from_days(int64_t days, int64_t *year, int *month, int *day);

#endif
