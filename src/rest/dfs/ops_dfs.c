/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of the Data Lake Storage API (dfs). They work on the data of the blob service: a
 * file system is a container, a path is a blob. docs/datalake.md. */
#include "rest/blob/ops.h"
#include "rest/dfs/ops.h"
#include "service/blob/list.h"
#include "service/blob/path/path.h"
#include "service/blob/path/path_append.h"

#define MIB      (1ULL << 20)
#define COND_DFS (COND_M | COND_N | COND_S | COND_U)

// clang-format off
static const struct op ROWS[] = {
    /* ---- file systems ---- */
    {.name = "ListFilesystems", .methods = M_GET, .resource = R_SERVICE, .query = "resource=account",
     .account_sas = "l", .account_sas_type = 's',
     .mode = MODE_READ, .decode = rest_list_filesystems_decode, .run = blob_list_containers, .encode = rest_list_filesystems_encode},
    {.name = "CreateFilesystem", .methods = M_PUT, .resource = R_CONTAINER, .query = "resource=filesystem",
     .account_sas = "cw", .account_sas_type = 'c',
     .mode = MODE_WRITE, .decode = rest_create_filesystem_decode, .run = blob_create_container, .encode = rest_create_filesystem_encode},
    {.name = "SetFilesystemProperties", .methods = M_PATCH, .resource = R_CONTAINER, .query = "resource=filesystem",
     .account_sas = "w", .account_sas_type = 'c', .conditions = COND_S | COND_U,
     .mode = MODE_WRITE, .decode = rest_set_filesystem_properties_decode, .run = blob_set_container_metadata, .encode = rest_set_filesystem_properties_encode},
    {.name = "GetFilesystemProperties", .methods = M_HEAD, .resource = R_CONTAINER, .query = "resource=filesystem",
     .account_sas = "r", .account_sas_type = 'c', .conditions = COND_IGNORED,
     .mode = MODE_READ, .decode = rest_get_filesystem_properties_decode, .run = blob_get_container, .encode = rest_get_filesystem_properties_encode},
    {.name = "DeleteFilesystem", .methods = M_DELETE, .resource = R_CONTAINER, .query = "resource=filesystem",
     .account_sas = "d", .account_sas_type = 'c', .conditions = COND_S | COND_U,
     .mode = MODE_WRITE, .decode = rest_delete_container_decode, .run = blob_delete_container, .encode = rest_delete_container_encode},
    {.name = "ListPaths", .methods = M_GET, .resource = R_CONTAINER, .query = "resource=filesystem",
     .account_sas = "l", .account_sas_type = 'c', .service_sas = "l", .lists = true, .lists_directory = true,
     .mode = MODE_READ, .decode = rest_list_paths_decode, .run = blob_list_blobs, .encode = rest_list_paths_encode},

    /* ---- paths ---- */
    {.name = "RenamePath", .methods = M_PUT, .resource = R_OBJECT, .header = "x-ms-rename-source",
     .account_sas = "wcm", .account_sas_type = 'o', .service_sas = "wcm", .second = SECOND_RENAMED_PATH, .conditions = COND_DFS,
     .mode = MODE_START, .decode = rest_rename_path_decode, .run = path_rename, .start = rest_rename_path_start, .encode = rest_rename_path_encode},
    {.name = "CreatePath", .methods = M_PUT, .resource = R_OBJECT, .query = "resource",
     .account_sas = "cw", .account_sas_type = 'o', .service_sas = "cw", .conditions = COND_DFS,
     .mode = MODE_WRITE, .decode = rest_create_path_decode, .run = path_create, .encode = rest_create_path_encode, .explain = rest_create_path_explain},
    {.name = "AppendPath", .methods = M_PATCH, .resource = R_OBJECT, .query = "action=append",
     .account_sas = "aw", .account_sas_type = 'o', .service_sas = "aw", .conditions = COND_IGNORED,
     .body = BODY_STREAM, .body_max = 4000 * MIB,
     .mode = MODE_START, .decode = rest_append_path_decode, .run = path_append, .start = rest_write_path_start, .encode = rest_append_path_encode},
    {.name = "FlushPath", .methods = M_PATCH, .resource = R_OBJECT, .query = "action=flush",
     .account_sas = "aw", .account_sas_type = 'o', .service_sas = "aw", .conditions = COND_DFS,
     .mode = MODE_START, .decode = rest_flush_path_decode, .run = path_flush, .start = rest_write_path_start, .encode = rest_flush_path_encode},
    {.name = "SetPathProperties", .methods = M_PATCH, .resource = R_OBJECT, .query = "action=setProperties",
     .account_sas = "w", .account_sas_type = 'o', .service_sas = "w", .conditions = COND_DFS,
     .mode = MODE_WRITE, .decode = rest_set_path_properties_decode, .run = path_set_properties, .encode = rest_set_path_properties_encode},
    {.name = "SetPathAccessControl", .methods = M_PATCH, .resource = R_OBJECT, .query = "action=setAccessControl",
     .account_sas = "op", .account_sas_type = 'o', .service_sas = "op", .conditions = COND_DFS,
     .mode = MODE_WRITE, .decode = rest_set_path_access_control_decode, .run = path_set_access_control, .encode = rest_set_path_access_control_encode},
    {.name = "SetPathAccessControlRecursive", .methods = M_PATCH, .resource = R_OBJECT, .query = "action=setAccessControlRecursive",
     .account_sas = "op", .account_sas_type = 'o', .service_sas = "op", .tree = true, .conditions = COND_IGNORED,
     .mode = MODE_START, .decode = rest_set_path_access_control_recursive_decode, .run = path_set_access_control_recursive, .start = rest_set_path_access_control_recursive_start, .encode = rest_set_path_access_control_recursive_encode},
    {.name = "LeasePath", .methods = M_POST, .resource = R_OBJECT,
     .account_sas = "wd", .account_sas_type = 'o', .service_sas = "wd", .conditions = COND_DFS,
     .mode = MODE_WRITE, .decode = rest_lease_path_decode, .run = blob_lease_blob, .encode = rest_lease_path_encode},
    {.name = "ReadPath", .methods = M_GET, .resource = R_OBJECT,
     .account_sas = "r", .account_sas_type = 'o', .service_sas = "r", .anonymous = AUTH_ANONYMOUS_BLOB, .conditions = COND_DFS,
     .mode = MODE_READ, .decode = rest_read_path_decode, .run = blob_get_blob, .encode = rest_read_path_encode, .explain = rest_get_blob_explain},
    {.name = "GetPathStatus", .methods = M_HEAD, .resource = R_OBJECT, .query = "action=getStatus",
     .account_sas = "er", .account_sas_type = 'o', .service_sas = "er", .conditions = COND_DFS,
     .mode = MODE_READ, .decode = rest_get_path_status_decode, .run = path_get_status, .encode = rest_get_path_status_encode},
    {.name = "GetPathAccessControl", .methods = M_HEAD, .resource = R_OBJECT, .query = "action=getAccessControl",
     .account_sas = "er", .account_sas_type = 'o', .service_sas = "e", .conditions = COND_DFS,
     .mode = MODE_READ, .decode = rest_get_path_status_decode, .run = path_get_access_control, .encode = rest_get_path_access_control_encode},
    {.name = "CheckPathAccess", .methods = M_HEAD, .resource = R_OBJECT, .query = "action=checkAccess",
     .account_sas = "er", .account_sas_type = 'o', .service_sas = "e", .conditions = COND_DFS,
     .mode = MODE_READ, .decode = rest_check_path_access_decode, .run = path_check_access, .encode = rest_check_path_access_encode},
    {.name = "GetPathProperties", .methods = M_HEAD, .resource = R_OBJECT,
     .account_sas = "r", .account_sas_type = 'o', .service_sas = "r", .anonymous = AUTH_ANONYMOUS_BLOB, .conditions = COND_DFS,
     .mode = MODE_READ, .decode = rest_get_path_properties_decode, .run = blob_get_blob, .encode = rest_get_path_properties_encode, .explain = rest_get_blob_explain},
    {.name = "DeletePath", .methods = M_DELETE, .resource = R_OBJECT,
     .account_sas = "d", .account_sas_type = 'o', .service_sas = "d", .conditions = COND_DFS,
     .mode = MODE_WRITE, .decode = rest_delete_path_decode, .run = path_delete, .encode = rest_delete_path_encode},
};
// clang-format on

const struct op_table OPS_DFS = {ROWS, sizeof ROWS / sizeof ROWS[0]};
