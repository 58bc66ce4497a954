/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's format, shared by the writer and the reader. */
#ifndef ENGINE_LOCAL_JOURNAL_FORMAT_H
#define ENGINE_LOCAL_JOURNAL_FORMAT_H

#include "core/str.h"
#include "engine/local/journal.h"

#define JOURNAL_MAGIC "lazuli journal 2" /* then the file's id, its salt, a checksum */
#define JOURNAL_MAGIC_BARE \
    "lazuli journal 1" /* the older format, in which large values have no lead */
#define RECORD_MAGIC 0x4C5A4A52U

/* crc32c, continued from seed. */
uint32_t journal_sum(struct str bytes, uint32_t seed);

/* The lead: what precedes a complete row among the large values. It holds the checksum of
 * everything but the large part, the checksum of the large part, the length of the key, and the
 * length and bytes of what is stored before the large part. The first checksum continues from
 * the file's number, so a row of another file is never accepted. */
enum { LEAD_BYTES = 5 * 4 };

static inline uint32_t lead_seed(uint64_t file)
{
    return (uint32_t)file;
}

static inline uint64_t journal_align(uint64_t offset)
{
    return (offset + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
}

#endif
