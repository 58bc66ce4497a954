/* SPDX-License-Identifier: Apache-2.0 */
/* The decode, start and encode functions that the rows of ops_file.c name. */
#ifndef REST_FILE_OPS_H
#define REST_FILE_OPS_H

#include "rest/call.h"

typedef struct err file_rest_fn(struct rest_call *call);

/* share.c */
file_rest_fn rest_create_share_decode, rest_create_share_encode;
file_rest_fn rest_get_share_decode, rest_get_share_properties_encode,
    rest_get_share_metadata_encode;
file_rest_fn rest_get_share_acl_encode, rest_get_share_stats_encode;
file_rest_fn rest_set_share_properties_decode, rest_set_share_properties_encode;
file_rest_fn rest_set_share_metadata_decode;
file_rest_fn rest_set_share_acl_decode, rest_set_share_encode;
file_rest_fn rest_lease_share_decode, rest_lease_share_encode;
file_rest_fn rest_snapshot_share_decode, rest_snapshot_share_encode;
file_rest_fn rest_delete_share_decode, rest_delete_share_encode;
file_rest_fn rest_restore_share_decode;
file_rest_fn rest_create_permission_decode, rest_create_permission_encode;
file_rest_fn rest_get_permission_decode, rest_get_permission_encode;

/* list.c */
file_rest_fn rest_list_shares_decode, rest_list_shares_encode;
file_rest_fn rest_list_directory_decode, rest_list_directory_encode;

/* node.c */
file_rest_fn rest_create_directory_decode, rest_create_directory_encode;
file_rest_fn rest_get_directory_decode, rest_get_directory_properties_encode;
file_rest_fn rest_get_directory_metadata_encode;
file_rest_fn rest_set_directory_properties_decode, rest_set_directory_properties_encode;
file_rest_fn rest_set_directory_metadata_decode, rest_set_directory_metadata_encode;
file_rest_fn rest_delete_directory_decode, rest_delete_node_encode;
file_rest_fn rest_create_file_decode, rest_create_file_encode;
file_rest_fn rest_get_file_properties_decode, rest_get_file_properties_encode;
file_rest_fn rest_get_file_metadata_encode;
file_rest_fn rest_set_file_properties_decode, rest_set_file_properties_encode;
file_rest_fn rest_set_file_metadata_decode, rest_set_file_metadata_encode;
file_rest_fn rest_delete_file_decode, rest_delete_file_encode;
file_rest_fn rest_lease_file_decode, rest_lease_file_encode;
file_rest_fn rest_rename_file_decode, rest_rename_directory_decode, rest_rename_encode;
file_rest_fn rest_create_symbolic_link_decode, rest_create_link_encode;
file_rest_fn rest_get_symbolic_link_decode, rest_get_symbolic_link_encode;
file_rest_fn rest_create_hard_link_decode;

/* range.c */
file_rest_fn rest_get_file_decode, rest_get_file_start, rest_get_file_encode;
file_rest_fn rest_put_range_decode, rest_put_range_encode;
file_rest_fn rest_list_ranges_decode, rest_list_ranges_start, rest_list_ranges_encode;
void rest_get_file_explain(struct rest_call *call, struct err error);

/* copy.c */
file_rest_fn rest_copy_file_decode, rest_copy_file_start, rest_copy_file_encode;
file_rest_fn rest_abort_copy_file_decode, rest_abort_copy_file_encode;
file_rest_fn rest_put_range_from_url_decode, rest_put_range_from_url_start;
file_rest_fn rest_put_range_from_url_encode;

/* handle.c */
file_rest_fn rest_list_handles_decode, rest_list_handles_encode;
file_rest_fn rest_force_close_handles_decode, rest_force_close_handles_encode;

#endif
