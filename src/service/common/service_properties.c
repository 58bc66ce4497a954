/* SPDX-License-Identifier: Apache-2.0 */
/* The row is a record with one field per part; its bytes are a record of the part's own fields. */
#include "service/common/service_properties.h"

#include <assert.h>

#include "service/common/records.h"
#include "service/common/rows.h"

static const struct str KEY = STR_INIT("p");

struct str service_properties_partition(struct arena *a, enum service_kind service,
                                        struct str account)
{
    static const struct str NAMES[SERVICE_KIND_COUNT] = {STR_INIT("p/blob/"), STR_INIT("p/queue/"),
                                                         STR_INIT("p/table/"), STR_INIT("p/file/")};
    struct buf b = buf_in(a);
    (void)buf_reserve(&b, NAMES[service].n + account.n);
    buf_put(&b, NAMES[service]);
    buf_put(&b, account);
    return buf_str(&b);
}

/* ---- the row ---- */

#define RETENTION(number, member) RECORD_MEMBER(struct service_retention, number, member)
static const struct record_member RETENTION_MEMBERS[] = {
    RETENTION(1, enabled),
    RETENTION(2, days),
    RETENTION(3, permanent_delete),
};
#undef RETENTION
static const struct record_type RETENTION_RECORD =
    RECORD_TYPE(struct service_retention, RETENTION_MEMBERS);

#define LOGGING(number, member) RECORD_MEMBER(struct service_logging, number, member)
static const struct record_member LOGGING_MEMBERS[] = {
    LOGGING(1, version),
    LOGGING(2, delete_calls),
    LOGGING(3, read_calls),
    LOGGING(4, write_calls),
    RECORD_MEMBER_INNER(struct service_logging, 5, retention, &RETENTION_RECORD),
};
#undef LOGGING
static const struct record_type LOGGING_RECORD =
    RECORD_TYPE(struct service_logging, LOGGING_MEMBERS);

#define METRICS(number, member) RECORD_MEMBER(struct service_metrics, number, member)
static const struct record_member METRICS_MEMBERS[] = {
    METRICS(1, version),
    METRICS(2, enabled),
    METRICS(3, include_apis),
    RECORD_MEMBER_INNER(struct service_metrics, 4, retention, &RETENTION_RECORD),
};
#undef METRICS
static const struct record_type METRICS_RECORD =
    RECORD_TYPE(struct service_metrics, METRICS_MEMBERS);

#define CORS(number, member) RECORD_MEMBER(struct cors_rule, number, member)
static const struct record_member CORS_MEMBERS[] = {
    CORS(1, allowed_origins), CORS(2, allowed_methods), CORS(3, allowed_headers),
    CORS(4, exposed_headers), CORS(5, max_age_seconds),
};
#undef CORS
static const struct record_type CORS_RECORD = RECORD_TYPE(struct cors_rule, CORS_MEMBERS);

#define WEBSITE(number, member) RECORD_MEMBER(struct service_website, number, member)
static const struct record_member WEBSITE_MEMBERS[] = {
    WEBSITE(1, enabled),
    WEBSITE(2, index_document),
    WEBSITE(3, error_document),
    WEBSITE(4, default_index_path),
};
#undef WEBSITE
static const struct record_type WEBSITE_RECORD =
    RECORD_TYPE(struct service_website, WEBSITE_MEMBERS);

#define PROTOCOL(number, member) RECORD_MEMBER(struct service_protocol, number, member)
static const struct record_member PROTOCOL_MEMBERS[] = {
    PROTOCOL(1, smb_multichannel),
    RECORD_ENUM(struct service_protocol, 2, smb_encryption, ENCRYPTION_REQUIRED),
    RECORD_ENUM(struct service_protocol, 3, nfs_encryption, ENCRYPTION_REQUIRED),
};
#undef PROTOCOL
static const struct record_type PROTOCOL_RECORD =
    RECORD_TYPE(struct service_protocol, PROTOCOL_MEMBERS);

/* This part is a record whose only field is the retention. */
static const struct record_member DELETE_MEMBERS[] = {
    {.name = "retention", .number = 1, .kind = RECORD_INNER, .inner = &RETENTION_RECORD}};
static const struct record_type DELETE_RECORD =
    RECORD_TYPE(struct service_retention, DELETE_MEMBERS);

static void put_cors(struct buf *b, const void *member)
{
    const struct cors_rules *cors = member;
    assert(cors->count <= CORS_RULES_MAX);
    for (size_t i = 0; i < cors->count; i++) {
        struct buf inner = buf_in(b->arena);
        record_write(&inner, &CORS_RECORD, &cors->rules[i]);
        buf_put_bytes(b, buf_str(&inner));
    }
}

static bool take_cors(struct str bytes, void *member)
{
    struct cors_rules *cors = member;
    struct reader r = reader_of(bytes);
    bool good = true;
    cors->count = 0;
    while (good && r.n > 0 && !r.bad && cors->count < CORS_RULES_MAX)
        good = record_read(read_bytes(&r), &CORS_RECORD, &cors->rules[cors->count++]);
    return good && reader_done(&r);
}

static const struct record_codec CORS_CODEC = {put_cors, take_cors};

#define PART(number, member, table) \
    RECORD_MEMBER_INNER(struct service_properties, number, member, table)
static const struct record_member PARTS[] = {
    PART(PART_LOGGING, logging, &LOGGING_RECORD),
    PART(PART_HOUR_METRICS, hour_metrics, &METRICS_RECORD),
    PART(PART_MINUTE_METRICS, minute_metrics, &METRICS_RECORD),
    RECORD_MEMBER_CODED(struct service_properties, PART_CORS, cors, &CORS_CODEC),
    RECORD_MEMBER(struct service_properties, PART_DEFAULT_VERSION, default_version),
    PART(PART_DELETE_RETENTION, delete_retention, &DELETE_RECORD),
    PART(PART_STATIC_WEBSITE, website, &WEBSITE_RECORD),
    PART(PART_PROTOCOL, protocol, &PROTOCOL_RECORD),
};
#undef PART
const struct record_type SERVICE_PROPERTIES_RECORD = RECORD_TYPE(struct service_properties, PARTS);

/* A given part is written even if it has no field, because it differs from one that was never
 * set. */
static void put_part(struct buf *b, const struct record_member *part,
                     const struct service_properties *p)
{
    struct record_type only = SERVICE_PROPERTIES_RECORD;
    size_t before = b->n;
    only.members = part;
    only.count = 1;
    record_write(b, &only, p);
    if (b->n == before && part->kind != RECORD_BYTES)
        record_put_bytes(b, part->number, STR(""));
}

/* ---- the transactions ---- */

static struct err read_row(struct str row, struct service_properties *out)
{
    struct reader r = reader_of(row);
    struct record_field f;
    *out = (struct service_properties){.given = 0};
    while (record_next(&r, &f))
        out->given |= f.number < SERVICE_PART_END ? 1U << f.number : 0;
    return record_read(row, &SERVICE_PROPERTIES_RECORD, out) ? OK : err_new(ERR_CORRUPT);
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
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++)
        if ((p->given & 1U << PARTS[i].number) != 0)
            put_part(&b, &PARTS[i], p);
    /* Parts that are not given are kept byte for byte. */
    TRY(row_get_hot(t, KEY, &row));
    struct reader r = reader_of(row);
    while (record_next(&r, &f))
        if (f.number >= SERVICE_PART_END || (p->given & 1U << f.number) == 0)
            record_put_bytes(&b, f.number, f.bytes);
    if (!reader_done(&r))
        return err_new(ERR_CORRUPT);
    return txn_put(t, KEY, buf_str(&b));
}
