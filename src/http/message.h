/* SPDX-License-Identifier: Apache-2.0 */
/* Inside http/: the words of a response. */
#ifndef HTTP_MESSAGE_H
#define HTTP_MESSAGE_H

#include "core/buf.h"

/* "HTTP/1.1 200 OK\r\n". */
void http_put_status_line(struct buf *head, int status);

#endif
