/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/inspect.h"

#include "service/blob/container.h"
#include "service/blob/head.h"
#include "service/blob/keys.h"
#include "service/common/name.h"

static bool is_full(const struct blob_inspect *in)
{
    return in->count == BLOB_INSPECT_MAX || in->rows >= BLOB_INSPECT_ROWS;
}

static void note(struct txn *t, struct blob_inspect *in, const struct blob_leased *found)
{
    if (!lease_locked(lease_state(&found->lease, txn_now(t))))
        return;
    in->leases[in->count] = *found;
    in->leases[in->count].container = arena_copy(in->arena, found->container);
    in->leases[in->count++].blob = arena_copy(in->arena, found->blob);
}

static struct err see_head(struct txn *t, struct blob_inspect *in, struct str container,
                           const struct cursor *s)
{
    struct blob_at at;
    struct str name;
    struct blob_head head;
    if (!blob_key_parse_head(s->key, &name, &at) || at.item != BLOB_BASE)
        return OK;
    TRY(blob_head_decode(s->value, &head));
    if (head.lease.state == LEASE_AVAILABLE || head.deleted != 0)
        return OK;
    struct str text = name_from_key(txn_arena(t), name);
    note(t, in,
         &(struct blob_leased){
             .container = container, .blob = text, .lease = head.lease, .etag = head.etag});
    return OK;
}

/* Scans the heads of the container, and leaves the scan after them. */
static struct err see_heads(struct txn *t, struct blob_inspect *in, struct str partition,
                            const struct container *container, struct cursor *s)
{
    struct str heads = blob_key_heads(txn_arena(t), container->incarnation, STR(""));
    TRY(cursor_seek_across(s, partition, heads));
    while (!is_full(in) && s->valid && str_eq(s->partition, partition) &&
           str_starts(s->key, heads)) {
        in->rows++;
        TRY(see_head(t, in, blob_partition_container(partition), s));
        TRY(cursor_next(s));
    }
    return OK;
}

static struct err see_container(struct txn *t, struct blob_inspect *in, struct str partition,
                                struct cursor *s)
{
    struct container container;
    bool live;
    TRY(cursor_seek_across(s, partition, BLOB_KEY_CONTAINER));
    if (!s->valid || !str_eq(s->partition, partition) || !str_eq(s->key, BLOB_KEY_CONTAINER))
        return OK;
    in->rows++;
    TRY(container_decode(arena_copy(txn_arena(t), s->value), &container, &live));
    if (!live)
        return OK;
    note(t, in,
         &(struct blob_leased){.container = blob_partition_container(partition),
                               .blob = STR_NONE,
                               .lease = container.lease,
                               .etag = container.etag});
    return is_full(in) ? OK : see_heads(t, in, partition, &container, s);
}

struct err blob_inspect_leases(struct txn *t, void *arg)
{
    struct blob_inspect *in = arg;
    struct str prefix = blob_partition(txn_arena(t), in->account, STR(""));
    struct cursor *s;
    in->leases = ARENA_ARRAY(in->arena, struct blob_leased, BLOB_INSPECT_MAX);
    in->count = in->rows = 0;
    TRY(cursor_open_across(t, prefix, prefix, STR(""), &s));
    struct err error = OK;
    while (!err_is(error) && s->valid && !is_full(in)) {
        struct str partition = arena_copy(txn_arena(t), s->partition);
        struct buf past = buf_in(txn_arena(t));
        error = see_container(t, in, partition, s);
        buf_put(&past, partition);
        buf_putc(&past, 0);
        if (!err_is(error))
            error = cursor_seek_across(s, buf_str(&past), STR(""));
    }
    in->cut = is_full(in);
    cursor_close(s);
    return error;
}
