/* SPDX-License-Identifier: Apache-2.0 */
/* Inside rest/: parses and writes messages as XML. */
#ifndef REST_QUEUE_XML_H
#define REST_QUEUE_XML_H

#include "rest/call.h"
#include "service/queue/queue.h"

/* The text in the body <QueueMessage><MessageText>…</MessageText></QueueMessage>; in the call's
 * arena or its body. ERR_INVALID_XML_DOCUMENT if it is something else; ERR_MD5_MISMATCH;
 * ERR_REQUEST_BODY_TOO_LARGE if the text has more than 64 KiB in UTF-8. (The live service answers
 * 413 with MaxLimit for both the body and the text; the MessageTooLarge of the code list is not
 * seen.) */
struct err rest_queue_xml_message_text(struct rest_call *call, struct str *text);

enum { QUEUE_XML_MESSAGE_BYTES = 512 }; /* of a message without its text; an upper bound */
/* The elements of a message that an operation shows. */
enum queue_xml_view { QUEUE_XML_PUT, QUEUE_XML_GET, QUEUE_XML_PEEK };
/* The answer's body: a list of messages, which may be empty. */
void rest_queue_xml_put_list(struct rest_call *call, const struct queue_message *messages,
                             size_t count, enum queue_xml_view view);
/* As text: base64. */
void rest_queue_xml_put_receipt(struct buf *out, const struct queue_receipt *receipt);

#endif
