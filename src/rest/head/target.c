/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/head/target.h"

#include <assert.h>

#include "core/text/uri.h"

static const struct str SERVICE_LABEL[SERVICE_KIND_COUNT] = {
    [SERVICE_BLOB] = STR_INIT("blob"),
    [SERVICE_QUEUE] = STR_INIT("queue"),
    [SERVICE_TABLE] = STR_INIT("table"),
    [SERVICE_FILE] = STR_INIT("file"),
};

/* account.blob.localhost, account.blob.core.windows.net: the second label is the service. Also
 * account.localhost, as in Azurite. Other hosts with dots (host.docker.internal, addresses) are
 * served path-style. */
static bool host_names_account(enum service_kind service, struct str host, struct str *account)
{
    struct str rest = str_head(host, str_find(host, ':', 0));
    struct str first = str_cut(&rest, '.');
    struct str second = str_cut(&rest, '.');
    bool label = str_ieq(second, SERVICE_LABEL[service]) ||
                 (service == SERVICE_BLOB && str_ieq(second, STR("dfs")));
    bool names = str_given(rest) ? label : str_given(second) && str_ieq(second, STR("localhost"));
    if (!names || first.n == 0)
        return false;
    *account = first;
    return true;
}

/* account.web.localhost, account.z1.web.core.windows.net: the website of the account. */
static bool host_names_website(struct str host, struct str *account)
{
    struct str rest = str_head(host, str_find(host, ':', 0));
    struct str first = str_cut(&rest, '.');
    struct str second = str_cut(&rest, '.');
    if (!str_ieq(second, STR("web")) &&
        (!str_given(rest) || !str_ieq(str_cut(&rest, '.'), STR("web"))))
        return false;
    *account = first;
    return str_given(rest) && first.n > 0;
}

/* Names of accounts have no '-': a suffix after one is ours. */
static bool take_website(struct target *out)
{
    const struct str suffix = STR("-web");
    if (!str_ends(out->account, suffix))
        return false;
    out->account = str_head(out->account, out->account.n - suffix.n);
    return true;
}

static void take_secondary(struct target *out)
{
    const struct str suffix = STR("-secondary");
    out->secondary = str_ends(out->account, suffix);
    if (out->secondary)
        out->account = str_head(out->account, out->account.n - suffix.n);
}

static struct err decode_part(struct arena *arena, struct str part, struct str *out)
{
    if (uri_is_plain(part)) {
        *out = part;
        return OK;
    }
    if (!uri_decode(arena, part, out) || !str_is_utf8(*out) || memchr(out->p, 0, out->n) != NULL)
        return err_new(ERR_INVALID_URI);
    return OK;
}

/* Azure treats a backslash in a blob's name as a slash. */
static struct err decode_blob(struct arena *arena, struct str part, struct str *out)
{
    TRY(decode_part(arena, part, out));
    if (str_find(*out, '\\', 0) == out->n)
        return OK;
    char *name = arena_cstr(arena, *out);
    for (size_t i = 0; i < out->n; i++)
        if (name[i] == '\\')
            name[i] = '/';
    out->p = name;
    return OK;
}

static struct err parse_blob(struct arena *arena, const struct target_request *request,
                             struct str path, struct target *out)
{
    struct str rest = path;
    struct str first = str_cut(&rest, '/');
    if (first.n == 0)
        return err_new(ERR_INVALID_URI);
    if (str_given(rest) && rest.n > 0) {
        out->resource = R_OBJECT;
        TRY(decode_part(arena, first, &out->container));
        return decode_blob(arena, rest, &out->object);
    }
    if (request->names_container) {
        out->resource = R_CONTAINER;
        return decode_part(arena, first, &out->container);
    }
    if (request->dfs) {
        out->resource = R_OBJECT;
        out->object = STR("");
        return decode_part(arena, first, &out->container);
    }
    /* One segment and no restype: a blob in the root container. */
    out->resource = R_OBJECT;
    out->container = STR("$root");
    return decode_blob(arena, first, &out->object);
}

static struct err parse_queue(struct arena *arena, struct str path, struct target *out)
{
    struct str rest = path;
    TRY(decode_part(arena, str_cut(&rest, '/'), &out->container));
    if (!str_given(rest) || rest.n == 0) {
        out->resource = R_CONTAINER;
        return OK;
    }
    if (!str_ieq(str_cut(&rest, '/'), STR("messages")))
        return err_new(ERR_INVALID_URI);
    if (!str_given(rest) || rest.n == 0) {
        out->resource = R_MESSAGES;
        return OK;
    }
    out->resource = R_MESSAGE;
    return decode_part(arena, rest, &out->object);
}

static struct err parse_file(struct arena *arena, struct str path, struct target *out)
{
    struct str rest = path;
    TRY(decode_part(arena, str_cut(&rest, '/'), &out->container));
    out->resource = R_CONTAINER;
    while (rest.n > 0 && rest.p[rest.n - 1] == '/')
        rest.n--;
    if (rest.n == 0)
        return OK;
    out->resource = R_OBJECT;
    return decode_part(arena, rest, &out->object);
}

/* The JavaScript SDK's rename() requests /SHARE/PATH even where the path should begin with the
 * account. The URL of the source still has it, so take the account from there if the path begins
 * with the source's share and not with its account. */
static bool rename_lost_account(const struct target_request *request, struct str *account)
{
    struct uri source;
    if (request->service != SERVICE_FILE || !str_given(request->rename_source) ||
        !uri_parse(request->rename_source, &source))
        return false;
    struct str rest = str_from(source.path, 1);
    struct str path = str_from(request->path, 1);
    struct str first = str_cut(&path, '/');
    *account = str_cut(&rest, '/');
    return first.n > 0 && str_given(rest) && str_eq(str_cut(&rest, '/'), first) &&
           !str_eq(first, *account);
}

static struct err take_account(struct arena *arena, const struct target_request *request,
                               struct str *path, struct target *out)
{
    struct str account;
    if (str_given(request->lost_account))
        account = request->lost_account;
    else if (!rename_lost_account(request, &account))
        account = str_cut(path, '/');
    return decode_part(arena, account, &out->account);
}

struct err target_parse(struct arena *arena, const struct target_request *request,
                        struct target *out)
{
    assert(out != NULL);
    *out = (struct target){.resource = R_SERVICE};
    if (request->path.n == 0 || request->path.p[0] != '/')
        return err_new(ERR_INVALID_URI);
    struct str rest = str_from(request->path, 1);
    bool website = request->service == SERVICE_BLOB && request->product_style &&
                   host_names_website(request->host, &out->account);
    out->path_style =
        !website && (!request->product_style ||
                     !host_names_account(request->service, request->host, &out->account));
    if (out->path_style) {
        TRY(take_account(arena, request, &rest, out));
        website = request->service == SERVICE_BLOB && take_website(out);
    }
    take_secondary(out);
    if (website) {
        out->resource = R_WEBSITE;
        return decode_part(arena, str_given(rest) ? rest : STR(""), &out->object);
    }
    if (rest.n == 0)
        return OK;
    switch (request->service) {
    case SERVICE_BLOB:
        return parse_blob(arena, request, rest, out);
    case SERVICE_QUEUE:
        return parse_queue(arena, rest, out);
    case SERVICE_FILE:
        return parse_file(arena, rest, out);
    case SERVICE_TABLE:
        TRY(decode_part(arena, rest, &rest));
        return target_parse_table(arena, rest, out);
    case SERVICE_KIND_COUNT:
        break;
    }
    return err_new(ERR_INVALID_URI);
}
