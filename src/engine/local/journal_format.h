/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer and the reader of the journal agree on. */
#ifndef ENGINE_LOCAL_JOURNAL_FORMAT_H
#define ENGINE_LOCAL_JOURNAL_FORMAT_H

#include "core/str.h"
#include "engine/local/journal.h"

#define JOURNAL_MAGIC "lazuli journal 2" /* then the file's id, its salt, a checksum */
#define JOURNAL_MAGIC_BARE \
    "lazuli journal 1" /* the same, of the time when large values stood alone */
#define RECORD_MAGIC 0x4C5A4A52U

/* crc32c, going on from seed. */
uint32_t journal_sum(struct str bytes, uint32_t seed);

/* What stands before a row that lies whole among the large values: checksums of all that is not the
 * large part, and of that; how long the key is, and what is stored before the large part, and that.
 * The first checksum goes on from the file's number: so a row of another file is not taken for one
 * of this. */
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
