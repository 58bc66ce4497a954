/* SPDX-License-Identifier: Apache-2.0 */
/* The properties of an account's blob, queue, table or file service: analytics, cross-origin rules,
 * and a few that only some services have. Stored in a separate partition per account and service.
 * Facts §8. */
#ifndef SERVICE_COMMON_SERVICE_PROPERTIES_H
#define SERVICE_COMMON_SERVICE_PROPERTIES_H

#include "engine/engine.h"
#include "service/account/account.h"
#include "service/common/cors_rule.h"

/* The parts, which are set independently: a part that a request omits is kept. The values are also
 * the field numbers of the row. */
enum service_part {
    PART_LOGGING = 1,
    PART_HOUR_METRICS,
    PART_MINUTE_METRICS,
    PART_CORS,
    PART_DEFAULT_VERSION,  /* blob */
    PART_DELETE_RETENTION, /* blob */
    PART_STATIC_WEBSITE,   /* blob */
    PART_PROTOCOL,         /* file */
    SERVICE_PART_END
};

struct service_retention {
    bool enabled;
    uint32_t days; /* 1 to 365 when enabled */
    bool permanent_delete;
};

struct service_logging {
    struct str version;
    bool delete_calls, read_calls, write_calls;
    struct service_retention retention;
};

struct service_metrics {
    struct str version;
    bool enabled;
    bool include_apis; /* when enabled */
    struct service_retention retention;
};

struct service_website {
    bool enabled;
    struct str index_document;
    struct str error_document;
    struct str default_index_path;
};

enum service_encryption { ENCRYPTION_UNSAID, ENCRYPTION_OPTIONAL, ENCRYPTION_REQUIRED };

struct service_protocol {
    bool smb_multichannel;
    enum service_encryption smb_encryption, nfs_encryption; /* in transit */
};

struct service_properties {
    unsigned given; /* bits 1 << enum service_part: those that were set */
    struct service_logging logging;
    struct service_metrics hour_metrics;
    struct service_metrics minute_metrics;
    struct cors_rules cors;
    struct str default_version;
    struct service_retention delete_retention;
    struct service_website website;
    struct service_protocol protocol;
};

static inline bool service_properties_has(const struct service_properties *p,
                                          enum service_part part)
{
    return (p->given & 1U << part) != 0;
}

struct str service_properties_partition(struct arena *a, enum service_kind service,
                                        struct str account);

struct service_properties_get {
    struct arena *arena;
    struct service_properties properties; /* texts live in the arena */
};
engine_fn service_properties_get;

/* For a transaction of another partition; texts are borrowed from it. */
struct err service_properties_peek(struct txn *t, struct str partition,
                                   struct service_properties *out);

/* arg: struct service_properties. Replaces the given parts; the last writer wins. */
engine_fn service_properties_set;

#endif
