/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on tables, and what all table operations share. */
#include <assert.h>

#include "rest/policy_xml.h"
#include "rest/server.h"
#include "rest/table/rest.h"
#include "rest/table/token.h"

/* ---- shared ---- */

struct err rest_table_ref(struct rest_call *call, struct table_ref *out)
{
    assert(out != NULL);
    TRY(table_name_check(call->container));
    *out = (struct table_ref){call->account, table_name_lower(call->arena, call->container)};
    return OK;
}

/* The endpoint contains the Host header, which is written to JSON unescaped. */
static bool is_plain(char c)
{
    return c != '"' && c != '\\' && c >= 0x20 && c < 0x7F;
}

static struct str plain_endpoint(struct rest_call *call)
{
    struct str endpoint = call_endpoint(call);
    size_t plain = 0;
    while (plain < endpoint.n && is_plain(endpoint.p[plain]))
        plain++;
    if (plain == endpoint.n)
        return endpoint;
    char *text = arena_cstr(call->arena, endpoint);
    for (size_t i = plain; i < endpoint.n; i++)
        if (!is_plain(text[i]))
            text[i] = '_';
    return (struct str){text, endpoint.n};
}

struct err rest_table_view_of(struct rest_call *call, struct entity_view *out)
{
    assert(out != NULL);
    *out = (struct entity_view){
        .endpoint = plain_endpoint(call),
        .account = call->account,
        .table = call->container,
    };
    return rest_table_metadata_wanted(call, &out->metadata);
}

struct key_clip rest_table_clip_of(const struct rest_call *call)
{
    return (struct key_clip){call->who.start_pk, call->who.start_rk, call->who.end_pk,
                             call->who.end_rk};
}

struct err rest_table_permit_keys(struct rest_call *call, struct str pk, struct str rk)
{
    struct key_clip clip = rest_table_clip_of(call);
    return key_clip_holds(call->arena, &clip, pk, rk) ? OK : err_new(ERR_AUTHORIZATION_FAILURE);
}

static void in_tables_of_account(struct rest_call *call, void *args)
{
    call->partition = tables_partition(call->arena, call->account);
    call->args = args;
}

struct err rest_table_read_top(struct rest_call *call, unsigned *out)
{
    assert(out != NULL);
    struct str text = call_query(call, STR("$top"));
    uint64_t top = TABLE_PAGE_MAX;
    if (str_given(text) && (!str_to_u64(text, &top) || top > TABLE_PAGE_MAX))
        return err_new(ERR_INVALID_INPUT);
    *out = (unsigned)top;
    return OK;
}

/* ---- QueryTables ---- */

struct list_call {
    struct table_list list; /* first: run's argument */
    struct entity_view view;
};

static struct err decode_page(struct rest_call *call, struct table_list *list)
{
    struct str token = call_query(call, STR("NextTableName"));
    TRY(rest_table_read_top(call, &list->top));
    list->from = STR("");
    return str_given(token) && !rest_token_read(call->arena, token, &list->from)
               ? err_new(ERR_INVALID_INPUT)
               : OK;
}

struct err rest_query_tables_decode(struct rest_call *call)
{
    struct list_call *l = ARENA_NEW(call->arena, struct list_call);
    struct str text = call_query(call, STR("$filter"));
    l->list.arena = call->arena;
    TRY(rest_table_view_of(call, &l->view));
    TRY(decode_page(call, &l->list));
    if (str_given(text)) {
        struct filter *filter;
        TRY(filter_compile(call->arena, text, &filter));
        l->list.filter = filter;
    }
    in_tables_of_account(call, l);
    return OK;
}

struct err rest_query_tables_encode(struct rest_call *call)
{
    const struct list_call *l = call->args;
    rest_table_put_json_headers(call, l->view.metadata);
    if (str_given(l->list.next)) {
        struct buf token = buf_in(call->arena);
        rest_token_put(&token, l->list.next);
        call_put(call, STR("x-ms-continuation-NextTableName"), buf_str(&token));
    }
    rest_table_list_begin(&call->out, &l->view);
    for (size_t i = 0; i < l->list.count; i++) {
        if (i > 0)
            buf_putc(&call->out, ',');
        rest_table_put_json(&call->out, &l->view, l->list.names[i], false);
    }
    buf_put(&call->out, STR("]}"));
    return OK;
}

/* ---- GetTable ---- */

struct get_call {
    struct table_get get; /* first: run's argument */
    struct entity_view view;
};

struct err rest_get_table_decode(struct rest_call *call)
{
    struct get_call *g = ARENA_NEW(call->arena, struct get_call);
    g->get = (struct table_get){.arena = call->arena, .name = call->container};
    TRY(table_name_check(call->container));
    TRY(rest_table_view_of(call, &g->view));
    in_tables_of_account(call, g);
    return OK;
}

struct err rest_get_table_encode(struct rest_call *call)
{
    const struct get_call *g = call->args;
    rest_table_put_json_headers(call, g->view.metadata);
    rest_table_put_json(&call->out, &g->view, g->get.table.name, true);
    return OK;
}

/* ---- CreateTable ---- */

struct create_call {
    struct table_create create; /* first: run's argument */
    struct entity_view view;
    enum rest_table_prefer prefer;
};

struct err rest_create_table_decode(struct rest_call *call)
{
    struct create_call *c = ARENA_NEW(call->arena, struct create_call);
    TRY(rest_table_check_content_type(call));
    TRY(rest_table_view_of(call, &c->view));
    c->prefer = rest_table_prefer(call);
    TRY(rest_table_name_from_json(call->arena, call->body, &c->create.name));
    if (!str_given(c->create.name))
        return err_new(ERR_PROPERTIES_NEED_VALUE);
    TRY(table_name_check(c->create.name));
    in_tables_of_account(call, c);
    return OK;
}

struct err rest_create_table_encode(struct rest_call *call)
{
    const struct create_call *c = call->args;
    struct str name = c->create.name;
    struct str address =
        arena_printf(call->arena, "%.*sTables('%.*s')", STR_ARG(c->view.endpoint), STR_ARG(name));
    call_put(call, STR("Location"), address);
    if (!rest_table_put_created(call, c->prefer)) {
        call_put(call, STR("DataServiceId"), address);
        return OK;
    }
    rest_table_put_json_headers(call, c->view.metadata);
    rest_table_put_json(&call->out, &c->view, name, true);
    return OK;
}

/* ---- DeleteTable ---- */

struct err rest_delete_table_decode(struct rest_call *call)
{
    struct table_delete *delete = ARENA_NEW(call->arena, struct table_delete);
    TRY(table_name_check(call->container));
    delete->name = call->container;
    delete->blocked_ticks = (int64_t)call->server->options.table_delete_seconds * TICKS_PER_SECOND;
    in_tables_of_account(call, delete);
    return OK;
}

struct err rest_delete_table_encode(struct rest_call *call)
{
    call->status = 204;
    return OK;
}

/* ---- GetTableACL, SetTableACL ---- */

struct err rest_get_table_acl_decode(struct rest_call *call)
{
    struct table_get *get = ARENA_NEW(call->arena, struct table_get);
    TRY(table_name_check(call->container));
    *get = (struct table_get){.arena = call->arena, .name = call->container};
    in_tables_of_account(call, get);
    return OK;
}

struct err rest_get_table_acl_encode(struct rest_call *call)
{
    const struct table_get *get = call->args;
    call_begin_xml(call);
    policies_put_xml(&call->out, get->table.acl);
    return OK;
}

struct err rest_set_table_acl_decode(struct rest_call *call)
{
    struct table_set_acl *set = ARENA_NEW(call->arena, struct table_set_acl);
    TRY(table_name_check(call->container));
    set->name = call->container;
    TRY(policies_from_xml(call, STR("raud"), &set->acl));
    in_tables_of_account(call, set);
    return OK;
}

struct err rest_set_table_acl_encode(struct rest_call *call)
{
    call->status = 204;
    return OK;
}
