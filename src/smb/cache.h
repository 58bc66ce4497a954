/* SPDX-License-Identifier: Apache-2.0 */
/* Oplocks and leases, which let clients cache: CREATE grants them, breaks revoke them ([MS-SMB2]
 * 3.3.4.6, 3.3.4.7, 3.3.5.9.8, 3.3.5.9.11, 3.3.5.22). The open-file table decides what is granted
 * and when it is broken. */
#ifndef SMB_CACHE_H
#define SMB_CACHE_H

#include "service/file/opens/opens.h"
#include "smb/transport/conn.h"

enum { SMB_LEASE_KEY_BYTES = 16, SMB_LEASE_BREAKING = 2 /* a flag */ };

enum smb_oplock {
    SMB_OPLOCK_NONE = 0x00,
    SMB_OPLOCK_II = 0x01,
    SMB_OPLOCK_EXCLUSIVE = 0x08,
    SMB_OPLOCK_BATCH = 0x09,
    SMB_OPLOCK_LEASE = 0xFF,
};

/* The RqLs context, in requests and answers. */
struct smb_lease {
    bool given;
    bool second; /* version 2: has an epoch and the directory's key */
    unsigned char key[SMB_LEASE_KEY_BYTES];
    uint32_t state;
    uint32_t flags;
    unsigned char parent[SMB_LEASE_KEY_BYTES];
    uint16_t epoch;
};

/* Parses CREATE's oplock level and context (absent: none). False if the context is malformed. */
bool smb_lease_read(const struct smb_conn *c, uint8_t oplock, struct str context,
                    struct smb_lease *out);
void smb_lease_put(struct buf *out, const struct smb_lease *l);
/* Converts the request for the open-file table. */
void smb_cache_wish(const struct smb_conn *c, uint8_t oplock, const struct smb_lease *lease,
                    struct opens_request *wish);
/* The oplock level in CREATE's answer. */
uint8_t smb_oplock_of(unsigned granted);
/* Converts lease states to the protocol's numbers, and back. */
uint32_t smb_lease_state(unsigned cache);
unsigned smb_cache_of(uint32_t lease_state);

/* The table's callback: the owner is the server. */
void smb_cache_break(void *owner, const struct opens_notice *notice);
/* Called after CREATE was answered: sends a break that was deferred until then. */
struct smb_open;
void smb_cache_tell_deferred(struct smb_open *o);

void smb_oplock_break(struct smb_request *q);

#endif
