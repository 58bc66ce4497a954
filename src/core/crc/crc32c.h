/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli, reflected), the checksum of everything that the local engine writes. */
#ifndef CORE_CRC_CRC32C_H
#define CORE_CRC_CRC32C_H

#include "core/str.h"

/* Continues from the checksum of the preceding bytes; inverted neither at the beginning nor at the
 * end. Uses ISA-L unless built without it (-DWITHOUT_ISAL). */
uint32_t crc32c(uint32_t sum, struct str bytes);
/* The same without ISA-L; uses the processor's CRC instruction if it has one. */
uint32_t crc32c_portable(uint32_t sum, struct str bytes);
/* The same byte by byte in plain C, for tests. */
uint32_t crc32c_by_table(uint32_t sum, struct str bytes);
/* Names the implementation of this build: "isa-l" or "own". */
const char *crc32c_library(void);

#endif
