/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/head/match.h"

#include <assert.h>

#include "rest/blob/website.h"
#include "rest/cors.h"
#include "rest/dfs/dialect.h"
#include "rest/server.h"
#include "rest/table/format.h"

struct auth_demand op_demand(const struct op *op)
{
    return (struct auth_demand){
        .operation = op->name,
        .account_sas = op->account_sas,
        .account_sas_type = op->account_sas_type,
        .service_sas = op->service_sas,
        .anonymous = op->anonymous,
        .write = op->mode == MODE_WRITE || op->mode == MODE_START,
        .tree = op->tree,
        .lists = op->lists || op->resource == R_OBJECT,
    };
}

const struct op_table *match_table(enum service_kind service)
{
    static const struct op_table *const tables[SERVICE_KIND_COUNT] = {
        [SERVICE_BLOB] = &OPS_BLOB,
        [SERVICE_QUEUE] = &OPS_QUEUE,
        [SERVICE_TABLE] = &OPS_TABLE,
        [SERVICE_FILE] = &OPS_FILE,
    };
    return tables[service];
}

/* "name" must be present, "name=value" must have that value. */
static bool wish_holds(const char *wish, struct str value_given)
{
    struct str wanted = str_of(wish);
    (void)str_cut(&wanted, '=');
    return str_given(value_given) && (!str_given(wanted) || str_ieq(wanted, value_given));
}

static struct str wish_name(const char *wish)
{
    struct str rest = str_of(wish);
    return str_cut(&rest, '=');
}

static bool selector_fits(const char *wanted, struct str given)
{
    if (wanted == NULL || !str_given(given))
        return wanted == NULL && !str_given(given);
    return str_ieq(str_of(wanted), given);
}

struct selectors {
    struct str restype;
    struct str comp;
    unsigned method;
    enum op_resource resource;
};

static bool place_fits(const struct op *op, enum op_resource resource)
{
    return op->resource == resource || op->resource == R_ANY;
}

void match_index_init(struct match_index *index, const struct op_table *table)
{
    *index = (struct match_index){0};
    assert(table->count <= MATCH_ROWS_MAX);
    for (size_t i = 0; i < table->count; i++) {
        const struct op *op = &table->rows[i];
        for (unsigned method = 0; method < HTTP_METHOD_OTHER; method++)
            for (unsigned resource = 0; resource < R_ANY; resource++)
                if ((op->methods & 1U << method) != 0 && place_fits(op, resource))
                    index->rows[method][resource][op->comp != NULL] |= 1ULL << i;
    }
}

static bool header_fits(const struct rest_call *call, const char *wish)
{
    return wish == NULL || wish_holds(wish, call_header(call, wish_name(wish)));
}

/* For a row that has the method and the resource. */
static bool row_fits(const struct rest_call *call, const struct op *op, const struct selectors *s)
{
    return selector_fits(op->comp, s->comp) && selector_fits(op->restype, s->restype) &&
           header_fits(call, op->header) && header_fits(call, op->header_too) &&
           (op->query == NULL || wish_holds(op->query, call_query(call, wish_name(op->query))));
}

/* Finds the best error: the one of the rows that match furthest. */
COLD static struct err explain(struct rest_call *call, const struct op_table *table,
                               const struct selectors *s)
{
    bool place = false;
    bool comp = false;
    bool restype = false;
    bool both = false;
    for (size_t i = 0; i < table->count; i++) {
        const struct op *op = &table->rows[i];
        if (!place_fits(op, s->resource))
            continue;
        bool comp_fits = selector_fits(op->comp, s->comp);
        bool restype_fits = selector_fits(op->restype, s->restype);
        place = true;
        comp = comp || comp_fits;
        restype = restype || restype_fits;
        both = both || (comp_fits && restype_fits);
        if (!comp_fits || !restype_fits || (op->methods & s->method) == 0)
            continue;
        /* Everything except the header that distinguishes rows. */
        struct str header = op->header == NULL ? STR_NONE : wish_name(op->header);
        if (str_given(header))
            return str_given(call_header(call, header)) ? call_bad_header(call, header)
                                                        : call_missing_header(call, header);
    }
    if (!place)
        return err_new(ERR_INVALID_URI);
    if (call->dfs && s->resource == R_OBJECT && s->method == 1U << HTTP_PATCH)
        return str_given(call_query(call, STR("action"))) ? call_bad_query(call, STR("action"))
                                                          : call_missing_query(call, STR("action"));
    if (str_given(s->comp) && !comp)
        return call_bad_query(call, STR("comp"));
    if (str_given(s->restype) && !restype)
        return call_bad_query(call, STR("restype"));
    /* Each belongs to some operation, but both together to none: for example, a container without a
     * name. */
    if (!both && (str_given(s->comp) || str_given(s->restype)))
        return call_bad_query(call, STR("comp"));
    return err_new(ERR_UNSUPPORTED_HTTP_VERB);
}

/* The parameters that select the operation. Without a value they could select one operation while
 * permission checks or decode see another: deleting a version with an empty id would delete the
 * blob itself. */
static struct err check_selectors(struct rest_call *call)
{
    static const struct str NAMES[] = {
        STR_INIT("restype"),    STR_INIT("comp"),          STR_INIT("snapshot"),
        STR_INIT("versionid"),  STR_INIT("sharesnapshot"), STR_INIT("peekonly"),
        STR_INIT("deletetype"), STR_INIT("copyid"),
    };
    if (call->query_count == 0)
        return OK;
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (call_query_is_empty(call, NAMES[i]))
            return call_bad_query(call, NAMES[i]);
    return OK;
}

/* An unknown action must not fall back to the operation without one. */
static struct err check_action(struct rest_call *call)
{
    const struct str name = STR("action");
    bool is_known = call->op->query != NULL && str_eq(wish_name(call->op->query), name);
    return !call->dfs || is_known || !str_given(call_query(call, name))
               ? OK
               : call_bad_query(call, name);
}

struct err match_op(struct rest_call *call, enum op_resource resource)
{
    const struct op_table *table = call->dfs ? &OPS_DFS : match_table(call->service);
    enum http_method method = call->x->request.method;
    if (call->service == SERVICE_TABLE)
        TRY(rest_table_method(call, &method));
    if (call->dfs)
        method = dfs_method(call);
    struct selectors s = {
        .restype = call_query(call, STR("restype")),
        .comp = call_query(call, STR("comp")),
        .method = 1U << method,
        .resource = resource,
    };
    if (call->x->request.method == HTTP_METHOD_OTHER)
        return err_new(ERR_INVALID_HTTP_VERB);
    if (call->x->request.method == HTTP_OPTIONS) {
        call->op = &OP_PREFLIGHT;
        return OK;
    }
    if (resource == R_WEBSITE) {
        call->op = &OP_WEBSITE;
        return (OP_WEBSITE.methods & s.method) != 0 ? OK : err_new(ERR_UNSUPPORTED_HTTP_VERB);
    }
    TRY(check_selectors(call));
    const struct match_index *index =
        call->dfs ? &call->server->match_dfs : &call->server->match[call->service];
    uint64_t rows = index->rows[method][resource][str_given(s.comp)];
    for (; rows != 0; rows &= rows - 1) {
        const struct op *op = &table->rows[__builtin_ctzll(rows)];
        if (row_fits(call, op, &s)) {
            call->op = op;
            return check_action(call);
        }
    }
    return explain(call, table, &s);
}
