/* SPDX-License-Identifier: Apache-2.0 */
/* File information that many commands return: times, attributes, sizes, numbers. */
#ifndef SMB_COMMANDS_INFO_H
#define SMB_COMMANDS_INFO_H

#include "service/file/node.h"
#include "smb/open.h"

enum { SMB_CLUSTER_BYTES = 4096 };

/* Ticks since 1601, as the wire has them. */
void smb_put_time(struct buf *out, int64_t ticks);
/* Creation, access, write, change. */
void smb_put_times(struct buf *out, const struct node *n);
/* With the directory bit; "normal" if there is no other. */
uint32_t smb_attributes(const struct node *n);
/* The size on disk: the allocation that the client set through its handle (NULL: none), or whole
 * clusters. */
uint64_t smb_allocation(const struct smb_open *o, const struct node *n);
/* The number of a file within its volume. The root's id in the share is 0, which clients take for
 * "unknown", so it has the share's. */
uint64_t smb_file_index(uint64_t incarnation, uint64_t node);

#endif
