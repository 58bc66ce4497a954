/* SPDX-License-Identifier: Apache-2.0 */
/* A response body made of a content's pieces: memory is sent directly, extents by sendfile, and the
 * pool fetches a part that is not in the page cache while the loop serves others. */
#ifndef REST_CONTENT_SOURCE_H
#define REST_CONTENT_SOURCE_H

#include "rest/call.h"
#include "service/common/content/content.h"

/* Sets the call's source. The pieces must live in the call's arena, and the call must have its
 * pin. */
void content_source_set(struct rest_call *call, const struct pieces *pieces);

/* For an answer that is longer than one list of pieces: `refill` runs in the pool after the whole
 * list was sent, and makes the next one in the arena in place of the last (empty: the end). So an
 * answer needs the memory of two lists, however long it is. The caller sets the content length. */
typedef struct err content_refill(void *arg, struct arena *a, struct pieces *next);
void content_source_refill(struct rest_call *call, content_refill *refill, void *arg);

#endif
