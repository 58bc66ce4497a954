/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/table/format.h"

#include <assert.h>

/* ---- formats ---- */

/* One media type with its parameters, in lower case where it matters. */
struct media_type {
    struct str type;
    struct str odata;
};

static struct media_type media_type_of(struct str text)
{
    struct media_type m = {.type = str_trim(str_cut(&text, ';'))};
    while (str_given(text)) {
        struct str value = str_cut(&text, ';');
        struct str name = str_trim(str_cut(&value, '='));
        if (str_ieq(name, STR("odata")))
            m.odata = str_trim(value);
    }
    return m;
}

static bool is_atom(struct str type)
{
    return str_ieq(type, STR("application/atom+xml")) || str_ieq(type, STR("application/xml")) ||
           str_ieq(type, STR("atom"));
}

static bool is_anything(struct str type)
{
    return str_eq(type, STR("*/*")) || str_ieq(type, STR("application/*")) ||
           str_ieq(type, STR("json"));
}

static bool odata_level(struct str odata, enum table_metadata *out)
{
    if (!str_given(odata) || str_ieq(odata, STR("minimalmetadata")))
        *out = METADATA_MINIMAL;
    else if (str_ieq(odata, STR("nometadata")))
        *out = METADATA_NONE;
    else if (str_ieq(odata, STR("fullmetadata")))
        *out = METADATA_FULL;
    else
        return false;
    return true;
}

/* The first of the list that is supported. Clients that still name Atom first name JSON after
 * it. */
struct err rest_table_metadata_wanted(struct rest_call *call, enum table_metadata *out)
{
    assert(out != NULL);
    struct str list = call_query(call, STR("$format"));
    bool atom = false;
    if (!str_given(list))
        list = call_header(call, STR("Accept"));
    *out = METADATA_MINIMAL;
    if (!str_given(list) || str_trim(list).n == 0)
        return OK;
    while (str_given(list)) {
        struct media_type m = media_type_of(str_cut(&list, ','));
        if (is_anything(m.type))
            return OK;
        if (str_ieq(m.type, STR("application/json")) && odata_level(m.odata, out))
            return OK;
        atom = atom || is_atom(m.type);
    }
    return err_new(atom ? ERR_ATOM_FORMAT_NOT_SUPPORTED : ERR_MEDIA_TYPE_NOT_SUPPORTED);
}

struct err rest_table_check_content_type(struct rest_call *call)
{
    struct str text = call_header(call, STR("Content-Type"));
    if (!str_given(text) || text.n == 0)
        return OK;
    struct media_type m = media_type_of(text);
    if (str_ieq(m.type, STR("application/json")))
        return OK;
    return err_new(is_atom(m.type) ? ERR_ATOM_FORMAT_NOT_SUPPORTED : ERR_MEDIA_TYPE_NOT_SUPPORTED);
}

void rest_table_put_json_headers(struct rest_call *call, enum table_metadata metadata)
{
    static const struct str types[] = {
        [METADATA_NONE] = STR_INIT("application/json;odata=nometadata;streaming=true;"
                                   "charset=utf-8"),
        [METADATA_MINIMAL] = STR_INIT("application/json;odata=minimalmetadata;streaming=true;"
                                      "charset=utf-8"),
        [METADATA_FULL] = STR_INIT("application/json;odata=fullmetadata;streaming=true;"
                                   "charset=utf-8"),
    };
    call_put(call, STR("Content-Type"), types[metadata]);
    call_put(call, STR("DataServiceVersion"), STR("3.0;"));
    call_put(call, STR("X-Content-Type-Options"), STR("nosniff"));
    call_put(call, STR("Cache-Control"), STR("no-cache"));
}

/* ---- preferences ---- */

enum rest_table_prefer rest_table_prefer(struct rest_call *call)
{
    struct str prefer = call_header(call, STR("Prefer"));
    if (!str_given(prefer))
        return PREFER_NOTHING;
    if (str_ieq(prefer, STR("return-no-content")) || str_ieq(prefer, STR("return=minimal")))
        return PREFER_NO_CONTENT;
    return str_ieq(prefer, STR("return-content")) ? PREFER_CONTENT : PREFER_NOTHING;
}

bool rest_table_put_created(struct rest_call *call, enum rest_table_prefer prefer)
{
    call->status = prefer == PREFER_NO_CONTENT ? 204 : 201;
    if (prefer == PREFER_NO_CONTENT)
        call_put(call, STR("Preference-Applied"), STR("return-no-content"));
    else if (prefer == PREFER_CONTENT)
        call_put(call, STR("Preference-Applied"), STR("return-content"));
    return prefer != PREFER_NO_CONTENT;
}

/* ---- methods ---- */

struct err rest_table_method(const struct rest_call *call, enum http_method *out)
{
    assert(out != NULL);
    static const enum http_method others[] = {HTTP_PUT, HTTP_MERGE, HTTP_PATCH, HTTP_DELETE};
    const struct http_request *request = &call->x->request;
    size_t count = http_header_count(request, STR("X-HTTP-Method"));
    *out = request->method;
    if (count == 0)
        return OK;
    if (count > 1)
        return err_new(ERR_X_METHOD_INCORRECT_COUNT);
    if (request->method != HTTP_POST)
        return err_new(ERR_X_METHOD_NOT_USING_POST);
    struct str wanted = http_header_get(request, STR("X-HTTP-Method"));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (str_eq(wanted, http_method_name(others[i]))) {
            *out = others[i];
            return OK;
        }
    }
    return err_new(ERR_X_METHOD_INCORRECT_VALUE);
}
