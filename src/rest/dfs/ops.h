/* SPDX-License-Identifier: Apache-2.0 */
/* The decode and encode functions of the Data Lake operations, for ops_dfs.c. */
#ifndef REST_DFS_OPS_H
#define REST_DFS_OPS_H

#include "rest/call.h"

/* filesystem.c */
struct err rest_list_filesystems_decode(struct rest_call *call);
struct err rest_list_filesystems_encode(struct rest_call *call);
struct err rest_create_filesystem_decode(struct rest_call *call);
struct err rest_create_filesystem_encode(struct rest_call *call);
struct err rest_get_filesystem_properties_decode(struct rest_call *call);
struct err rest_get_filesystem_properties_encode(struct rest_call *call);
struct err rest_set_filesystem_properties_decode(struct rest_call *call);
struct err rest_set_filesystem_properties_encode(struct rest_call *call);

/* path.c */
struct err rest_create_path_decode(struct rest_call *call);
struct err rest_create_path_encode(struct rest_call *call);
void rest_create_path_explain(struct rest_call *call, struct err error);
struct err rest_rename_path_decode(struct rest_call *call);
struct err rest_rename_path_start(struct rest_call *call);
struct err rest_rename_path_encode(struct rest_call *call);
struct err rest_delete_path_decode(struct rest_call *call);
struct err rest_delete_path_encode(struct rest_call *call);
struct err rest_lease_path_decode(struct rest_call *call);
struct err rest_lease_path_encode(struct rest_call *call);

/* status.c */
struct err rest_read_path_decode(struct rest_call *call);
struct err rest_read_path_encode(struct rest_call *call);
struct err rest_get_path_properties_decode(struct rest_call *call);
struct err rest_get_path_properties_encode(struct rest_call *call);
struct err rest_get_path_status_decode(struct rest_call *call);
struct err rest_get_path_status_encode(struct rest_call *call);
struct err rest_get_path_access_control_encode(struct rest_call *call);
struct err rest_check_path_access_decode(struct rest_call *call);
struct err rest_check_path_access_encode(struct rest_call *call);
struct err rest_set_path_access_control_decode(struct rest_call *call);
struct err rest_set_path_access_control_encode(struct rest_call *call);
struct err rest_set_path_properties_decode(struct rest_call *call);
struct err rest_set_path_properties_encode(struct rest_call *call);

/* recursive.c */
struct err rest_set_path_access_control_recursive_decode(struct rest_call *call);
struct err rest_set_path_access_control_recursive_start(struct rest_call *call);
struct err rest_set_path_access_control_recursive_encode(struct rest_call *call);

/* write.c; append and flush share their start */
struct err rest_write_path_start(struct rest_call *call);
struct err rest_append_path_decode(struct rest_call *call);
struct err rest_append_path_encode(struct rest_call *call);
struct err rest_flush_path_decode(struct rest_call *call);
struct err rest_flush_path_encode(struct rest_call *call);

/* list.c */
struct err rest_list_paths_decode(struct rest_call *call);
struct err rest_list_paths_encode(struct rest_call *call);

#endif
