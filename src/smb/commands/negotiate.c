/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/commands/negotiate.h"

#include "core/guid.h"
#include "core/time.h"
#include "smb/commands/session.h"
#include "smb/server.h"

enum {
    DIALECTS_MAX = 64,
    CONTEXTS_MAX = 16,
    SALT_BYTES = 32,
    ALGORITHMS_MAX = 32,
    BLOB_OFFSET = 128
};

uint32_t smb_server_capabilities(const struct smb_conn *c)
{
    uint32_t capabilities = SMB_CAP_LEASING | SMB_CAP_LARGE_MTU;
    if (c->dialect >= SMB_DIALECT_300)
        capabilities |=
            c->client_capabilities & (SMB_CAP_PERSISTENT_HANDLES | SMB_CAP_MULTI_CHANNEL);
    /* In 3.1.1 the cipher context has it. */
    if ((c->dialect == SMB_DIALECT_300 || c->dialect == SMB_DIALECT_302) &&
        c->cipher != SMB_CIPHER_NONE)
        capabilities |= SMB_CAP_ENCRYPTION;
    return capabilities;
}

uint16_t smb_server_security_mode(const struct smb_conn *c)
{
    (void)c;
    return SMB_SIGNING_ENABLED;
}

/* ---- contexts of 3.1.1 ---- */

struct offers {
    bool preauth_sha512;
    unsigned preauth_count;
    uint16_t ciphers[ALGORITHMS_MAX];
    size_t cipher_count;
    unsigned encryption_contexts;
    uint16_t signings[ALGORITHMS_MAX];
    size_t signing_count;
    unsigned signing_contexts;
};

static bool read_preauth(struct reader *r, struct offers *o)
{
    uint16_t count = read_le16(r);
    uint16_t salt = read_le16(r);
    o->preauth_count++;
    for (unsigned i = 0; i < count && reader_ok(r); i++)
        o->preauth_sha512 = read_le16(r) == 1 || o->preauth_sha512;
    (void)read_raw(r, salt);
    return reader_ok(r) && count > 0;
}

static bool read_list(struct reader *r, uint16_t *list, size_t *count)
{
    uint16_t n = read_le16(r);
    for (unsigned i = 0; i < n && reader_ok(r); i++) {
        uint16_t one = read_le16(r);
        if (*count < ALGORITHMS_MAX)
            list[(*count)++] = one;
    }
    return reader_ok(r) && n > 0;
}

static bool read_context(uint16_t type, struct str data, struct offers *o)
{
    struct reader r = reader_of(data);
    switch (type) {
    case SMB_CONTEXT_PREAUTH:
        return read_preauth(&r, o);
    case SMB_CONTEXT_ENCRYPTION:
        o->encryption_contexts++;
        return read_list(&r, o->ciphers, &o->cipher_count);
    case SMB_CONTEXT_SIGNING:
        o->signing_contexts++;
        return read_list(&r, o->signings, &o->signing_count);
    default:
        return true;
    }
}

static bool read_contexts(struct str packet, uint32_t offset, uint16_t count, struct offers *o)
{
    if (offset > packet.n || count > CONTEXTS_MAX)
        return false;
    struct reader r = reader_of(str_from(packet, offset));
    for (unsigned i = 0; i < count; i++) {
        uint16_t type = read_le16(&r);
        uint16_t length = read_le16(&r);
        (void)read_le32(&r);
        struct str data = read_raw(&r, length);
        if (!reader_ok(&r) || !read_context(type, data, o))
            return false;
        if (i + 1 < count)
            (void)read_raw(&r, (8U - length % 8U) % 8U);
    }
    /* Each kind at most once; the preauthentication context is mandatory. */
    return reader_ok(&r) && o->preauth_count == 1 && o->encryption_contexts <= 1 &&
           o->signing_contexts <= 1;
}

static bool list_has(const uint16_t *list, size_t count, uint16_t wanted)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == wanted)
            return true;
    return false;
}

static void choose_algorithms(struct smb_conn *c, const struct offers *o)
{
    static const uint16_t ciphers[] = {SMB_CIPHER_AES128_GCM, SMB_CIPHER_AES256_GCM,
                                       SMB_CIPHER_AES128_CCM, SMB_CIPHER_AES256_CCM};
    /* GMAC is the fastest, but its nonce is the message id, and all connections of a session start
     * with the same ids and the same key. So a client that may use several connections gets CMAC if
     * it offers it; otherwise answers to its binding could not be signed (bind.c). */
    static const uint16_t signings[] = {SMB_SIGN_AES_CMAC, SMB_SIGN_AES_GMAC, SMB_SIGN_AES_CMAC,
                                        SMB_SIGN_HMAC_SHA256};
    size_t best = (c->client_capabilities & SMB_CAP_MULTI_CHANNEL) != 0 ? 0 : 1;
    c->cipher = SMB_CIPHER_NONE;
    c->signing = SMB_SIGN_AES_CMAC;
    /* The client's order of ciphers decides, as with Windows; ours does not. */
    if (smb_server_options(c->server)->encryption != SMB_ENCRYPTION_OFF)
        for (size_t i = 0; i < o->cipher_count && c->cipher == SMB_CIPHER_NONE; i++)
            if (list_has(ciphers, 4, o->ciphers[i]))
                c->cipher = (enum smb_cipher)o->ciphers[i];
    for (size_t i = best; i < 4; i++) {
        if (list_has(o->signings, o->signing_count, signings[i])) {
            c->signing = (enum smb_signing)signings[i];
            break;
        }
    }
}

static void put_context(struct buf *out, uint16_t type, struct str data)
{
    while (out->n % 8 != 0)
        buf_putc(out, 0);
    buf_put_le16(out, type);
    buf_put_le16(out, (uint16_t)data.n);
    buf_put_le32(out, 0);
    buf_put(out, data);
}

static uint16_t put_contexts(struct smb_request *q, const struct offers *o, struct buf *out)
{
    char salt[SALT_BYTES];
    struct buf data = buf_in(q->arena);
    uint16_t count = 1;
    random_bytes(salt, sizeof salt);
    buf_put_le16(&data, 1);
    buf_put_le16(&data, SALT_BYTES);
    buf_put_le16(&data, 1);
    buf_put(&data, (struct str){salt, sizeof salt});
    put_context(out, SMB_CONTEXT_PREAUTH, buf_str(&data));
    if (o->encryption_contexts == 1) {
        buf_clear(&data);
        buf_put_le16(&data, 1);
        buf_put_le16(&data, (uint16_t)q->conn->cipher);
        put_context(out, SMB_CONTEXT_ENCRYPTION, buf_str(&data));
        count++;
    }
    if (o->signing_contexts == 1) {
        buf_clear(&data);
        buf_put_le16(&data, 1);
        buf_put_le16(&data, (uint16_t)q->conn->signing);
        put_context(out, SMB_CONTEXT_SIGNING, buf_str(&data));
        count++;
    }
    return count;
}

/* ---- the answer ---- */

/* Writes the body; contexts, if any, follow the security blob, aligned to eight bytes. */
static void put_answer(struct smb_conn *c, uint16_t dialect, struct str contexts, uint16_t count,
                       struct buf *out)
{
    struct buf blob = buf_heap();
    spnego_hello(&blob);
    const struct guid *guid = smb_server_guid(c->server);
    size_t contexts_at = (BLOB_OFFSET + blob.n + 7) / 8 * 8;
    uint32_t largest = dialect == SMB_DIALECT_WILDCARD ? 65536 : SMB_IO_BYTES_MAX;
    buf_put_le16(out, 65);
    buf_put_le16(out, smb_server_security_mode(c));
    buf_put_le16(out, dialect);
    buf_put_le16(out, count);
    buf_put(out, (struct str){(const char *)guid->bytes, GUID_BYTES});
    buf_put_le32(out, dialect == SMB_DIALECT_WILDCARD ? 0 : smb_server_capabilities(c));
    buf_put_le32(out, largest);
    buf_put_le32(out, largest);
    buf_put_le32(out, largest);
    buf_put_le64(out, (uint64_t)(smb_server_now(c->server) + TIME_TICKS_YEAR_1601));
    buf_put_le64(out, 0);
    buf_put_le16(out, BLOB_OFFSET);
    buf_put_le16(out, (uint16_t)blob.n);
    buf_put_le32(out, count == 0 ? 0 : (uint32_t)contexts_at);
    buf_put(out, buf_str(&blob));
    while (count > 0 && (out->n + SMB_HEADER_BYTES) % 8 != 0)
        buf_putc(out, 0);
    buf_put(out, contexts);
    buf_release(&blob);
}

struct negotiate {
    uint16_t dialects[DIALECTS_MAX];
    uint16_t dialect_count;
    uint32_t context_offset;
    uint16_t context_count;
};

static bool read_negotiate(struct smb_request *q, struct negotiate *n)
{
    struct smb_conn *c = q->conn;
    struct reader r = reader_of(q->body);
    (void)read_le16(&r);
    n->dialect_count = read_le16(&r);
    c->client_security_mode = read_le16(&r);
    (void)read_le16(&r);
    c->client_capabilities = read_le32(&r);
    struct str guid = read_raw(&r, SMB_GUID_BYTES);
    n->context_offset = read_le32(&r);
    n->context_count = read_le16(&r);
    (void)read_le16(&r);
    if (!reader_ok(&r) || n->dialect_count == 0 || n->dialect_count > DIALECTS_MAX)
        return false;
    memcpy(c->client_guid, guid.p, SMB_GUID_BYTES);
    for (unsigned i = 0; i < n->dialect_count; i++)
        n->dialects[i] = read_le16(&r);
    return reader_ok(&r);
}

static enum smb_dialect choose_dialect(const struct negotiate *n)
{
    static const enum smb_dialect known[] = {SMB_DIALECT_311, SMB_DIALECT_302, SMB_DIALECT_300,
                                             SMB_DIALECT_210};
    for (size_t i = 0; i < 4; i++)
        if (list_has(n->dialects, n->dialect_count, (uint16_t)known[i]))
            return known[i];
    return SMB_DIALECT_NONE;
}

/* 3.0 and 3.0.2 have one cipher and one signing algorithm; 2.1 signs with HMAC. */
static void choose_by_dialect(struct smb_conn *c)
{
    bool offered = (c->client_capabilities & SMB_CAP_ENCRYPTION) != 0 &&
                   smb_server_options(c->server)->encryption != SMB_ENCRYPTION_OFF;
    c->signing = c->dialect >= SMB_DIALECT_300 ? SMB_SIGN_AES_CMAC : SMB_SIGN_HMAC_SHA256;
    c->cipher = c->dialect >= SMB_DIALECT_300 && offered ? SMB_CIPHER_AES128_CCM : SMB_CIPHER_NONE;
}

void smb_negotiate(struct smb_request *q)
{
    struct smb_conn *c = q->conn;
    struct negotiate n;
    struct offers o = {0};
    struct buf contexts = buf_in(q->arena);
    uint16_t count = 0;
    if (c->dialect != SMB_DIALECT_NONE) {
        smb_conn_close(c); /* a second negotiate violates the protocol */
        smb_complete(q, STATUS_ACCESS_DENIED);
        return;
    }
    if (!read_negotiate(q, &n)) {
        smb_complete(q, STATUS_INVALID_PARAMETER);
        return;
    }
    enum smb_dialect dialect = choose_dialect(&n);
    if (dialect == SMB_DIALECT_NONE) {
        smb_complete(q, STATUS_NOT_SUPPORTED);
        return;
    }
    if (dialect == SMB_DIALECT_311 &&
        !read_contexts(q->packet, n.context_offset, n.context_count, &o)) {
        smb_complete(q, STATUS_INVALID_PARAMETER);
        return;
    }
    if (dialect == SMB_DIALECT_311 && !o.preauth_sha512) {
        smb_complete(q, 0xC05D0000U); /* STATUS_SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP */
        return;
    }
    c->dialect = dialect;
    choose_by_dialect(c);
    if (dialect == SMB_DIALECT_311) {
        choose_algorithms(c, &o);
        count = put_contexts(q, &o, &contexts);
        smb_preauth_update(c->preauth, q->packet);
    }
    put_answer(c, (uint16_t)dialect, buf_str(&contexts), count, &q->out);
    smb_complete(q, STATUS_SUCCESS);
}

void smb_negotiate_hash_answer(struct smb_request *q, struct str packet)
{
    if (q->conn->dialect != SMB_DIALECT_311)
        return;
    if (q->header.command == SMB_NEGOTIATE)
        smb_preauth_update(q->conn->preauth, packet);
    else if (q->header.command == SMB_SESSION_SETUP && q->channel != NULL &&
             q->status == STATUS_MORE_PROCESSING_REQUIRED)
        smb_preauth_update(q->channel->preauth, packet);
}

/* ---- from SMB1 ---- */

bool smb_negotiate_smb1(struct smb_message *m, struct buf *out)
{
    enum { SMB1_HEADER_BYTES = 32, SMB1_COMMAND_AT = 4, SMB1_NEGOTIATE = 0x72 };
    struct str message = m->plain;
    if (m->conn->dialect != SMB_DIALECT_NONE || message.n < SMB1_HEADER_BYTES + 3 ||
        (unsigned char)message.p[SMB1_COMMAND_AT] != SMB1_NEGOTIATE)
        return false;
    struct str dialects = str_from(message, SMB1_HEADER_BYTES + 3);
    if (str_find_str(dialects, STR("SMB 2.???")) == dialects.n)
        return false;
    struct smb_header h = {.flags = SMB_FLAG_RESPONSE, .credits = 1};
    /* This uses message id 0; the client's SMB2 negotiate follows with id 1. */
    if (!smb_window_take(&m->conn->window, 0, 1))
        return false;
    (void)smb_window_grant(&m->conn->window, 1);
    smb_header_put(out, &h);
    put_answer(m->conn, SMB_DIALECT_WILDCARD, STR(""), 0, out);
    return true;
}
