/* SPDX-License-Identifier: Apache-2.0 */
/* A client that wants a second connection in a session it has (SESSION_SETUP with the binding flag,
 * [MS-SMB2] 3.3.5.5.2). There is one connection to a session here, so it is refused, but in words
 * that the client can trust: signed with the session's key. Since that session is on another
 * connection, maybe of another thread, what is needed of all sessions lies in one list. */
#ifndef SMB_BIND_H
#define SMB_BIND_H

#include "smb/session.h"

struct smb_cards;
struct smb_cards *smb_cards_new(void);
void smb_cards_free(struct smb_cards *all);

/* A session is established, with this key to sign; and it has ended. */
void smb_cards_add(struct smb_cards *all, const struct smb_session *s, enum smb_signing signing,
                   const unsigned char key[SMB_KEY_BYTES]);
void smb_cards_drop(struct smb_cards *all, uint64_t session);

/* Ends a SESSION_SETUP in a session that is not this connection's; `binding`: it says that it
 * knows.
 */
void smb_bind_refuse(struct smb_request *q, bool binding);

#endif
