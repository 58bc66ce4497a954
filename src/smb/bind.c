/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/bind.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/mem.h"
#include "smb/server.h"
#include "smb/transport/clients.h"

enum { BUCKETS = 1024, SPARE_IDS = 64 };

struct smb_card {
    struct smb_card *chain;
    uint64_t session;
    struct loop *loop;
    unsigned char client[SMB_GUID_BYTES];
    enum smb_dialect dialect;
    enum smb_signing signing;
    enum smb_cipher cipher;
    unsigned char key[SMB_KEY_BYTES];
    /* One bit per message id, from 0 on. A set bit means that no answer with that id was or will be
     * signed on the session's first connection. GMAC's nonce is the message id, so other
     * connections may sign each of these once, and no others. */
    uint64_t spare_ids;
};

struct smb_cards {
    pthread_mutex_t lock;
    struct smb_card *buckets[BUCKETS];
};

struct smb_cards *smb_cards_new(void)
{
    struct smb_cards *all = MEM_NEW(struct smb_cards);
    (void)pthread_mutex_init(&all->lock, NULL);
    return all;
}

static void free_card(struct smb_card *card)
{
    OPENSSL_cleanse(card, sizeof *card);
    free(card);
}

void smb_cards_free(struct smb_cards *all)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        while (all->buckets[i] != NULL) {
            struct smb_card *next = all->buckets[i]->chain;
            free_card(all->buckets[i]);
            all->buckets[i] = next;
        }
    }
    (void)pthread_mutex_destroy(&all->lock);
    free(all);
}

static struct smb_card **link_of(struct smb_cards *all, uint64_t session)
{
    struct smb_card **link = &all->buckets[session % BUCKETS];
    while (*link != NULL && (*link)->session != session)
        link = &(*link)->chain;
    return link;
}

/* The ids used before the SESSION_SETUP that made the key. */
static uint64_t ids_before(const struct smb_conn *c, uint64_t message_id)
{
    uint64_t first = message_id < c->window.low ? message_id : c->window.low;
    return first >= SPARE_IDS ? UINT64_MAX : (1ULL << first) - 1;
}

void smb_cards_add(const struct smb_session *s, enum smb_signing signing,
                   const unsigned char key[SMB_KEY_BYTES], uint64_t message_id)
{
    struct smb_cards *all = smb_server_cards(s->server);
    struct smb_card *card = MEM_NEW(struct smb_card);
    const struct smb_conn *c = s->channels->conn;
    card->spare_ids = ids_before(c, message_id);
    card->session = s->id;
    card->loop = s->loop;
    memcpy(card->client, c->client_guid, SMB_GUID_BYTES);
    card->dialect = c->dialect;
    card->signing = signing;
    card->cipher = c->cipher;
    memcpy(card->key, key, SMB_KEY_BYTES);
    (void)pthread_mutex_lock(&all->lock);
    struct smb_card **link = link_of(all, s->id);
    card->chain = *link;
    *link = card;
    (void)pthread_mutex_unlock(&all->lock);
}

void smb_cards_drop(struct smb_cards *all, uint64_t session)
{
    (void)pthread_mutex_lock(&all->lock);
    struct smb_card **link = link_of(all, session);
    struct smb_card *card = *link;
    if (card != NULL)
        *link = card->chain;
    (void)pthread_mutex_unlock(&all->lock);
    if (card != NULL)
        free_card(card);
}

static bool find_card(struct smb_cards *all, uint64_t session, struct smb_card *out)
{
    (void)pthread_mutex_lock(&all->lock);
    const struct smb_card *card = *link_of(all, session);
    if (card != NULL)
        *out = *card;
    (void)pthread_mutex_unlock(&all->lock);
    return card != NULL;
}

/* Mismatches are reported first, in Windows' order. */
static uint32_t check_card(const struct smb_request *q, const struct smb_card *card)
{
    const struct smb_conn *c = q->conn;
    if (card->signing == SMB_SIGN_AES_GMAC && c->signing != SMB_SIGN_AES_GMAC)
        return STATUS_REQUEST_OUT_OF_SEQUENCE;
    if (c->signing == SMB_SIGN_AES_GMAC && card->signing != SMB_SIGN_AES_GMAC)
        return STATUS_NOT_SUPPORTED;
    if (c->dialect < SMB_DIALECT_300)
        return STATUS_REQUEST_NOT_ACCEPTED;
    if ((q->header.flags & SMB_FLAG_SIGNED) == 0 || c->dialect != card->dialect ||
        c->cipher != card->cipher)
        return STATUS_INVALID_PARAMETER;
    if (memcmp(c->client_guid, card->client, SMB_GUID_BYTES) != 0)
        return STATUS_USER_SESSION_DELETED;
    return STATUS_SUCCESS;
}

static bool take_spare_id(struct smb_cards *all, uint64_t session, uint64_t id)
{
    uint64_t bit = id < SPARE_IDS ? 1ULL << id : 0;
    (void)pthread_mutex_lock(&all->lock);
    struct smb_card *card = *link_of(all, session);
    bool spare = card != NULL && (card->spare_ids & bit) != 0;
    if (spare)
        card->spare_ids &= ~bit;
    (void)pthread_mutex_unlock(&all->lock);
    return spare;
}

/* Allows the answer to be signed with the session's key if the request is signed and no other
 * answer used its nonce. So replaying a request that another client signed yields no second
 * signature with the same nonce. */
static void borrow_signer(struct smb_request *q, const struct smb_card *card)
{
    if ((q->header.flags & SMB_FLAG_SIGNED) == 0)
        return;
    struct smb_signer *signer = smb_signer_new(card->signing, card->key);
    q->verified = smb_signer_verifies(signer, q->packet);
    bool may_sign = q->verified && (card->signing != SMB_SIGN_AES_GMAC ||
                                    take_spare_id(smb_server_cards(q->conn->server), card->session,
                                                  q->header.message_id));
    if (may_sign)
        q->borrowed_signer = signer;
    else
        smb_signer_free(signer);
}

void smb_bind_refuse(struct smb_request *q)
{
    struct smb_card card;
    if (find_card(smb_server_cards(q->conn->server), q->header.session_id, &card))
        borrow_signer(q, &card);
    OPENSSL_cleanse(&card, sizeof card);
    smb_complete(q, STATUS_USER_SESSION_DELETED);
}

/* ---- on the session's loop ---- */

/* From now on the connection signs with its own key. */
static uint32_t establish(struct smb_channel *c, const struct smb_setup *setup,
                          const struct smb_demands *demands)
{
    unsigned char key[SMB_KEY_BYTES];
    (void)setup;
    if (demands->one_connection)
        return STATUS_REQUEST_NOT_ACCEPTED;
    if (strcmp(c->session->account, c->spnego.ntlm.account) != 0)
        return STATUS_ACCESS_DENIED;
    smb_channel_key(c, key);
    c->signer = smb_signer_new(c->conn->signing, key);
    smb_signer_free(c->spare_signer); /* it had the session's key */
    c->spare_signer = NULL;
    c->proof = (struct smb_proof){.of = c->spnego.ntlm.proof};
    OPENSSL_cleanse(key, sizeof key);
    return STATUS_SUCCESS;
}

static void stepped(struct smb_request *q, const struct smb_setup *setup, uint32_t status)
{
    (void)setup;
    if (status != STATUS_SUCCESS && status != STATUS_MORE_PROCESSING_REQUIRED)
        smb_channel_end(q->channel);
    smb_complete(q, status);
}

static void step(struct smb_request *q, const struct smb_setup *setup)
{
    static const struct smb_stepping STEPPING = {establish, stepped};
    smb_session_step(q, setup, &STEPPING);
}

/* The session may have ended, or the connection may have been cut, during the move. */
static void arrived(struct smb_request *q, struct err outcome)
{
    const struct smb_setup *setup = q->work;
    struct smb_session *s =
        smb_server_session_on(q->conn->server, q->conn->loop, q->header.session_id);
    if (err_is(outcome) || s == NULL) {
        smb_complete(q, STATUS_USER_SESSION_DELETED);
        return;
    }
    q->session = s;
    smb_session_get(s);
    uint32_t status = STATUS_SUCCESS;
    if (s->expired)
        status = STATUS_NETWORK_SESSION_EXPIRED;
    else if (s->channel_count >= SMB_CHANNELS_PER_SESSION)
        status = STATUS_INSUFFICIENT_RESOURCES;
    if (status != STATUS_SUCCESS) {
        smb_complete(q, status);
        return;
    }
    smb_clients_join(smb_server_clients(q->conn->server), q->conn);
    q->channel = smb_channel_new(q->conn, s);
    smb_channel_get(q->channel);
    step(q, setup);
}

/* The request names a session that this connection has not joined. */
static uint32_t begin_binding(struct smb_request *q, const struct smb_setup *setup,
                              const struct smb_card *card)
{
    uint32_t status = check_card(q, card);
    if (status != STATUS_SUCCESS)
        return status;
    if (!q->verified)
        return STATUS_ACCESS_DENIED;
    struct smb_setup *kept = ARENA_NEW(q->arena, struct smb_setup);
    *kept = *setup;
    q->work = kept;
    /* A connection with its own sessions on another loop cannot join this one. */
    return smb_conn_move(q, card->loop, arrived) ? STATUS_PENDING : STATUS_REQUEST_NOT_ACCEPTED;
}

void smb_bind(struct smb_request *q, const struct smb_setup *setup)
{
    struct smb_card card;
    uint32_t status = STATUS_USER_SESSION_DELETED;
    bool binding = q->channel != NULL && !q->channel->bound && q->session->established;
    if (q->channel != NULL && !binding) { /* this connection is in it already */
        smb_complete(q, STATUS_REQUEST_NOT_ACCEPTED);
        return;
    }
    if (find_card(smb_server_cards(q->conn->server), q->header.session_id, &card)) {
        borrow_signer(q, &card);
        if (binding)
            status = q->verified ? STATUS_PENDING : STATUS_INVALID_PARAMETER;
        else
            status = begin_binding(q, setup, &card);
    }
    OPENSSL_cleanse(&card, sizeof card);
    if (status != STATUS_PENDING)
        smb_complete(q, status);
    else if (binding)
        step(q, setup);
}
