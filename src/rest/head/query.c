/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/head/query.h"

#include "core/text/uri.h"

struct query_pairs {
    size_t count;
    size_t parts; /* the empty ones included */
    bool malformed;
    bool plus_is_space;
    struct auth_pair pairs[REST_QUERY_MAX];
};

/* Adds the pairs of a query, or of a part of one. */
static struct err read_pairs(struct rest_call *call, struct str query, struct query_pairs *to)
{
    if (!str_given(query))
        return OK;
    struct uri_query walk = uri_query_of(query);
    struct uri_param param;
    walk.parts = to->parts;
    walk.plus_is_space = to->plus_is_space;
    walk.verbatim = STR("sig"); /* pasted by people without escaping */
    while (uri_query_next(&walk, call->arena, &param) && walk.parts <= REST_QUERY_MAX) {
        if (!param.plain && (!str_is_utf8(param.name) || !str_is_utf8(param.value)))
            return err_new(ERR_INVALID_URI);
        to->pairs[to->count++] = (struct auth_pair){param.name, param.value};
    }
    to->parts = walk.parts;
    to->malformed |= walk.malformed;
    return walk.parts > REST_QUERY_MAX ? err_new(ERR_INVALID_URI) : OK;
}

static struct auth_pair *keep_pairs(struct rest_call *call, const struct query_pairs *read)
{
    struct auth_pair *kept = ARENA_ARRAY(call->arena, struct auth_pair, read->count + 1);
    memcpy(kept, read->pairs, read->count * sizeof read->pairs[0]);
    return kept;
}

void query_use(struct rest_call *call, struct auth_pair *pairs, size_t count)
{
    call->query = pairs;
    call->query_count = count;
    call->query_names = http_name_mark(STR("")); /* known, even if there are none */
    for (size_t i = 0; i < count; i++)
        call->query_names |= http_name_mark(pairs[i].name);
}

/* The service decodes '+' in a query as a space, and many programs write it so. Others mean a plus:
 * under Shared Key the signature shows which, so the query is parsed both ways and authentication
 * decides. No value that selects an operation has either character, so the operation is the same
 * for both. */
static struct err read_plus(struct rest_call *call)
{
    struct str query = call->x->request.query;
    struct query_pairs read;
    if (!str_given(query) || str_find(query, '+', 0) == query.n || call->service == SERVICE_TABLE)
        return OK;
    read.count = read.parts = 0;
    read.malformed = read.plus_is_space = false;
    TRY(read_pairs(call, query, &read));
    if (read.count == call->query_count)
        call->query_plus = keep_pairs(call, &read);
    return OK;
}

struct err query_parse(struct rest_call *call)
{
    struct query_pairs read;
    read.count = read.parts = 0;
    read.malformed = false;
    read.plus_is_space = true;
    TRY(read_pairs(call, call->x->request.query, &read));
    query_use(call, keep_pairs(call, &read), read.count);
    TRY(read_plus(call));
    return read.malformed ? err_new(ERR_REQUEST_URL_FAILED_TO_PARSE) : OK;
}
