/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/session.h"

#include <openssl/crypto.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/mem.h"
#include "smb/bind.h"
#include "smb/server.h"
#include "smb/tree.h"

enum { TOKEN_OFFSET_IN_ANSWER = SMB_HEADER_BYTES + 8 };

struct smb_session *smb_session_find(struct smb_conn *c, uint64_t id)
{
    for (struct smb_session *s = c->sessions; s != NULL; s = s->next)
        if (s->id == id && id != 0)
            return s;
    return NULL;
}

void smb_session_nonce(struct smb_session *s, unsigned char out[SMB_NONCE_BYTES])
{
    uint64_t n = ++s->nonce;
    memset(out, 0, SMB_NONCE_BYTES);
    for (unsigned i = 0; i < 8; i++)
        out[i] = (unsigned char)(n >> (8 * i));
}

static void drop_keys(struct smb_session *s)
{
    smb_signer_free(s->signer);
    smb_sealer_free(s->sealer);
    smb_sealer_free(s->unsealer);
    s->signer = NULL;
    s->sealer = NULL;
    s->unsealer = NULL;
}

void smb_session_get(struct smb_session *s)
{
    if (s != NULL)
        s->refs++;
}

void smb_session_put(struct smb_session *s)
{
    if (s == NULL || --s->refs > 0)
        return;
    if (s->authenticating)
        spnego_release(&s->spnego);
    drop_keys(s);
    OPENSSL_cleanse(s->key, sizeof s->key);
    free(s);
}

void smb_session_end(struct smb_session *s)
{
    struct smb_conn *c = s->conn;
    struct smb_session **link = &c->sessions;
    if (s->ended)
        return;
    s->ended = true;
    smb_cards_drop(smb_server_cards(c->server), s->id);
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    c->session_count--;
    smb_trees_end(s);
    smb_session_put(s);
}

void smb_sessions_end(struct smb_conn *c)
{
    while (c->sessions != NULL)
        smb_session_end(c->sessions);
}

/* ---- keys ---- */

static void derive(const struct smb_session *s, struct str label_311, struct str label_30,
                   struct str context_30, unsigned char *out, size_t bytes)
{
    struct str preauth = {(const char *)s->preauth, SMB_PREAUTH_BYTES};
    bool newest = s->conn->dialect == SMB_DIALECT_311;
    smb_derive_key(s->key, newest ? label_311 : label_30, newest ? preauth : context_30, out,
                   bytes);
}

/* Labels and contexts count their terminating NUL. */
#define COUNTED(literal) ((struct str){(literal), sizeof(literal)})

static void make_keys(struct smb_session *s)
{
    struct smb_conn *c = s->conn;
    unsigned char key[SMB_KEY_BYTES_MAX];
    memcpy(s->key, s->spnego.ntlm.session_key, SMB_KEY_BYTES);
    if (c->dialect < SMB_DIALECT_300) {
        s->signer = smb_signer_new(SMB_SIGN_HMAC_SHA256, s->key);
        smb_cards_add(smb_server_cards(c->server), s, SMB_SIGN_HMAC_SHA256, s->key);
        return;
    }
    derive(s, COUNTED("SMBSigningKey"), COUNTED("SMB2AESCMAC"), COUNTED("SmbSign"), key,
           SMB_KEY_BYTES);
    s->signer = smb_signer_new(c->signing, key);
    smb_cards_add(smb_server_cards(c->server), s, c->signing, key);
    if (c->cipher == SMB_CIPHER_NONE)
        return;
    size_t bytes = smb_cipher_key_bytes(c->cipher);
    derive(s, COUNTED("SMBS2CCipherKey"), COUNTED("SMB2AESCCM"), COUNTED("ServerOut"), key, bytes);
    s->sealer = smb_sealer_new(c->cipher, key, true);
    derive(s, COUNTED("SMBC2SCipherKey"), COUNTED("SMB2AESCCM"), COUNTED("ServerIn "), key, bytes);
    s->unsealer = smb_sealer_new(c->cipher, key, false);
    OPENSSL_cleanse(key, sizeof key);
}

/* ---- SESSION_SETUP ---- */

struct setup {
    uint8_t flags;
    uint8_t security_mode;
    struct str token;
    uint64_t previous_session;
};

static bool read_setup(const struct smb_request *q, struct setup *out)
{
    struct reader r = reader_of(q->body);
    (void)read_le16(&r);
    out->flags = read_u8(&r);
    out->security_mode = read_u8(&r);
    (void)read_le32(&r);
    (void)read_le32(&r);
    uint16_t offset = read_le16(&r);
    uint16_t length = read_le16(&r);
    out->previous_session = read_le64(&r);
    if (!reader_ok(&r) || offset < SMB_HEADER_BYTES || offset > q->packet.n ||
        length > q->packet.n - offset)
        return false;
    out->token = (struct str){q->packet.p + offset, length};
    return true;
}

static struct smb_session *new_session(struct smb_conn *c)
{
    if (c->session_count >= SMB_SESSIONS_PER_CONNECTION)
        return NULL;
    struct smb_session *s = MEM_NEW(struct smb_session);
    s->conn = c;
    s->refs = 1;
    s->id = smb_server_next_session(c->server);
    s->next = c->sessions;
    c->sessions = s;
    c->session_count++;
    return s;
}

static void put_setup_answer(struct smb_request *q, uint16_t flags, struct str token)
{
    buf_put_le16(&q->out, 9);
    buf_put_le16(&q->out, flags);
    buf_put_le16(&q->out, TOKEN_OFFSET_IN_ANSWER);
    buf_put_le16(&q->out, (uint16_t)token.n);
    buf_put(&q->out, token);
}

static uint32_t establish(struct smb_session *s, const struct setup *setup)
{
    struct smb_conn *c = s->conn;
    enum smb_encryption wanted = smb_server_options(c->server)->encryption;
    bool again = s->established;
    if (again && strcmp(s->account, s->spnego.ntlm.account) != 0)
        return STATUS_ACCESS_DENIED; /* a session does not change its user */
    if (wanted == SMB_ENCRYPTION_REQUIRED && c->cipher == SMB_CIPHER_NONE)
        return STATUS_ACCESS_DENIED;
    memcpy(s->account, s->spnego.ntlm.account, sizeof s->account);
    memcpy(s->workstation, s->spnego.ntlm.workstation, sizeof s->workstation);
    if (!again)
        make_keys(s);
    s->encrypts = wanted == SMB_ENCRYPTION_REQUIRED;
    s->signing_required =
        ((setup->security_mode | c->client_security_mode) & SMB_SIGNING_REQUIRED) != 0;
    s->established = true;
    s->expired = false;
    loop_timer_cancel(c->loop, &c->early);
    return STATUS_SUCCESS;
}

static uint32_t step(struct smb_request *q, struct smb_session *s, const struct setup *setup)
{
    struct buf token = buf_in(q->arena);
    const struct smb_world *world = smb_server_world(q->conn->server);
    if (!s->authenticating) {
        spnego_init(&s->spnego);
        s->authenticating = true;
        if (!s->established)
            memcpy(s->preauth, q->conn->preauth, SMB_PREAUTH_BYTES);
    }
    if (q->conn->dialect == SMB_DIALECT_311 && !s->established)
        smb_preauth_update(s->preauth, q->packet);
    struct err error = spnego_step(&s->spnego, setup->token, world->accounts,
                                   smb_server_now(q->conn->server), &token);
    if (err_is(error))
        return error.code == ERR_AUTHENTICATION_FAILED ? STATUS_LOGON_FAILURE
                                                       : STATUS_INVALID_PARAMETER;
    uint32_t status = STATUS_MORE_PROCESSING_REQUIRED;
    if (s->spnego.stage == SPNEGO_DONE) {
        status = establish(s, setup);
        spnego_release(&s->spnego);
        s->authenticating = false;
    }
    if (status == STATUS_SUCCESS || status == STATUS_MORE_PROCESSING_REQUIRED)
        put_setup_answer(q, s->encrypts ? SMB_SESSION_FLAG_ENCRYPT : 0, buf_str(&token));
    return status;
}

void smb_session_setup(struct smb_request *q)
{
    struct setup setup;
    if (!read_setup(q, &setup)) {
        smb_complete(q, STATUS_INVALID_PARAMETER);
        return;
    }
    if ((setup.flags & SMB_SESSION_BINDING) != 0) {
        smb_bind_refuse(q, true);
        return;
    }
    struct smb_session *s = q->session;
    if (s == NULL && q->header.session_id != 0) {
        smb_bind_refuse(q, false);
        return;
    }
    if (s == NULL) {
        s = new_session(q->conn);
        smb_session_get(s);
        q->session = s;
    }
    if (s == NULL) {
        smb_complete(q, STATUS_INSUFFICIENT_RESOURCES);
        return;
    }
    q->answer_session_id = s->id;
    uint32_t status = step(q, s, &setup);
    if (status == STATUS_SUCCESS && setup.previous_session != 0 &&
        setup.previous_session != s->id) {
        smb_server_end_session(q, setup.previous_session);
        return;
    }
    if (status != STATUS_SUCCESS && status != STATUS_MORE_PROCESSING_REQUIRED) {
        smb_session_end(s);
        q->session = NULL;
        smb_session_put(s);
    }
    smb_complete(q, status);
}

void smb_logoff(struct smb_request *q)
{
    buf_put_le16(&q->out, 4);
    buf_put_le16(&q->out, 0);
    /* The answer is still signed or sealed with the session's keys: it ends behind it. */
    q->session->expired = true;
    q->session->logged_off = true;
    smb_complete(q, STATUS_SUCCESS);
}
