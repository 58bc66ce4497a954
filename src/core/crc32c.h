/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli, reflected), the checksum of everything that the local engine writes. */
#ifndef CORE_CRC32C_H
#define CORE_CRC32C_H

#include "core/str.h"

/* Goes on from the sum of the bytes before; neither inverted at the beginning nor at the end. By
 * ISA-L, unless built without it (-DWITHOUT_ISAL). */
uint32_t crc32c(uint32_t sum, struct str bytes);
/* The same without ISA-L: with the processor's own instruction where it has one. */
uint32_t crc32c_portable(uint32_t sum, struct str bytes);
/* The same without anything of the processor's, byte by byte: for tests. */
uint32_t crc32c_by_table(uint32_t sum, struct str bytes);
/* Who computes it in this build: "isa-l" or "own". */
const char *crc32c_library(void);

#endif
