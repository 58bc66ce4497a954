/* SPDX-License-Identifier: Apache-2.0 */
/* Which gateway of a shared store is the home of some partitions: it has their open-file table,
 * which exists only in memory. There is one home at a time.
 *
 * A lease row names the home: an epoch that grows with every change, a count of heartbeats, and the
 * address of the gateway. The home raises the count every HOME_TURN_MS. A gateway that sees the
 * same count for HOME_LEASE_MS by its monotonic clock takes the lease with the next epoch; clocks
 * of two machines are never compared. Time in which it waited for the store for more than
 * HOME_AWAY_MS does not count, and after an error of the store it starts again: the home may not
 * have been able to raise the count either. The home trusts its memory for HOME_VALID_MS after the
 * beginning of its last heartbeat, which is less: a gateway that was frozen finds its time over
 * before it does anything else. Then it is in doubt: it answers nothing from memory until a
 * heartbeat shows that it still has the lease.
 *
 * That alone does not stop an update that began in time and commits late. So each partition with
 * entries in the table has a mark with the home's epoch, and every transaction of the partition
 * reads the mark (home_check). A new home writes its epoch into all marks before it serves anybody.
 * After that, no transaction of the old home can commit. So a transaction that finds the mark is
 * right even in doubt.
 *
 * A partition without a mark has no entries in any table: all gateways serve it.
 *
 * A store that is not shared has no home (store->home is NULL), and no cost. */
#ifndef SERVICE_COMMON_HOME_H
#define SERVICE_COMMON_HOME_H

#include "service/common/store.h"

enum {
    HOME_TURN_MS = 1000,
    HOME_LEASE_MS = 9000,
    HOME_VALID_MS = 7000,
    HOME_AWAY_MS = 2000,
    HOME_ADDRESS_MAX = 64,
    HOME_SECRET_BYTES = 32,
};

struct home;

struct home_options {
    struct store *store;
    struct str lease;  /* the partition of the lease row and the secret */
    struct str prefix; /* of the partitions */
    struct str mark;   /* the key of the mark in each */
    struct str hot; /* a row that nearly every transaction there reads: prefetched with the mark */
    const char *address;           /* of this gateway, for the others; borrowed for the call */
    struct str identity;           /* of this process; the caller's, for is_dead */
    bool may_own;                  /* it can be the home */
    int64_t (*mono_ms)(void *arg); /* NULL: clock_mono_ms */
    /* Returns true if the process of that identity has certainly ended: then no gateway waits for
     * its lease to expire. */
    bool (*is_dead)(void *arg, struct str identity);
    /* On the thread that takes turns. */
    bool (*is_empty)(void *arg); /* true if nothing from earlier is left in memory */
    /* Called when all marks are ours: restores the saved state. After an error, move_out is called,
     * and move_in again later. */
    struct err (*move_in)(void *arg);
    void (*move_out)(void *arg); /* discards everything in memory; does not change the store */
    void (*moved)(void *arg);    /* the home is another gateway, or there is none */
    void *arg;
};

/* Creates the secret if there is none. The caller runs the first turn. */
struct err home_new(const struct home_options *options, struct home **out);
/* A thread that takes turns. */
struct err home_start(struct home *h);
/* Ends the thread, and releases the lease, so that another gateway need not wait. */
void home_stop(struct home *h);
void home_free(struct home *h);
/* Renews the lease, or reads it and takes it if it is free. */
void home_turn(struct home *h);

enum home_location { HOME_UNKNOWN, HOME_HERE, HOME_THERE };
struct home_where {
    enum home_location location;
    uint64_t epoch;
    char address[HOME_ADDRESS_MAX]; /* there */
};
void home_where(struct home *h, struct home_where *out);
/* Returns true if the gateway may answer from memory now. True for a NULL home. */
bool home_holds(struct home *h);
/* Returns true if this gateway is the home as far as it knows: also while in doubt. */
bool home_is_ours(struct home *h);
const unsigned char *home_secret(const struct home *h);

/* ---- transactions ---- */

/* In a transaction of the partition. `strict`: it depends on an entry of the table, so the mark
 * must be ours; else a missing mark is fine too. ERR_HOME_ELSEWHERE. A NULL home: OK. */
struct err home_check(struct home *h, struct txn *t, struct str partition, bool strict);
/* For an update: marks the partition as having something in the table. arg: the home. */
engine_fn home_mark;

/* A transaction function that runs after the check. */
struct home_guarded {
    struct home *home;
    struct str partition;
    engine_fn *fn;
    void *arg;
    bool strict;
};
engine_fn home_guard;
/* As store_read, with the check. */
struct err home_read(const struct home_guarded *guarded, struct store *store,
                     enum engine_wait wait);

#endif
