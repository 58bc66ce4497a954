/* SPDX-License-Identifier: Apache-2.0 */
/* Set Access Control Recursive: decode and encode. */
#include "core/text/json.h"
#include "rest/dfs/ops.h"
#include "rest/dfs/request.h"
#include "rest/server.h"

static struct err read_how(struct rest_call *call, enum acl_change *out)
{
    const struct str name = STR("mode");
    struct str mode = call_query(call, name);
    if (!str_given(mode))
        return call_missing_query(call, name);
    *out = str_ieq(mode, STR("modify"))   ? ACL_MODIFY
           : str_ieq(mode, STR("remove")) ? ACL_REMOVE
                                          : ACL_SET;
    return *out != ACL_SET || str_ieq(mode, STR("set")) ? OK : call_bad_query(call, name);
}

struct err rest_set_path_access_control_recursive_decode(struct rest_call *call)
{
    struct path_recursive_args *args = ARENA_NEW(call->arena, struct path_recursive_args);
    uint64_t max = PATH_RECURSIVE_MAX;
    bool given;
    call->args = args;
    TRY(dfs_read_request(call, &args->request));
    if (!auth_permits(&call->who, "p"))
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    TRY(read_how(call, &args->how));
    TRY(dfs_read_acl(call, args->how == ACL_REMOVE, &args->acl, &given));
    if (!given)
        return call_missing_header(call, STR("x-ms-acl"));
    TRY(call_query_u64(call, STR("maxRecords"), 1, UINT32_MAX, &max));
    args->max = max < PATH_RECURSIVE_MAX ? (size_t)max : PATH_RECURSIVE_MAX;
    args->failures = ARENA_ARRAY(call->arena, struct path_failure, PATH_FAILURES_MAX(args->max));
    struct str force = call_query(call, STR("forceFlag"));
    if (force.n > 0 && !str_to_bool(force, &args->force))
        return call_bad_query(call, STR("forceFlag"));
    return dfs_read_continuation(call, &args->continuation);
}

static struct err set_in_steps(struct run *r)
{
    struct rest_call *call = rest_call_of(r);
    return path_set_access_control_steps(call->store, call->partition, call->args);
}

static void set_done(struct run *r, struct err outcome)
{
    rest_finish(rest_call_of(r), outcome);
}

/* Not in the pool that reads wait for: it may take twenty transactions. */
struct err rest_set_path_access_control_recursive_start(struct rest_call *call)
{
    run_in_pool(&call->run, call->server->fetch_pool, set_in_steps, set_done);
    return OK;
}

static void put_failures(struct json_writer *w, const struct path_recursive_args *args)
{
    json_name(w, STR("failedEntries"));
    json_open(w, '[');
    for (size_t i = 0; i < args->failure_count; i++) {
        const struct path_failure *failure = &args->failures[i];
        json_open(w, '{');
        json_name(w, STR("errorMessage"));
        json_string(w, str_of(err_message(failure->code)));
        json_name(w, STR("name"));
        json_string(w, failure->name);
        json_name(w, STR("type"));
        json_string(w, failure->directory ? STR("DIRECTORY") : STR("FILE"));
        json_close(w, '}');
    }
    json_close(w, ']');
}

struct err rest_set_path_access_control_recursive_encode(struct rest_call *call)
{
    const struct path_recursive_args *args = call->args;
    struct json_writer w = json_writer_of(&call->out);
    json_open(&w, '{');
    json_name(&w, STR("directoriesSuccessful"));
    json_i64(&w, (int64_t)args->directories);
    put_failures(&w, args);
    json_name(&w, STR("failureCount"));
    json_i64(&w, (int64_t)args->failure_count);
    json_name(&w, STR("filesSuccessful"));
    json_i64(&w, (int64_t)args->files);
    json_close(&w, '}');
    call_put_bool(call, STR("x-ms-namespace-enabled"), true);
    dfs_put_continuation(call, args->next);
    return OK;
}
