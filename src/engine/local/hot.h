/* SPDX-License-Identifier: Apache-2.0 */
/* A small cache of rows that nearly every request reads, kept in step with the commits: a row found
 * here is what the asking state holds, to the byte.
 *
 * Each row notes the commit since which it is known to be so. The committer, before it publishes a
 * commit, announces its number and then throws out every row it has changed; a reader offers a row
 * only while no newer commit is announced. So a row that is present has not changed from `since` to
 * the newest announced commit, and serves every state from `since` on. */
#ifndef ENGINE_LOCAL_HOT_H
#define ENGINE_LOCAL_HOT_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/str.h"

enum {
    HOT_SLOTS = 2048,         /* a power of two */
    HOT_LOCKS = 32,           /* likewise */
    HOT_ROW_BYTES_MAX = 2048, /* so the cache holds 4 MiB at most */
};

struct hot_row {
    atomic_uint refs;
    uint64_t hash;
    uint64_t since;
    uint32_t key_n;
    uint32_t value_n;
    bool absent; /* known not to be there */
    char bytes[];
};

struct hot_slot {
    _Atomic uint64_t hash; /* 0: empty. Read without the lock to pass by what is not here. */
    struct hot_row *row;
};

struct hot_rows {
    _Atomic uint64_t announced;
    pthread_mutex_t locks[HOT_LOCKS];
    struct hot_slot slots[HOT_SLOTS];
};

void hot_init(struct hot_rows *h, uint64_t commit);
void hot_release(struct hot_rows *h);

uint64_t hot_hash(struct str key);
/* With a reference, or NULL. */
struct hot_row *hot_find(struct hot_rows *h, struct str key, uint64_t hash, uint64_t commit);
/* Keeps a row that was read from the state of this commit; an absent value says that there is
 * none. */
void hot_offer(struct hot_rows *h, struct str key, uint64_t hash, struct str value,
               uint64_t commit);
void hot_row_put(struct hot_row *row);

static inline struct str hot_row_value(const struct hot_row *row)
{
    return row->absent ? STR_NONE : (struct str){row->bytes + row->key_n, row->value_n};
}

/* The committer: this commit is about to be published; then each key it has changed. */
void hot_announce(struct hot_rows *h, uint64_t commit);
void hot_forget(struct hot_rows *h, struct str key);

#endif
