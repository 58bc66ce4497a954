/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/copy/copy_state.h"

#include <assert.h>

#include "service/common/records.h"

#define COPY(number, member) RECORD_MEMBER(struct blob_copy_state, number, member)
static const struct record_member MEMBERS[] = {
    RECORD_ENUM(struct blob_copy_state, 1, status, BLOB_COPY_FAILED),
    RECORD_MEMBER_RAW(struct blob_copy_state, 2, id.bytes),
    COPY(3, source),
    COPY(4, done),
    COPY(5, total),
    COPY(6, completed),
    COPY(7, description),
    COPY(8, job),
    COPY(9, incremental),
    COPY(10, snapshot),
    COPY(11, source_snapshot),
};
#undef COPY
const struct record_type BLOB_COPY_RECORD = RECORD_TYPE(struct blob_copy_state, MEMBERS);

struct str blob_copy_encode(struct arena *a, const struct blob_copy_state *state)
{
    struct buf b = buf_in(a);
    record_write(&b, &BLOB_COPY_RECORD, state);
    return buf_str(&b);
}

struct err blob_copy_decode(struct str bytes, struct blob_copy_state *out)
{
    assert(out != NULL);
    *out = (struct blob_copy_state){0};
    return record_read(bytes, &BLOB_COPY_RECORD, out) ? OK : err_new(ERR_CORRUPT);
}

struct str blob_copy_status_text(enum blob_copy_status status)
{
    static const struct str TEXTS[] = {STR_INIT(""), STR_INIT("pending"), STR_INIT("success"),
                                       STR_INIT("aborted"), STR_INIT("failed")};
    return TEXTS[status];
}
