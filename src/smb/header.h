/* SPDX-License-Identifier: Apache-2.0 */
/* The SMB2 header, and the transform header around encrypted messages. */
#ifndef SMB_HEADER_H
#define SMB_HEADER_H

#include "core/buf.h"
#include "core/wire.h"
#include "smb/crypto/crypto.h"
#include "smb/proto.h"

struct smb_header {
    uint16_t credit_charge;
    uint32_t status; /* in requests of 3.x: channel sequence */
    uint16_t command;
    uint16_t credits; /* requested, or granted */
    uint32_t flags;
    uint32_t next; /* offset of the next command of a compound, 0 for the last */
    uint64_t message_id;
    uint32_t process_id; /* with SMB_FLAG_ASYNC the two are the async id, low half first */
    uint32_t tree_id;
    uint64_t session_id;
    unsigned char signature[SMB_SIGNATURE_BYTES];
};

/* False if it is not an SMB2 header. */
bool smb_header_read(struct str message, struct smb_header *out);
void smb_header_put(struct buf *out, const struct smb_header *h);

static inline uint64_t smb_async_id(const struct smb_header *h)
{
    return (uint64_t)h->tree_id << 32 | h->process_id;
}

struct smb_transform {
    unsigned char signature[SMB_SIGNATURE_BYTES];
    unsigned char nonce[SMB_NONCE_BYTES];
    uint32_t original_size;
    uint16_t flags; /* 1: encrypted */
    uint64_t session_id;
};

bool smb_transform_read(struct str message, struct smb_transform *out);
void smb_transform_put(struct buf *out, const struct smb_transform *t);

/* The first four bytes of a message. */
enum smb_magic { SMB_MAGIC_OTHER, SMB_MAGIC_SMB1, SMB_MAGIC_SMB2, SMB_MAGIC_ENCRYPTED };
enum smb_magic smb_magic_of(struct str message);

#endif
