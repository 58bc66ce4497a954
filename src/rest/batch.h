/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of the table and the blob service. Each part is a separate call, made from the request in
 * it, and its answer is a response inside the batch's. */
#ifndef REST_BATCH_H
#define REST_BATCH_H

#include "rest/call.h"
#include "rest/multipart.h"

struct batch_part {
    struct rest_call call;
    struct http_exchange exchange;
    struct multipart_request request;
    struct str content_id; /* absent if the client did not number it */
};

/* Makes a call from a part's text, in the outer call's arena; it has the outer call's credentials
 * and version until others are set. False if the text is not a request. */
bool batch_part_read(const struct rest_call *outer, struct str text, struct batch_part **out);
/* An empty part, to answer for a batch that is refused as a whole. */
struct batch_part *batch_part_blank(const struct rest_call *outer);
/* Finds the part's resource and row: see rest_match_part. ERR_INVALID_INPUT for a malformed
 * address. */
struct err batch_part_match(struct batch_part *part);

/* Answers the part with this error. */
void batch_part_fail(struct batch_part *part, struct err error);
/* Answers the part with its operation's result. */
struct err batch_part_encode(struct batch_part *part);

/* Where the answer has the part's number: the blob service writes it to the part's headers, the
 * table service to those of the response inside. */
enum batch_id_position { BATCH_ID_OUTSIDE, BATCH_ID_INSIDE };
void batch_put_part(struct buf *out, const struct batch_part *part, struct str delimiter,
                    enum batch_id_position position);

/* "--kind_GUID". */
struct str batch_delimiter(struct arena *a, const char *kind);
/* 202, and the Content-Type that names the delimiter. */
void batch_put_head(struct rest_call *call, struct str delimiter);

#endif
