/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of dialect, signing and cipher, and the hash that guards it. */
#ifndef SMB_COMMANDS_NEGOTIATE_H
#define SMB_COMMANDS_NEGOTIATE_H

#include "smb/conn.h"

void smb_negotiate(struct smb_request *request);
/* An SMB1 negotiate that offers SMB2: the answer, a whole SMB2 message, goes to out. False for all
 * other SMB1. */
bool smb_negotiate_smb1(struct smb_message *m, struct buf *out);
/* Takes an answer into the preauthentication hash where that belongs. */
void smb_negotiate_hash_answer(struct smb_request *request, struct str packet);

/* The capabilities of this server for the connection's dialect: FSCTL_VALIDATE_NEGOTIATE_INFO shows
 * them again. */
uint32_t smb_server_capabilities(const struct smb_conn *c);
uint16_t smb_server_security_mode(const struct smb_conn *c);

#endif
