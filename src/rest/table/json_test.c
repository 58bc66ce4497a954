/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/table/json.h"

#include "core/test.h"

static struct arena arena;

static struct str written(enum table_metadata metadata, struct str body, const struct str *select,
                          size_t select_count)
{
    struct entity_body entity;
    struct buf out = buf_in(&arena);
    CHECK_OK(rest_entity_from_json(&arena, body, &entity));
    struct entity_view view = {.metadata = metadata,
                               .endpoint = STR("http://h/a/"),
                               .account = STR("a"),
                               .table = STR("T"),
                               .select = select,
                               .select_count = select_count};
    struct entity_found found = {entity.pk, entity.rk, buf_str(&entity.entity.record)};
    rest_entity_put_json(&out, &view, &found, true);
    return buf_str(&out);
}

#define ALL_TYPES                                                                            \
    "{\"PartitionKey\":\"p\",\"RowKey\":\"it's\",\"s\":\"\\\"\",\"i\":5,\"d\":2,\"b\":true," \
    "\"d@odata.type\":\"Edm.Double\",\"l@odata.type\":\"Edm.Int64\",\"l\":\"7\",\"n\":null," \
    "\"x@odata.type\":\"Edm.Binary\",\"x\":\"AQID\",\"t\":\"1970-01-01T00:00:01.5\","        \
    "\"t@odata.type\":\"Edm.DateTime\",\"f@odata.type\":\"Edm.Double\",\"f\":\"-Infinity\"}"

void test_table_json_levels(void)
{
    arena_init(&arena, 1 << 24);
    CHECK_STR(written(METADATA_NONE, STR(ALL_TYPES), NULL, 0),
              STR("{\"PartitionKey\":\"p\",\"RowKey\":\"it's\",\"Timestamp\":"
                  "\"1970-01-01T00:00:00Z\",\"s\":\"\\\"\",\"i\":5,\"d\":2.0,\"b\":true,"
                  "\"l\":\"7\",\"x\":\"AQID\",\"t\":\"1970-01-01T00:00:01.5Z\","
                  "\"f\":\"-Infinity\"}"));
    CHECK_STR(written(METADATA_FULL, STR("{\"PartitionKey\":\"p\",\"RowKey\":\"it's\"}"), NULL, 0),
              STR("{\"odata.metadata\":\"http://h/a/$metadata#T/@Element\",\"odata.type\":\"a.T\","
                  "\"odata.id\":\"http://h/a/T(PartitionKey='p',RowKey='it%27%27s')\","
                  "\"odata.etag\":\"W/\\\"datetime'1970-01-01T00%3A00%3A00.0000000Z'\\\"\","
                  "\"odata.editLink\":\"T(PartitionKey='p',RowKey='it%27%27s')\","
                  "\"PartitionKey\":\"p\",\"RowKey\":\"it's\","
                  "\"Timestamp@odata.type\":\"Edm.DateTime\","
                  "\"Timestamp\":\"1970-01-01T00:00:00Z\"}"));
    struct str select[] = {STR("l"), STR("f"), STR("missing")};
    CHECK_STR(written(METADATA_MINIMAL, STR(ALL_TYPES), select, 3),
              STR("{\"odata.metadata\":\"http://h/a/$metadata#T/@Element\","
                  "\"odata.etag\":\"W/\\\"datetime'1970-01-01T00%3A00%3A00.0000000Z'\\\"\","
                  "\"l@odata.type\":\"Edm.Int64\",\"l\":\"7\","
                  "\"f@odata.type\":\"Edm.Double\",\"f\":\"-Infinity\"}"));
    arena_release(&arena);
}

static void refused(const char *body, enum err_code code)
{
    struct entity_body entity;
    struct err e = rest_entity_from_json(&arena, str_of(body), &entity);
    if (e.code != code)
        test_fail(__FILE__, __LINE__, "%s: %s", body, err_azure_code(e.code));
}

void test_table_json_refusals(void)
{
    arena_init(&arena, 1 << 24);
    refused("", ERR_OK);
    refused("{}", ERR_OK);
    refused("{\"a\":1,\"a\":2}", ERR_DUPLICATE_PROPERTIES_SPECIFIED);
    refused("{\"a\":1,\"a@odata.type\":\"Edm.Int64\",\"a\":2}", ERR_DUPLICATE_PROPERTIES_SPECIFIED);
    refused("{\"a\":{}}", ERR_INVALID_INPUT);
    refused("[]", ERR_INVALID_INPUT);
    refused("{\"a\":1}}", ERR_INVALID_INPUT);
    refused("{\"a\":\"1\",\"a@odata.type\":\"Edm.Nothing\"}", ERR_INVALID_INPUT);
    refused("{\"a\":1.5,\"a@odata.type\":\"Edm.Int32\"}", ERR_INVALID_INPUT);
    refused("{\"a\":5,\"a@odata.type\":\"Edm.String\"}", ERR_INVALID_INPUT);
    refused("{\"a\":true,\"a@odata.type\":\"Edm.Double\"}", ERR_INVALID_INPUT);
    refused("{\"a b\":1}", ERR_PROPERTY_NAME_INVALID);
    refused("{\"RowKey\":5}", ERR_INVALID_INPUT);
    arena_release(&arena);
}

/* A number without a type: Int32 if it fits, else Double. */
void test_table_json_untyped_numbers(void)
{
    arena_init(&arena, 1 << 24);
    struct entity_body body;
    struct entity_walk w;
    struct property p;
    CHECK_OK(rest_entity_from_json(
        &arena, STR("{\"a\":2147483647,\"b\":2147483648,\"c\":-1.0,\"d\":99999999999999999999}"),
        &body));
    static const enum edm_type want[] = {EDM_INT32, EDM_DOUBLE, EDM_DOUBLE, EDM_DOUBLE};
    CHECK_OK(entity_open(buf_str(&body.entity.record), &w));
    for (size_t i = 0; i < 4; i++) {
        CHECK(entity_next(&w, &p));
        CHECK_INT(p.value.type, want[i]);
    }
    arena_release(&arena);
}

void test_table_name_from_json(void)
{
    arena_init(&arena, 1 << 24);
    struct str name;
    CHECK_OK(rest_table_name_from_json(&arena, STR("{\"x\":1,\"TableName\":\"abc\"}"), &name));
    CHECK_STR(name, STR("abc"));
    CHECK_OK(rest_table_name_from_json(&arena, STR("{}"), &name));
    CHECK(!str_given(name));
    CHECK_ERR(rest_table_name_from_json(&arena, STR(""), &name), ERR_INVALID_INPUT);
    CHECK_ERR(rest_table_name_from_json(&arena, STR("{\"TableName\":[]}"), &name),
              ERR_INVALID_INPUT);
    arena_release(&arena);
}
