/* SPDX-License-Identifier: Apache-2.0 */
/* The lease: a lock with an id and an end, on a blob, container, share or file. These are pure
 * functions over the lease in its object's row; times are ticks. All kinds share one state
 * machine with five states. They differ in the error codes of their refusals and in a few rules,
 * listed below.
 *
 * The states that time causes (Expired, Broken) are not stored: lease_state computes the state
 * at a given time. docs/protocol/facts.md §2.2 to §2.6; every cell of those tables has a test. */
#ifndef SERVICE_COMMON_LEASE_H
#define SERVICE_COMMON_LEASE_H

#include "core/buf.h"
#include "core/err.h"
#include "core/guid.h"
#include "core/wire.h"
#include "service/common/record.h"
#include "service/common/verdict.h"

enum lease_kind { LEASE_BLOB, LEASE_CONTAINER, LEASE_SHARE, LEASE_FILE };

enum lease_state {
    LEASE_AVAILABLE,
    LEASE_LEASED,
    LEASE_BREAKING,
    LEASE_BROKEN,
    LEASE_EXPIRED,
};

enum { LEASE_SECONDS_MIN = 15, LEASE_SECONDS_MAX = 60, LEASE_BREAK_SECONDS_MAX = 60 };
#define LEASE_INFINITE (-1)

/* All zero is Available. */
struct lease {
    enum lease_state state; /* as stored: AVAILABLE, LEASED or BREAKING */
    struct guid id;
    int seconds;  /* of a renewal; LEASE_INFINITE */
    int64_t ends; /* ticks: when it expires, or when its breaking ends; unused if infinite */
};

/* The lease id of a request. */
struct lease_id {
    bool given;
    struct guid id;
    struct verdict *verdict; /* filled in by a refusal; may be NULL */
};

enum lease_action { LEASE_ACQUIRE, LEASE_RENEW, LEASE_CHANGE, LEASE_RELEASE, LEASE_BREAK };

/* A lease operation, decoded. */
struct lease_request {
    enum lease_action action;
    struct guid id;          /* of renew, change, release */
    struct guid proposed;    /* of acquire and change; the front end generates one for an acquire
                              * without one, so that a repeated run has the same result */
    int seconds;             /* of acquire: 15 to 60, or LEASE_INFINITE */
    int break_seconds;       /* of break: 0 to 60, or -1 when not given */
    struct verdict *verdict; /* filled in by a refusal; NULL: not wanted */
};

/* Performs the action. A break sets *left_seconds to the whole seconds until the lease is
 * broken. A refusal (409 with the code of the cell) leaves the lease unchanged. */
struct err lease_apply(struct lease *l, const struct lease_request *request, int64_t now,
                       int *left_seconds);

/* Decides whether a write may proceed: the id is required while leased or breaking, and
 * forbidden otherwise. 412 with the kind's code. */
struct err lease_check_write(const struct lease *l, enum lease_kind kind,
                             const struct lease_id *given, int64_t now);
/* Decides whether a read may proceed: without an id always, with an id only if it is that of the
 * active lease. Also for operations with an optional id (Snapshot Blob, a container's
 * properties). */
struct err lease_check_read(const struct lease *l, enum lease_kind kind,
                            const struct lease_id *given, int64_t now);
/* For an object that does not exist: refuses any id. */
struct err lease_check_absent(enum lease_kind kind, const struct lease_id *given);
/* After a write to a blob or file: a lease that has ended becomes Available and loses its id, so
 * that its holder can no longer renew it. */
void lease_after_write(struct lease *l, int64_t now);

enum lease_state lease_state(const struct lease *l, int64_t now);
bool lease_locked(enum lease_state state);
/* The texts of x-ms-lease-state, -status and -duration; the last is absent unless leased. */
struct str lease_state_text(enum lease_state state);
struct str lease_status_text(enum lease_state state);
struct str lease_duration_text(const struct lease *l, int64_t now);

/* For rows, which omit an available lease. */
extern const struct record_codec LEASE_CODEC;

#endif
