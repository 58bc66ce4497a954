/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/smb_user.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

#include "auth/md4.h"
#include "core/text/utf16.h"

enum { HASH_BYTES = 16, NTLM_FLAGS = 0x00088205, SIGNATURE_AT = 48, FLAGS_AT = 16, AAD_AT = 20 };

#define DOMAIN "AZURE"

static void require(bool holds)
{
    if (!holds)
        abort();
}

void smb_user_release(struct smb_user *u)
{
    smb_signer_free(u->signer);
    smb_sealer_free(u->sealer);
    smb_sealer_free(u->unsealer);
    u->signer = NULL;
    u->sealer = u->unsealer = NULL;
}

/* ---- bodies ---- */

static void put_context(struct buf *out, uint16_t type, struct str data)
{
    while (out->n % 8 != 0)
        buf_putc(out, 0);
    buf_put_le16(out, type);
    buf_put_le16(out, (uint16_t)data.n);
    buf_put_le32(out, 0);
    buf_put(out, data);
}

static void put_contexts(const struct smb_user *u, struct buf *out)
{
    static const char preauth[] = {1, 0, 4, 0, 1, 0, 's', 'a', 'l', 't'};
    char cipher[] = {1, 0, (char)u->cipher, 0};
    char signing[] = {1, 0, (char)u->signing, 0};
    put_context(out, SMB_CONTEXT_PREAUTH, (struct str){preauth, sizeof preauth});
    if (u->cipher != SMB_CIPHER_NONE)
        put_context(out, SMB_CONTEXT_ENCRYPTION, (struct str){cipher, sizeof cipher});
    put_context(out, SMB_CONTEXT_SIGNING, (struct str){signing, sizeof signing});
}

void smb_user_put_negotiate(const struct smb_user *u, const unsigned char guid[16], uint16_t mode,
                            struct buf *out)
{
    enum { CONTEXTS_AT = 104, CAPABILITIES = 0x7F };
    bool newest = u->dialect == SMB_DIALECT_311;
    unsigned unencrypted = u->cipher == SMB_CIPHER_NONE ? SMB_CAP_ENCRYPTION : 0;
    buf_put_le16(out, 36);
    buf_put_le16(out, 1);
    buf_put_le16(out, mode);
    buf_put_le16(out, 0);
    buf_put_le32(out, CAPABILITIES & ~unencrypted);
    buf_put(out, (struct str){(const char *)guid, 16});
    buf_put_le32(out, newest ? CONTEXTS_AT : 0);
    buf_put_le16(out, newest ? (u->cipher == SMB_CIPHER_NONE ? 2 : 3) : 0);
    buf_put_le16(out, 0);
    buf_put_le16(out, (uint16_t)u->dialect);
    if (newest)
        put_contexts(u, out);
}

void smb_user_put_setup(const struct smb_user_setup *s, struct buf *out)
{
    enum { TOKEN_AT = SMB_HEADER_BYTES + 24 };
    buf_put_le16(out, 25);
    buf_put_u8(out, s->flags);
    buf_put_u8(out, s->mode);
    buf_put_le32(out, 0);
    buf_put_le32(out, 0);
    buf_put_le16(out, TOKEN_AT);
    buf_put_le16(out, (uint16_t)s->token.n);
    buf_put_le64(out, s->previous);
    buf_put(out, s->token);
}

/* ---- NTLMv2 ---- */

void smb_user_put_hello(struct buf *out)
{
    buf_put(out, (struct str){"NTLMSSP\0", 8});
    buf_put_le32(out, 1);
    buf_put_le32(out, NTLM_FLAGS);
    buf_put_le64(out, 0);
    buf_put_le64(out, 0);
}

static void hmac_md5(const unsigned char key[HASH_BYTES], struct str text, unsigned char *out)
{
    unsigned length = HASH_BYTES;
    require(HMAC(EVP_md5(), key, HASH_BYTES, (const unsigned char *)text.p, text.n, out, &length) !=
            NULL);
}

static void make_hash(const struct smb_user *u, unsigned char out[HASH_BYTES])
{
    unsigned char password[MD4_BYTES];
    struct buf wide = buf_heap();
    utf16_put(&wide, str_of(u->key));
    md4(buf_str(&wide), password);
    buf_clear(&wide);
    for (const char *c = u->account; *c != '\0'; c++)
        buf_put_le16(&wide, (uint16_t)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c));
    utf16_put(&wide, STR(DOMAIN));
    hmac_md5(password, buf_str(&wide), out);
    buf_release(&wide);
}

/* Writes the proof and the data that it covers; also makes the session's key. */
static void put_response(struct smb_user *u, struct str nonce, struct str target, struct buf *out)
{
    unsigned char hash[HASH_BYTES], proof[HASH_BYTES];
    struct buf text = buf_heap();
    make_hash(u, hash);
    buf_put(&text, nonce);
    buf_put(&text, (struct str){"\x01\x01\0\0\0\0\0\0", 8});
    buf_put_le64(&text, 0);
    buf_put(&text, STR("clients "));
    buf_put_le32(&text, 0);
    buf_put(&text, target);
    buf_put_le32(&text, 0);
    hmac_md5(hash, buf_str(&text), proof);
    hmac_md5(hash, (struct str){(const char *)proof, sizeof proof}, u->session_key);
    buf_put(out, (struct str){(const char *)proof, sizeof proof});
    buf_put(out, str_from(buf_str(&text), nonce.n));
    buf_release(&text);
}

static void put_field(struct buf *head, struct buf *tail, struct str bytes)
{
    enum { TAIL_AT = 64 };
    buf_put_le16(head, (uint16_t)bytes.n);
    buf_put_le16(head, (uint16_t)bytes.n);
    buf_put_le32(head, (uint32_t)(TAIL_AT + tail->n));
    buf_put(tail, bytes);
}

static void put_text_field(struct buf *head, struct buf *tail, const char *text)
{
    struct buf wide = buf_heap();
    utf16_put(&wide, str_of(text));
    put_field(head, tail, buf_str(&wide));
    buf_release(&wide);
}

bool smb_user_put_proof(struct smb_user *u, struct str challenge, struct buf *out)
{
    enum { NONCE_AT = 24, NONCE_BYTES = 8, TARGET_AT = 40, HEAD_BYTES = 48 };
    if (challenge.n < HEAD_BYTES || !str_starts(challenge, STR("NTLMSSP")))
        return false;
    struct reader r = reader_of(str_from(challenge, TARGET_AT));
    uint16_t length = read_le16(&r);
    (void)read_le16(&r);
    uint32_t offset = read_le32(&r);
    if (offset > challenge.n || length > challenge.n - offset)
        return false;
    struct buf tail = buf_heap();
    struct buf response = buf_heap();
    put_response(u, (struct str){challenge.p + NONCE_AT, NONCE_BYTES},
                 (struct str){challenge.p + offset, length}, &response);
    buf_put(out, (struct str){"NTLMSSP\0", 8});
    buf_put_le32(out, 3);
    put_field(out, &tail, STR(""));
    put_field(out, &tail, buf_str(&response));
    put_text_field(out, &tail, DOMAIN);
    put_text_field(out, &tail, u->account);
    put_text_field(out, &tail, "TESTER");
    put_field(out, &tail, STR(""));
    buf_put_le32(out, NTLM_FLAGS);
    buf_put(out, buf_str(&tail));
    buf_release(&tail);
    buf_release(&response);
    return true;
}

/* ---- keys ---- */

/* Labels and contexts include their terminating NUL. */
#define COUNTED(literal) ((struct str){(literal), sizeof(literal)})

void smb_user_make_keys(struct smb_user *u)
{
    struct str preauth = {(const char *)u->preauth, SMB_PREAUTH_BYTES};
    bool newest = u->dialect == SMB_DIALECT_311;
    unsigned char key[SMB_KEY_BYTES_MAX];
    smb_user_release(u);
    if (u->dialect < SMB_DIALECT_300) {
        u->signer = smb_signer_new(SMB_SIGN_HMAC_SHA256, u->session_key);
        return;
    }
    smb_derive_key(u->session_key, newest ? COUNTED("SMBSigningKey") : COUNTED("SMB2AESCMAC"),
                   newest ? preauth : COUNTED("SmbSign"), key, SMB_KEY_BYTES);
    u->signer = smb_signer_new(newest ? u->signing : SMB_SIGN_AES_CMAC, key);
    if (u->cipher == SMB_CIPHER_NONE)
        return;
    enum smb_cipher cipher = newest ? u->cipher : SMB_CIPHER_AES128_CCM;
    size_t bytes = smb_cipher_key_bytes(cipher);
    smb_derive_key(u->session_key, newest ? COUNTED("SMBC2SCipherKey") : COUNTED("SMB2AESCCM"),
                   newest ? preauth : COUNTED("ServerIn "), key, bytes);
    u->sealer = smb_sealer_new(cipher, key, true);
    smb_derive_key(u->session_key, newest ? COUNTED("SMBS2CCipherKey") : COUNTED("SMB2AESCCM"),
                   newest ? preauth : COUNTED("ServerOut"), key, bytes);
    u->unsealer = smb_sealer_new(cipher, key, false);
}

/* ---- messages ---- */

static struct smb_signer *signer_of(const struct smb_user *u)
{
    return u->signer != NULL ? u->signer : u->session_signer;
}

void smb_user_sign(struct smb_user *u, char *packet, size_t n)
{
    unsigned char signature[SMB_SIGNATURE_BYTES];
    packet[FLAGS_AT] = (char)(packet[FLAGS_AT] | SMB_FLAG_SIGNED);
    require(smb_signer_sign(signer_of(u), (struct str){packet, n}, false, signature));
    memcpy(packet + SIGNATURE_AT, signature, sizeof signature);
}

bool smb_user_verifies(struct smb_user *u, struct str packet)
{
    unsigned char signature[SMB_SIGNATURE_BYTES];
    return signer_of(u) != NULL && packet.n >= SMB_HEADER_BYTES &&
           (packet.p[FLAGS_AT] & SMB_FLAG_SIGNED) != 0 &&
           smb_signer_sign(signer_of(u), packet, true, signature) &&
           memcmp(packet.p + SIGNATURE_AT, signature, sizeof signature) == 0;
}

void smb_user_seal(struct smb_user *u, uint64_t session, struct str message, struct buf *out)
{
    struct smb_transform t = {
        .original_size = (uint32_t)message.n, .flags = 1, .session_id = session};
    uint64_t nonce = ++u->nonce;
    size_t begin = out->n;
    memcpy(t.nonce, &nonce, sizeof nonce);
    smb_transform_put(out, &t);
    buf_put(out, message);
    char *head = out->p + begin;
    require(smb_seal(u->sealer, (struct str){head + AAD_AT, SMB_TRANSFORM_BYTES - AAD_AT}, t.nonce,
                     head + SMB_TRANSFORM_BYTES, message.n, t.signature));
    memcpy(head + 4, t.signature, SMB_SIGNATURE_BYTES);
}

bool smb_user_unseal(struct smb_user *u, char *message, size_t n, struct str *plain)
{
    struct smb_transform t;
    if (u->unsealer == NULL || !smb_transform_read((struct str){message, n}, &t) ||
        t.original_size != n - SMB_TRANSFORM_BYTES ||
        !smb_unseal(u->unsealer, (struct str){message + AAD_AT, SMB_TRANSFORM_BYTES - AAD_AT},
                    t.nonce, message + SMB_TRANSFORM_BYTES, t.original_size, t.signature))
        return false;
    *plain = (struct str){message + SMB_TRANSFORM_BYTES, t.original_size};
    return true;
}
