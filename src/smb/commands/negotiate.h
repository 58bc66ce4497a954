/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of dialect, signing and cipher, and the hash that protects it. */
#ifndef SMB_COMMANDS_NEGOTIATE_H
#define SMB_COMMANDS_NEGOTIATE_H

#include "smb/transport/conn.h"

void smb_negotiate(struct smb_request *request);
/* Answers an SMB1 negotiate that offers SMB2; writes the answer, a whole SMB2 message, to out.
 * False for any other SMB1 message. */
bool smb_negotiate_smb1(struct smb_message *m, struct buf *out);
/* Adds an answer to the preauthentication hash, if the hash covers it. */
void smb_negotiate_hash_answer(struct smb_request *request, struct str packet);

/* The capabilities of this server for the connection's dialect. FSCTL_VALIDATE_NEGOTIATE_INFO
 * reports them again. */
uint32_t smb_server_capabilities(const struct smb_conn *c);
uint16_t smb_server_security_mode(const struct smb_conn *c);

#endif
