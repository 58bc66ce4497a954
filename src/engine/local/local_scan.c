/* SPDX-License-Identifier: Apache-2.0 */
/* Scans over many partitions. Views only, so there is nothing to merge with. */
#include "engine/local/local_internal.h"

struct local_scan {
    struct scan base;
    struct str first; /* its bounds */
    struct str past;
    struct walk walk;
    struct buf at;        /* where a seek goes */
    struct buf partition; /* see rowkey_divide */
    struct buf large;     /* the value, when it lies in the journal */
    struct local_txn *txn;
};

static struct local_scan *local_scan_of(struct scan *s)
{
    return (struct local_scan *)(void *)s;
}

static struct err scan_stand(struct local_scan *s)
{
    struct str key;
    s->base.valid = false;
    TRY(walk_key(&s->walk, &key));
    if (!str_given(key))
        return OK;
    if (!rowkey_divide(key, &s->partition, &s->base.partition, &s->base.key))
        return err_new(ERR_CORRUPT);
    TRY(value_load(&s->txn->engine->journal, walk_value(&s->walk), s->txn->wait, &s->large,
                   &s->base.value));
    s->base.valid = true;
    return OK;
}

static struct err local_scan_seek(struct scan *scan, struct str partition, struct str key)
{
    struct local_scan *s = local_scan_of(scan);
    buf_clear(&s->at);
    rowkey_put_partition(&s->at, partition);
    buf_put(&s->at, key);
    struct str at = buf_str(&s->at);
    if (str_cmp(at, s->first) < 0)
        at = s->first;
    walk_seek(&s->walk, at);
    return scan_stand(s);
}

static struct err local_scan_next(struct scan *scan)
{
    struct local_scan *s = local_scan_of(scan);
    walk_next(&s->walk);
    return scan_stand(s);
}

/* Also what ends one left open: closing twice does no harm. */
static void release_scan(void *scan)
{
    walk_release(&((struct local_scan *)scan)->walk);
}

static void local_scan_close(struct scan *scan)
{
    release_scan(local_scan_of(scan));
}

static const struct scan_ops LOCAL_SCAN_OPS = {
    .seek = local_scan_seek,
    .next = local_scan_next,
    .close = local_scan_close,
};

struct err local_scan_open(struct txn *txn, struct str prefix, struct scan **out)
{
    struct local_txn *t = (struct local_txn *)(void *)txn;
    struct local_scan *s = ARENA_NEW(&t->arena, struct local_scan);
    struct buf first = buf_in(&t->arena);
    rowkey_put_prefix(&first, prefix);
    s->base.ops = &LOCAL_SCAN_OPS;
    s->first = buf_str(&first);
    char *past = arena_bytes(&t->arena, s->first.n);
    memcpy(past, s->first.p, s->first.n);
    s->past = (struct str){past, rowkey_past_prefix(past, s->first.n)};
    s->at = buf_in(&t->arena);
    s->partition = buf_in(&t->arena);
    s->large = buf_in(&t->arena);
    s->txn = t;
    walk_init(&s->walk, t->state, t->wait, s->first, s->past);
    local_hold(t, release_scan, s);
    *out = &s->base;
    return OK;
}
