/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/crypto/cover.h"

#include <stdlib.h>

#include "core/mem.h"

enum { SIGNATURE_AT = 48, TAG_AT = 4, NONCE_AT = 20 };

struct smb_cover {
    bool outwards;               /* an answer */
    struct smb_channel *channel; /* for signatures; held */
    struct smb_session *session; /* for encryption; held */
    struct smb_signer *signer;
    struct smb_sealer *sealer;
    struct smb_transform transform;
    char *bytes; /* signed bytes, or encrypted ones with a transform header before them */
    size_t n;
};

static struct smb_signer *take_signer(struct smb_channel *c)
{
    struct smb_signer *spare = c->spare_signer;
    c->spare_signer = NULL;
    return spare != NULL ? spare : smb_signer_twin(smb_channel_signer(c));
}

static struct smb_sealer *take_sealer(struct smb_sealer **spare, const struct smb_sealer *like)
{
    struct smb_sealer *taken = *spare;
    *spare = NULL;
    return taken != NULL ? taken : smb_sealer_twin(like);
}

static struct smb_cover *of_channel(struct smb_channel *c, char *packet, size_t n)
{
    struct smb_cover *cover = MEM_NEW(struct smb_cover);
    smb_channel_get(c);
    cover->channel = c;
    cover->signer = take_signer(c);
    cover->bytes = packet;
    cover->n = n;
    return cover;
}

struct smb_cover *smb_cover_sign(struct smb_channel *c, char *packet, size_t n)
{
    struct smb_cover *cover = of_channel(c, packet, n);
    cover->outwards = true;
    return cover;
}

struct smb_cover *smb_cover_verify(struct smb_channel *c, struct str packet)
{
    /* The bytes are not changed; the cast only removes const. */
    return of_channel(c, (char *)(uintptr_t)packet.p, packet.n);
}

struct smb_cover *smb_cover_seal(struct smb_session *s, char *plain, size_t n)
{
    struct smb_cover *cover = MEM_NEW(struct smb_cover);
    struct buf head = {.p = plain - SMB_TRANSFORM_BYTES, .capacity = SMB_TRANSFORM_BYTES};
    smb_session_get(s);
    *cover = (struct smb_cover){
        .outwards = true,
        .session = s,
        .sealer = take_sealer(&s->spare_sealer, s->sealer),
        .transform = {.original_size = (uint32_t)n, .flags = 1, .session_id = s->id},
        .bytes = plain,
        .n = n};
    smb_session_nonce(s, cover->transform.nonce);
    smb_transform_put(&head, &cover->transform);
    return cover;
}

struct smb_cover *smb_cover_unseal(struct smb_session *s, const struct smb_transform *t,
                                   char *message)
{
    struct smb_cover *cover = MEM_NEW(struct smb_cover);
    smb_session_get(s);
    *cover = (struct smb_cover){.session = s,
                                .sealer = take_sealer(&s->spare_unsealer, s->unsealer),
                                .transform = *t,
                                .bytes = message + SMB_TRANSFORM_BYTES,
                                .n = t->original_size};
    return cover;
}

static bool run_seal(struct smb_cover *c)
{
    char *head = c->bytes - SMB_TRANSFORM_BYTES;
    struct str aad = {head + NONCE_AT, SMB_TRANSFORM_BYTES - NONCE_AT};
    struct smb_transform *t = &c->transform;
    if (!c->outwards)
        return smb_unseal(c->sealer, aad, t->nonce, c->bytes, c->n, t->signature);
    if (!smb_seal(c->sealer, aad, t->nonce, c->bytes, c->n, t->signature))
        return false;
    memcpy(head + TAG_AT, t->signature, SMB_SIGNATURE_BYTES);
    return true;
}

static bool run_sign(struct smb_cover *c)
{
    struct str packet = {c->bytes, c->n};
    unsigned char signature[SMB_SIGNATURE_BYTES];
    if (!c->outwards)
        return smb_signer_verifies(c->signer, packet);
    if (!smb_signer_sign(c->signer, packet, true, signature))
        return false;
    memcpy(c->bytes + SIGNATURE_AT, signature, SMB_SIGNATURE_BYTES);
    return true;
}

bool smb_cover_run(struct smb_cover *c)
{
    return c->signer != NULL ? run_sign(c) : run_seal(c);
}

static void give_sealer(struct smb_cover *c)
{
    struct smb_session *s = c->session;
    struct smb_sealer **spare = c->outwards ? &s->spare_sealer : &s->spare_unsealer;
    if (*spare == NULL)
        *spare = c->sealer;
    else
        smb_sealer_free(c->sealer);
}

void smb_cover_free(struct smb_cover *c)
{
    if (c == NULL)
        return;
    if (c->sealer != NULL)
        give_sealer(c);
    if (c->signer != NULL && c->channel->spare_signer == NULL)
        c->channel->spare_signer = c->signer;
    else
        smb_signer_free(c->signer);
    smb_channel_put(c->channel);
    smb_session_put(c->session);
    free(c);
}
