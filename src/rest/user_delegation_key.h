/* SPDX-License-Identifier: Apache-2.0 */
/* Get User Delegation Key, the same for blobs, queues and files: each table includes
 * OP_ROW_USER_DELEGATION_KEY. */
#ifndef REST_USER_DELEGATION_KEY_H
#define REST_USER_DELEGATION_KEY_H

#include "rest/call.h"

struct err rest_get_user_delegation_key_decode(struct rest_call *call);
struct err rest_get_user_delegation_key_encode(struct rest_call *call);

#define OP_ROW_USER_DELEGATION_KEY                                                              \
    {                                                                                           \
        .name = "GetUserDelegationKey", .methods = M_POST, .resource = R_SERVICE,               \
        .restype = "service", .comp = "userdelegationkey", .conditions = COND_IGNORED,          \
        .body = BODY_SMALL, .body_max = 64 << 10, .mode = MODE_DIRECT, .version_min = 20181109, \
        .decode = rest_get_user_delegation_key_decode,                                          \
        .encode = rest_get_user_delegation_key_encode                                           \
    }

#endif
