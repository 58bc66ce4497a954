/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/tags/find.h"

#include "service/blob/protect.h"
#include "service/blob/tags/tag_index.h"
#include "service/blob/tags/tags.h"
#include "service/common/name.h"
#include "service/common/rows.h"

/* A running search. */
struct search {
    struct txn *txn;
    struct blob_find_args *args;
    struct cursor *rows;          /* walks the rows of the leading comparison's tag */
    struct cursor *probe;         /* checks if a name has another tag's value */
    const struct tag_step *leads; /* the leading comparison */
    struct str lower;             /* the least value of its tag that can match; may be empty */
    struct str upper;             /* the greatest; absent if there is none */
    bool needs_head;              /* more is wanted than the leading tag */
    struct str only;              /* the only container that can match; absent if any can */
    size_t found;
    size_t looked_at;
    bool full;
    /* The container that the search is in. */
    struct str partition;
    struct tag_index_id id;
    struct str prefix; /* of its rows of the leading tag */
    bool has_expired; /* the index may contain expired blobs that the sweeper has not removed yet */
    /* Reused for each row, so that a long search needs no more memory than a short one. */
    struct buf probe_key;
    struct buf agreed;
};

/* ---- the expression ---- */

static bool is_comparison(const struct tag_step *step)
{
    return step->op != TAG_AND && step->op != TAG_OR;
}

static bool names_tag(const struct tag_step *step)
{
    return is_comparison(step) && !step->container;
}

static bool was_named(const struct tag_expression *where, size_t until)
{
    for (size_t i = 0; i < until; i++)
        if (names_tag(&where->steps[i]) && str_eq(where->steps[i].name, where->steps[until].name))
            return true;
    return false;
}

size_t blob_find_tags(const struct tag_expression *where)
{
    size_t count = 0;
    for (size_t i = 0; i < where->count; i++)
        count += names_tag(&where->steps[i]) && !was_named(where, i);
    return count;
}

bool blob_find_can(const struct tag_expression *where)
{
    size_t tags = 0;
    for (size_t i = 0; i < where->count; i++) {
        const struct tag_step *step = &where->steps[i];
        if (is_comparison(step) && step->container && step->value.n > NAME_BYTES_MAX)
            return false;
        if (!names_tag(step))
            continue;
        if (!blob_tag_text(step->name) || !blob_tag_text(step->value))
            return false;
        tags++;
    }
    return tags > 0;
}

static const struct tag_step *choose_leader(const struct tag_expression *where)
{
    const struct tag_step *first = NULL;
    for (size_t i = 0; i < where->count; i++) {
        const struct tag_step *step = &where->steps[i];
        if (names_tag(step) && step->op == TAG_EQ)
            return step;
        if (names_tag(step) && first == NULL)
            first = step;
    }
    return first;
}

/* All comparisons must hold (there is no OR), so each can only narrow the range. */
static void narrow(struct search *s, const struct tag_step *step)
{
    bool from = step->op == TAG_EQ || step->op == TAG_GT || step->op == TAG_GE;
    bool to = step->op == TAG_EQ || step->op == TAG_LT || step->op == TAG_LE;
    if (from && str_cmp(step->value, s->lower) > 0)
        s->lower = step->value;
    if (to && (!str_given(s->upper) || str_cmp(step->value, s->upper) < 0))
        s->upper = step->value;
}

static void plan(struct search *s)
{
    const struct tag_expression *where = s->args->where;
    s->leads = choose_leader(where);
    s->lower = STR("");
    s->only = s->args->container;
    s->needs_head = s->args->versions;
    for (size_t i = 0; i < where->count; i++) {
        const struct tag_step *step = &where->steps[i];
        if (!is_comparison(step))
            continue;
        if (step->container) {
            if (step->op == TAG_EQ && !str_given(s->only))
                s->only = step->value;
        } else if (str_eq(step->name, s->leads->name)) {
            narrow(s, step);
        } else {
            s->needs_head = true;
        }
    }
}

/* ---- one row ---- */

static struct str row_at(struct search *s, struct str value, struct str item)
{
    struct buf key = buf_in(txn_arena(s->txn));
    buf_put(&key, s->prefix);
    buf_put(&key, value);
    buf_putc(&key, 0);
    buf_put(&key, item);
    return buf_str(&key);
}

/* Finds the first item, not before this one, that has the step's value; absent if there is none. */
static struct err probe(struct search *s, const struct tag_step *step, struct str item,
                        struct str *out)
{
    struct buf *key = &s->probe_key;
    buf_clear(key);
    tag_index_put_prefix(key, s->id, step->name);
    buf_put(key, step->value);
    buf_putc(key, 0);
    size_t before_item = key->n;
    buf_put(key, item);
    *out = STR_NONE;
    if (s->probe == NULL)
        TRY(cursor_open_across(s->txn, s->partition, s->partition, buf_str(key), &s->probe));
    else
        TRY(cursor_seek_across(s->probe, s->partition, buf_str(key)));
    if (!s->probe->valid || !str_eq(s->probe->partition, s->partition) ||
        !str_starts(s->probe->key, str_head(buf_str(key), before_item)))
        return OK;
    buf_clear(&s->agreed);
    buf_put(&s->agreed, str_from(s->probe->key, before_item));
    *out = buf_str(&s->agreed);
    return OK;
}

/* Under a leading equality: finds the first item, not before this one, that may satisfy all other
 * equalities. It is the same item if it satisfies them; absent if no further item can. */
static struct err agree(struct search *s, struct str item, struct str *out)
{
    const struct tag_expression *where = s->args->where;
    *out = item;
    for (size_t i = 0; s->leads->op == TAG_EQ && i < where->count; i++) {
        const struct tag_step *step = &where->steps[i];
        if (!names_tag(step) || step->op != TAG_EQ || str_eq(step->name, s->leads->name))
            continue;
        TRY(probe(s, step, *out, out));
        if (!str_given(*out))
            return OK;
    }
    return OK;
}

/* An entry of the index. */
static bool item_is(const struct search *s, struct str item, struct str *name, struct blob_at *at)
{
    *name = item;
    *at = (struct blob_at){.item = BLOB_BASE};
    if (s->id.kind == TAG_INDEX_BLOBS)
        return true;
    at->item = BLOB_VERSION;
    return tag_index_split_version(item, name, &at->time);
}

static struct err load_head(struct search *s, struct str name, const struct blob_at *at,
                            struct blob_head *out)
{
    struct arena *a = txn_arena(s->txn);
    struct buf key = buf_in(a);
    struct str row;
    buf_put(&key, blob_key_heads(a, s->id.incarnation, STR("")));
    buf_put(&key, name);
    TRY(row_get_in(s->txn, s->partition, blob_key_of_items(a, buf_str(&key), at), &row));
    return str_given(row) ? blob_head_decode(row, out) : err_new(ERR_CORRUPT);
}

/* Reads the item as far as the expression and the response need it; *there is false if it has
 * expired. */
static struct err load_item(struct search *s, struct str value, struct str item,
                            struct blob_found *out, bool *there)
{
    struct blob_head head;
    struct blob_at at;
    struct str name;
    *there = true;
    if (!item_is(s, item, &name, &at))
        return err_new(ERR_CORRUPT);
    out->name = name;
    if (!s->needs_head && !s->has_expired) {
        struct buf tags = buf_in(txn_arena(s->txn));
        pairs_put(&tags, s->leads->name, value);
        out->tags = buf_str(&tags);
        return OK;
    }
    TRY(load_head(s, name, &at, &head));
    *there = at.item != BLOB_BASE || !blob_is_expired(&head, txn_now(s->txn));
    out->tags = head.tags;
    out->version = s->args->versions ? head.version : 0;
    out->is_current = at.item == BLOB_BASE;
    return OK;
}

/* The marker after a page: container 00 kind row. */
static void end_page(struct search *s, struct str rest)
{
    struct buf next = buf_in(s->args->arena);
    buf_put(&next, blob_partition_container(s->partition));
    buf_putc(&next, 0);
    buf_putc(&next, (char)s->id.kind);
    buf_put(&next, rest);
    s->args->next = buf_str(&next);
    s->full = true;
}

/* Emits the blob if the whole expression holds. */
static struct err take(struct search *s, struct str rest, struct str value, struct str item)
{
    struct blob_find_args *args = s->args;
    struct blob_found blob = {.container = blob_partition_container(s->partition)};
    bool there;
    TRY(load_item(s, value, item, &blob, &there));
    if (!there || !tag_expression_holds(args->where, blob.tags, blob.container))
        return cursor_next(s->rows);
    if (s->found == args->max) {
        end_page(s, rest);
        return OK;
    }
    s->found++;
    blob.name = name_from_key(args->arena, blob.name);
    args->found(args->sink, &blob);
    return cursor_next(s->rows);
}

/* *over is set when the container has no more. */
static struct err take_row(struct search *s, bool *over)
{
    struct str rest = str_from(s->rows->key, s->prefix.n);
    struct str value, item, agreed;
    if (!tag_index_split(rest, &value, &item))
        return err_new(ERR_CORRUPT);
    *over = str_given(s->upper) && str_cmp(value, s->upper) > 0;
    if (*over)
        return OK;
    if (s->looked_at++ >= FIND_LOOKS_MAX) {
        end_page(s, rest);
        return OK;
    }
    TRY(agree(s, item, &agreed));
    *over = !str_given(agreed);
    if (*over)
        return OK;
    if (str_eq(agreed, item))
        return take(s, rest, value, item);
    return cursor_seek_across(s->rows, s->partition, row_at(s, value, agreed));
}

/* ---- one container ---- */

static bool in_prefix(const struct search *s)
{
    return s->rows->valid && str_eq(s->rows->partition, s->partition) &&
           str_starts(s->rows->key, s->prefix);
}

/* The position in this container from an earlier page: the kind of rows and the last one. False if
 * the page ended in another. */
static bool left_off(const struct search *s, enum tag_index_kind *kind, struct str *rest)
{
    struct str container = blob_partition_container(s->partition);
    struct str marker = s->args->marker;
    if (!str_given(marker) || !str_starts(marker, container) || marker.n < container.n + 2 ||
        marker.p[container.n] != 0)
        return false;
    *kind = marker.p[container.n + 1] == TAG_INDEX_VERSIONS ? TAG_INDEX_VERSIONS : TAG_INDEX_BLOBS;
    *rest = str_from(marker, container.n + 2);
    return true;
}

/* The container's first relevant row: the least value, or where the last page ended. */
static struct str first_row(struct search *s)
{
    enum tag_index_kind kind;
    struct str rest, from = s->lower;
    if (left_off(s, &kind, &rest) && kind == s->id.kind && str_cmp(rest, from) > 0)
        from = rest;
    struct buf key = buf_in(txn_arena(s->txn));
    buf_put(&key, s->prefix);
    buf_put(&key, from);
    return buf_str(&key);
}

static struct err search_rows(struct search *s, enum tag_index_kind kind)
{
    bool over = false;
    s->id.kind = kind;
    s->prefix = tag_index_prefix(txn_arena(s->txn), s->id, s->leads->name);
    TRY(cursor_seek_across(s->rows, s->partition, first_row(s)));
    while (!over && !s->full && in_prefix(s))
        TRY(take_row(s, &over));
    if (s->probe != NULL)
        cursor_close(s->probe);
    s->probe = NULL;
    return OK;
}

/* Expired blobs are in the index until the sweeper removes them. One search tells if there are any;
 * if not, no head has to be read for that. */
static struct err look_for_expired(struct search *s)
{
    struct str first = blob_key_all_timed(txn_arena(s->txn), BLOB_TIMED_EXPIRY, s->id.incarnation);
    int64_t time = INT64_MAX;
    struct str head_key;
    TRY(cursor_seek_across(s->rows, s->partition, first));
    if (s->rows->valid && str_eq(s->rows->partition, s->partition) &&
        str_starts(s->rows->key, first) &&
        !blob_key_parse_timed(txn_arena(s->txn), s->rows->key, &time, &head_key))
        return err_new(ERR_CORRUPT);
    s->has_expired = time <= txn_now(s->txn);
    return OK;
}

static struct err search_container(struct search *s, uint64_t incarnation)
{
    enum tag_index_kind from = TAG_INDEX_BLOBS;
    struct str rest;
    s->id.incarnation = incarnation;
    TRY(look_for_expired(s));
    (void)left_off(s, &from, &rest);
    if (from == TAG_INDEX_BLOBS)
        TRY(search_rows(s, TAG_INDEX_BLOBS));
    return s->args->versions && !s->full ? search_rows(s, TAG_INDEX_VERSIONS) : OK;
}

/* ---- all of them ---- */

/* Loads the container's row; *live is false if there is no visible container. */
static struct err load_container(struct search *s, struct container *out, bool *live)
{
    struct str row;
    *live = false;
    TRY(row_get_in(s->txn, s->partition, BLOB_KEY_CONTAINER, &row));
    return str_given(row) ? container_decode(row, out, live) : OK;
}

static struct err visit(struct search *s, bool *live)
{
    struct container container;
    TRY(load_container(s, &container, live));
    if (!*live)
        return OK;
    if (s->looked_at++ >= FIND_LOOKS_MAX) {
        s->id.kind = TAG_INDEX_BLOBS;
        end_page(s, STR(""));
        return OK;
    }
    return search_container(s, container.incarnation);
}

static struct err visit_only(struct search *s)
{
    bool live;
    s->partition = blob_partition(txn_arena(s->txn), s->args->account, s->only);
    TRY(visit(s, &live));
    return live || !str_given(s->args->container) ? OK : err_new(ERR_CONTAINER_NOT_FOUND);
}

static struct err visit_all(struct search *s)
{
    struct arena *a = txn_arena(s->txn);
    struct str from = s->args->marker;
    if (str_given(from)) {
        size_t end = str_find(from, 0, 0);
        from = str_head(from, end < NAME_BYTES_MAX ? end : NAME_BYTES_MAX);
        TRY(cursor_seek_across(s->rows, blob_partition(a, s->args->account, from), STR("")));
    }
    while (!s->full && s->rows->valid) {
        bool live;
        s->partition = arena_copy(a, s->rows->partition);
        TRY(visit(s, &live));
        struct buf after = buf_in(a);
        buf_put(&after, s->partition);
        buf_putc(&after, 0);
        if (!s->full)
            TRY(cursor_seek_across(s->rows, buf_str(&after), STR("")));
    }
    return OK;
}

struct err blob_find_blobs(struct txn *t, void *arg)
{
    struct blob_find_args *args = arg;
    struct arena *a = txn_arena(t);
    struct search s = {.txn = t, .args = args, .probe_key = buf_in(a), .agreed = buf_in(a)};
    plan(&s);
    args->next = STR_NONE;
    args->begin(args->sink);
    struct str all = blob_partition(a, args->account, STR(""));
    TRY(cursor_open_across(t, all, STR(""), STR(""), &s.rows));
    struct err e = str_given(s.only) ? visit_only(&s) : visit_all(&s);
    if (s.probe != NULL)
        cursor_close(s.probe);
    cursor_close(s.rows);
    return e;
}
