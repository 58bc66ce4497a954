/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the file service's rows. One partition is one share with all its snapshots and
 * deleted predecessors, so everything that an operation changes is one transaction.
 *
 *   partition  f/account/share
 *   c                            the share itself (hot: every request reads it); if it was deleted
 *                                but can be restored, a row that says so
 *   d I                          a deleted share that can be restored
 *   s                            there is something to sweep
 *   S stamp kind I id more       one thing to sweep (sweep.h)
 *   e I directory name           an entry: a file or directory with its properties  ┐
 *   i I id                       where the entry with the id is                      │ versioned
 *   n I id                       the properties of the root (id 0), and of a file    │ (vrow.h)
 *                                that has several names                              │
 *   m I content chunk …          bytes (interval.h)                                  ┘
 *   h + one of these four …      their past, for the share's snapshots
 *   p I hash                     a security descriptor, under the hash that is its key
 *   x I stamp                    a snapshot's properties
 *   o I id                       an open that survives a restart (held.h)
 *   O                            the open files of the share are at one gateway (common/home.h)
 *   y, Y I id                    running copies from blobs and other servers (copy_foreign.h)
 *
 * I is the share's incarnation, the stamp of its creation (big-endian): deleting and recreating
 * a share, or restoring a deleted one, moves no rows. Ids of entries and contents are the stamps of
 * the updates that created them. */
#ifndef SERVICE_FILE_KEYS_H
#define SERVICE_FILE_KEYS_H

#include "core/buf.h"
#include "core/wire.h"

#define FILE_KEY_SHARE STR("c")
#define FILE_KEY_SWEEP STR("s")
#define FILE_KEY_HOME  STR("O")
#define FILE_HISTORY   STR("h")
#define FILE_SPACE     STR("f/")

enum { FILE_KEY_PREFIX_BYTES = 9, FILE_CONTENT_KEY_BYTES = 17 };

/* "f/account/share"; with an empty share, the prefix of all of the account's. */
struct str file_partition(struct arena *a, struct str account, struct str share);
/* The share's name in a partition of ours. */
struct str file_partition_share(struct str partition);

/* The prefix of all keys of a kind of row of an incarnation. */
struct str file_key_kind(struct arena *a, char kind, uint64_t incarnation);
struct str file_key_id(struct arena *a, char kind, uint64_t incarnation, uint64_t id);
struct str file_key_deleted(struct arena *a, uint64_t incarnation);
struct str file_key_snapshot(struct arena *a, uint64_t incarnation, int64_t stamp);
struct str file_key_permission(struct arena *a, uint64_t incarnation, struct str hash);

#endif
