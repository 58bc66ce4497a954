/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/crypto/crypto.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

#include "core/buf.h"
#include "core/guid.h"
#include "core/hash/hmac.h"
#include "core/mem.h"

enum {
    HEADER_BYTES = 64,
    HEADER_COMMAND = 12,
    HEADER_MESSAGE_ID = 24,
    HEADER_SIGNATURE = 48,
    COMMAND_CANCEL = 12,
    CCM_NONCE_BYTES = 11,
    GCM_NONCE_BYTES = 12,
    AES_BLOCK_BYTES = 16,
    CMAC_POLYNOMIAL = 0x87,
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
    assert(out_bytes <= sizeof digest); /* one iteration of the counter is enough */
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
    EVP_MAC *mac; /* of HMAC */
    EVP_MAC_CTX *context;
    EVP_CIPHER_CTX *cipher; /* of CMAC and GMAC */
    /* CMAC's subkeys: for a whole and for a partial last block. */
    unsigned char whole[AES_BLOCK_BYTES], part[AES_BLOCK_BYTES];
    unsigned char key[SMB_KEY_BYTES];
};

static bool start_hmac(struct smb_signer *s, const unsigned char *key)
{
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    s->mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    s->context = s->mac == NULL ? NULL : EVP_MAC_CTX_new(s->mac);
    return s->context != NULL && EVP_MAC_init(s->context, key, SMB_KEY_BYTES, params) == 1;
}

/* Multiplies by x in GF(2^128). */
static void cmac_double(const unsigned char in[AES_BLOCK_BYTES], unsigned char out[AES_BLOCK_BYTES])
{
    for (unsigned i = 0; i < AES_BLOCK_BYTES; i++) {
        unsigned carry = i + 1 < AES_BLOCK_BYTES ? (unsigned)in[i + 1] >> 7 : 0;
        out[i] = (unsigned char)((unsigned)in[i] << 1 | carry);
    }
    out[AES_BLOCK_BYTES - 1] ^= (in[0] >> 7) != 0 ? CMAC_POLYNOMIAL : 0;
}

static const unsigned char ZEROES[AES_BLOCK_BYTES] = {0};

/* CMAC is implemented with CBC, because OpenSSL's CMAC encrypts block by block, at a third of CBC's
 * speed. */
static bool start_cmac(struct smb_signer *s, const unsigned char *key)
{
    unsigned char zero[AES_BLOCK_BYTES];
    int length = 0;
    s->cipher = EVP_CIPHER_CTX_new();
    bool started = s->cipher != NULL &&
                   EVP_EncryptInit_ex(s->cipher, EVP_aes_128_cbc(), NULL, key, ZEROES) == 1 &&
                   EVP_CIPHER_CTX_set_padding(s->cipher, 0) == 1 &&
                   EVP_EncryptUpdate(s->cipher, zero, &length, ZEROES, AES_BLOCK_BYTES) == 1;
    if (started) {
        cmac_double(zero, s->whole);
        cmac_double(s->whole, s->part);
    }
    return started;
}

static bool start_gmac(struct smb_signer *s, const unsigned char *key)
{
    s->cipher = EVP_CIPHER_CTX_new();
    return s->cipher != NULL &&
           EVP_EncryptInit_ex(s->cipher, EVP_aes_128_gcm(), NULL, key, NULL) == 1;
}

struct smb_signer *smb_signer_new(enum smb_signing algorithm,
                                  const unsigned char key[SMB_KEY_BYTES])
{
    struct smb_signer *s = MEM_NEW(struct smb_signer);
    s->algorithm = algorithm;
    memcpy(s->key, key, SMB_KEY_BYTES);
    bool started = algorithm == SMB_SIGN_AES_GMAC   ? start_gmac(s, key)
                   : algorithm == SMB_SIGN_AES_CMAC ? start_cmac(s, key)
                                                    : start_hmac(s, key);
    assert(started);
    return s;
}

struct smb_signer *smb_signer_twin(const struct smb_signer *s)
{
    return smb_signer_new(s->algorithm, s->key);
}

void smb_signer_free(struct smb_signer *s)
{
    if (s == NULL)
        return;
    EVP_MAC_CTX_free(s->context);
    EVP_MAC_free(s->mac);
    EVP_CIPHER_CTX_free(s->cipher);
    OPENSSL_cleanse(s, sizeof *s);
    free(s);
}

/* The message has three parts; the middle one is zeroes in place of the signature. */
static bool hmac_parts(struct smb_signer *s, struct str head, struct str tail, unsigned char *out)
{
    unsigned char digest[32];
    size_t length = 0;
    bool done = EVP_MAC_init(s->context, NULL, 0, NULL) == 1 &&
                EVP_MAC_update(s->context, (const unsigned char *)head.p, head.n) == 1 &&
                EVP_MAC_update(s->context, ZEROES, SMB_SIGNATURE_BYTES) == 1 &&
                EVP_MAC_update(s->context, (const unsigned char *)tail.p, tail.n) == 1 &&
                EVP_MAC_final(s->context, digest, &length, sizeof digest) == 1;
    if (done)
        memcpy(out, digest, SMB_SIGNATURE_BYTES);
    return done;
}

/* Adds whole blocks. The output of CBC is discarded; only its chaining value is used. */
static bool cmac_add(struct smb_signer *s, struct str blocks)
{
    unsigned char unused[4096];
    int length = 0;
    assert(blocks.n % AES_BLOCK_BYTES == 0);
    for (struct str left = blocks; left.n > 0;) {
        struct str some = str_head(left, sizeof unused);
        if (EVP_EncryptUpdate(s->cipher, unused, &length, (const unsigned char *)some.p,
                              (int)some.n) != 1)
            return false;
        left = str_from(left, some.n);
    }
    return true;
}

static bool cmac_parts(struct smb_signer *s, struct str head, struct str tail, unsigned char *out)
{
    unsigned char last[AES_BLOCK_BYTES] = {0};
    int length = 0;
    bool empty = tail.n == 0; /* then the zeroes are the last block */
    size_t last_bytes = empty ? AES_BLOCK_BYTES : (tail.n - 1) % AES_BLOCK_BYTES + 1;
    bool whole = last_bytes == AES_BLOCK_BYTES;
    struct str before = str_head(tail, empty ? 0 : tail.n - last_bytes);
    if (!empty)
        memcpy(last, tail.p + before.n, last_bytes);
    if (!whole)
        last[last_bytes] = 0x80;
    for (unsigned i = 0; i < AES_BLOCK_BYTES; i++)
        last[i] ^= whole ? s->whole[i] : s->part[i];
    return EVP_EncryptInit_ex(s->cipher, NULL, NULL, NULL, ZEROES) == 1 && cmac_add(s, head) &&
           (empty || cmac_add(s, (struct str){(const char *)ZEROES, sizeof ZEROES})) &&
           cmac_add(s, before) &&
           EVP_EncryptUpdate(s->cipher, out, &length, last, AES_BLOCK_BYTES) == 1;
}

static bool gmac_add(struct smb_signer *s, struct str part)
{
    int length = 0;
    return EVP_EncryptUpdate(s->cipher, NULL, &length, (const unsigned char *)part.p,
                             (int)part.n) == 1;
}

/* The nonce is the message id and two bits: one for the server, one for CANCEL. */
static bool gmac_parts(struct smb_signer *s, struct str head, struct str tail, bool from_server,
                       unsigned char *out)
{
    unsigned char nonce[GCM_NONCE_BYTES] = {0};
    unsigned char nothing[16];
    int length = 0;
    memcpy(nonce, head.p + HEADER_MESSAGE_ID, 8);
    bool cancel = head.p[HEADER_COMMAND] == COMMAND_CANCEL && head.p[HEADER_COMMAND + 1] == 0;
    nonce[8] = (unsigned char)((from_server ? 1 : 0) | (cancel ? 2 : 0));
    return EVP_EncryptInit_ex(s->cipher, NULL, NULL, NULL, nonce) == 1 && gmac_add(s, head) &&
           gmac_add(s, (struct str){(const char *)ZEROES, SMB_SIGNATURE_BYTES}) &&
           gmac_add(s, tail) && EVP_EncryptFinal_ex(s->cipher, nothing, &length) == 1 &&
           EVP_CIPHER_CTX_ctrl(s->cipher, EVP_CTRL_GCM_GET_TAG, SMB_SIGNATURE_BYTES, out) == 1;
}

bool smb_signer_sign(struct smb_signer *s, struct str message, bool from_server,
                     unsigned char out[SMB_SIGNATURE_BYTES])
{
    if (message.n < HEADER_BYTES)
        return false;
    struct str head = str_head(message, HEADER_SIGNATURE);
    struct str tail = str_from(message, HEADER_BYTES);
    if (s->algorithm == SMB_SIGN_AES_GMAC)
        return gmac_parts(s, head, tail, from_server, out);
    return s->algorithm == SMB_SIGN_AES_CMAC ? cmac_parts(s, head, tail, out)
                                             : hmac_parts(s, head, tail, out);
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
    enum smb_cipher cipher;
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
    s->cipher = cipher;
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

struct smb_sealer *smb_sealer_twin(const struct smb_sealer *s)
{
    return smb_sealer_new(s->cipher, s->key, s->seals);
}

void smb_sealer_free(struct smb_sealer *s)
{
    if (s == NULL)
        return;
    EVP_CIPHER_CTX_free(s->context);
    OPENSSL_cleanse(s->key, sizeof s->key);
    free(s);
}

/* CCM needs the tag's size (or the tag) and the lengths first. */
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
