/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/blob/request.h"

#include <assert.h>

#include "core/hash/md5.h"
#include "core/text/base64.h"
#include "core/text/uri.h"
#include "core/text/xml.h"
#include "core/time.h"
#include "rest/blob/protect.h"
#include "rest/blob/tags.h"
#include "rest/metadata.h"
#include "rest/server.h"
#include "service/common/etag.h"
#include "service/common/name.h"

/* ---- conditions and leases ---- */

/* Repeated headers are one list. */
static struct str read_etag_list(struct rest_call *call, struct str name)
{
    const struct http_request *request = &call->x->request;
    if (http_header_count(request, name) <= 1)
        return call_header(call, name);
    struct buf list = buf_in(call->arena);
    for (size_t i = 0; i < request->header_count; i++) {
        if (request->headers[i].value.n == 0 || !str_ieq(request->headers[i].name, name))
            continue;
        if (list.n > 0)
            buf_putc(&list, ',');
        buf_put(&list, request->headers[i].value);
    }
    return buf_str(&list);
}

struct err rest_blob_read_date(struct rest_call *call, struct str name, bool *given, int64_t *ticks)
{
    struct str text = call_header(call, name);
    *given = str_given(text);
    if (!*given)
        return OK;
    if (http_header_count(&call->x->request, name) > 1 || !time_parse_http(text, ticks))
        return call_bad_header(call, name);
    return OK;
}

static const struct blob_condition_names CONDITIONS = {
    STR_INIT("If-Match"), STR_INIT("If-None-Match"), STR_INIT("If-Modified-Since"),
    STR_INIT("If-Unmodified-Since")};
const struct blob_condition_names BLOB_CONDITIONS_OF_BLOB = {
    STR_INIT("x-ms-blob-if-match"), STR_INIT("x-ms-blob-if-none-match"),
    STR_INIT("x-ms-blob-if-modified-since"), STR_INIT("x-ms-blob-if-unmodified-since")};

struct err rest_blob_read_http_conditions(struct rest_call *call,
                                          const struct blob_condition_names *names,
                                          struct conditions *out)
{
    assert(out != NULL);
    out->if_match = read_etag_list(call, names->match);
    out->if_none_match = read_etag_list(call, names->none_match);
    TRY(rest_blob_read_date(call, names->modified_since, &out->has_modified_since,
                            &out->modified_since));
    return rest_blob_read_date(call, names->unmodified_since, &out->has_unmodified_since,
                               &out->unmodified_since);
}

/* A condition on tags reveals them, so it needs the permission to read tags. */
struct err rest_blob_read_conditions(struct rest_call *call, struct conditions *out)
{
    assert(out != NULL);
    *out = (struct conditions){.version = call->version, .verdict = &call->verdict};
    TRY(rest_blob_read_http_conditions(call, &CONDITIONS, out));
    struct str tags = call_header(call, STR("x-ms-if-tags"));
    if (!str_given(tags))
        return OK;
    TRY(rest_blob_need_tag_permission(call));
    out->if_tags = tag_expression_compile(call->arena, TAG_CONDITION, tags, NULL);
    return out->if_tags == NULL ? call_bad_header(call, STR("x-ms-if-tags")) : OK;
}

static struct err read_guid(struct rest_call *call, struct str name, bool *given, struct guid *out)
{
    struct str text = call_header(call, name);
    *given = str_given(text);
    if (*given && !guid_parse(text, out))
        return call_bad_header(call, name);
    return OK;
}

struct err rest_blob_read_lease_id_of(struct rest_call *call, struct str name, struct lease_id *out)
{
    assert(out != NULL);
    *out = (struct lease_id){0};
    return call_header(call, name).n == 0 ? OK : read_guid(call, name, &out->given, &out->id);
}

struct err rest_blob_read_lease_id(struct rest_call *call, struct lease_id *out)
{
    assert(out != NULL);
    out->verdict = &call->verdict;
    return read_guid(call, STR("x-ms-lease-id"), &out->given, &out->id);
}

static struct err read_needed_guid(struct rest_call *call, struct str name, struct guid *out)
{
    bool given;
    TRY(read_guid(call, name, &given, out));
    return given ? OK : call_missing_header(call, name);
}

static struct err read_acquire(struct rest_call *call, struct lease_request *out)
{
    const struct str name = STR("x-ms-lease-duration");
    struct str text = call_header(call, name);
    int64_t seconds;
    bool proposed;
    if (!str_given(text))
        return call_missing_header(call, name);
    if (!str_to_i64(text, &seconds) ||
        (seconds != LEASE_INFINITE && (seconds < LEASE_SECONDS_MIN || seconds > LEASE_SECONDS_MAX)))
        return call_bad_header(call, name);
    out->seconds = (int)seconds;
    TRY(read_guid(call, STR("x-ms-proposed-lease-id"), &proposed, &out->proposed));
    if (!proposed)
        out->proposed = guid_random();
    return OK;
}

static struct err read_break(struct rest_call *call, struct lease_request *out)
{
    const struct str name = STR("x-ms-lease-break-period");
    uint64_t seconds = UINT64_MAX;
    TRY(call_header_u64(call, name, &seconds));
    if (seconds != UINT64_MAX && seconds > LEASE_BREAK_SECONDS_MAX)
        return call_bad_header(call, name);
    out->break_seconds = seconds == UINT64_MAX ? -1 : (int)seconds;
    return OK;
}

static struct err read_action(struct rest_call *call, enum lease_action *out)
{
    static const struct str ACTIONS[] = {STR_INIT("acquire"), STR_INIT("renew"), STR_INIT("change"),
                                         STR_INIT("release"), STR_INIT("break")};
    const struct str name = STR("x-ms-lease-action");
    struct str text = call_header(call, name);
    if (!str_given(text))
        return call_missing_header(call, name);
    for (unsigned i = 0; i < sizeof ACTIONS / sizeof ACTIONS[0]; i++)
        if (str_ieq(text, ACTIONS[i])) {
            *out = (enum lease_action)i;
            return OK;
        }
    return call_bad_header(call, name);
}

struct err rest_blob_read_lease_acquire(struct rest_call *call, struct lease_request *out)
{
    assert(out != NULL);
    *out = (struct lease_request){.action = LEASE_ACQUIRE};
    return read_acquire(call, out);
}

/* A header that belongs to another action is refused. */
static struct err check_foreign(struct rest_call *call, enum lease_action action)
{
    if (action != LEASE_ACQUIRE && str_given(call_header(call, STR("x-ms-lease-duration"))))
        return call_bad_header(call, STR("x-ms-lease-duration"));
    if (action != LEASE_BREAK && str_given(call_header(call, STR("x-ms-lease-break-period"))))
        return call_bad_header(call, STR("x-ms-lease-break-period"));
    return OK;
}

struct err rest_blob_read_lease_request(struct rest_call *call, struct lease_request *out)
{
    assert(out != NULL);
    *out = (struct lease_request){.verdict = &call->verdict};
    TRY(read_action(call, &out->action));
    TRY(check_foreign(call, out->action));
    switch (out->action) {
    case LEASE_ACQUIRE:
        return read_acquire(call, out);
    case LEASE_CHANGE:
        TRY(read_needed_guid(call, STR("x-ms-lease-id"), &out->id));
        return read_needed_guid(call, STR("x-ms-proposed-lease-id"), &out->proposed);
    case LEASE_RENEW:
    case LEASE_RELEASE:
        return read_needed_guid(call, STR("x-ms-lease-id"), &out->id);
    case LEASE_BREAK:
        break;
    }
    return read_break(call, out);
}

/* ---- the resource ---- */

enum { SCOPE_NAME_MAX = 63 };

/* A SAS may name the scope of everything written with it. */
struct err rest_blob_read_encryption_scope(struct rest_call *call, struct str name, struct str *out)
{
    assert(out != NULL);
    struct str text = call_header(call, name);
    struct str signed_scope = call->who.encryption_scope;
    *out = str_given(text) ? text : signed_scope;
    if (str_given(text) && str_given(signed_scope) && !str_eq(text, signed_scope))
        return err_new(ERR_REQUEST_FORBIDDEN_BY_CONTAINER_ENCRYPTION_POLICY);
    if (str_given(text) && (text.n == 0 || text.n > SCOPE_NAME_MAX))
        return call_bad_header(call, name);
    return OK;
}

struct err rest_blob_read_container_request(struct rest_call *call, struct container_request *out)
{
    assert(out != NULL);
    *out = (struct container_request){.arena = call->arena};
    TRY(name_check_container(call->container));
    call->partition = blob_partition(call->arena, call->account, call->container);
    TRY(rest_blob_read_conditions(call, &out->conditions));
    return rest_blob_read_lease_id(call, &out->lease);
}

/* A snapshot, or a version; not both. */
static struct err read_at(struct rest_call *call, struct blob_at *out)
{
    struct str snapshot = call_query(call, STR("snapshot"));
    struct str version = call_query(call, STR("versionid"));
    *out = (struct blob_at){.item = BLOB_BASE};
    if (snapshot.n > 0) {
        out->item = BLOB_SNAPSHOT;
        if (!time_parse_iso(snapshot, &out->time))
            return call_bad_query(call, STR("snapshot"));
    }
    if (version.n == 0)
        return OK;
    if (out->item == BLOB_SNAPSHOT)
        return err_new(ERR_MUTUALLY_EXCLUSIVE_QUERY_PARAMETERS);
    if (!time_parse_iso(version, &out->time))
        return call_bad_query(call, STR("versionid"));
    out->item = BLOB_VERSION;
    return OK;
}

/* In Azure the management plane enables versioning; here the command line does. */
static bool account_has_versions(const struct rest_call *call)
{
    const char *versioning = call->server->options.blob_versioning;
    struct str list = versioning != NULL ? str_of(versioning) : STR("off");
    if (str_eq(list, STR("on")) || str_eq(list, STR("off")))
        return str_eq(list, STR("on"));
    while (str_given(list))
        if (str_eq(str_trim(str_cut(&list, ',')), call->account))
            return true;
    return false;
}

/* The owner of a new path is the token's user, or the user of a SAS that the token's user
 * delegated. */
static struct str owner_of_new(const struct auth_result *who)
{
    bool named = who->kind == AUTH_BEARER || who->kind == AUTH_DELEGATION_SAS;
    return str_given(who->agent) ? who->agent : named ? who->identity : STR_NONE;
}

const struct acl_caller *rest_blob_caller(struct rest_call *call, const struct auth_result *who)
{
    struct acl_caller *caller = ARENA_NEW(call->arena, struct acl_caller);
    *caller = (struct acl_caller){.id = str_given(who->user) ? who->user : who->identity,
                                  .groups = str_given(who->user) ? NULL : who->groups,
                                  .group_count = str_given(who->user) ? 0 : who->group_count};
    return caller;
}

bool rest_blob_passes(const struct rest_call *call, const struct auth_result *who,
                      const struct auth_resource *what)
{
    struct auth_demand read = {.operation = "GetBlob", .service_sas = "r", .lists = true};
    return !auth_consults_lists(&call->server->auth, who, what, &read);
}

static struct err read_request(struct rest_call *call, struct blob_request *out)
{
    *out = (struct blob_request){.arena = call->arena, .name = call->object};
    TRY(name_check_container(call->container));
    out->path.owner = owner_of_new(&call->who);
    if (call->by_lists) {
        struct auth_resource what = {.service = call->service,
                                     .account = call->account,
                                     .container = call->container,
                                     .object = call->object};
        out->path.caller = rest_blob_caller(call, &call->who);
        out->path.passes = rest_blob_passes(call, &call->who, &what);
    }
    call->lists_read = true;
    call->partition = blob_partition(call->arena, call->account, call->container);
    TRY(read_at(call, &out->at));
    TRY(rest_blob_read_conditions(call, &out->conditions));
    out->create_only = call->who.create_only;
    out->tracks_access = call->store->touches != NULL;
    TRY(rest_blob_read_encryption_scope(call, STR("x-ms-encryption-scope"),
                                        &out->encryption_scope));
    if (call->op->mode != MODE_READ) {
        out->versioning = account_has_versions(call) &&
                          !accounts_is_hierarchical(call->server->auth.accounts, call->account);
        out->settings = service_properties_partition(call->arena, SERVICE_BLOB, call->account);
    }
    return rest_blob_read_lease_id(call, &out->lease);
}

struct err rest_blob_read_request(struct rest_call *call, struct blob_request *out)
{
    TRY(read_request(call, out));
    return name_check_blob(call->object);
}

struct err rest_blob_read_root_request(struct rest_call *call, struct blob_request *out)
{
    return read_request(call, out);
}

struct err rest_blob_read_base_request(struct rest_call *call, struct blob_request *out)
{
    TRY(rest_blob_read_request(call, out));
    if (out->at.item == BLOB_BASE)
        return OK;
    return call_bad_query(call, out->at.item == BLOB_SNAPSHOT ? STR("snapshot") : STR("versionid"));
}

/* ---- properties ---- */

enum { VERSION_SMART = 20260606, CONTENT_MD5_TEXT_MAX = 64 };

struct err rest_blob_read_checksum(struct rest_call *call, struct str name, enum err_code code,
                                   void *out, size_t n, bool *given)
{
    struct str text = call_header(call, name);
    *given = str_given(text) && text.n > 0;
    if (*given && !base64_decode_exact(text, out, n))
        return call_error(call, code, "HeaderName", name);
    return OK;
}

static struct str read_either(struct rest_call *call, struct str own, struct str standard)
{
    struct str value = call_header(call, own);
    if (!str_given(value) && str_given(standard))
        value = call_header(call, standard);
    return value.n == 0 ? STR_NONE : value;
}

struct err rest_blob_read_kept_md5(struct rest_call *call, struct str name, struct str *out)
{
    assert(out != NULL);
    struct str text = call_header(call, name);
    *out = STR_NONE;
    if (!str_given(text) || text.n == 0)
        return OK;
    if (text.n > CONTENT_MD5_TEXT_MAX || !base64_decode(call->arena, text, out))
        return call_error(call, ERR_INVALID_MD5, "HeaderName", name);
    return OK;
}

struct err rest_blob_read_http(struct rest_call *call, bool standard, struct blob_http *out)
{
    static const struct str OWN[] = {
        STR_INIT("x-ms-blob-content-type"), STR_INIT("x-ms-blob-content-encoding"),
        STR_INIT("x-ms-blob-content-language"), STR_INIT("x-ms-blob-content-disposition"),
        STR_INIT("x-ms-blob-cache-control")};
    static const struct str STANDARD[] = {
        STR_INIT("Content-Type"), STR_INIT("Content-Encoding"), STR_INIT("Content-Language"),
        STR_INIT("Content-Disposition"), STR_INIT("Cache-Control")};
    struct str *fields[] = {&out->content_type, &out->content_encoding, &out->content_language,
                            &out->content_disposition, &out->cache_control};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        *fields[i] = read_either(call, OWN[i], standard ? STANDARD[i] : STR_NONE);
    return rest_blob_read_kept_md5(call, STR("x-ms-blob-content-md5"), &out->content_md5);
}

struct err rest_blob_read_properties(struct rest_call *call, bool standard,
                                     struct blob_properties *out)
{
    assert(out != NULL);
    *out = (struct blob_properties){0};
    TRY(rest_blob_read_http(call, standard, &out->http));
    if (!str_given(out->http.content_type))
        out->http.content_type = STR("application/octet-stream");
    TRY(rest_metadata_from_headers(call, &out->metadata));
    TRY(rest_blob_read_protection(call, &out->protection));
    return rest_blob_read_tags_header(call, &out->tags);
}

bool rest_blob_parse_tier(const struct rest_call *call, struct str text, enum blob_tier *out)
{
    return blob_tier_parse(text, out) &&
           (*out != BLOB_TIER_SMART || call->version >= VERSION_SMART);
}

struct err rest_blob_read_tier(struct rest_call *call, bool for_pages, enum blob_tier *out)
{
    assert(out != NULL);
    const struct str name = STR("x-ms-access-tier");
    struct str text = call_header(call, name);
    *out = BLOB_TIER_NONE;
    if (!str_given(text))
        return OK;
    if (!rest_blob_parse_tier(call, text, out) || blob_tier_is_for_pages(*out) != for_pages)
        return call_bad_header(call, name);
    return OK;
}

/* ---- writing ---- */

enum { VERSION_ENCODED_NAMES = 20210212 };

void rest_blob_put_name_xml(struct rest_call *call, struct str name)
{
    struct buf *b = &call->out;
    if (xml_can_hold(name) || call->version < VERSION_ENCODED_NAMES) {
        buf_put(b, STR("<Name>"));
        xml_put_text(b, name);
    } else {
        buf_put(b, STR("<Name Encoded=\"true\">"));
        uri_encode(b, name, URI_KEEP_NONE);
    }
    buf_put(b, STR("</Name>"));
}

void rest_blob_put_etag(struct rest_call *call, int64_t etag, int64_t last_modified)
{
    char room[ETAG_TEXT_MAX + 2];
    struct buf text = {.p = room, .capacity = sizeof room, .arena = call->arena};
    etag_put_quoted(&text, etag);
    call->etag = etag;
    call_put_own(call, STR("ETag"), buf_str(&text));
    call_put_time(call, STR("Last-Modified"), last_modified);
}

void rest_blob_put_encrypted(struct rest_call *call, struct str scope)
{
    call_put_bool(call, STR("x-ms-request-server-encrypted"), true);
    call_put_if(call, STR("x-ms-encryption-scope"), scope);
}

void rest_blob_put_lease(struct rest_call *call, const struct lease *lease)
{
    enum lease_state state = lease_state(lease, call->now);
    call_put_own(call, STR("x-ms-lease-status"), lease_status_text(state));
    call_put_own(call, STR("x-ms-lease-state"), lease_state_text(state));
    call_put_if(call, STR("x-ms-lease-duration"), lease_duration_text(lease, call->now));
}

void rest_blob_put_lease_outcome(struct rest_call *call, const struct lease_request *request,
                                 const struct lease *lease, int left_seconds)
{
    if (request->action == LEASE_BREAK) {
        call_put_u64(call, STR("x-ms-lease-time"), (uint64_t)left_seconds);
        call->status = 202;
        return;
    }
    call->status = request->action == LEASE_ACQUIRE ? 201 : 200;
    if (request->action == LEASE_RELEASE)
        return;
    char id[GUID_TEXT_BYTES];
    guid_text(&lease->id, id);
    call_put(call, STR("x-ms-lease-id"), (struct str){id, sizeof id});
}

void rest_blob_put_version_id(struct rest_call *call, int64_t version)
{
    char text[TIME_ISO_BYTES];
    if (version == 0 || call->version < VERSION_BLOB_VERSIONS)
        return;
    time_iso(version, text);
    call_put(call, STR("x-ms-version-id"), (struct str){text, sizeof text});
}

struct err rest_blob_compare_md5(struct arena *a, const unsigned char *sent,
                                 const unsigned char *found)
{
    if (memcmp(sent, found, MD5_BYTES) == 0)
        return OK;
    struct str specified = base64_encode(a, (struct str){(const char *)sent, MD5_BYTES});
    struct str calculated = base64_encode(a, (struct str){(const char *)found, MD5_BYTES});
    return err_detail(ERR_MD5_MISMATCH,
                      arena_printf(a, "UserSpecifiedMd5\t%.*s\nServerCalculatedMd5\t%.*s",
                                   STR_ARG(specified), STR_ARG(calculated))
                          .p);
}

void rest_blob_put_base64(struct rest_call *call, struct str name, struct str bytes)
{
    call_put_own(call, name, base64_encode(call->arena, bytes));
}

void rest_blob_put_crc64(struct rest_call *call, uint64_t crc64)
{
    struct buf bytes = buf_in(call->arena);
    buf_put_le64(&bytes, crc64);
    rest_blob_put_base64(call, STR("x-ms-content-crc64"), buf_str(&bytes));
}
