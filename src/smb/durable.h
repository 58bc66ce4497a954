/* SPDX-License-Identifier: Apache-2.0 */
/* Handles that outlive their connection ([MS-SMB2] 3.3.5.9.6, .7, .10, .12). When the connection of
 * a durable handle is cut, the handle is parked: it belongs to no session then, only to the
 * server's table, until its client comes back for it, its time is over, or somebody else wants the
 * file. Whoever takes it out of the parking, under the table's lock, has it for its own thread. */
#ifndef SMB_DURABLE_H
#define SMB_DURABLE_H

#include "smb/conn.h"

enum {
    SMB_DURABLE_MS = 60000,      /* for those that ask for no time of their own */
    SMB_DURABLE_MS_MAX = 300000, /* more is not granted */
    SMB_DURABLE_LOOK_MS = 500,   /* how often it is looked for those whose time is over */
};

struct smb_open;
struct smb_create;

/* Of a handle. */
struct smb_durable {
    bool granted;
    bool second;     /* by DH2Q: it has a GUID of the client's */
    bool persistent; /* it is written down, and survives a restart (persist.h) */
    bool entered;    /* it is found by its GUID */
    bool pending;    /* its CREATE is still under way */
    unsigned char client[SMB_GUID_BYTES];
    unsigned char guid[SMB_GUID_BYTES];
    uint32_t timeout_ms;
    struct smb_open *guid_chain; /* those with a GUID, by it; under the table's lock */

    /* While parked; under the same lock. */
    bool parked;
    struct smb_open *park_previous, *park_next;
    int64_t expires_ms; /* monotonic */
    char *partition;    /* of the share; on the heap */
    size_t partition_n;
    char account[ACCOUNT_NAME_MAX + 1];
    struct account_proof proof; /* the key of the session that had it */
};

/* What CREATE's contexts ask for. */
struct smb_durable_wish {
    bool first, second;                 /* DHnQ, DH2Q */
    bool returns_first, returns_second; /* DHnC, DH2C: nothing else of the CREATE counts */
    uint64_t persistent;                /* of the handle that is come back for */
    bool wants_persistent;              /* DH2Q, DH2C: a handle that survives a restart */
    unsigned char guid[SMB_GUID_BYTES];
    uint32_t timeout_ms;
};
/* A status. */
uint32_t smb_durable_read(struct smb_create *c);

/* CREATE with a GUID that is known: either the same CREATE again, which is answered as the first
 * was, or is to be sent later while that is under way; or a mistake. False: it is not known, or
 * none was given. */
bool smb_durable_replay(struct smb_create *c);
/* A CREATE with a GUID begins: c->open is found by it from now on. */
void smb_durable_reserve(struct smb_create *c);
/* Comes back for a handle; ends the CREATE. */
void smb_durable_reconnect(struct smb_create *c);
/* The handle is about to be answered: makes it durable when that was asked for and its cache allows
 * it. May be called again. */
void smb_durable_grant(struct smb_create *c);
/* The handle is the client's: its CREATE can be answered again. */
void smb_durable_settle(struct smb_open *o);
/* A handle that has survived a restart: parks it. */
void smb_durable_restore(struct smb_open *o);
/* DHnQ or DH2Q of the answer. */
void smb_durable_put(const struct smb_open *o, struct buf *out);

/* The handle's connection is cut: parks it, or says that it is to be closed. */
bool smb_durable_park(struct smb_open *o);
/* Accounts have changed: closes those whose key is none of its account's any more. On the first
 * loop's thread. */
void smb_durable_look(struct smb_server *s);
/* Takes it out of the parking for this thread. False: somebody else has. */
bool smb_durable_unpark(struct smb_open *o, struct loop *loop);
/* The handle is gone. */
void smb_durable_forget(struct smb_open *o);
/* The server ends: closes all that are parked. The rows of those that survive stay. */
void smb_durable_end(struct smb_server *s);
bool smb_durable_ending(struct smb_server *s);

#endif
