/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/find.h"

#include "service/blob/tag_index.h"
#include "service/blob/tags.h"
#include "service/common/name.h"

/* A search under way. */
struct search {
    struct txn *txn;
    struct blob_find_args *args;
    struct scan *rows;            /* walks the rows of the leading comparison's tag */
    struct scan *probe;           /* looks whether a name has another tag's value */
    const struct tag_step *leads; /* the leading comparison */
    struct str lower;             /* the least value of its tag that can be wanted; may be empty */
    struct str upper;             /* the greatest; absent when there is none */
    bool needs_head;              /* the expression names more tags than the leading one */
    struct str only;              /* the one container that can be wanted; absent when any can */
    size_t found;
    size_t looked_at;
    bool full;
    /* Where the container is that the search is in. */
    struct str partition;
    uint64_t incarnation;
    struct str prefix; /* of its rows of the leading tag */
    /* Used again for each row, so that a long search needs no more memory than a short one. */
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

/* All comparisons hold together (there is no OR), so each can only narrow the range. */
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

static struct str row_at(struct search *s, struct str value, struct str name)
{
    struct buf key = buf_in(txn_arena(s->txn));
    buf_put(&key, s->prefix);
    buf_put(&key, value);
    buf_putc(&key, 0);
    buf_put(&key, name);
    return buf_str(&key);
}

/* The first name, not before `name`, that has the step's value; absent when there is none. */
static struct err probe(struct search *s, const struct tag_step *step, struct str name,
                        struct str *out)
{
    struct buf *key = &s->probe_key;
    buf_clear(key);
    tag_index_put_prefix(key, s->incarnation, step->name);
    buf_put(key, step->value);
    buf_putc(key, 0);
    size_t before_name = key->n;
    buf_put(key, name);
    *out = STR_NONE;
    if (s->probe == NULL)
        TRY(scan_open_at(s->txn, s->partition, s->partition, buf_str(key), &s->probe));
    else
        TRY(scan_seek(s->probe, s->partition, buf_str(key)));
    if (!scan_valid(s->probe) || !str_eq(scan_partition(s->probe), s->partition) ||
        !str_starts(scan_key(s->probe), str_head(buf_str(key), before_name)))
        return OK;
    buf_clear(&s->agreed);
    buf_put(&s->agreed, str_from(scan_key(s->probe), before_name));
    *out = buf_str(&s->agreed);
    return OK;
}

/* Under a leading equality: the first name, not before this one, that all the other equalities
 * could allow. It is the same name when they all do; absent when they allow no more. */
static struct err agree(struct search *s, struct str name, struct str *out)
{
    const struct tag_expression *where = s->args->where;
    *out = name;
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

/* The blob's tags as far as the expression needs them. */
static struct err load_tags(struct search *s, struct str value, struct str name, struct str *out)
{
    struct arena *a = txn_arena(s->txn);
    struct blob_head head;
    struct str row;
    if (!s->needs_head) {
        struct buf tags = buf_in(a);
        pairs_put(&tags, s->leads->name, value);
        *out = buf_str(&tags);
        return OK;
    }
    struct blob_at base = {.item = BLOB_BASE};
    struct str heads = blob_key_heads(a, s->incarnation, STR(""));
    struct buf key = buf_in(a);
    buf_put(&key, heads);
    buf_put(&key, name);
    TRY(txn_peek(s->txn, s->partition, blob_key_of_items(a, buf_str(&key), &base), &row));
    if (!str_given(row))
        return err_new(ERR_CORRUPT);
    TRY(blob_head_decode(row, &head));
    *out = head.tags;
    return OK;
}

static void end_page(struct search *s, struct str rest)
{
    struct buf next = buf_in(s->args->arena);
    buf_put(&next, blob_partition_container(s->partition));
    buf_putc(&next, 0);
    buf_put(&next, rest);
    s->args->next = buf_str(&next);
    s->full = true;
}

/* Hands the blob over when the whole expression holds. */
static struct err take(struct search *s, struct str rest, struct str value, struct str name)
{
    struct blob_find_args *args = s->args;
    struct blob_found blob = {.container = blob_partition_container(s->partition)};
    TRY(load_tags(s, value, name, &blob.tags));
    if (!tag_expression_holds(args->where, blob.tags, blob.container))
        return scan_next(s->rows);
    if (s->found == args->max) {
        end_page(s, rest);
        return OK;
    }
    s->found++;
    blob.name = name_from_key(args->arena, name);
    args->found(args->sink, &blob);
    return scan_next(s->rows);
}

/* *over is set when the container has no more. */
static struct err take_row(struct search *s, bool *over)
{
    struct str rest = str_from(scan_key(s->rows), s->prefix.n);
    struct str value, name, agreed;
    if (!tag_index_split(rest, &value, &name))
        return err_new(ERR_CORRUPT);
    *over = str_given(s->upper) && str_cmp(value, s->upper) > 0;
    if (*over)
        return OK;
    if (s->looked_at++ >= FIND_LOOKS_MAX) {
        end_page(s, rest);
        return OK;
    }
    TRY(agree(s, name, &agreed));
    *over = !str_given(agreed);
    if (*over)
        return OK;
    if (str_eq(agreed, name))
        return take(s, rest, value, name);
    return scan_seek(s->rows, s->partition, row_at(s, value, agreed));
}

/* ---- one container ---- */

static bool in_prefix(const struct search *s)
{
    return scan_valid(s->rows) && str_eq(scan_partition(s->rows), s->partition) &&
           str_starts(scan_key(s->rows), s->prefix);
}

/* Where the container's rows begin to matter: at the least value, or where a page before ended. */
static struct str first_row(struct search *s)
{
    struct str container = blob_partition_container(s->partition);
    struct str marker = s->args->marker;
    struct str from = s->lower;
    if (str_given(marker) && str_starts(marker, container) && marker.n > container.n &&
        marker.p[container.n] == 0) {
        struct str rest = str_from(marker, container.n + 1);
        from = str_cmp(rest, from) > 0 ? rest : from;
    }
    struct buf key = buf_in(txn_arena(s->txn));
    buf_put(&key, s->prefix);
    buf_put(&key, from);
    return buf_str(&key);
}

static struct err search_container(struct search *s, uint64_t incarnation)
{
    bool over = false;
    s->incarnation = incarnation;
    s->prefix = tag_index_prefix(txn_arena(s->txn), incarnation, s->leads->name);
    TRY(scan_seek(s->rows, s->partition, first_row(s)));
    while (!over && !s->full && in_prefix(s))
        TRY(take_row(s, &over));
    if (s->probe != NULL)
        scan_close(s->probe);
    s->probe = NULL;
    return OK;
}

/* ---- all of them ---- */

/* The container's own row; *live is false when there is none that shows. */
static struct err load_container(struct search *s, struct container *out, bool *live)
{
    struct str row;
    *live = false;
    TRY(txn_peek(s->txn, s->partition, BLOB_KEY_CONTAINER, &row));
    return str_given(row) ? container_decode(row, out, live) : OK;
}

static struct err visit(struct search *s, bool *live)
{
    struct container container;
    TRY(load_container(s, &container, live));
    if (!*live)
        return OK;
    if (s->looked_at++ >= FIND_LOOKS_MAX) {
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
        TRY(scan_seek(s->rows, blob_partition(a, s->args->account, from), STR("")));
    }
    while (!s->full && scan_valid(s->rows)) {
        bool live;
        s->partition = arena_copy(a, scan_partition(s->rows));
        TRY(visit(s, &live));
        struct buf after = buf_in(a);
        buf_put(&after, s->partition);
        buf_putc(&after, 0);
        if (!s->full)
            TRY(scan_seek(s->rows, buf_str(&after), STR("")));
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
    TRY(scan_open(t, all, &s.rows));
    struct err e = str_given(s.only) ? visit_only(&s) : visit_all(&s);
    if (s.probe != NULL)
        scan_close(s.probe);
    scan_close(s.rows);
    return e;
}
