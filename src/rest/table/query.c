/* SPDX-License-Identifier: Apache-2.0 */
/* Query Entities, of one entity and of many. */
#include "rest/table/rest.h"
#include "rest/table/token.h"

/* ---- $select ---- */

static struct err decode_select(struct rest_call *call, struct entity_view *view)
{
    struct str list = call_query(call, STR("$select"));
    if (!str_given(list) || str_trim(list).n == 0)
        return OK;
    struct str *names = ARENA_ARRAY(call->arena, struct str, SELECT_MAX);
    while (str_given(list)) {
        struct str name = str_trim(str_cut(&list, ','));
        if (str_eq(name, STR("*")))
            return OK;
        if (name.n == 0)
            continue;
        if (view->select_count == SELECT_MAX)
            return err_new(ERR_INVALID_INPUT);
        names[view->select_count++] = name;
    }
    view->select = names;
    return OK;
}

/* ---- one entity ---- */

struct entity_call {
    struct entity_get get; /* first: run's argument */
    struct entity_view view;
};

struct err rest_query_entity_decode(struct rest_call *call)
{
    struct entity_call *c = ARENA_NEW(call->arena, struct entity_call);
    c->get.arena = call->arena;
    c->get.rk = call->key_rk;
    TRY(rest_table_ref(call, &c->get.ref));
    TRY(rest_table_view_of(call, &c->view));
    TRY(decode_select(call, &c->view));
    TRY(key_check(call->key_pk));
    TRY(key_check(call->key_rk));
    TRY(rest_table_permit_keys(call, call->key_pk, call->key_rk));
    call->partition = table_entities_partition(call->arena, &c->get.ref, call->key_pk);
    call->args = c;
    return OK;
}

struct err rest_query_entity_encode(struct rest_call *call)
{
    const struct entity_call *c = call->args;
    char etag[ENTITY_ETAG_BYTES];
    entity_etag(entity_stamp(c->get.record), etag);
    call_put(call, STR("ETag"), (struct str){etag, sizeof etag});
    rest_table_put_json_headers(call, c->view.metadata);
    struct entity_found entity = {call->key_pk, call->key_rk, c->get.record};
    rest_entity_put_json(&call->out, &c->view, &entity, true);
    return OK;
}

/* ---- many ---- */

struct query_call {
    struct entity_query query; /* first: run's argument */
    struct entity_view view;
    struct buf *out;
    bool any;
};

static void list_begins(void *context)
{
    struct query_call *c = context;
    buf_clear(c->out);
    rest_entity_list_begin(c->out, &c->view);
    c->any = false;
}

/* Written straight from the scan to the body: a page is copied once. */
static void list_goes_on(void *context, const struct entity_found *entity)
{
    struct query_call *c = context;
    if (c->any)
        buf_putc(c->out, ',');
    c->any = true;
    rest_entity_put_json(c->out, &c->view, entity, false);
}

/* OData options that the service does not have. */
static struct err refuse_options(struct rest_call *call)
{
    static const struct str names[] = {STR_INIT("$orderby"),     STR_INIT("$skip"),
                                       STR_INIT("$inlinecount"), STR_INIT("$expand"),
                                       STR_INIT("$count"),       STR_INIT("$skiptoken")};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_given(call_query(call, names[i])))
            return err_new(ERR_NOT_IMPLEMENTED);
    return OK;
}

/* The client's position. A RowKey without a PartitionKey is ignored. */
static struct err decode_position(struct rest_call *call, struct entity_query *q)
{
    struct str pk = call_query(call, STR("NextPartitionKey"));
    struct str rk = call_query(call, STR("NextRowKey"));
    if (!str_given(pk))
        return OK;
    if (!rest_token_read(call->arena, pk, &q->from_pk) ||
        (str_given(rk) && !rest_token_read(call->arena, rk, &q->from_rk)))
        return err_new(ERR_INVALID_INPUT);
    TRY(key_check(q->from_pk));
    return key_check(q->from_rk);
}

static struct err decode_options(struct rest_call *call, struct entity_query *q)
{
    struct str text = call_query(call, STR("$filter"));
    TRY(refuse_options(call));
    TRY(rest_table_read_top(call, &q->top));
    if (str_given(text)) {
        struct filter *filter;
        TRY(filter_compile(call->arena, text, &filter));
        q->filter = filter;
    }
    return decode_position(call, q);
}

struct err rest_query_entities_decode(struct rest_call *call)
{
    struct query_call *c = ARENA_NEW(call->arena, struct query_call);
    struct entity_query *q = &c->query;
    c->out = &call->out;
    *q = (struct entity_query){
        .arena = call->arena,
        .clip = rest_table_clip_of(call),
        .budget = TABLE_LOOP_ROWS,
        .begin = list_begins,
        .emit = list_goes_on,
        .context = c,
    };
    TRY(rest_table_ref(call, &q->ref));
    TRY(rest_table_view_of(call, &c->view));
    TRY(decode_select(call, &c->view));
    TRY(decode_options(call, q));
    call->partition = tables_partition(call->arena, call->account);
    call->args = c;
    return OK;
}

static void put_token(struct rest_call *call, struct str name, struct str key)
{
    struct buf token = buf_in(call->arena);
    rest_token_put(&token, key);
    call_put(call, name, buf_str(&token));
}

struct err rest_query_entities_encode(struct rest_call *call)
{
    const struct query_call *c = call->args;
    rest_table_put_json_headers(call, c->view.metadata);
    if (c->query.more) {
        put_token(call, STR("x-ms-continuation-NextPartitionKey"), c->query.next_pk);
        put_token(call, STR("x-ms-continuation-NextRowKey"), c->query.next_rk);
    }
    buf_put(&call->out, STR("]}"));
    return OK;
}
