/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer and the reader of the journal agree on. */
#ifndef ENGINE_LOCAL_JOURNAL_FORMAT_H
#define ENGINE_LOCAL_JOURNAL_FORMAT_H

#include "core/str.h"
#include "engine/local/journal.h"

#define JOURNAL_MAGIC "lazuli journal 1" /* then the file's id, its salt, a checksum */
#define RECORD_MAGIC  0x4C5A4A52U

/* crc32c, going on from seed. */
uint32_t journal_sum(struct str bytes, uint32_t seed);

static inline uint64_t journal_align(uint64_t offset)
{
    return (offset + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
}

#endif
