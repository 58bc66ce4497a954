/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs the end of RocksDB's MANIFEST, the list of its tables, after a power cut in a store of
 * format 3 or older. Those programs let RocksDB append to the current MANIFEST. Since format 4
 * each change writes a new file that is complete before CURRENT names it (rows.c), and no repair
 * is needed.
 *
 * RocksDB ignores a last record that is truncated or all zeros. But it reports corruption, and
 * does not open, if a record is partly there, with zeros for the missing sectors. It also writes
 * several records under one flush, so a power cut may keep a later record and lose an earlier
 * one. None of these records was acknowledged: their flush did not return. */
#ifndef ENGINE_LOCAL_MANIFEST_H
#define ENGINE_LOCAL_MANIFEST_H

#include <stdbool.h>

/* Truncates such records. Returns false and changes nothing if there are none, if complete
 * records follow a damaged record that lacks no sector (which no power cut causes), or if the
 * file cannot be changed. `folder` is RocksDB's. */
bool manifest_cut_torn_end(const char *folder);

#endif
