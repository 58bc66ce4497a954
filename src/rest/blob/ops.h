/* SPDX-License-Identifier: Apache-2.0 */
/* The decode and encode functions that the rows of ops_blob.c name. */
#ifndef REST_BLOB_OPS_H
#define REST_BLOB_OPS_H

#include "rest/call.h"

typedef struct err rest_fn(struct rest_call *call);

/* container.c */
rest_fn rest_create_container_decode, rest_create_container_encode;
rest_fn rest_delete_container_decode, rest_delete_container_encode;
rest_fn rest_restore_container_decode, rest_restore_container_encode;
rest_fn rest_get_container_decode;
rest_fn rest_get_container_properties_encode, rest_get_container_metadata_encode;
rest_fn rest_set_container_metadata_decode, rest_set_container_encode;
rest_fn rest_get_container_acl_encode, rest_set_container_acl_decode;
rest_fn rest_lease_container_decode, rest_lease_container_encode;

/* account.c */
rest_fn rest_get_account_information_decode, rest_get_account_information_encode;

/* list.c */
rest_fn rest_list_containers_decode, rest_list_containers_encode;
rest_fn rest_list_blobs_decode, rest_list_blobs_encode;

/* object.c */
rest_fn rest_put_blob_decode, rest_put_blob_encode;
rest_fn rest_set_blob_properties_decode, rest_set_blob_properties_encode;
rest_fn rest_set_blob_metadata_decode, rest_set_blob_metadata_encode;
rest_fn rest_snapshot_blob_decode, rest_snapshot_blob_encode;
rest_fn rest_lease_blob_decode, rest_lease_blob_encode;
rest_fn rest_delete_blob_decode, rest_delete_blob_encode;
rest_fn rest_undelete_blob_decode, rest_undelete_blob_encode;

/* page.c */
rest_fn rest_put_page_blob_decode, rest_put_page_blob_encode;
rest_fn rest_put_page_decode, rest_put_page_encode;
rest_fn rest_get_page_ranges_decode, rest_get_page_ranges_encode;

/* append.c */
rest_fn rest_put_append_blob_decode, rest_put_append_blob_encode;
rest_fn rest_append_block_decode, rest_append_block_encode;
rest_fn rest_append_blob_seal_decode, rest_append_blob_seal_encode;

/* get.c */
rest_fn rest_get_blob_decode, rest_get_blob_encode;
rest_fn rest_get_blob_properties_decode, rest_get_blob_properties_encode;
rest_fn rest_get_blob_metadata_encode;
void rest_get_blob_explain(struct rest_call *call, struct err error);

/* copy.c */
rest_fn rest_copy_blob_decode, rest_copy_blob_start, rest_copy_blob_encode;
rest_fn rest_abort_copy_blob_decode, rest_abort_copy_blob_encode;
rest_fn rest_incremental_copy_blob_decode, rest_incremental_copy_blob_start;
rest_fn rest_incremental_copy_blob_encode;
/* from_url.c, page_from_url.c */
rest_fn rest_copy_blob_from_url_decode, rest_copy_blob_from_url_start;
rest_fn rest_copy_blob_from_url_encode;
rest_fn rest_put_blob_from_url_decode, rest_put_blob_from_url_start, rest_put_blob_from_url_encode;
rest_fn rest_put_block_from_url_decode, rest_put_block_from_url_start;
rest_fn rest_put_block_from_url_encode;
rest_fn rest_append_block_from_url_decode, rest_append_block_from_url_start;
rest_fn rest_append_block_from_url_encode;
rest_fn rest_put_page_from_url_decode, rest_put_page_from_url_start, rest_put_page_from_url_encode;

/* tags.c */
rest_fn rest_set_blob_tags_decode, rest_set_blob_tags_encode;
rest_fn rest_get_blob_tags_decode, rest_get_blob_tags_encode;

/* tier.c */
rest_fn rest_set_blob_tier_decode, rest_set_blob_tier_encode;

/* protect.c */
rest_fn rest_set_blob_immutability_policy_decode, rest_set_blob_immutability_policy_encode;
rest_fn rest_delete_blob_immutability_policy_decode, rest_delete_blob_immutability_policy_encode;
rest_fn rest_set_blob_legal_hold_decode, rest_set_blob_legal_hold_encode;
rest_fn rest_set_blob_expiry_decode, rest_set_blob_expiry_encode;

/* query.c */
rest_fn rest_query_blob_contents_decode, rest_query_blob_contents_encode;

/* batch.c */
rest_fn rest_submit_batch_decode, rest_submit_batch_start, rest_submit_batch_encode;

/* find.c */
rest_fn rest_find_blobs_by_tags_decode, rest_find_blobs_by_tags_in_container_decode;
rest_fn rest_find_blobs_by_tags_encode;

/* block.c */
rest_fn rest_put_block_decode, rest_put_block_encode;
rest_fn rest_put_block_list_decode, rest_put_block_list_start, rest_put_block_list_encode;
rest_fn rest_get_block_list_decode, rest_get_block_list_encode;

#endif
