/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/head/match.h"

#include "core/test.h"
#include "rest/server.h"

/* A minimal request for a row. */
struct made {
    struct arena arena;
    struct http_exchange x;
    struct rest_server server;
    struct rest_call call;
    struct http_header headers[2];
    struct auth_pair query[4];
};

static struct auth_pair wish(const char *text)
{
    struct str value = str_of(text);
    struct str name = str_cut(&value, '=');
    return (struct auth_pair){name, str_given(value) ? value : STR("1")};
}

static void make(struct made *m, enum service_kind service, const struct op *op,
                 enum http_method method)
{
    *m = (struct made){0};
    arena_init(&m->arena, 1 << 20);
    m->x.request.method = method;
    m->x.request.headers = m->headers;
    m->call.x = &m->x;
    m->call.server = &m->server;
    match_index_init(&m->server.match[service], match_table(service));
    m->call.arena = &m->arena;
    m->call.service = service;
    m->call.query = m->query;
    if (op->restype != NULL)
        m->query[m->call.query_count++] = (struct auth_pair){STR("restype"), str_of(op->restype)};
    if (op->comp != NULL)
        m->query[m->call.query_count++] = (struct auth_pair){STR("comp"), str_of(op->comp)};
    if (op->query != NULL)
        m->query[m->call.query_count++] = wish(op->query);
    const char *headers[] = {op->header, op->header_too};
    for (size_t i = 0; i < 2; i++) {
        if (headers[i] == NULL)
            continue;
        struct auth_pair header = wish(headers[i]);
        m->headers[m->x.request.header_count++] = (struct http_header){header.name, header.value};
    }
}

static void check_row(enum service_kind service, const struct op *op)
{
    for (int method = HTTP_GET; method < HTTP_METHOD_OTHER; method++) {
        struct made m;
        if ((op->methods & 1U << method) == 0)
            continue;
        make(&m, service, op, (enum http_method)method);
        CHECK_OK(match_op(&m.call, op->resource == R_ANY ? R_SERVICE : op->resource));
        if (m.call.op != op)
            test_fail(__FILE__, __LINE__, "%s is hidden by %s", op->name, m.call.op->name);
    }
}

void test_match_reaches_every_row(void)
{
    for (int service = 0; service < SERVICE_KIND_COUNT; service++) {
        const struct op_table *table = match_table((enum service_kind)service);
        for (size_t i = 0; i < table->count; i++)
            check_row((enum service_kind)service, &table->rows[i]);
    }
}

/* The row that matches a query; NULL if it is refused. */
static const struct op *row_of(struct made *m, enum op_resource resource)
{
    m->call.op = NULL;
    return err_is(match_op(&m->call, resource)) ? NULL : m->call.op;
}

static const struct str SELECTORS[] = {STR_INIT("snapshot"),      STR_INIT("versionid"),
                                       STR_INIT("sharesnapshot"), STR_INIT("peekonly"),
                                       STR_INIT("comp"),          STR_INIT("restype")};

/* Every parameter that selects the row or states its purpose: if empty it matches no other row and
 * is refused. Decode checks other parameters. */
static void check_empty_parameters(enum service_kind service, const struct op *op,
                                   enum http_method method)
{
    struct made m;
    make(&m, service, op, method);
    enum op_resource resource = op->resource == R_ANY ? R_SERVICE : op->resource;
    size_t own = m.call.query_count;
    for (size_t i = 0; i < own; i++) {
        struct str value = m.query[i].value;
        m.query[i].value = STR("");
        if (row_of(&m, resource) != NULL)
            test_fail(__FILE__, __LINE__, "%s with an empty parameter is %s", op->name,
                      m.call.op->name);
        m.query[i].value = value;
    }
    CHECK(own < sizeof m.query / sizeof m.query[0]);
    m.call.query_count = own + 1;
    for (size_t i = 0; i < sizeof SELECTORS / sizeof SELECTORS[0]; i++) {
        m.query[own] = (struct auth_pair){SELECTORS[i], STR("")};
        if (row_of(&m, resource) != NULL)
            test_fail(__FILE__, __LINE__, "%s with an empty %s is %s", op->name, SELECTORS[i].p,
                      m.call.op->name);
    }
    m.query[own] = (struct auth_pair){STR("prefix"), STR("")};
    CHECK(row_of(&m, resource) == op);
    CHECK(str_given(call_query(&m.call, STR("prefix"))));
    CHECK(call_query_is_empty(&m.call, STR("Prefix")));
    arena_release(&m.arena);
}

void test_match_empty_parameters_of_every_row(void)
{
    for (int service = 0; service < SERVICE_KIND_COUNT; service++) {
        const struct op_table *table = match_table((enum service_kind)service);
        for (size_t i = 0; i < table->count; i++)
            for (int method = HTTP_GET; method < HTTP_METHOD_OTHER; method++)
                if ((table->rows[i].methods & 1U << method) != 0)
                    check_empty_parameters((enum service_kind)service, &table->rows[i],
                                           (enum http_method)method);
    }
}

/* A row that lacks a function its mode needs would crash on its first request. */
void test_match_rows_are_complete(void)
{
    for (int service = 0; service < SERVICE_KIND_COUNT; service++) {
        const struct op_table *table = match_table((enum service_kind)service);
        for (size_t i = 0; i < table->count; i++) {
            const struct op *op = &table->rows[i];
            bool transaction = op->mode == MODE_READ || op->mode == MODE_WRITE;
            bool started = op->mode == MODE_START || op->mode == MODE_START_READ;
            bool whole = op->name != NULL && op->methods != 0 && op->decode != NULL &&
                         op->encode != NULL && (!transaction || op->run != NULL) &&
                         started == (op->start != NULL) &&
                         (op->body == BODY_NONE) == (op->body_max == 0);
            if (!whole)
                test_fail(__FILE__, __LINE__, "%s is not whole", op->name);
        }
    }
}
