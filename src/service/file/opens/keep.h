/* SPDX-License-Identifier: Apache-2.0 */
/* SMB opens that are to survive the end of the process: what has to be written down of one, and how
 * it comes back. Until its client has come back too, such an open stands in the table as one whose
 * client is away: its sharing and its locks hold against everybody. */
#ifndef SERVICE_FILE_OPENS_KEEP_H
#define SERVICE_FILE_OPENS_KEEP_H

#include "core/arena.h"
#include "service/file/opens/opens.h"

struct opens_kept {
    struct opens_key key;
    unsigned access, sharing;
    uint32_t access_mask;
    bool delete_on_close;
    bool delete_pending; /* of the file, while this open is there */
    unsigned cache;      /* OPENS_CACHE_*: at most what the client has */
    bool lease;          /* the cache is a lease's, with the next three */
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

/* Who speaks for an open that comes back, and where its file is by now. */
struct opens_place {
    struct str path;
    uint64_t parent;
    const struct opens_owner *calls;
    void *owner;
    uint64_t tag;
};
/* Before anybody else opens: nothing is asked, for all of them stood side by side before. */
struct opens_handle *opens_restore(struct opens *t, const struct opens_kept *kept,
                                   const struct opens_place *place);
/* After the last: caches that were given up for an open that came later are not granted again. */
void opens_restored(struct opens *t);
/* Whether the file itself is to be deleted, as opens_kept has it: not by an open's end alone. */
bool opens_is_doomed(struct opens *t, struct opens_key key);
/* Whether any open that survives is on the file. */
bool opens_any_persistent(struct opens *t, struct opens_key key);

#endif
