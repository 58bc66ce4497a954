/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/call.h"

#include <assert.h>

#include "core/time.h"
#include "service/common/home.h"

struct str call_find_query(const struct rest_call *call, struct str name)
{
    for (size_t i = 0; i < call->query_count; i++)
        if (str_ieq(call->query[i].name, name))
            return call->query[i].value;
    return STR_NONE;
}

bool call_query_is_empty(const struct rest_call *call, struct str name)
{
    if (call->query_names != 0 && (call->query_names & http_name_mark(name)) == 0)
        return false;
    for (size_t i = 0; i < call->query_count; i++)
        if (call->query[i].value.n == 0 && str_ieq(call->query[i].name, name))
            return true;
    return false;
}

struct str call_endpoint(const struct rest_call *call)
{
    struct buf b = buf_in(call->arena);
    buf_put(&b, call->x->secure ? STR("https://") : STR("http://"));
    buf_put(&b, call->x->request.host);
    buf_put(&b, call->mount);
    buf_putc(&b, '/');
    if (!call->path_style || call->account.n == 0)
        return buf_str(&b);
    buf_put(&b, call->account);
    if (call->secondary)
        buf_put(&b, STR("-secondary"));
    buf_putc(&b, '/');
    return buf_str(&b);
}

/* A client's text as the value of one detail line: a newline in it must not begin another. */
static struct str on_one_line(struct arena *arena, struct str value)
{
    if (str_find(value, '\n', 0) == value.n)
        return value;
    char *copy = arena_cstr(arena, value);
    for (size_t i = 0; i < value.n; i++)
        if (copy[i] == '\n')
            copy[i] = ERR_DETAIL_NEWLINE;
    return (struct str){copy, value.n};
}

struct err call_error(struct rest_call *call, enum err_code code, const char *element,
                      struct str value)
{
    value = on_one_line(call->arena, value);
    return err_detail(code, arena_printf(call->arena, "%s\t%.*s", element, STR_ARG(value)).p);
}

struct err call_bad_header(struct rest_call *call, struct str name)
{
    struct str value = on_one_line(call->arena, call_header(call, name));
    struct str detail = arena_printf(call->arena, "HeaderName\t%.*s\nHeaderValue\t%.*s",
                                     STR_ARG(name), STR_ARG(value));
    return err_detail(ERR_INVALID_HEADER_VALUE, detail.p);
}

struct err call_missing_header(struct rest_call *call, struct str name)
{
    return call_error(call, ERR_MISSING_REQUIRED_HEADER, "HeaderName", name);
}

struct err call_bad_query(struct rest_call *call, struct str name)
{
    struct str value = on_one_line(call->arena, call_query(call, name));
    struct str detail =
        arena_printf(call->arena, "QueryParameterName\t%.*s\nQueryParameterValue\t%.*s",
                     STR_ARG(name), STR_ARG(value));
    return err_detail(ERR_INVALID_QUERY_PARAMETER_VALUE, detail.p);
}

struct err call_missing_query(struct rest_call *call, struct str name)
{
    return call_error(call, ERR_MISSING_REQUIRED_QUERY_PARAMETER, "QueryParameterName", name);
}

struct err call_read_file(struct rest_call *call, struct str partition, engine_fn *fn, void *args)
{
    struct home_guarded guarded = {
        .home = call->store->home, .partition = partition, .fn = fn, .arg = args};
    return home_read(&guarded, call->store, ENGINE_WAIT);
}

struct err call_header_u64(struct rest_call *call, struct str name, uint64_t *out)
{
    struct str text = call_header(call, name);
    if (str_given(text) && !str_to_u64(text, out))
        return call_bad_header(call, name);
    return OK;
}

struct err call_header_bool(struct rest_call *call, struct str name, bool *out)
{
    struct str text = call_header(call, name);
    if (str_given(text) && !str_to_bool(text, out))
        return call_bad_header(call, name);
    return OK;
}

static struct err out_of_range(struct rest_call *call, struct str name, uint64_t min, uint64_t max)
{
    struct str value = on_one_line(call->arena, call_query(call, name));
    struct str detail = arena_printf(call->arena,
                                     "QueryParameterName\t%.*s\nQueryParameterValue\t%.*s\n"
                                     "MinimumAllowed\t%llu\nMaximumAllowed\t%llu",
                                     STR_ARG(name), STR_ARG(value), (unsigned long long)min,
                                     (unsigned long long)max);
    return err_detail(ERR_OUT_OF_RANGE_QUERY_PARAMETER_VALUE, detail.p);
}

struct err call_query_u64(struct rest_call *call, struct str name, uint64_t min, uint64_t max,
                          uint64_t *out)
{
    assert(out != NULL);
    struct str text = call_query(call, name);
    uint64_t value;
    int64_t negative;
    if (!str_given(text))
        return OK;
    if (!str_to_u64(text, &value))
        return str_to_i64(text, &negative) ? out_of_range(call, name, min, max)
                                           : call_bad_query(call, name);
    if (value < min || value > max)
        return out_of_range(call, name, min, max);
    *out = value;
    return OK;
}

void call_put(struct rest_call *call, struct str name, struct str value)
{
    http_put_header(&call->headers, name, value);
}

void call_put_own(struct rest_call *call, struct str name, struct str value)
{
    http_put_own_header(&call->headers, name, value);
}

void call_put_if(struct rest_call *call, struct str name, struct str value)
{
    if (str_given(value))
        call_put(call, name, value);
}

void call_put_u64(struct rest_call *call, struct str name, uint64_t value)
{
    char digits[BUF_U64_BYTES_MAX];
    struct buf text = {.p = digits, .capacity = sizeof digits, .arena = call->arena};
    buf_put_u64(&text, value);
    call_put_own(call, name, buf_str(&text));
}

void call_put_bool(struct rest_call *call, struct str name, bool value)
{
    call_put_own(call, name, value ? STR("true") : STR("false"));
}

void call_put_time(struct rest_call *call, struct str name, int64_t ticks)
{
    char text[TIME_RFC1123_BYTES];
    time_rfc1123(ticks, text);
    call_put_own(call, name, (struct str){text, sizeof text});
}

void call_begin_xml(struct rest_call *call)
{
    call_put_own(call, STR("Content-Type"), STR("application/xml"));
    buf_put(&call->out, STR("<?xml version=\"1.0\" encoding=\"utf-8\"?>"));
}
