/* SPDX-License-Identifier: Apache-2.0 */
/* Dates as text, to and from ticks (100 ns since 1970, see clock.h). No locale, no libc calendar.
 */
#ifndef CORE_TIME_H
#define CORE_TIME_H

#include "core/buf.h"

enum { TIME_RFC1123_BYTES = 29, TIME_ISO_BYTES = 28 };

/* .NET counts ticks from the year 1; ETags are made of those. */
#define TIME_TICKS_YEAR_1 621355968000000000LL
/* Windows counts them from 1601. */
#define TIME_TICKS_YEAR_1601 116444736000000000LL

/* "Sun, 06 Nov 1994 08:49:37 GMT", no NUL. */
void time_rfc1123(int64_t ticks, char out[TIME_RFC1123_BYTES]);
/* "1994-11-06T08:49:37.1234567Z", no NUL. */
void time_iso(int64_t ticks, char out[TIME_ISO_BYTES]);
void time_put_rfc1123(struct buf *b, int64_t ticks);
void time_put_iso(struct buf *b, int64_t ticks);

/* RFC 1123, RFC 850 or asctime form, whole seconds. False for any other form. */
bool time_parse_http(struct str text, int64_t *ticks);
/* YYYY-MM-DD, YYYY-MM-DDThh:mmTZD, …:ssTZD, …:ss.f{1,7}TZD with TZD "Z" or ±hh:mm. */
bool time_parse_iso(struct str text, int64_t *ticks);
/* "2020-12-06" is 20201206, as versions are compared. Does not check that the day exists. */
bool time_parse_day(struct str text, int *out);

#endif
