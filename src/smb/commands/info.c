/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/commands/info.h"

#include "core/time.h"

void smb_put_time(struct buf *out, int64_t ticks)
{
    buf_put_le64(out, (uint64_t)(ticks + TIME_TICKS_YEAR_1601));
}

void smb_put_times(struct buf *out, const struct node *n)
{
    smb_put_time(out, n->created);
    smb_put_time(out, n->accessed);
    smb_put_time(out, n->last_write);
    smb_put_time(out, n->changed);
}

uint32_t smb_attributes(const struct node *n)
{
    uint32_t attributes = n->attributes;
    if (n->kind == NODE_DIRECTORY)
        attributes |= NODE_DIRECTORY_BIT;
    return attributes == 0 ? (uint32_t)NODE_NORMAL : attributes;
}

uint64_t smb_allocation(const struct smb_open *o, const struct node *n)
{
    uint64_t size = n->size;
    if (n->kind == NODE_DIRECTORY)
        return 0;
    if (o != NULL && o->allocation > size)
        size = o->allocation;
    return (size + SMB_CLUSTER_BYTES - 1) & ~(uint64_t)(SMB_CLUSTER_BYTES - 1);
}

uint64_t smb_file_index(uint64_t incarnation, uint64_t node)
{
    return node == 0 ? incarnation : node;
}
