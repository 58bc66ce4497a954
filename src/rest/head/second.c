/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/head/second.h"

#include <assert.h>

#include "core/text/uri.h"
#include "rest/head/match.h"
#include "rest/server.h"

/* A copy reads its source: Get Blob or Get File of it must be allowed.
 *
 * A rename removes the source's name, so it needs the permission to delete, while the destination
 * is written (`w`, the row's letter, which also covers a file that is replaced, as it does for
 * Create File and Copy File). The documentation names no letters for it. The cloud accepts a
 * share's `rw` without `d` (azure-sdk-for-python, test_file.py, and microsoft/AzureStorageExplorer
 * issue 6708, whose testers saw `rld` suffice as well), so programs use `rw`. A caller that may
 * read and write the source could copy it and empty it: a rename gives it no byte that it could not
 * have, and only removes the name. So `d`, or `r` and `w` together, permit moving a source; `w`
 * alone does not, as it would move bytes that the caller may not read to a place where it may.
 *
 * A hard link gives the file another name, under which other SAS reach its bytes permanently, and
 * changes its link count and ETag: reading and writing must both be allowed (like Linux with
 * protected_hardlinks).
 *
 * Not here, because nothing of another resource is read or changed: the text of a symbolic link,
 * which the server never follows; x-ms-previous-snapshot-url, of which only the time is used, for
 * the blob of the path itself (second_permit_snapshot checks that); the deleted container or share
 * to restore, which must have the name of the path. Parts of batches have separate rows. */
static const struct {
    struct str header;
    struct second_needs of_blob, of_file;
} KINDS[] = {
    [SECOND_NONE] = {.header = {NULL, 0}},
    [SECOND_COPY_SOURCE] = {STR_INIT("x-ms-copy-source"), {{"GetBlob"}, NULL}, {{"GetFile"}, NULL}},
    [SECOND_RENAMED_FILE] = {STR_INIT("x-ms-file-rename-source"),
                             {{0}, NULL},
                             {{"DeleteFile"}, "dr+w"}},
    [SECOND_RENAMED_DIRECTORY] = {STR_INIT("x-ms-file-rename-source"),
                                  {{0}, NULL},
                                  {{"DeleteDirectory"}, "dr+w"}},
    /* The Data Lake API has a letter for moving. */
    [SECOND_RENAMED_PATH] = {STR_INIT("x-ms-rename-source"), {{"DeletePath"}, "md"}, {{0}, NULL}},
    [SECOND_LINKED_FILE] = {STR_INIT("x-ms-file-target-file"),
                            {{0}, NULL},
                            {{"GetFile", "PutRange"}, NULL}},
};

const struct str SECOND_UNDELETE_SOURCE = STR_INIT("x-ms-undelete-source");

struct str second_header(enum op_second second)
{
    return KINDS[second].header;
}

struct second_needs second_needs_of(enum op_second second, enum service_kind service)
{
    return service == SERVICE_BLOB ? KINDS[second].of_blob : KINDS[second].of_file;
}

bool second_names_moment(struct str parameter)
{
    static const struct str MOMENTS[] = {STR_INIT("snapshot"), STR_INIT("sharesnapshot"),
                                         STR_INIT("versionid")};
    for (size_t i = 0; i < sizeof MOMENTS / sizeof MOMENTS[0]; i++)
        if (str_ieq(parameter, MOMENTS[i]))
            return true;
    return false;
}

bool second_read_query(struct rest_call *call, struct second *s)
{
    struct uri_query walk = uri_query_of(str_given(s->raw_query) ? s->raw_query : STR(""));
    struct uri_param param;
    walk.plus_is_space = true; /* as if it were requested: see parse_query in dispatch.c */
    walk.verbatim = STR("sig");
    while (uri_query_next(&walk, call->arena, &param)) {
        if (s->query_count == SECOND_QUERY_MAX || !str_is_utf8(param.name) ||
            !str_is_utf8(param.value) || (param.value.n == 0 && second_names_moment(param.name)))
            return false;
        s->query[s->query_count++] = (struct auth_pair){param.name, param.value};
    }
    return !walk.malformed;
}

struct str second_query(const struct second *s, struct str name)
{
    for (size_t i = 0; i < s->query_count; i++)
        if (str_ieq(s->query[i].name, name))
            return s->query[i].value;
    return STR_NONE;
}

/* ---- may they ---- */

static const struct op *row_named(const struct op_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].name, name) == 0)
            return &table->rows[i];
    return NULL;
}

/* With the resource's own credentials, or with none. */
static struct err authenticate(struct rest_call *call, struct second *s,
                               const struct auth_demand *demand)
{
    struct auth_pair header = {STR("Authorization"), s->authorization};
    struct auth_input input = {
        .service = s->service,
        .method = STR("GET"),
        .path = s->path,
        .raw_query = s->raw_query,
        .query = s->query,
        .query_count = s->query_count,
        .headers = &header,
        .header_count = str_given(s->authorization) ? 1 : 0,
        .content_length = -1,
        .account = s->account,
        .container = s->container,
        .object = s->object,
        .peer = call->x->peer,
        /* Its SAS or token came with this request, whatever the scheme of its URL. */
        .secure = call->x->secure,
        .version = call->version,
        .now = call->now,
    };
    struct str challenge;
    s->who = &s->own;
    return auth_check(&call->server->auth, &input, demand, call->arena, &s->own, &challenge);
}

static bool brings_credentials(const struct second *s)
{
    return str_given(s->authorization) || str_given(second_query(s, STR("sig")));
}

/* Checks one of the operations that it needs. Its credentials are read once. */
static struct err permit(struct rest_call *call, struct second *s, const struct op *row)
{
    const struct auth_resource what = {s->service, s->account,     s->container, s->object,
                                       s->query,   s->query_count, STR_NONE};
    struct auth_demand demand = op_demand(row);
    demand.tree = call->op->tree;
    /* Reading the source of a copy needs a role; only a rename consults the lists of both paths. */
    demand.lists = call->op->second == SECOND_RENAMED_PATH;
    const char *letters = second_needs_of(call->op->second, s->service).letters;
    if (letters != NULL)
        demand.account_sas = demand.service_sas = letters;
    if (s->who == NULL && (brings_credentials(s) || !s->handed_on))
        return authenticate(call, s, &demand);
    if (s->who == NULL)
        s->who = &call->who;
    return auth_permit(&call->server->auth, s->who, &what, &demand, call->arena);
}

struct err second_permit(struct rest_call *call, struct second *s)
{
    struct second_needs needs = second_needs_of(call->op->second, s->service);
    /* An operation that names another resource must declare it in its row. */
    assert(needs.rows[0] != NULL);
    s->who = NULL;
    for (size_t i = 0; i < SECOND_NEEDS_MAX && needs.rows[i] != NULL; i++) {
        const struct op *row =
            row_named(call->dfs ? &OPS_DFS : match_table(s->service), needs.rows[i]);
        assert(row != NULL);
        TRY(permit(call, s, row));
        TRY(rest_check_intent(call, s->service, s->who, row));
    }
    return OK;
}

/* ---- further than the row says ---- */

static struct err permit_own(struct rest_call *call, const struct auth_demand *demand,
                             const struct auth_pair *query, size_t query_count)
{
    const struct auth_resource what = {call->service, call->account, call->container, call->object,
                                       query,         query_count,   STR_NONE};
    return auth_permit(&call->server->auth, &call->who, &what, demand, call->arena);
}

struct err second_permit_below(struct rest_call *call)
{
    struct auth_demand demand = op_demand(call->op);
    demand.tree = true;
    return permit_own(call, &demand, call->query, call->query_count);
}

struct err second_permit_snapshot(struct rest_call *call, struct str snapshot)
{
    struct auth_demand demand = op_demand(call->op);
    struct auth_pair query = {STR("snapshot"), snapshot};
    return permit_own(call, &demand, &query, 1);
}
