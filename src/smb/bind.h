/* SPDX-License-Identifier: Apache-2.0 */
/* A further connection to a session (SESSION_SETUP with the binding flag, [MS-SMB2] 3.3.5.5.2).
 *
 * A session stays on one thread: a connection that is bound to it first moves to the session's
 * loop. So the code of sessions need not handle several threads; only the key that signs answers
 * differs by connection (session.h). A session may be on any loop, so one shared list has what is
 * needed to find it, and the key that verifies a request. Answers are signed with that key only
 * when the request is signed, and only while GMAC has a nonce for them. */
#ifndef SMB_BIND_H
#define SMB_BIND_H

#include "smb/commands/session.h"

struct smb_cards;
struct smb_cards *smb_cards_new(void);
void smb_cards_free(struct smb_cards *all);

/* Adds a session that was established with this signing key by the SESSION_SETUP with this message
 * id; removes one that has ended. */
void smb_cards_add(const struct smb_session *s, enum smb_signing signing,
                   const unsigned char key[SMB_KEY_BYTES], uint64_t message_id);
void smb_cards_drop(struct smb_cards *all, uint64_t session);

/* A SESSION_SETUP that binds the connection. */
void smb_bind(struct smb_request *q, const struct smb_setup *setup);
/* Refuses a SESSION_SETUP without the flag for a session of another connection. */
void smb_bind_refuse(struct smb_request *q);

#endif
