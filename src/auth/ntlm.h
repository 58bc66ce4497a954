/* SPDX-License-Identifier: Apache-2.0 */
/* NTLMv2, the server's side: the user is an account, and the password is the base64 text of either
 * of its keys. LM, NTLMv1 and guest are refused. Anonymous is refused too, unless the caller
 * already knows the user and allows it to become anonymous. */
#ifndef AUTH_NTLM_H
#define AUTH_NTLM_H

#include "core/buf.h"
#include "core/err.h"
#include "service/account/account.h"

enum {
    NTLM_KEY_BYTES = 16,
    NTLM_CHALLENGE_BYTES = 8,
    NTLM_SIGNATURE_BYTES = 16,
    NTLM_MESSAGE_MAX = 16384,
    NTLM_NEGOTIATE_MAX = 2048, /* stored before the client has proved anything */
    NTLM_WORKSTATION_MAX = 64,
};

struct ntlm {
    unsigned char challenge[NTLM_CHALLENGE_BYTES];
    uint32_t flags;
    /* The messages so far, for the message integrity code. */
    struct buf negotiate;
    struct buf challenge_message;
    /* After success. */
    unsigned char session_key[NTLM_KEY_BYTES];
    char account[ACCOUNT_NAME_MAX + 1];
    struct account_proof proof;                 /* the index of the key that matched */
    char workstation[NTLM_WORKSTATION_MAX + 1]; /* UTF-8, the client's name for its machine; empty
                                                   if not sent or too long */
    bool done;
    bool anonymous_allowed; /* by the caller, after ntlm_init */
    bool anonymous; /* after success: there is no account, and the session key is not secret */
};

/* Takes no memory before the first message. */
void ntlm_init(struct ntlm *n);
void ntlm_release(struct ntlm *n);

/* The client's NEGOTIATE message; the CHALLENGE is appended to out.
 * ERR_INVALID_AUTHENTICATION_INFO. */
struct err ntlm_challenge(struct ntlm *n, struct str message, int64_t now_ticks, struct buf *out);
/* The client's AUTHENTICATE message. On success session_key and account are set. Every refusal is
 * ERR_AUTHENTICATION_FAILED, which does not tell the reason. */
struct err ntlm_authenticate(struct ntlm *n, struct str message, struct accounts *accounts);

/* The signature over a SPNEGO mechanism list, by the client (to check) or the server (to send). */
void ntlm_sign(const struct ntlm *n, bool by_client, struct str text,
               unsigned char out[NTLM_SIGNATURE_BYTES]);

#endif
