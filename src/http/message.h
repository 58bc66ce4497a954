/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a response: for http/ itself, and for responses inside a batch's. */
#ifndef HTTP_MESSAGE_H
#define HTTP_MESSAGE_H

#include "core/buf.h"

/* "HTTP/1.1 200 OK\r\n". */
void http_put_status_line(struct buf *head, int status);

#endif
