/* SPDX-License-Identifier: Apache-2.0 */
/* The queue operations, one row each. docs/protocol/facts.md §6, §3.8. */
#include "rest/policy_xml.h"
#include "rest/queue/rest.h"
#include "rest/service_properties.h"
#include "rest/user_delegation_key.h"
#include "service/queue/inspect.h"

// clang-format off
static const struct op ROWS[] = {
    /* the service */
    {.name = "SetQueueServiceProperties", OP_SET_SERVICE_PROPERTIES},
    {.name = "GetQueueServiceProperties", OP_GET_SERVICE_PROPERTIES},
    {.name = "GetQueueServiceStats", OP_GET_SERVICE_STATS},
    OP_ROW_USER_DELEGATION_KEY,
    {.name = "ListQueues", .methods = M_GET, .resource = R_SERVICE, .comp = "list",
     .account_sas = "l", .account_sas_type = 's',
     .mode = MODE_READ, .decode = rest_list_queues_decode, .run = queue_list, .encode = rest_list_queues_encode},

    /* queues */
    {.name = "CreateQueue", .methods = M_PUT, .resource = R_CONTAINER,
     .account_sas = "cw", .account_sas_type = 'c',
     .mode = MODE_WRITE, .decode = rest_create_queue_decode, .run = queue_create, .encode = rest_create_queue_encode},
    {.name = "DeleteQueue", .methods = M_DELETE, .resource = R_CONTAINER,
     .account_sas = "d", .account_sas_type = 'c',
     .mode = MODE_WRITE, .decode = rest_delete_queue_decode, .run = queue_delete, .encode = rest_queue_no_content},
    {.name = "GetQueueMetadata", .methods = M_GET | M_HEAD, .resource = R_CONTAINER, .comp = "metadata",
     .account_sas = "r", .account_sas_type = 'c', .service_sas = "r",
     .mode = MODE_READ, .decode = rest_get_queue_metadata_decode, .run = queue_get_metadata,
     .encode = rest_get_queue_metadata_encode},
    {.name = "SetQueueMetadata", .methods = M_PUT, .resource = R_CONTAINER, .comp = "metadata",
     .account_sas = "w", .account_sas_type = 'c',
     .mode = MODE_WRITE, .decode = rest_set_queue_metadata_decode, .run = queue_set_metadata,
     .encode = rest_queue_no_content},
    /* Neither kind of SAS permits the ACL. */
    {.name = "GetQueueACL", .methods = M_GET | M_HEAD, .resource = R_CONTAINER, .comp = "acl",
     .mode = MODE_READ, .decode = rest_get_queue_acl_decode, .run = queue_get_acl, .encode = rest_get_queue_acl_encode},
    {.name = "SetQueueACL", .methods = M_PUT, .resource = R_CONTAINER, .comp = "acl",
     .body = BODY_SMALL, .body_max = POLICY_BODY_MAX,
     .mode = MODE_WRITE, .decode = rest_set_queue_acl_decode, .run = queue_set_acl, .encode = rest_queue_no_content},

    /* messages */
    {.name = "PutMessage", .methods = M_POST, .resource = R_MESSAGES,
     .account_sas = "a", .account_sas_type = 'o', .service_sas = "a",
     .body = BODY_SMALL, .body_max = QUEUE_MESSAGE_BODY_MAX,
     .mode = MODE_WRITE, .decode = rest_put_message_decode, .run = queue_put_message,
     .encode = rest_put_message_encode},
    {.name = "PeekMessages", .methods = M_GET, .resource = R_MESSAGES, .query = "peekonly=true",
     .account_sas = "r", .account_sas_type = 'o', .service_sas = "r",
     .mode = MODE_READ, .decode = rest_peek_messages_decode, .run = queue_peek_messages,
     .encode = rest_peek_messages_encode},
    {.name = "ListMessages", .methods = M_GET, .resource = R_MESSAGES, .comp = "list",
     .account_sas = "r", .account_sas_type = 'o',
     .mode = MODE_READ, .decode = rest_list_messages_decode, .run = queue_inspect,
     .encode = rest_list_messages_encode},
    {.name = "GetMessages", .methods = M_GET, .resource = R_MESSAGES,
     .account_sas = "p", .account_sas_type = 'o', .service_sas = "p",
     .mode = MODE_START, .decode = rest_get_messages_decode, .start = rest_get_messages_start,
     .encode = rest_get_messages_encode},
    {.name = "ClearMessages", .methods = M_DELETE, .resource = R_MESSAGES,
     .account_sas = "d", .account_sas_type = 'o',
     .mode = MODE_WRITE, .decode = rest_queue_read_target, .run = queue_clear_messages, .encode = rest_queue_no_content},
    {.name = "UpdateMessage", .methods = M_PUT, .resource = R_MESSAGE,
     .account_sas = "u", .account_sas_type = 'o', .service_sas = "u",
     .body = BODY_SMALL, .body_max = QUEUE_MESSAGE_BODY_MAX,
     .mode = MODE_WRITE, .decode = rest_update_message_decode, .run = queue_update_message,
     .encode = rest_update_message_encode},
    {.name = "DeleteMessage", .methods = M_DELETE, .resource = R_MESSAGE,
     .account_sas = "p", .account_sas_type = 'o', .service_sas = "p",
     .mode = MODE_WRITE, .decode = rest_delete_message_decode, .run = queue_delete_message,
     .encode = rest_queue_no_content},
};
// clang-format on

const struct op_table OPS_QUEUE = {ROWS, sizeof ROWS / sizeof ROWS[0]};
