/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/user_delegation_key.h"

#include "core/text/xml.h"
#include "core/time.h"
#include "rest/server.h"

#define NOBODY "00000000-0000-0000-0000-000000000000"

/* "YYYY-MM-DDThh:mm:ssZ": a key's times are whole seconds. */
static struct str second_of(struct arena *arena, int64_t ticks)
{
    char text[TIME_ISO_BYTES];
    time_iso(ticks, text);
    return arena_printf(arena, "%.19sZ", text);
}

static struct err bad_node(struct rest_call *call, struct str name)
{
    return call_error(call, ERR_INVALID_XML_NODE_VALUE, "XmlNodeName", name);
}

/* Start may be omitted and is then now; Expiry is in the future, at most a week after Start. */
static struct err read_times(struct rest_call *call, const struct xml_node *info,
                             struct delegation *out)
{
    int64_t start = call->now, expiry;
    struct str start_text = xml_child_text(info, STR("Start"));
    struct str expiry_text = xml_child_text(info, STR("Expiry"));
    if (start_text.n > 0 && !time_parse_iso(start_text, &start))
        return bad_node(call, STR("Start"));
    if (expiry_text.n == 0)
        return err_new(ERR_MISSING_REQUIRED_XML_NODE);
    if (!time_parse_iso(expiry_text, &expiry) || expiry <= call->now || expiry <= start ||
        expiry - start > DELEGATION_DAYS_MAX * TICKS_PER_DAY)
        return bad_node(call, STR("Expiry"));
    out->start = second_of(call->arena, start);
    out->expiry = second_of(call->arena, expiry);
    return OK;
}

struct err rest_get_user_delegation_key_decode(struct rest_call *call)
{
    static const struct str SERVICES[] = {STR_INIT("b"), STR_INIT("q"), STR_INIT("t"),
                                          STR_INIT("f")};
    /* The row accepts no SAS; a key cannot delegate a user's rights either. */
    if (call->who.kind != AUTH_BEARER)
        return call_error(call, ERR_AUTHENTICATION_FAILED, "AuthenticationErrorDetail",
                          STR("Only authentication scheme Bearer is supported"));
    struct xml_node *info;
    TRY(xml_parse(call->arena, call->body, &info));
    if (!str_eq(info->name, STR("KeyInfo")))
        return err_new(ERR_INVALID_XML_DOCUMENT);
    struct delegation *d = ARENA_NEW(call->arena, struct delegation);
    TRY(read_times(call, info, d));
    d->object_id = call->who.identity.n > 0 ? call->who.identity : STR(NOBODY);
    d->tenant_id = call->who.tenant.n > 0 ? call->who.tenant : STR(NOBODY);
    d->service = SERVICES[call->service];
    d->version = call->version_text;
    struct str user_tenant = xml_child_text(info, STR("DelegatedUserTid"));
    if (user_tenant.n > 0)
        d->user_tenant_id = user_tenant;
    call->args = d;
    return OK;
}

struct err rest_get_user_delegation_key_encode(struct rest_call *call)
{
    const struct delegation *d = call->args;
    struct str value;
    TRY(auth_delegate(&call->server->auth, call->account, d, call->arena, &value));
    call_begin_xml(call);
    xml_open(&call->out, STR("UserDelegationKey"));
    xml_element(&call->out, STR("SignedOid"), d->object_id);
    xml_element(&call->out, STR("SignedTid"), d->tenant_id);
    xml_element(&call->out, STR("SignedStart"), d->start);
    xml_element(&call->out, STR("SignedExpiry"), d->expiry);
    xml_element(&call->out, STR("SignedService"), d->service);
    xml_element(&call->out, STR("SignedVersion"), d->version);
    if (str_given(d->user_tenant_id))
        xml_element(&call->out, STR("SignedDelegatedUserTid"), d->user_tenant_id);
    xml_element(&call->out, STR("Value"), value);
    xml_close(&call->out, STR("UserDelegationKey"));
    call->status = 200;
    return OK;
}
