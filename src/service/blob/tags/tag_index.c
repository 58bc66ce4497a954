/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/tags/tag_index.h"

#include "service/common/pairs.h"

enum { VERSION_BYTES = 1 + 8 }; /* a NUL and the id */

void tag_index_put_prefix(struct buf *b, struct tag_index_id id, struct str tag)
{
    buf_putc(b, (char)id.kind);
    buf_put_be64(b, id.incarnation);
    buf_put(b, tag);
    buf_putc(b, 0);
}

struct str tag_index_prefix(struct arena *a, struct tag_index_id id, struct str tag)
{
    struct buf b = buf_in(a);
    tag_index_put_prefix(&b, id, tag);
    return buf_str(&b);
}

bool tag_index_split(struct str rest, struct str *value, struct str *item)
{
    size_t end = str_find(rest, 0, 0);
    if (end + 1 >= rest.n)
        return false;
    *value = str_head(rest, end);
    *item = str_from(rest, end + 1);
    return true;
}

bool tag_index_split_version(struct str item, struct str *name, int64_t *version)
{
    if (item.n <= VERSION_BYTES || item.p[item.n - VERSION_BYTES] != 0)
        return false;
    struct reader id = reader_of(str_from(item, item.n - 8));
    *name = str_head(item, item.n - VERSION_BYTES);
    *version = (int64_t)read_be64(&id);
    return true;
}

static struct str row_key(struct arena *a, const struct tag_change *change, const struct pair *tag)
{
    struct buf b = buf_in(a);
    (void)buf_reserve(&b, 1 + 8 + tag->name.n + 1 + tag->value.n + 1 + change->name.n +
                              (change->version == 0 ? 0 : VERSION_BYTES));
    struct tag_index_id id = {change->version == 0 ? TAG_INDEX_BLOBS : TAG_INDEX_VERSIONS,
                              change->incarnation};
    tag_index_put_prefix(&b, id, tag->name);
    buf_put(&b, tag->value);
    buf_putc(&b, 0);
    buf_put(&b, change->name);
    if (change->version != 0) {
        buf_putc(&b, 0);
        buf_put_be64(&b, (uint64_t)change->version);
    }
    return buf_str(&b);
}

static bool has(struct str tags, const struct pair *tag)
{
    struct str value = pairs_find(tags, tag->name);
    return str_given(value) && str_eq(value, tag->value);
}

struct err tag_index_change(struct txn *t, const struct tag_change *change)
{
    struct pair tag;
    if (str_eq(change->old, change->new))
        return OK;
    struct reader old = reader_of(change->old);
    while (pairs_next(&old, &tag))
        if (!has(change->new, &tag))
            TRY(txn_del(t, row_key(txn_arena(t), change, &tag)));
    struct reader new = reader_of(change->new);
    while (pairs_next(&new, &tag))
        if (!has(change->old, &tag))
            TRY(txn_put(t, row_key(txn_arena(t), change, &tag), STR("")));
    return reader_ok(&old) && reader_ok(&new) ? OK : err_new(ERR_CORRUPT);
}
