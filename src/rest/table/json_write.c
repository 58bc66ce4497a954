/* SPDX-License-Identifier: Apache-2.0 */
/* Entities and tables to OData JSON. */
#include <math.h>

#include "core/guid.h"
#include "core/text/base64.h"
#include "core/text/uri.h"
#include "rest/table/json.h"

/* ---- addresses ---- */

/* A key in an address: quotes doubled, then percent-encoded. */
static void put_address_key(struct buf *out, struct str key)
{
    for (;;) {
        size_t quote = str_find(key, '\'', 0);
        uri_encode(out, str_head(key, quote), URI_KEEP_NONE);
        if (quote == key.n)
            return;
        buf_put(out, STR("%27%27"));
        key = str_from(key, quote + 1);
    }
}

void rest_entity_put_address(struct buf *out, struct str endpoint, struct str table, struct str pk,
                             struct str rk)
{
    buf_put(out, endpoint);
    buf_put(out, table);
    buf_put(out, STR("(PartitionKey='"));
    put_address_key(out, pk);
    buf_put(out, STR("',RowKey='"));
    put_address_key(out, rk);
    buf_put(out, STR("')"));
}

/* ---- values ---- */

static struct str double_name(double value)
{
    if (isnan(value))
        return STR("NaN");
    if (isinf(value))
        return value > 0 ? STR("Infinity") : STR("-Infinity");
    return STR_NONE;
}

/* Types that JSON shows by itself need no annotation: strings, booleans, Int32, and Doubles, which
 * always have a point or an exponent. */
static bool needs_type(struct edm_value value)
{
    switch (value.type) {
    case EDM_BINARY:
    case EDM_DATETIME:
    case EDM_GUID:
    case EDM_INT64:
        return true;
    case EDM_DOUBLE:
        return str_given(double_name(edm_double(value)));
    case EDM_STRING:
    case EDM_BOOLEAN:
    case EDM_INT32:
        break;
    }
    return false;
}

/* A text that needs no escapes, in quotes. */
static void put_plain(struct json_writer *w, struct str text)
{
    json_raw(w, STR("\""));
    buf_put(w->out, text);
    buf_putc(w->out, '"');
}

static void put_datetime(struct json_writer *w, int64_t ticks)
{
    json_raw(w, STR("\""));
    edm_put_datetime(w->out, ticks);
    buf_putc(w->out, '"');
}

static void put_double(struct json_writer *w, double value)
{
    struct str name = double_name(value);
    if (str_given(name))
        put_plain(w, name);
    else
        json_double(w, value);
}

static void put_guid(struct json_writer *w, struct edm_value value)
{
    struct guid guid;
    char text[GUID_TEXT_BYTES];
    memcpy(guid.bytes, value.bytes.p, sizeof guid.bytes);
    guid_text(&guid, text);
    put_plain(w, (struct str){text, sizeof text});
}

static void put_value(struct json_writer *w, struct edm_value value)
{
    switch (value.type) {
    case EDM_STRING:
        json_string(w, value.bytes);
        return;
    case EDM_BINARY:
        json_raw(w, STR("\""));
        base64_put(w->out, value.bytes);
        buf_putc(w->out, '"');
        return;
    case EDM_BOOLEAN:
        json_bool(w, edm_boolean(value));
        return;
    case EDM_DATETIME:
        put_datetime(w, edm_int64(value));
        return;
    case EDM_DOUBLE:
        put_double(w, edm_double(value));
        return;
    case EDM_GUID:
        put_guid(w, value);
        return;
    case EDM_INT32:
        json_i64(w, edm_int32(value));
        return;
    case EDM_INT64:
        json_raw(w, STR("\""));
        buf_put_i64(w->out, edm_int64(value));
        buf_putc(w->out, '"');
        return;
    }
}

/* "name@odata.type":"Edm.Guid" */
static void put_type(struct json_writer *w, struct str name, enum edm_type type)
{
    json_name(w, name);
    /* The name ends with a quote and a colon: the annotation goes before them. */
    w->out->n -= 2;
    buf_put(w->out, STR("@odata.type\":"));
    put_plain(w, edm_type_name(type));
}

/* ---- entities ---- */

static bool is_selected(const struct entity_view *view, struct str name)
{
    if (view->select == NULL)
        return true;
    for (size_t i = 0; i < view->select_count; i++)
        if (str_eq(view->select[i], name))
            return true;
    return false;
}

static void put_link(struct json_writer *w, const struct entity_view *view, const char *name,
                     struct str endpoint, const struct entity_found *entity)
{
    json_name(w, str_of(name));
    json_raw(w, STR("\""));
    rest_entity_put_address(w->out, endpoint, view->table, entity->pk, entity->rk);
    buf_putc(w->out, '"');
}

/* The ETag's quotes are escaped by hand: they are the same for every entity. */
static void put_etag(struct json_writer *w, int64_t stamp)
{
    char etag[ENTITY_ETAG_BYTES];
    entity_etag(stamp, etag);
    json_name(w, STR("odata.etag"));
    json_string(w, (struct str){etag, sizeof etag});
}

static void put_context(struct json_writer *w, const struct entity_view *view, struct str set,
                        bool alone)
{
    json_name(w, STR("odata.metadata"));
    json_raw(w, STR("\""));
    buf_put(w->out, view->endpoint);
    buf_put(w->out, STR("$metadata#"));
    buf_put(w->out, set);
    if (alone)
        buf_put(w->out, STR("/@Element"));
    buf_putc(w->out, '"');
}

static void put_annotations(struct json_writer *w, const struct entity_view *view,
                            const struct entity_found *entity)
{
    bool full = view->metadata == METADATA_FULL;
    if (full) {
        json_name(w, STR("odata.type"));
        json_raw(w, STR("\""));
        buf_printf(w->out, "%.*s.%.*s\"", STR_ARG(view->account), STR_ARG(view->table));
        put_link(w, view, "odata.id", view->endpoint, entity);
    }
    put_etag(w, entity_stamp(entity->record));
    if (full)
        put_link(w, view, "odata.editLink", STR(""), entity);
}

static void put_system_properties(struct json_writer *w, const struct entity_view *view,
                                  const struct entity_found *entity)
{
    if (is_selected(view, STR("PartitionKey"))) {
        json_name(w, STR("PartitionKey"));
        json_string(w, entity->pk);
    }
    if (is_selected(view, STR("RowKey"))) {
        json_name(w, STR("RowKey"));
        json_string(w, entity->rk);
    }
    if (is_selected(view, STR("Timestamp"))) {
        if (view->metadata == METADATA_FULL)
            put_type(w, STR("Timestamp"), EDM_DATETIME);
        json_name(w, STR("Timestamp"));
        put_datetime(w, entity_stamp(entity->record));
    }
}

void rest_entity_put_json(struct buf *out, const struct entity_view *view,
                          const struct entity_found *entity, bool alone)
{
    struct json_writer w = json_writer_of(out);
    struct entity_walk walk;
    struct property p;
    json_open(&w, '{');
    if (view->metadata != METADATA_NONE) {
        if (alone)
            put_context(&w, view, view->table, true);
        put_annotations(&w, view, entity);
    }
    put_system_properties(&w, view, entity);
    /* A row that cannot be decoded has no properties to show; the service has already checked
     * it. */
    if (!err_is(entity_open(entity->record, &walk))) {
        while (entity_next(&walk, &p)) {
            if (!is_selected(view, p.name))
                continue;
            if (view->metadata != METADATA_NONE && needs_type(p.value))
                put_type(&w, p.name, p.value.type);
            json_name(&w, p.name);
            put_value(&w, p.value);
        }
    }
    json_close(&w, '}');
}

static void list_begin(struct buf *out, const struct entity_view *view, struct str set)
{
    struct json_writer w = json_writer_of(out);
    json_open(&w, '{');
    if (view->metadata != METADATA_NONE)
        put_context(&w, view, set, false);
    json_name(&w, STR("value"));
    buf_putc(out, '[');
}

void rest_entity_list_begin(struct buf *out, const struct entity_view *view)
{
    list_begin(out, view, view->table);
}

/* ---- tables ---- */

void rest_table_list_begin(struct buf *out, const struct entity_view *view)
{
    list_begin(out, view, STR("Tables"));
}

void rest_table_put_json(struct buf *out, const struct entity_view *view, struct str name,
                         bool alone)
{
    struct json_writer w = json_writer_of(out);
    json_open(&w, '{');
    if (alone && view->metadata != METADATA_NONE)
        put_context(&w, view, STR("Tables"), true);
    if (view->metadata == METADATA_FULL) {
        json_name(&w, STR("odata.type"));
        json_raw(&w, STR("\""));
        buf_printf(out, "%.*s.Tables\"", STR_ARG(view->account));
        json_name(&w, STR("odata.id"));
        json_raw(&w, STR("\""));
        buf_printf(out, "%.*sTables('%.*s')\"", STR_ARG(view->endpoint), STR_ARG(name));
        json_name(&w, STR("odata.editLink"));
        json_raw(&w, STR("\""));
        buf_printf(out, "Tables('%.*s')\"", STR_ARG(name));
    }
    json_name(&w, STR("TableName"));
    json_string(&w, name);
    json_close(&w, '}');
}
