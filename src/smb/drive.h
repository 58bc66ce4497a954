/* SPDX-License-Identifier: Apache-2.0 */
/* Slow steps of a command, all run through run/run.h: transactions and disk work leave the loop,
 * and the command continues in `then` on its connection's thread, in the same turn when nothing had
 * to wait. Their arguments are in the request's arena. `then` calls smb_complete or begins the next
 * step, even if the connection has been cut meanwhile, so that registrations are undone. */
#ifndef SMB_DRIVE_H
#define SMB_DRIVE_H

#include "smb/transport/conn.h"

typedef void smb_then(struct smb_request *request, struct err outcome);

/* Runs a view of the tree's share; in the pool if it would wait for the disk. */
void smb_view(struct smb_request *q, engine_fn *fn, void *args, smb_then *then);
/* The same for any partition, for a request without a tree. */
void smb_view_of(struct smb_request *q, struct str partition, engine_fn *fn, void *args,
                 smb_then *then);
/* The same, always in the pool: for long views. */
void smb_view_in_pool(struct smb_request *q, engine_fn *fn, void *args, smb_then *then);
/* Runs an update of the tree's share. ENGINE_VISIBLE unless the client asked for more. */
void smb_update(struct smb_request *q, engine_fn *fn, void *args, enum engine_ack ack,
                smb_then *then);
/* The same for any partition, for a request that has no tree yet. */
void smb_update_of(struct smb_request *q, struct str partition, engine_fn *fn, void *args,
                   smb_then *then);
/* Makes all earlier writes, by any client, durable before `then` is called. */
void smb_flush_store(struct smb_request *q, smb_then *then);
/* Runs work in the pool; it may touch only the request's arena and q->work. */
void smb_in_pool(struct smb_request *q, struct err (*work)(struct smb_request *q), smb_then *then);
/* The same in a pool other than the request's. */
void smb_in_pool_of(struct smb_request *q, struct pool *pool,
                    struct err (*work)(struct smb_request *q), smb_then *then);

/* A wait until another party calls run_wake. */
struct smb_wait {
    int64_t patience_ms; /* 0: without end */
    bool quiet;          /* a short wait: no interim answer, no CANCEL */
    /* See struct run_wait. */
    bool (*take_back)(struct smb_request *q);
    void (*over)(struct smb_request *q); /* NULL only without an end */
};
/* `then` gets OK, or ERR_CLIENT_GONE after a CANCEL or when the handle or connection ends. The
 * client first gets an interim answer, except in the middle of a compound. */
void smb_wait_for(struct smb_request *q, const struct smb_wait *wait, smb_then *then);
/* False in the middle of a compound: no interim answer can be sent there, so the wait must have a
 * limit. */
bool smb_may_wait(const struct smb_request *q);

struct store *smb_store(const struct smb_request *q);
/* Reads on the calling thread, from a partition whose open files belong to this gateway. */
struct err smb_read_store(const struct smb_request *q, struct str partition, enum engine_wait wait,
                          engine_fn *fn, void *args);

#endif
