/* SPDX-License-Identifier: Apache-2.0 */
/* Inside rest/: decode and encode of the queue operations, as ops_queue.c names them. */
#ifndef REST_QUEUE_REST_H
#define REST_QUEUE_REST_H

#include "rest/call.h"

/* Azure's limit for a message's XML: 64 KiB of text at two bytes each, plus its elements. The live
 * service names this number as the MaxLimit of a refusal. */
enum { QUEUE_MESSAGE_BODY_MAX = 2 * (64 << 10) + 512 };

/* Checks the queue's name and sets call->partition. */
struct err rest_queue_read_target(struct rest_call *call);
/* The header of every response to a GET: a queue's content must not be cached. */
void rest_queue_put_uncached(struct rest_call *call);
/* 204, no body: the answer of most queue operations. */
struct err rest_queue_no_content(struct rest_call *call);

struct err rest_put_message_decode(struct rest_call *call);
struct err rest_put_message_encode(struct rest_call *call);
struct err rest_get_messages_decode(struct rest_call *call);
struct err rest_get_messages_start(struct rest_call *call);
struct err rest_get_messages_encode(struct rest_call *call);
struct err rest_peek_messages_decode(struct rest_call *call);
struct err rest_peek_messages_encode(struct rest_call *call);
/* Lists all messages, including invisible ones, with a marker for the next page: an operation of
 * this server only, for exports and copies, with the account's key only. */
struct err rest_list_messages_decode(struct rest_call *call);
struct err rest_list_messages_encode(struct rest_call *call);
struct err rest_update_message_decode(struct rest_call *call);
struct err rest_update_message_encode(struct rest_call *call);
struct err rest_delete_message_decode(struct rest_call *call);
/* Clear Messages decodes only its target: rest_queue_read_target. */

struct err rest_create_queue_decode(struct rest_call *call);
struct err rest_create_queue_encode(struct rest_call *call);
struct err rest_delete_queue_decode(struct rest_call *call);
struct err rest_get_queue_metadata_decode(struct rest_call *call);
struct err rest_get_queue_metadata_encode(struct rest_call *call);
struct err rest_set_queue_metadata_decode(struct rest_call *call);
struct err rest_get_queue_acl_decode(struct rest_call *call);
struct err rest_get_queue_acl_encode(struct rest_call *call);
struct err rest_set_queue_acl_decode(struct rest_call *call);
struct err rest_list_queues_decode(struct rest_call *call);
struct err rest_list_queues_encode(struct rest_call *call);

#endif
