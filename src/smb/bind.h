/* SPDX-License-Identifier: Apache-2.0 */
/* A further connection to a session (SESSION_SETUP with the binding flag, [MS-SMB2] 3.3.5.5.2).
 *
 * A session stays with one thread: a connection that is bound to it moves to the session's loop
 * before anything else happens. So nothing in a session has to know that there are several, but for
 * the key that answers are signed with (session.h). Since a session may be on any loop, what has to
 * be known of it to find it lies in one list, with the key that a request is verified by. Answers
 * are signed with it only when the request is, and only while GMAC has a nonce for them. */
#ifndef SMB_BIND_H
#define SMB_BIND_H

#include "smb/commands/session.h"

struct smb_cards;
struct smb_cards *smb_cards_new(void);
void smb_cards_free(struct smb_cards *all);

/* A session is established, with this key to sign, by a SESSION_SETUP with this message id; and it
 * has ended. */
void smb_cards_add(const struct smb_session *s, enum smb_signing signing,
                   const unsigned char key[SMB_KEY_BYTES], uint64_t message_id);
void smb_cards_drop(struct smb_cards *all, uint64_t session);

/* A SESSION_SETUP that binds the connection. */
void smb_bind(struct smb_request *q, const struct smb_setup *setup);
/* Ends a SESSION_SETUP without the flag in a session that is not this connection's. */
void smb_bind_refuse(struct smb_request *q);

#endif
