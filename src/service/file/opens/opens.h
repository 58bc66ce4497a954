/* SPDX-License-Identifier: Apache-2.0 */
/* The open-file table: every open of every file and directory, by either front end, in one place.
 *
 * SMB handles stay in it until they are closed. A REST operation is in it as a claim for as long as
 * it runs. A claim has the access and the sharing that docs/protocol/smb.md assigns to the
 * operation, but it never makes anybody else fail: an SMB open that conflicts only with claims
 * waits for them. So one function decides for both front ends whether a request may proceed
 * (opens_conflict in check.c), and the answer cannot change between the check and the commit of the
 * following transaction: any operation that would change it must wait for the claim.
 *
 * The table is in memory, guarded by one lock, and calls nothing while it holds the lock.
 * Notifications (a break, the end of a wait) are callbacks made after unlocking. They may run on
 * any thread, so they only pass the news to the right one. */
#ifndef SERVICE_FILE_OPENS_OPENS_H
#define SERVICE_FILE_OPENS_OPENS_H

#include "core/err.h"
#include "core/str.h"

/* The kinds of access that sharing considers; also the bits of a share mode. */
enum opens_access { OPENS_READ = 1, OPENS_WRITE = 2, OPENS_DELETE = 4, OPENS_ALL = 7 };

/* A client's cache: lease states and oplocks in one notation. Level II is R, exclusive is RW, batch
 * is RWH. */
enum opens_cache { OPENS_CACHE_NONE = 0, OPENS_CACHE_R = 1, OPENS_CACHE_H = 2, OPENS_CACHE_W = 4 };

enum {
    OPENS_PER_FILE_MAX = 2000,
    OPENS_MAX = 1 << 20,
    OPENS_LOCKS_PER_FILE_MAX = 65536,
    OPENS_LEASE_KEY_BYTES = 32, /* the client's id and the key that it chose */
    OPENS_WAIT_MS = 30000,      /* how long a client has to give up its cache */
    OPENS_SMB_BREAK_MS = 35000,
};

/* Which file: the share's incarnation and the node in it. */
struct opens_key {
    uint64_t share;
    uint64_t node;
};

struct opens;        /* the table */
struct opens_handle; /* one SMB open, or one REST claim */

struct opens *opens_new(void);
void opens_free(struct opens *t);
/* The directory watches (watch.h) have the table's lifetime. */
struct watches;
struct watches *opens_watches(const struct opens *t);

/* ---- SMB opens ---- */

/* A break: a cache that must be given up. */
struct opens_notice {
    uint64_t tag; /* of a handle that has it */
    unsigned from, to;
    bool ack_needed; /* answer with opens_cache_ack; otherwise it is already gone */
    bool lease;
    uint16_t epoch; /* of the lease, changed by this break */
    unsigned char lease_key[OPENS_LEASE_KEY_BYTES];
};

/* Callbacks from the table to a front end. Called on any thread, without the lock. The handle may
 * have been closed meanwhile, or opens_open may not have returned yet, so the handle is identified
 * by its owner's tag. `owner` must outlive the table: it is the front end itself, not a connection.
 * Do not call the table inside; pass the news to the right thread. */
struct opens_owner {
    void (*break_cache)(void *owner, const struct opens_notice *notice);
    /* An operator or a REST client closes the handle, or somebody needs the file and the
     * handle's client is disconnected. The owner must call opens_close soon. */
    void (*force_close)(void *owner, uint64_t tag);
};

struct opens_request {
    struct opens_key key;
    struct str path; /* from the share's root, for handle listings; kept by copy */
    uint64_t parent; /* the directory's node, for the same */
    bool directory;
    unsigned access;      /* OPENS_* */
    unsigned sharing;     /* OPENS_* that others may have */
    uint32_t access_mask; /* the protocol's own; for listings, and to recognise opens of
                           * attributes only */
    bool delete_on_close;
    bool overwrites;  /* the disposition truncates: others lose their read caches, too */
    bool rest_leased; /* the node has an active REST lease: no write or delete */
    bool read_only;   /* the node's attribute: no write */
    unsigned cache;   /* OPENS_CACHE_* requested */
    bool lease;       /* the cache belongs to lease_key, shared by all opens with it */
    unsigned char lease_key[OPENS_LEASE_KEY_BYTES];
    uint16_t lease_epoch; /* the client's, where the lease is new */
    bool lease_counts;    /* the lease has epochs; the first open decides */
    bool persistent;      /* not closed by others while its client is disconnected */
    const struct opens_owner *calls;
    void *owner;
    uint64_t tag; /* the owner's own name for the handle */
    uint64_t session;
    struct str client;      /* address, for listings; kept by copy */
    struct str client_name; /* the name that it gave, the same */
    int64_t now_ticks;
};

/* A wait for others: for claims to end, or for caches to be given up. Embedded in the caller's
 * object. The table calls `done` once, with OK (try again) or with the error that decided. The
 * caller sets its own timer and calls opens_wait_over when it fires: that takes the remaining
 * caches by force, as SMB requires, or ends the wait for REST. */
struct opens_wait {
    void (*done)(struct opens_wait *w);
    struct opens_wait *next;
    struct opens_key key;
    bool queued;
    bool for_claims; /* new claims let this one go first */
    bool again;      /* it has waited before */
};

/* Tries to open. OK: *out is the handle, and *granted its cache state. ERR_OTHERS_FIRST: `wait`
 * is queued; call again when its done is called. ERR_SHARING_VIOLATION, ERR_SMB_DELETE_PENDING,
 * ERR_READ_ONLY_ATTRIBUTE, ERR_SERVER_BUSY (limits), ERR_HANDLE_UNAVAILABLE (a disconnected
 * persistent handle holds it), ERR_INVALID_INPUT (the lease key belongs to another file). A new
 * wait is zero except for `done`. */
struct err opens_open(struct opens *t, const struct opens_request *request, struct opens_wait *wait,
                      struct opens_handle **out, unsigned *granted);

/* Closes an SMB handle with its locks and cache. *remove is set if the file must be deleted now
 * (delete-on-close or disposition, and no other handle is left): the caller removes the node and
 * then calls opens_removed. Until then the file stays delete-pending for everybody. */
void opens_close(struct opens *t, struct opens_handle *h, bool *remove);
void opens_removed(struct opens *t, struct opens_key key);

/* Sets or clears the delete-pending flag through a handle. ERR_AUTHORIZATION_FAILURE if the
 * handle has no delete access. */
struct err opens_set_delete(struct opens *t, struct opens_handle *h, bool pending);
bool opens_delete_pending(struct opens *t, struct opens_key key);
struct opens_key opens_key_of(const struct opens_handle *h);
/* Never used for another handle. */
uint64_t opens_id_of(const struct opens_handle *h);
unsigned opens_access_of(const struct opens_handle *h);
/* Tells the table the file's new path and directory after a rename. */
void opens_set_path(struct opens *t, struct opens_key key, uint64_t parent, struct str path);
/* Marks the client of a durable handle as disconnected. Its cache is kept until somebody needs
 * the file; then the handle is closed through force_close (a persistent one is not). False if it
 * cannot stay: it caches no handle (and is not persistent), or a break of its cache is
 * unanswered. */
bool opens_disconnect(struct opens *t, struct opens_handle *h);
/* Its client has reconnected, over this session. False if it is being closed or was not
 * disconnected. */
struct opens_return {
    uint64_t session;
    struct str client, client_name;
    int64_t now_ticks;
};
bool opens_reconnect(struct opens *t, struct opens_handle *h, const struct opens_return *back);
/* True if anything below the path (not the path itself) is open in the share. */
bool opens_any_below(struct opens *t, uint64_t share, struct str path);
bool opens_any_in_share(struct opens *t, uint64_t share);
size_t opens_count(struct opens *t, struct opens_key key);

/* ---- caches ---- */

/* The answer to a break: the state that the client keeps. Wakes waiting requests; a further
 * break follows if more is needed by now. ERR_INVALID_INPUT if there was no break,
 * ERR_RESOURCE_TYPE_MISMATCH if it keeps more than allowed. */
struct err opens_cache_ack(struct opens *t, struct opens_handle *h, unsigned keeps);
/* The same by lease key. ERR_RESOURCE_NOT_FOUND if there is no such lease. */
struct err opens_lease_ack(struct opens *t, const unsigned char key[OPENS_LEASE_KEY_BYTES],
                           unsigned keeps);
unsigned opens_cache_of(struct opens *t, struct opens_handle *h);
struct opens_cache_info {
    unsigned state;
    bool breaking;
    bool counts; /* epochs */
    uint16_t epoch;
};
struct opens_cache_info opens_cache_info(struct opens *t, struct opens_handle *h);
/* Breaks other clients' caches because of I/O through h (a write breaks all, a read breaks W).
 * Does not wait. */
void opens_io(struct opens *t, struct opens_handle *h, bool write);
/* Before a rename: handles that others keep open only for caching must be closed.
 * ERR_OTHERS_FIRST: the wait is queued; call again when done is called. */
struct err opens_break_handles(struct opens *t, struct opens_handle *h, struct opens_wait *wait);
/* Call when the timer for `wait` fires: takes the remaining caches by force; done is called. */
void opens_wait_over(struct opens *t, struct opens_wait *wait);
/* Call when a break with this epoch, sent through this handle, was not answered in time, even if no
 * request waits for it: takes the cache. */
void opens_break_over(struct opens *t, struct opens_handle *h, uint16_t epoch);
/* Removes the wait from the queue without calling done. False if done was or is being called. */
bool opens_wait_cancel(struct opens *t, struct opens_wait *wait);

/* ---- byte-range locks ---- */

struct opens_lock {
    uint64_t offset;
    uint64_t length;
    bool exclusive;
};

/* Locks a range for the handle. ERR_FILE_LOCK_CONFLICT; ERR_OTHERS_FIRST if it is queued: try
 * again when done is called. It waits for running REST operations, which end by themselves, and,
 * if the client wants to wait (`patient`), for others' locks. */
struct err opens_lock(struct opens *t, struct opens_handle *h, const struct opens_lock *lock,
                      bool patient, struct opens_wait *wait);
/* Unlocks exactly a range that was locked. ERR_RESOURCE_NOT_FOUND. */
struct err opens_unlock(struct opens *t, struct opens_handle *h, uint64_t offset, uint64_t length);
/* Checks whether the handle may read or write there. ERR_FILE_LOCK_CONFLICT. */
struct err opens_lock_check(struct opens *t, struct opens_handle *h, uint64_t offset,
                            uint64_t length, bool write);

/* ---- REST ---- */

/* The operations that consult the table, named as in docs/protocol/smb.md. */
enum opens_rest {
    OPENS_REST_LIST,           /* listings, handles: nothing is checked */
    OPENS_REST_GET_PROPERTIES, /* and metadata */
    OPENS_REST_GET,            /* Get File, List Ranges */
    OPENS_REST_WRITE,          /* Put Range, Set Properties, Set Metadata */
    OPENS_REST_CREATE,         /* Create File over an existing one, Copy onto it */
    OPENS_REST_DELETE,
    OPENS_REST_LEASE,  /* acquire */
    OPENS_REST_RENAME, /* source or replaced target */
};

/* Claims the file for one REST operation, or fails: ERR_SHARING_VIOLATION,
 * ERR_SMB_DELETE_PENDING, ERR_FILE_LOCK_CONFLICT, ERR_READ_ONLY_ATTRIBUTE. ERR_OTHERS_FIRST: SMB
 * clients were asked to give up caches; call again when wait's done is called. If the caller's
 * time is over first, it cancels the wait and answers ERR_CLIENT_CACHE_FLUSH_DELAY. */
struct opens_rest_request {
    struct opens_key key;
    enum opens_rest op;
    bool read_only; /* the node's attribute */
};
struct err opens_claim(struct opens *t, const struct opens_rest_request *request,
                       struct opens_wait *wait, struct opens_handle **out);
/* Call after the transaction. NULL is allowed. */
void opens_unclaim(struct opens *t, struct opens_handle *claim);

/* For reads, which have no commit that ends a claim (pass.h): a counter that changes with every
 * SMB handle opened or closed; and whether there was none since it was read. Takes no lock. */
uint64_t opens_epoch(struct opens *t);
bool opens_quiet_since(struct opens *t, uint64_t epoch);

/* Totals, for metrics. */
struct opens_usage {
    size_t handles;      /* of SMB clients */
    size_t disconnected; /* those whose clients are disconnected */
    size_t locks;        /* byte ranges */
    size_t files;
};
struct opens_usage opens_usage(struct opens *t);

/* ---- listing and closing ---- */

enum { OPENS_INFO_LOCKS = 8 };
struct opens_info {
    uint64_t id; /* grows with every open */
    struct opens_key key;
    uint64_t parent;
    struct str path;
    struct str client, client_name;
    uint64_t session;
    int64_t opened_ticks;
    int64_t reconnected_ticks; /* 0: never */
    uint32_t access_mask;
    bool directory;
    unsigned access, sharing;                  /* OPENS_* */
    unsigned cache;                            /* OPENS_CACHE_* */
    bool disconnected;                         /* its client is away */
    bool delete_pending;                       /* the file is deleted with its last handle */
    size_t lock_count;                         /* ranges that the handle has locked */
    struct opens_lock locks[OPENS_INFO_LOCKS]; /* the first of them */
};

/* Selects SMB handles of the share with id > after, in order of id: on the file with that node
 * or, if recursive, on everything at or below the path. visit runs under the table's lock: it
 * copies and returns; false stops. */
struct opens_select {
    uint64_t share;
    bool all; /* every handle of the share */
    uint64_t node;
    struct str path;
    bool recursive;
    uint64_t after;
};
void opens_list(struct opens *t, const struct opens_select *select,
                bool (*visit)(void *arg, const struct opens_info *info), void *arg);
/* Asks the owners of the selected handles (id 0: all) to close, at most `max`; returns how many.
 * *next is the id to continue after, or 0 if there are no more. */
size_t opens_force_close(struct opens *t, const struct opens_select *select, uint64_t id,
                         size_t max, uint64_t *next);
/* The same for every handle: the files are about to be replaced. */
void opens_force_close_all(struct opens *t);

#endif
