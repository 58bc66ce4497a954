/* SPDX-License-Identifier: Apache-2.0 */
/* How a command does what may take time, all of it through run/run.h: transactions and disk work
 * leave the loop, and the command goes on with `then` on its connection's thread, in the same turn
 * when nothing had to wait. What they work on lies in the request's arena. `then` ends in
 * smb_complete or begins the next step, also when the connection has been cut meanwhile: what was
 * registered has to be undone. */
#ifndef SMB_DRIVE_H
#define SMB_DRIVE_H

#include "smb/conn.h"

typedef void smb_then(struct smb_request *request, struct err outcome);

/* A view of the tree's share; moves to the pool when it would wait for the disk. */
void smb_view(struct smb_request *q, engine_fn *fn, void *args, smb_then *then);
/* The same for any partition, for a request without a tree. */
void smb_view_of(struct smb_request *q, struct str partition, engine_fn *fn, void *args,
                 smb_then *then);
/* The same, always in the pool: for long views. */
void smb_view_in_pool(struct smb_request *q, engine_fn *fn, void *args, smb_then *then);
/* An update of the tree's share. ENGINE_VISIBLE unless the client asked for more. */
void smb_update(struct smb_request *q, engine_fn *fn, void *args, enum engine_ack ack,
                smb_then *then);
/* The same of any partition, for a request that has no tree yet. */
void smb_update_of(struct smb_request *q, struct str partition, engine_fn *fn, void *args,
                   smb_then *then);
/* Everything written before, by anyone, is durable when `then` is called. */
void smb_flush_store(struct smb_request *q, smb_then *then);
/* Work in the pool; it touches nothing but the request's arena and q->work. */
void smb_in_pool(struct smb_request *q, struct err (*work)(struct smb_request *q), smb_then *then);
/* The same in another pool than the request's. */
void smb_in_pool_of(struct smb_request *q, struct pool *pool,
                    struct err (*work)(struct smb_request *q), smb_then *then);

/* A wait for someone else, which calls run_wake. */
struct smb_wait {
    int64_t patience_ms; /* 0: without end */
    bool quiet;          /* it is short: no interim answer, and no CANCEL */
    /* See struct run_wait. */
    bool (*take_back)(struct smb_request *q);
    void (*over)(struct smb_request *q); /* NULL only without an end */
};
/* `then` gets OK, or ERR_CLIENT_GONE after a CANCEL or with the end of the handle or connection.
 * Before it the client gets an interim answer, except in the middle of a compound, where it just
 * waits. */
void smb_wait_for(struct smb_request *q, const struct smb_wait *wait, smb_then *then);
/* In the middle of a compound no interim answer can be sent, so it cannot wait without a limit. */
bool smb_may_wait(const struct smb_request *q);

struct store *smb_store(const struct smb_request *q);
/* A read on the calling thread, of a partition whose open files are this gateway's. */
struct err smb_read_store(const struct smb_request *q, struct str partition, enum engine_wait wait,
                          engine_fn *fn, void *args);

#endif
