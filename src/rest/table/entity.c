/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that change one entity. The method and the presence of If-Match determine which one:
 * the rows of ops_table.c distinguish them (rules T2 and T3). */
#include "rest/table/rest.h"

struct change_call {
    struct entity_change change; /* first: run's argument */
    struct entity_view view;     /* of an insert */
    enum rest_table_prefer prefer;
};

static void set_record(struct change_call *c, const struct entity_builder *entity)
{
    c->change.record = entity->record.p;
    c->change.record_n = entity->record.n;
}

/* The steps after the keys are known. */
static struct err prepare_change(struct rest_call *call, struct change_call *c)
{
    struct entity_change *change = &c->change;
    TRY(rest_table_ref(call, &change->ref));
    TRY(key_check(change->pk));
    TRY(key_check(change->rk));
    TRY(rest_table_permit_keys(call, change->pk, change->rk));
    call->partition = table_entities_partition(call->arena, &change->ref, change->pk);
    change->verdict = &call->verdict;
    call->key_pk = change->pk; /* an insert has them in the body */
    call->key_rk = change->rk;
    call->args = c;
    return OK;
}

/* ---- InsertEntity ---- */

struct err rest_insert_entity_decode(struct rest_call *call)
{
    struct change_call *c = ARENA_NEW(call->arena, struct change_call);
    struct entity_body body;
    TRY(rest_table_check_content_type(call));
    TRY(rest_table_view_of(call, &c->view));
    c->prefer = rest_table_prefer(call);
    TRY(rest_entity_from_json(call->arena, call->body, &body));
    if (!str_given(body.pk) || !str_given(body.rk))
        return err_new(ERR_PROPERTIES_NEED_VALUE);
    c->change.kind = CHANGE_INSERT;
    c->change.pk = body.pk;
    c->change.rk = body.rk;
    TRY(prepare_change(call, c));
    set_record(c, &body.entity);
    return entity_check_size(buf_str(&body.entity.record), body.pk, body.rk);
}

static void put_etag(struct rest_call *call, int64_t stamp)
{
    char etag[ENTITY_ETAG_BYTES];
    entity_etag(stamp, etag);
    call->etag = stamp;
    call_put(call, STR("ETag"), (struct str){etag, sizeof etag});
}

struct err rest_insert_entity_encode(struct rest_call *call)
{
    struct change_call *c = call->args;
    const struct entity_change *change = &c->change;
    struct buf address = buf_in(call->arena);
    rest_entity_put_address(&address, c->view.endpoint, c->view.table, change->pk, change->rk);
    put_etag(call, change->stamp);
    call_put(call, STR("Location"), buf_str(&address));
    if (!rest_table_put_created(call, c->prefer)) {
        call_put(call, STR("DataServiceId"), buf_str(&address));
        return OK;
    }
    struct entity_found entity = {change->pk, change->rk, {change->record, change->record_n}};
    rest_table_put_json_headers(call, c->view.metadata);
    rest_entity_put_json(&call->out, &c->view, &entity, true);
    return OK;
}

/* ---- the changes of an entity that the address names ---- */

static struct change_call *addressed_change(struct rest_call *call, enum entity_change_kind kind)
{
    struct change_call *c = ARENA_NEW(call->arena, struct change_call);
    c->change.kind = kind;
    c->change.pk = call->key_pk;
    c->change.rk = call->key_rk;
    return c;
}

/* If-None-Match has no meaning for entities. */
static struct err decode_match(struct rest_call *call, struct entity_match *out)
{
    struct str match = call_header(call, STR("If-Match"));
    if (str_given(call_header(call, STR("If-None-Match"))))
        return err_new(ERR_INVALID_INPUT);
    if (!str_given(match))
        return OK;
    return entity_match_parse(match, out);
}

/* Keys in the body are ignored: those of the address count, as in the service, where WCF does not
 * let an update change a key. */
static struct err decode_change(struct rest_call *call, enum entity_change_kind kind)
{
    struct change_call *c = addressed_change(call, kind);
    struct entity_body body;
    TRY(rest_table_check_content_type(call));
    TRY(decode_match(call, &c->change.match));
    TRY(prepare_change(call, c));
    TRY(rest_entity_from_json(call->arena, call->body, &body));
    set_record(c, &body.entity);
    return entity_check_size(buf_str(&body.entity.record), c->change.pk, c->change.rk);
}

struct err rest_update_entity_decode(struct rest_call *call)
{
    return decode_change(call, CHANGE_UPDATE);
}

struct err rest_merge_entity_decode(struct rest_call *call)
{
    return decode_change(call, CHANGE_MERGE);
}

struct err rest_insert_or_replace_entity_decode(struct rest_call *call)
{
    return decode_change(call, CHANGE_INSERT_OR_REPLACE);
}

struct err rest_insert_or_merge_entity_decode(struct rest_call *call)
{
    return decode_change(call, CHANGE_INSERT_OR_MERGE);
}

struct err rest_change_entity_encode(struct rest_call *call)
{
    const struct change_call *c = call->args;
    put_etag(call, c->change.stamp);
    call->status = 204;
    return OK;
}

/* ---- DeleteEntity ---- */

struct err rest_delete_entity_decode(struct rest_call *call)
{
    struct change_call *c = addressed_change(call, CHANGE_DELETE);
    if (!str_given(call_header(call, STR("If-Match"))))
        return call_missing_header(call, STR("If-Match"));
    TRY(decode_match(call, &c->change.match));
    return prepare_change(call, c);
}

/* No ETag: there is nothing left to have one. */
struct err rest_delete_entity_encode(struct rest_call *call)
{
    call->status = 204;
    return OK;
}
