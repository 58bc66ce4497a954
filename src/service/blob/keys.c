/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/keys.h"

#include <endian.h>
#include <string.h>

#include "service/common/name.h"

enum {
    AT_BASE = 0xFF,
    AT_DELETED = 0xF0, /* together with the item's kind */
    BLOCK_ID = 0x01,
    HEAD_PREFIX_BYTES = 1 + 8,
    TIMED_PREFIX_BYTES = 1 + 8 + 8,
};

struct str blob_partition(struct arena *a, struct str account, struct str container)
{
    struct buf b = buf_in(a);
    (void)buf_reserve(&b, account.n + container.n + 3);
    buf_put(&b, STR("b/"));
    buf_put(&b, account);
    buf_putc(&b, '/');
    buf_put(&b, container);
    return buf_str(&b);
}

struct str blob_partition_container(struct str partition)
{
    size_t account = str_find(partition, '/', 0);
    return str_from(partition, str_find(partition, '/', account + 1) + 1);
}

static struct buf key_of(struct arena *a, char kind, uint64_t incarnation, size_t more)
{
    struct buf b = buf_in(a);
    (void)buf_reserve(&b, 9 + more);
    buf_putc(&b, kind);
    buf_put_be64(&b, incarnation);
    return b;
}

struct str blob_key_heads(struct arena *a, uint64_t incarnation, struct str name_prefix)
{
    struct buf b = key_of(a, 'h', incarnation, name_prefix.n);
    buf_put(&b, name_to_key(a, name_prefix));
    return buf_str(&b);
}

struct str blob_key_items(struct arena *a, uint64_t incarnation, struct str name)
{
    struct buf b = key_of(a, 'h', incarnation, name.n + 1);
    buf_put(&b, name_to_key(a, name));
    buf_putc(&b, 0);
    return buf_str(&b);
}

static uint8_t item_byte(enum blob_item item, bool deleted)
{
    return (uint8_t)(deleted ? AT_DELETED | item : item);
}

struct str blob_key_of_items_of(struct arena *a, struct str key_to_name, enum blob_item item,
                                bool deleted)
{
    struct buf b = buf_in(a);
    buf_put(&b, key_to_name);
    buf_putc(&b, 0);
    buf_put_u8(&b, item_byte(item, deleted));
    return buf_str(&b);
}

static void put_at(struct buf *b, const struct blob_at *at)
{
    buf_putc(b, 0);
    if (at->item == BLOB_BASE) {
        buf_put_u8(b, AT_BASE);
        return;
    }
    buf_put_u8(b, item_byte(at->item, at->deleted));
    buf_put_be64(b, (uint64_t)at->time);
}

struct str blob_key_head(struct arena *a, uint64_t incarnation, struct str name,
                         const struct blob_at *at)
{
    struct buf b = key_of(a, 'h', incarnation, name.n + 11);
    buf_put(&b, name_to_key(a, name));
    put_at(&b, at);
    return buf_str(&b);
}

enum { ID_HEX_MAX = 16 };

/* Writes eight hex digits at once, the highest first: spreads the nibbles to one byte each, adds
 * '0', and for digits above nine the distance from '9' to 'a'. */
static void put_hex8(char *to, uint32_t value)
{
    uint64_t x = value;
    x = (x & 0xFFFF) << 32 | x >> 16;
    x = (x & 0x000000FF000000FF) << 16 | (x >> 8 & 0x000000FF000000FF);
    x = (x & 0x000F000F000F000F) << 8 | (x >> 4 & 0x000F000F000F000F);
    uint64_t above = (x + 0x0606060606060606) >> 4 & 0x0101010101010101;
    x += 0x3030303030303030 + above * ('a' - '9' - 1);
    x = htole64(x);
    memcpy(to, &x, sizeof x);
}

void blob_entry_name(struct buf *b, uint64_t directory, struct str last)
{
    char text[ID_HEX_MAX + 1];
    size_t skip = directory == 0 ? ID_HEX_MAX : (size_t)__builtin_clzll(directory) / 4;
    put_hex8(text, (uint32_t)(directory >> 32));
    put_hex8(text + 8, (uint32_t)directory);
    text[ID_HEX_MAX] = '/';
    buf_put(b, (struct str){text + skip, sizeof text - skip});
    buf_put(b, last);
}

void blob_key_entry(struct buf *b, uint64_t incarnation, uint64_t directory, struct str last)
{
    static const struct blob_at base = {.item = BLOB_BASE};
    if (b->n < HEAD_PREFIX_BYTES) {
        buf_putc(b, 'h');
        buf_put_be64(b, incarnation);
    }
    b->n = HEAD_PREFIX_BYTES;
    (void)buf_reserve(b, ID_HEX_MAX + 1 + last.n + 12);
    blob_entry_name(b, directory, name_to_key(b->arena, last));
    put_at(b, &base);
}

struct str blob_key_of_items(struct arena *a, struct str key_to_name, const struct blob_at *at)
{
    struct buf b = buf_in(a);
    buf_put(&b, key_to_name);
    put_at(&b, at);
    return buf_str(&b);
}

struct str blob_key_to_name(struct str head_key)
{
    return str_head(head_key, str_find(head_key, 0, HEAD_PREFIX_BYTES));
}

bool blob_key_parse_head(struct str key, struct str *name, struct blob_at *at)
{
    size_t end = str_find(key, 0, HEAD_PREFIX_BYTES);
    if (end + 1 >= key.n)
        return false;
    *name = (struct str){key.p + HEAD_PREFIX_BYTES, end - HEAD_PREFIX_BYTES};
    struct reader r = reader_of(str_from(key, end + 1));
    *at = (struct blob_at){.item = BLOB_BASE};
    uint8_t item = read_u8(&r);
    if (item == AT_BASE)
        return reader_done(&r);
    at->deleted = (item & AT_DELETED) == AT_DELETED;
    at->item = (enum blob_item)(item & ~(at->deleted ? AT_DELETED : 0));
    at->time = (int64_t)read_be64(&r);
    return reader_done(&r) && (at->item == BLOB_SNAPSHOT || at->item == BLOB_VERSION);
}

struct str blob_key_all_timed(struct arena *a, char kind, uint64_t incarnation)
{
    struct buf b = key_of(a, kind, incarnation, 0);
    return buf_str(&b);
}

struct str blob_key_timed(struct arena *a, char kind, int64_t time, struct str head_key)
{
    struct buf b = buf_in(a);
    (void)buf_reserve(&b, head_key.n + 8);
    buf_putc(&b, kind);
    buf_put(&b, str_from(str_head(head_key, HEAD_PREFIX_BYTES), 1));
    buf_put_be64(&b, (uint64_t)time);
    buf_put(&b, str_from(head_key, HEAD_PREFIX_BYTES));
    return buf_str(&b);
}

bool blob_key_parse_timed(struct arena *a, struct str key, int64_t *time, struct str *head_key)
{
    struct reader r = reader_of(str_from(key, HEAD_PREFIX_BYTES));
    struct buf b = buf_in(a);
    *time = (int64_t)read_be64(&r);
    if (!reader_ok(&r))
        return false;
    buf_putc(&b, 'h');
    buf_put(&b, str_from(str_head(key, HEAD_PREFIX_BYTES), 1));
    buf_put(&b, str_from(key, TIMED_PREFIX_BYTES));
    *head_key = buf_str(&b);
    return true;
}

struct str blob_key_deleted_container(struct arena *a, uint64_t incarnation)
{
    struct buf b = buf_in(a);
    buf_putc(&b, 'C');
    if (incarnation != 0)
        buf_put_be64(&b, incarnation);
    return buf_str(&b);
}

static struct str key_with_id(struct arena *a, char kind, uint64_t incarnation, uint64_t id)
{
    struct buf b = key_of(a, kind, incarnation, 8);
    buf_put_be64(&b, id);
    return buf_str(&b);
}

struct str blob_key_content(struct arena *a, uint64_t incarnation, uint64_t content)
{
    return key_with_id(a, 'd', incarnation, content);
}

struct str blob_key_pages(struct arena *a, uint64_t incarnation, uint64_t content)
{
    return key_with_id(a, 'p', incarnation, content);
}

struct str blob_key_pages_past(struct arena *a, uint64_t incarnation, uint64_t content)
{
    return key_with_id(a, 'P', incarnation, content);
}

struct str blob_key_shares(struct arena *a, uint64_t incarnation, uint64_t content)
{
    return key_with_id(a, 'r', incarnation, content);
}

struct str blob_key_block_list(struct arena *a, uint64_t incarnation, uint64_t content)
{
    return key_with_id(a, 'l', incarnation, content);
}

struct str blob_key_block_list_row(struct arena *a, uint64_t incarnation, uint64_t content,
                                   uint32_t row)
{
    struct buf b = key_of(a, 'l', incarnation, 12);
    buf_put_be64(&b, content);
    buf_put_be32(&b, row);
    return buf_str(&b);
}

struct str blob_key_blocks(struct arena *a, uint64_t incarnation, uint64_t blocks)
{
    return key_with_id(a, 'u', incarnation, blocks);
}

struct str blob_key_block(struct arena *a, uint64_t incarnation, uint64_t blocks, struct str id)
{
    struct buf b = key_of(a, 'u', incarnation, 9 + id.n);
    buf_put_be64(&b, blocks);
    buf_put_u8(&b, BLOCK_ID);
    buf_put(&b, id);
    return buf_str(&b);
}

bool blob_key_holds_pieces(struct str key)
{
    if (key.n == 0)
        return false;
    return key.p[0] == 'd' || (key.p[0] == 'u' && key.n > 1 + 8 + 8);
}
