/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/hot.h"

#include <stdlib.h>

#include "core/mem.h"

void hot_init(struct hot_rows *h, uint64_t commit)
{
    atomic_init(&h->announced, commit);
    for (size_t i = 0; i < HOT_LOCKS; i++)
        pthread_mutex_init(&h->locks[i], NULL);
}

void hot_release(struct hot_rows *h)
{
    for (size_t i = 0; i < HOT_SLOTS; i++) {
        if (h->slots[i].row != NULL)
            hot_row_put(h->slots[i].row);
    }
    for (size_t i = 0; i < HOT_LOCKS; i++)
        pthread_mutex_destroy(&h->locks[i]);
}

static uint64_t mix(uint64_t a)
{
    a *= 0x9E3779B97F4A7C15ULL;
    return a ^ a >> 32;
}

/* Eight bytes at a time. It chooses a slot, no more: whoever makes keys collide makes them miss. */
uint64_t hot_hash(struct str key)
{
    uint64_t hash = key.n + 1;
    uint64_t word;
    size_t at = 0;
    for (; at + sizeof word <= key.n; at += sizeof word) {
        memcpy(&word, key.p + at, sizeof word);
        hash = mix(hash ^ word);
    }
    word = 0;
    if (at < key.n)
        memcpy(&word, key.p + at, key.n - at);
    hash = mix(hash ^ word);
    return hash == 0 ? 1 : hash;
}

static struct hot_slot *hot_slot(struct hot_rows *h, uint64_t hash)
{
    return &h->slots[hash & (HOT_SLOTS - 1)];
}

static pthread_mutex_t *hot_lock(struct hot_rows *h, uint64_t hash)
{
    return &h->locks[hash & (HOT_LOCKS - 1)];
}

void hot_row_put(struct hot_row *row)
{
    if (atomic_fetch_sub_explicit(&row->refs, 1, memory_order_acq_rel) == 1)
        free(row);
}

struct hot_row *hot_find(struct hot_rows *h, struct str key, uint64_t hash, uint64_t commit)
{
    struct hot_slot *slot = hot_slot(h, hash);
    if (atomic_load_explicit(&slot->hash, memory_order_relaxed) != hash)
        return NULL;
    pthread_mutex_lock(hot_lock(h, hash));
    struct hot_row *row = slot->row;
    if (row != NULL && row->hash == hash && row->since <= commit &&
        str_eq(key, (struct str){row->bytes, row->key_n}))
        atomic_fetch_add_explicit(&row->refs, 1, memory_order_relaxed);
    else
        row = NULL;
    pthread_mutex_unlock(hot_lock(h, hash));
    return row;
}

static struct hot_row *hot_row_new(struct str key, uint64_t hash, struct str value, uint64_t commit)
{
    struct hot_row *row = mem_alloc(sizeof *row + key.n + value.n);
    atomic_init(&row->refs, 1);
    row->hash = hash;
    row->since = commit;
    row->key_n = (uint32_t)key.n;
    row->value_n = (uint32_t)value.n;
    row->absent = !str_given(value);
    memcpy(row->bytes, key.p, key.n);
    if (value.n > 0)
        memcpy(row->bytes + key.n, value.p, value.n);
    return row;
}

void hot_offer(struct hot_rows *h, struct str key, uint64_t hash, struct str value, uint64_t commit)
{
    if (key.n + value.n > HOT_ROW_BYTES_MAX || atomic_load(&h->announced) != commit)
        return;
    struct hot_row *row = hot_row_new(key, hash, value, commit);
    struct hot_slot *slot = hot_slot(h, hash);
    pthread_mutex_lock(hot_lock(h, hash));
    /* Under the lock: a commit announced after this look has its hot_forget still to come. */
    if (atomic_load(&h->announced) == commit) {
        struct hot_row *old = slot->row;
        slot->row = row;
        atomic_store_explicit(&slot->hash, hash, memory_order_relaxed);
        row = old;
    }
    pthread_mutex_unlock(hot_lock(h, hash));
    if (row != NULL)
        hot_row_put(row);
}

void hot_announce(struct hot_rows *h, uint64_t commit)
{
    atomic_store(&h->announced, commit);
}

void hot_forget(struct hot_rows *h, struct str key)
{
    uint64_t hash = hot_hash(key);
    struct hot_slot *slot = hot_slot(h, hash);
    /* Without the lock only as a hint would be wrong: a reader may be storing this very row. */
    pthread_mutex_lock(hot_lock(h, hash));
    struct hot_row *row = slot->row;
    if (row != NULL && row->hash == hash && str_eq(key, (struct str){row->bytes, row->key_n})) {
        slot->row = NULL;
        atomic_store_explicit(&slot->hash, 0, memory_order_relaxed);
    } else {
        row = NULL;
    }
    pthread_mutex_unlock(hot_lock(h, hash));
    if (row != NULL)
        hot_row_put(row);
}
