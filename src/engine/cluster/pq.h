/* SPDX-License-Identifier: Apache-2.0 */
/* The part of libpq that the cluster engine calls. The library is loaded when the engine is opened,
 * so that a server without it has no dependency on PostgreSQL; the prototypes are our own, so that
 * the build has none either. They have been stable since libpq 14, which brought the pipeline mode.
 */
#ifndef ENGINE_CLUSTER_PQ_H
#define ENGINE_CLUSTER_PQ_H

#include "core/err.h"

struct pg_conn;
struct pg_result;

enum { PQ_CONNECTION_OK = 0 };
enum pq_result_status {
    PQ_COMMAND_OK = 1,
    PQ_TUPLES_OK = 2,
    PQ_PIPELINE_SYNC = 10,
    PQ_PIPELINE_ABORTED = 11,
};
enum pq_transaction { PQ_IDLE = 0, PQ_ACTIVE = 1, PQ_IN_TRANSACTION = 2, PQ_IN_ERROR = 3 };
enum { PQ_DIAG_SQLSTATE = 'C', PQ_DIAG_MESSAGE_PRIMARY = 'M' };

struct pq {
    struct pg_conn *(*connect)(const char *const *keywords, const char *const *values, int expand);
    void (*finish)(struct pg_conn *c);
    int (*status)(const struct pg_conn *c);
    int (*transaction_status)(const struct pg_conn *c);
    char *(*error_message)(const struct pg_conn *c);
    int (*socket)(const struct pg_conn *c);
    int (*set_nonblocking)(struct pg_conn *c, int nonblocking);
    int (*enter_pipeline)(struct pg_conn *c);
    int (*pipeline_sync)(struct pg_conn *c);
    int (*send_prepare)(struct pg_conn *c, const char *name, const char *query, int count,
                        const unsigned *types);
    int (*send_query_prepared)(struct pg_conn *c, const char *name, int count,
                               const char *const *values, const int *lengths, const int *formats,
                               int result_format);
    int (*send_query_params)(struct pg_conn *c, const char *query, int count, const unsigned *types,
                             const char *const *values, const int *lengths, const int *formats,
                             int result_format);
    int (*flush)(struct pg_conn *c);
    int (*consume_input)(struct pg_conn *c);
    int (*is_busy)(struct pg_conn *c);
    struct pg_result *(*get_result)(struct pg_conn *c);
    int (*result_status)(const struct pg_result *r);
    char *(*result_error_field)(const struct pg_result *r, int field);
    int (*tuples)(const struct pg_result *r);
    char *(*value)(const struct pg_result *r, int row, int column);
    int (*length)(const struct pg_result *r, int row, int column);
    int (*is_null)(const struct pg_result *r, int row, int column);
    void (*clear)(struct pg_result *r);
};

/* ERR_IO with a sentence in `detail` if the library or one of its functions is missing. The library
 * stays loaded. */
struct err pq_load(struct pq *out);

#endif
