/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/dfs/request.h"

#include "core/text/base64.h"
#include "rest/blob/request.h"
#include "rest/dfs/properties.h"
#include "rest/metadata.h"
#include "service/common/name.h"

struct str dfs_header(const struct rest_call *call, struct str name)
{
    struct str value = call_header(call, name);
    return value.n == 0 ? STR_NONE : value;
}

struct str dfs_clean_path(struct arena *a, struct str path)
{
    struct buf b = buf_in(a);
    while (str_given(path)) {
        struct str name = str_cut(&path, '/');
        for (struct str part; str_given(name);) {
            part = str_cut(&name, '\\');
            if (part.n > 0 && b.n > 0)
                buf_putc(&b, '/');
            buf_put(&b, part);
        }
    }
    return b.n == 0 ? STR("") : buf_str(&b);
}

struct err dfs_read_request(struct rest_call *call, struct blob_request *out)
{
    if (call->object.n > 0)
        return rest_blob_read_base_request(call, out);
    return rest_blob_read_root_request(call, out);
}

/* ---- x-ms-properties ---- */

struct err dfs_read_properties(struct rest_call *call, struct str *out)
{
    const struct str name = STR("x-ms-properties");
    struct err error = dfs_parse_properties(call->arena, dfs_header(call, name), out);
    return error.code == ERR_INVALID_HEADER_VALUE ? call_bad_header(call, name) : error;
}

void dfs_put_properties(struct rest_call *call, const struct blob_head *head)
{
    struct buf text = buf_in(call->arena);
    dfs_write_properties(&text, head->metadata);
    call_put(call, STR("x-ms-properties"), text.n == 0 ? STR("") : buf_str(&text));
}

/* ---- headers ---- */

struct err dfs_read_http(struct rest_call *call, struct blob_http *out)
{
    *out = (struct blob_http){
        .content_type = dfs_header(call, STR("x-ms-content-type")),
        .content_encoding = dfs_header(call, STR("x-ms-content-encoding")),
        .content_language = dfs_header(call, STR("x-ms-content-language")),
        .content_disposition = dfs_header(call, STR("x-ms-content-disposition")),
        .cache_control = dfs_header(call, STR("x-ms-cache-control")),
    };
    return rest_blob_read_kept_md5(call, STR("x-ms-content-md5"), &out->content_md5);
}

struct err dfs_read_acl(struct rest_call *call, bool removes, struct path_acl *out, bool *given)
{
    struct str text = dfs_header(call, STR("x-ms-acl"));
    *given = str_given(text);
    if (!*given)
        return OK;
    return err_is(acl_parse(text, removes, out)) ? call_bad_header(call, STR("x-ms-acl")) : OK;
}

struct err dfs_read_id(struct rest_call *call, struct str name, struct str *out)
{
    *out = dfs_header(call, name);
    return !str_given(*out) || acl_is_id(*out) ? OK : call_bad_header(call, name);
}

struct err dfs_read_mode(struct rest_call *call, struct str name, unsigned *out, bool *given)
{
    struct str text = dfs_header(call, name);
    *given = str_given(text);
    return !*given || acl_parse_mode(text, out) ? OK : call_bad_header(call, name);
}

struct err dfs_read_continuation(struct rest_call *call, struct str *out)
{
    const struct str name = STR("continuation");
    struct str text = call_query(call, name);
    *out = STR_NONE;
    if (text.n == 0)
        return OK;
    return base64_decode(call->arena, text, out) && out->n > 0 ? OK : call_bad_query(call, name);
}

void dfs_put_continuation(struct rest_call *call, struct str next)
{
    if (str_given(next))
        call_put(call, STR("x-ms-continuation"), base64_encode(call->arena, next));
}

void dfs_put_status(struct rest_call *call, const struct blob_head *head, bool hierarchical)
{
    struct buf mode = buf_in(call->arena);
    call_put(call, STR("x-ms-resource-type"),
             path_is_folder(head, hierarchical) ? STR("directory") : STR("file"));
    if (!hierarchical)
        return;
    acl_put_mode(&mode, &head->path);
    call_put(call, STR("x-ms-owner"), acl_owner(&head->path));
    call_put(call, STR("x-ms-group"), acl_group(&head->path));
    call_put(call, STR("x-ms-permissions"), buf_str(&mode));
}

void dfs_put_acl(struct rest_call *call, const struct blob_head *head)
{
    struct buf text = buf_in(call->arena);
    acl_put_text(&text, &head->path);
    call_put(call, STR("x-ms-acl"), buf_str(&text));
}
