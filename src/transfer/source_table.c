/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and their entities in the table service's OData JSON: with types where JSON alone does not
 * show them, without values that every server generates (ETag, Timestamp). */
#include "import/document.h"
#include "transfer/part.h"

static bool is_made_anew(struct str name)
{
    return str_starts(name, STR("odata.")) || str_eq(name, STR("Timestamp")) ||
           str_eq(name, STR("Timestamp@odata.type"));
}

static struct err take_entity(struct part *p, const struct node *entity)
{
    json_open(&p->w, '{');
    for (const struct node *n = document_first(entity); n != NULL; n = n->next) {
        if (is_made_anew(n->name))
            continue;
        json_name(&p->w, n->name);
        json_raw(&p->w, n->source);
    }
    json_close(&p->w, '}');
    return part_added(p);
}

/* Where the next page begins. */
struct next {
    char partition[4096], row[4096];
    size_t partition_n, row_n;
    bool more;
};

static struct err keep_next(struct next *next, const struct remote_call *c)
{
    struct str partition = remote_answer(c, "x-ms-continuation-NextPartitionKey");
    struct str row = remote_answer(c, "x-ms-continuation-NextRowKey");
    next->more = str_given(partition);
    if (partition.n > sizeof next->partition || row.n > sizeof next->row)
        return err_detail(ERR_INVALID_INPUT, "the server's continuation is too long");
    next->partition_n = partition.n;
    next->row_n = row.n;
    if (partition.n > 0)
        memcpy(next->partition, partition.p, partition.n);
    if (row.n > 0)
        memcpy(next->row, row.p, row.n);
    return OK;
}

static struct err query(struct session *s, struct arena *a, struct remote_call *c,
                        const struct node **value)
{
    remote_header(c, "Accept", STR("application/json;odata=minimalmetadata"));
    remote_header(c, "DataServiceVersion", STR("3.0"));
    TRY(session_expect(s, a, c));
    const struct node *root = document_parse(a, c->body);
    *value = document_member(root, "value");
    return *value == NULL ? err_detail(ERR_INVALID_INPUT, "the server's answer is no list") : OK;
}

static struct err list_page(struct part *p, struct arena *a, struct next *next)
{
    const struct node *value;
    struct remote_call c = remote_call_of(
        REMOTE_TABLE, "GET", arena_printf(a, "%.*s()", STR_ARG(p->container)), STR_NONE);
    if (next->more) {
        remote_query(&c, "NextPartitionKey", (struct str){next->partition, next->partition_n});
        if (next->row_n > 0)
            remote_query(&c, "NextRowKey", (struct str){next->row, next->row_n});
    }
    TRY(query(p->walk->session, a, &c, &value));
    for (const struct node *n = document_first(value); n != NULL; n = n->next)
        TRY(take_entity(p, n));
    return keep_next(next, &c);
}

static struct err walk_entities(struct walk *w, struct str table)
{
    struct part p = {.walk = w, .kind = ITEM_ENTITIES, .name = "entities", .container = table};
    struct next *next;
    struct arena a, kept;
    struct err error;
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    arena_init(&kept, ITEM_ARENA_BYTES_MAX);
    next = ARENA_NEW(&kept, struct next);
    part_begin(&p);
    do {
        arena_reset(&a);
        error = list_page(&p, &a, next);
    } while (!err_is(error) && next->more);
    error = part_end(&p, error);
    arena_release(&kept);
    arena_release(&a);
    return error;
}

static struct err take_table(struct walk *w, struct str name)
{
    struct entry e = {.position = {.kind = ITEM_TABLE, .container = name}};
    if (!selection_has(w->selection, "table", name))
        return OK;
    TRY(source_walk_give(w, &e));
    if (w->skipping && !str_eq(w->after->container, name))
        return OK;
    return walk_entities(w, name);
}

static struct err list_tables(struct walk *w, struct arena *a, char next[256])
{
    const struct node *value;
    struct remote_call c = remote_call_of(REMOTE_TABLE, "GET", STR("Tables"), STR_NONE);
    if (next[0] != '\0')
        remote_query(&c, "NextTableName", arena_copy(a, str_of(next)));
    TRY(query(w->session, a, &c, &value));
    for (const struct node *n = document_first(value); n != NULL; n = n->next)
        TRY(take_table(w, document_text(n, "TableName")));
    struct str more = str_head(remote_answer(&c, "x-ms-continuation-NextTableName"), 255);
    memcpy(next, str_given(more) ? more.p : "", more.n);
    next[more.n] = '\0';
    return OK;
}

struct err source_walk_tables(struct walk *w)
{
    char next[256] = "";
    struct arena a;
    struct err error;
    TRY(source_walk_service(w, REMOTE_TABLE));
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    do {
        arena_reset(&a);
        error = list_tables(w, &a, next);
    } while (!err_is(error) && next[0] != '\0');
    arena_release(&a);
    return error;
}
