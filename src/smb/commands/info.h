/* SPDX-License-Identifier: Apache-2.0 */
/* File information that many commands return: times, attributes, sizes, numbers. */
#ifndef SMB_COMMANDS_INFO_H
#define SMB_COMMANDS_INFO_H

#include "service/file/node.h"
#include "smb/open.h"

enum { SMB_CLUSTER_BYTES = 4096 };

/* Writes ticks since 1601, the time format of the wire. */
void smb_put_time(struct buf *out, int64_t ticks);
/* Writes the creation, access, write and change times. */
void smb_put_times(struct buf *out, const struct node *n);
/* Includes the directory bit; "normal" if no other bit is set. */
uint32_t smb_attributes(const struct node *n);
/* The size on disk: the allocation that the client set through its handle (NULL: none), or whole
 * clusters. */
uint64_t smb_allocation(const struct smb_open *o, const struct node *n);
/* The number of a file within its volume. The root directory's id in the share is 0, which clients
 * read as "unknown", so the root has the share's number. */
uint64_t smb_file_index(uint64_t incarnation, uint64_t node);

#endif
