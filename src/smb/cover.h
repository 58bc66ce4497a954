/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures and encryption of large messages, computed by another thread than the loop's. A cover
 * has a signer or sealer of its own, which its channel or session keeps for the next one. It is
 * made and freed on the loop's thread; in between one thread uses it. */
#ifndef SMB_COVER_H
#define SMB_COVER_H

#include "smb/commands/session.h"

enum { SMB_COVER_BYTES_MIN = 64 << 10 }; /* less is done by the loop */

struct smb_cover;

/* For an answer that is signed over this channel: `packet` is the message from its header on. */
struct smb_cover *smb_cover_sign(struct smb_channel *c, char *packet, size_t n);
/* For a message that is encrypted with the session's key: `plain` has room for a transform header
 * before it, which is written at once, without its signature. */
struct smb_cover *smb_cover_seal(struct smb_session *s, char *plain, size_t n);
/* For a signed request. */
struct smb_cover *smb_cover_verify(struct smb_channel *c, struct str packet);
/* For an encrypted message, with its transform header; decrypted in place. */
struct smb_cover *smb_cover_unseal(struct smb_session *s, const struct smb_transform *t,
                                   char *message);
/* On any thread. False: the signature or the encryption is not right, or OpenSSL failed. */
bool smb_cover_run(struct smb_cover *c);
/* NULL is fine. */
void smb_cover_free(struct smb_cover *c);

#endif
