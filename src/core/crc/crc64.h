/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-64/NVME, the checksum that Azure Storage calls CRC64: reflected polynomial
 * 0x9A6C9329AC4BC9B5, inverted at the beginning and at the end. The header form is base64 of the
 * eight bytes, little-endian. */
#ifndef CORE_CRC_CRC64_H
#define CORE_CRC_CRC64_H

#include "core/str.h"

/* Continues a checksum with these bytes. The checksum of no bytes is 0, so a running value starts
 * at 0 and needs no final step. */
uint64_t crc64(uint64_t before, struct str bytes);

/* The checksum of two joined runs of bytes, from their checksums and the length of the second.
 * Takes well under a microsecond for any length. */
uint64_t crc64_join(uint64_t first, uint64_t second, uint64_t second_length);

/* The portable way, for machines without a carry-less multiply and for tests to compare with. */
uint64_t crc64_by_table(uint64_t before, struct str bytes);

#endif
