/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/partition_walk.h"

#include <assert.h>

#include "engine/rowkey.h"

struct partition_seek {
    struct walk_source *source;
    const struct partition_walk *walk;
    struct buf prefix;    /* what all keys of the walk start with */
    struct buf at;        /* where the next seek goes */
    struct buf partition; /* the one found */
    struct buf row;       /* the key of its row */
};

static void seek_start(struct partition_seek *h)
{
    rowkey_put_prefix(&h->prefix, h->walk->prefix);
    if (str_given(h->walk->after))
        rowkey_put_past(&h->at, h->walk->after);
    if (str_cmp(buf_str(&h->at), buf_str(&h->prefix)) < 0) {
        buf_clear(&h->at);
        buf_put(&h->at, buf_str(&h->prefix));
    }
}

/* Visits the next partition. *more is false at the end. */
static struct err seek_next_partition(struct partition_seek *h, bool *more)
{
    struct str found;
    struct str key;
    *more = false;
    TRY(h->source->seek(h->source, buf_str(&h->at), &found));
    if (!str_given(found) || !str_starts(found, buf_str(&h->prefix)))
        return OK;
    buf_clear(&h->partition);
    if (!rowkey_split(found, &h->partition, &key))
        return err_new(ERR_CORRUPT);
    buf_clear(&h->at);
    rowkey_put_past(&h->at, buf_str(&h->partition));
    buf_clear(&h->row);
    rowkey_put_partition(&h->row, buf_str(&h->partition));
    buf_put(&h->row, h->walk->key);
    struct str value;
    TRY(h->source->get(h->source, buf_str(&h->row), &value));
    *more = !str_given(value) || h->walk->visit(buf_str(&h->partition), value, h->walk->arg);
    return OK;
}

struct err walk_partitions(struct walk_source *s, const struct partition_walk *walk)
{
    assert(walk->visit != NULL);
    struct arena arena;
    arena_init(&arena, TXN_ARENA_LIMIT);
    struct partition_seek h = {
        s, walk, buf_in(&arena), buf_in(&arena), buf_in(&arena), buf_in(&arena)};
    seek_start(&h);
    struct err e = OK;
    for (bool more = true; more && !err_is(e);)
        e = seek_next_partition(&h, &more);
    arena_release(&arena);
    return e;
}
