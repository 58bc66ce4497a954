/* SPDX-License-Identifier: Apache-2.0 */
/* Handles that outlive their connection ([MS-SMB2] 3.3.5.9.6, .7, .10, .12). When the connection of
 * a durable handle is cut, the handle is parked: it then belongs to no session, only to the
 * server's table, until its client reconnects, it expires, or another client needs the file. The
 * thread that unparks it, under the table's lock, owns it. */
#ifndef SMB_DURABLE_H
#define SMB_DURABLE_H

#include "smb/transport/conn.h"

enum {
    SMB_DURABLE_MS = 60000,      /* for requests without a timeout */
    SMB_DURABLE_MS_MAX = 300000, /* the longest timeout granted */
    SMB_DURABLE_LOOK_MS = 500,   /* interval of the search for expired handles */
};

struct smb_open;
struct smb_create;

/* Of a handle. */
struct smb_durable {
    bool granted;
    bool second;     /* by DH2Q: it has a GUID from the client */
    bool persistent; /* survives a restart; not closed in favour of other opens (persist.h) */
    bool stored;     /* has a row: true for persistent handles and, in a store that several
                        gateways share, for all durable ones, as another may take over */
    bool entered;    /* can be found by its GUID */
    bool pending;    /* its CREATE is still under way */
    unsigned char client[SMB_GUID_BYTES];
    unsigned char guid[SMB_GUID_BYTES];
    uint32_t timeout_ms;
    struct smb_open *guid_chain; /* hash chain of handles with a GUID; under the table's lock */

    /* While parked; under the same lock. */
    bool parked;
    struct smb_open *park_previous, *park_next;
    int64_t expires_ms; /* monotonic */
    char *partition;    /* of the share; on the heap */
    size_t partition_n;
    char account[ACCOUNT_NAME_MAX + 1];
    struct account_proof proof; /* the key of the session that owned it */
};

/* The durable-handle contexts of a CREATE. */
struct smb_durable_wish {
    bool first, second;                 /* DHnQ, DH2Q */
    bool returns_first, returns_second; /* DHnC, DH2C: all other fields of the CREATE are ignored */
    uint64_t persistent;                /* the handle of a reconnect */
    bool wants_persistent;              /* DH2Q, DH2C: a handle that survives a restart */
    unsigned char guid[SMB_GUID_BYTES];
    uint32_t timeout_ms;
};
/* A status. */
uint32_t smb_durable_read(struct smb_create *c);

/* Handles a CREATE with a known GUID: a replay is answered like the first CREATE, or told to
 * retry while that one is under way; anything else is an error. False if the GUID is unknown or
 * absent. */
bool smb_durable_replay(struct smb_create *c);
/* A CREATE with a GUID begins: from now on the GUID finds c->open. */
void smb_durable_reserve(struct smb_create *c);
/* Reconnects to a handle; ends the CREATE. */
void smb_durable_reconnect(struct smb_create *c);
/* Called before CREATE is answered: makes the handle durable if the client asked for it and the
 * granted cache allows it. May be called again. */
void smb_durable_grant(struct smb_create *c);
/* The client owns the handle now: its CREATE can be answered again. */
void smb_durable_settle(struct smb_open *o);
/* Parks a handle that has survived a restart. */
void smb_durable_restore(struct smb_open *o);
/* Writes the DHnQ or DH2Q context of the answer. */
void smb_durable_put(const struct smb_open *o, struct buf *out);

/* Called when the handle's connection was cut: parks the handle. False: it must be closed. */
bool smb_durable_park(struct smb_open *o);
/* Called when accounts have changed: closes handles whose key no longer belongs to the account. On
 * the first loop's thread. */
void smb_durable_look(struct smb_server *s);
/* Unparks it for this thread. False: another thread did. */
bool smb_durable_unpark(struct smb_open *o, struct loop *loop);
/* The handle was closed. */
void smb_durable_forget(struct smb_open *o);
/* Called when another gateway has the open files: forgets all parked handles. On the first loop's
 * thread. */
void smb_durable_abandon(struct smb_server *s);
/* Called when the server stops: closes all parked handles. The rows of persistent ones stay. */
void smb_durable_end(struct smb_server *s);
bool smb_durable_ending(struct smb_server *s);

#endif
