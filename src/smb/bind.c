/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/bind.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/mem.h"
#include "smb/server.h"

enum { BUCKETS = 1024 };

struct smb_card {
    struct smb_card *chain;
    uint64_t session;
    enum smb_dialect dialect;
    enum smb_signing signing;
    enum smb_cipher cipher;
    unsigned char key[SMB_KEY_BYTES];
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

static struct smb_card **place_of(struct smb_cards *all, uint64_t session)
{
    struct smb_card **link = &all->buckets[session % BUCKETS];
    while (*link != NULL && (*link)->session != session)
        link = &(*link)->chain;
    return link;
}

void smb_cards_add(struct smb_cards *all, const struct smb_session *s, enum smb_signing signing,
                   const unsigned char key[SMB_KEY_BYTES])
{
    struct smb_card *card = MEM_NEW(struct smb_card);
    card->session = s->id;
    card->dialect = s->conn->dialect;
    card->signing = signing;
    card->cipher = s->conn->cipher;
    memcpy(card->key, key, SMB_KEY_BYTES);
    (void)pthread_mutex_lock(&all->lock);
    struct smb_card **link = place_of(all, s->id);
    card->chain = *link;
    *link = card;
    (void)pthread_mutex_unlock(&all->lock);
}

void smb_cards_drop(struct smb_cards *all, uint64_t session)
{
    (void)pthread_mutex_lock(&all->lock);
    struct smb_card **link = place_of(all, session);
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
    const struct smb_card *card = *place_of(all, session);
    if (card != NULL)
        *out = *card;
    (void)pthread_mutex_unlock(&all->lock);
    return card != NULL;
}

/* What does not fit together is told first, in the order that Windows has. */
static uint32_t reason(const struct smb_conn *c, const struct smb_card *card)
{
    if (card->signing == SMB_SIGN_AES_GMAC && c->signing != SMB_SIGN_AES_GMAC)
        return STATUS_REQUEST_OUT_OF_SEQUENCE;
    if (c->signing == SMB_SIGN_AES_GMAC && card->signing != SMB_SIGN_AES_GMAC)
        return STATUS_NOT_SUPPORTED;
    if (c->dialect < SMB_DIALECT_300)
        return STATUS_REQUEST_NOT_ACCEPTED;
    if (c->dialect != card->dialect || c->cipher != card->cipher)
        return STATUS_INVALID_PARAMETER;
    return STATUS_REQUEST_NOT_ACCEPTED;
}

void smb_bind_refuse(struct smb_request *q, bool binding)
{
    struct smb_card card;
    if (q->session != NULL) { /* this connection is in it already */
        smb_complete(q, STATUS_REQUEST_NOT_ACCEPTED);
        return;
    }
    if (!find_card(smb_server_cards(q->conn->server), q->header.session_id, &card)) {
        smb_complete(q, STATUS_USER_SESSION_DELETED);
        return;
    }
    uint32_t status = binding ? reason(q->conn, &card) : STATUS_USER_SESSION_DELETED;
    if ((q->header.flags & SMB_FLAG_SIGNED) != 0)
        q->borrowed_signer = smb_signer_new(card.signing, card.key);
    OPENSSL_cleanse(&card, sizeof card);
    smb_complete(q, status);
}
