/* SPDX-License-Identifier: Apache-2.0 */
/* Get Account Information. */
#include "rest/blob/ops.h"
#include "rest/server.h"

struct err rest_get_account_information_decode(struct rest_call *call)
{
    (void)call;
    return OK;
}

/* Constants of a current general-purpose account with a readable secondary endpoint, which this
 * server has. */
struct err rest_get_account_information_encode(struct rest_call *call)
{
    call_put(call, STR("x-ms-sku-name"), STR("Standard_RAGRS"));
    call_put(call, STR("x-ms-account-kind"), STR("StorageV2"));
    call_put_bool(call, STR("x-ms-is-hns-enabled"),
                  accounts_is_hierarchical(call->server->auth.accounts, call->account));
    return OK;
}
