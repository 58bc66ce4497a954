/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions (the user) and trees (the share) of connections. A session is used over one connection
 * or several (bind.h), all on one loop, so that its state stays with one thread. */
#ifndef SMB_COMMANDS_SESSION_H
#define SMB_COMMANDS_SESSION_H

#include "smb/conn.h"

enum { SMB_SHARE_NAME_MAX = 63 };

struct smb_open;

/* The key that was proved, and the last state of the accounts in which it was found to stand. */
struct smb_proof {
    struct account_proof of;
    uint64_t changes;
};

/* A connection's part in a session: how its user was made sure of here, and the key that is signed
 * with here. */
struct smb_channel {
    struct smb_channel *next;    /* of the connection */
    struct smb_channel *sibling; /* of the session; the oldest comes first */
    struct smb_conn *conn;
    struct smb_session *session; /* held */
    unsigned refs;               /* requests, and the connection's list */
    bool ended;
    bool bound; /* requests may use it */
    bool authenticating;
    bool deciding; /* the user is known, what its account demands is looked up */
    struct spnego spnego;
    unsigned char preauth[SMB_PREAUTH_BYTES];
    struct smb_signer *signer;       /* NULL: the session's own */
    struct smb_signer *spare_signer; /* for the next large message (cover.h); may be NULL */
    struct smb_proof proof;          /* of its own signer's user; unused without one */
};

/* Lives until it has ended and the last request that works in it is over. */
struct smb_session {
    struct smb_channel *channels;
    unsigned channel_count;
    struct smb_server *server;
    struct loop *loop;
    uint64_t id;
    unsigned refs; /* requests, channels, and its being there */
    bool ended;
    char account[ACCOUNT_NAME_MAX + 1];
    struct smb_proof proof;                     /* the last one: a key can be proved again */
    char workstation[NTLM_WORKSTATION_MAX + 1]; /* as the client calls itself */
    bool established;
    bool expired;
    bool anonymous;        /* its user has become anonymous: open handles stay, no new ones open */
    bool logged_off;       /* ends once its last answer is sent */
    bool encrypts;         /* every message must be encrypted */
    bool signing_required; /* every plain message must be signed */
    unsigned char key[SMB_KEY_BYTES];
    struct smb_signer *signer;
    struct smb_sealer *sealer;
    struct smb_sealer *unsealer;
    struct smb_sealer *spare_sealer, *spare_unsealer; /* for the next large message; may be NULL */
    uint64_t nonce;
    struct smb_tree *trees;
    unsigned tree_count;
    unsigned open_count; /* handles */
    uint32_t last_tree_id;
};

/* A share that is connected to. Lives like a session. */
struct smb_tree {
    struct smb_tree *next;
    struct smb_session *session;
    unsigned refs;
    bool ended;
    uint32_t id;
    bool pipe; /* IPC$ */
    char share[SMB_SHARE_NAME_MAX + 1];
    struct str partition;   /* of the share; on the heap */
    uint64_t incarnation;   /* a share of the same name made later is another */
    struct smb_open *opens; /* that were made through it */
};

/* Not held; NULL: none. */
struct smb_channel *smb_channel_find(const struct smb_conn *c, uint64_t id);
struct smb_session *smb_session_find(const struct smb_conn *c, uint64_t id);
/* The channel for unsolicited messages to the session's client: its oldest connection. NULL if none
 * is left. */
struct smb_conn *smb_session_conn(const struct smb_session *s);
/* The signer of the channel; until it is bound, the session's. */
struct smb_signer *smb_channel_signer(const struct smb_channel *c);
void smb_channel_get(struct smb_channel *c);
void smb_channel_put(struct smb_channel *c);
struct smb_tree *smb_tree_find(struct smb_session *s, uint32_t id);
/* A nonce that this session never used before. */
void smb_session_nonce(struct smb_session *s, unsigned char out[SMB_NONCE_BYTES]);
/* For a request that works in it; each get has its put. NULL is fine. */
void smb_session_get(struct smb_session *s);
void smb_session_put(struct smb_session *s);
void smb_tree_get(struct smb_tree *t);
void smb_tree_put(struct smb_tree *t);
/* Ends one session: its trees and handles go, but for durable ones. */
void smb_session_end(struct smb_session *s);
/* Checks that the keys proved for the channel and its session are still the account's. Otherwise
 * the channel or the session ends, with all handles. Costs one comparison while no account has
 * changed. */
bool smb_channel_stands(struct smb_channel *c);
/* A connection leaves a session; with the last one it ends. */
void smb_channel_end(struct smb_channel *c);
/* Ends everything of a connection that was cut. */
void smb_sessions_end(struct smb_conn *c);

/* ---- for bind.c ---- */

/* A connection's new part in a session. */
struct smb_channel *smb_channel_new(struct smb_conn *c, struct smb_session *s);
struct smb_setup {
    uint64_t message_id;
    uint8_t flags;
    uint8_t security_mode;
    struct str token;
    uint64_t previous_session;
};
/* Protection that the account's file service requires (Set File Service Properties). */
struct smb_demands {
    bool encryption;
    bool one_connection; /* to a session */
};
/* One step of authenticating the user of q->channel. At the end `establish` returns a status, and
 * `then` ends the request with it and the answer's body. */
struct smb_stepping {
    uint32_t (*establish)(struct smb_channel *c, const struct smb_setup *setup,
                          const struct smb_demands *demands);
    void (*then)(struct smb_request *q, const struct smb_setup *setup, uint32_t status);
};
void smb_session_step(struct smb_request *q, const struct smb_setup *setup,
                      const struct smb_stepping *stepping);
/* The key to sign with that comes of the user's secret on this channel. */
void smb_channel_key(const struct smb_channel *c, unsigned char out[SMB_KEY_BYTES]);

void smb_session_setup(struct smb_request *request);
void smb_logoff(struct smb_request *request);

#endif
