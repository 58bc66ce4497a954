/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/inspect.h"

#include "service/common/dirtree.h"
#include "service/file/keys.h"
#include "service/file/node.h"
#include "service/file/share.h"

static bool add_share(struct str partition, struct str value, void *arg)
{
    struct file_inspect *in = arg;
    struct share share;
    if (in->share_count == FILE_INSPECT_SHARES_MAX) {
        in->cut = true;
        return false;
    }
    if (!err_is(share_decode(value, &share)) && share.incarnation != 0)
        in->shares[in->share_count++] = (struct file_share_seen){
            .name = arena_copy(in->arena, file_partition_share(partition)),
            .incarnation = share.incarnation,
            .lease = share.lease,
        };
    return true;
}

/* Under the table's lock: copies. */
static bool add_open(void *arg, const struct opens_info *info)
{
    struct file_inspect *in = arg;
    if (in->open_count == FILE_INSPECT_OPENS_MAX) {
        in->cut = true;
        return false;
    }
    struct file_open_seen *seen = &in->opens[in->open_count++];
    seen->info = *info;
    seen->info.path = arena_copy(in->arena, info->path);
    seen->info.client = arena_copy(in->arena, info->client);
    seen->info.client_name = arena_copy(in->arena, info->client_name);
    return true;
}

struct err file_inspect(struct store *store, struct file_inspect *in)
{
    struct str prefix = file_partition(in->arena, in->account, STR(""));
    in->shares = ARENA_ARRAY(in->arena, struct file_share_seen, FILE_INSPECT_SHARES_MAX);
    in->opens = ARENA_ARRAY(in->arena, struct file_open_seen, FILE_INSPECT_OPENS_MAX);
    in->share_count = in->open_count = 0;
    in->cut = false;
    TRY(engine_partitions(store->engine, prefix, STR_NONE, FILE_KEY_SHARE, add_share, in));
    for (size_t i = 0; i < in->share_count; i++) {
        size_t before = in->open_count;
        struct opens_select select = {.share = in->shares[i].incarnation, .all = true};
        opens_list(store->opens, &select, add_open, in);
        for (size_t j = before; j < in->open_count; j++)
            in->opens[j].share = in->shares[i].name;
    }
    return OK;
}

/* ---- leases of files ---- */

struct share_walk {
    struct file_lease_inspect *in;
    const struct file_share_seen *share;
    size_t count, rows; /* when the share's walk began: a view may be run again */
};

static struct err see_entry(struct txn *t, struct share_walk *w, const struct dirtree *tree,
                            const struct cursor *c)
{
    struct file_lease_inspect *in = w->in;
    struct dirtree_entry entry;
    struct node node;
    struct str parent;
    if (!dirtree_read(tree, c->key, c->value, &entry) || entry.directory ||
        !node_decode(entry.data, &node) || !lease_locked(lease_state(&node.lease, txn_now(t))))
        return OK;
    struct file_lease_seen *seen = &in->leases[in->count];
    struct lease lease = node.lease;
    int64_t etag = node.etag;
    struct str name = arena_copy(in->arena, entry.name);
    TRY(dirtree_path(tree, entry.parent, txn_arena(t), &parent));
    seen->share = w->share->name;
    seen->path =
        parent.n == 0 ? name : arena_printf(in->arena, "%.*s/%.*s", STR_ARG(parent), STR_ARG(name));
    seen->lease = lease;
    seen->etag = etag;
    in->count++;
    return OK;
}

static struct err see_entries(struct txn *t, void *arg)
{
    struct share_walk *w = arg;
    struct file_lease_inspect *in = w->in;
    struct vrow_scope rows = {.txn = t, .at = VROW_LIVE, .history = FILE_HISTORY};
    struct dirtree tree = {.rows = &rows,
                           .children = file_key_kind(txn_arena(t), 'e', w->share->incarnation),
                           .parents = file_key_kind(txn_arena(t), 'i', w->share->incarnation)};
    struct cursor *c;
    struct err error = OK;
    in->count = w->count;
    in->rows = w->rows;
    TRY(cursor_open(t, tree.children, &c));
    while (!err_is(error) && c->valid && in->count < FILE_INSPECT_LEASES_MAX &&
           in->rows < FILE_INSPECT_ROWS) {
        in->rows++;
        error = see_entry(t, w, &tree, c);
        if (!err_is(error))
            error = cursor_next(c);
    }
    in->cut = c->valid;
    cursor_close(c);
    return error;
}

struct err file_inspect_leases(struct store *store, struct file_lease_inspect *in)
{
    in->leases = ARENA_ARRAY(in->arena, struct file_lease_seen, FILE_INSPECT_LEASES_MAX);
    in->count = in->rows = 0;
    in->cut = false;
    for (size_t i = 0; i < in->share_count && !in->cut; i++) {
        struct share_walk w = {
            .in = in, .share = &in->shares[i], .count = in->count, .rows = in->rows};
        struct str partition = file_partition(in->arena, in->account, in->shares[i].name);
        TRY(store_read(store, partition, ENGINE_WAIT, see_entries, &w));
    }
    return OK;
}
