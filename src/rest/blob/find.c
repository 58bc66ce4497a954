/* SPDX-License-Identifier: Apache-2.0 */
/* Find Blobs by Tags, of an account and of a container: decode and encode. The body is written
 * while the index is read. */
#include "service/blob/tags/find.h"

#include "core/text/base64.h"
#include "core/text/xml.h"
#include "core/time.h"
#include "rest/blob/ops.h"
#include "rest/blob/request.h"
#include "rest/blob/tags.h"
#include "rest/listing.h"
#include "service/blob/tags/tags.h"
#include "service/common/name.h"
#include "service/common/pairs.h"

enum { MARKER_BYTES_MAX = 8192 };

struct find_blobs {
    struct blob_find_args args; /* first: run's argument */
    struct rest_call *call;
};

static void begin_found(void *sink)
{
    struct rest_call *call = ((struct find_blobs *)sink)->call;
    listing_open(call);
    listing_opened(call);
    struct str max = call_query(call, STR("maxresults"));
    listing_echo(call, STR("marker"), STR("Marker"));
    xml_element(&call->out, STR("Where"), call_query(call, STR("where")));
    if (str_given(max))
        xml_element(&call->out, STR("MaxResults"), max);
    buf_put(&call->out, STR("<Blobs>"));
}

/* Shows only the tags that the expression names, each once. */
static struct str named_tags(const struct find_blobs *find, struct str tags)
{
    const struct tag_expression *where = find->args.where;
    struct buf out = buf_in(find->call->arena);
    struct reader r = reader_of(tags);
    struct pair tag;
    while (pairs_next(&r, &tag)) {
        bool named = false;
        for (size_t i = 0; i < where->count; i++)
            named = named || (!where->steps[i].container && str_eq(where->steps[i].name, tag.name));
        if (named)
            pairs_put(&out, tag.name, tag.value);
    }
    return buf_str(&out);
}

static void put_found(void *sink, const struct blob_found *blob)
{
    const struct find_blobs *find = sink;
    struct buf *b = &find->call->out;
    buf_put(b, STR("<Blob>"));
    rest_blob_put_name_xml(find->call, blob->name);
    buf_put(b, STR("<ContainerName>"));
    xml_put_text(b, blob->container);
    buf_put(b, STR("</ContainerName>"));
    if (blob->version != 0) {
        char id[TIME_ISO_BYTES];
        time_iso(blob->version, id);
        xml_element(b, STR("VersionId"), (struct str){id, sizeof id});
        if (blob->is_current)
            xml_element(b, STR("IsCurrentVersion"), STR("true"));
    }
    rest_blob_put_tags_xml(b, named_tags(find, blob->tags));
    buf_put(b, STR("</Blob>"));
}

static struct err read_where(struct rest_call *call, const struct tag_expression **out)
{
    const struct str name = STR("where");
    struct str text = call_query(call, name);
    if (!str_given(text))
        return call_missing_query(call, name);
    struct tag_fault fault = {1, "more tags than a query may name"};
    *out = tag_expression_compile(call->arena, TAG_WHERE, text, &fault);
    bool many = *out != NULL && blob_find_tags(*out) > BLOB_TAGS_MAX;
    if (*out != NULL && !many && blob_find_can(*out))
        return OK;
    call->error_prefix =
        many ? arena_printf(call->arena,
                            "Error parsing query: there can be at most %d unique tags in a query\n",
                            BLOB_TAGS_MAX)
             : arena_printf(call->arena,
                            "Error parsing query at or near character position %zu: %s\n",
                            fault.position, fault.reason);
    return call_bad_query(call, name);
}

static struct err read_place(struct rest_call *call, struct blob_find_args *args)
{
    const struct str marker = STR("marker");
    uint64_t max = FIND_RESULTS_MAX;
    struct str text = call_query(call, marker);
    TRY(call_query_u64(call, STR("maxresults"), 1, INT32_MAX, &max));
    args->max = max > FIND_RESULTS_MAX ? FIND_RESULTS_MAX : (size_t)max;
    args->marker = STR_NONE;
    if (!str_given(text) || text.n == 0)
        return OK;
    if (!base64_decode(call->arena, text, &args->marker) || args->marker.n > MARKER_BYTES_MAX)
        return call_bad_query(call, marker);
    return OK;
}

static bool take_include(void *arg, struct str value)
{
    bool *versions = arg;
    bool wanted = str_ieq(value, STR("versions"));
    *versions = *versions || wanted;
    return wanted || str_ieq(value, STR("none"));
}

static struct err decode(struct rest_call *call, struct str container)
{
    struct find_blobs *find = ARENA_NEW(call->arena, struct find_blobs);
    call->args = find;
    call->partition =
        blob_partition(call->arena, call->account, str_given(container) ? container : STR(""));
    find->call = call;
    find->args = (struct blob_find_args){
        .arena = call->arena,
        .account = call->account,
        .container = container,
        .sink = find,
        .begin = begin_found,
        .found = put_found,
    };
    TRY(read_where(call, &find->args.where));
    TRY(listing_read_include(call, take_include, &find->args.versions));
    return read_place(call, &find->args);
}

struct err rest_find_blobs_by_tags_decode(struct rest_call *call)
{
    return decode(call, STR_NONE);
}

struct err rest_find_blobs_by_tags_in_container_decode(struct rest_call *call)
{
    TRY(name_check_container(call->container));
    return decode(call, call->container);
}

struct err rest_find_blobs_by_tags_encode(struct rest_call *call)
{
    const struct find_blobs *find = call->args;
    struct buf *b = &call->out;
    call_put(call, STR("Content-Type"), STR("application/xml"));
    buf_put(b, STR("</Blobs>"));
    struct str next = find->args.next;
    xml_element(b, STR("NextMarker"), next.n > 0 ? base64_encode(call->arena, next) : STR(""));
    buf_put(b, STR("</EnumerationResults>"));
    return OK;
}
