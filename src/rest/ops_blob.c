/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of the blob service. Conditions as facts.md §1.1 has them. */
#include "core/xml.h"
#include "rest/blob_ops.h"
#include "rest/policy_xml.h"
#include "rest/service_properties.h"
#include "rest/user_delegation_key.h"
#include "service/blob/append.h"
#include "service/blob/blob.h"
#include "service/blob/block.h"
#include "service/blob/container.h"
#include "service/blob/find.h"
#include "service/blob/list.h"
#include "service/blob/page.h"
#include "service/blob/tags.h"
#include "service/blob/tier.h"

#define MIB (1ULL << 20)

// clang-format off
static const struct op ROWS[] = {
    /* ---- service ---- */
    {.name = "ListContainers", .methods = M_GET, .resource = R_SERVICE, .comp = "list",
     .account_sas = "l", .account_sas_type = 's',
     .mode = MODE_READ, .decode = rest_list_containers_decode, .run = blob_list_containers, .encode = rest_list_containers_encode},
    {.name = "GetBlobServiceProperties", OP_GET_SERVICE_PROPERTIES},
    {.name = "SetBlobServiceProperties", OP_SET_SERVICE_PROPERTIES},
    {.name = "GetBlobServiceStats", OP_GET_SERVICE_STATS},
    {.name = "GetAccountInformation", .methods = M_GET | M_HEAD, .resource = R_ANY, .restype = "account", .comp = "properties",
     .account_sas = "racwdxyltfmeopiu", .account_sas_type = '*', .service_sas = "racwdxyltfmeopiu", .conditions = COND_IGNORED,
     .mode = MODE_DIRECT, .decode = rest_get_account_information_decode, .encode = rest_get_account_information_encode},
    OP_ROW_USER_DELEGATION_KEY,
    {.name = "FindBlobsByTags", .methods = M_GET, .resource = R_SERVICE, .comp = "blobs",
     .account_sas = "f", .account_sas_type = 's',
     .mode = MODE_READ, .version_min = 20191212, .decode = rest_find_blobs_by_tags_decode, .run = blob_find_blobs, .encode = rest_find_blobs_by_tags_encode},
    /* Whatever reaches the service may send a batch: each part is checked by its own credentials. */
    {.name = "SubmitBatch", .methods = M_POST, .resource = R_SERVICE, .comp = "batch",
     .account_sas = "racwdxyltfmeopiu", .account_sas_type = '*', .body = BODY_SMALL, .body_max = 4 * MIB,
     .mode = MODE_START, .version_min = 20181109, .decode = rest_submit_batch_decode, .start = rest_submit_batch_start, .encode = rest_submit_batch_encode},
    /* The JavaScript SDK takes an account in the path for a container. */
    {.name = "SubmitBatch", .methods = M_POST, .resource = R_SERVICE, .restype = "container", .comp = "batch",
     .account_sas = "racwdxyltfmeopiu", .account_sas_type = '*', .body = BODY_SMALL, .body_max = 4 * MIB,
     .mode = MODE_START, .version_min = 20181109, .decode = rest_submit_batch_decode, .start = rest_submit_batch_start, .encode = rest_submit_batch_encode},

    /* ---- containers ---- */
    {.name = "SubmitBatchInContainer", .methods = M_POST, .resource = R_CONTAINER, .restype = "container", .comp = "batch",
     .account_sas = "racwdxyltfmeopiu", .account_sas_type = '*', .service_sas = "racwdxyltfmeopiu", .body = BODY_SMALL, .body_max = 4 * MIB,
     .mode = MODE_START, .version_min = 20181109, .decode = rest_submit_batch_decode, .start = rest_submit_batch_start, .encode = rest_submit_batch_encode},
    {.name = "CreateContainer", .methods = M_PUT, .resource = R_CONTAINER, .restype = "container",
     .account_sas = "cw", .account_sas_type = 'c',
     .mode = MODE_WRITE, .decode = rest_create_container_decode, .run = blob_create_container, .encode = rest_create_container_encode},
    {.name = "GetContainerProperties", .methods = M_GET | M_HEAD, .resource = R_CONTAINER, .restype = "container",
     .account_sas = "r", .account_sas_type = 'c', .anonymous = AUTH_ANONYMOUS_CONTAINER,
     .mode = MODE_READ, .decode = rest_get_container_decode, .run = blob_get_container, .encode = rest_get_container_properties_encode},
    {.name = "GetContainerMetadata", .methods = M_GET | M_HEAD, .resource = R_CONTAINER, .restype = "container", .comp = "metadata",
     .account_sas = "r", .account_sas_type = 'c', .anonymous = AUTH_ANONYMOUS_CONTAINER,
     .mode = MODE_READ, .decode = rest_get_container_decode, .run = blob_get_container, .encode = rest_get_container_metadata_encode},
    {.name = "SetContainerMetadata", .methods = M_PUT, .resource = R_CONTAINER, .restype = "container", .comp = "metadata",
     .account_sas = "w", .account_sas_type = 'c', .conditions = COND_S,
     .mode = MODE_WRITE, .decode = rest_set_container_metadata_decode, .run = blob_set_container_metadata, .encode = rest_set_container_encode},
    {.name = "GetContainerACL", .methods = M_GET | M_HEAD, .resource = R_CONTAINER, .restype = "container", .comp = "acl",
     .mode = MODE_READ, .decode = rest_get_container_decode, .run = blob_get_container, .encode = rest_get_container_acl_encode},
    {.name = "SetContainerACL", .methods = M_PUT, .resource = R_CONTAINER, .restype = "container", .comp = "acl",
     .conditions = COND_S | COND_U, .body = BODY_SMALL, .body_max = POLICY_BODY_MAX,
     .mode = MODE_WRITE, .decode = rest_set_container_acl_decode, .run = blob_set_container_acl, .encode = rest_set_container_encode},
    {.name = "DeleteContainer", .methods = M_DELETE, .resource = R_CONTAINER, .restype = "container",
     .account_sas = "d", .account_sas_type = 'c', .conditions = COND_S | COND_U,
     .mode = MODE_WRITE, .decode = rest_delete_container_decode, .run = blob_delete_container, .encode = rest_delete_container_encode},
    /* Who may delete may also break the lease that keeps from it. */
    {.name = "LeaseContainer", .methods = M_PUT, .resource = R_CONTAINER, .restype = "container", .comp = "lease", .header = "x-ms-lease-action=break",
     .account_sas = "wd", .account_sas_type = 'c', .conditions = COND_S | COND_U,
     .mode = MODE_WRITE, .decode = rest_lease_container_decode, .run = blob_lease_container, .encode = rest_lease_container_encode},
    {.name = "LeaseContainer", .methods = M_PUT, .resource = R_CONTAINER, .restype = "container", .comp = "lease",
     .account_sas = "w", .account_sas_type = 'c', .conditions = COND_S | COND_U,
     .mode = MODE_WRITE, .decode = rest_lease_container_decode, .run = blob_lease_container, .encode = rest_lease_container_encode},
    {.name = "ListBlobs", .methods = M_GET, .resource = R_CONTAINER, .restype = "container", .comp = "list",
     .account_sas = "l", .account_sas_type = 'c', .service_sas = "l", .anonymous = AUTH_ANONYMOUS_CONTAINER,
     .mode = MODE_READ, .decode = rest_list_blobs_decode, .run = blob_list_blobs, .encode = rest_list_blobs_encode},
    {.name = "FindBlobsByTagsInContainer", .methods = M_GET, .resource = R_CONTAINER, .restype = "container", .comp = "blobs",
     .account_sas = "f", .account_sas_type = 'c', .service_sas = "f",
     .mode = MODE_READ, .version_min = 20210410, .decode = rest_find_blobs_by_tags_in_container_decode, .run = blob_find_blobs, .encode = rest_find_blobs_by_tags_encode},

    /* ---- blobs ---- */
    {.name = "PutBlob", .methods = M_PUT, .resource = R_OBJECT, .header = "x-ms-blob-type=BlockBlob",
     .account_sas = "cw", .account_sas_type = 'o', .service_sas = "cw", .conditions = COND_ALL,
     .body = BODY_STREAM, .body_max = 5000 * MIB,
     .mode = MODE_WRITE, .decode = rest_put_blob_decode, .run = blob_put_blob, .encode = rest_put_blob_encode},
    {.name = "PutBlob", .methods = M_PUT, .resource = R_OBJECT, .header = "x-ms-blob-type=AppendBlob",
     .account_sas = "cw", .account_sas_type = 'o', .service_sas = "cw", .conditions = COND_ALL,
     .mode = MODE_WRITE, .decode = rest_put_append_blob_decode, .run = blob_create_append_blob, .encode = rest_put_append_blob_encode},
    {.name = "AppendBlock", .methods = M_PUT, .resource = R_OBJECT, .comp = "appendblock",
     .account_sas = "aw", .account_sas_type = 'o', .service_sas = "aw", .conditions = COND_ALL,
     .body = BODY_STREAM, .body_max = 100 * MIB,
     .mode = MODE_WRITE, .decode = rest_append_block_decode, .run = blob_append_block, .encode = rest_append_block_encode},
    {.name = "AppendBlobSeal", .methods = M_PUT, .resource = R_OBJECT, .comp = "seal",
     .account_sas = "w", .account_sas_type = 'o', .service_sas = "w", .conditions = COND_M | COND_N | COND_S | COND_U,
     .mode = MODE_WRITE, .version_min = 20191212, .decode = rest_append_blob_seal_decode, .run = blob_seal_append_blob, .encode = rest_append_blob_seal_encode},
    {.name = "PutBlob", .methods = M_PUT, .resource = R_OBJECT, .header = "x-ms-blob-type=PageBlob",
     .account_sas = "cw", .account_sas_type = 'o', .service_sas = "cw", .conditions = COND_ALL,
     .mode = MODE_WRITE, .decode = rest_put_page_blob_decode, .run = blob_create_page_blob, .encode = rest_put_page_blob_encode},
    {.name = "PutPage", .methods = M_PUT, .resource = R_OBJECT, .comp = "page",
     .account_sas = "w", .account_sas_type = 'o', .service_sas = "w", .conditions = COND_ALL,
     .body = BODY_STREAM, .body_max = 4 * MIB,
     .mode = MODE_WRITE, .decode = rest_put_page_decode, .run = blob_put_page, .encode = rest_put_page_encode},
    {.name = "GetPageRanges", .methods = M_GET, .resource = R_OBJECT, .comp = "pagelist",
     .account_sas = "r", .account_sas_type = 'o', .service_sas = "r", .anonymous = AUTH_ANONYMOUS_BLOB, .conditions = COND_ALL,
     .mode = MODE_READ, .decode = rest_get_page_ranges_decode, .run = blob_get_page_ranges, .encode = rest_get_page_ranges_encode},
    {.name = "GetBlob", .methods = M_GET, .resource = R_OBJECT,
     .account_sas = "r", .account_sas_type = 'o', .service_sas = "r", .anonymous = AUTH_ANONYMOUS_BLOB, .conditions = COND_ALL,
     .mode = MODE_READ, .decode = rest_get_blob_decode, .run = blob_get_blob, .encode = rest_get_blob_encode, .explain = rest_get_blob_explain},
    {.name = "GetBlobProperties", .methods = M_HEAD, .resource = R_OBJECT,
     .account_sas = "r", .account_sas_type = 'o', .service_sas = "r", .anonymous = AUTH_ANONYMOUS_BLOB, .conditions = COND_ALL,
     .mode = MODE_READ, .decode = rest_get_blob_properties_decode, .run = blob_get_blob, .encode = rest_get_blob_properties_encode, .explain = rest_get_blob_explain},
    {.name = "GetBlobMetadata", .methods = M_GET | M_HEAD, .resource = R_OBJECT, .comp = "metadata",
     .account_sas = "r", .account_sas_type = 'o', .service_sas = "r", .anonymous = AUTH_ANONYMOUS_BLOB, .conditions = COND_ALL,
     .mode = MODE_READ, .decode = rest_get_blob_properties_decode, .run = blob_get_blob, .encode = rest_get_blob_metadata_encode, .explain = rest_get_blob_explain},
    {.name = "SetBlobProperties", .methods = M_PUT, .resource = R_OBJECT, .comp = "properties",
     .account_sas = "w", .account_sas_type = 'o', .service_sas = "w", .conditions = COND_ALL,
     .mode = MODE_WRITE, .decode = rest_set_blob_properties_decode, .run = blob_set_blob_properties, .encode = rest_set_blob_properties_encode},
    {.name = "SetBlobMetadata", .methods = M_PUT, .resource = R_OBJECT, .comp = "metadata",
     .account_sas = "w", .account_sas_type = 'o', .service_sas = "w", .conditions = COND_ALL,
     .mode = MODE_WRITE, .decode = rest_set_blob_metadata_decode, .run = blob_set_blob_metadata, .encode = rest_set_blob_metadata_encode},
    {.name = "SetBlobTags", .methods = M_PUT, .resource = R_OBJECT, .comp = "tags",
     .account_sas = "t", .account_sas_type = 'o', .service_sas = "t", .conditions = COND_T,
     .body = BODY_SMALL, .body_max = 64 << 10,
     .mode = MODE_WRITE, .version_min = 20191212, .decode = rest_set_blob_tags_decode, .run = blob_set_blob_tags, .encode = rest_set_blob_tags_encode},
    {.name = "GetBlobTags", .methods = M_GET, .resource = R_OBJECT, .comp = "tags",
     .account_sas = "t", .account_sas_type = 'o', .service_sas = "t", .conditions = COND_T,
     .mode = MODE_READ, .version_min = 20191212, .decode = rest_get_blob_tags_decode, .run = blob_get_blob_tags, .encode = rest_get_blob_tags_encode},
    {.name = "SetBlobTier", .methods = M_PUT, .resource = R_OBJECT, .comp = "tier",
     .account_sas = "w", .account_sas_type = 'o', .service_sas = "w", .conditions = COND_T,
     .mode = MODE_WRITE, .version_min = 20170417, .decode = rest_set_blob_tier_decode, .run = blob_set_blob_tier, .encode = rest_set_blob_tier_encode},
    {.name = "LeaseBlob", .methods = M_PUT, .resource = R_OBJECT, .comp = "lease", .header = "x-ms-lease-action=break",
     .account_sas = "wd", .account_sas_type = 'o', .service_sas = "wd", .conditions = COND_ALL,
     .mode = MODE_WRITE, .decode = rest_lease_blob_decode, .run = blob_lease_blob, .encode = rest_lease_blob_encode},
    {.name = "LeaseBlob", .methods = M_PUT, .resource = R_OBJECT, .comp = "lease",
     .account_sas = "w", .account_sas_type = 'o', .service_sas = "w", .conditions = COND_ALL,
     .mode = MODE_WRITE, .decode = rest_lease_blob_decode, .run = blob_lease_blob, .encode = rest_lease_blob_encode},
    {.name = "SnapshotBlob", .methods = M_PUT, .resource = R_OBJECT, .comp = "snapshot",
     .account_sas = "cw", .account_sas_type = 'o', .service_sas = "cw", .conditions = COND_ALL,
     .mode = MODE_WRITE, .decode = rest_snapshot_blob_decode, .run = blob_snapshot_blob, .encode = rest_snapshot_blob_encode},
    {.name = "DeleteBlob", .methods = M_DELETE, .resource = R_OBJECT,
     .account_sas = "d", .account_sas_type = 'o', .service_sas = "d", .conditions = COND_ALL,
     .mode = MODE_WRITE, .decode = rest_delete_blob_decode, .run = blob_delete_blob, .encode = rest_delete_blob_encode},
    {.name = "PutBlock", .methods = M_PUT, .resource = R_OBJECT, .comp = "block",
     .account_sas = "cw", .account_sas_type = 'o', .service_sas = "cw",
     .body = BODY_STREAM, .body_max = 4000 * MIB,
     .mode = MODE_WRITE, .decode = rest_put_block_decode, .run = blob_put_block, .encode = rest_put_block_encode},
    {.name = "PutBlockList", .methods = M_PUT, .resource = R_OBJECT, .comp = "blocklist",
     .account_sas = "cw", .account_sas_type = 'o', .service_sas = "cw", .conditions = COND_ALL,
     .body = BODY_SMALL, .body_max = XML_BYTES_MAX,
     .mode = MODE_WRITE, .decode = rest_put_block_list_decode, .run = blob_put_block_list, .encode = rest_put_block_list_encode},
    {.name = "GetBlockList", .methods = M_GET, .resource = R_OBJECT, .comp = "blocklist",
     .account_sas = "r", .account_sas_type = 'o', .service_sas = "r", .anonymous = AUTH_ANONYMOUS_BLOB, .conditions = COND_T,
     .mode = MODE_READ, .decode = rest_get_block_list_decode, .run = blob_get_block_list, .encode = rest_get_block_list_encode},
};
// clang-format on

const struct op_table OPS_BLOB = {ROWS, sizeof ROWS / sizeof ROWS[0]};
