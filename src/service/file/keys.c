/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/keys.h"

struct str file_partition(struct arena *a, struct str account, struct str share)
{
    struct buf b = buf_in(a);
    (void)buf_reserve(&b, account.n + share.n + 3);
    buf_put(&b, FILE_SPACE);
    buf_put(&b, account);
    buf_putc(&b, '/');
    buf_put(&b, share);
    return buf_str(&b);
}

struct str file_partition_share(struct str partition)
{
    size_t account = str_find(partition, '/', 0);
    return str_from(partition, str_find(partition, '/', account + 1) + 1);
}

struct str file_key_kind(struct arena *a, char kind, uint64_t incarnation)
{
    struct buf b = buf_in(a);
    (void)buf_reserve(&b, FILE_KEY_PREFIX_BYTES);
    buf_putc(&b, kind);
    buf_put_be64(&b, incarnation);
    return buf_str(&b);
}

struct str file_key_id(struct arena *a, char kind, uint64_t incarnation, uint64_t id)
{
    struct buf b = buf_in(a);
    (void)buf_reserve(&b, FILE_KEY_PREFIX_BYTES + 8);
    buf_putc(&b, kind);
    buf_put_be64(&b, incarnation);
    buf_put_be64(&b, id);
    return buf_str(&b);
}

struct str file_key_deleted(struct arena *a, uint64_t incarnation)
{
    return file_key_kind(a, 'd', incarnation);
}

struct str file_key_snapshot(struct arena *a, uint64_t incarnation, int64_t stamp)
{
    return file_key_id(a, 'x', incarnation, (uint64_t)stamp);
}

struct str file_key_permission(struct arena *a, uint64_t incarnation, struct str hash)
{
    struct buf b = buf_in(a);
    (void)buf_reserve(&b, FILE_KEY_PREFIX_BYTES + hash.n);
    buf_putc(&b, 'p');
    buf_put_be64(&b, incarnation);
    buf_put(&b, hash);
    return buf_str(&b);
}
