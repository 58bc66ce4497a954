/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/copy/source.h"

#include <assert.h>

#include "auth/oauth.h"
#include "core/time.h"
#include "rest/blob/request.h"
#include "rest/blob/tags.h"
#include "rest/head/target.h"
#include "rest/server.h"
#include "service/common/name.h"

static const struct str AUTHORIZATION = STR_INIT("x-ms-copy-source-authorization");

static struct err bad_source(struct rest_call *call)
{
    return call_bad_header(call, second_header(SECOND_COPY_SOURCE));
}

/* ---- errors ---- */

static enum err_code refusal_of(int status)
{
    switch (status) {
    case 401:
        return ERR_COPY_SOURCE_UNAUTHENTICATED;
    case 403:
        return ERR_COPY_SOURCE_FORBIDDEN;
    case 404:
        return ERR_CANNOT_VERIFY_COPY_SOURCE;
    case 409:
        return ERR_COPY_SOURCE_CONFLICT;
    case 304:
    case 412:
        return ERR_SOURCE_CONDITION_NOT_MET;
    case 429:
    case 503:
        return ERR_COPY_SOURCE_BUSY;
    default:
        /* Redirections are not followed. */
        return status >= 300 && status < 500 ? ERR_COPY_SOURCE_BAD_REQUEST : ERR_COPY_SOURCE_FAILED;
    }
}

/* The source's error; code and message may be absent. */
static struct err answered(struct rest_call *call, int status, struct str code, struct str message)
{
    struct str number = arena_printf(call->arena, "%d", status);
    struct buf detail = buf_in(call->arena);
    http_put_header(&call->error_headers, STR("x-ms-copy-source-status-code"), number);
    buf_printf(&detail, "CopySourceStatusCode\t%d", status);
    if (str_given(code) && code.n > 0) {
        http_put_header(&call->error_headers, STR("x-ms-copy-source-error-code"), code);
        buf_printf(&detail, "\nCopySourceErrorCode\t%.*s", STR_ARG(code));
    }
    if (str_given(message))
        buf_printf(&detail, "\nCopySourceErrorMessage\t%.*s", STR_ARG(message));
    buf_putc(&detail, 0);
    return err_detail(refusal_of(status), detail.p);
}

struct err copy_source_answered(struct rest_call *call, int status, struct str code)
{
    return answered(call, status, code, STR_NONE);
}

/* A missing or forbidden source is reported as such. Conditions, archived or locked sources and bad
 * ranges have their own codes; errors of the request or of this server are not the source's. */
struct err copy_source_refused(struct rest_call *call, struct err error)
{
    int status = err_http_status(error.code);
    if (!err_is(error) || (status != 401 && status != 403 && status != 404))
        return error;
    return answered(call, status, str_of(err_azure_code(error.code)),
                    str_of(err_message(error.code)));
}

/* ---- is it here ---- */

static bool is_loopback(struct str host)
{
    return str_ieq(host, STR("localhost")) || str_ends(host, STR(".localhost")) ||
           str_eq(host, STR("127.0.0.1")) || str_eq(host, STR("::1"));
}

/* "account.blob.example.net" → "example.net"; absent for another form. */
static struct str product_suffix(struct str host)
{
    static const struct str LABELS[] = {STR_INIT("blob"), STR_INIT("file")};
    struct str rest = host;
    (void)str_cut(&rest, '.');
    struct str label = str_cut(&rest, '.');
    for (size_t i = 0; i < sizeof LABELS / sizeof LABELS[0]; i++)
        if (str_ieq(label, LABELS[i]))
            return rest;
    return STR_NONE;
}

static bool host_is_ours(const struct rest_call *call, struct str host)
{
    struct str asked = call->x->request.host;
    if (asked.n > 0 && asked.p[0] == '[')
        asked = str_head(str_from(asked, 1), str_find(asked, ']', 0) - 1);
    else
        asked = str_head(asked, str_find(asked, ':', 0));
    if (str_ieq(host, asked) || is_loopback(host))
        return true;
    struct str suffix = product_suffix(host);
    return str_given(suffix) && str_ieq(suffix, product_suffix(asked));
}

/* The port in the request's Host header, which a proxy may have changed. */
static uint64_t asked_port(const struct rest_call *call)
{
    struct str host = call->x->request.host;
    uint64_t port = call->x->secure ? 443 : 80;
    size_t colon = host.n;
    while (colon > 0 && ascii_digit(host.p[colon - 1]))
        colon--;
    if (colon > 0 && colon < host.n && host.p[colon - 1] == ':')
        (void)str_to_u64(str_from(host, colon), &port);
    return port;
}

/* "account.file.core.windows.net", which some programs write for any endpoint (az storage file
 * copy), for an account that is served here. An account of that name in the cloud is another one
 * and cannot be copied from; permissions do not depend on how the source was named. */
static bool names_cloud(const struct rest_call *call, const struct uri *uri, enum service_kind *out)
{
    struct str rest = uri->host;
    struct str name = str_cut(&rest, '.');
    struct str label = str_cut(&rest, '.');
    bool blob = str_ieq(label, STR("blob"));
    if ((!blob && !str_ieq(label, STR("file"))) || !oauth_is_cloud(rest) ||
        (uri->port != 443 && uri->port != 80))
        return false;
    struct account *account = accounts_get(call->server->auth.accounts, name);
    account_put(account);
    *out = blob ? SERVICE_BLOB : SERVICE_FILE;
    return account != NULL;
}

static bool leads_here(const struct rest_call *call, const struct uri *uri, enum service_kind *out)
{
    static const enum service_kind KINDS[] = {SERVICE_BLOB, SERVICE_FILE};
    if (!host_is_ours(call, uri->host))
        return false;
    *out = call->service;
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++)
        if (call->server->ports[KINDS[i]] != 0 && uri->port == call->server->ports[KINDS[i]]) {
            *out = KINDS[i];
            return true;
        }
    /* Under a mount the port belongs to a listener of several services: then a source is named by
     * its service's port. */
    return !str_given(call->mount) && uri->port == asked_port(call);
}

/* ---- reading ---- */

/* The part of the query that may be shown. */
static struct str shown_of(struct rest_call *call, const struct source_url *source)
{
    struct uri_query walk =
        uri_query_of(str_given(source->uri.query) ? source->uri.query : STR(""));
    struct uri_param param;
    struct buf shown = buf_in(call->arena);
    char joint = '?';
    buf_put(&shown, str_head(source->url, str_find(source->url, '?', 0)));
    while (uri_query_next(&walk, call->arena, &param)) {
        if (!second_names_moment(param.name))
            continue;
        buf_putc(&shown, joint);
        joint = '&';
        buf_put(&shown, param.name);
        buf_putc(&shown, '=');
        buf_put(&shown, param.raw);
    }
    return buf_str(&shown);
}

/* The time of a snapshot or version in the URL; 0 if there is none. */
static struct err read_moment(struct rest_call *call, const struct source_url *source,
                              struct str name, int64_t *out)
{
    struct str text = second_query(&source->second, name);
    *out = 0;
    return text.n == 0 || time_parse_iso(text, out) ? OK : bad_source(call);
}

static struct err read_place(struct rest_call *call, struct source_url *out)
{
    struct second *second = &out->second;
    struct target_request wanted = {.service = second->service,
                                    .host = out->uri.host,
                                    .path = out->uri.path,
                                    .product_style =
                                        out->cloud || call->server->options.product_style};
    struct target target;
    if (err_is(target_parse(call->arena, &wanted, &target)) || target.resource != R_OBJECT)
        return bad_source(call);
    second->account = target.account;
    second->container = target.container;
    second->object = target.object;
    bool blob = second->service == SERVICE_BLOB;
    TRY(read_moment(call, out, blob ? STR("snapshot") : STR("sharesnapshot"), &out->snapshot));
    if (blob)
        TRY(read_moment(call, out, STR("versionid"), &out->version));
    return out->snapshot == 0 || out->version == 0 ? OK : bad_source(call);
}

/* ---- may it be read ---- */

/* The request's key or token also applies to a source of the same account, as far as it would to a
 * request that reads it: a token by its roles for the source's container. A SAS never does: a
 * source that is not public needs a SAS in its URL. If the service fetches the source while the
 * request waits, it needs credentials that it can pass on: a token, not a signature by the
 * account's key. So Put Blob From URL and the like with the key alone are refused with the source's
 * 401 (as the SDKs' live tests show), while a Copy Blob that is signed with the key succeeds. The
 * service also refuses Copy Blob From URL, but the emulator that our users come from does not, and
 * their programs copy this way: it succeeds here, and gives no access that the key would not. */
static bool request_serves(const struct rest_call *call, const struct source_url *source)
{
    bool handed =
        call->who.kind == AUTH_BEARER || (call->who.kind == AUTH_SHARED_KEY && source->key_signs);
    return handed && str_eq(source->second.account, call->account);
}

struct err copy_source_read(struct rest_call *call, struct source_url *out)
{
    assert(out != NULL);
    struct second *second = &out->second;
    out->url = call_header(call, second_header(SECOND_COPY_SOURCE));
    if (!str_given(out->url))
        return call_missing_header(call, second_header(SECOND_COPY_SOURCE));
    if (out->url.n > SECOND_URL_MAX || !uri_parse(out->url, &out->uri))
        return bad_source(call);
    second->path = out->uri.path;
    second->raw_query = out->uri.query;
    if (!second_read_query(call, second))
        return bad_source(call);
    out->shown = shown_of(call, out);
    second->authorization = call_header(call, AUTHORIZATION);
    if (str_given(second->authorization) && !str_istarts(second->authorization, STR("Bearer ")))
        return call_bad_header(call, AUTHORIZATION);
    /* Also for a source elsewhere: like the request's token, it could be intercepted on its way
     * here. */
    if (str_given(second->authorization) && !call->x->secure)
        return copy_source_refused(call, err_new(ERR_AUTHENTICATION_FAILED));
    out->cloud = names_cloud(call, &out->uri, &second->service);
    out->here = out->cloud || leads_here(call, &out->uri, &second->service);
    if (!out->here)
        return OK;
    TRY(read_place(call, out));
    second->handed_on = request_serves(call, out);
    return copy_source_refused(call, second_permit(call, second));
}

bool copy_source_is_file(const struct source_url *source)
{
    return source->here && source->second.service == SERVICE_FILE;
}

struct err copy_source_no_conditions(struct rest_call *call)
{
    static const struct str NAMES[] = {
        STR_INIT("x-ms-source-if-match"), STR_INIT("x-ms-source-if-none-match"),
        STR_INIT("x-ms-source-if-modified-since"), STR_INIT("x-ms-source-if-unmodified-since"),
        STR_INIT("x-ms-source-if-tags")};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (str_given(call_header(call, NAMES[i])))
            return call_error(call, ERR_CONDITION_HEADERS_NOT_SUPPORTED, "HeaderName", NAMES[i]);
    return OK;
}

struct err copy_source_need_tags(struct rest_call *call, const struct source_url *source)
{
    if (!source->here || auth_permits(source->second.who, "t"))
        return OK;
    return copy_source_refused(call, err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH));
}

struct err copy_source_conditions(struct rest_call *call, const struct source_url *source,
                                  bool with_tags, struct conditions *out)
{
    assert(out != NULL);
    static const struct blob_condition_names SOURCE = {
        STR_INIT("x-ms-source-if-match"), STR_INIT("x-ms-source-if-none-match"),
        STR_INIT("x-ms-source-if-modified-since"), STR_INIT("x-ms-source-if-unmodified-since")};
    const struct str tags_name = STR("x-ms-source-if-tags");
    struct str tags = call_header(call, tags_name);
    *out = (struct conditions){.version = call->version};
    TRY(rest_blob_read_http_conditions(call, &SOURCE, out));
    if (!str_given(tags))
        return OK;
    if (!with_tags)
        return call_error(call, ERR_CONDITION_HEADERS_NOT_SUPPORTED, "HeaderName", tags_name);
    TRY(copy_source_need_tags(call, source));
    out->if_tags = tag_expression_compile(call->arena, TAG_CONDITION, tags, NULL);
    return out->if_tags == NULL ? call_bad_header(call, tags_name) : OK;
}

struct err copy_source_blob(struct rest_call *call, const struct source_url *source,
                            struct blob_source *out)
{
    assert(out != NULL);
    if (source->second.service != SERVICE_BLOB ||
        err_is(name_check_container(source->second.container)) ||
        err_is(name_check_blob(source->second.object)))
        return bad_source(call);
    *out = (struct blob_source){
        .arena = call->arena,
        .partition = blob_partition(call->arena, source->second.account, source->second.container),
        .name = source->second.object,
        .pieces_max = BLOB_SOURCE_PIECES};
    if (source->snapshot != 0)
        out->at = (struct blob_at){.item = BLOB_SNAPSHOT, .time = source->snapshot};
    if (source->version != 0)
        out->at = (struct blob_at){.item = BLOB_VERSION, .time = source->version};
    return OK;
}
