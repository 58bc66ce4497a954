/* SPDX-License-Identifier: Apache-2.0 */
/* The end of RocksDB's MANIFEST, the list of its tables, as a power cut may leave it.
 *
 * RocksDB passes over a last record that is cut short or all zeros, but takes one that is there in
 * part, with zeros for the sectors that did not make it, for corruption, and will not open. Nobody
 * was told of that record: its flush did not come back. */
#ifndef ENGINE_LOCAL_MANIFEST_H
#define ENGINE_LOCAL_MANIFEST_H

#include <stdbool.h>

/* Cuts such a record off. False when there is none, or whole ones follow it, or it could not be:
 * then nothing is changed. `folder` is RocksDB's. */
bool manifest_cut_torn_end(const char *folder);

#endif
