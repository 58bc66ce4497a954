/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/pq.h"

#include "engine/cluster/load.h"

#define AT(field) offsetof(struct pq, field)

static const struct load_symbol SYMBOLS[] = {
    {"PQconnectdbParams", AT(connect)},
    {"PQfinish", AT(finish)},
    {"PQstatus", AT(status)},
    {"PQtransactionStatus", AT(transaction_status)},
    {"PQerrorMessage", AT(error_message)},
    {"PQsocket", AT(socket)},
    {"PQsetnonblocking", AT(set_nonblocking)},
    {"PQenterPipelineMode", AT(enter_pipeline)},
    {"PQpipelineSync", AT(pipeline_sync)},
    {"PQsendPrepare", AT(send_prepare)},
    {"PQsendQueryPrepared", AT(send_query_prepared)},
    {"PQsendQueryParams", AT(send_query_params)},
    {"PQflush", AT(flush)},
    {"PQconsumeInput", AT(consume_input)},
    {"PQisBusy", AT(is_busy)},
    {"PQgetResult", AT(get_result)},
    {"PQresultStatus", AT(result_status)},
    {"PQresultErrorField", AT(result_error_field)},
    {"PQntuples", AT(tuples)},
    {"PQgetvalue", AT(value)},
    {"PQgetlength", AT(length)},
    {"PQgetisnull", AT(is_null)},
    {"PQclear", AT(clear)},
};

struct err pq_load(struct pq *out)
{
    return load_library(
        "libpq.so.5", SYMBOLS, sizeof SYMBOLS / sizeof SYMBOLS[0], out,
        "the library libpq.so.5 of PostgreSQL 14 or newer is not installed (Debian: "
        "libpq5)");
}
