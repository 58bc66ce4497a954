/* SPDX-License-Identifier: Apache-2.0 */
#include "lookup.h"

#include "service/blob/container.h"
#include "service/blob/keys.h"
#include "service/common/policy.h"
#include "service/file/keys.h"
#include "service/file/share.h"
#include "service/queue/queue.h"
#include "service/table/table.h"

/* Returns the encoded policies of a container, queue, table or share, in the arena; absent if there
 * are none. If it does not exist, returns the error of its service. */
static struct err queue_policies(struct store *store, const struct auth_container *wanted,
                                 struct arena *arena, struct str *encoded)
{
    struct queue_acl acl = {.arena = arena};
    struct str partition = queue_partition(arena, wanted->account, wanted->container);
    TRY(store_read(store, partition, ENGINE_WAIT, queue_get_acl, &acl));
    *encoded = acl.policies;
    return OK;
}

static struct err read_container(struct store *store, const struct auth_container *wanted,
                                 struct arena *arena, struct container *out)
{
    struct container_args args = {.request = {.arena = arena}};
    struct str partition = blob_partition(arena, wanted->account, wanted->container);
    TRY(store_read(store, partition, ENGINE_WAIT, blob_get_container, &args));
    *out = args.container;
    return OK;
}

static struct err container_policies(struct store *store, const struct auth_container *wanted,
                                     struct arena *arena, struct str *encoded)
{
    struct container container;
    TRY(read_container(store, wanted, arena, &container));
    *encoded = container.acl;
    return OK;
}

static struct err table_policies(struct store *store, const struct auth_container *wanted,
                                 struct arena *arena, struct str *encoded)
{
    struct table_get get = {.arena = arena, .name = wanted->container};
    struct str partition = tables_partition(arena, wanted->account);
    TRY(store_read(store, partition, ENGINE_WAIT, table_get_table_acl, &get));
    *encoded = get.table.acl;
    return OK;
}

static struct err share_policies(struct store *store, const struct auth_container *wanted,
                                 struct arena *arena, struct str *encoded)
{
    struct share_args args = {.arena = arena};
    struct str partition = file_partition(arena, wanted->account, wanted->container);
    TRY(store_read(store, partition, ENGINE_WAIT, file_get_share, &args));
    *encoded = args.share.acl;
    return OK;
}

typedef struct err policies_reader(struct store *store, const struct auth_container *wanted,
                                   struct arena *arena, struct str *encoded);

static policies_reader *const READERS[SERVICE_KIND_COUNT] = {
    [SERVICE_BLOB] = container_policies,
    [SERVICE_QUEUE] = queue_policies,
    [SERVICE_TABLE] = table_policies,
    [SERVICE_FILE] = share_policies,
};

static struct err stored_policy(struct store *store, const struct auth_container *wanted,
                                struct str id, struct arena *arena, struct auth_policy *out)
{
    struct str encoded = STR_NONE;
    struct policy policy;
    *out = (struct auth_policy){.found = false};
    if (READERS[wanted->service] == NULL)
        return OK;
    struct err error = READERS[wanted->service](store, wanted, arena, &encoded);
    if (err_is(error))
        return err_http_status(error.code) == 404 ? OK : error;
    if (policies_find(encoded, id, &policy))
        *out = (struct auth_policy){true, policy.start, policy.expiry, policy.permission};
    return OK;
}

/* Only containers can be public. */
static struct err public_access(struct store *store, const struct auth_container *wanted,
                                struct arena *arena, enum auth_public *out)
{
    struct container container;
    *out = AUTH_PUBLIC_NONE;
    if (wanted->service != SERVICE_BLOB || wanted->container.n == 0)
        return OK;
    struct err error = read_container(store, wanted, arena, &container);
    if (err_is(error))
        return err_http_status(error.code) == 404 ? OK : error;
    if (container.public_access == BLOB_PUBLIC_BLOB)
        *out = AUTH_PUBLIC_BLOB;
    else if (container.public_access == BLOB_PUBLIC_CONTAINER)
        *out = AUTH_PUBLIC_CONTAINER;
    return OK;
}

struct auth_lookup lookup_of_services(void)
{
    return (struct auth_lookup){.public_access = public_access, .stored_policy = stored_policy};
}
