/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures and encryption of large messages, computed on a thread other than the loop's. A cover
 * has a separate signer or sealer, which its channel or session keeps for the next one. It is
 * created and freed on the loop's thread; in between one thread uses it. */
#ifndef SMB_CRYPTO_COVER_H
#define SMB_CRYPTO_COVER_H

#include "smb/commands/session.h"

enum { SMB_COVER_BYTES_MIN = 64 << 10 }; /* smaller messages are covered by the loop */

struct smb_cover;

/* For an answer signed on this channel: `packet` is the message, starting with its header. */
struct smb_cover *smb_cover_sign(struct smb_channel *c, char *packet, size_t n);
/* For a message encrypted with the session's key. `plain` must have space for a transform header
 * before it; the header is written at once, without its signature. */
struct smb_cover *smb_cover_seal(struct smb_session *s, char *plain, size_t n);
/* For a signed request. */
struct smb_cover *smb_cover_verify(struct smb_channel *c, struct str packet);
/* For an encrypted message, with its transform header; decrypted in place. */
struct smb_cover *smb_cover_unseal(struct smb_session *s, const struct smb_transform *t,
                                   char *message);
/* On any thread. False: the signature or the encryption is wrong, or OpenSSL failed. */
bool smb_cover_run(struct smb_cover *c);
/* NULL is fine. */
void smb_cover_free(struct smb_cover *c);

#endif
