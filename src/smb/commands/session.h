/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions (the user) and trees (the share) of connections. A session is used over one connection
 * or several (bind.h), all on one loop, so that its state stays with one thread. */
#ifndef SMB_COMMANDS_SESSION_H
#define SMB_COMMANDS_SESSION_H

#include "smb/transport/conn.h"

enum { SMB_SHARE_NAME_MAX = 63 };

struct smb_open;

/* The key that the client proved, and the last state of the accounts in which the key was valid. */
struct smb_proof {
    struct account_proof of;
    uint64_t changes;
};

/* A connection's part in a session: how its user was authenticated here, and the signing key used
 * here. */
struct smb_channel {
    struct smb_channel *next;    /* of the connection */
    struct smb_channel *sibling; /* in the session's list, oldest first */
    struct smb_conn *conn;
    struct smb_session *session; /* held */
    unsigned refs;               /* requests, and the connection's list */
    bool ended;
    bool bound; /* requests may use it */
    bool authenticating;
    bool deciding; /* the user is known; the account's demands are being looked up */
    struct spnego spnego;
    unsigned char preauth[SMB_PREAUTH_BYTES];
    struct smb_signer *signer;       /* NULL: the session's signer */
    struct smb_signer *spare_signer; /* for the next large message (cover.h); may be NULL */
    struct smb_proof proof;          /* of the signer's user; unused without a signer */
};

/* Lives until it has ended and its last request is done. */
struct smb_session {
    struct smb_channel *channels;
    unsigned channel_count;
    struct smb_server *server;
    struct loop *loop;
    uint64_t id;
    unsigned refs; /* requests, channels, and one until the session ends */
    bool ended;
    char account[ACCOUNT_NAME_MAX + 1];
    struct smb_proof proof;                     /* the latest one: a client can prove a key again */
    char workstation[NTLM_WORKSTATION_MAX + 1]; /* the client's name for itself */
    bool established;
    bool expired;
    bool anonymous;        /* its user is now anonymous: open handles stay, no new ones open */
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

/* A connected share. Same lifetime as a session. */
struct smb_tree {
    struct smb_tree *next;
    struct smb_session *session;
    unsigned refs;
    bool ended;
    uint32_t id;
    bool pipe; /* IPC$ */
    char share[SMB_SHARE_NAME_MAX + 1];
    struct str partition;   /* of the share; on the heap */
    uint64_t incarnation;   /* differs for a later share of the same name */
    struct smb_open *opens; /* made through this tree */
};

/* Returns it without a reference; NULL: none. */
struct smb_channel *smb_channel_find(const struct smb_conn *c, uint64_t id);
struct smb_session *smb_session_find(const struct smb_conn *c, uint64_t id);
/* The channel for unsolicited messages to the session's client: its oldest connection. NULL if none
 * is left. */
struct smb_conn *smb_session_conn(const struct smb_session *s);
/* The signer of the channel; the session's until the channel is bound. */
struct smb_signer *smb_channel_signer(const struct smb_channel *c);
void smb_channel_get(struct smb_channel *c);
void smb_channel_put(struct smb_channel *c);
struct smb_tree *smb_tree_find(struct smb_session *s, uint32_t id);
/* A nonce that this session has never used. */
void smb_session_nonce(struct smb_session *s, unsigned char out[SMB_NONCE_BYTES]);
/* Takes a reference for a request; each get needs a put. NULL is allowed. */
void smb_session_get(struct smb_session *s);
void smb_session_put(struct smb_session *s);
void smb_tree_get(struct smb_tree *t);
void smb_tree_put(struct smb_tree *t);
/* Ends a session: closes its trees and handles, except durable handles. */
void smb_session_end(struct smb_session *s);
/* Checks that the keys proved for the channel and its session are still the account's. Otherwise
 * the channel or the session ends, with all handles. Costs one comparison while no account has
 * changed. */
bool smb_channel_stands(struct smb_channel *c);
/* Removes a connection from a session; removing the last one ends the session. */
void smb_channel_end(struct smb_channel *c);
/* Ends all sessions of a connection that was cut. */
void smb_sessions_end(struct smb_conn *c);

/* ---- for bind.c ---- */

/* Adds a connection to a session. */
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
/* One step of authenticating the user of q->channel. After the last step `establish` returns a
 * status, and `then` ends the request with that status and the answer's body. */
struct smb_stepping {
    uint32_t (*establish)(struct smb_channel *c, const struct smb_setup *setup,
                          const struct smb_demands *demands);
    void (*then)(struct smb_request *q, const struct smb_setup *setup, uint32_t status);
};
void smb_session_step(struct smb_request *q, const struct smb_setup *setup,
                      const struct smb_stepping *stepping);
/* Derives the channel's signing key from the user's secret. */
void smb_channel_key(const struct smb_channel *c, unsigned char out[SMB_KEY_BYTES]);

void smb_session_setup(struct smb_request *request);
void smb_logoff(struct smb_request *request);

#endif
