/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/node.h"

#include <assert.h>

#include "service/common/records.h"

#define COPY(number, member) RECORD_MEMBER(struct node_copy, number, member)
static const struct record_member COPY_MEMBERS[] = {
    RECORD_ENUM(struct node_copy, 1, status, COPY_FAILED),
    RECORD_MEMBER_RAW(struct node_copy, 2, id.bytes),
    COPY(3, source),
    COPY(4, done),
    COPY(5, total),
    COPY(6, completed),
    COPY(7, description),
};
#undef COPY
const struct record_type NODE_COPY_RECORD = RECORD_TYPE(struct node_copy, COPY_MEMBERS);

static_assert(offsetof(struct node, has_blocks) == offsetof(struct node, has_chunks) + 1,
              "the bits of field 14 are consecutive bools");
#define NODE(number, member) RECORD_MEMBER(struct node, number, member)
static const struct record_member MEMBERS[] = {
    RECORD_ENUM(struct node, 1, kind, NODE_SYMLINK),
    NODE(2, attributes),
    NODE(3, created),
    NODE(4, last_write),
    NODE(5, changed),
    NODE(6, accessed),
    NODE(7, etag),
    NODE(8, last_modified),
    RECORD_MEMBER_RAW(struct node, 9, permission.bytes),
    NODE(10, metadata),
    NODE(28, eas),
    RECORD_MEMBER_CODED(struct node, 11, lease, &LEASE_CODEC),
    NODE(12, size),
    NODE(13, content),
    RECORD_MEMBER_BITS(struct node, 14, has_chunks, 2),
    NODE(15, voids),
    NODE(16, http.content_type),
    NODE(17, http.content_encoding),
    NODE(18, http.content_language),
    NODE(19, http.cache_control),
    NODE(20, http.content_disposition),
    NODE(21, http.content_md5),
    RECORD_MEMBER_INNER(struct node, 22, copy, &NODE_COPY_RECORD),
    NODE(23, mode),
    NODE(24, owner),
    NODE(25, group),
    NODE(26, links),
    NODE(27, target),
};
#undef NODE
const struct record_type NODE_RECORD = RECORD_TYPE(struct node, MEMBERS);

/* The times are mostly equal or close together, so the row stores the later three as their
 * difference (exclusive or) from the first. */
static void toggle_times(struct node *n)
{
    n->last_write ^= n->created;
    n->changed ^= n->created;
    n->accessed ^= n->created;
}

void node_encode(struct buf *b, const struct node *n)
{
    struct node stored = *n;
    toggle_times(&stored);
    if (n->voids.n == 0)
        stored.voids = STR_NONE;
    if (n->copy.status == COPY_NONE)
        stored.copy = (struct node_copy){0};
    record_write(b, &NODE_RECORD, &stored);
}

bool node_decode(struct str data, struct node *out)
{
    assert(out != NULL);
    *out = (struct node){0};
    bool good = record_read(data, &NODE_RECORD, out);
    toggle_times(out);
    return good;
}

struct node node_copy(struct arena *a, const struct node *n)
{
    struct node copy = *n;
    record_own(a, &NODE_RECORD, &copy);
    return copy;
}
