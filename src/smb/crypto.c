/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/crypto.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

#include "core/buf.h"
#include "core/guid.h"
#include "core/hmac.h"
#include "core/mem.h"

enum {
    HEADER_BYTES = 64,
    HEADER_COMMAND = 12,
    HEADER_MESSAGE_ID = 24,
    HEADER_SIGNATURE = 48,
    COMMAND_CANCEL = 12,
    CCM_NONCE_BYTES = 11,
    GCM_NONCE_BYTES = 12,
};

size_t smb_cipher_key_bytes(enum smb_cipher cipher)
{
    return cipher == SMB_CIPHER_AES256_CCM || cipher == SMB_CIPHER_AES256_GCM ? 32 : 16;
}

void smb_derive_key(const unsigned char key[SMB_KEY_BYTES], struct str label, struct str context,
                    unsigned char *out, size_t out_bytes)
{
    unsigned char digest[32];
    unsigned length = sizeof digest;
    struct buf input = buf_heap();
    assert(out_bytes <= sizeof digest); /* one round of the counter is enough */
    buf_put_be32(&input, 1);
    buf_put(&input, label);
    buf_put_u8(&input, 0);
    buf_put(&input, context);
    buf_put_be32(&input, (uint32_t)out_bytes * 8);
    (void)HMAC(EVP_sha256(), key, SMB_KEY_BYTES, (const unsigned char *)input.p, input.n, digest,
               &length);
    memcpy(out, digest, out_bytes);
    OPENSSL_cleanse(digest, sizeof digest);
    buf_release(&input);
}

uint64_t smb_random_id(void)
{
    uint64_t id;
    do
        random_bytes(&id, sizeof id);
    while (id == 0 || id == UINT64_MAX);
    return id;
}

void smb_preauth_update(unsigned char hash[SMB_PREAUTH_BYTES], struct str message)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned length = SMB_PREAUTH_BYTES;
    bool done = context != NULL && EVP_DigestInit_ex(context, EVP_sha512(), NULL) == 1 &&
                EVP_DigestUpdate(context, hash, SMB_PREAUTH_BYTES) == 1 &&
                EVP_DigestUpdate(context, message.p, message.n) == 1 &&
                EVP_DigestFinal_ex(context, hash, &length) == 1;
    assert(done);
    EVP_MD_CTX_free(context);
}

/* ---- signatures ---- */

struct smb_signer {
    enum smb_signing algorithm;
    EVP_MAC *mac;
    EVP_MAC_CTX *context;
    EVP_CIPHER_CTX *gmac;
};

static bool start_mac(struct smb_signer *s, const unsigned char *key)
{
    bool cmac = s->algorithm == SMB_SIGN_AES_CMAC;
    char name[] = "AES-128-CBC";
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(cmac ? OSSL_MAC_PARAM_CIPHER : OSSL_MAC_PARAM_DIGEST,
                                         cmac ? name : digest, 0),
        OSSL_PARAM_construct_end(),
    };
    s->mac = EVP_MAC_fetch(NULL, cmac ? "CMAC" : "HMAC", NULL);
    s->context = s->mac == NULL ? NULL : EVP_MAC_CTX_new(s->mac);
    return s->context != NULL && EVP_MAC_init(s->context, key, SMB_KEY_BYTES, params) == 1;
}

struct smb_signer *smb_signer_new(enum smb_signing algorithm,
                                  const unsigned char key[SMB_KEY_BYTES])
{
    struct smb_signer *s = MEM_NEW(struct smb_signer);
    s->algorithm = algorithm;
    bool started;
    if (algorithm == SMB_SIGN_AES_GMAC) {
        s->gmac = EVP_CIPHER_CTX_new();
        started =
            s->gmac != NULL && EVP_EncryptInit_ex(s->gmac, EVP_aes_128_gcm(), NULL, key, NULL) == 1;
    } else {
        started = start_mac(s, key);
    }
    assert(started);
    return s;
}

void smb_signer_free(struct smb_signer *s)
{
    if (s == NULL)
        return;
    EVP_MAC_CTX_free(s->context);
    EVP_MAC_free(s->mac);
    EVP_CIPHER_CTX_free(s->gmac);
    free(s);
}

/* The message in three parts, the middle one being the zeroes that stand for the signature. */
static bool mac_parts(struct smb_signer *s, struct str head, struct str tail, unsigned char *out)
{
    static const unsigned char zeroes[SMB_SIGNATURE_BYTES] = {0};
    unsigned char digest[32];
    size_t length = 0;
    bool done = EVP_MAC_init(s->context, NULL, 0, NULL) == 1 &&
                EVP_MAC_update(s->context, (const unsigned char *)head.p, head.n) == 1 &&
                EVP_MAC_update(s->context, zeroes, sizeof zeroes) == 1 &&
                EVP_MAC_update(s->context, (const unsigned char *)tail.p, tail.n) == 1 &&
                EVP_MAC_final(s->context, digest, &length, sizeof digest) == 1;
    if (done)
        memcpy(out, digest, SMB_SIGNATURE_BYTES);
    return done;
}

static bool gmac_add(struct smb_signer *s, struct str part)
{
    int length = 0;
    return EVP_EncryptUpdate(s->gmac, NULL, &length, (const unsigned char *)part.p, (int)part.n) ==
           1;
}

/* The nonce is the message id and two bits: from the server; a cancel. */
static bool gmac_parts(struct smb_signer *s, struct str head, struct str tail, bool from_server,
                       unsigned char *out)
{
    static const char zeroes[SMB_SIGNATURE_BYTES] = {0};
    unsigned char nonce[GCM_NONCE_BYTES] = {0};
    unsigned char nothing[16];
    int length = 0;
    memcpy(nonce, head.p + HEADER_MESSAGE_ID, 8);
    bool cancel = head.p[HEADER_COMMAND] == COMMAND_CANCEL && head.p[HEADER_COMMAND + 1] == 0;
    nonce[8] = (unsigned char)((from_server ? 1 : 0) | (cancel ? 2 : 0));
    return EVP_EncryptInit_ex(s->gmac, NULL, NULL, NULL, nonce) == 1 && gmac_add(s, head) &&
           gmac_add(s, (struct str){zeroes, sizeof zeroes}) && gmac_add(s, tail) &&
           EVP_EncryptFinal_ex(s->gmac, nothing, &length) == 1 &&
           EVP_CIPHER_CTX_ctrl(s->gmac, EVP_CTRL_GCM_GET_TAG, SMB_SIGNATURE_BYTES, out) == 1;
}

bool smb_signer_sign(struct smb_signer *s, struct str message, bool from_server,
                     unsigned char out[SMB_SIGNATURE_BYTES])
{
    if (message.n < HEADER_BYTES)
        return false;
    struct str head = str_head(message, HEADER_SIGNATURE);
    struct str tail = str_from(message, HEADER_BYTES);
    return s->algorithm == SMB_SIGN_AES_GMAC ? gmac_parts(s, head, tail, from_server, out)
                                             : mac_parts(s, head, tail, out);
}

bool smb_signer_verifies(struct smb_signer *s, struct str message)
{
    unsigned char signature[SMB_SIGNATURE_BYTES];
    return smb_signer_sign(s, message, false, signature) &&
           str_eq_secret((struct str){(const char *)signature, sizeof signature},
                         (struct str){message.p + HEADER_SIGNATURE, sizeof signature});
}

/* ---- encryption ---- */

struct smb_sealer {
    EVP_CIPHER_CTX *context;
    bool ccm;
    bool seals;
    size_t key_bytes;
    unsigned char key[SMB_KEY_BYTES_MAX];
};

static const EVP_CIPHER *cipher_of(enum smb_cipher cipher)
{
    switch (cipher) {
    case SMB_CIPHER_AES128_CCM:
        return EVP_aes_128_ccm();
    case SMB_CIPHER_AES128_GCM:
        return EVP_aes_128_gcm();
    case SMB_CIPHER_AES256_CCM:
        return EVP_aes_256_ccm();
    case SMB_CIPHER_AES256_GCM:
        return EVP_aes_256_gcm();
    case SMB_CIPHER_NONE:
        break;
    }
    return NULL;
}

struct smb_sealer *smb_sealer_new(enum smb_cipher cipher, const unsigned char *key, bool seals)
{
    struct smb_sealer *s = MEM_NEW(struct smb_sealer);
    s->ccm = cipher == SMB_CIPHER_AES128_CCM || cipher == SMB_CIPHER_AES256_CCM;
    s->seals = seals;
    s->key_bytes = smb_cipher_key_bytes(cipher);
    memcpy(s->key, key, s->key_bytes);
    s->context = EVP_CIPHER_CTX_new();
    int nonce_bytes = s->ccm ? CCM_NONCE_BYTES : GCM_NONCE_BYTES;
    bool started = s->context != NULL &&
                   EVP_CipherInit_ex(s->context, cipher_of(cipher), NULL, NULL, NULL, seals) == 1 &&
                   EVP_CIPHER_CTX_ctrl(s->context, EVP_CTRL_AEAD_SET_IVLEN, nonce_bytes, NULL) == 1;
    if (started && !s->ccm)
        started = EVP_CipherInit_ex(s->context, NULL, NULL, s->key, NULL, seals) == 1;
    assert(started);
    return s;
}

void smb_sealer_free(struct smb_sealer *s)
{
    if (s == NULL)
        return;
    EVP_CIPHER_CTX_free(s->context);
    OPENSSL_cleanse(s->key, sizeof s->key);
    free(s);
}

/* CCM wants the tag's size (or the tag) and the lengths before anything else. */
static bool ccm_begin(struct smb_sealer *s, const unsigned char *nonce, size_t n,
                      unsigned char *tag)
{
    int length = 0;
    return EVP_CIPHER_CTX_ctrl(s->context, EVP_CTRL_AEAD_SET_TAG, SMB_SIGNATURE_BYTES,
                               s->seals ? NULL : tag) == 1 &&
           EVP_CipherInit_ex(s->context, NULL, NULL, s->key, nonce, s->seals) == 1 &&
           EVP_CipherUpdate(s->context, NULL, &length, NULL, (int)n) == 1;
}

static bool run(struct smb_sealer *s, struct str aad, const unsigned char *nonce, char *bytes,
                size_t n, unsigned char *tag)
{
    int length = 0;
    unsigned char *text = (unsigned char *)bytes;
    bool begun = s->ccm ? ccm_begin(s, nonce, n, tag)
                        : EVP_CipherInit_ex(s->context, NULL, NULL, NULL, nonce, s->seals) == 1;
    if (!begun ||
        EVP_CipherUpdate(s->context, NULL, &length, (const unsigned char *)aad.p, (int)aad.n) !=
            1 ||
        EVP_CipherUpdate(s->context, text, &length, text, (int)n) != 1)
        return false;
    if (!s->seals && s->ccm)
        return true; /* CCM checks its tag in the update */
    if (!s->seals &&
        EVP_CIPHER_CTX_ctrl(s->context, EVP_CTRL_AEAD_SET_TAG, SMB_SIGNATURE_BYTES, tag) != 1)
        return false;
    return EVP_CipherFinal_ex(s->context, text + length, &length) == 1;
}

bool smb_seal(struct smb_sealer *s, struct str aad, const unsigned char nonce[SMB_NONCE_BYTES],
              char *bytes, size_t n, unsigned char tag[SMB_SIGNATURE_BYTES])
{
    assert(s->seals);
    return run(s, aad, nonce, bytes, n, tag) &&
           EVP_CIPHER_CTX_ctrl(s->context, EVP_CTRL_AEAD_GET_TAG, SMB_SIGNATURE_BYTES, tag) == 1;
}

bool smb_unseal(struct smb_sealer *s, struct str aad, const unsigned char nonce[SMB_NONCE_BYTES],
                char *bytes, size_t n, const unsigned char tag[SMB_SIGNATURE_BYTES])
{
    unsigned char copy[SMB_SIGNATURE_BYTES];
    assert(!s->seals);
    memcpy(copy, tag, sizeof copy);
    return run(s, aad, nonce, bytes, n, copy);
}
