/* SPDX-License-Identifier: Apache-2.0 */
/* The web endpoint of an account (account.web.localhost, or /account-web/ in the path): serves
 * documents of the container $web to browsers, without the headers of the storage service. The blob
 * service's properties enable the website and name its index and error documents. */
#include "rest/blob/website.h"

#include "rest/blob/get.h"
#include "rest/blob/ops.h"
#include "rest/blob/request.h"
#include "rest/content_source.h"
#include "rest/server.h"
#include "service/blob/touch.h"
#include "service/blob/website.h"
#include "service/common/service_properties.h"

struct get_document {
    struct get_blob get; /* first, because rest_get_blob_explain reads it */
    struct blob_website_args args;
};

/* The requested path and the transaction's argument share memory. */
static struct err run(struct txn *t, void *arg)
{
    struct get_document *document = arg;
    return blob_get_website_document(t, &document->args);
}

static struct err decode(struct rest_call *call)
{
    struct get_document *document = ARENA_NEW(call->arena, struct get_document);
    struct blob_get_args *get = &document->get.args;
    struct account *account = accounts_get(call->server->auth.accounts, call->account);
    call->args = document;
    account_put(account);
    /* The website of a deleted account is not served either. */
    if (account == NULL)
        return err_new(ERR_WEB_CONTENT_NOT_FOUND);
    call->partition = blob_partition(call->arena, call->account, BLOB_WEBSITE_CONTAINER);
    get->request.arena = call->arena;
    get->request.conditions.version = call->version;
    get->store = call->store;
    get->wants_content = call->x->request.method == HTTP_GET;
    call->wants_pin = get->wants_content;
    document->args = (struct blob_website_args){
        .get = get,
        .path = call->object,
        .settings = service_properties_partition(call->arena, SERVICE_BLOB, call->account),
    };
    TRY(rest_blob_read_conditions(call, &get->request.conditions));
    return get->wants_content ? rest_blob_get_read_range(call, get) : OK;
}

static struct err encode(struct rest_call *call)
{
    const struct get_document *document = call->args;
    const struct blob_get_args *get = &document->get.args;
    struct blob_touch touch = {call->partition, get->request.name, call->now};
    blob_touch(call->store->touches, &touch, &get->head);
    rest_blob_put_etag(call, get->head.etag, get->head.last_modified);
    rest_blob_get_put_http(call, &get->head.http);
    call_put(call, STR("Accept-Ranges"), STR("bytes"));
    rest_blob_get_put_range(call, &document->get);
    if (document->args.missing)
        call->status = 404;
    if (get->wants_content)
        content_source_set(call, &get->pieces);
    else
        call->content_length = (int64_t)get->head.size;
    return OK;
}

const struct op OP_WEBSITE = {
    .name = "GetWebsiteDocument",
    .methods = M_GET | M_HEAD,
    .resource = R_WEBSITE,
    .anonymous = AUTH_ANONYMOUS_ALWAYS,
    .conditions = COND_M | COND_N | COND_S | COND_U,
    .body = BODY_NONE,
    .mode = MODE_READ,
    .decode = decode,
    .run = run,
    .encode = encode,
    .explain = rest_get_blob_explain,
};
