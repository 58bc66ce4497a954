/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "core/text/xml.h"
#include "rest/service_properties.h"

enum { RETENTION_DAYS_MAX = 365, CORS_TEXT_BYTES_MAX = 256, CORS_BYTES_MAX = 2048 };

/* ---- values ---- */

static struct err bad_value(struct arena *a, struct str name, struct str text)
{
    return err_detail(
        ERR_INVALID_XML_NODE_VALUE,
        arena_printf(a, "XmlNodeName\t%.*s\nXmlNodeValue\t%.*s", STR_ARG(name), STR_ARG(text)).p);
}

/* In the service's words, which has a schema only for this document. */
static struct err bad_days(void)
{
    return err_detail(ERR_INVALID_XML_DOCUMENT, "Reason\tRetention days must be greater than 0 and "
                                                "less than or equal to 365 days.");
}

/* Not MissingRequiredXmlNode, despite the list of codes: recorded from the live service. */
static struct err missing(struct arena *a, struct str name)
{
    return err_detail(ERR_INVALID_XML_DOCUMENT,
                      arena_printf(a, "Reason\tElement is missing: %.*s.", STR_ARG(name)).p);
}

static struct err read_bool(struct arena *a, const struct xml_node *node, struct str name,
                            bool *out)
{
    struct str text = xml_child_text(node, name);
    if (!str_given(text))
        return missing(a, name);
    return str_to_bool(text, out) ? OK : bad_value(a, name, text);
}

static struct err read_bool_if(struct arena *a, const struct xml_node *node, struct str name,
                               bool *out)
{
    return xml_child(node, name) == NULL ? OK : read_bool(a, node, name, out);
}

static struct err read_number(struct arena *a, const struct xml_node *node, struct str name,
                              uint64_t max, uint64_t *out)
{
    struct str text = xml_child_text(node, name);
    if (!str_given(text))
        return missing(a, name);
    return str_to_u64(text, out) && *out <= max ? OK : bad_value(a, name, text);
}

/* A missing version means the only one. */
static struct err read_version(struct arena *a, const struct xml_node *node, struct str *out)
{
    struct str text = xml_child_text(node, STR("Version"));
    *out = str_given(text) ? text : STR("1.0");
    return out->n > 0 && out->n <= 16 ? OK : bad_value(a, STR("Version"), text);
}

/* ---- parts ---- */

static struct err read_retention(struct arena *a, const struct xml_node *node,
                                 struct service_retention *r)
{
    uint64_t days = 0;
    TRY(read_bool(a, node, STR("Enabled"), &r->enabled));
    TRY(read_bool_if(a, node, STR("AllowPermanentDelete"), &r->permanent_delete));
    if (!r->enabled)
        return OK;
    TRY(read_number(a, node, STR("Days"), UINT32_MAX, &days));
    r->days = (uint32_t)days;
    return days > 0 && days <= RETENTION_DAYS_MAX ? OK : bad_days();
}

static struct err read_logging(struct arena *a, const struct xml_node *node,
                               struct service_properties *p)
{
    const struct xml_node *retention = xml_child(node, STR("RetentionPolicy"));
    struct service_logging *l = &p->logging;
    TRY(read_version(a, node, &l->version));
    TRY(read_bool(a, node, STR("Delete"), &l->delete_calls));
    TRY(read_bool(a, node, STR("Read"), &l->read_calls));
    TRY(read_bool(a, node, STR("Write"), &l->write_calls));
    return retention == NULL ? missing(a, STR("RetentionPolicy"))
                             : read_retention(a, retention, &l->retention);
}

static struct err read_metrics(struct arena *a, const struct xml_node *node,
                               struct service_metrics *m)
{
    const struct xml_node *retention = xml_child(node, STR("RetentionPolicy"));
    TRY(read_version(a, node, &m->version));
    TRY(read_bool(a, node, STR("Enabled"), &m->enabled));
    TRY(read_bool_if(a, node, STR("IncludeAPIs"), &m->include_apis));
    return retention == NULL ? OK : read_retention(a, retention, &m->retention);
}

static struct err read_hour_metrics(struct arena *a, const struct xml_node *node,
                                    struct service_properties *p)
{
    return read_metrics(a, node, &p->hour_metrics);
}

static struct err read_minute_metrics(struct arena *a, const struct xml_node *node,
                                      struct service_properties *p)
{
    return read_metrics(a, node, &p->minute_metrics);
}

static bool methods_known(struct str methods)
{
    static const struct str known[] = {
        STR_INIT("DELETE"), STR_INIT("GET"),     STR_INIT("HEAD"), STR_INIT("MERGE"),
        STR_INIT("POST"),   STR_INIT("OPTIONS"), STR_INIT("PUT"),  STR_INIT("PATCH"),
    };
    while (str_given(methods)) {
        struct str method = str_trim(str_cut(&methods, ','));
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            found = found || str_ieq(method, known[i]);
        if (!found)
            return false;
    }
    return true;
}

static struct err read_cors_text(struct arena *a, const struct xml_node *node, struct str name,
                                 struct str *out)
{
    struct str text = xml_child_text(node, name);
    *out = str_given(text) ? text : STR("");
    return out->n <= CORS_TEXT_BYTES_MAX ? OK : bad_value(a, name, text);
}

static struct err read_cors_rule(struct arena *a, const struct xml_node *node,
                                 struct cors_rule *rule)
{
    TRY(read_cors_text(a, node, STR("AllowedOrigins"), &rule->allowed_origins));
    TRY(read_cors_text(a, node, STR("AllowedMethods"), &rule->allowed_methods));
    TRY(read_cors_text(a, node, STR("AllowedHeaders"), &rule->allowed_headers));
    TRY(read_cors_text(a, node, STR("ExposedHeaders"), &rule->exposed_headers));
    TRY(read_number(a, node, STR("MaxAgeInSeconds"), INT32_MAX, &rule->max_age_seconds));
    if (rule->allowed_origins.n == 0)
        return bad_value(a, STR("AllowedOrigins"), STR(""));
    return methods_known(rule->allowed_methods)
               ? OK
               : bad_value(a, STR("AllowedMethods"), rule->allowed_methods);
}

/* At most five rules, 2 KiB together; an empty list removes all. */
static struct err read_cors(struct arena *a, const struct xml_node *node,
                            struct service_properties *p)
{
    size_t bytes = 0;
    for (const struct xml_node *n = node->first_child; n != NULL; n = n->next) {
        if (!str_eq(n->name, STR("CorsRule")) || p->cors.count == CORS_RULES_MAX)
            return err_new(ERR_INVALID_XML_DOCUMENT);
        struct cors_rule *rule = &p->cors.rules[p->cors.count++];
        TRY(read_cors_rule(a, n, rule));
        bytes += rule->allowed_origins.n + rule->allowed_methods.n + rule->allowed_headers.n +
                 rule->exposed_headers.n;
    }
    return bytes <= CORS_BYTES_MAX ? OK : err_new(ERR_INVALID_XML_DOCUMENT);
}

static struct err read_default_version(struct arena *a, const struct xml_node *node,
                                       struct service_properties *p)
{
    p->default_version = node->text;
    return node->text.n <= 10 ? OK : bad_value(a, node->name, node->text);
}

static struct err read_delete_retention(struct arena *a, const struct xml_node *node,
                                        struct service_properties *p)
{
    return read_retention(a, node, &p->delete_retention);
}

static struct err read_website(struct arena *a, const struct xml_node *node,
                               struct service_properties *p)
{
    struct service_website *w = &p->website;
    if (xml_child(node, STR("Enabled")) == NULL)
        return err_new(ERR_INVALID_XML_DOCUMENT);
    TRY(read_bool(a, node, STR("Enabled"), &w->enabled));
    w->index_document = xml_child_text(node, STR("IndexDocument"));
    w->error_document = xml_child_text(node, STR("ErrorDocument404Path"));
    w->default_index_path = xml_child_text(node, STR("DefaultIndexDocumentPath"));
    return OK;
}

/* <EncryptionInTransit><Required>…, below SMB or NFS. */
static struct err read_encryption(struct arena *a, const struct xml_node *protocol,
                                  enum service_encryption *out)
{
    const struct xml_node *node = xml_child(protocol, STR("EncryptionInTransit"));
    bool required = false;
    if (node == NULL)
        return OK;
    TRY(read_bool(a, node, STR("Required"), &required));
    *out = required ? ENCRYPTION_REQUIRED : ENCRYPTION_OPTIONAL;
    return OK;
}

static struct err read_protocol(struct arena *a, const struct xml_node *node,
                                struct service_properties *p)
{
    const struct xml_node *smb = xml_child(node, STR("SMB"));
    const struct xml_node *multichannel = xml_child(smb, STR("Multichannel"));
    TRY(read_bool_if(a, multichannel, STR("Enabled"), &p->protocol.smb_multichannel));
    TRY(read_encryption(a, smb, &p->protocol.smb_encryption));
    return read_encryption(a, xml_child(node, STR("NFS")), &p->protocol.nfs_encryption);
}

/* ---- writing parts ---- */

static void put_retention(struct buf *out, struct str name, const struct service_retention *r)
{
    xml_open(out, name);
    xml_element_bool(out, STR("Enabled"), r->enabled);
    if (r->enabled)
        xml_element_u64(out, STR("Days"), r->days);
    xml_close(out, name);
}

static void put_version(struct buf *out, struct str version)
{
    xml_element(out, STR("Version"), str_given(version) ? version : STR("1.0"));
}

static void put_logging(struct buf *out, const struct service_properties *p)
{
    const struct service_logging *l = &p->logging;
    put_version(out, l->version);
    xml_element_bool(out, STR("Delete"), l->delete_calls);
    xml_element_bool(out, STR("Read"), l->read_calls);
    xml_element_bool(out, STR("Write"), l->write_calls);
    put_retention(out, STR("RetentionPolicy"), &l->retention);
}

static void put_metrics(struct buf *out, const struct service_metrics *m)
{
    put_version(out, m->version);
    xml_element_bool(out, STR("Enabled"), m->enabled);
    if (m->enabled)
        xml_element_bool(out, STR("IncludeAPIs"), m->include_apis);
    put_retention(out, STR("RetentionPolicy"), &m->retention);
}

static void put_hour_metrics(struct buf *out, const struct service_properties *p)
{
    put_metrics(out, &p->hour_metrics);
}

static void put_minute_metrics(struct buf *out, const struct service_properties *p)
{
    put_metrics(out, &p->minute_metrics);
}

static void put_cors(struct buf *out, const struct service_properties *p)
{
    for (size_t i = 0; i < p->cors.count; i++) {
        const struct cors_rule *rule = &p->cors.rules[i];
        xml_open(out, STR("CorsRule"));
        xml_element(out, STR("AllowedOrigins"), rule->allowed_origins);
        xml_element(out, STR("AllowedMethods"), rule->allowed_methods);
        xml_element(out, STR("AllowedHeaders"), rule->allowed_headers);
        xml_element(out, STR("ExposedHeaders"), rule->exposed_headers);
        xml_element_u64(out, STR("MaxAgeInSeconds"), rule->max_age_seconds);
        xml_close(out, STR("CorsRule"));
    }
}

static void put_default_version(struct buf *out, const struct service_properties *p)
{
    xml_put_text(out, p->default_version);
}

static void put_delete_retention(struct buf *out, const struct service_properties *p)
{
    xml_element_bool(out, STR("Enabled"), p->delete_retention.enabled);
    if (p->delete_retention.enabled)
        xml_element_u64(out, STR("Days"), p->delete_retention.days);
    xml_element_bool(out, STR("AllowPermanentDelete"), p->delete_retention.permanent_delete);
}

static void put_share_retention(struct buf *out, const struct service_properties *p)
{
    xml_element_bool(out, STR("Enabled"), p->delete_retention.enabled);
    if (p->delete_retention.enabled)
        xml_element_u64(out, STR("Days"), p->delete_retention.days);
}

static void put_if(struct buf *out, struct str name, struct str text)
{
    if (str_given(text))
        xml_element(out, name, text);
}

static void put_website(struct buf *out, const struct service_properties *p)
{
    xml_element_bool(out, STR("Enabled"), p->website.enabled);
    put_if(out, STR("IndexDocument"), p->website.index_document);
    put_if(out, STR("ErrorDocument404Path"), p->website.error_document);
    put_if(out, STR("DefaultIndexDocumentPath"), p->website.default_index_path);
}

static void put_encryption(struct buf *out, enum service_encryption encryption)
{
    if (encryption == ENCRYPTION_UNSAID)
        return;
    buf_put(out, STR("<EncryptionInTransit>"));
    xml_element_bool(out, STR("Required"), encryption == ENCRYPTION_REQUIRED);
    buf_put(out, STR("</EncryptionInTransit>"));
}

static void put_protocol(struct buf *out, const struct service_properties *p)
{
    buf_put(out, STR("<SMB><Multichannel>"));
    xml_element_bool(out, STR("Enabled"), p->protocol.smb_multichannel);
    buf_put(out, STR("</Multichannel>"));
    put_encryption(out, p->protocol.smb_encryption);
    buf_put(out, STR("</SMB>"));
    if (p->protocol.nfs_encryption == ENCRYPTION_UNSAID)
        return;
    buf_put(out, STR("<NFS>"));
    put_encryption(out, p->protocol.nfs_encryption);
    buf_put(out, STR("</NFS>"));
}

/* ---- the table of parts ---- */

enum {
    FOR_BLOB = 1 << SERVICE_BLOB,
    FOR_QUEUE = 1 << SERVICE_QUEUE,
    FOR_TABLE = 1 << SERVICE_TABLE,
    FOR_FILE = 1 << SERVICE_FILE,
    FOR_ALL = FOR_BLOB | FOR_QUEUE | FOR_TABLE | FOR_FILE,
};

/* In the order of the answer. */
static const struct part {
    struct str name;
    enum service_part number;
    unsigned services;
    bool only_when_set;
    struct err (*read)(struct arena *a, const struct xml_node *node, struct service_properties *p);
    void (*put)(struct buf *out, const struct service_properties *p);
} PARTS[] = {
    // clang-format off
    {STR_INIT("Logging"), PART_LOGGING, FOR_ALL & ~(unsigned)FOR_FILE, false, read_logging, put_logging},
    {STR_INIT("HourMetrics"), PART_HOUR_METRICS, FOR_ALL, false, read_hour_metrics, put_hour_metrics},
    {STR_INIT("MinuteMetrics"), PART_MINUTE_METRICS, FOR_ALL, false, read_minute_metrics, put_minute_metrics},
    {STR_INIT("Cors"), PART_CORS, FOR_ALL, false, read_cors, put_cors},
    {STR_INIT("DefaultServiceVersion"), PART_DEFAULT_VERSION, FOR_BLOB, true, read_default_version, put_default_version},
    {STR_INIT("DeleteRetentionPolicy"), PART_DELETE_RETENTION, FOR_BLOB, false, read_delete_retention,
     put_delete_retention},
    {STR_INIT("ShareDeleteRetentionPolicy"), PART_DELETE_RETENTION, FOR_FILE, true, read_delete_retention,
     put_share_retention},
    {STR_INIT("StaticWebsite"), PART_STATIC_WEBSITE, FOR_BLOB, false, read_website, put_website},
    {STR_INIT("ProtocolSettings"), PART_PROTOCOL, FOR_FILE, false, read_protocol, put_protocol},
    // clang-format on
};
enum { PARTS_COUNT = sizeof PARTS / sizeof PARTS[0] };

static const struct part *find_part(enum service_kind service, struct str name)
{
    for (size_t i = 0; i < PARTS_COUNT; i++)
        if (str_eq(PARTS[i].name, name) && (PARTS[i].services & 1U << service) != 0)
            return &PARTS[i];
    return NULL;
}

struct err rest_service_properties_from_xml(struct arena *a, enum service_kind service,
                                            struct str body, struct service_properties *out)
{
    assert(out != NULL);
    struct xml_node *root;
    TRY(xml_parse(a, body, &root));
    if (!str_eq(root->name, STR("StorageServiceProperties")))
        return err_new(ERR_INVALID_XML_DOCUMENT);
    *out = (struct service_properties){.given = 0};
    for (const struct xml_node *n = root->first_child; n != NULL; n = n->next) {
        const struct part *part = find_part(service, n->name);
        if (part == NULL)
            return err_detail(ERR_UNSUPPORTED_XML_NODE,
                              arena_printf(a, "XmlNodeName\t%.*s", STR_ARG(n->name)).p);
        if (service_properties_has(out, part->number))
            return err_new(ERR_INVALID_XML_DOCUMENT);
        TRY(part->read(a, n, out));
        out->given |= 1U << part->number;
    }
    return OK;
}

void rest_service_properties_put_xml(struct buf *out, enum service_kind service,
                                     const struct service_properties *p)
{
    xml_open(out, STR("StorageServiceProperties"));
    for (size_t i = 0; i < PARTS_COUNT; i++) {
        const struct part *part = &PARTS[i];
        if ((part->services & 1U << service) == 0 ||
            (part->only_when_set && !service_properties_has(p, part->number)))
            continue;
        xml_open(out, part->name);
        part->put(out, p);
        xml_close(out, part->name);
    }
    xml_close(out, STR("StorageServiceProperties"));
}
