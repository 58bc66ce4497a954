/* SPDX-License-Identifier: Apache-2.0 */
/* How an operation from outside SMB passes the open-file table (opens.h).
 *
 * A write claims its file inside its transaction function, at the same moment as the table's check,
 * and releases the claim after the commit. Let P1 be the check and P2 > P1 the commit. An SMB open
 * registers first and reads the rows after that. If it registered before P1, the check saw it. If
 * it comes between P1 and the end of the claim, then either the two share the file and their order
 * does not matter, or it has to wait until the claim ends, hence past P2, and the rows that it then
 * reads show the write's outcome (the file changed, leased or gone). If it comes later, it sees the
 * outcome as well. So no SMB client ever holds a file while a write that its share mode excludes
 * becomes visible. A function that runs again releases the claim of its earlier run.
 *
 * A read has no commit: its view is one instant, and the check must hold for that instant. If
 * nothing is open in the whole table, and nothing was opened or closed since before the view (the
 * table's epoch is the same), there was nothing to check. Otherwise the file that the view has
 * found is claimed, and the view runs once more under the claim. */
#ifndef SERVICE_FILE_OPENS_PASS_H
#define SERVICE_FILE_OPENS_PASS_H

#include "service/file/opens/change.h"
#include "service/file/opens/opens.h"

enum { FILE_CLAIMS_MAX = 3, FILE_READ_TRIES = 8 };

struct file_pass {
    struct opens *opens;         /* NULL: there is no table to pass */
    struct file_changes changes; /* of a write; reported by file_pass_committed */
    /* done is the front end's: it is called once when `waiting` was set, on any thread. */
    struct opens_wait wait;
    void *front;  /* the front end's data, for done */
    bool waiting; /* out: SMB clients must give up caches first; run again after `done` */
    bool owed;    /* the table has the wait, and `done` was not handled yet: set here, reset by the
                     front end in `done`. Until then the wait cannot be queued again, nor may the
                     operation end. */
    struct opens_key refused; /* out: the file that could not be claimed; share 0: none */
    /* Reads. */
    struct opens_key key; /* the file that the view has found; share 0: none to check */
    enum opens_rest op;
    struct opens_key claimed;
    uint64_t epoch;
    unsigned tries;
    /* The claims that are held. */
    struct opens_handle *claims[FILE_CLAIMS_MAX];
    size_t claim_count;
};

/* How long a request with its own timeout waits for SMB clients: min(timeout, 30 s). */
int64_t file_pass_patience_ms(uint64_t timeout_seconds);

/* At the beginning of every run of a write's transaction function. */
void file_pass_begin(struct file_pass *pass, struct arena *arena);
/* In a write's transaction function. ERR_CLIENT_CACHE_FLUSH_DELAY with `waiting` set: the
 * transaction must end with it. Otherwise the errors of opens_claim. */
struct err file_pass_claim(struct file_pass *pass, const struct opens_rest_request *request);
/* Right after a write's commit, on the engine's thread, so that watchers are notified in the order
 * of commits. */
void file_pass_committed(struct file_pass *pass);
/* Cancels the wait. False: done was called, or is about to be. */
bool file_pass_take_back(struct file_pass *pass);
/* Call when the operation is over, with any outcome; claims nothing, ends no wait. */
void file_pass_end(struct file_pass *pass);

/* Before every run of a read's view. */
void file_pass_read_begin(struct file_pass *pass);
/* After a view that ended with `error`. True: the operation is over, with *error. False: `waiting`
 * is set, or run the view again at once. */
bool file_pass_read_end(struct file_pass *pass, struct err *error);

#endif
