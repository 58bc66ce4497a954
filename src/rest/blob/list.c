/* SPDX-License-Identifier: Apache-2.0 */
/* List Blobs and List Containers: decode and encode. The body is written while the rows are read:
 * see service/blob/list.h. */
#include "service/blob/list.h"
#include "core/text/base64.h"
#include "core/text/xml.h"
#include "core/time.h"
#include "rest/blob/ops.h"
#include "rest/blob/protect.h"
#include "rest/blob/request.h"
#include "rest/blob/tags.h"
#include "rest/listing.h"
#include "rest/metadata.h"
#include "rest/server.h"
#include "service/blob/copy/copy_state.h"
#include "service/blob/path/path.h"
#include "service/common/etag.h"
#include "service/common/name.h"
#include "service/common/pairs.h"

enum {
    VERSION_RESOURCE_TYPE = 20201002,
    VERSION_START_FROM = 20260206,
    VERSION_END_BEFORE = 20261006
};

/* A literal, at its length. */
#define PUT(b, literal) buf_put((b), STR(literal))

/* ---- what both have ---- */

static void put_lease(struct buf *b, const struct lease *lease, int64_t now)
{
    enum lease_state state = lease_state(lease, now);
    PUT(b, "<LeaseStatus>");
    buf_put(b, lease_status_text(state));
    PUT(b, "</LeaseStatus><LeaseState>");
    buf_put(b, lease_state_text(state));
    PUT(b, "</LeaseState>");
    struct str duration = lease_duration_text(lease, now);
    if (str_given(duration))
        xml_element(b, STR("LeaseDuration"), duration);
}

static void put_last_modified(struct buf *b, int64_t last_modified)
{
    PUT(b, "<Last-Modified>");
    time_put_rfc1123(b, last_modified);
    PUT(b, "</Last-Modified>");
}

/* ---- List Blobs ---- */

struct list_blobs {
    struct blob_list_args args; /* first: run's argument */
    struct rest_call *call;
    bool wants_metadata;
    bool wants_tags;
    bool wants_policy, wants_hold;
    bool wants_copy;
    bool wants_permissions;
};

static bool take_kept_include(struct blob_list_args *args, struct str value)
{
    if (str_ieq(value, STR("versions")))
        return args->wants_versions = true;
    if (str_ieq(value, STR("deleted")))
        return args->wants_deleted = true;
    if (str_ieq(value, STR("deletedwithversions")))
        return args->wants_versions_only = true;
    return false;
}

static bool take_blob_include(void *arg, struct str value)
{
    struct list_blobs *list = arg;
    if (str_ieq(value, STR("snapshots")))
        return list->args.wants_snapshots = true;
    if (str_ieq(value, STR("uncommittedblobs")))
        return list->args.wants_uncommitted = true;
    if (str_ieq(value, STR("metadata")))
        return list->wants_metadata = true;
    if (str_ieq(value, STR("tags")))
        return list->wants_tags = true;
    if (str_ieq(value, STR("immutabilitypolicy")))
        return list->wants_policy = true;
    if (str_ieq(value, STR("legalhold")))
        return list->wants_hold = true;
    if (take_kept_include(&list->args, value))
        return true;
    if (str_ieq(value, STR("copy")))
        return list->wants_copy = true;
    if (str_ieq(value, STR("permissions")))
        return list->wants_permissions = true;
    return false;
}

static void begin_blobs(void *sink)
{
    const struct list_blobs *list = sink;
    struct rest_call *call = list->call;
    listing_open(call);
    listing_attribute(call, STR("ContainerName"), call->container);
    listing_opened(call);
    listing_echo_page(call);
    listing_echo(call, STR("delimiter"), STR("Delimiter"));
    PUT(&call->out, "<Blobs>");
}

/* Azure writes the properties that are not set as empty elements. */
static void put_optional(struct buf *b, struct str name, struct str text)
{
    if (text.n > 0) {
        xml_element(b, name, text);
        return;
    }
    buf_putc(b, '<');
    buf_put(b, name);
    PUT(b, " />");
}

static void put_content_properties(struct buf *b, const struct blob_head *head)
{
    const struct blob_http *http = &head->http;
    PUT(b, "<Content-Length>");
    buf_put_u64(b, head->size);
    PUT(b, "</Content-Length>");
    /* A blob with only uncommitted blocks has no properties yet. */
    if (!head->committed)
        return;
    put_optional(b, STR("Content-Type"), http->content_type);
    put_optional(b, STR("Content-Encoding"), http->content_encoding);
    put_optional(b, STR("Content-Language"), http->content_language);
    PUT(b, "<Content-CRC64 />");
    if (str_given(http->content_md5)) {
        PUT(b, "<Content-MD5>");
        base64_put(b, http->content_md5);
        PUT(b, "</Content-MD5>");
    } else {
        PUT(b, "<Content-MD5 />");
    }
    put_optional(b, STR("Cache-Control"), http->cache_control);
    put_optional(b, STR("Content-Disposition"), http->content_disposition);
}

/* A block blob always has a tier, a page blob when it was given one. */
static void put_tier(struct buf *b, const struct blob_head *head)
{
    if (head->sealed)
        PUT(b, "<Sealed>true</Sealed>");
    if (head->type == BLOB_PAGE) {
        PUT(b, "<x-ms-blob-sequence-number>");
        buf_put_u64(b, head->sequence);
        PUT(b, "</x-ms-blob-sequence-number>");
    }
    if (head->type != BLOB_BLOCK && head->tier == BLOB_TIER_NONE)
        return;
    PUT(b, "<AccessTier>");
    buf_put(b, blob_tier_text(head->tier));
    PUT(b, "</AccessTier>");
    if (head->tier == BLOB_TIER_SMART)
        PUT(b, "<SmartAccessTier>Hot</SmartAccessTier>");
    if (head->tier == BLOB_TIER_NONE) {
        PUT(b, "<AccessTierInferred>true</AccessTierInferred>");
        return;
    }
    PUT(b, "<AccessTierChangeTime>");
    time_put_rfc1123(b, head->tier_changed);
    PUT(b, "</AccessTierChangeTime>");
    if (head->rehydrate == BLOB_TIER_NONE)
        return;
    xml_element(b, STR("ArchiveStatus"), blob_archive_status_text(head));
    xml_element(b, STR("RehydratePriority"), blob_rehydrate_priority_text(head));
}

/* Policies and holds are listed only on request. */
static void put_protection(const struct list_blobs *list, const struct blob_head *head)
{
    struct buf *b = &list->call->out;
    const struct blob_protection *p = &head->protection;
    if (head->expires != 0) {
        PUT(b, "<Expiry-Time>");
        time_put_rfc1123(b, head->expires);
        PUT(b, "</Expiry-Time>");
    }
    if (head->accessed != 0) {
        PUT(b, "<LastAccessTime>");
        time_put_rfc1123(b, head->accessed);
        PUT(b, "</LastAccessTime>");
    }
    if (str_given(head->encryption_scope))
        xml_element(b, STR("EncryptionScope"), head->encryption_scope);
    if (list->wants_policy && p->until != 0) {
        PUT(b, "<ImmutabilityPolicyUntilDate>");
        time_put_rfc1123(b, p->until);
        PUT(b, "</ImmutabilityPolicyUntilDate>");
        xml_element(b, STR("ImmutabilityPolicyMode"), rest_blob_policy_mode_text(p));
    }
    if (list->wants_hold && p->hold)
        PUT(b, "<LegalHold>true</LegalHold>");
}

static void put_copy_time(struct buf *b, const struct blob_copy_state *copy)
{
    if (copy->completed != 0) {
        PUT(b, "<CopyCompletionTime>");
        time_put_rfc1123(b, copy->completed);
        PUT(b, "</CopyCompletionTime>");
    }
    if (copy->snapshot != 0) {
        PUT(b, "<CopyDestinationSnapshot>");
        time_put_iso(b, copy->snapshot);
        PUT(b, "</CopyDestinationSnapshot>");
    }
}

static void put_copy(struct buf *b, struct str bytes)
{
    struct blob_copy_state copy;
    /* An undecodable state of one blob does not fail the listing. */
    if (err_is(blob_copy_decode(bytes, &copy)) || copy.status == BLOB_COPY_NONE)
        return;
    PUT(b, "<CopyId>");
    guid_put(b, &copy.id);
    PUT(b, "</CopyId>");
    xml_element(b, STR("CopySource"), copy.source);
    xml_element(b, STR("CopyStatus"), blob_copy_status_text(copy.status));
    PUT(b, "<CopyProgress>");
    buf_put_u64(b, copy.done);
    buf_putc(b, '/');
    buf_put_u64(b, copy.total);
    PUT(b, "</CopyProgress>");
    put_copy_time(b, &copy);
    if (str_given(copy.description))
        xml_element(b, STR("CopyStatusDescription"), copy.description);
    if (copy.incremental)
        PUT(b, "<IncrementalCopy>true</IncrementalCopy>");
}

/* Additional properties of paths in a hierarchical account; permissions only on request. */
static void put_path(const struct list_blobs *list, const struct blob_path *path)
{
    struct buf *b = &list->call->out;
    if (list->call->version >= VERSION_RESOURCE_TYPE)
        xml_element(b, STR("ResourceType"), path->directory ? STR("directory") : STR("file"));
    if (!list->wants_permissions)
        return;
    struct buf text = buf_in(list->call->arena);
    xml_element(b, STR("Owner"), acl_owner(path));
    xml_element(b, STR("Group"), acl_group(path));
    acl_put_mode(&text, path);
    xml_element(b, STR("Permissions"), buf_str(&text));
    buf_clear(&text);
    acl_put_text(&text, path);
    xml_element(b, STR("Acl"), buf_str(&text));
}

static void put_properties(struct list_blobs *list, const struct blob_list_item *item)
{
    struct buf *b = &list->call->out;
    const struct blob_head *head = &item->head;
    PUT(b, "<Properties>");
    if (head->committed) {
        PUT(b, "<Creation-Time>");
        time_put_rfc1123(b, head->created);
        PUT(b, "</Creation-Time>");
        put_last_modified(b, head->last_modified);
        PUT(b, "<Etag>");
        etag_put(b, head->etag);
        PUT(b, "</Etag>");
    }
    put_content_properties(b, head);
    PUT(b, "<BlobType>");
    buf_put(b, blob_type_text(head->type));
    PUT(b, "</BlobType>");
    put_tier(b, head);
    if (item->versions_only || (item->at.item == BLOB_BASE && head->deleted == 0))
        put_lease(b, &head->lease, list->call->now);
    else if (head->deleted != 0)
        listing_put_retention(b, head->deleted, head->purge_at - list->call->now);
    if (list->wants_copy && str_given(head->copy))
        put_copy(b, head->copy);
    if (head->tags.n > 0)
        xml_element_u64(b, STR("TagCount"), pairs_count(head->tags));
    put_protection(list, head);
    if (list->args.hierarchical)
        put_path(list, &head->path);
    PUT(b, "<ServerEncrypted>true</ServerEncrypted></Properties>");
}

static void put_moment(struct buf *b, struct str name, int64_t time)
{
    char text[TIME_ISO_BYTES];
    time_iso(time, text);
    xml_element(b, name, (struct str){text, sizeof text});
}

/* Which of the blob's heads this is. The current version is marked even where other versions are
 * not requested. */
static void put_kind(struct list_blobs *list, const struct blob_list_item *item)
{
    struct buf *b = &list->call->out;
    const struct blob_head *head = &item->head;
    if (item->versions_only) {
        PUT(b, "<HasVersionsOnly>true</HasVersionsOnly>");
        return;
    }
    if (item->at.item == BLOB_SNAPSHOT)
        put_moment(b, STR("Snapshot"), item->at.time);
    if (head->version != 0 && list->call->version >= VERSION_BLOB_VERSIONS) {
        put_moment(b, STR("VersionId"), head->version);
        if (item->at.item == BLOB_BASE && head->deleted == 0)
            PUT(b, "<IsCurrentVersion>true</IsCurrentVersion>");
    }
    if (head->deleted != 0)
        PUT(b, "<Deleted>true</Deleted>");
    if (head->path.deletion_id != 0)
        xml_element_u64(b, STR("DeletionId"), (uint64_t)head->path.deletion_id);
}

/* Clients recognize directories by the mark. */
static struct str metadata_of(const struct list_blobs *list, const struct blob_head *head)
{
    return head->path.directory ? path_mark(list->call->arena, head->metadata) : head->metadata;
}

static void put_blob(void *sink, const struct blob_list_item *item)
{
    struct list_blobs *list = sink;
    struct buf *b = &list->call->out;
    PUT(b, "<Blob>");
    rest_blob_put_name_xml(list->call, item->name);
    put_kind(list, item);
    put_properties(list, item);
    if (list->wants_metadata)
        rest_metadata_put_xml(b, metadata_of(list, &item->head));
    if (list->wants_tags && item->head.tags.n > 0)
        rest_blob_put_tags_xml(b, item->head.tags);
    PUT(b, "</Blob>");
}

static void put_prefix(void *sink, struct str prefix)
{
    struct list_blobs *list = sink;
    PUT(&list->call->out, "<BlobPrefix>");
    rest_blob_put_name_xml(list->call, prefix);
    PUT(&list->call->out, "</BlobPrefix>");
}

static struct err read_marker(struct rest_call *call, struct str *out)
{
    struct str text = call_query(call, STR("marker"));
    *out = STR_NONE;
    if (!str_given(text) || text.n == 0)
        return OK;
    return base64_decode(call->arena, text, out) ? OK : call_bad_query(call, STR("marker"));
}

/* Refuses clients that accept only Arrow. SDKs that prefer Arrow also accept XML, and check the
 * answer's Content-Type. */
static struct err refuse_arrow(struct rest_call *call)
{
    struct str rest = call_header(call, STR("Accept"));
    bool arrow = false;
    while (str_given(rest)) {
        struct str item = str_cut(&rest, ',');
        struct str type = str_trim(str_cut(&item, ';'));
        if (!str_istarts(type, STR("application/vnd.apache.arrow")))
            return OK;
        arrow = true;
    }
    return arrow ? err_new(ERR_NOT_IMPLEMENTED) : OK;
}

static struct err read_show_only(struct rest_call *call, struct blob_list_args *args)
{
    const struct str name = STR("showonly");
    struct str text = call_query(call, name);
    if (text.n == 0)
        return OK;
    if (str_ieq(text, STR("deleted")))
        args->only = LIST_DELETED;
    else if (str_ieq(text, STR("files")))
        args->only = LIST_FILES;
    else if (str_ieq(text, STR("directories")))
        args->only = LIST_DIRECTORIES;
    else
        return call_bad_query(call, name);
    args->wants_deleted = args->wants_deleted || args->only == LIST_DELETED;
    return OK;
}

struct err rest_list_blobs_decode(struct rest_call *call)
{
    struct list_blobs *list = ARENA_NEW(call->arena, struct list_blobs);
    call->args = list;
    TRY(refuse_arrow(call));
    TRY(name_check_container(call->container));
    call->partition = blob_partition(call->arena, call->account, call->container);
    list->call = call;
    list->args = (struct blob_list_args){
        .arena = call->arena,
        .prefix = call_query(call, STR("prefix")),
        .delimiter = call_query(call, STR("delimiter")),
        .sink = list,
        .begin = begin_blobs,
        .item = put_blob,
        .prefix_found = put_prefix,
        .caller = call->by_lists ? rest_blob_caller(call, &call->who) : NULL,
    };
    call->lists_read = true;
    if (call->version >= VERSION_START_FROM)
        list->args.start_from = call_query(call, STR("startFrom"));
    /* For Arrow listings, which this server does not have. It sends XML, as the service does for
     * accounts without them: clients check the Content-Type. */
    if (call->version >= VERSION_END_BEFORE)
        list->args.end_before = call_query(call, STR("endBefore"));
    TRY(listing_read_max(call, LIST_RESULTS_MAX, &list->args.max));
    TRY(read_marker(call, &list->args.marker));
    TRY(listing_read_include(call, take_blob_include, list));
    TRY(read_show_only(call, &list->args));
    /* Tags need a permission beyond listing. */
    if (list->wants_tags)
        TRY(rest_blob_need_tag_permission(call));
    /* A group of names has no snapshots to show. */
    if (list->args.delimiter.n > 0 && list->args.wants_snapshots)
        return call_bad_query(call, STR("include"));
    return OK;
}

struct err rest_list_blobs_encode(struct rest_call *call)
{
    const struct list_blobs *list = call->args;
    struct buf *b = &call->out;
    call_put(call, STR("Content-Type"), STR("application/xml"));
    PUT(b, "</Blobs>");
    if (str_given(list->args.next)) {
        PUT(b, "<NextMarker>");
        base64_put(b, list->args.next);
        PUT(b, "</NextMarker>");
    } else {
        PUT(b, "<NextMarker />");
    }
    PUT(b, "</EnumerationResults>");
    return OK;
}

/* ---- List Containers ---- */

struct list_containers {
    struct container_list_args args; /* first: run's argument */
    struct rest_call *call;
    bool wants_metadata;
};

static bool take_container_include(void *arg, struct str value)
{
    struct list_containers *list = arg;
    if (str_ieq(value, STR("metadata")))
        return list->wants_metadata = true;
    if (str_ieq(value, STR("system")))
        return list->args.wants_system = true;
    if (str_ieq(value, STR("deleted")))
        return list->args.wants_deleted = true;
    return false;
}

static void begin_containers(void *sink)
{
    struct rest_call *call = ((struct list_containers *)sink)->call;
    listing_open(call);
    listing_opened(call);
    listing_echo_page(call);
    PUT(&call->out, "<Containers>");
}

static void put_container(void *sink, struct str name, const struct container *container)
{
    struct list_containers *list = sink;
    struct buf *b = &list->call->out;
    PUT(b, "<Container>");
    xml_element(b, STR("Name"), name);
    if (container->deleted != 0)
        listing_put_version(b, container->incarnation);
    PUT(b, "<Properties>");
    put_last_modified(b, container->last_modified);
    /* Azure puts quotes around a container's ETag, and none around a blob's. */
    PUT(b, "<Etag>");
    etag_put_quoted(b, container->etag);
    PUT(b, "</Etag>");
    if (container->deleted != 0) {
        PUT(b, "<LeaseStatus>unlocked</LeaseStatus><LeaseState>expired</LeaseState>");
        listing_put_retention(b, container->deleted, container->purge_at - list->call->now);
    } else {
        put_lease(b, &container->lease, list->call->now);
    }
    if (container->public_access != BLOB_PUBLIC_NONE)
        xml_element(b, STR("PublicAccess"),
                    container->public_access == BLOB_PUBLIC_BLOB ? STR("blob") : STR("container"));
    xml_element(b, STR("DefaultEncryptionScope"), container_scope(container));
    xml_element(b, STR("DenyEncryptionScopeOverride"),
                container->deny_scope_override ? STR("true") : STR("false"));
    PUT(b, "<HasImmutabilityPolicy>false</HasImmutabilityPolicy>"
           "<HasLegalHold>false</HasLegalHold>"
           "<ImmutableStorageWithVersioningEnabled>true</ImmutableStorageWithVersioningEnabled>"
           "</Properties>");
    if (list->wants_metadata)
        rest_metadata_put_xml(b, container->metadata);
    PUT(b, "</Container>");
}

/* A marker is a name; if the next page begins among deleted containers of that name, a slash
 * follows, which no name has, and which of them. */
static struct err read_container_marker(struct rest_call *call, struct container_list_args *args)
{
    struct str rest = call_query(call, STR("marker"));
    args->marker = STR_NONE;
    if (rest.n == 0)
        return OK;
    args->marker = str_cut(&rest, '/');
    if (str_given(rest) && !listing_parse_version(rest, &args->marker_deleted))
        return call_bad_query(call, STR("marker"));
    return OK;
}

static struct str container_marker(struct rest_call *call, const struct container_list_args *args)
{
    if (!str_given(args->next))
        return STR("");
    if (!args->wants_deleted)
        return args->next;
    return arena_printf(call->arena, "%.*s/%016llX", STR_ARG(args->next),
                        (unsigned long long)args->next_deleted);
}

struct err rest_list_containers_decode(struct rest_call *call)
{
    struct list_containers *list = ARENA_NEW(call->arena, struct list_containers);
    call->args = list;
    call->partition = blob_partition(call->arena, call->account, STR(""));
    list->call = call;
    list->args = (struct container_list_args){
        .arena = call->arena,
        .account = call->account,
        .prefix = call_query(call, STR("prefix")),
        .sink = list,
        .begin = begin_containers,
        .item = put_container,
    };
    TRY(read_container_marker(call, &list->args));
    TRY(listing_read_max(call, LIST_RESULTS_MAX, &list->args.max));
    return listing_read_include(call, take_container_include, list);
}

struct err rest_list_containers_encode(struct rest_call *call)
{
    const struct list_containers *list = call->args;
    struct buf *b = &call->out;
    call_put(call, STR("Content-Type"), STR("application/xml"));
    PUT(b, "</Containers>");
    xml_element(b, STR("NextMarker"), container_marker(call, &list->args));
    PUT(b, "</EnumerationResults>");
    return OK;
}
