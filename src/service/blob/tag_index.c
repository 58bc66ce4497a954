/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/tag_index.h"

#include "service/common/pairs.h"

void tag_index_put_prefix(struct buf *b, uint64_t incarnation, struct str tag)
{
    buf_putc(b, 't');
    buf_put_be64(b, incarnation);
    buf_put(b, tag);
    buf_putc(b, 0);
}

struct str tag_index_prefix(struct arena *a, uint64_t incarnation, struct str tag)
{
    struct buf b = buf_in(a);
    tag_index_put_prefix(&b, incarnation, tag);
    return buf_str(&b);
}

bool tag_index_split(struct str rest, struct str *value, struct str *name)
{
    size_t end = str_find(rest, 0, 0);
    if (end + 1 >= rest.n)
        return false;
    *value = str_head(rest, end);
    *name = str_from(rest, end + 1);
    return true;
}

static struct str row_key(struct arena *a, const struct tag_change *change, const struct pair *tag)
{
    struct buf b = buf_in(a);
    (void)buf_reserve(&b, 1 + 8 + tag->name.n + 1 + tag->value.n + 1 + change->name.n);
    tag_index_put_prefix(&b, change->incarnation, tag->name);
    buf_put(&b, tag->value);
    buf_putc(&b, 0);
    buf_put(&b, change->name);
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
