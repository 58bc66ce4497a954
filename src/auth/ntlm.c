/* SPDX-License-Identifier: Apache-2.0 */
/* [MS-NLMP]. All fields of a message are offsets into it, each checked through the one reader. */
#include "auth/ntlm.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "auth/md4.h"
#include "core/guid.h"
#include "core/hash/hmac.h"
#include "core/text/utf16.h"
#include "core/time.h"
#include "core/wire.h"

enum {
    NTLM_UNICODE = 0x00000001,
    NTLM_REQUEST_TARGET = 0x00000004,
    NTLM_SIGN = 0x00000010,
    NTLM_SEAL = 0x00000020,
    NTLM_NTLM = 0x00000200,
    NTLM_ANONYMOUS = 0x00000800,
    NTLM_ALWAYS_SIGN = 0x00008000,
    NTLM_TARGET_SERVER = 0x00020000,
    NTLM_EXTENDED_SECURITY = 0x00080000,
    NTLM_TARGET_INFO = 0x00800000,
    NTLM_VERSION = 0x02000000,
    NTLM_128 = 0x20000000,
    NTLM_KEY_EXCHANGE = 0x40000000,
    AV_END = 0,
    AV_COMPUTER = 1,
    AV_DOMAIN = 2,
    AV_DNS_COMPUTER = 3,
    AV_DNS_DOMAIN = 4,
    AV_FLAGS = 6,
    AV_TIMESTAMP = 7,
    AV_FLAG_MIC = 2,
    MIC_OFFSET = 72,
    PROOF_BYTES = 16,
    RESPONSE_HEAD_BYTES = 28, /* of the client's temp, before its target information */
    CHALLENGE_HEAD_BYTES = 56,
};
#define NTLM_56                0x80000000U
#define NTLM_SERVER_NAME       "LAZULI"
#define NTLM_SERVER_NAME_LOWER "lazuli"

static const struct str SIGNATURE = {"NTLMSSP\0", 8};

static void hmac_md5(const unsigned char key[16], struct str a, struct str b, unsigned char out[16])
{
    struct buf joined = buf_heap();
    unsigned length = 16;
    buf_put(&joined, a);
    buf_put(&joined, b);
    struct str text = buf_str(&joined);
    (void)HMAC(EVP_md5(), key, 16, (const unsigned char *)text.p, text.n, out, &length);
    OPENSSL_cleanse(joined.p, joined.n);
    buf_release(&joined);
}

void ntlm_init(struct ntlm *n)
{
    *n = (struct ntlm){.negotiate = buf_heap(), .challenge_message = buf_heap()};
}

void ntlm_release(struct ntlm *n)
{
    buf_release(&n->negotiate);
    buf_release(&n->challenge_message);
    OPENSSL_cleanse(n, sizeof *n);
}

/* ---- CHALLENGE ---- */

static void put_av_text(struct buf *out, uint16_t id, struct str text)
{
    struct buf wide = buf_heap();
    utf16_put(&wide, text);
    buf_put_le16(out, id);
    buf_put_le16(out, (uint16_t)wide.n);
    buf_put(out, buf_str(&wide));
    buf_release(&wide);
}

static void put_target_info(struct buf *out, int64_t now_ticks)
{
    put_av_text(out, AV_DOMAIN, STR(NTLM_SERVER_NAME));
    put_av_text(out, AV_COMPUTER, STR(NTLM_SERVER_NAME));
    put_av_text(out, AV_DNS_DOMAIN, STR(NTLM_SERVER_NAME_LOWER));
    put_av_text(out, AV_DNS_COMPUTER, STR(NTLM_SERVER_NAME_LOWER));
    buf_put_le16(out, AV_TIMESTAMP);
    buf_put_le16(out, 8);
    buf_put_le64(out, (uint64_t)(now_ticks + TIME_TICKS_YEAR_1601));
    buf_put_le16(out, AV_END);
    buf_put_le16(out, 0);
}

static void put_field(struct buf *out, size_t length, size_t offset)
{
    buf_put_le16(out, (uint16_t)length);
    buf_put_le16(out, (uint16_t)length);
    buf_put_le32(out, (uint32_t)offset);
}

static void put_challenge(struct ntlm *n, int64_t now_ticks)
{
    struct buf *out = &n->challenge_message;
    struct buf name = buf_heap();
    struct buf info = buf_heap();
    utf16_put(&name, STR(NTLM_SERVER_NAME));
    put_target_info(&info, now_ticks);
    buf_clear(out);
    buf_put(out, SIGNATURE);
    buf_put_le32(out, 2);
    put_field(out, name.n, CHALLENGE_HEAD_BYTES);
    buf_put_le32(out, n->flags);
    buf_put(out, (struct str){(const char *)n->challenge, NTLM_CHALLENGE_BYTES});
    buf_put_le64(out, 0);
    put_field(out, info.n, CHALLENGE_HEAD_BYTES + name.n);
    /* Version 6.1, NTLM revision 15: what clients expect to see. */
    buf_put(out, (struct str){"\x06\x01\x00\x00\x00\x00\x00\x0F", 8});
    buf_put(out, buf_str(&name));
    buf_put(out, buf_str(&info));
    buf_release(&name);
    buf_release(&info);
}

struct err ntlm_challenge(struct ntlm *n, struct str message, int64_t now_ticks, struct buf *out)
{
    struct reader r = reader_of(message);
    struct str signature = read_raw(&r, SIGNATURE.n);
    uint32_t type = read_le32(&r);
    uint32_t flags = read_le32(&r);
    if (!reader_ok(&r) || !str_eq(signature, SIGNATURE) || type != 1 ||
        message.n > NTLM_NEGOTIATE_MAX || (flags & NTLM_UNICODE) == 0)
        return err_new(ERR_INVALID_AUTHENTICATION_INFO);
    random_bytes(n->challenge, sizeof n->challenge);
    buf_clear(&n->negotiate);
    buf_put(&n->negotiate, message);
    n->flags = NTLM_UNICODE | NTLM_REQUEST_TARGET | NTLM_NTLM | NTLM_ALWAYS_SIGN |
               NTLM_TARGET_SERVER | NTLM_EXTENDED_SECURITY | NTLM_TARGET_INFO | NTLM_VERSION |
               (flags & (NTLM_SIGN | NTLM_SEAL | NTLM_128 | NTLM_KEY_EXCHANGE | NTLM_56));
    put_challenge(n, now_ticks);
    buf_put(out, buf_str(&n->challenge_message));
    return OK;
}

/* ---- AUTHENTICATE ---- */

struct authenticate {
    struct str nt_response;
    struct str domain; /* UTF-16 as sent */
    struct str user;   /* UTF-16 as sent */
    struct str workstation;
    struct str session_key;
    uint32_t flags;
};

static struct str take_field(struct reader *r, struct str message)
{
    uint16_t length = read_le16(r);
    (void)read_le16(r);
    uint32_t offset = read_le32(r);
    if (offset > message.n || length > message.n - offset) {
        r->bad = true;
        return (struct str){"", 0};
    }
    return (struct str){message.p + offset, length};
}

static bool read_authenticate(struct str message, struct authenticate *out)
{
    struct reader r = reader_of(message);
    struct str signature = read_raw(&r, SIGNATURE.n);
    uint32_t type = read_le32(&r);
    (void)take_field(&r, message); /* the LM response, never looked at */
    out->nt_response = take_field(&r, message);
    out->domain = take_field(&r, message);
    out->user = take_field(&r, message);
    out->workstation = take_field(&r, message);
    out->session_key = take_field(&r, message);
    out->flags = read_le32(&r);
    return reader_ok(&r) && str_eq(signature, SIGNATURE) && type == 3 &&
           message.n <= NTLM_MESSAGE_MAX;
}

/* [MS-NLMP] 3.2.5.1.2: an anonymous client, with no name and no proof. */
static bool is_anonymous(const struct authenticate *a)
{
    return a->user.n == 0 && a->nt_response.n == 0;
}

static bool proves_something(const struct authenticate *a)
{
    return (a->flags & NTLM_ANONYMOUS) == 0 &&
           a->nt_response.n >= PROOF_BYTES + RESPONSE_HEAD_BYTES;
}

/* HMAC-MD5 of the upper-case user and the domain as sent, under the password's NT hash. Account
 * names are ASCII, so ASCII upper case is sufficient. */
static void ntlm_v2_hash(struct str password, const struct authenticate *a, unsigned char out[16])
{
    unsigned char nt_hash[MD4_BYTES];
    struct buf wide = buf_heap();
    utf16_put(&wide, password);
    md4(buf_str(&wide), nt_hash);
    OPENSSL_cleanse(wide.p, wide.n);
    buf_clear(&wide);
    buf_put(&wide, a->user);
    for (size_t i = 0; i + 1 < wide.n; i += 2)
        if (wide.p[i + 1] == 0 && wide.p[i] >= 'a' && wide.p[i] <= 'z')
            wide.p[i] = (char)(wide.p[i] - 32);
    hmac_md5(nt_hash, buf_str(&wide), a->domain, out);
    buf_release(&wide);
    OPENSSL_cleanse(nt_hash, sizeof nt_hash);
}

static bool key_fits(struct ntlm *n, const struct authenticate *a, struct str password)
{
    unsigned char hash[16];
    unsigned char proof[16];
    struct str temp = str_from(a->nt_response, PROOF_BYTES);
    ntlm_v2_hash(password, a, hash);
    hmac_md5(hash, (struct str){(const char *)n->challenge, sizeof n->challenge}, temp, proof);
    bool fits =
        str_eq_secret((struct str){(const char *)proof, 16}, str_head(a->nt_response, PROOF_BYTES));
    if (fits)
        hmac_md5(hash, (struct str){(const char *)proof, 16}, STR(""), n->session_key);
    OPENSSL_cleanse(hash, sizeof hash);
    return fits;
}

/* With key exchange the client generates the session key and sends it encrypted with the derived
 * key. */
static bool take_session_key(struct ntlm *n, const struct authenticate *a)
{
    struct rc4 cipher;
    n->flags &= a->flags;
    if ((n->flags & NTLM_KEY_EXCHANGE) == 0)
        return true;
    if (a->session_key.n != NTLM_KEY_BYTES)
        return false;
    rc4_init(&cipher, (struct str){(const char *)n->session_key, NTLM_KEY_BYTES});
    memcpy(n->session_key, a->session_key.p, NTLM_KEY_BYTES);
    rc4_apply(&cipher, n->session_key, NTLM_KEY_BYTES);
    return true;
}

/* Returns true if the client's target information announces a message integrity code. */
static bool announces_mic(struct str nt_response)
{
    struct reader r = reader_of(str_from(nt_response, PROOF_BYTES + RESPONSE_HEAD_BYTES));
    while (reader_ok(&r) && r.n >= 4) {
        uint16_t id = read_le16(&r);
        struct str value = read_raw(&r, read_le16(&r));
        if (id == AV_END)
            break;
        if (id == AV_FLAGS && value.n == 4 && ((unsigned char)value.p[0] & AV_FLAG_MIC) != 0)
            return true;
    }
    return false;
}

/* After the response's head comes a list of pairs with an end marker. */
static bool has_whole_list(struct str nt_response)
{
    struct reader r = reader_of(str_from(nt_response, PROOF_BYTES + RESPONSE_HEAD_BYTES));
    while (reader_ok(&r) && r.n >= 4) {
        uint16_t id = read_le16(&r);
        (void)read_raw(&r, read_le16(&r));
        if (id == AV_END)
            return reader_ok(&r);
    }
    return false;
}

static bool mic_holds(const struct ntlm *n, struct str message)
{
    unsigned char mic[16];
    struct buf earlier = buf_heap();
    struct buf last = buf_heap();
    if (message.n < MIC_OFFSET + 16)
        return false;
    buf_put(&earlier, buf_str(&n->negotiate));
    buf_put(&earlier, buf_str(&n->challenge_message));
    buf_put(&last, message);
    memset(last.p + MIC_OFFSET, 0, 16);
    hmac_md5(n->session_key, buf_str(&earlier), buf_str(&last), mic);
    buf_release(&earlier);
    buf_release(&last);
    return str_eq_secret((struct str){(const char *)mic, 16},
                         (struct str){message.p + MIC_OFFSET, 16});
}

static bool account_fits(struct ntlm *n, const struct authenticate *a, struct accounts *accounts,
                         struct arena *arena)
{
    struct str user;
    if (!utf16_decode(arena, a->user, &user) || user.n == 0 || user.n > ACCOUNT_NAME_MAX)
        return false;
    for (size_t i = 0; i < user.n; i++)
        n->account[i] = ascii_lower(user.p[i]);
    n->account[user.n] = '\0';
    struct account *account = accounts_get(accounts, str_of(n->account));
    bool fits = false;
    for (unsigned i = 0; account != NULL && i < account->key_count && !fits; i++) {
        fits = key_fits(n, a, account->keys_base64[i]);
        if (fits)
            n->proof = account_proof_of(account, i);
    }
    account_put(account);
    return fits;
}

/* Shown to operators only; no decision depends on it, so a malformed one is omitted. */
static void take_workstation(struct ntlm *n, const struct authenticate *a, struct arena *arena)
{
    struct str name;
    bool fits = utf16_decode(arena, a->workstation, &name) && name.n <= NTLM_WORKSTATION_MAX;
    for (size_t i = 0; fits && i < name.n; i++)
        fits = (unsigned char)name.p[i] >= ' ' && name.p[i] != 0x7f;
    if (fits)
        memcpy(n->workstation, name.p, name.n);
    n->workstation[fits ? name.n : 0] = '\0';
}

struct err ntlm_authenticate(struct ntlm *n, struct str message, struct accounts *accounts)
{
    struct authenticate a;
    struct arena arena;
    if (n->challenge_message.n == 0 || !read_authenticate(message, &a))
        return err_new(ERR_AUTHENTICATION_FAILED);
    if (n->anonymous_allowed && is_anonymous(&a)) {
        memset(n->session_key, 0, sizeof n->session_key);
        n->anonymous = n->done = a.session_key.n == 0 || take_session_key(n, &a);
        return n->done ? OK : err_new(ERR_AUTHENTICATION_FAILED);
    }
    if (!proves_something(&a))
        return err_new(ERR_AUTHENTICATION_FAILED);
    if (!has_whole_list(a.nt_response))
        return err_new(ERR_INVALID_AUTHENTICATION_INFO);
    arena_init(&arena, 1 << 16);
    bool fits = account_fits(n, &a, accounts, &arena) && take_session_key(n, &a) &&
                (!announces_mic(a.nt_response) || mic_holds(n, message));
    if (fits)
        take_workstation(n, &a, &arena);
    arena_release(&arena);
    n->done = fits;
    return fits ? OK : err_new(ERR_AUTHENTICATION_FAILED);
}

/* ---- signatures over the mechanism list ---- */

static void derive(const struct ntlm *n, const char *magic, unsigned char out[16])
{
    unsigned length = 16;
    struct buf text = buf_heap();
    buf_put(&text, (struct str){(const char *)n->session_key, NTLM_KEY_BYTES});
    buf_put(&text, (struct str){magic, strlen(magic) + 1});
    (void)EVP_Digest(text.p, text.n, out, &length, EVP_md5(), NULL);
    buf_release(&text);
}

void ntlm_sign(const struct ntlm *n, bool by_client, struct str text,
               unsigned char out[NTLM_SIGNATURE_BYTES])
{
    unsigned char key[16];
    unsigned char mac[16];
    static const char zero_sequence[4] = {0};
    derive(n,
           by_client ? "session key to client-to-server signing key magic constant"
                     : "session key to server-to-client signing key magic constant",
           key);
    hmac_md5(key, (struct str){zero_sequence, 4}, text, mac);
    if ((n->flags & NTLM_KEY_EXCHANGE) != 0) {
        struct rc4 cipher;
        derive(n,
               by_client ? "session key to client-to-server sealing key magic constant"
                         : "session key to server-to-client sealing key magic constant",
               key);
        rc4_init(&cipher, (struct str){(const char *)key, 16});
        rc4_apply(&cipher, mac, 8);
    }
    memcpy(out, "\x01\x00\x00\x00", 4);
    memcpy(out + 4, mac, 8);
    memset(out + 12, 0, 4);
}
