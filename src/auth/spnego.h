/* SPDX-License-Identifier: Apache-2.0 */
/* SPNEGO around NTLM, the server's side ([RFC 4178], [MS-SPNG]); bare NTLM messages are taken too.
 */
#ifndef AUTH_SPNEGO_H
#define AUTH_SPNEGO_H

#include "auth/ntlm.h"

enum spnego_stage { SPNEGO_START, SPNEGO_WANT_NEGOTIATE, SPNEGO_WANT_AUTHENTICATE, SPNEGO_DONE };

struct spnego {
    struct ntlm ntlm;
    enum spnego_stage stage;
    bool bare;            /* the client speaks NTLM without SPNEGO */
    struct buf mech_list; /* the client's list of mechanisms, as sent: the MIC covers it */
};

void spnego_init(struct spnego *s);
void spnego_release(struct spnego *s);

/* The server's offer, before the client sends anything. */
void spnego_hello(struct buf *out);

/* One token of the client; the answer is appended to reply. s->stage is SPNEGO_DONE after success.
 * ERR_INVALID_AUTHENTICATION_INFO: not a token; ERR_AUTHENTICATION_FAILED. */
struct err spnego_step(struct spnego *s, struct str token, struct accounts *accounts,
                       int64_t now_ticks, struct buf *reply);

#endif
