/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/owner.h"

#include "service/common/dirtree.h"
#include "service/file/keys.h"
#include "service/file/node.h"

/* The search: by the id of a content, or by that of a file or directory. */
enum { BY_CONTENT = 'm', BY_ID = 'n' };

struct search {
    const struct owner_search *all;
    struct vrow_scope rows;
    struct dirtree tree; /* of the incarnation */
    uint64_t incarnation;
    struct owner_wanted *wanted;
    size_t count;
    bool past; /* it scans the rows that only snapshots have */
};

static struct str live_key(const struct search *s, struct str key)
{
    bool is_past = key.n > FILE_HISTORY.n + VROW_PAST_BYTES && key.p[0] == FILE_HISTORY.p[0];
    return is_past ? vrow_past_key(&s->rows, key) : key;
}

/* Reads the incarnation after the letter of a key, and switches to its tree. */
static bool enter(struct search *s, struct str key, struct reader *r)
{
    *r = reader_of(str_from(key, 1));
    uint64_t incarnation = read_be64(r);
    if (s->incarnation != incarnation) {
        struct arena *a = txn_arena(s->rows.txn);
        s->incarnation = incarnation;
        s->tree = (struct dirtree){.rows = &s->rows,
                                   .children = file_key_kind(a, 'e', incarnation),
                                   .parents = file_key_kind(a, 'i', incarnation)};
    }
    return reader_ok(r);
}

/* An entry of a snapshot may be in a directory that no longer exists. */
static void tell_entry(const struct search *s, const struct dirtree_entry *entry, size_t index)
{
    struct buf b = buf_heap();
    struct arena arena;
    struct str directory = STR("");
    arena_init(&arena, SIZE_MAX);
    if (err_is(dirtree_path(&s->tree, entry->parent, &arena, &directory)))
        directory = STR("(a directory that is gone)");
    buf_printf(&b, "%s %.*s/%.*s%s%.*s%s", entry->directory ? "directory" : "file",
               STR_ARG(owner_container(s->all->partition)), STR_ARG(directory),
               directory.n > 0 ? "/" : "", STR_ARG(entry->name), s->past ? " (in snapshots)" : "");
    owner_tell(s->all, index, buf_str(&b));
    arena_release(&arena);
    buf_release(&b);
}

/* An entry's key has its directory and its name, folded. */
static void tell_key(struct search *s, struct str key, size_t index)
{
    struct reader r;
    if (!enter(s, key, &r))
        return;
    struct dirtree_entry entry = {.parent = read_be64(&r)};
    entry.name = (struct str){r.p, r.n};
    tell_entry(s, &entry, index);
}

static void add_wanted(struct search *s, char kind, uint64_t id, size_t index)
{
    s->wanted[s->count++] = (struct owner_wanted){s->incarnation, id, kind, index};
}

static void want(struct search *s, size_t index)
{
    struct str key = live_key(s, s->all->keys[index]);
    struct reader r;
    char kind = key.n >= FILE_CONTENT_KEY_BYTES && enter(s, key, &r) ? key.p[0] : 0;
    if (kind == 'e')
        tell_key(s, key, index);
    else if (kind == 'm')
        add_wanted(s, BY_CONTENT, read_be64(&r), index);
    else if (kind == 'n' || kind == 'i')
        add_wanted(s, BY_ID, read_be64(&r), index);
    else
        owner_tell_container(s->all, index, "share");
}

static size_t first_wanted(const struct search *s, char kind, uint64_t id)
{
    struct owner_wanted like = {s->incarnation, id, kind, 0};
    return id == 0 ? s->count : owner_first(s->wanted, s->count, &like);
}

/* A file with several names has a separate row for its content, and entries have its id. */
static void match_linked(void *arg, struct str stored_key, struct str value)
{
    struct search *s = arg;
    struct str key = live_key(s, stored_key);
    struct reader r;
    struct vrow row;
    struct node node;
    size_t count = s->count;
    if (!enter(s, key, &r) || !vrow_split(value, &row) || !node_decode(row.payload, &node))
        return; /* already reported with the row itself */
    uint64_t id = read_be64(&r);
    size_t first = first_wanted(s, BY_CONTENT, node.content);
    for (size_t i = first; i < count && owner_same(&s->wanted[i], &s->wanted[first]); i++) {
        if (s->count < 2 * s->all->count)
            add_wanted(s, BY_ID, id, s->wanted[i].key);
    }
    owner_sort(s->wanted, s->count);
}

static void match_at(const struct search *s, const struct dirtree_entry *entry, size_t first)
{
    for (size_t i = first; i < s->count && owner_same(&s->wanted[i], &s->wanted[first]); i++) {
        if (!s->past || !s->all->told[s->wanted[i].key])
            tell_entry(s, entry, s->wanted[i].key);
    }
}

static void match_entry(void *arg, struct str stored_key, struct str value)
{
    struct search *s = arg;
    struct str key = live_key(s, stored_key);
    struct reader r;
    struct dirtree_entry entry;
    struct node node;
    if (!enter(s, key, &r) || !dirtree_read(&s->tree, key, value, &entry))
        return; /* said already */
    if (node_decode(entry.data, &node))
        match_at(s, &entry, first_wanted(s, BY_CONTENT, node.content));
    match_at(s, &entry, first_wanted(s, BY_ID, entry.id));
}

static bool all_told(const struct search *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (!s->all->told[s->wanted[i].key])
            return false;
    }
    return true;
}

struct err file_row_owners(struct txn *t, void *arg)
{
    const struct owner_search *all = arg;
    struct search s = {.all = all,
                       .rows = {.txn = t, .at = VROW_LIVE, .history = FILE_HISTORY},
                       .wanted =
                           ARENA_ARRAY(txn_arena(t), struct owner_wanted, 2 * all->count + 1)};
    for (size_t i = 0; i < all->count; i++)
        want(&s, i);
    if (s.count == 0)
        return OK;
    owner_sort(s.wanted, s.count);
    TRY(owner_each_row(t, all, STR("n"), match_linked, &s));
    TRY(owner_each_row(t, all, STR("e"), match_entry, &s));
    s.past = true;
    return all_told(&s) ? OK : owner_each_row(t, all, STR("he"), match_entry, &s);
}
