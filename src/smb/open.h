/* SPDX-License-Identifier: Apache-2.0 */
/* The handles of clients: CREATE creates them and CLOSE closes them.
 *
 * A handle belongs to one tree of one session, and only that connection's thread touches it. The
 * server's table finds a handle by its id, also from other threads (breaks, forced closes), which
 * then post to the handle's thread. Every handle on a file or directory is registered in the
 * open-file table (service/file/opens/opens.h), which decides which opens are compatible. */
#ifndef SMB_OPEN_H
#define SMB_OPEN_H

#include <stdatomic.h>

#include "service/file/opens/opens.h"
#include "smb/cache.h"
#include "smb/commands/lock.h"
#include "smb/durable.h"
#include "smb/sequence.h"
#include "smb/transport/conn.h"

enum {
    SMB_OPENS_PER_SESSION = 16384,
    SMB_PATTERN_BYTES_MAX = 1024,
    SMB_MARKER_BYTES_MAX = 1024,
};

/* [MS-SMB2] 2.2.14.1. `fleeting` is the specification's Volatile. */
struct smb_file_id {
    uint64_t persistent;
    uint64_t fleeting;
};

/* The position of a directory listing: a name, not an index, so it costs the same in a large
 * directory and survives creations and deletions. */
struct smb_listing {
    bool begun;
    bool ended;
    bool found;    /* something matched: the end is NO_MORE_FILES, not NO_SUCH_FILE */
    unsigned dots; /* how many of . and .. were listed */
    char *pattern; /* case-folded; on the heap */
    size_t pattern_n;
    char *marker; /* the key where the listing continues; on the heap */
    size_t marker_n;
};

/* A pipe of IPC$: the answer that has not been read yet. */
struct smb_pipe {
    char *answer;
    size_t answer_n;
    size_t answer_read;
};

struct smb_open {
    struct smb_open *chain;           /* in the table's bucket */
    struct smb_open *previous, *next; /* of the tree */
    struct smb_file_id id;
    struct smb_server *server;
    struct loop *loop; /* its thread may touch the handle; under the table's lock */
    struct smb_session *session;
    struct smb_tree *tree;
    atomic_uint refs; /* the table, and requests that use it */
    bool closed;      /* only its last requests still hold a reference */
    bool listed;      /* in the tree's list: CREATE has succeeded */

    struct opens_handle *handle; /* NULL: a pipe, or a file in a snapshot */
    uint64_t incarnation, node;  /* which file (the share's incarnation and the node's id) */
    int64_t snapshot;            /* 0: the live share */
    bool directory;
    bool pipe;
    uint32_t access;  /* the granted mask */
    uint32_t sharing; /* as asked for */
    uint32_t options; /* CREATE's */
    uint32_t action;  /* CREATE's answer */
    bool times_kept;  /* the client has set the write time: writes do not change it */
    bool change_kept; /* the same for the change time */
    uint64_t position;
    size_t ea_position;  /* how many extended attributes QUERY_INFO has returned */
    uint64_t allocation; /* the allocation size that the client set; reported, not used */
    int64_t opened_at;   /* ticks */
    int64_t told_write_ms, told_read_ms; /* no report before these times (told.h) */

    /* Caches (cache.h). */
    uint8_t oplock;    /* the level in CREATE's answer */
    bool leased;       /* the cache is from a lease */
    bool lease_second; /* requested as a version 2 lease */
    unsigned char lease_key[SMB_LEASE_KEY_BYTES];
    bool has_deferred; /* a break arrived before CREATE's answer */
    struct opens_notice deferred;
    struct loop_timer break_timer; /* runs until the client answers the last break */
    uint16_t break_epoch;

    struct smb_durable durable;
    struct smb_sequence sequence;
    uint8_t lock_sequences[SMB_LOCK_SEQUENCES]; /* the sequence number + 1; 0: none */

    /* Of a directory: requests that wait for changes (notify.h). */
    struct watch *watch;
    struct notifying *notifies;
    unsigned notify_count;
    uint32_t notify_bytes;

    struct smb_listing listing;
    struct smb_pipe channel;
};

/* ---- the server's table ---- */

struct smb_opens;
struct smb_opens *smb_opens_new(struct smb_server *server);
void smb_opens_free(struct smb_opens *t);
/* The number of all handles, including parked ones. */
size_t smb_opens_count(struct smb_opens *t);

/* Makes a new handle with its ids: callbacks can find it, clients cannot yet. NULL if the session
 * has too many. The caller holds a reference. */
struct smb_open *smb_open_new(struct smb_request *q);
/* Makes a handle that has survived a restart, with the id that its client knows, on the first
 * loop. */
struct smb_open *smb_open_restore(struct smb_server *s, uint64_t persistent);
/* CREATE has succeeded: the handle now belongs to the tree. */
void smb_open_list(struct smb_open *o);
void smb_open_unlist(struct smb_open *o);
/* Removes the handle and closes it in the open-file table. *remove is set if it was the last handle
 * of a file marked for deletion; the caller then deletes the node (smb_remove_node) or passes that
 * on. */
void smb_open_close(struct smb_open *o, bool *remove);
/* The same, with the deletion, without waiting: for teardown, force-close and failed CREATEs. */
void smb_open_drop(struct smb_open *o);
/* Ends all waits through the handle. */
void smb_open_interrupt(struct smb_open *o);
void smb_open_get(struct smb_open *o);
void smb_open_put(struct smb_open *o);

/* Finds the handle that a request names and stores it in q->open; related requests of a compound
 * use the handle of the previous command. STATUS_FILE_CLOSED, or the error of the compound's
 * CREATE. */
uint32_t smb_open_find(struct smb_request *q, struct smb_file_id id);
/* A handle of the session, through any of its trees; NULL: none. Takes no reference. */
struct smb_open *smb_open_of_session(const struct smb_session *s, struct smb_file_id id);
struct smb_file_id smb_read_file_id(struct reader *r);
void smb_put_file_id(struct buf *b, struct smb_file_id id);

/* The open-file table. */
struct opens *smb_opens_table(const struct smb_request *q);

/* Closes all handles of a tree that ends. Durable ones are kept, unless the client ended the
 * tree. */
void smb_opens_end(struct smb_tree *t, bool keeps_durable);

/* From any thread: calls `fn` with a copy of `bytes` on the handle's thread, if the handle is still
 * open then. */
typedef void smb_open_fn(struct smb_open *o, const void *bytes);
void smb_open_post(struct smb_server *s, uint64_t fleeting, smb_open_fn *fn, struct str bytes);

/* The callbacks of the open-file table; their owner is the server. */
extern const struct opens_owner SMB_OPENS_OWNER;

#endif
