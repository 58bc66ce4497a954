/* SPDX-License-Identifier: Apache-2.0 */
/* Status lines and headers of responses: for http/, and for the responses inside a batch. */
#ifndef HTTP_MESSAGE_H
#define HTTP_MESSAGE_H

#include "core/buf.h"

/* "HTTP/1.1 200 OK\r\n". */
void http_put_status_line(struct buf *head, int status);

#endif
