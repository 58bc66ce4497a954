/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions (who) and trees (which share) of a connection. */
#ifndef SMB_SESSION_H
#define SMB_SESSION_H

#include "smb/conn.h"

enum { SMB_SHARE_NAME_MAX = 63 };

struct smb_open;

/* Lives until it has ended and the last request that works in it is over. */
struct smb_session {
    struct smb_session *next;
    struct smb_conn *conn;
    uint64_t id;
    unsigned refs; /* requests, and the connection's list */
    bool ended;
    char account[ACCOUNT_NAME_MAX + 1];
    char workstation[NTLM_WORKSTATION_MAX + 1]; /* as the client calls itself */
    bool established;
    bool expired;
    bool logged_off;       /* ends once its last answer is sent */
    bool encrypts;         /* every message must be encrypted */
    bool signing_required; /* every plain message must be signed */
    bool authenticating;
    struct spnego spnego;
    unsigned char preauth[SMB_PREAUTH_BYTES];
    unsigned char key[SMB_KEY_BYTES];
    struct smb_signer *signer;
    struct smb_sealer *sealer;
    struct smb_sealer *unsealer;
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
    bool encrypts;
    char share[SMB_SHARE_NAME_MAX + 1];
    struct str partition;   /* of the share; on the heap */
    uint64_t incarnation;   /* a share of the same name made later is another */
    struct smb_open *opens; /* that were made through it */
};

struct smb_session *smb_session_find(struct smb_conn *c, uint64_t id);
struct smb_tree *smb_tree_find(struct smb_session *s, uint32_t id);
/* A nonce that this session never used before. */
void smb_session_nonce(struct smb_session *s, unsigned char out[SMB_NONCE_BYTES]);
/* For a request that works in it; each get has its put. NULL is fine. */
void smb_session_get(struct smb_session *s);
void smb_session_put(struct smb_session *s);
void smb_tree_get(struct smb_tree *t);
void smb_tree_put(struct smb_tree *t);
/* Ends one session: its trees and handles go. */
void smb_session_end(struct smb_session *s);
/* All of a connection that is cut. */
void smb_sessions_end(struct smb_conn *c);

void smb_session_setup(struct smb_request *request);
void smb_logoff(struct smb_request *request);

#endif
