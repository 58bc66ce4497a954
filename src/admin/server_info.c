/* SPDX-License-Identifier: Apache-2.0 */
/* Data that the console needs before sign-in, and the signed-in account. */
#include "admin/internal.h"
#include "core/time.h"

static void put_services(struct json_writer *w, const struct admin *a)
{
    json_name(w, STR("services"));
    json_open(w, '{');
    for (unsigned i = 0; i < SERVICE_KIND_COUNT; i++) {
        if (a->rest->ports[i] == 0)
            continue;
        json_name(w, admin_service_name((enum service_kind)i));
        json_open(w, '{');
        json_name(w, STR("port"));
        json_i64(w, a->rest->ports[i]);
        json_name(w, STR("path"));
        json_string(w, a->mounts[i].mount);
        json_close(w, '}');
    }
    json_close(w, '}');
    json_name(w, STR("smbPort"));
    json_i64(w, a->options.smb_port);
}

/* The well-known key is not secret: any client on loopback may know that it is valid. */
static bool serves_well_known_key(struct admin *a)
{
    struct account *account = accounts_get(a->rest->auth.accounts, STR(ACCOUNT_WELL_KNOWN_NAME));
    bool well_known = false;
    for (unsigned i = 0; account != NULL && i < account->key_count; i++)
        well_known |= str_eq(account->keys_base64[i], STR(ACCOUNT_WELL_KNOWN_KEY));
    account_put(account);
    return well_known;
}

static void put_time(struct json_writer *w, struct str name, int64_t ticks)
{
    char text[TIME_ISO_BYTES];
    time_iso(ticks, text);
    json_name(w, name);
    json_string(w, (struct str){text, sizeof text});
}

void admin_get_server(struct admin_call *call)
{
    struct admin *a = call->admin;
    struct buf out = buf_in(call->x->arena);
    struct json_writer w = json_writer_of(&out);
    json_open(&w, '{');
    json_name(&w, STR("name"));
    json_string(&w, STR("lazuli"));
    json_name(&w, STR("version"));
    json_string(&w, str_of(a->options.version));
    put_time(&w, STR("time"), store_now(a->rest->store));
    put_services(&w, a);
    json_name(&w, STR("wellKnownAccount"));
    json_bool(&w, call->entry->loopback && serves_well_known_key(a));
    json_name(&w, STR("bearerTokens"));
    json_bool(&w, a->rest->auth.oauth != NULL);
    json_name(&w, STR("testControl"));
    json_bool(&w, a->control.script != NULL);
    json_close(&w, '}');
    buf_putc(&out, '\n');
    admin_reply(call, 200, STR("application/json"), buf_str(&out));
}

void admin_get_account(struct admin_call *call)
{
    struct buf out = buf_in(call->x->arena);
    struct json_writer w = json_writer_of(&out);
    json_open(&w, '{');
    json_name(&w, STR("name"));
    json_string(&w, call->account);
    json_close(&w, '}');
    buf_putc(&out, '\n');
    admin_reply(call, 200, STR("application/json"), buf_str(&out));
}
