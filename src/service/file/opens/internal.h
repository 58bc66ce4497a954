/* SPDX-License-Identifier: Apache-2.0 */
/* The table's internals, for opens*.c only. */
#ifndef SERVICE_FILE_OPENS_INTERNAL_H
#define SERVICE_FILE_OPENS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/buf.h"
#include "service/file/opens/opens.h"

/* A cache granted to a client: of one lease key, or of one handle with an oplock. */
struct opens_lease {
    struct opens_lease *next;  /* list of the file */
    struct opens_lease *chain; /* list of the bucket; leases only */
    struct opens_file *file;
    unsigned char key[OPENS_LEASE_KEY_BYTES];
    bool oplock; /* of one handle; breaks to R or none, never to RH */
    unsigned state;
    bool counts;
    uint16_t epoch;
    bool breaking;
    unsigned break_to; /* the state that was sent to the client */
    unsigned wanted;   /* the state needed by now: a further break follows the answer */
    unsigned holders;  /* handles */
};

struct opens_range {
    struct opens_range *next; /* list of the file */
    struct opens_handle *handle;
    uint64_t offset, length;
    bool exclusive;
};

struct opens_handle {
    struct opens_file *file;
    struct opens_handle *previous, *next;         /* list of the file, or of its claims */
    struct opens_handle *all_previous, *all_next; /* list of SMB handles by id */
    uint64_t id;
    bool claim;
    unsigned access, sharing;
    uint32_t access_mask;
    bool directory;
    bool delete_on_close;
    bool closing;      /* force_close was requested */
    bool persistent;   /* not closed in favour of others while its client is disconnected */
    bool disconnected; /* its client is disconnected */
    struct opens_lease *lease;
    const struct opens_owner *calls;
    void *owner;
    uint64_t tag;
    uint64_t session;
    char *client;
    size_t client_n;
    char *client_name;
    size_t client_name_n;
    int64_t opened_ticks, reconnected_ticks;
};

struct opens_file {
    struct opens_file *chain; /* of the bucket */
    struct opens_key key;
    uint64_t parent;
    char *path;
    size_t path_n;
    struct opens_handle *handles; /* SMB */
    size_t handle_count;
    struct opens_handle *claims; /* REST */
    struct opens_lease *leases;
    struct opens_range *ranges;
    size_t range_count;
    struct opens_wait *waits;
    bool delete_pending;
    bool removing;
};

struct opens {
    pthread_mutex_t lock;
    struct opens_file **buckets;
    size_t bucket_count;
    size_t file_count;
    struct opens_lease **lease_buckets; /* by key; a key belongs to one file */
    size_t lease_bucket_count;
    size_t lease_count;
    struct opens_handle *first, *last; /* SMB handles by id */
    size_t handle_count;
    uint64_t last_id;
    /* Read without the lock: the number of SMB handles and files being removed, and a counter
     * that changes when one is added or removed. */
    atomic_size_t busy;
    atomic_uint_fast64_t epoch;
    struct watches *watches;
};

/* A callback to make after unlocking. */
struct opens_break {
    const struct opens_owner *calls;
    void *owner;
    bool close; /* force_close instead */
    struct opens_notice notice;
};
struct opens_news {
    struct opens_wait *woken;
    struct buf breaks; /* of struct opens_break, on the heap */
};

void opens_enter(struct opens *t, struct opens_news *news);
/* Counts a handle, or a file being removed, that was added or is gone. */
void opens_count_busy(struct opens *t, bool come);
/* Unlocks, then calls back. */
void opens_leave(struct opens *t, struct opens_news *news);

struct opens_file *opens_find(struct opens *t, struct opens_key key);
/* Finds or makes. */
struct opens_file *opens_file(struct opens *t, struct opens_key key);
/* Frees the file if nothing refers to it. */
void opens_file_tidy(struct opens *t, struct opens_file *f);
void opens_wake_all(struct opens_file *f, struct opens_news *news);
void opens_queue_wait(struct opens_file *f, struct opens_wait *wait, bool for_claims);
void opens_add_break(struct opens_news *news, const struct opens_break *b);
/* Asks the handle's owner once to close it. */
void opens_ask_close(struct opens_handle *h, struct opens_news *news);
void opens_link_handle(struct opens_handle **list, struct opens_handle *h);
void opens_unlink_handle(struct opens_handle **list, struct opens_handle *h);
/* Adds a handle to the file, without its lease. */
struct opens_handle *opens_add_handle(struct opens *t, struct opens_file *f,
                                      const struct opens_request *request);

/* ---- check.c: whether an open or a claim may go on now ---- */

struct opens_wish {
    unsigned access;
    unsigned sharing;
    const struct opens_lease *own; /* the request's own lease, which never conflicts with it */
    bool looks;                    /* attributes only: breaks no oplock and no lease */
    bool looks_at_rights;          /* also the security descriptor: breaks no lease */
    bool empties;                  /* makes what others have read stale */
    bool no_handles;               /* REST delete: any handle conflicts */
    bool rest;
    bool again;     /* it has waited before */
    unsigned cache; /* requested: no hidden write may happen while it is granted */
};
/* ERR_SHARING_VIOLATION; ERR_HANDLE_UNAVAILABLE; ERR_OTHERS_FIRST: breaks were put into news, or
 * *for_claims is set. */
struct err opens_conflict(struct opens_file *f, const struct opens_wish *wish,
                          struct opens_news *news, bool *for_claims);
/* A handle for attributes only takes no part in sharing. */
bool opens_only_looks(uint32_t access_mask, unsigned access);

/* ---- lease.c ---- */

/* Asks the holders of a lease to reduce it to `to`. */
void opens_break_lease(struct opens_file *f, struct opens_lease *lease, unsigned to,
                       struct opens_news *news);
struct opens_lease *opens_find_lease(const struct opens *t, const unsigned char *key);
/* For a new handle: grants what is possible, to the existing lease or a new one. NULL: nothing. */
struct opens_lease *opens_take_lease(struct opens *t, struct opens_file *f,
                                     const struct opens_request *request, struct opens_lease *own);
/* Makes an empty lease without holders. */
struct opens_lease *opens_new_lease(struct opens *t, struct opens_file *f,
                                    const struct opens_request *request);
void opens_drop_lease(struct opens *t, struct opens_lease *lease);
/* Treats a break that will not be answered as answered. */
void opens_end_break(struct opens_lease *lease, struct opens_news *news);
/* True for the handle's own cache, which its own operations do not break. */
bool opens_is_own_cache(const struct opens_lease *lease, const struct opens_handle *h);
/* Asks the holders to close. */
void opens_close_holders(const struct opens_lease *lease, struct opens_news *news);
/* True if all holders' clients are disconnected. */
bool opens_lease_is_away(const struct opens_lease *lease);

/* ---- lock.c ---- */

void opens_add_range(struct opens_file *f, struct opens_handle *h, const struct opens_lock *lock);

#endif
