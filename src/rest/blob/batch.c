/* SPDX-License-Identifier: Apache-2.0 */
/* Blob Batch: many Delete Blob or many Set Blob Tier in one request. Each part is a call with
 * separate credentials, conditions and outcome; the parts are independent of each other.
 * docs/protocol/facts.md §4.8.
 *
 * If the batch as a whole is invalid (its form, too many parts, parts of several kinds), nothing is
 * done, and the answer is the cloud's: 202 and one part with the 400 and no Content-ID. SDKs
 * recognize it by the count of parts (azure-sdk-for-net issue 20196: "Expected 24083 responses for
 * the batch request, not 1"; azure-rest-api-specs issue 12782). */
#include "rest/batch.h"
#include "core/guid.h"
#include "rest/blob/ops.h"
#include "rest/reply.h"

enum { BLOB_BATCH_PARTS_MAX = 256 };

struct blob_batch_part {
    struct batch_part *part;
    struct run_part run;
};

struct blob_batch {
    struct rest_call *call;
    struct blob_batch_part parts[BLOB_BATCH_PARTS_MAX];
    struct run_part *runs[BLOB_BATCH_PARTS_MAX];
    size_t count;
    struct err refused;    /* error of the whole batch; then count is 0 */
    const struct op *kind; /* what all parts are */
};

/* ---- reading ---- */

static struct err read_parts(struct blob_batch *b, struct str boundary)
{
    struct multipart m = multipart_of(b->call->body, boundary);
    struct str text;
    while (multipart_next(&m, &text)) {
        if (b->count == BLOB_BATCH_PARTS_MAX ||
            !batch_part_read(b->call, text, &b->parts[b->count].part))
            return err_new(ERR_INVALID_INPUT);
        b->count++;
    }
    return m.ended && b->count > 0 ? OK : err_new(ERR_INVALID_INPUT);
}

/* A part must match a row, and all parts must be of one kind. */
static struct err match_part(struct blob_batch *b, struct blob_batch_part *p)
{
    struct rest_call *call = &p->part->call;
    struct guid id = guid_random();
    guid_text(&id, call->request_id);
    TRY(batch_part_match(p->part));
    if (b->kind == NULL)
        b->kind = call->op;
    bool known = call->op->run != NULL && (str_eq(str_of(call->op->name), STR("DeleteBlob")) ||
                                           str_eq(str_of(call->op->name), STR("SetBlobTier")));
    /* Deleting a version is another row, but the same kind. */
    return known && call->op->run == b->kind->run ? OK : err_new(ERR_INVALID_INPUT);
}

/* A batch of a container cannot reach another one. */
static struct err decode_part(const struct blob_batch *b, struct rest_call *part)
{
    const struct rest_call *outer = b->call;
    if (!str_eq(part->account, outer->account) ||
        (str_given(outer->container) && !str_eq(part->container, outer->container)))
        return err_new(ERR_INVALID_INPUT);
    TRY(rest_permit_part(part));
    TRY(rest_check_part(part));
    return part->op->decode(part);
}

struct err rest_submit_batch_decode(struct rest_call *call)
{
    struct blob_batch *b = ARENA_NEW(call->arena, struct blob_batch);
    struct str boundary = multipart_boundary(call_header(call, STR("Content-Type")));
    b->call = call;
    call->args = b;
    if (!str_given(boundary))
        return call_bad_header(call, STR("Content-Type"));
    b->refused = read_parts(b, boundary);
    for (size_t i = 0; i < b->count && !err_is(b->refused); i++)
        b->refused = match_part(b, &b->parts[i]);
    if (err_is(b->refused))
        b->count = 0;
    for (size_t i = 0; i < b->count; i++)
        b->parts[i].run.outcome = decode_part(b, &b->parts[i].part->call);
    return OK;
}

/* ---- running ---- */

static void parts_done(struct run *r, struct err outcome)
{
    rest_finish(rest_call_of(r), outcome);
}

struct err rest_submit_batch_start(struct rest_call *call)
{
    struct blob_batch *b = call->args;
    for (size_t i = 0; i < b->count; i++) {
        const struct rest_call *part = &b->parts[i].part->call;
        b->parts[i].run.txn =
            (struct run_txn){.partition = part->partition, .fn = part->op->run, .arg = part->args};
        b->runs[i] = &b->parts[i].run;
    }
    run_updates(&call->run, b->runs, b->count, parts_done);
    return OK;
}

/* ---- answering ---- */

static void put_common(struct rest_call *part)
{
    http_put_header(&part->headers, STR("x-ms-request-id"), str_of(part->request_id));
    http_put_header(&part->headers, STR("x-ms-version"), part->version_text);
}

static void put_outcome(struct rest_call *call, struct batch_part *part, struct err error,
                        struct str delimiter)
{
    if (!err_is(error))
        error = batch_part_encode(part);
    if (err_is(error))
        batch_part_fail(part, error);
    put_common(&part->call);
    if (part->call.out.n > 0) {
        struct buf length = buf_in(call->arena);
        buf_put_u64(&length, part->call.out.n);
        http_put_header(&part->call.headers, STR("Content-Length"), buf_str(&length));
    }
    batch_put_part(&call->out, part, delimiter, BATCH_ID_OUTSIDE);
}

struct err rest_submit_batch_encode(struct rest_call *call)
{
    struct blob_batch *b = call->args;
    struct str delimiter = batch_delimiter(call->arena, "batchresponse");
    batch_put_head(call, delimiter);
    if (err_is(b->refused))
        put_outcome(call, batch_part_blank(call), b->refused, delimiter);
    for (size_t i = 0; i < b->count; i++)
        put_outcome(call, b->parts[i].part, b->parts[i].run.outcome, delimiter);
    buf_put(&call->out, delimiter);
    buf_put(&call->out, STR("--\r\n"));
    return OK;
}
