/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/inspect.h"

#include "service/file/keys.h"
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
