/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors over several partitions. Only views open them, so there are no own writes to merge. */
#include <assert.h>

#include "engine/local/local_internal.h"

struct local_scan {
    struct cursor base;
    struct str first; /* its bounds */
    struct str past;
    struct walk walk;
    struct buf at;        /* target of a seek */
    struct buf partition; /* see rowkey_divide */
    struct buf large;     /* the value, if it is in the journal */
    struct local_txn *txn;
};

static struct local_scan *local_scan_of(struct cursor *s)
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

static struct err local_scan_seek(struct cursor *scan, struct str partition, struct str key)
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

static struct err local_scan_next(struct cursor *scan)
{
    struct local_scan *s = local_scan_of(scan);
    walk_next(&s->walk);
    return scan_stand(s);
}

static void local_scan_close(struct cursor *scan)
{
    walk_release(&local_scan_of(scan)->walk);
}

static const struct cursor_ops LOCAL_SCAN_OPS = {
    .seek_across = local_scan_seek,
    .next = local_scan_next,
    .close = local_scan_close,
};

struct err local_scan_open(struct txn *txn, struct str prefix, struct cursor **out)
{
    assert(out != NULL);
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
    *out = &s->base;
    return OK;
}
