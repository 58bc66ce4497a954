/* SPDX-License-Identifier: Apache-2.0 */
/* Included before every file by the Makefile. Naming one of these is a compile error: they write
 * without a bound, keep hidden state between calls and threads, or depend on the locale. */
#ifndef CORE_BANNED_H
#define CORE_BANNED_H

/* Include the headers that declare these functions first: after this file their names are errors.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* struct buf, or memcpy with a length that was checked. */
#pragma GCC poison strcpy strncpy stpcpy strcat strncat
/* buf_printf, arena_printf, snprintf. */
#undef sprintf
#undef vsprintf
#pragma GCC poison sprintf vsprintf
/* str_cut. */
#pragma GCC poison strtok
/* Use str_to_u64 and the like. */
#pragma GCC poison sscanf atoi atol atoll atof
/* random_bytes (core/guid.h). OpenSSL's headers have parameters called rand, so only the call is
 * made an error. */
#define rand() rand_is_banned()
#pragma GCC poison srand drand48 lrand48 mrand48
/* core/time.h. */
#pragma GCC poison gmtime localtime asctime ctime
/* strerrordesc_np: no hidden buffer, no locale. */
#pragma GCC poison strerror
/* mkstemp, mkdtemp. */
#pragma GCC poison tmpnam tempnam mktemp
/* The locale stays "C": numbers are written with a point. */
#pragma GCC poison setlocale uselocale

#endif
