/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that move items. One thread hands out work in order. Exclusive work waits for all work
 * before it, and later work waits for it. The progress without gaps is known at any time, so an
 * interrupted transfer continues from there. */
#ifndef TRANSFER_CREW_H
#define TRANSFER_CREW_H

#include "transfer/source.h"
#include "transfer/target.h"

enum { CREW_MAX = 64, CREW_DEFAULT = 8, CREW_TRIES_MAX = 4, CREW_FAILURES_SHOWN_MAX = 100 };

struct crew_counts {
    uint64_t done[ITEM_KINDS];
    uint64_t bytes;
    uint64_t gone; /* at the source, meanwhile */
    uint64_t failed;
    uint64_t versions;             /* skipped, because the target does not store them */
    char fatal[REMOTE_TEXT_BYTES]; /* why everything ended */
};

struct crew;

struct crew_options {
    struct remote *source; /* NULL: the work has whole items */
    struct remote *target;
    unsigned threads;
    /* A failure that concerns one item: "blob a/b: why". Called by one thread at a time. */
    void (*failed)(void *arg, struct str line);
    /* All work up to and including this position is done. Called on the same thread. */
    void (*reached)(void *arg, const struct position *position, uint64_t number);
    void *arg;
};

struct crew *crew_new(const struct crew_options *options);
/* Hands out work: an entry of the source, or an item, which must have been read into `arena`; the
 * crew owns the arena from then on. Waits while all threads are busy. Returns the error that ended
 * the transfer, if any: the target or the source is unreachable. */
struct crew_work {
    const struct entry *entry; /* NULL: it is an item */
    const struct item *item;
    const struct position *position;
    uint64_t number; /* by which `reached` names it */
};
struct err crew_give(struct crew *crew, const struct crew_work *work, struct arena *arena);
/* Waits for all work and ends the threads. The detail of an error is stored in *out. */
struct err crew_end(struct crew *crew, struct crew_counts *out);
void crew_look(struct crew *crew, struct crew_counts *out);

#endif
