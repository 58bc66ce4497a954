/* SPDX-License-Identifier: Apache-2.0 */
#include "core/crc/crc32c.h"

#include <limits.h>

#ifdef WITHOUT_ISAL

uint32_t crc32c(uint32_t sum, struct str bytes)
{
    return crc32c_portable(sum, bytes);
}

const char *crc32c_library(void)
{
    return "own";
}

#else

#include <isa-l.h>

uint32_t crc32c(uint32_t sum, struct str bytes)
{
    /* ISA-L writes to nothing, but its parameter is not const; and its length is an int. */
    union {
        const char *given;
        unsigned char *wanted;
    } p = {bytes.p};
    while (bytes.n > INT_MAX) {
        sum = crc32_iscsi(p.wanted, INT_MAX, sum);
        p.given += INT_MAX;
        bytes.n -= INT_MAX;
    }
    return bytes.n == 0 ? sum : crc32_iscsi(p.wanted, (int)bytes.n, sum);
}

const char *crc32c_library(void)
{
    return "isa-l";
}

#endif
