/* SPDX-License-Identifier: Apache-2.0 */
/* Handles that outlive their connection ([MS-SMB2] 3.3.5.9.6, .7, .10, .12). When the connection of
 * a durable handle is cut, the handle is parked: it then belongs to no session, only to the
 * server's table, until its client reconnects, its time ends, or another client needs the file. The
 * thread that unparks it, under the table's lock, owns it. */
#ifndef SMB_DURABLE_H
#define SMB_DURABLE_H

#include "smb/conn.h"

enum {
    SMB_DURABLE_MS = 60000,      /* for requests without a time */
    SMB_DURABLE_MS_MAX = 300000, /* more is not granted */
    SMB_DURABLE_LOOK_MS = 500,   /* how often expired ones are searched */
};

struct smb_open;
struct smb_create;

/* Of a handle. */
struct smb_durable {
    bool granted;
    bool second;     /* by DH2Q: it has a GUID of the client's */
    bool persistent; /* it survives a restart, and is not closed in favour of others (persist.h) */
    bool stored;     /* it is written down: a persistent one, and in a store that several gateways
                        share each durable one, as another of them may have to go on with it */
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

/* The request of CREATE's contexts. */
struct smb_durable_wish {
    bool first, second;                 /* DHnQ, DH2Q */
    bool returns_first, returns_second; /* DHnC, DH2C: nothing else of the CREATE counts */
    uint64_t persistent;                /* the handle of a reconnect */
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

/* The handle's connection was cut: parks it, or returns that it must be closed. */
bool smb_durable_park(struct smb_open *o);
/* Accounts have changed: closes handles whose key no longer belongs to the account. On the first
 * loop's thread. */
void smb_durable_look(struct smb_server *s);
/* Unparks it for this thread. False: another thread did. */
bool smb_durable_unpark(struct smb_open *o, struct loop *loop);
/* The handle was closed. */
void smb_durable_forget(struct smb_open *o);
/* The open files are another gateway's: forgets all that are parked. On the first loop's thread. */
void smb_durable_abandon(struct smb_server *s);
/* The server stops: closes all parked handles. The rows of persistent ones stay. */
void smb_durable_end(struct smb_server *s);
bool smb_durable_ending(struct smb_server *s);

#endif
