/* SPDX-License-Identifier: Apache-2.0 */
/* TREE_CONNECT and TREE_DISCONNECT. */
#ifndef SMB_COMMANDS_TREE_H
#define SMB_COMMANDS_TREE_H

#include "smb/commands/session.h"

void smb_tree_connect(struct smb_request *request);
void smb_tree_disconnect(struct smb_request *request);
/* Ends all trees of a session that ends, and their handles. */
void smb_trees_end(struct smb_session *s, bool keeps_durable);

#endif
