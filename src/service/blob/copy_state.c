/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/copy_state.h"

#include "service/common/record.h"

enum field {
    FIELD_STATUS = 1,
    FIELD_ID,
    FIELD_SOURCE,
    FIELD_DONE,
    FIELD_TOTAL,
    FIELD_COMPLETED,
    FIELD_DESCRIPTION,
    FIELD_JOB,
    FIELD_INCREMENTAL,
    FIELD_SNAPSHOT,
    FIELD_SOURCE_SNAPSHOT,
};

struct str blob_copy_encode(struct arena *a, const struct blob_copy_state *state)
{
    struct buf b = buf_in(a);
    record_put(&b, FIELD_STATUS, state->status);
    record_put_bytes(&b, FIELD_ID, (struct str){(const char *)state->id.bytes, GUID_BYTES});
    record_put_bytes(&b, FIELD_SOURCE, state->source);
    record_put(&b, FIELD_DONE, state->done);
    record_put(&b, FIELD_TOTAL, state->total);
    record_put(&b, FIELD_COMPLETED, (uint64_t)state->completed);
    record_put_bytes(&b, FIELD_DESCRIPTION, state->description);
    record_put(&b, FIELD_JOB, state->job);
    record_put(&b, FIELD_INCREMENTAL, state->incremental);
    record_put(&b, FIELD_SNAPSHOT, (uint64_t)state->snapshot);
    record_put(&b, FIELD_SOURCE_SNAPSHOT, (uint64_t)state->source_snapshot);
    return buf_str(&b);
}

static void take_field(struct blob_copy_state *state, const struct record_field *f)
{
    if (f->number == FIELD_STATUS)
        state->status = (enum blob_copy_status)f->value;
    else if (f->number == FIELD_ID && f->bytes.n == GUID_BYTES)
        memcpy(state->id.bytes, f->bytes.p, GUID_BYTES);
    else if (f->number == FIELD_SOURCE)
        state->source = f->bytes;
    else if (f->number == FIELD_DONE)
        state->done = f->value;
    else if (f->number == FIELD_TOTAL)
        state->total = f->value;
    else if (f->number == FIELD_COMPLETED)
        state->completed = (int64_t)f->value;
    else if (f->number == FIELD_DESCRIPTION)
        state->description = f->bytes;
    else if (f->number == FIELD_JOB)
        state->job = f->value;
    else if (f->number == FIELD_INCREMENTAL)
        state->incremental = f->value != 0;
    else if (f->number == FIELD_SNAPSHOT)
        state->snapshot = (int64_t)f->value;
    else if (f->number == FIELD_SOURCE_SNAPSHOT)
        state->source_snapshot = (int64_t)f->value;
}

struct err blob_copy_decode(struct str bytes, struct blob_copy_state *out)
{
    struct reader r = reader_of(bytes);
    struct record_field f;
    *out = (struct blob_copy_state){0};
    while (record_next(&r, &f))
        take_field(out, &f);
    return reader_ok(&r) && out->status <= BLOB_COPY_FAILED ? OK : err_new(ERR_CORRUPT);
}

struct str blob_copy_status_text(enum blob_copy_status status)
{
    static const struct str TEXTS[] = {STR_INIT(""), STR_INIT("pending"), STR_INIT("success"),
                                       STR_INIT("aborted"), STR_INIT("failed")};
    return TEXTS[status];
}
