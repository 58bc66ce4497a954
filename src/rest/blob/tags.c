/* SPDX-License-Identifier: Apache-2.0 */
/* Tags on the wire; Get Blob Tags and Set Blob Tags: decode and encode. */
#include "rest/blob/tags.h"

#include "core/text/uri.h"
#include "core/text/xml.h"
#include "rest/blob/ops.h"
#include "rest/blob/request.h"
#include "rest/blob/upload.h"
#include "service/blob/tags/tags.h"

enum { TAGS_HEADER_MAX = 2048, VERSION_BLOB_CONDITIONS = 20260206 };

struct err rest_blob_need_tag_permission(const struct rest_call *call)
{
    return auth_permits(&call->who, "t") ? OK : err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
}

/* ---- the header ---- */

/* The header is form-encoded: a plus is a space here, and only here. (.NET's SDK writes a plus for
 * a space; all write a real plus as %2B.) */
static struct str spaces_for_plus(struct arena *a, struct str text)
{
    char *to = arena_bytes(a, text.n + 1);
    for (size_t i = 0; i < text.n; i++)
        to[i] = text.p[i];
    for (size_t i = 0; i < text.n; i++)
        if (to[i] == '+')
            to[i] = ' ';
    return (struct str){to, text.n};
}

struct err rest_blob_read_tags_header(struct rest_call *call, struct str *encoded)
{
    const struct str name = STR("x-ms-tags");
    struct str text = call_header(call, name);
    struct pair items[BLOB_TAGS_MAX];
    struct pairs tags = {.items = items};
    struct uri_param param;
    *encoded = STR_NONE;
    if (!str_given(text) || text.n == 0)
        return OK;
    TRY(rest_blob_need_tag_permission(call));
    if (text.n > TAGS_HEADER_MAX)
        return err_new(ERR_TAGS_TOO_LARGE);
    struct uri_query query = uri_query_of(spaces_for_plus(call->arena, text));
    while (uri_query_next(&query, call->arena, &param)) {
        if (tags.count == BLOB_TAGS_MAX)
            return err_new(ERR_TAGS_TOO_LARGE);
        items[tags.count++] = (struct pair){param.name, param.value};
    }
    if (query.malformed)
        return call_bad_header(call, name);
    TRY(blob_tags_check(&tags));
    *encoded = pairs_encode(call->arena, &tags);
    return OK;
}

void rest_blob_put_tag_count(struct rest_call *call, struct str encoded)
{
    if (encoded.n > 0)
        call_put_u64(call, STR("x-ms-tag-count"), pairs_count(encoded));
}

/* ---- XML ---- */

void rest_blob_put_tags_xml(struct buf *out, struct str encoded)
{
    struct reader r = reader_of(encoded);
    struct pair tag;
    buf_put(out, STR("<Tags><TagSet>"));
    while (pairs_next(&r, &tag)) {
        buf_put(out, STR("<Tag><Key>"));
        xml_put_text(out, tag.name);
        buf_put(out, STR("</Key><Value>"));
        xml_put_text(out, tag.value);
        buf_put(out, STR("</Value></Tag>"));
    }
    buf_put(out, STR("</TagSet></Tags>"));
}

struct err rest_blob_parse_tags(struct arena *arena, struct str body, struct str *encoded)
{
    struct pair items[BLOB_TAGS_MAX];
    struct pairs tags = {.items = items};
    struct xml_node *root;
    TRY(xml_parse(arena, body, &root));
    const struct xml_node *set = xml_child(root, STR("TagSet"));
    if (!str_eq(root->name, STR("Tags")) || set == NULL)
        return err_new(ERR_INVALID_XML_DOCUMENT);
    for (const struct xml_node *node = set->first_child; node != NULL; node = node->next) {
        struct pair tag = {xml_child_text(node, STR("Key")), xml_child_text(node, STR("Value"))};
        if (!str_eq(node->name, STR("Tag")) || !str_given(tag.name) || !str_given(tag.value))
            return err_new(ERR_INVALID_XML_DOCUMENT);
        if (tags.count == BLOB_TAGS_MAX)
            return err_new(ERR_TAGS_TOO_LARGE);
        items[tags.count++] = tag;
    }
    TRY(blob_tags_check(&tags));
    *encoded = pairs_encode(arena, &tags);
    return OK;
}

/* ---- Set Blob Tags, Get Blob Tags ---- */

/* If-Match and the like would apply to the tags, if those had an ETag; conditions on the blob have
 * other names, and were added later. */
static struct err read_conditions(struct rest_call *call, struct blob_request *request)
{
    return call->version >= VERSION_BLOB_CONDITIONS
               ? rest_blob_read_http_conditions(call, &BLOB_CONDITIONS_OF_BLOB,
                                                &request->conditions)
               : OK;
}

/* Tags are set on the blob itself or a version; a snapshot keeps those it was taken with. */
struct err rest_set_blob_tags_decode(struct rest_call *call)
{
    struct blob_tags_args *args = ARENA_NEW(call->arena, struct blob_tags_args);
    call->args = args;
    TRY(rest_blob_read_request(call, &args->request));
    if (args->request.at.item == BLOB_SNAPSHOT)
        return call_bad_query(call, STR("snapshot"));
    TRY(read_conditions(call, &args->request));
    TRY(rest_blob_check_body_checksums(call, call->body));
    return rest_blob_parse_tags(call->arena, call->body, &args->tags);
}

struct err rest_set_blob_tags_encode(struct rest_call *call)
{
    call->status = 204;
    return OK;
}

struct err rest_get_blob_tags_decode(struct rest_call *call)
{
    struct blob_tags_args *args = ARENA_NEW(call->arena, struct blob_tags_args);
    call->args = args;
    TRY(rest_blob_read_request(call, &args->request));
    return read_conditions(call, &args->request);
}

struct err rest_get_blob_tags_encode(struct rest_call *call)
{
    const struct blob_tags_args *args = call->args;
    call_begin_xml(call);
    rest_blob_put_tags_xml(&call->out, args->tags);
    return OK;
}
