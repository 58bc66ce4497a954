/* SPDX-License-Identifier: Apache-2.0 */
/* List Shares, and List Directories and Files. The body is written while the rows are read: see
 * service/file/list.h. */
#include "service/file/list.h"
#include "core/text/base64.h"
#include "core/text/uri.h"
#include "core/text/xml.h"
#include "core/time.h"
#include "rest/file/ops.h"
#include "rest/file/request.h"
#include "rest/file/share_settings.h"
#include "rest/listing.h"
#include "rest/metadata.h"
#include "service/common/etag.h"
#include "service/file/keys.h"

enum { VERSION_FILE_ID = 20201002 };

#define PUT(b, literal) buf_put((b), STR(literal))

static void put_iso(struct buf *b, struct str name, int64_t ticks)
{
    xml_open(b, name);
    time_put_iso(b, ticks);
    xml_close(b, name);
}

static void put_date(struct buf *b, struct str name, int64_t ticks)
{
    xml_open(b, name);
    time_put_rfc1123(b, ticks);
    xml_close(b, name);
}

/* ---- directories ---- */

struct list_directory {
    struct directory_list_args args; /* first */
    struct rest_call *call;
    bool timestamps, etags, attributes, permissions;
};

static bool take_include(void *arg, struct str value)
{
    struct list_directory *list = arg;
    if (str_ieq(value, STR("Timestamps")))
        return list->timestamps = true;
    if (str_ieq(value, STR("ETag")))
        return list->etags = true;
    if (str_ieq(value, STR("Attributes")))
        return list->attributes = true;
    if (str_ieq(value, STR("PermissionKey")))
        return list->permissions = true;
    return false;
}

static void put_path_attribute(struct rest_call *call, struct str path)
{
    struct buf encoded = buf_in(call->arena);
    if (rest_file_name_is_encoded(call, path)) {
        listing_attribute(call, STR("Encoded"), STR("true"));
        uri_encode(&encoded, path, URI_KEEP_NONE);
        path = buf_str(&encoded);
    }
    listing_attribute(call, STR("DirectoryPath"), path);
}

static void begin_directory(void *sink, const struct file_found *directory, struct str path)
{
    struct list_directory *list = sink;
    struct rest_call *call = list->call;
    struct buf *b = &call->out;
    struct str snapshot = call_query(call, STR("sharesnapshot"));
    listing_open(call);
    listing_attribute(call, STR("ShareName"), call->container);
    if (str_given(snapshot))
        listing_attribute(call, STR("ShareSnapshot"), snapshot);
    put_path_attribute(call, path);
    listing_opened(call);
    if (str_given(list->args.prefix))
        rest_file_put_name(call, STR("Prefix"), list->args.prefix);
    listing_echo(call, STR("marker"), STR("Marker"));
    listing_echo(call, STR("maxresults"), STR("MaxResults"));
    if (call->version >= VERSION_FILE_ID)
        xml_element_u64(b, STR("DirectoryId"), directory->id);
    PUT(b, "<Entries>");
}

static void put_properties(struct list_directory *list, const struct node *n)
{
    struct buf *b = &list->call->out;
    PUT(b, "<Properties>");
    if (n->kind != NODE_DIRECTORY)
        xml_element_u64(b, STR("Content-Length"), n->size);
    if (list->timestamps) {
        put_iso(b, STR("CreationTime"), n->created);
        put_iso(b, STR("LastAccessTime"), n->accessed);
        put_iso(b, STR("LastWriteTime"), n->last_write);
        put_iso(b, STR("ChangeTime"), n->changed);
        put_date(b, STR("Last-Modified"), n->last_modified);
    }
    if (list->etags) {
        PUT(b, "<Etag>");
        etag_put_quoted(b, n->etag);
        PUT(b, "</Etag>");
    }
    PUT(b, "</Properties>");
    if (list->attributes) {
        PUT(b, "<Attributes>");
        rest_file_put_attributes_text(b, n);
        PUT(b, "</Attributes>");
    }
    if (list->permissions) {
        PUT(b, "<PermissionKey>");
        permission_key_put(b, &n->permission);
        PUT(b, "</PermissionKey>");
    }
}

static void put_entry(void *sink, const struct file_found *found)
{
    struct list_directory *list = sink;
    struct buf *b = &list->call->out;
    struct str element = found->entry.directory ? STR("Directory") : STR("File");
    xml_open(b, element);
    rest_file_put_name(list->call, STR("Name"), found->entry.name);
    if (list->call->version >= VERSION_FILE_ID)
        xml_element_u64(b, STR("FileId"), found->id);
    put_properties(list, &found->node);
    xml_close(b, element);
}

struct err rest_list_directory_decode(struct rest_call *call)
{
    struct list_directory *list = ARENA_NEW(call->arena, struct list_directory);
    struct directory_list_args *args = &list->args;
    call->args = list;
    list->call = call;
    TRY(rest_file_read_request(call, true, &args->request));
    TRY(listing_read_include(call, take_include, list));
    TRY(listing_read_max(call, FILE_LIST_MAX, &args->max));
    args->prefix = call_query(call, STR("prefix"));
    struct str marker = call_query(call, STR("marker"));
    if (str_given(marker) && marker.n > 0 && !base64_decode(call->arena, marker, &args->marker))
        return call_bad_query(call, STR("marker"));
    args->sink = list;
    args->begin = begin_directory;
    args->item = put_entry;
    return OK;
}

struct err rest_list_directory_encode(struct rest_call *call)
{
    const struct list_directory *list = call->args;
    struct buf *b = &call->out;
    call_put(call, STR("Content-Type"), STR("application/xml"));
    PUT(b, "</Entries>");
    xml_element(b, STR("NextMarker"),
                str_given(list->args.next) ? base64_encode(call->arena, list->args.next) : STR(""));
    PUT(b, "</EnumerationResults>");
    return OK;
}

/* ---- shares ---- */

struct list_shares {
    struct share_list_args args; /* first */
    struct rest_call *call;
    bool metadata;
};

static bool take_share_include(void *arg, struct str value)
{
    struct list_shares *list = arg;
    if (str_ieq(value, STR("metadata")))
        return list->metadata = true;
    if (str_ieq(value, STR("snapshots")))
        return list->args.wants_snapshots = true;
    if (str_ieq(value, STR("deleted")))
        return list->args.wants_deleted = true;
    return false;
}

static void begin_shares(void *sink)
{
    const struct list_shares *list = sink;
    struct rest_call *call = list->call;
    listing_open(call);
    listing_opened(call);
    listing_echo_page(call);
    PUT(&call->out, "<Shares>");
}

static void put_share_lease(struct buf *b, const struct lease *lease, int64_t now)
{
    enum lease_state state = lease_state(lease, now);
    struct str duration = lease_duration_text(lease, now);
    xml_element(b, STR("LeaseStatus"), lease_status_text(state));
    xml_element(b, STR("LeaseState"), lease_state_text(state));
    if (str_given(duration))
        xml_element(b, STR("LeaseDuration"), duration);
}

static void put_element(void *sink, struct str header, struct str element, struct str value)
{
    (void)header;
    xml_element(sink, element, value);
}

static void put_share_properties(struct list_shares *list, const struct share *s,
                                 const struct share_snapshot *snapshot)
{
    struct buf *b = &list->call->out;
    const struct share_settings *settings = snapshot != NULL ? &snapshot->settings : &s->settings;
    PUT(b, "<Properties>");
    put_date(b, STR("Last-Modified"),
             snapshot != NULL ? snapshot->last_modified : s->last_modified);
    PUT(b, "<Etag>");
    etag_put_quoted(b, snapshot != NULL ? snapshot->etag : s->etag);
    PUT(b, "</Etag>");
    rest_share_settings_tell(list->call->arena, s, settings, put_element, b);
    if (s->deleted != 0) {
        listing_put_retention(b, s->deleted, s->purge_at - list->call->now);
    } else {
        put_share_lease(b, snapshot != NULL ? &snapshot->lease : &s->lease, list->call->now);
    }
    PUT(b, "</Properties>");
}

static void put_share(void *sink, struct str name, const struct share *s,
                      const struct share_snapshot *snapshot)
{
    struct list_shares *list = sink;
    struct buf *b = &list->call->out;
    PUT(b, "<Share>");
    xml_element(b, STR("Name"), name);
    if (snapshot != NULL)
        put_iso(b, STR("Snapshot"), snapshot->stamp);
    if (s->deleted != 0) {
        listing_put_version(b, s->incarnation);
    }
    put_share_properties(list, s, snapshot);
    if (list->metadata)
        rest_metadata_put_xml(b, snapshot != NULL ? snapshot->metadata : s->metadata);
    PUT(b, "</Share>");
}

struct err rest_list_shares_decode(struct rest_call *call)
{
    struct list_shares *list = ARENA_NEW(call->arena, struct list_shares);
    struct share_list_args *args = &list->args;
    call->args = list;
    list->call = call;
    call->partition = file_partition(call->arena, call->account, STR(""));
    TRY(listing_read_include(call, take_share_include, list));
    TRY(listing_read_max(call, FILE_LIST_MAX, &args->max));
    args->arena = call->arena;
    args->account = call->account;
    args->prefix = call_query(call, STR("prefix"));
    args->marker = call_query(call, STR("marker"));
    args->sink = list;
    args->begin = begin_shares;
    args->item = put_share;
    return OK;
}

struct err rest_list_shares_encode(struct rest_call *call)
{
    const struct list_shares *list = call->args;
    struct buf *b = &call->out;
    call_put(call, STR("Content-Type"), STR("application/xml"));
    PUT(b, "</Shares>");
    xml_element(b, STR("NextMarker"), str_given(list->args.next) ? list->args.next : STR(""));
    PUT(b, "</EnumerationResults>");
    return OK;
}
