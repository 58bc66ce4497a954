/* SPDX-License-Identifier: Apache-2.0 */
/* SMB opens that survive the end of the process: the stored state of each, and how it is restored.
 * Until its client has reconnected, such an open is in the table as disconnected: its sharing and
 * its locks are in force for all others. */
#ifndef SERVICE_FILE_OPENS_KEEP_H
#define SERVICE_FILE_OPENS_KEEP_H

#include "core/arena.h"
#include "service/file/opens/opens.h"

struct opens_kept {
    struct opens_key key;
    unsigned access, sharing;
    uint32_t access_mask;
    bool delete_on_close;
    bool delete_pending; /* of the file, while this open exists */
    unsigned cache;      /* OPENS_CACHE_*: at most what the client holds */
    bool lease;          /* the cache is a lease, with the next three fields */
    unsigned char lease_key[OPENS_LEASE_KEY_BYTES];
    uint16_t lease_epoch;
    bool lease_counts;
    uint64_t session;
    struct str client, client_name;
    int64_t opened_ticks;
    struct opens_lock *locks;
    size_t lock_count;
};

/* All in the arena. */
void opens_keep(struct opens *t, struct opens_handle *h, struct arena *a, struct opens_kept *out);

/* The owner of a restored open, and where its file is now. */
struct opens_reclaim_as {
    struct str path;
    uint64_t parent;
    const struct opens_owner *calls;
    void *owner;
    uint64_t tag;
    bool persistent; /* not closed in favour of others while its client is disconnected */
};
/* Restores an open before anybody else opens. No conflict is checked, because they all coexisted
 * before. */
struct opens_handle *opens_restore(struct opens *t, const struct opens_kept *kept,
                                   const struct opens_reclaim_as *given);
/* Call after the last one: caches that were given up for a later open are not granted again. */
void opens_restored(struct opens *t);
/* True if the file itself is to be deleted, not only at the end of one open. */
bool opens_is_doomed(struct opens *t, struct opens_key key);
/* True if an open that survives a restart is on the file. */
bool opens_any_persistent(struct opens *t, struct opens_key key);

#endif
