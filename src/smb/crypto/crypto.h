/* SPDX-License-Identifier: Apache-2.0 */
/* SMB's keys, signatures and encryption, over OpenSSL. One object per session and direction; none
 * is shared between threads. */
#ifndef SMB_CRYPTO_CRYPTO_H
#define SMB_CRYPTO_CRYPTO_H

#include "core/err.h"
#include "core/str.h"

enum {
    SMB_KEY_BYTES = 16,
    SMB_KEY_BYTES_MAX = 32,
    SMB_SIGNATURE_BYTES = 16,
    SMB_NONCE_BYTES = 16,
    SMB_PREAUTH_BYTES = 64,
};

/* As on the wire. */
enum smb_signing { SMB_SIGN_HMAC_SHA256 = 0, SMB_SIGN_AES_CMAC = 1, SMB_SIGN_AES_GMAC = 2 };
enum smb_cipher {
    SMB_CIPHER_NONE = 0,
    SMB_CIPHER_AES128_CCM = 1,
    SMB_CIPHER_AES128_GCM = 2,
    SMB_CIPHER_AES256_CCM = 3,
    SMB_CIPHER_AES256_GCM = 4,
};

size_t smb_cipher_key_bytes(enum smb_cipher cipher);

/* SP 800-108 in counter mode with HMAC-SHA256. label and context include the NUL that the protocol
 * counts as part of them. */
void smb_derive_key(const unsigned char key[SMB_KEY_BYTES], struct str label, struct str context,
                    unsigned char *out, size_t out_bytes);

/* An unguessable id that is never reused: 64 random bits, neither all 0 nor all 1, which mean
 * "none" and "the previous one" on the wire. */
uint64_t smb_random_id(void);

/* hash = SHA-512(hash || message). */
void smb_preauth_update(unsigned char hash[SMB_PREAUTH_BYTES], struct str message);

struct smb_signer;
struct smb_signer *smb_signer_new(enum smb_signing algorithm,
                                  const unsigned char key[SMB_KEY_BYTES]);
/* Makes another signer with the same key, for another thread. */
struct smb_signer *smb_signer_twin(const struct smb_signer *s);
void smb_signer_free(struct smb_signer *s);
/* Returns true if the client signed this message; the signature is in its header. */
bool smb_signer_verifies(struct smb_signer *s, struct str message);
/* Computes the signature of a message (its header first; the signature field counts as zero).
 * from_server and fields of the header make GMAC's nonce. False when OpenSSL fails. */
bool smb_signer_sign(struct smb_signer *s, struct str message, bool from_server,
                     unsigned char out[SMB_SIGNATURE_BYTES]);

struct smb_sealer;
struct smb_sealer *smb_sealer_new(enum smb_cipher cipher, const unsigned char *key, bool seals);
/* Makes another sealer with the same key, for another thread. */
struct smb_sealer *smb_sealer_twin(const struct smb_sealer *s);
void smb_sealer_free(struct smb_sealer *s);
/* Encrypts in place; aad is the transform header from its nonce on. */
bool smb_seal(struct smb_sealer *s, struct str aad, const unsigned char nonce[SMB_NONCE_BYTES],
              char *bytes, size_t n, unsigned char tag[SMB_SIGNATURE_BYTES]);
bool smb_unseal(struct smb_sealer *s, struct str aad, const unsigned char nonce[SMB_NONCE_BYTES],
                char *bytes, size_t n, const unsigned char tag[SMB_SIGNATURE_BYTES]);

#endif
