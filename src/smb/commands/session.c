/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/commands/session.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/mem.h"
#include "service/common/service_properties.h"
#include "smb/bind.h"
#include "smb/commands/tree.h"
#include "smb/drive.h"
#include "smb/server.h"
#include "smb/transport/clients.h"

enum { TOKEN_OFFSET_IN_ANSWER = SMB_HEADER_BYTES + 8 };

struct smb_channel *smb_channel_find(const struct smb_conn *c, uint64_t id)
{
    for (struct smb_channel *one = c->channels; one != NULL; one = one->next)
        if (one->session->id == id && id != 0)
            return one;
    return NULL;
}

struct smb_session *smb_session_find(const struct smb_conn *c, uint64_t id)
{
    const struct smb_channel *channel = smb_channel_find(c, id);
    return channel == NULL ? NULL : channel->session;
}

struct smb_conn *smb_session_conn(const struct smb_session *s)
{
    const struct smb_channel *c = s->channels;
    while (c != NULL && !c->bound)
        c = c->sibling;
    return c == NULL ? NULL : c->conn;
}

struct smb_signer *smb_channel_signer(const struct smb_channel *c)
{
    return c->signer != NULL ? c->signer : c->session->signer;
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
    smb_sealer_free(s->spare_sealer);
    smb_sealer_free(s->spare_unsealer);
    s->signer = NULL;
    s->sealer = NULL;
    s->unsealer = NULL;
    s->spare_sealer = s->spare_unsealer = NULL;
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
    drop_keys(s);
    OPENSSL_cleanse(s->key, sizeof s->key);
    free(s);
}

void smb_channel_get(struct smb_channel *c)
{
    if (c != NULL)
        c->refs++;
}

void smb_channel_put(struct smb_channel *c)
{
    if (c == NULL || --c->refs > 0)
        return;
    if (c->authenticating)
        spnego_release(&c->spnego);
    smb_signer_free(c->signer);
    smb_signer_free(c->spare_signer);
    smb_session_put(c->session);
    free(c);
}

struct smb_channel *smb_channel_new(struct smb_conn *conn, struct smb_session *s)
{
    struct smb_channel *c = MEM_NEW(struct smb_channel);
    c->conn = conn;
    c->session = s;
    c->refs = 1;
    smb_session_get(s);
    c->next = conn->channels;
    conn->channels = c;
    conn->channel_count++;
    struct smb_channel **last = &s->channels;
    while (*last != NULL)
        last = &(*last)->sibling;
    *last = c;
    s->channel_count++;
    return c;
}

static void unlink_channel(struct smb_channel *c)
{
    struct smb_channel **link = &c->conn->channels;
    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    c->conn->channel_count--;
    link = &c->session->channels;
    while (*link != c)
        link = &(*link)->sibling;
    *link = c->sibling;
    c->session->channel_count--;
    c->ended = true;
}

static void end_session(struct smb_session *s, bool keeps_durable)
{
    if (s->ended)
        return;
    s->ended = true;
    smb_server_count_session(s->server, false);
    smb_cards_drop(smb_server_cards(s->server), s->id);
    smb_trees_end(s, keeps_durable);
    while (s->channels != NULL) {
        struct smb_channel *c = s->channels;
        unlink_channel(c);
        smb_channel_put(c);
    }
    smb_session_put(s);
}

void smb_session_end(struct smb_session *s)
{
    end_session(s, true);
}

void smb_channel_end(struct smb_channel *c)
{
    struct smb_session *s = c->session;
    if (c->ended)
        return;
    if (s->channel_count == 1) {
        smb_session_end(s);
        return;
    }
    unlink_channel(c);
    smb_channel_put(c);
}

void smb_sessions_end(struct smb_conn *c)
{
    while (c->channels != NULL) {
        assert(!c->channels->session->ended); /* an ended session has no channels */
        smb_channel_end(c->channels);
    }
}

/* ---- keys that the account no longer has ---- */

static bool proof_stands(const struct smb_session *s, struct smb_proof *proof)
{
    struct accounts *accounts = smb_server_world(s->server)->accounts;
    uint64_t changes = accounts_changes(accounts);
    if (proof->changes == changes)
        return true;
    proof->changes = changes;
    return accounts_stands(accounts, str_of(s->account), &proof->of);
}

bool smb_channel_stands(struct smb_channel *c)
{
    struct smb_session *s = c->session;
    if (!s->established)
        return true;
    if (!proof_stands(s, &s->proof)) {
        log_line(LOG_INFO, "smb: a session of %s ends: its key is none of the account's any more",
                 s->account);
        end_session(s, false);
        return false;
    }
    if (c->signer == NULL || proof_stands(s, &c->proof))
        return true;
    smb_channel_end(c);
    return false;
}

/* ---- keys ---- */

static void derive(const struct smb_channel *c, struct str label_311, struct str label_30,
                   struct str context_30, unsigned char *out, size_t bytes)
{
    struct str preauth = {(const char *)c->preauth, SMB_PREAUTH_BYTES};
    bool newest = c->conn->dialect == SMB_DIALECT_311;
    smb_derive_key(c->spnego.ntlm.session_key, newest ? label_311 : label_30,
                   newest ? preauth : context_30, out, bytes);
}

/* Labels and contexts include their terminating NUL. */
#define COUNTED(literal) ((struct str){(literal), sizeof(literal)})

void smb_channel_key(const struct smb_channel *c, unsigned char out[SMB_KEY_BYTES])
{
    derive(c, COUNTED("SMBSigningKey"), COUNTED("SMB2AESCMAC"), COUNTED("SmbSign"), out,
           SMB_KEY_BYTES);
}

static void make_keys(struct smb_session *s, const struct smb_channel *ch, uint64_t message_id)
{
    const struct smb_conn *c = ch->conn;
    unsigned char key[SMB_KEY_BYTES_MAX];
    memcpy(s->key, ch->spnego.ntlm.session_key, SMB_KEY_BYTES);
    if (c->dialect < SMB_DIALECT_300) {
        s->signer = smb_signer_new(SMB_SIGN_HMAC_SHA256, s->key);
        smb_cards_add(s, SMB_SIGN_HMAC_SHA256, s->key, message_id);
        return;
    }
    smb_channel_key(ch, key);
    s->signer = smb_signer_new(c->signing, key);
    smb_cards_add(s, c->signing, key, message_id);
    if (c->cipher == SMB_CIPHER_NONE)
        return;
    size_t bytes = smb_cipher_key_bytes(c->cipher);
    derive(ch, COUNTED("SMBS2CCipherKey"), COUNTED("SMB2AESCCM"), COUNTED("ServerOut"), key, bytes);
    s->sealer = smb_sealer_new(c->cipher, key, true);
    derive(ch, COUNTED("SMBC2SCipherKey"), COUNTED("SMB2AESCCM"), COUNTED("ServerIn "), key, bytes);
    s->unsealer = smb_sealer_new(c->cipher, key, false);
    OPENSSL_cleanse(key, sizeof key);
}

/* ---- SESSION_SETUP ---- */

static bool read_setup(const struct smb_request *q, struct smb_setup *out)
{
    struct reader r = reader_of(q->body);
    out->message_id = q->header.message_id;
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

/* Makes a session with its first channel. */
static struct smb_channel *new_session(struct smb_conn *c)
{
    unsigned most = c->proved ? SMB_SESSIONS_PER_CONNECTION : SMB_EARLY_SESSIONS_MAX;
    if (c->channel_count >= most)
        return NULL;
    struct smb_session *s = MEM_NEW(struct smb_session);
    s->refs = 1;
    s->server = c->server;
    s->loop = c->loop;
    s->id = smb_random_id();
    smb_server_count_session(s->server, true);
    return smb_channel_new(c, s);
}

static uint16_t session_flags(const struct smb_session *s)
{
    unsigned encrypts = s->encrypts ? SMB_SESSION_FLAG_ENCRYPT : 0;
    return (uint16_t)(encrypts | (s->anonymous ? SMB_SESSION_FLAG_NULL : 0));
}

static void put_setup_answer(struct smb_request *q, uint16_t flags, struct str token)
{
    buf_put_le16(&q->out, 9);
    buf_put_le16(&q->out, flags);
    buf_put_le16(&q->out, TOKEN_OFFSET_IN_ANSWER);
    buf_put_le16(&q->out, (uint16_t)token.n);
    buf_put(&q->out, token);
}

/* A session does not change its user, but the user may become anonymous ([MS-SMB2] 3.3.5.5.2): the
 * session stays signed and sealed as before, its handles keep their access, and it opens and
 * connects to nothing until a key is proved again. No client gets a session in this way. */
static uint32_t renounce(struct smb_session *s)
{
    s->anonymous = true;
    return STATUS_SUCCESS;
}

static uint32_t establish(struct smb_channel *ch, const struct smb_setup *setup,
                          const struct smb_demands *demands)
{
    struct smb_conn *c = ch->conn;
    struct smb_session *s = ch->session;
    bool encrypts =
        demands->encryption || smb_server_options(c->server)->encryption == SMB_ENCRYPTION_REQUIRED;
    bool again = s->established;
    if (ch->spnego.ntlm.anonymous)
        return again ? renounce(s) : STATUS_LOGON_FAILURE;
    if (again && strcmp(s->account, ch->spnego.ntlm.account) != 0)
        return STATUS_ACCESS_DENIED; /* a session cannot change its user */
    if (encrypts && c->cipher == SMB_CIPHER_NONE)
        return STATUS_ACCESS_DENIED;
    memcpy(s->account, ch->spnego.ntlm.account, sizeof s->account);
    memcpy(s->workstation, ch->spnego.ntlm.workstation, sizeof s->workstation);
    s->proof = ch->proof = (struct smb_proof){.of = ch->spnego.ntlm.proof};
    if (!again)
        make_keys(s, ch, setup->message_id);
    /* Proving the key again never weakens the session's protection. */
    s->encrypts = s->encrypts || encrypts;
    s->signing_required = s->signing_required || ((setup->security_mode | c->client_security_mode) &
                                                  SMB_SIGNING_REQUIRED) != 0;
    s->established = true;
    s->expired = false;
    s->anonymous = false;
    return STATUS_SUCCESS;
}

/* State while the account's demands are looked up. */
struct deciding {
    const struct smb_stepping *stepping;
    struct smb_setup setup;
    struct str token;
    struct service_properties_get properties;
};

static struct smb_demands demands_of(const struct service_properties *p)
{
    bool told = service_properties_has(p, PART_PROTOCOL);
    return (struct smb_demands){.encryption =
                                    told && p->protocol.smb_encryption == ENCRYPTION_REQUIRED,
                                .one_connection = told && !p->protocol.smb_multichannel};
}

static void decide(struct smb_request *q, struct err outcome)
{
    struct deciding *d = q->work;
    struct smb_channel *c = q->channel;
    struct smb_demands demands = demands_of(&d->properties.properties);
    uint32_t status = STATUS_USER_SESSION_DELETED; /* if the session has ended meanwhile */
    if (!c->ended)
        status = err_is(outcome) ? err_ntstatus(outcome.code)
                                 : d->stepping->establish(c, &d->setup, &demands);
    c->bound = c->bound || status == STATUS_SUCCESS;
    /* The account may have changed since the key was proved. */
    if (status == STATUS_SUCCESS && !smb_channel_stands(c))
        status = STATUS_LOGON_FAILURE;
    spnego_release(&c->spnego);
    c->authenticating = false;
    c->deciding = false;
    if (status == STATUS_SUCCESS) {
        q->verified = q->verified || !c->session->anonymous;
        smb_conn_proved(c->conn);
        put_setup_answer(q, session_flags(c->session), d->token);
    }
    d->stepping->then(q, &d->setup, status);
}

static void look_up_demands(struct smb_request *q, const struct smb_setup *setup, struct str token,
                            const struct smb_stepping *stepping)
{
    struct deciding *d = ARENA_NEW(q->arena, struct deciding);
    struct smb_channel *c = q->channel;
    *d = (struct deciding){stepping, *setup, token, {.arena = q->arena}};
    c->deciding = true;
    q->work = d;
    const struct ntlm *ntlm = &c->spnego.ntlm;
    struct str account = str_of(ntlm->anonymous ? c->session->account : ntlm->account);
    struct str partition = service_properties_partition(q->arena, SERVICE_FILE, account);
    smb_view_of(q, partition, service_properties_get, &d->properties, decide);
}

void smb_session_step(struct smb_request *q, const struct smb_setup *setup,
                      const struct smb_stepping *stepping)
{
    struct buf token = buf_in(q->arena);
    struct smb_channel *c = q->channel;
    const struct smb_world *world = smb_server_world(q->conn->server);
    if (!c->authenticating) {
        spnego_init(&c->spnego);
        c->spnego.ntlm.anonymous_allowed = c->bound;
        c->authenticating = true;
        if (!c->bound)
            memcpy(c->preauth, q->conn->preauth, SMB_PREAUTH_BYTES);
    }
    if (q->conn->dialect == SMB_DIALECT_311 && !c->bound)
        smb_preauth_update(c->preauth, q->packet);
    struct err error = spnego_step(&c->spnego, setup->token, world->accounts,
                                   smb_server_now(q->conn->server), &token);
    if (err_is(error)) {
        q->why = "the client has not proved a key of an account";
        stepping->then(q, setup,
                       error.code == ERR_AUTHENTICATION_FAILED ? STATUS_LOGON_FAILURE
                                                               : STATUS_INVALID_PARAMETER);
    } else if (c->spnego.stage == SPNEGO_DONE) {
        look_up_demands(q, setup, buf_str(&token), stepping);
    } else {
        put_setup_answer(q, session_flags(c->session), buf_str(&token));
        stepping->then(q, setup, STATUS_MORE_PROCESSING_REQUIRED);
    }
}

/* Authenticates a new session, or an existing one again, on this connection. */
static void stepped(struct smb_request *q, const struct smb_setup *setup, uint32_t status)
{
    struct smb_session *s = q->session;
    if (status == STATUS_SUCCESS && setup->previous_session != 0 &&
        setup->previous_session != s->id && !s->anonymous) {
        smb_server_end_session(q, setup->previous_session);
        return;
    }
    if (status != STATUS_SUCCESS && status != STATUS_MORE_PROCESSING_REQUIRED) {
        smb_session_end(s);
        q->session = NULL;
        smb_session_put(s);
    }
    smb_complete(q, status);
}

static void set_up(struct smb_request *q, const struct smb_setup *setup)
{
    static const struct smb_stepping STEPPING = {establish, stepped};
    q->answer_session_id = q->session->id;
    smb_session_step(q, setup, &STEPPING);
}

static void begin_here(struct smb_request *q, struct err outcome)
{
    if (!err_is(outcome)) {
        smb_clients_join(smb_server_clients(q->conn->server), q->conn);
        q->channel = new_session(q->conn);
    }
    if (q->channel == NULL) {
        smb_complete(q, STATUS_INSUFFICIENT_RESOURCES);
        return;
    }
    q->session = q->channel->session;
    smb_channel_get(q->channel);
    smb_session_get(q->session);
    set_up(q, q->work);
}

/* Begins on the loop of the client's other connections, or on this loop if it cannot move there. */
static void begin_session(struct smb_request *q, const struct smb_setup *setup)
{
    struct smb_conn *c = q->conn;
    struct smb_setup *kept = ARENA_NEW(q->arena, struct smb_setup);
    struct loop *loop = smb_clients_loop(smb_server_clients(c->server), c);
    *kept = *setup;
    q->work = kept;
    if (loop == NULL || c->joined || !smb_conn_move(q, loop, begin_here))
        begin_here(q, OK);
}

void smb_session_setup(struct smb_request *q)
{
    struct smb_setup setup;
    if (!read_setup(q, &setup)) {
        smb_complete(q, STATUS_INVALID_PARAMETER);
        return;
    }
    if (q->channel != NULL && q->channel->deciding) {
        smb_complete(q, STATUS_REQUEST_NOT_ACCEPTED);
        return;
    }
    if ((setup.flags & SMB_SESSION_BINDING) != 0) {
        smb_bind(q, &setup);
        return;
    }
    if (q->channel == NULL && q->header.session_id != 0) {
        smb_bind_refuse(q);
        return;
    }
    if (q->channel == NULL)
        begin_session(q, &setup);
    else if (q->session->established && !q->channel->bound)
        smb_complete(q, STATUS_REQUEST_NOT_ACCEPTED); /* it began as a binding */
    else
        set_up(q, &setup);
}

void smb_logoff(struct smb_request *q)
{
    buf_put_le16(&q->out, 4);
    buf_put_le16(&q->out, 0);
    /* The answer is still signed or sealed with the session's keys, so the session ends after
     * it. */
    q->session->expired = true;
    q->session->logged_off = true;
    smb_complete(q, STATUS_SUCCESS);
}
