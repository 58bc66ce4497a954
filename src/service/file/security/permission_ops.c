/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/security/permission_ops.h"

#include <assert.h>

#include "service/file/share.h"

struct err file_create_permission(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct permission_args *args = arg;
    struct share s;
    TRY(share_load(t, &s));
    return permission_put(t, s.incarnation, args->sd, &args->key);
}

struct err file_get_permission(struct txn *t, void *arg)
{
    struct permission_args *args = arg;
    struct share s;
    struct str sd;
    TRY(share_load(t, &s));
    TRY(permission_get(t, s.incarnation, &args->key, &sd));
    args->sd = arena_copy(args->arena, sd);
    return OK;
}
