/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of the file service. It has no conditions (rule_S1): the last writer wins.
 * Operations on files and directories have a `start` instead of a `run`, because they may have to
 * wait for SMB clients. */
#include "rest/file/drive.h"
#include "rest/file/ops.h"
#include "rest/file/upload.h"
#include "rest/policy_xml.h"
#include "rest/service_properties.h"
#include "rest/user_delegation_key.h"
#include "service/file/copy/copy.h"
#include "service/file/directory.h"
#include "service/file/file.h"
#include "service/file/link.h"
#include "service/file/list.h"
#include "service/file/opens/handles.h"
#include "service/file/range.h"
#include "service/file/rename.h"
#include "service/file/security/permission_ops.h"
#include "service/file/share.h"

enum { PERMISSION_BODY_MAX = 64 << 10 };

#define SHARE(verb)       .methods = (verb), .resource = R_CONTAINER, .restype = "share"
#define DIRECTORY(verb)   .methods = (verb), .resource = R_OBJECT, .restype = "directory"
#define ROOT(verb)        .methods = (verb), .resource = R_CONTAINER, .restype = "directory"
#define FILE_OF(verb)     .methods = (verb), .resource = R_OBJECT
#define STARTS_WRITE      .mode = MODE_START, .start = rest_file_start_write
#define STARTS_READ       .mode = MODE_START_READ, .start = rest_file_start_read
#define BY_SHARE(letters) .account_sas = (letters), .account_sas_type = 'c'
#define BY_FILE(letters)  .account_sas = (letters), .account_sas_type = 'o', .service_sas = (letters)

// clang-format off
static const struct op ROWS[] = {
    /* ---- service ---- */
    {.name = "SetFileServiceProperties", OP_SET_SERVICE_PROPERTIES},
    {.name = "GetFileServiceProperties", OP_GET_SERVICE_PROPERTIES},
    OP_ROW_USER_DELEGATION_KEY,
    {.name = "ListShares", .methods = M_GET, .resource = R_SERVICE, .comp = "list",
     .account_sas = "l", .account_sas_type = 's',
     .mode = MODE_READ, .decode = rest_list_shares_decode, .run = file_list_shares, .encode = rest_list_shares_encode},

    /* ---- shares ---- */
    {.name = "CreateShare", SHARE(M_PUT), BY_SHARE("cw"),
     .mode = MODE_WRITE, .decode = rest_create_share_decode, .run = file_create_share, .encode = rest_create_share_encode},
    {.name = "GetShareProperties", SHARE(M_GET | M_HEAD), BY_SHARE("r"),
     .mode = MODE_READ, .decode = rest_get_share_decode, .run = file_get_share, .encode = rest_get_share_properties_encode},
    {.name = "SetShareProperties", SHARE(M_PUT), .comp = "properties", BY_SHARE("w"),
     .mode = MODE_WRITE, .decode = rest_set_share_properties_decode, .run = file_set_share_properties, .encode = rest_set_share_properties_encode},
    {.name = "GetShareMetadata", SHARE(M_GET | M_HEAD), .comp = "metadata", BY_SHARE("r"),
     .mode = MODE_READ, .decode = rest_get_share_decode, .run = file_get_share, .encode = rest_get_share_metadata_encode},
    {.name = "SetShareMetadata", SHARE(M_PUT), .comp = "metadata", BY_SHARE("w"),
     .mode = MODE_WRITE, .decode = rest_set_share_metadata_decode, .run = file_set_share_metadata, .encode = rest_set_share_encode},
    {.name = "GetShareACL", SHARE(M_GET | M_HEAD), .comp = "acl",
     .mode = MODE_READ, .decode = rest_get_share_decode, .run = file_get_share, .encode = rest_get_share_acl_encode},
    {.name = "SetShareACL", SHARE(M_PUT), .comp = "acl", .body = BODY_SMALL, .body_max = POLICY_BODY_MAX,
     .mode = MODE_WRITE, .decode = rest_set_share_acl_decode, .run = file_set_share_acl, .encode = rest_set_share_encode},
    {.name = "GetShareStats", SHARE(M_GET), .comp = "stats", BY_SHARE("r"),
     .mode = MODE_READ, .decode = rest_get_share_decode, .run = file_get_share, .encode = rest_get_share_stats_encode},
    {.name = "LeaseShare", SHARE(M_PUT), .comp = "lease", .header = "x-ms-lease-action=break", BY_SHARE("wd"),
     .mode = MODE_WRITE, .decode = rest_lease_share_decode, .run = file_lease_share, .encode = rest_lease_share_encode},
    {.name = "LeaseShare", SHARE(M_PUT), .comp = "lease", BY_SHARE("w"),
     .mode = MODE_WRITE, .decode = rest_lease_share_decode, .run = file_lease_share, .encode = rest_lease_share_encode},
    {.name = "SnapshotShare", SHARE(M_PUT), .comp = "snapshot", BY_SHARE("cw"),
     .mode = MODE_WRITE, .decode = rest_snapshot_share_decode, .run = file_snapshot_share, .encode = rest_snapshot_share_encode},
    {.name = "DeleteShare", SHARE(M_DELETE), BY_SHARE("d"),
     .mode = MODE_WRITE, .decode = rest_delete_share_decode, .run = file_delete_share, .encode = rest_delete_share_encode},
    {.name = "RestoreShare", SHARE(M_PUT), .comp = "undelete", BY_SHARE("w"),
     .mode = MODE_WRITE, .decode = rest_restore_share_decode, .run = file_restore_share, .encode = rest_create_share_encode},
    {.name = "CreatePermission", SHARE(M_PUT), .comp = "filepermission", BY_SHARE("w"), .service_sas = "w",
     .body = BODY_SMALL, .body_max = PERMISSION_BODY_MAX,
     .mode = MODE_WRITE, .decode = rest_create_permission_decode, .run = file_create_permission, .encode = rest_create_permission_encode},
    {.name = "GetPermission", SHARE(M_GET), .comp = "filepermission", BY_SHARE("r"), .service_sas = "r",
     .mode = MODE_READ, .decode = rest_get_permission_decode, .run = file_get_permission, .encode = rest_get_permission_encode},

    /* ---- the root directory of a share ---- */
    {.name = "GetDirectoryProperties", ROOT(M_GET | M_HEAD), BY_FILE("r"), STARTS_READ,
     .decode = rest_get_directory_decode, .run = file_get_directory, .encode = rest_get_directory_properties_encode},
    {.name = "GetDirectoryMetadata", ROOT(M_GET | M_HEAD), .comp = "metadata", BY_FILE("r"), STARTS_READ,
     .decode = rest_get_directory_decode, .run = file_get_directory, .encode = rest_get_directory_metadata_encode},
    {.name = "SetDirectoryProperties", ROOT(M_PUT), .comp = "properties", BY_FILE("w"), STARTS_WRITE,
     .decode = rest_set_directory_properties_decode, .run = file_set_directory_properties, .encode = rest_set_directory_properties_encode},
    {.name = "SetDirectoryMetadata", ROOT(M_PUT), .comp = "metadata", BY_FILE("w"), STARTS_WRITE,
     .decode = rest_set_directory_metadata_decode, .run = file_set_directory_metadata, .encode = rest_set_directory_metadata_encode},
    {.name = "CreateDirectory", ROOT(M_PUT), BY_FILE("cw"), STARTS_WRITE,
     .decode = rest_create_directory_decode, .run = file_create_directory, .encode = rest_create_directory_encode},
    {.name = "DeleteDirectory", ROOT(M_DELETE), BY_FILE("d"), STARTS_WRITE,
     .decode = rest_delete_directory_decode, .run = file_delete_directory, .encode = rest_delete_node_encode},
    {.name = "ListDirectoriesAndFiles", ROOT(M_GET), .comp = "list", BY_SHARE("l"), .service_sas = "l", STARTS_READ,
     .decode = rest_list_directory_decode, .run = file_list_directory, .encode = rest_list_directory_encode},
    {.name = "ListHandles", .methods = M_GET, .resource = R_CONTAINER, .comp = "listhandles", BY_FILE("r"),
     .mode = MODE_READ, .decode = rest_list_handles_decode, .run = file_select_handles, .encode = rest_list_handles_encode},
    {.name = "ForceCloseHandles", .methods = M_PUT, .resource = R_CONTAINER, .comp = "forceclosehandles", BY_FILE("w"),
     .mode = MODE_START, .start = rest_file_start_read, .decode = rest_force_close_handles_decode, .run = file_select_handles, .encode = rest_force_close_handles_encode},

    /* ---- directories ---- */
    {.name = "CreateDirectory", DIRECTORY(M_PUT), BY_FILE("cw"), STARTS_WRITE,
     .decode = rest_create_directory_decode, .run = file_create_directory, .encode = rest_create_directory_encode},
    {.name = "GetDirectoryProperties", DIRECTORY(M_GET | M_HEAD), BY_FILE("r"), STARTS_READ,
     .decode = rest_get_directory_decode, .run = file_get_directory, .encode = rest_get_directory_properties_encode},
    {.name = "SetDirectoryProperties", DIRECTORY(M_PUT), .comp = "properties", BY_FILE("w"), STARTS_WRITE,
     .decode = rest_set_directory_properties_decode, .run = file_set_directory_properties, .encode = rest_set_directory_properties_encode},
    {.name = "GetDirectoryMetadata", DIRECTORY(M_GET | M_HEAD), .comp = "metadata", BY_FILE("r"), STARTS_READ,
     .decode = rest_get_directory_decode, .run = file_get_directory, .encode = rest_get_directory_metadata_encode},
    {.name = "SetDirectoryMetadata", DIRECTORY(M_PUT), .comp = "metadata", BY_FILE("w"), STARTS_WRITE,
     .decode = rest_set_directory_metadata_decode, .run = file_set_directory_metadata, .encode = rest_set_directory_metadata_encode},
    {.name = "DeleteDirectory", DIRECTORY(M_DELETE), BY_FILE("d"), STARTS_WRITE,
     .decode = rest_delete_directory_decode, .run = file_delete_directory, .encode = rest_delete_node_encode},
    {.name = "ListDirectoriesAndFiles", DIRECTORY(M_GET), .comp = "list", BY_SHARE("l"), .service_sas = "l", STARTS_READ,
     .decode = rest_list_directory_decode, .run = file_list_directory, .encode = rest_list_directory_encode},
    {.name = "RenameDirectory", DIRECTORY(M_PUT), .comp = "rename", BY_FILE("w"), .second = SECOND_RENAMED_DIRECTORY, .tree = true, STARTS_WRITE,
     .decode = rest_rename_directory_decode, .run = file_rename, .encode = rest_rename_encode},

    /* ---- files ---- */
    {.name = "CreateSymbolicLink", FILE_OF(M_PUT), .restype = "symboliclink", BY_FILE("cw"), STARTS_WRITE,
     .decode = rest_create_symbolic_link_decode, .run = file_create_symbolic_link, .encode = rest_create_link_encode},
    {.name = "GetSymbolicLink", FILE_OF(M_GET), .restype = "symboliclink", BY_FILE("r"), STARTS_READ,
     .decode = rest_get_symbolic_link_decode, .run = file_get_symbolic_link, .encode = rest_get_symbolic_link_encode},
    {.name = "CreateHardLink", FILE_OF(M_PUT), .restype = "hardlink", BY_FILE("cw"), .second = SECOND_LINKED_FILE, STARTS_WRITE,
     .decode = rest_create_hard_link_decode, .run = file_create_hard_link, .encode = rest_create_link_encode},
    {.name = "CopyFile", FILE_OF(M_PUT), .header = "x-ms-copy-source", BY_FILE("w"), .second = SECOND_COPY_SOURCE,
     .mode = MODE_START, .start = rest_copy_file_start,
     .decode = rest_copy_file_decode, .run = file_copy_file, .encode = rest_copy_file_encode},
    {.name = "CreateFile", FILE_OF(M_PUT), BY_FILE("cw"), STARTS_WRITE,
     .body = BODY_STREAM, .body_max = FILE_RANGE_MAX,
     .decode = rest_create_file_decode, .run = file_create_file, .encode = rest_create_file_encode},
    {.name = "GetFile", FILE_OF(M_GET), BY_FILE("r"), .mode = MODE_START_READ, .start = rest_get_file_start,
     .decode = rest_get_file_decode, .run = file_get_file, .encode = rest_get_file_encode, .explain = rest_get_file_explain},
    {.name = "GetFileProperties", FILE_OF(M_HEAD), BY_FILE("r"), STARTS_READ,
     .decode = rest_get_file_properties_decode, .run = file_get_file_properties, .encode = rest_get_file_properties_encode},
    {.name = "SetFileProperties", FILE_OF(M_PUT), .comp = "properties", BY_FILE("w"), STARTS_WRITE,
     .decode = rest_set_file_properties_decode, .run = file_set_file_properties, .encode = rest_set_file_properties_encode},
    {.name = "GetFileMetadata", FILE_OF(M_GET | M_HEAD), .comp = "metadata", BY_FILE("r"), STARTS_READ,
     .decode = rest_get_file_properties_decode, .run = file_get_file_properties, .encode = rest_get_file_metadata_encode},
    {.name = "SetFileMetadata", FILE_OF(M_PUT), .comp = "metadata", BY_FILE("w"), STARTS_WRITE,
     .decode = rest_set_file_metadata_decode, .run = file_set_file_metadata, .encode = rest_set_file_metadata_encode},
    {.name = "DeleteFile", FILE_OF(M_DELETE), BY_FILE("d"), STARTS_WRITE,
     .decode = rest_delete_file_decode, .run = file_delete_file, .encode = rest_delete_file_encode},
    {.name = "LeaseFile", FILE_OF(M_PUT), .comp = "lease", BY_FILE("w"), STARTS_WRITE,
     .decode = rest_lease_file_decode, .run = file_lease_file, .encode = rest_lease_file_encode},
    {.name = "PutRangeFromURL", FILE_OF(M_PUT), .comp = "range", .header = "x-ms-copy-source", BY_FILE("w"), .second = SECOND_COPY_SOURCE,
     .mode = MODE_START, .start = rest_put_range_from_url_start,
     .decode = rest_put_range_from_url_decode, .run = file_put_range, .encode = rest_put_range_from_url_encode},
    {.name = "PutRange", FILE_OF(M_PUT), .comp = "range", BY_FILE("w"), STARTS_WRITE,
     .body = BODY_STREAM, .body_max = FILE_RANGE_MAX,
     .decode = rest_put_range_decode, .run = file_put_range, .encode = rest_put_range_encode},
    {.name = "ListRanges", FILE_OF(M_GET), .comp = "rangelist", BY_FILE("r"), .mode = MODE_START_READ, .start = rest_list_ranges_start,
     .decode = rest_list_ranges_decode, .run = file_list_ranges, .encode = rest_list_ranges_encode},
    {.name = "AbortCopyFile", FILE_OF(M_PUT), .comp = "copy", .header = "x-ms-copy-action=abort", .query = "copyid", BY_FILE("w"), STARTS_WRITE,
     .decode = rest_abort_copy_file_decode, .run = file_abort_copy, .encode = rest_abort_copy_file_encode},
    {.name = "RenameFile", FILE_OF(M_PUT), .comp = "rename", BY_FILE("w"), .second = SECOND_RENAMED_FILE, STARTS_WRITE,
     .decode = rest_rename_file_decode, .run = file_rename, .encode = rest_rename_encode},
    {.name = "ListHandles", FILE_OF(M_GET), .comp = "listhandles", BY_FILE("r"),
     .mode = MODE_READ, .decode = rest_list_handles_decode, .run = file_select_handles, .encode = rest_list_handles_encode},
    {.name = "ForceCloseHandles", FILE_OF(M_PUT), .comp = "forceclosehandles", BY_FILE("w"),
     .mode = MODE_START, .start = rest_file_start_read, .decode = rest_force_close_handles_decode, .run = file_select_handles, .encode = rest_force_close_handles_encode},
};
// clang-format on

const struct op_table OPS_FILE = {ROWS, sizeof ROWS / sizeof ROWS[0]};
