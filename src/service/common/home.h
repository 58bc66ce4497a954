/* SPDX-License-Identifier: Apache-2.0 */
/* Which gateway of a shared store holds what is kept in memory alone about some of its partitions:
 * the open-file table. One at a time is their home.
 *
 * A lease row names the home: an epoch that grows with every change, a count of heartbeats, and
 * the address of the gateway. The home raises the count every HOME_TURN_MS. A gateway that sees the
 * same count for HOME_LEASE_MS by its own monotonic clock takes the lease with the next epoch; no
 * two clocks are ever compared. It does not count the time in which it waited for the store for
 * more than HOME_AWAY_MS, and begins anew after an error of it: then the home may not have been
 * able to raise the count either. The home
 * itself trusts its memory for HOME_VALID_MS after the beginning of its last heartbeat, which is
 * less: a gateway that was frozen finds its time over before it does anything else. Then it is in
 * doubt: it answers nothing from memory until a heartbeat tells whether the lease is still its own.
 *
 * That alone does not stop an update that was begun in time and commits late. So each partition
 * that has something in the table carries a mark with the home's epoch, and every transaction of
 * the partition reads the mark (home_check). A new home writes its epoch into all marks before it
 * serves anybody. From then on nothing of the old one can commit. So a transaction that finds the
 * mark is right even in doubt.
 *
 * A partition without a mark has nothing in anybody's table: all gateways serve it.
 *
 * A store that is not shared has no home (store->home is NULL), and pays nothing. */
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
    struct str hot;    /* a row that nearly every transaction there reads: fetched with the mark */
    const char *address; /* of this gateway, for the others; it need not outlive the call */
    struct str identity; /* of this process; the caller's, for is_dead */
    bool may_own;        /* it can be the home */
    int64_t (*mono_ms)(void *arg); /* NULL: clock_mono_ms */
    /* Whether the process of that identity has certainly ended: then nobody waits for its lease. */
    bool (*is_dead)(void *arg, struct str identity);
    /* On the thread that takes turns. */
    bool (*is_empty)(void *arg); /* whether nothing of an earlier time is left in memory */
    /* All marks are ours: restores what was written down. After an error it is asked to move out,
     * and in again later. */
    struct err (*move_in)(void *arg);
    void (*move_out)(void *arg); /* forgets all, changes nothing in the store */
    void (*moved)(void *arg);    /* the home is another, or nobody's */
    void *arg;
};

/* Makes the secret when there is none. The first turn is the caller's. */
struct err home_new(const struct home_options *options, struct home **out);
/* A thread that takes turns. */
struct err home_start(struct home *h);
/* Ends the thread, and gives the lease back, so that another gateway need not wait. */
void home_stop(struct home *h);
void home_free(struct home *h);
/* Renews the lease, or looks who has it and takes it when it is free. */
void home_turn(struct home *h);

enum home_location { HOME_UNKNOWN, HOME_HERE, HOME_THERE };
struct home_where {
    enum home_location location;
    uint64_t epoch;
    char address[HOME_ADDRESS_MAX]; /* there */
};
void home_where(struct home *h, struct home_where *out);
/* Whether what is in memory may be answered from now. A NULL home is here. */
bool home_holds(struct home *h);
/* Whether it is, as far as this gateway has heard: also while that is in doubt. */
bool home_is_ours(struct home *h);
const unsigned char *home_secret(const struct home *h);

/* ---- transactions ---- */

/* In a transaction of the partition. `strict`: it goes on from something in the table, so the mark
 * must be ours; else a partition without a mark will do. ERR_HOME_ELSEWHERE. A NULL home: OK. */
struct err home_check(struct home *h, struct txn *t, struct str partition, bool strict);
/* For an update: marks the partition as having something in the table. arg: the home. */
engine_fn home_mark;

/* A transaction function with the check before it. */
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
