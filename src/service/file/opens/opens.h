/* SPDX-License-Identifier: Apache-2.0 */
/* The open-file table: every open of every file and directory, whoever made it, in one place.
 *
 * SMB handles stay in it until they are closed. A REST operation stands in it for as long as it
 * runs, as a claim: it has the access and the sharing that docs/protocol/smb.md gives it, but it
 * never makes anybody else fail; an SMB open that only claims are in the way of waits for them. So
 * "may this go on?" is asked of one function (see opens_conflict in opens_check.c) for both front
 * ends, and the answer cannot change between the check and the commit of the transaction that
 * follows: what would change it has to get past the claim first.
 *
 * The table is memory only, guarded by one lock, and calls nothing while it holds it. Whatever must
 * be told to somebody (a break, the end of a wait) is told through callbacks after the lock is
 * given up; they may run on any thread, so they only hand over. */
#ifndef SERVICE_FILE_OPENS_OPENS_H
#define SERVICE_FILE_OPENS_OPENS_H

#include "core/err.h"
#include "core/str.h"

/* Access, as far as sharing looks at it; also the bits of a share mode. */
enum opens_access { OPENS_READ = 1, OPENS_WRITE = 2, OPENS_DELETE = 4, OPENS_ALL = 7 };

/* What a client caches: lease states and oplocks in one notation. Level II is R, exclusive RW,
 * batch RWH. */
enum opens_cache { OPENS_CACHE_NONE = 0, OPENS_CACHE_R = 1, OPENS_CACHE_H = 2, OPENS_CACHE_W = 4 };

enum {
    OPENS_PER_FILE_MAX = 2000,
    OPENS_MAX = 1 << 20,
    OPENS_LOCKS_PER_FILE_MAX = 65536,
    OPENS_LEASE_KEY_BYTES = 32, /* the client's id and the key it chose */
    OPENS_WAIT_MS = 30000,      /* for a client to give up its cache */
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
/* Those who watch directories (watch.h) have the table's lifetime. */
struct watches;
struct watches *opens_watches(const struct opens *t);

/* ---- SMB opens ---- */

/* A cache that is to be given up. */
struct opens_notice {
    uint64_t tag; /* of a handle that has it */
    unsigned from, to;
    bool ack_needed; /* answer with opens_cache_ack; else it is gone already */
    bool lease;
    uint16_t epoch; /* of the lease, changed by this break */
    unsigned char lease_key[OPENS_LEASE_KEY_BYTES];
};

/* How the table speaks to a front end. Called on any thread, without the lock; the handle may have
 * been closed meanwhile, or opens_open may not even have returned yet, so it is named by the tag
 * that its owner gave it. `owner` has to outlive the table's use: it is the front end itself, not a
 * connection. No table call inside: hand over to the right thread. */
struct opens_owner {
    void (*break_cache)(void *owner, const struct opens_notice *notice);
    /* An operator or a REST client closes the handle, or somebody wants the file and the handle's
     * client is away: the owner is to call opens_close soon. */
    void (*force_close)(void *owner, uint64_t tag);
};

struct opens_request {
    struct opens_key key;
    struct str path; /* from the share's root, for handle listings; kept by copy */
    uint64_t parent; /* the directory's node, for the same */
    bool directory;
    unsigned access;      /* OPENS_* */
    unsigned sharing;     /* OPENS_* that others may have */
    uint32_t access_mask; /* the protocol's own: for listings, and to tell which opens only look */
    bool delete_on_close;
    bool overwrites;  /* the disposition truncates: others lose their read caches too */
    bool rest_leased; /* the node has an active REST lease: no write or delete */
    bool read_only;   /* the node's attribute: no write */
    unsigned cache;   /* OPENS_CACHE_* wished for */
    bool lease;       /* cache belongs to lease_key, shared by all opens with it */
    unsigned char lease_key[OPENS_LEASE_KEY_BYTES];
    uint16_t lease_epoch; /* the client's, where the lease is new */
    bool lease_counts;    /* it counts epochs: what the first open says holds for the lease */
    bool persistent;      /* nobody closes it while its client is away */
    const struct opens_owner *calls;
    void *owner;
    uint64_t tag; /* the owner's own name for the handle */
    uint64_t session;
    struct str client;      /* address, for listings; kept by copy */
    struct str client_name; /* what it calls itself, the same */
    int64_t now_ticks;
};

/* A wait for others: for claims to end, or for caches to be given up. Embedded in the caller's
 * object; the table calls `done` once, with OK (try again) or with the error that decided. The
 * caller sets its own timer and calls opens_wait_over when it fires: that breaks what is still held
 * by force, as SMB wants it, or, for REST, ends the wait. */
struct opens_wait {
    void (*done)(struct opens_wait *w);
    struct opens_wait *next;
    struct opens_key key;
    bool queued;
    bool for_claims; /* new claims let this one go first */
    bool again;      /* it has waited before */
};

/* Tries to open. OK: *out is the handle, and *granted the cache state it has. ERR_OTHERS_FIRST:
 * `wait` is queued and its done comes; call again then. ERR_SHARING_VIOLATION,
 * ERR_SMB_DELETE_PENDING, ERR_READ_ONLY_ATTRIBUTE, ERR_SERVER_BUSY (limits),
 * ERR_HANDLE_UNAVAILABLE (a persistent handle whose client is away has it), ERR_INVALID_INPUT (the
 * lease key is another file's). A wait is zero but for `done` when it is first used. */
struct err opens_open(struct opens *t, const struct opens_request *request, struct opens_wait *wait,
                      struct opens_handle **out, unsigned *granted);

/* Closes an SMB handle; its locks and cache go with it. *remove tells that the file is to be
 * deleted now (delete-on-close or disposition, and no other handle is left): the caller removes the
 * node and then calls opens_removed; until then the file stays delete-pending for all. */
void opens_close(struct opens *t, struct opens_handle *h, bool *remove);
void opens_removed(struct opens *t, struct opens_key key);

/* Sets or takes back the delete-pending flag through a handle. ERR_AUTHORIZATION_FAILURE when the
 * handle has no delete access. */
struct err opens_set_delete(struct opens *t, struct opens_handle *h, bool pending);
bool opens_delete_pending(struct opens *t, struct opens_key key);
struct opens_key opens_key_of(const struct opens_handle *h);
/* Never used for another handle. */
uint64_t opens_id_of(const struct opens_handle *h);
unsigned opens_access_of(const struct opens_handle *h);
/* The file has another path now (rename), in the directory `parent`. */
void opens_set_path(struct opens *t, struct opens_key key, uint64_t parent, struct str path);
/* The client of a durable handle is away; what it cached is kept until somebody wants it, and
 * then the handle is closed through force_close (a persistent one is not). False when it cannot
 * stay: it caches no handle (and is not persistent), or a break of its cache is not answered. */
bool opens_disconnect(struct opens *t, struct opens_handle *h);
/* Its client is back, over this session. False when it is being closed, or was not away. */
struct opens_return {
    uint64_t session;
    struct str client, client_name;
    int64_t now_ticks;
};
bool opens_reconnect(struct opens *t, struct opens_handle *h, const struct opens_return *back);
/* Whether anything below the path (not the path itself) is open in the share. */
bool opens_any_below(struct opens *t, uint64_t share, struct str path);
bool opens_any_in_share(struct opens *t, uint64_t share);
size_t opens_count(struct opens *t, struct opens_key key);

/* ---- caches ---- */

/* The answer to a break: the state that the client keeps. Wakes those who wait; a further break
 * follows when more is wanted by now. ERR_INVALID_INPUT when there was no break,
 * ERR_RESOURCE_TYPE_MISMATCH when it keeps more than it may. */
struct err opens_cache_ack(struct opens *t, struct opens_handle *h, unsigned keeps);
/* The same by lease key. ERR_RESOURCE_NOT_FOUND when there is no such lease. */
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
/* Breaks what other clients cache because of I/O through h (write: they lose all; read: W). Does
 * not wait. */
void opens_io(struct opens *t, struct opens_handle *h, bool write);
/* The file gets another name: handles that others keep open for caching alone are to be closed
 * first. ERR_OTHERS_FIRST: the wait is queued; call again when done came. */
struct err opens_break_handles(struct opens *t, struct opens_handle *h, struct opens_wait *wait);
/* The caller's timer for `wait` fired: caches that were asked for are taken by force; done comes.
 */
void opens_wait_over(struct opens *t, struct opens_wait *wait);
/* A break that was told of with this epoch, through this handle, was not answered in time, and
 * maybe nobody waits for it: what was cached is taken. */
void opens_break_over(struct opens *t, struct opens_handle *h, uint16_t epoch);
/* Takes the wait out of the queue without done. False when done was or is being called. */
bool opens_wait_cancel(struct opens *t, struct opens_wait *wait);

/* ---- byte-range locks ---- */

struct opens_lock {
    uint64_t offset;
    uint64_t length;
    bool exclusive;
};

/* Takes a range for the handle. ERR_FILE_LOCK_CONFLICT; ERR_OTHERS_FIRST when it is queued: try
 * again when done is called. It is for REST operations under way, which end by themselves, and,
 * where the client would wait (`patient`), for others' locks. */
struct err opens_lock(struct opens *t, struct opens_handle *h, const struct opens_lock *lock,
                      bool patient, struct opens_wait *wait);
/* Exactly a range that was taken. ERR_RESOURCE_NOT_FOUND. */
struct err opens_unlock(struct opens *t, struct opens_handle *h, uint64_t offset, uint64_t length);
/* May the handle read or write there? ERR_FILE_LOCK_CONFLICT. */
struct err opens_lock_check(struct opens *t, struct opens_handle *h, uint64_t offset,
                            uint64_t length, bool write);

/* ---- REST ---- */

/* The operations that look at the table, in docs/protocol/smb.md's words. */
enum opens_rest {
    OPENS_REST_LIST,           /* listing, handles: nothing is asked */
    OPENS_REST_GET_PROPERTIES, /* and metadata */
    OPENS_REST_GET,            /* Get File, List Ranges */
    OPENS_REST_WRITE,          /* Put Range, Set Properties, Set Metadata */
    OPENS_REST_CREATE,         /* Create File over an existing one, Copy onto it */
    OPENS_REST_DELETE,
    OPENS_REST_LEASE,  /* acquire */
    OPENS_REST_RENAME, /* source or replaced target */
};

/* Claims the file for one REST operation, or says why it cannot go on: ERR_SHARING_VIOLATION,
 * ERR_SMB_DELETE_PENDING, ERR_FILE_LOCK_CONFLICT, ERR_READ_ONLY_ATTRIBUTE. ERR_OTHERS_FIRST: SMB
 * clients are asked to give up caches, and wait's done comes; call again then. When the caller's
 * time is over first it cancels the wait and answers ERR_CLIENT_CACHE_FLUSH_DELAY. */
struct opens_rest_request {
    struct opens_key key;
    enum opens_rest op;
    bool read_only; /* the node's attribute */
};
struct err opens_claim(struct opens *t, const struct opens_rest_request *request,
                       struct opens_wait *wait, struct opens_handle **out);
/* After the transaction. NULL is fine. */
void opens_unclaim(struct opens *t, struct opens_handle *claim);

/* For reads, which have no commit to hold a claim until (pass.h). A number that changes with every
 * SMB handle that comes or goes; and whether none was there at any time since it was read. Without
 * the lock. */
uint64_t opens_epoch(struct opens *t);
bool opens_quiet_since(struct opens *t, uint64_t epoch);

/* How much is open in all, for metrics. */
struct opens_usage {
    size_t handles;      /* of SMB clients */
    size_t disconnected; /* those of them whose clients are away */
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
    bool delete_pending;                       /* the file is to go with its last handle */
    size_t lock_count;                         /* ranges that the handle has locked, */
    struct opens_lock locks[OPENS_INFO_LOCKS]; /* and the first of them */
};

/* Calls visit for SMB handles of the share with id > after, in order of id, on the file with that
 * node, or, when recursive, on everything at or below the path. Under the table's lock: visit
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
/* Asks the owners of the selected handles (id 0: all of them) to close, `max` at most; returns how
 * many. *next is the id to go on after, or 0 when there are no more. */
size_t opens_force_close(struct opens *t, const struct opens_select *select, uint64_t id,
                         size_t max, uint64_t *next);
/* The same of every handle there is: what they were opened on is about to be replaced. */
void opens_force_close_all(struct opens *t);

#endif
