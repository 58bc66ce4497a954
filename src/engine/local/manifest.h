/* SPDX-License-Identifier: Apache-2.0 */
/* The end of RocksDB's MANIFEST, the list of its tables, as a power cut may leave it in a store of
 * format 3 or older. Those programs let RocksDB add to the MANIFEST in use; since then each change
 * is a new one, which is whole before CURRENT names it (rows.c), and this is not needed.
 *
 * RocksDB passes over a last record that is cut short or all zeros, but takes one that is there in
 * part, with zeros for the sectors that did not make it, for corruption, and will not open. It also
 * writes several records under one flush, of which a cut may keep a later one and lose an earlier
 * one. Nobody was told of any of them: their flush did not come back. */
#ifndef ENGINE_LOCAL_MANIFEST_H
#define ENGINE_LOCAL_MANIFEST_H

#include <stdbool.h>

/* Cuts such records off. False when there are none, or whole ones follow a record of which no
 * sector is missing (that is no power cut), or it could not be: then nothing is changed. `folder`
 * is RocksDB's. */
bool manifest_cut_torn_end(const char *folder);

#endif
