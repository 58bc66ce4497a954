/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/service_properties.h"

#include "core/test.h"
#include "engine/mem/mem.h"
#include "engine/wait.h"

struct properties_fixture {
    struct arena arena;
    struct clock clock;
    struct engine *engine;
    struct str partition;
};

static void begin(struct properties_fixture *f)
{
    arena_init(&f->arena, 1 << 20);
    clock_init_system(&f->clock);
    f->engine = engine_mem_new(&f->clock);
    f->partition = service_properties_partition(&f->arena, SERVICE_BLOB, STR("acc"));
}

static void end(struct properties_fixture *f)
{
    engine_close(f->engine);
    arena_release(&f->arena);
}

static void set(struct properties_fixture *f, const char *inside)
{
    struct service_properties p;
    struct str body =
        arena_printf(&f->arena, "<StorageServiceProperties>%s</StorageServiceProperties>", inside);
    CHECK_OK(rest_service_properties_from_xml(&f->arena, SERVICE_BLOB, body, &p));
    CHECK_OK(engine_update_wait(f->engine, f->partition, service_properties_set, &p));
}

static struct str get(struct properties_fixture *f, enum service_kind service)
{
    struct service_properties_get g = {.arena = &f->arena};
    struct buf out = buf_in(&f->arena);
    CHECK_OK(engine_view(f->engine, f->partition, ENGINE_WAIT, service_properties_get, &g));
    rest_service_properties_put_xml(&out, service, &g.properties);
    return buf_str(&out);
}

static bool holds(struct str text, const char *part)
{
    return str_find_str(text, str_of(part)) < text.n;
}

#define RETENTION_OFF "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>"
#define LOGGING                                                                                 \
    "<Logging><Version>1.0</Version><Delete>true</Delete><Read>false</Read><Write>true</Write>" \
    "<RetentionPolicy><Enabled>true</Enabled><Days>9</Days></RetentionPolicy></Logging>"
#define CORS(max_age)                                                                           \
    "<Cors><CorsRule><AllowedOrigins>http://a,http://b</AllowedOrigins><AllowedMethods>GET,PUT" \
    "</AllowedMethods><AllowedHeaders>x-ms-*</AllowedHeaders><ExposedHeaders />"                \
    "<MaxAgeInSeconds>" max_age "</MaxAgeInSeconds></CorsRule></Cors>"

/* Omitted properties stay unchanged; given ones are replaced completely. */
void test_service_properties_are_kept_part_by_part(void)
{
    struct properties_fixture f;
    begin(&f);
    struct str text = get(&f, SERVICE_QUEUE);
    CHECK_STR(
        text,
        STR("<StorageServiceProperties><Logging><Version>1.0</Version><Delete>false</Delete>"
            "<Read>false</Read><Write>false</Write>" RETENTION_OFF "</Logging>"
            "<HourMetrics><Version>1.0</Version><Enabled>false</Enabled>" RETENTION_OFF
            "</HourMetrics><MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled>" RETENTION_OFF
            "</MinuteMetrics><Cors></Cors></StorageServiceProperties>"));
    set(&f, LOGGING CORS("5"));
    CHECK(holds(get(&f, SERVICE_BLOB), LOGGING));
    CHECK(holds(get(&f, SERVICE_BLOB), CORS("5")));
    set(&f,
        CORS(
            "6") "<DefaultServiceVersion>2020-10-02</DefaultServiceVersion>"
                 "<DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days></DeleteRetentionPolicy>"
                 "<StaticWebsite><Enabled>true</Enabled><IndexDocument>i</IndexDocument>"
                 "</StaticWebsite><HourMetrics><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>"
                 "</HourMetrics>");
    text = get(&f, SERVICE_BLOB);
    CHECK(holds(text, LOGGING));
    CHECK(holds(text, CORS("6")));
    CHECK(holds(text, "<DefaultServiceVersion>2020-10-02</DefaultServiceVersion>"));
    CHECK(holds(text, "<Days>7</Days><AllowPermanentDelete>false</AllowPermanentDelete>"));
    CHECK(holds(text, "<StaticWebsite><Enabled>true</Enabled><IndexDocument>i</IndexDocument>"));
    CHECK(holds(text, "<Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>"));
    set(&f, "<Cors />");
    CHECK(holds(get(&f, SERVICE_BLOB), "<Cors></Cors>"));
    CHECK(holds(get(&f, SERVICE_BLOB), LOGGING));
    end(&f);
}

void test_service_properties_refuse(void)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    static const struct {
        const char *inside;
        enum err_code code;
    } bad[] = {
        {"<Logging />", ERR_INVALID_XML_DOCUMENT},
        {"<Logging><Delete>true</Delete><Read>true</Read><Write>true</Write></Logging>",
         ERR_INVALID_XML_DOCUMENT},
        {"<HourMetrics><Enabled>maybe</Enabled></HourMetrics>", ERR_INVALID_XML_NODE_VALUE},
        {"<HourMetrics><Enabled>true</Enabled><RetentionPolicy><Enabled>true</Enabled>"
         "<Days>366</Days></RetentionPolicy></HourMetrics>",
         ERR_INVALID_XML_DOCUMENT},
        {"<HourMetrics><Enabled>true</Enabled><RetentionPolicy><Enabled>true</Enabled>"
         "<Days>0</Days></RetentionPolicy></HourMetrics>",
         ERR_INVALID_XML_DOCUMENT},
        {"<HourMetrics><Enabled>true</Enabled><RetentionPolicy><Enabled>true</Enabled>"
         "</RetentionPolicy></HourMetrics>",
         ERR_INVALID_XML_DOCUMENT},
        {"<StaticWebsite><Enabled>true</Enabled></StaticWebsite>", ERR_UNSUPPORTED_XML_NODE},
        {"<Cors /><Cors />", ERR_INVALID_XML_DOCUMENT},
        {"<Cors><CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>FETCH</AllowedMethods>"
         "<MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule></Cors>",
         ERR_INVALID_XML_NODE_VALUE},
        {"<Cors><CorsRule><AllowedOrigins /><AllowedMethods>GET</AllowedMethods>"
         "<MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule></Cors>",
         ERR_INVALID_XML_NODE_VALUE},
        {"<Cors><Rule /></Cors>", ERR_INVALID_XML_DOCUMENT},
    };
    struct service_properties p;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct str body = arena_printf(
            &arena, "<StorageServiceProperties>%s</StorageServiceProperties>", bad[i].inside);
        CHECK_ERR(rest_service_properties_from_xml(&arena, SERVICE_QUEUE, body, &p), bad[i].code);
    }
    CHECK_ERR(rest_service_properties_from_xml(&arena, SERVICE_QUEUE, STR("<Other />"), &p),
              ERR_INVALID_XML_DOCUMENT);
    arena_release(&arena);
}
