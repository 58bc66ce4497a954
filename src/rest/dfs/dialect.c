/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/dfs/dialect.h"

#include "rest/head/second.h"
#include "rest/server.h"

static bool has_query(const struct rest_call *call, struct str name)
{
    return str_given(call_query(call, name));
}

static bool has_header(const struct rest_call *call, struct str name)
{
    return str_given(call_header(call, name));
}

/* Parameters that only Blob has. */
static bool is_blob_surely(const struct rest_call *call)
{
    return has_query(call, STR("comp")) || has_query(call, STR("restype")) ||
           has_query(call, STR("snapshot")) || has_query(call, STR("versionid")) ||
           has_header(call, STR("x-ms-blob-type")) ||
           has_header(call, second_header(SECOND_COPY_SOURCE));
}

static bool is_dfs_surely(const struct rest_call *call)
{
    enum http_method method = call->x->request.method;
    return method == HTTP_PATCH || method == HTTP_POST || has_query(call, STR("resource")) ||
           has_query(call, STR("action")) || has_query(call, STR("recursive")) ||
           has_query(call, STR("paginated")) || has_query(call, STR("continuation")) ||
           has_query(call, STR("mode")) || has_header(call, second_header(SECOND_RENAMED_PATH)) ||
           has_header(call, STR("x-http-method-override"));
}

static bool mentions(struct str text, struct str word)
{
    for (size_t i = 0; i + word.n <= text.n; i++)
        if (str_ieq(str_head(str_from(text, i), word.n), word))
            return true;
    return false;
}

/* Data Lake's clients delete a file without any parameter, and some accept only 200 (Blob answers
 * 202). They never send Delete Blob, so for this one request the client's name decides. */
static bool is_delete_of_dfs_client(const struct rest_call *call)
{
    struct str agent = call_header(call, STR("User-Agent"));
    return call->x->request.method == HTTP_DELETE &&
           (mentions(agent, STR("storage-dfs")) || mentions(agent, STR("datalake")));
}

static bool host_says_dfs(const struct rest_call *call)
{
    struct str rest = call->x->request.host;
    (void)str_cut(&rest, '.');
    return call->server->options.product_style && str_given(rest) &&
           str_ieq(str_cut(&rest, '.'), STR("dfs")) && str_given(rest);
}

bool dfs_is_spoken(const struct rest_call *call, bool dfs_listens)
{
    if (call->service != SERVICE_BLOB || call->x->request.method == HTTP_OPTIONS ||
        is_blob_surely(call))
        return false;
    return dfs_listens || is_dfs_surely(call) || host_says_dfs(call) ||
           is_delete_of_dfs_client(call);
}

bool dfs_names_filesystem(const struct rest_call *call)
{
    return str_ieq(call_query(call, STR("resource")), STR("filesystem"));
}

enum http_method dfs_method(const struct rest_call *call)
{
    enum http_method method = call->x->request.method;
    bool patches = str_ieq(call_header(call, STR("x-http-method-override")), STR("PATCH")) &&
                   (method == HTTP_PUT || method == HTTP_POST);
    return patches ? HTTP_PATCH : method;
}

static bool is_account(const struct rest_call *call, struct str name)
{
    struct account *account = accounts_get(call->server->auth.accounts, name);
    account_put(account);
    return account != NULL;
}

struct str dfs_lost_account(const struct rest_call *call)
{
    struct str source =
        call->dfs ? call_header(call, second_header(SECOND_RENAMED_PATH)) : STR_NONE;
    struct str path = call->x->request.path;
    if (!str_given(source) || source.n < 2 || path.n < 2 || source.p[0] != '/')
        return STR_NONE;
    source = str_from(source, 1);
    path = str_from(path, 1);
    struct str account = str_cut(&source, '/');
    struct str first = str_cut(&path, '/');
    return str_given(source) && !is_account(call, first) && is_account(call, account) ? account
                                                                                      : STR_NONE;
}

enum err_code dfs_error_code(enum err_code code)
{
    static const struct {
        enum err_code blob, dfs;
    } CODES[] = {
        {ERR_BLOB_NOT_FOUND, ERR_PATH_NOT_FOUND},
        {ERR_CONTAINER_NOT_FOUND, ERR_FILESYSTEM_NOT_FOUND},
        {ERR_CONTAINER_ALREADY_EXISTS, ERR_FILESYSTEM_ALREADY_EXISTS},
        {ERR_CONTAINER_BEING_DELETED, ERR_FILESYSTEM_BEING_DELETED},
        {ERR_BLOB_ALREADY_EXISTS, ERR_PATH_ALREADY_EXISTS},
        {ERR_LEASE_ID_MISMATCH_WITH_BLOB_OPERATION, ERR_LEASE_ID_MISMATCH},
        {ERR_LEASE_ID_MISMATCH_WITH_CONTAINER_OPERATION, ERR_LEASE_ID_MISMATCH},
        {ERR_LEASE_NOT_PRESENT_WITH_BLOB_OPERATION, ERR_LEASE_NOT_PRESENT},
        {ERR_LEASE_NOT_PRESENT_WITH_CONTAINER_OPERATION, ERR_LEASE_NOT_PRESENT},
        {ERR_LEASE_ALREADY_BROKEN, ERR_LEASE_IS_ALREADY_BROKEN},
        {ERR_DIRECTORY_IS_NOT_EMPTY, ERR_DIRECTORY_NOT_EMPTY},
    };
    for (size_t i = 0; i < sizeof CODES / sizeof CODES[0]; i++)
        if (CODES[i].blob == code)
            return CODES[i].dfs;
    return code;
}
