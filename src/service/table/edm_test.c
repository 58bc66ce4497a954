/* SPDX-License-Identifier: Apache-2.0 */
#include "service/table/edm.h"

#include <math.h>

#include "core/test.h"

static struct arena arena;

static struct edm_value parsed(enum edm_type type, const char *text)
{
    struct edm_value v;
    CHECK_OK(edm_parse(&arena, type, str_of(text), &v));
    CHECK(edm_valid(v));
    return v;
}

static void refused(enum edm_type type, const char *text, enum err_code code)
{
    struct edm_value v;
    CHECK_ERR(edm_parse(&arena, type, str_of(text), &v), code);
}

void test_edm_integers_at_their_limits(void)
{
    arena_init(&arena, 1 << 20);
    CHECK_INT(edm_int32(parsed(EDM_INT32, "2147483647")), INT32_MAX);
    CHECK_INT(edm_int32(parsed(EDM_INT32, "-2147483648")), INT32_MIN);
    CHECK_INT(edm_int64(parsed(EDM_INT64, "9223372036854775807")), INT64_MAX);
    CHECK_INT(edm_int64(parsed(EDM_INT64, "-9223372036854775808")), INT64_MIN);
    refused(EDM_INT32, "2147483648", ERR_INVALID_INPUT);
    refused(EDM_INT64, "9223372036854775808", ERR_INVALID_INPUT);
    refused(EDM_INT32, "-3.1", ERR_INVALID_INPUT);
    refused(EDM_INT64, "", ERR_INVALID_INPUT);
    refused(EDM_INT64, "1x", ERR_INVALID_INPUT);
    arena_release(&arena);
}

void test_edm_doubles(void)
{
    arena_init(&arena, 1 << 20);
    CHECK(edm_double(parsed(EDM_DOUBLE, "1.5e3")) == 1500.0);
    CHECK(isnan(edm_double(parsed(EDM_DOUBLE, "NaN"))));
    CHECK(edm_double(parsed(EDM_DOUBLE, "-Infinity")) == -INFINITY);
    CHECK(edm_double(parsed(EDM_DOUBLE, "1.797693134862315e308")) > 1e308);
    refused(EDM_DOUBLE, "1.797693134862316e308", ERR_INVALID_INPUT);
    refused(EDM_DOUBLE, "inf", ERR_INVALID_INPUT);
    refused(EDM_DOUBLE, "0x10", ERR_INVALID_INPUT);
    refused(EDM_DOUBLE, " 1", ERR_INVALID_INPUT);
    refused(EDM_DOUBLE, "1e", ERR_INVALID_INPUT);
    refused(EDM_DOUBLE, "", ERR_INVALID_INPUT);
    arena_release(&arena);
}

void test_edm_dates_at_their_limits(void)
{
    arena_init(&arena, 1 << 20);
    CHECK_INT(edm_int64(parsed(EDM_DATETIME, "1601-01-01T00:00:00Z")), EDM_DATETIME_MIN);
    CHECK_INT(edm_int64(parsed(EDM_DATETIME, "9999-12-31T23:59:59.9999999Z")), EDM_DATETIME_MAX);
    CHECK_INT(edm_int64(parsed(EDM_DATETIME, "1970-01-01T01:00:00.0000001")), 36000000001LL);
    CHECK_INT(edm_int64(parsed(EDM_DATETIME, "1970-01-01T01:00:00+01:00")), 0);
    refused(EDM_DATETIME, "1600-12-31T23:59:59.9999999Z", ERR_OUT_OF_RANGE_INPUT);
    refused(EDM_DATETIME, "0001-01-01T00:00:00Z", ERR_OUT_OF_RANGE_INPUT);
    refused(EDM_DATETIME, "", ERR_INVALID_INPUT);
    refused(EDM_DATETIME, "yesterday", ERR_INVALID_INPUT);
    refused(EDM_DATETIME, "2020-02-30T00:00:00Z", ERR_INVALID_INPUT);
    arena_release(&arena);
}

void test_edm_datetime_text_has_no_trailing_zeros(void)
{
    arena_init(&arena, 1 << 20);
    struct buf b = buf_in(&arena);
    edm_put_datetime(&b, 0);
    buf_putc(&b, ' ');
    edm_put_datetime(&b, 12500000);
    buf_putc(&b, ' ');
    edm_put_datetime(&b, 1);
    CHECK_STR(buf_str(&b),
              STR("1970-01-01T00:00:00Z 1970-01-01T00:00:01.25Z 1970-01-01T00:00:00.0000001Z"));
    arena_release(&arena);
}

void test_edm_other_types(void)
{
    arena_init(&arena, 1 << 20);
    CHECK(edm_boolean(parsed(EDM_BOOLEAN, "true")));
    CHECK(!edm_boolean(parsed(EDM_BOOLEAN, "False")));
    CHECK_STR(parsed(EDM_BINARY, "AAEC").bytes, STR("\0\1\2"));
    CHECK_INT(parsed(EDM_GUID, "{c9da6455-213d-42c9-9a79-3e9149a57833}").bytes.n, 16);
    refused(EDM_BOOLEAN, "1", ERR_INVALID_INPUT);
    refused(EDM_BINARY, "AAE", ERR_INVALID_INPUT);
    refused(EDM_GUID, "c9da6455", ERR_INVALID_INPUT);
    enum edm_type type;
    CHECK(edm_type_named(STR("Edm.Guid"), &type) && type == EDM_GUID);
    CHECK(!edm_type_named(STR("Edm.Byte"), &type));
    CHECK(!edm_valid((struct edm_value){(enum edm_type)0, STR("")}));
    CHECK(!edm_valid((struct edm_value){(enum edm_type)9, STR("")}));
    CHECK(!edm_valid((struct edm_value){EDM_INT32, STR("abc")}));
    arena_release(&arena);
}

static int order(enum edm_type x, const char *a, enum edm_type y, const char *b)
{
    int out = 99;
    return edm_compare(parsed(x, a), parsed(y, b), &out) ? out : 99;
}

void test_edm_order(void)
{
    arena_init(&arena, 1 << 20);
    CHECK_INT(order(EDM_INT32, "5", EDM_DOUBLE, "5"), 0);
    CHECK_INT(order(EDM_INT32, "-1", EDM_INT64, "1"), -1);
    /* One more than a double can say: no false equality. */
    CHECK_INT(order(EDM_INT64, "9007199254740993", EDM_DOUBLE, "9007199254740992"), 1);
    CHECK_INT(order(EDM_DOUBLE, "-0.0", EDM_INT32, "0"), 0);
    CHECK_INT(order(EDM_DOUBLE, "NaN", EDM_DOUBLE, "NaN"), EDM_UNORDERED);
    CHECK_INT(order(EDM_STRING, "5", EDM_INT32, "5"), 99);
    CHECK_INT(order(EDM_STRING, "a", EDM_STRING, "aa"), -1);
    CHECK_INT(order(EDM_STRING, "", EDM_STRING, ""), 0);
    CHECK_INT(order(EDM_BOOLEAN, "false", EDM_BOOLEAN, "true"), -1);
    CHECK_INT(order(EDM_DATETIME, "1960-01-01", EDM_DATETIME, "1980-01-01"), -1);
    CHECK_INT(order(EDM_BINARY, "gA==", EDM_BINARY, "AQ=="), 1);
    /* U+10400 is D801 DC00 in UTF-16, before U+FF5E. */
    CHECK_INT(order(EDM_STRING, "\xF0\x90\x90\x80", EDM_STRING, "\xEF\xBD\x9E"), -1);
    CHECK_INT(order(EDM_STRING, "\xF0\x90\x90\x80", EDM_STRING, "\xED\x9F\xBF"), 1);
    arena_release(&arena);
}
