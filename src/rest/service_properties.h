/* SPDX-License-Identifier: Apache-2.0 */
/* Set and Get Service Properties and Get Service Stats, common to all services: each table has the
 * three rows under its own names. */
#ifndef REST_SERVICE_PROPERTIES_H
#define REST_SERVICE_PROPERTIES_H

#include "rest/call.h"
#include "rest/server.h"
#include "service/common/service_properties.h"

enum { SERVICE_PROPERTIES_BODY_MAX = 64 << 10 };

struct err rest_set_service_properties_decode(struct rest_call *call);
struct err rest_set_service_properties_encode(struct rest_call *call);
struct err rest_get_service_properties_decode(struct rest_call *call);
struct err rest_get_service_properties_encode(struct rest_call *call);
struct err rest_get_service_stats_decode(struct rest_call *call);
struct err rest_get_service_stats_encode(struct rest_call *call);

/* For use after {.name = "…", in a table. */
#define OP_SET_SERVICE_PROPERTIES                                                        \
    .methods = M_PUT, .resource = R_SERVICE, .restype = "service", .comp = "properties", \
    .account_sas = "w", .account_sas_type = 's', .body = BODY_SMALL,                     \
    .body_max = SERVICE_PROPERTIES_BODY_MAX, .mode = MODE_WRITE,                         \
    .decode = rest_set_service_properties_decode, .run = service_properties_set,         \
    .encode = rest_set_service_properties_encode
#define OP_GET_SERVICE_PROPERTIES                                                        \
    .methods = M_GET, .resource = R_SERVICE, .restype = "service", .comp = "properties", \
    .account_sas = "r", .account_sas_type = 's', .mode = MODE_READ,                      \
    .decode = rest_get_service_properties_decode, .run = service_properties_get,         \
    .encode = rest_get_service_properties_encode
#define OP_GET_SERVICE_STATS                                                        \
    .methods = M_GET, .resource = R_SERVICE, .restype = "service", .comp = "stats", \
    .account_sas = "r", .account_sas_type = 's', .mode = MODE_DIRECT,               \
    .decode = rest_get_service_stats_decode, .encode = rest_get_service_stats_encode

/* For struct rest_server: the rules that Set Service Properties stored. */
struct err rest_service_cors_rules(struct store *store, const struct auth_container *place,
                                   struct arena *arena, struct cors_rules *out);

/* ---- inside: the XML ---- */

/* The body <StorageServiceProperties>; texts live in the arena. ERR_INVALID_XML_DOCUMENT,
 * ERR_INVALID_XML_NODE_VALUE, ERR_UNSUPPORTED_XML_NODE. */
struct err rest_service_properties_from_xml(struct arena *a, enum service_kind service,
                                            struct str body, struct service_properties *out);
/* All properties of the service, with defaults where nothing was set. */
void rest_service_properties_put_xml(struct buf *out, enum service_kind service,
                                     const struct service_properties *p);

#endif
