/* SPDX-License-Identifier: Apache-2.0 */
/* The client's half of SMB's security, for tests and for the fuzzer: NTLMv2 with an account's key,
 * the keys that follow from it, signatures and encryption. It sends and receives nothing. */
#ifndef SMB_USER_H
#define SMB_USER_H

#include "core/buf.h"
#include "smb/crypto/crypto.h"
#include "smb/header.h"
#include "smb/proto.h"

struct smb_user {
    const char *account;
    const char *key; /* base64: the password */
    enum smb_dialect dialect;
    enum smb_signing signing; /* as negotiated, like the cipher */
    enum smb_cipher cipher;
    unsigned char greeting[SMB_PREAUTH_BYTES]; /* hash of both NEGOTIATEs (3.1.1) */
    unsigned char preauth[SMB_PREAUTH_BYTES];  /* the same with this session's SESSION_SETUPs */
    unsigned char session_key[SMB_KEY_BYTES];
    struct smb_signer *signer; /* NULL until smb_user_make_keys, like the sealers */
    struct smb_sealer *sealer, *unsealer;
    struct smb_signer *session_signer; /* used instead of `signer` while a connection is being bound
                                          to a session; not the user's own */
    uint64_t nonce;
};

void smb_user_release(struct smb_user *u);

/* The body of a NEGOTIATE for the user's dialect. It offers only the user's cipher and signing;
 * SMB_CIPHER_NONE: no cipher. In 3.0 and 3.0.2 any cipher means the only one. */
void smb_user_put_negotiate(const struct smb_user *u, const unsigned char guid[16], uint16_t mode,
                            struct buf *out);
/* A SESSION_SETUP's body. */
struct smb_user_setup {
    uint8_t flags;
    uint8_t mode;
    uint64_t previous;
    struct str token;
};
void smb_user_put_setup(const struct smb_user_setup *s, struct buf *out);

/* NTLM's NEGOTIATE and AUTHENTICATE, without SPNEGO. False: the challenge is none. */
void smb_user_put_hello(struct buf *out);
bool smb_user_put_proof(struct smb_user *u, struct str challenge, struct buf *out);
/* The keys of the session, or of a further channel to it, from session_key and preauth. */
void smb_user_make_keys(struct smb_user *u);

/* Signs one command in place: the header's flag and its signature. */
void smb_user_sign(struct smb_user *u, char *packet, size_t n);
/* Returns true if the server signed this answer with the user's key. */
bool smb_user_verifies(struct smb_user *u, struct str packet);
/* Encrypts a whole message; and decrypts one, in place. False: the tag is wrong. */
void smb_user_seal(struct smb_user *u, uint64_t session, struct str message, struct buf *out);
bool smb_user_unseal(struct smb_user *u, char *message, size_t n, struct str *plain);

#endif
