/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/path/path_carry.h"

#include <stdlib.h>

#include "core/mem.h"
#include "service/blob/block/block.h"
#include "service/blob/copy/copy_state.h"
#include "service/common/name.h"

/* A directory of the source, and the number for its new id. */
struct carry_directory {
    uint64_t id;
    uint32_t number;
};

enum carried_kind {
    CARRIED_HEAD,
    CARRIED_CONTENT, /* a chunk of a content's map */
    CARRIED_LIST,    /* a row of its committed blocks */
    CARRIED_SHARES,  /* how many heads name it */
    CARRIED_SET,     /* of uncommitted blocks */
    CARRIED_BLOCK,   /* one of them */
};

/* A row of the source. Ids are numbers until it is written. */
struct carried_row {
    struct carried_row *next;
    enum carried_kind kind;
    uint32_t number; /* of what its key names: a directory, a content, a set */
    struct str rest; /* the rest of the key after the id; for a head and a set the last name */
    struct str value, body;
    uint64_t count; /* of shares */
    /* For a head: the numbers of what it names, 0 for none. For a set: the directory of its
     * file. */
    struct blob_at at;
    uint32_t content, blocks, directory;
};

uint64_t carry_id(uint32_t move, uint32_t number)
{
    return UINT64_C(1) << 63 | (uint64_t)(move & INT32_MAX) << 32 | number;
}

void carry_init(struct carry *c, uint64_t incarnation, struct str name)
{
    *c = (struct carry){.incarnation = incarnation, .name = name, .after = buf_heap()};
    arena_init(&c->arena, SIZE_MAX);
}

void carry_release(struct carry *c)
{
    free(c->directories);
    buf_release(&c->after);
    arena_release(&c->arena);
}

void carry_next(struct carry *c)
{
    c->at = c->next;
    buf_clear(&c->after);
    buf_put(&c->after, c->next_after);
}

/* ---- reading ---- */

/* A content that heads of one name share. */
struct shared {
    struct shared *next;
    uint64_t id;
    uint32_t number;
    uint64_t count;
};

/* All heads of one name. */
struct name_read {
    struct carry *c;
    struct txn *txn;
    uint32_t directory; /* that it comes to */
    struct str to_name; /* the key up to its end; absent: none is being read */
    struct str leaf;    /* in key form */
    struct shared *shared;
};

static struct carried_row *add_row(struct carry *c, enum carried_kind kind, uint32_t number,
                                   struct str value)
{
    struct carried_row *row = ARENA_NEW(&c->arena, struct carried_row);
    *row =
        (struct carried_row){.kind = kind, .number = number, .value = arena_copy(&c->arena, value)};
    *c->end = row;
    c->end = &row->next;
    c->row_count++;
    c->bytes += value.n;
    return row;
}

static struct err add_prefix(struct name_read *n, enum carried_kind kind, uint32_t number,
                             struct str prefix)
{
    struct cursor *c;
    struct err e = OK;
    TRY(cursor_open(n->txn, prefix, &c));
    while (!err_is(e) && c->valid) {
        if (c->key.n > prefix.n) { /* a set's main row is added with its head */
            struct carried_row *row = add_row(n->c, kind, number, c->value);
            row->rest = arena_copy(&n->c->arena, str_from(c->key, prefix.n));
        }
        e = cursor_next(c);
    }
    cursor_close(c);
    return e;
}

static struct err add_content(struct name_read *n, const struct blob_head *head, uint32_t *number)
{
    struct arena *a = txn_arena(n->txn);
    struct shared *s = n->shared;
    *number = 0;
    if (head->content == 0)
        return OK;
    while (s != NULL && s->id != head->content)
        s = s->next;
    if (s != NULL) {
        s->count++;
        *number = s->number;
        return OK;
    }
    s = ARENA_NEW(a, struct shared);
    *s = (struct shared){n->shared, head->content, ++n->c->next.numbers, 1};
    n->shared = s;
    *number = s->number;
    if (head->content_beside)
        return OK;
    TRY(add_prefix(n, CARRIED_CONTENT, s->number,
                   blob_key_content(a, n->c->incarnation, head->content)));
    return add_prefix(n, CARRIED_LIST, s->number,
                      blob_key_block_list(a, n->c->incarnation, head->content));
}

static struct err add_blocks(struct name_read *n, const struct blob_head *head, uint32_t *number)
{
    struct str key = blob_key_blocks(txn_arena(n->txn), n->c->incarnation, head->blocks), row;
    *number = 0;
    if (head->blocks == 0)
        return OK;
    *number = ++n->c->next.numbers;
    TRY(txn_get(n->txn, key, &row));
    if (!str_given(row))
        return err_new(ERR_CORRUPT);
    struct carried_row *set = add_row(n->c, CARRIED_SET, *number, row);
    set->directory = n->directory;
    set->rest = n->leaf;
    return add_prefix(n, CARRIED_BLOCK, *number, key);
}

static uint32_t add_directory(struct carry *c, uint64_t id)
{
    if (c->next.found == c->capacity) {
        c->capacity = c->capacity == 0 ? 16 : c->capacity * 2;
        c->directories = mem_realloc(c->directories, c->capacity * sizeof *c->directories);
    }
    uint32_t number = ++c->next.numbers;
    c->directories[c->next.found++] = (struct carry_directory){id, number};
    return number;
}

static struct err check_no_copy(const struct blob_head *head)
{
    struct blob_copy_state copy;
    if (!str_given(head->copy))
        return OK;
    TRY(blob_copy_decode(head->copy, &copy));
    return copy.status == BLOB_COPY_PENDING ? err_new(ERR_PENDING_COPY_OPERATION) : OK;
}

static struct err add_head(struct name_read *n, struct str key, struct str value,
                           const struct blob_at *at)
{
    struct carry *c = n->c;
    struct carried_row found = {.at = *at};
    struct blob_head head;
    struct str body = STR_NONE;
    TRY(blob_head_decode(value, &head));
    TRY(check_no_copy(&head));
    TRY(add_content(n, &head, &found.content));
    TRY(add_blocks(n, &head, &found.blocks));
    if (head.path.directory)
        found.directory = add_directory(c, head.path.id);
    if (blob_head_has_body(&head))
        TRY(blob_load_body(n->txn, key, &head, &body));
    struct carried_row *row = add_row(c, CARRIED_HEAD, n->directory, value);
    row->rest = n->leaf;
    row->body = arena_copy(&c->arena, body);
    row->at = found.at;
    row->content = found.content;
    row->blocks = found.blocks;
    row->directory = found.directory;
    c->bytes += body.n;
    return OK;
}

static void end_name(struct name_read *n)
{
    for (const struct shared *s = n->shared; s != NULL; s = s->next)
        if (s->count > 1)
            add_row(n->c, CARRIED_SHARES, s->number, STR_NONE)->count = s->count;
    n->shared = NULL;
    if (str_given(n->to_name))
        n->c->next_after = n->to_name;
}

/* One row of a directory. *full: the page ends before it. */
static struct err take_row(struct name_read *n, const struct cursor *c, size_t head_bytes,
                           bool *full)
{
    struct arena *a = &n->c->arena;
    struct str name;
    struct blob_at at;
    if (!blob_key_parse_head(c->key, &name, &at))
        return err_new(ERR_CORRUPT);
    struct str to_name = blob_key_to_name(c->key);
    if (!str_given(n->to_name) || !str_eq(to_name, n->to_name)) {
        end_name(n);
        *full = n->c->row_count >= CARRY_PAGE_ROWS || n->c->bytes >= CARRY_PAGE_BYTES;
        if (*full)
            return OK;
        n->to_name = arena_copy(a, to_name);
        n->leaf = str_from(n->to_name, head_bytes);
    }
    /* Soft-deleted items are not moved; they are removed with the source. */
    return at.deleted ? OK : add_head(n, arena_copy(txn_arena(n->txn), c->key), c->value, &at);
}

/* The heads under the prefix, whose names begin after head_bytes. */
static struct err read_heads(struct name_read *n, struct str prefix, size_t head_bytes, bool *full)
{
    struct cursor *c;
    TRY(cursor_open(n->txn, prefix, &c));
    struct err e = OK;
    if (n->c->next_after.n > 0) {
        struct buf past = buf_in(txn_arena(n->txn));
        buf_put(&past, n->c->next_after);
        buf_putc(&past, 0);
        e = cursor_skip(c, buf_str(&past));
    }
    while (!err_is(e) && c->valid && !*full) {
        e = take_row(n, c, head_bytes, full);
        if (!err_is(e) && !*full)
            e = cursor_next(c);
    }
    cursor_close(c);
    if (!*full)
        end_name(n);
    return e;
}

/* Reads the path itself, before all else. */
static struct err read_root(struct txn *t, struct carry *c)
{
    struct arena *a = txn_arena(t);
    struct name_read n = {.c = c, .txn = t, .directory = CARRY_HOLDER};
    struct str prefix = blob_key_items(a, c->incarnation, c->name);
    size_t slash = str_find(c->name, '/', 0);
    struct str in = blob_key_heads(a, c->incarnation, str_head(c->name, slash + 1));
    bool full = false;
    TRY(read_heads(&n, prefix, in.n, &full));
    c->next.begun = true;
    c->next_after = STR_NONE;
    return OK;
}

static struct err read_directory(struct txn *t, struct carry *c, bool *full)
{
    struct arena *a = txn_arena(t);
    const struct carry_directory *d = &c->directories[c->next.read];
    struct name_read n = {.c = c, .txn = t, .directory = d->number};
    struct str prefix = blob_key_heads(a, c->incarnation, path_tree_entry_name(a, d->id, STR("")));
    TRY(read_heads(&n, prefix, prefix.n, full));
    if (*full)
        return OK;
    c->next.read++;
    c->next_after = STR_NONE;
    return OK;
}

struct err carry_read(struct txn *t, void *arg)
{
    struct carry *c = arg;
    bool full = false;
    arena_reset(&c->arena);
    c->rows = NULL;
    c->end = &c->rows;
    c->row_count = 0;
    c->bytes = 0;
    c->next = c->at;
    c->next_after = arena_copy(&c->arena, buf_str(&c->after));
    if (!c->next.begun)
        TRY(read_root(t, c));
    while (!full && c->next.read < c->next.found)
        TRY(read_directory(t, c, &full));
    c->last = !full;
    return OK;
}

/* ---- writing ---- */

struct writing {
    struct txn *txn;
    const struct container *container;
    uint32_t move;
};

static struct err put_with(struct writing *w, struct str prefix, const struct carried_row *row)
{
    struct buf key = buf_in(txn_arena(w->txn));
    buf_put(&key, prefix);
    buf_put(&key, row->rest);
    return txn_put(w->txn, buf_str(&key), row->value);
}

static struct err hold_pieces(struct txn *t, struct str row)
{
    struct reader r = reader_of(row);
    struct piece piece;
    while (piece_decode(&r, &piece))
        TRY(piece_claim(t, &piece, PIECE_HOLD));
    return reader_ok(&r) ? OK : err_new(ERR_CORRUPT);
}

static struct str entry_of(struct writing *w, uint32_t directory, struct str leaf)
{
    struct arena *a = txn_arena(w->txn);
    return path_tree_entry_name(a, carry_id(w->move, directory), name_from_key(a, leaf));
}

static struct err write_head(struct writing *w, const struct carried_row *row)
{
    struct blob blob = {.container = *w->container, .at = row->at, .body = row->body};
    TRY(blob_head_decode(row->value, &blob.head));
    blob.name = entry_of(w, row->number, row->rest);
    blob.key = blob_key_head(txn_arena(w->txn), w->container->incarnation, blob.name, &row->at);
    if (row->content != 0)
        blob.head.content = carry_id(w->move, row->content);
    if (row->blocks != 0)
        blob.head.blocks = carry_id(w->move, row->blocks);
    if (row->directory != 0)
        blob.head.path.id = carry_id(w->move, row->directory);
    return blob_save_unchanged(w->txn, &blob);
}

static struct err write_set(struct writing *w, const struct carried_row *row)
{
    struct blob blob = {.container = *w->container};
    struct block_set set;
    TRY(block_set_decode(row->value, &set));
    set.name = entry_of(w, row->directory, row->rest);
    blob.head.blocks = carry_id(w->move, row->number);
    return block_set_save(w->txn, &blob, &set);
}

static struct err write_shares(struct writing *w, const struct carried_row *row)
{
    struct buf value = buf_in(txn_arena(w->txn));
    buf_put_varint(&value, row->count);
    return txn_put(w->txn,
                   blob_key_shares(txn_arena(w->txn), w->container->incarnation,
                                   carry_id(w->move, row->number)),
                   buf_str(&value));
}

static struct err write_row(struct writing *w, const struct carried_row *row)
{
    struct arena *a = txn_arena(w->txn);
    uint64_t incarnation = w->container->incarnation, id = carry_id(w->move, row->number);
    switch (row->kind) {
    case CARRIED_HEAD:
        return write_head(w, row);
    case CARRIED_SET:
        return write_set(w, row);
    case CARRIED_SHARES:
        return write_shares(w, row);
    case CARRIED_LIST:
        return put_with(w, blob_key_block_list(a, incarnation, id), row);
    case CARRIED_CONTENT:
        TRY(hold_pieces(w->txn, row->value));
        return put_with(w, blob_key_content(a, incarnation, id), row);
    case CARRIED_BLOCK:
        TRY(hold_pieces(w->txn, row->value));
        return put_with(w, blob_key_blocks(a, incarnation, id), row);
    }
    return err_new(ERR_CORRUPT);
}

struct err carry_write(struct txn *t, const struct carry *c, const struct container *container,
                       uint32_t move)
{
    struct writing w = {t, container, move};
    for (const struct carried_row *row = c->rows; row != NULL; row = row->next)
        TRY(write_row(&w, row));
    return OK;
}
