/* SPDX-License-Identifier: Apache-2.0 */
/* Entity group transactions. Each part of the batch is a call that passes the same phases as a
 * request, up to its decode; then all changes are applied in one transaction, and each part is
 * encoded as it would be alone. docs/protocol/facts.md §5.5.
 *
 * An error of the batch as a whole is answered as such. An error of one of its operations is
 * answered with 202 and that operation's error as the only part, its message beginning with the
 * operation's number. */
#include "rest/batch.h"
#include "core/hash/fnv.h"
#include "rest/server.h"
#include "rest/table/rest.h"

enum {
    BATCH_OPERATIONS_MAX = 100,
    ROW_KEY_SLOTS = 256,
    PART_FRAME_BYTES = 250, /* about the size of the text around an answer */
};

struct batch {
    struct rest_call *call;
    struct batch_part *parts[BATCH_OPERATIONS_MAX];
    size_t count;
    bool query;       /* one GET, no change set */
    bool overfull;    /* there are too many operations */
    struct err error; /* of the part `failed` */
    size_t failed;
    struct entity_group group;
    uint8_t
        row_keys[ROW_KEY_SLOTS]; /* by their hash: one more than the part's number, 0 for none */
};

static struct err bad_batch(void)
{
    return err_new(ERR_INVALID_INPUT);
}

/* ---- a part as a call ---- */

static bool is_change(const struct op *op)
{
    return op->mode == MODE_WRITE && op->comp == NULL &&
           (op->resource == R_ENTITY || op->resource == R_ENTITIES);
}

static bool is_query(const struct op *op)
{
    return op->mode == MODE_READ && op->comp == NULL &&
           (op->resource == R_ENTITY || op->resource == R_ENTITIES);
}

/* Finds its row, checks that the batch's credentials permit it, decodes it. */
static struct err part_decode(struct batch *b, struct batch_part *part)
{
    struct rest_call *call = &part->call;
    TRY(batch_part_match(part));
    TRY(rest_check_part(&part->call));
    if (!str_eq(call->account, b->call->account))
        return err_new(ERR_AUTHORIZATION_FAILURE);
    if (!(b->query ? is_query(call->op) : is_change(call->op)))
        return bad_batch();
    const struct auth_resource what = {
        .service = call->service, .account = call->account, .container = call->container};
    struct auth_demand demand = op_demand(call->op);
    TRY(auth_permit(&call->server->auth, &call->who, &what, &demand, call->arena));
    return call->op->decode(call);
}

/* ---- reading the batch ---- */

static struct err read_operation(struct batch *b, struct str text)
{
    b->overfull = b->count == BATCH_OPERATIONS_MAX;
    if (b->overfull)
        return OK;
    if (!batch_part_read(b->call, text, &b->parts[b->count]))
        return bad_batch();
    b->count++;
    return OK;
}

static struct err read_change_set(struct batch *b, struct str body, struct str boundary)
{
    struct multipart m = multipart_of(body, boundary);
    struct str text;
    while (multipart_next(&m, &text))
        TRY(read_operation(b, text));
    return m.ended && b->count > 0 ? OK : bad_batch();
}

/* One change set, or one query. */
static struct err read_batch(struct batch *b, struct str boundary)
{
    struct multipart m = multipart_of(b->call->body, boundary);
    struct str text;
    while (multipart_next(&m, &text)) {
        struct multipart_headers headers;
        struct str body;
        if (b->count > 0 || !multipart_split(text, &headers, &body))
            return bad_batch();
        struct str inner = multipart_boundary(multipart_header(&headers, STR("Content-Type")));
        b->query = !str_given(inner);
        TRY(b->query ? read_operation(b, text) : read_change_set(b, body, inner));
    }
    return m.ended && b->count > 0 ? OK : bad_batch();
}

/* ---- checking it as a group ---- */

/* Adds the RowKey; false if it was added before. A client whose keys collide only slows down its
 * own batch, at most to the cost of comparing all pairs. */
static bool note_row_key(struct batch *b, size_t at)
{
    struct str rk = b->group.changes[at]->rk;
    uint32_t slot = fnv_of(rk);
    for (;; slot++) {
        uint8_t *noted = &b->row_keys[slot % ROW_KEY_SLOTS];
        if (*noted == 0) {
            *noted = (uint8_t)(at + 1);
            return true;
        }
        if (str_eq(rk, b->group.changes[*noted - 1]->rk))
            return false;
    }
}

static struct err check_against_others(struct batch *b, size_t at)
{
    const struct entity_change *change = b->group.changes[at];
    const struct entity_change *first = b->group.changes[0];
    if (!str_eq(change->ref.table, first->ref.table) || !str_eq(change->pk, first->pk))
        return err_new(ERR_COMMANDS_IN_BATCH_ACT_ON_DIFFERENT_PARTITIONS);
    return note_row_key(b, at) ? OK : err_new(ERR_INVALID_DUPLICATE_ROW);
}

static struct err decode_part(struct batch *b, size_t at)
{
    struct batch_part *part = b->parts[at];
    TRY(part_decode(b, part));
    if (b->query)
        return OK;
    b->group.changes[at] = part->call.args;
    return check_against_others(b, at);
}

static void decode_parts(struct batch *b)
{
    b->group.changes = ARENA_ARRAY(b->call->arena, struct entity_change *, b->count);
    b->group.count = b->count;
    for (b->failed = 0; b->failed < b->count; b->failed++) {
        b->error = decode_part(b, b->failed);
        if (err_is(b->error))
            return;
    }
}

struct err rest_entity_group_transaction_decode(struct rest_call *call)
{
    struct batch *b = ARENA_NEW(call->arena, struct batch);
    struct str boundary = multipart_boundary(call_header(call, STR("Content-Type")));
    b->call = call;
    call->args = b;
    if (!str_given(boundary))
        return bad_batch();
    TRY(read_batch(b, boundary));
    if (!b->overfull) {
        decode_parts(b);
        return OK;
    }
    /* The service counts while it reads: this is the error of the last operation allowed. */
    b->failed = BATCH_OPERATIONS_MAX - 1;
    b->error = err_new(ERR_TOO_MANY_CHANGES);
    return OK;
}

/* ---- running it ---- */

/* Internal errors and time-outs fail the whole batch; others belong to one operation. */
static void batch_finish(struct rest_call *call)
{
    const struct batch *b = call->args;
    bool whole = err_is(b->error) && err_http_status(b->error.code) >= 500;
    rest_finish(call, whole ? b->error : OK);
}

static void changed(struct run *r, struct err outcome)
{
    struct rest_call *call = rest_call_of(r);
    struct batch *b = call->args;
    b->error = outcome;
    b->failed = b->group.failed;
    batch_finish(call);
}

static void queried(struct run *r, struct err outcome)
{
    struct rest_call *call = rest_call_of(r);
    struct batch *b = call->args;
    b->error = outcome;
    b->failed = 0;
    batch_finish(call);
}

struct err rest_entity_group_transaction_start(struct rest_call *call)
{
    struct batch *b = call->args;
    if (err_is(b->error)) {
        batch_finish(call);
        return OK;
    }
    const struct rest_call *first = &b->parts[0]->call;
    struct run_txn txn = {.partition = first->partition, .fn = first->op->run, .arg = first->args};
    if (b->query) {
        run_view(&call->run, &txn, queried);
        return OK;
    }
    b->group.ref = b->group.changes[0]->ref;
    txn.fn = table_entity_group_transaction;
    txn.arg = &b->group;
    run_update(&call->run, &txn, changed);
    return OK;
}

/* ---- answering ---- */

static void encode_error(struct batch *b)
{
    struct batch_part *part = b->parts[b->failed];
    part->call.error_prefix = arena_printf(b->call->arena, "%zu:", b->failed);
    batch_part_fail(part, b->error);
}

static struct err encode_parts(struct batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        TRY(batch_part_encode(b->parts[i]));
    return OK;
}

/* A change set's answers are in a nested multipart, a query's answer is not. */
static void put_parts(struct batch *b, struct str batch)
{
    struct buf *out = &b->call->out;
    bool failed = err_is(b->error);
    size_t from = failed ? b->failed : 0;
    size_t to = failed ? b->failed + 1 : b->count;
    size_t bytes = 0;
    for (size_t i = from; i < to; i++)
        bytes += PART_FRAME_BYTES + b->parts[i]->call.headers.n + b->parts[i]->call.out.n;
    (void)buf_reserve(out, bytes);
    if (b->query) {
        batch_put_part(out, b->parts[0], batch, BATCH_ID_INSIDE);
    } else {
        struct str set = batch_delimiter(b->call->arena, "changesetresponse");
        buf_put(out, batch);
        buf_put(out, STR("\r\nContent-Type: multipart/mixed; boundary="));
        buf_put(out, str_from(set, 2));
        buf_put(out, STR("\r\n\r\n"));
        for (size_t i = from; i < to; i++)
            batch_put_part(out, b->parts[i], set, BATCH_ID_INSIDE);
        buf_put(out, set);
        buf_put(out, STR("--\r\n"));
    }
    buf_put(out, batch);
    buf_put(out, STR("--\r\n"));
}

struct err rest_entity_group_transaction_encode(struct rest_call *call)
{
    struct batch *b = call->args;
    struct str batch = batch_delimiter(call->arena, "batchresponse");
    if (err_is(b->error))
        encode_error(b);
    else
        TRY(encode_parts(b));
    batch_put_head(call, batch);
    call_put(call, STR("X-Content-Type-Options"), STR("nosniff"));
    call_put(call, STR("Cache-Control"), STR("no-cache"));
    put_parts(b, batch);
    return OK;
}
