/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text/json.h"

#include "core/test.h"

static struct arena arena;

static struct json_reader reader(struct str text)
{
    arena_init(&arena, 1 << 20);
    return json_reader_of(&arena, text);
}

/* Reads any value to its end. */
static bool well_formed(struct str text)
{
    struct json_reader r = reader(text);
    json_skip(&r, json_value(&r));
    bool done = json_done(&r);
    arena_release(&arena);
    return done;
}

void test_json_reads_an_entity(void)
{
    struct json_reader r = reader(STR("\xEF\xBB\xBF {\"PartitionKey\" : \"p\\u00e4\", \"n\":-12,\n"
                                      "\"big\":9223372036854775807, \"d\":1.5E-3,\"t\":true,"
                                      "\"f\":false,\"z\":null,\"o\":{\"a\":[1,{},[]]}} "));
    static const struct {
        struct str name;
        enum json_kind kind;
        struct str text;
    } WANT[] = {
        {STR_INIT("PartitionKey"), JSON_STRING, STR_INIT("p\xC3\xA4")},
        {STR_INIT("n"), JSON_INTEGER, STR_INIT("-12")},
        {STR_INIT("big"), JSON_INTEGER, STR_INIT("9223372036854775807")},
        {STR_INIT("d"), JSON_REAL, STR_INIT("1.5E-3")},
        {STR_INIT("t"), JSON_BOOL, STR_INIT("")},
        {STR_INIT("f"), JSON_BOOL, STR_INIT("")},
        {STR_INIT("z"), JSON_NULL, STR_INIT("")},
        {STR_INIT("o"), JSON_OBJECT, STR_INIT("")},
    };
    struct str name;
    CHECK_INT(json_value(&r).kind, JSON_OBJECT);
    for (size_t i = 0; i < sizeof WANT / sizeof WANT[0]; i++) {
        CHECK(json_member(&r, &name));
        CHECK_STR(name, WANT[i].name);
        struct json_value v = json_value(&r);
        CHECK_INT(v.kind, WANT[i].kind);
        CHECK_STR(v.text, WANT[i].text);
        CHECK_INT(v.boolean, i == 4);
        json_skip(&r, v);
    }
    CHECK(!json_member(&r, &name));
    CHECK(json_done(&r));
    arena_release(&arena);
}

void test_json_strings(void)
{
    static const struct {
        struct str json;
        struct str text;
    } CASES[] = {
        {STR_INIT("\"\""), STR_INIT("")},
        {STR_INIT("\"plain text of some length\""), STR_INIT("plain text of some length")},
        {STR_INIT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), STR_INIT("\"\\/\b\f\n\r\t")},
        {STR_INIT("\"\\uD83D\\uDE00\\u20ac\\u0000\""), STR_INIT("\xF0\x9F\x98\x80\xE2\x82\xAC\0")},
        {STR_INIT("\"1234567\xC3\xA4 12345678\\\\\""), STR_INIT("1234567\xC3\xA4 12345678\\")},
        {STR_INIT("\"\x7F\""), STR_INIT("\x7F")},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct json_reader r = reader(CASES[i].json);
        struct json_value v = json_value(&r);
        CHECK_INT(v.kind, JSON_STRING);
        CHECK_STR(v.text, CASES[i].text);
        CHECK(json_done(&r));
        arena_release(&arena);
    }
}

void test_json_refuses(void)
{
    static const struct str BAD[] = {
        STR_INIT(""),
        STR_INIT(" "),
        STR_INIT("{"),
        STR_INIT("{}x"),
        STR_INIT("{,}"),
        STR_INIT("{\"a\"}"),
        STR_INIT("{\"a\":}"),
        STR_INIT("{\"a\":1,}"),
        STR_INIT("{a:1}"),
        STR_INIT("{'a':1}"),
        STR_INIT("[1 2]"),
        STR_INIT("[1,]"),
        STR_INIT("[1}"),
        STR_INIT("{]"),
        STR_INIT("01"),
        STR_INIT("-"),
        STR_INIT("+1"),
        STR_INIT("1."),
        STR_INIT(".5"),
        STR_INIT("1e"),
        STR_INIT("1e+"),
        STR_INIT("0x1"),
        STR_INIT("NaN"),
        STR_INIT("tru"),
        STR_INIT("True"),
        STR_INIT("nullx"),
        STR_INIT("\"a"),
        STR_INIT("\"\\"),
        STR_INIT("\"\\x\""),
        STR_INIT("\"\\u12\""),
        STR_INIT("\"\\uD800\""),
        STR_INIT("\"\\uDC00\""),
        STR_INIT("\"\\uD800\\u0041\""),
        STR_INIT("\"\n\""),
        STR_INIT("\"\0\""),
        STR_INIT("\"\xFF\""),
        STR_INIT("\"\xED\xA0\x80\""),
        STR_INIT("\"\\n\xC0\x80\""),
        STR_INIT("1 1"),
        STR_INIT("// no\n1"),
        STR_INIT("{\"a\":1 \"b\":2}"),
        STR_INIT("\"\\u00e\""),
        STR_INIT("1\0"),
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        if (well_formed(BAD[i]))
            test_fail(__FILE__, __LINE__, "accepted %.*s", STR_ARG(BAD[i]));
}

void test_json_depth(void)
{
    char text[2 * JSON_DEPTH_MAX + 2];
    memset(text, '[', JSON_DEPTH_MAX + 1);
    memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    CHECK(!well_formed((struct str){text, sizeof text}));
    CHECK(well_formed((struct str){text + 1, sizeof text - 2}));
}

void test_json_stays_bad(void)
{
    struct json_reader r = reader(STR("{\"a\":x,\"b\":1}"));
    struct str name;
    CHECK_INT(json_value(&r).kind, JSON_OBJECT);
    CHECK(json_member(&r, &name));
    CHECK_INT(json_value(&r).kind, JSON_NONE);
    CHECK(!json_member(&r, &name) && json_value(&r).kind == JSON_NONE && !json_done(&r));
    arena_release(&arena);
}

void test_json_writes(void)
{
    struct buf out = buf_heap();
    struct json_writer w = json_writer_of(&out);
    json_open(&w, '{');
    json_name(&w, STR("a\"b"));
    json_string(&w, STR("x\n\x01\\/\xC3\xA4"));
    json_name(&w, STR("list"));
    json_open(&w, '[');
    json_i64(&w, INT64_MIN);
    json_bool(&w, true);
    json_raw(&w, STR("null"));
    json_open(&w, '{');
    json_close(&w, '}');
    json_close(&w, ']');
    json_name(&w, STR("z"));
    json_bool(&w, false);
    json_close(&w, '}');
    CHECK_STR(buf_str(&out), STR("{\"a\\\"b\":\"x\\n\\u0001\\\\/\xC3\xA4\",\"list\":"
                                 "[-9223372036854775808,true,null,{}],\"z\":false}"));
    buf_release(&out);
}

/* Every number with up to four decimals is written with as few as it needs, and reads back. */
void test_json_doubles_with_few_decimals(void)
{
    for (int i = 1; i < 200000; i += 7) {
        struct buf out = buf_heap();
        struct json_writer w = json_writer_of(&out);
        double value = (double)i / 10000;
        json_double(&w, value);
        buf_putc(&out, '\0');
        CHECK(strtod(out.p, NULL) == value);
        CHECK(out.p[out.n - 2] != '0' || out.p[out.n - 3] == '.');
        buf_release(&out);
    }
}

void test_json_doubles(void)
{
    static const struct {
        double value;
        struct str text;
    } CASES[] = {
        {0.0, STR_INIT("0.0")},
        {-3.0, STR_INIT("-3.0")},
        {0.1, STR_INIT("0.1")},
        {1.0 / 3, STR_INIT("0.3333333333333333")},
        {5e-324, STR_INIT("4.94065645841247e-324")},
        {1.7976931348623157e308, STR_INIT("1.7976931348623157e+308")},
        {9007199254740993.0, STR_INIT("9007199254740992.0")},
        {1e22, STR_INIT("1e+22")},
        {0.29, STR_INIT("0.29")},
        {-1.05, STR_INIT("-1.05")},
        {1234.5678, STR_INIT("1234.5678")},
        {-0.0, STR_INIT("-0.0")},
        {1e9, STR_INIT("1000000000.0")},
        {12345.00001, STR_INIT("12345.00001")},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct buf out = buf_heap();
        struct json_writer w = json_writer_of(&out);
        json_double(&w, CASES[i].value);
        CHECK_STR(buf_str(&out), CASES[i].text);
        buf_release(&out);
    }
}
