/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/owner.h"

#include "service/blob/head.h"
#include "service/blob/keys.h"
#include "service/common/name.h"

enum { OWNED_KEY_BYTES = 1 + 8 + 8, CONTENT = 'd', BLOCKS = 'u' };

struct search {
    const struct owner_search *all;
    struct txn *txn;
    struct owner_wanted *wanted;
    size_t count;
};

static void put_time(struct buf *b, const char *what, int64_t time)
{
    char text[TIME_ISO_BYTES];
    time_iso(time, text);
    buf_printf(b, ", %s %.*s", what, (int)sizeof text, text);
}

/* "blob account/container/name", and which of its states. */
static bool put_blob(struct arena *a, struct str partition, struct str key, struct buf *b)
{
    struct str name;
    struct blob_at at;
    if (!blob_key_parse_head(key, &name, &at))
        return false;
    name = name_from_key(a, name);
    buf_printf(b, "blob %.*s/%.*s", STR_ARG(owner_container(partition)), STR_ARG(name));
    if (at.item != BLOB_BASE)
        put_time(b, at.item == BLOB_SNAPSHOT ? "snapshot" : "version", at.time);
    if (at.deleted)
        buf_put(b, STR(", soft-deleted"));
    return true;
}

static void tell_blob(const struct search *s, struct str key, size_t index, bool uncommitted)
{
    struct buf b = buf_heap();
    if (put_blob(txn_arena(s->txn), s->all->partition, key, &b)) {
        buf_put(&b, uncommitted ? STR(" (an uncommitted block)") : STR(""));
        owner_tell(s->all, index, buf_str(&b));
    }
    buf_release(&b);
}

/* Rows of contents and of block sets have the id of that content or set in the key. */
static void want(struct search *s, size_t index)
{
    struct str key = s->all->keys[index];
    struct reader r = reader_of(str_from(key, 1));
    switch (key.n == 0 ? 0 : key.p[0]) {
    case 'h':
        tell_blob(s, key, index, false);
        return;
    case 'd':
    case 'p':
    case 'P':
    case 'r':
    case 'l':
    case 'u':
        if (key.n >= OWNED_KEY_BYTES) {
            struct owner_wanted *w = &s->wanted[s->count++];
            w->incarnation = read_be64(&r);
            w->id = read_be64(&r);
            w->kind = key.p[0] == 'u' ? BLOCKS : CONTENT;
            w->key = index;
            return;
        }
        break;
    default:
        break;
    }
    owner_tell_container(s->all, index, "container");
}

static void match(const struct search *s, struct str key, const struct owner_wanted *like)
{
    size_t i = like->id == 0 ? s->count : owner_first(s->wanted, s->count, like);
    for (; i < s->count && owner_same(&s->wanted[i], like); i++)
        tell_blob(s, key, s->wanted[i].key, like->kind == BLOCKS);
}

/* A snapshot shares its blob's content: names all owners. */
static void match_head(void *arg, struct str key, struct str value)
{
    struct search *s = arg;
    struct reader r = reader_of(str_from(key, 1));
    struct blob_head head;
    uint64_t incarnation = read_be64(&r);
    if (!reader_ok(&r) || err_is(blob_head_decode(value, &head)))
        return; /* already reported with the row itself */
    match(s, key, &(struct owner_wanted){incarnation, head.content, CONTENT, 0});
    match(s, key, &(struct owner_wanted){incarnation, head.blocks, BLOCKS, 0});
}

struct err blob_row_owners(struct txn *t, void *arg)
{
    const struct owner_search *all = arg;
    struct search s = {.all = all, .txn = t};
    s.wanted = ARENA_ARRAY(txn_arena(t), struct owner_wanted, all->count + 1);
    for (size_t i = 0; i < all->count; i++)
        want(&s, i);
    owner_sort(s.wanted, s.count);
    return s.count == 0 ? OK : owner_each_row(t, all, STR("h"), match_head, &s);
}
