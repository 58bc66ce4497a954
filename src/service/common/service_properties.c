/* SPDX-License-Identifier: Apache-2.0 */
/* The row is a record with one field per part; its bytes are a record of the part's own fields. */
#include "service/common/service_properties.h"

#include "service/common/record.h"
#include "service/common/rows.h"

static const struct str KEY = STR_INIT("p");

struct str service_properties_partition(struct arena *a, enum service_kind service,
                                        struct str account)
{
    static const char *const names[SERVICE_KIND_COUNT] = {"blob", "queue", "table", "file"};
    return arena_printf(a, "p/%s/%.*s", names[service], STR_ARG(account));
}

/* ---- parts to bytes ---- */

enum retention_field { RETENTION_ENABLED = 1, RETENTION_DAYS, RETENTION_PERMANENT };

static void put_retention(struct buf *b, unsigned field, const struct service_retention *r)
{
    struct buf inner = buf_in(b->arena);
    record_put(&inner, RETENTION_ENABLED, r->enabled);
    record_put(&inner, RETENTION_DAYS, r->days);
    record_put(&inner, RETENTION_PERMANENT, r->permanent_delete);
    record_put_bytes(b, field, buf_str(&inner));
}

enum logging_field {
    LOGGING_VERSION = 1,
    LOGGING_DELETE,
    LOGGING_READ,
    LOGGING_WRITE,
    LOGGING_RETENTION
};

static void put_logging(struct buf *b, const struct service_logging *l)
{
    record_put_bytes(b, LOGGING_VERSION, l->version);
    record_put(b, LOGGING_DELETE, l->delete_calls);
    record_put(b, LOGGING_READ, l->read_calls);
    record_put(b, LOGGING_WRITE, l->write_calls);
    put_retention(b, LOGGING_RETENTION, &l->retention);
}

enum metrics_field { METRICS_VERSION = 1, METRICS_ENABLED, METRICS_APIS, METRICS_RETENTION };

static void put_metrics(struct buf *b, const struct service_metrics *m)
{
    record_put_bytes(b, METRICS_VERSION, m->version);
    record_put(b, METRICS_ENABLED, m->enabled);
    record_put(b, METRICS_APIS, m->include_apis);
    put_retention(b, METRICS_RETENTION, &m->retention);
}

enum cors_field { CORS_ORIGINS = 1, CORS_METHODS, CORS_ALLOWED, CORS_EXPOSED, CORS_MAX_AGE };

static void put_cors(struct buf *b, const struct cors_rules *cors)
{
    for (size_t i = 0; i < cors->count; i++) {
        const struct cors_rule *rule = &cors->rules[i];
        struct buf inner = buf_in(b->arena);
        record_put_bytes(&inner, CORS_ORIGINS, rule->allowed_origins);
        record_put_bytes(&inner, CORS_METHODS, rule->allowed_methods);
        record_put_bytes(&inner, CORS_ALLOWED, rule->allowed_headers);
        record_put_bytes(&inner, CORS_EXPOSED, rule->exposed_headers);
        record_put(&inner, CORS_MAX_AGE, rule->max_age_seconds);
        buf_put_bytes(b, buf_str(&inner));
    }
}

enum website_field { WEBSITE_ENABLED = 1, WEBSITE_INDEX, WEBSITE_ERROR, WEBSITE_DEFAULT };

static void put_website(struct buf *b, const struct service_website *w)
{
    record_put(b, WEBSITE_ENABLED, w->enabled);
    record_put_bytes(b, WEBSITE_INDEX, w->index_document);
    record_put_bytes(b, WEBSITE_ERROR, w->error_document);
    record_put_bytes(b, WEBSITE_DEFAULT, w->default_index_path);
}

enum { DELETE_RETENTION = 1 };
enum { PROTOCOL_MULTICHANNEL = 1, PROTOCOL_SMB_ENCRYPTION, PROTOCOL_NFS_ENCRYPTION };

static void put_protocol(struct buf *b, const struct service_protocol *p)
{
    record_put(b, PROTOCOL_MULTICHANNEL, p->smb_multichannel);
    record_put(b, PROTOCOL_SMB_ENCRYPTION, p->smb_encryption);
    record_put(b, PROTOCOL_NFS_ENCRYPTION, p->nfs_encryption);
}

static struct str encode_part(struct arena *a, const struct service_properties *p,
                              enum service_part part)
{
    struct buf b = buf_in(a);
    switch (part) {
    case PART_LOGGING:
        put_logging(&b, &p->logging);
        break;
    case PART_HOUR_METRICS:
        put_metrics(&b, &p->hour_metrics);
        break;
    case PART_MINUTE_METRICS:
        put_metrics(&b, &p->minute_metrics);
        break;
    case PART_CORS:
        put_cors(&b, &p->cors);
        break;
    case PART_DEFAULT_VERSION:
        return p->default_version;
    case PART_DELETE_RETENTION:
        put_retention(&b, DELETE_RETENTION, &p->delete_retention);
        break;
    case PART_STATIC_WEBSITE:
        put_website(&b, &p->website);
        break;
    case PART_PROTOCOL:
        put_protocol(&b, &p->protocol);
        break;
    case SERVICE_PART_END:
        break;
    }
    return buf_str(&b);
}

/* ---- bytes to parts ---- */

static bool take_retention(struct str bytes, struct service_retention *r)
{
    struct reader reader = reader_of(bytes);
    struct record_field f;
    *r = (struct service_retention){false};
    while (record_next(&reader, &f)) {
        if (f.number == RETENTION_ENABLED)
            r->enabled = f.value != 0;
        else if (f.number == RETENTION_DAYS)
            r->days = (uint32_t)f.value;
        else if (f.number == RETENTION_PERMANENT)
            r->permanent_delete = f.value != 0;
    }
    return reader_done(&reader);
}

static bool take_logging(struct str bytes, struct service_logging *l)
{
    struct reader reader = reader_of(bytes);
    struct record_field f;
    bool good = true;
    while (good && record_next(&reader, &f)) {
        if (f.number == LOGGING_VERSION)
            l->version = f.bytes;
        else if (f.number == LOGGING_DELETE)
            l->delete_calls = f.value != 0;
        else if (f.number == LOGGING_READ)
            l->read_calls = f.value != 0;
        else if (f.number == LOGGING_WRITE)
            l->write_calls = f.value != 0;
        else if (f.number == LOGGING_RETENTION)
            good = take_retention(f.bytes, &l->retention);
    }
    return good && reader_done(&reader);
}

static bool take_metrics(struct str bytes, struct service_metrics *m)
{
    struct reader reader = reader_of(bytes);
    struct record_field f;
    bool good = true;
    while (good && record_next(&reader, &f)) {
        if (f.number == METRICS_VERSION)
            m->version = f.bytes;
        else if (f.number == METRICS_ENABLED)
            m->enabled = f.value != 0;
        else if (f.number == METRICS_APIS)
            m->include_apis = f.value != 0;
        else if (f.number == METRICS_RETENTION)
            good = take_retention(f.bytes, &m->retention);
    }
    return good && reader_done(&reader);
}

static bool take_cors_rule(struct str bytes, struct cors_rule *rule)
{
    struct reader reader = reader_of(bytes);
    struct record_field f;
    while (record_next(&reader, &f)) {
        if (f.number == CORS_ORIGINS)
            rule->allowed_origins = f.bytes;
        else if (f.number == CORS_METHODS)
            rule->allowed_methods = f.bytes;
        else if (f.number == CORS_ALLOWED)
            rule->allowed_headers = f.bytes;
        else if (f.number == CORS_EXPOSED)
            rule->exposed_headers = f.bytes;
        else if (f.number == CORS_MAX_AGE)
            rule->max_age_seconds = f.value;
    }
    return reader_done(&reader);
}

static bool take_cors(struct str bytes, struct cors_rules *cors)
{
    struct reader reader = reader_of(bytes);
    bool good = true;
    while (good && reader.n > 0 && !reader.bad && cors->count < CORS_RULES_MAX)
        good = take_cors_rule(read_bytes(&reader), &cors->rules[cors->count++]);
    return good && reader_done(&reader);
}

static bool take_website(struct str bytes, struct service_website *w)
{
    struct reader reader = reader_of(bytes);
    struct record_field f;
    while (record_next(&reader, &f)) {
        if (f.number == WEBSITE_ENABLED)
            w->enabled = f.value != 0;
        else if (f.number == WEBSITE_INDEX)
            w->index_document = f.bytes;
        else if (f.number == WEBSITE_ERROR)
            w->error_document = f.bytes;
        else if (f.number == WEBSITE_DEFAULT)
            w->default_index_path = f.bytes;
    }
    return reader_done(&reader);
}

static bool take_one_field(struct str bytes, struct record_field *f)
{
    struct reader reader = reader_of(bytes);
    *f = (struct record_field){.bytes = STR("")};
    return !record_next(&reader, f) || reader_done(&reader);
}

static bool take_protocol(struct str bytes, struct service_protocol *p)
{
    struct reader reader = reader_of(bytes);
    struct record_field f;
    *p = (struct service_protocol){false};
    while (record_next(&reader, &f)) {
        if (f.number == PROTOCOL_MULTICHANNEL)
            p->smb_multichannel = f.value != 0;
        else if (f.number == PROTOCOL_SMB_ENCRYPTION)
            p->smb_encryption = (enum service_encryption)f.value;
        else if (f.number == PROTOCOL_NFS_ENCRYPTION)
            p->nfs_encryption = (enum service_encryption)f.value;
    }
    return reader_ok(&reader);
}

static bool take_part(struct service_properties *p, const struct record_field *f)
{
    struct record_field inner;
    p->given |= f->number < SERVICE_PART_END ? 1U << f->number : 0;
    switch (f->number) {
    case PART_LOGGING:
        return take_logging(f->bytes, &p->logging);
    case PART_HOUR_METRICS:
        return take_metrics(f->bytes, &p->hour_metrics);
    case PART_MINUTE_METRICS:
        return take_metrics(f->bytes, &p->minute_metrics);
    case PART_CORS:
        return take_cors(f->bytes, &p->cors);
    case PART_DEFAULT_VERSION:
        p->default_version = f->bytes;
        return true;
    case PART_DELETE_RETENTION:
        return take_one_field(f->bytes, &inner) &&
               take_retention(inner.bytes, &p->delete_retention);
    case PART_STATIC_WEBSITE:
        return take_website(f->bytes, &p->website);
    case PART_PROTOCOL:
        return take_protocol(f->bytes, &p->protocol);
    default:
        return true;
    }
}

/* ---- the transactions ---- */

static struct err read_row(struct str row, struct service_properties *out)
{
    struct reader r = reader_of(row);
    struct record_field f;
    bool good = true;
    *out = (struct service_properties){.given = 0};
    while (good && record_next(&r, &f))
        good = take_part(out, &f);
    return good && reader_done(&r) ? OK : err_new(ERR_CORRUPT);
}

struct err service_properties_get(struct txn *t, void *arg)
{
    struct service_properties_get *get = arg;
    struct str row;
    TRY(row_get_hot(t, KEY, &row));
    return read_row(arena_copy(get->arena, row), &get->properties);
}

struct err service_properties_peek(struct txn *t, struct str partition,
                                   struct service_properties *out)
{
    struct str row;
    TRY(row_get_in(t, partition, KEY, &row));
    return read_row(row, out);
}

struct err service_properties_set(struct txn *t, void *arg)
{
    const struct service_properties *p = arg;
    struct str row;
    struct record_field f;
    struct buf b = buf_in(txn_arena(t));
    for (enum service_part part = PART_LOGGING; part < SERVICE_PART_END; part++)
        if (service_properties_has(p, part))
            record_put_bytes(&b, part, encode_part(txn_arena(t), p, part));
    /* Parts that are not given stay as they are, byte for byte. */
    TRY(row_get_hot(t, KEY, &row));
    struct reader r = reader_of(row);
    while (record_next(&r, &f))
        if (f.number >= SERVICE_PART_END || (p->given & 1U << f.number) == 0)
            record_put_bytes(&b, f.number, f.bytes);
    if (!reader_done(&r))
        return err_new(ERR_CORRUPT);
    return txn_put(t, KEY, buf_str(&b));
}
