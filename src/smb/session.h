/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions (who) and trees (which share) of a connection. */
#ifndef SMB_SESSION_H
#define SMB_SESSION_H

#include "smb/conn.h"

struct smb_session {
    struct smb_session *next;
    struct smb_conn *conn;
    uint64_t id;
    char account[ACCOUNT_NAME_MAX + 1];
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
    uint32_t last_tree_id;
};

/* A share that is connected to. */
struct smb_tree {
    struct smb_tree *next;
    struct smb_session *session;
    uint32_t id;
    bool pipe; /* IPC$ */
    bool encrypts;
    char share[64 + 1];
    uint64_t share_incarnation;
};

struct smb_session *smb_session_find(struct smb_conn *c, uint64_t id);
struct smb_tree *smb_tree_find(struct smb_session *s, uint32_t id);
/* A nonce that this session never used before. */
void smb_session_nonce(struct smb_session *s, unsigned char out[SMB_NONCE_BYTES]);
/* Ends one session: its trees and handles go. */
void smb_session_end(struct smb_session *s);
/* All of a connection that is cut. */
void smb_sessions_end(struct smb_conn *c);

void smb_session_setup(struct smb_request *request);
void smb_logoff(struct smb_request *request);

#endif
